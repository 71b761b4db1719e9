"""One conversation, three bodies: files to read, reviewed as a diff.

Each folder holds a `conversation.json` in our own form and, by provider, the body it becomes for the model `maker-1`.
`PLAYHEAD_GOLDEN=write` writes the bodies anew.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from playhead.entry.message import Message
from playhead.entry.payload import message_from_payload
from playhead.wire.providers import FORMATS, format_of
from tests.unit.wire.faults import faults

HERE = Path(__file__).parent
CASES = sorted(p.parent.name for p in HERE.glob("*/conversation.json"))
MODEL = "maker-1"

DUMP = """
import json, sys
from playhead.entry.payload import message_from_payload
from playhead.wire.providers import FORMATS
said = [message_from_payload(value) for value in json.load(sys.stdin)]
for wire in FORMATS.values():
    print(json.dumps(wire.dump(said, model="maker-1")))
"""


def conversation(case: str) -> list[Message]:
    said = [message_from_payload(value) for value in json.loads((HERE / case / "conversation.json").read_text(encoding="utf-8"))]
    assert None not in said
    return [m for m in said if m is not None]


@pytest.mark.parametrize("provider", list(FORMATS))
@pytest.mark.parametrize("case", CASES)
def test_a_conversation_becomes_the_body_in_the_file(case: str, provider: str):
    place = HERE / case / f"{provider}.json"
    body = format_of(provider).dump(conversation(case), model=MODEL)
    written = json.dumps(body, ensure_ascii=False, indent=2) + "\n"
    if os.environ.get("PLAYHEAD_GOLDEN") == "write":
        place.write_text(written, encoding="utf-8")
    assert written == place.read_text(encoding="utf-8")


@pytest.mark.parametrize("provider", list(FORMATS))
@pytest.mark.parametrize("case", CASES)
def test_the_body_in_the_file_has_no_faults(case: str, provider: str):
    assert faults(provider, json.loads((HERE / case / f"{provider}.json").read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("case", CASES)
def test_every_process_writes_the_same_bytes(case: str):
    said = (HERE / case / "conversation.json").read_bytes()
    outputs = set()
    for seed in ("1", "2", "3"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        outputs.add(subprocess.run([sys.executable, "-c", DUMP], input=said, capture_output=True, check=True, env=env).stdout)
    assert len(outputs) == 1
    assert outputs.pop().count(b"\n") == len(FORMATS)
