"""Keys that stand twice in one object: nothing of them is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from playhead.importers.repeats import Repeat, repeats_in
from tests.unit.importers.sample import Sample
from tests.unit.importers.samples import SAMPLES
from tests.unit.importers.sessions import read, shown, told

CLAUDE_CODE = Sample(
    format="claude-code",
    records=[
        {"type": "user", "uuid": "a", "parentUuid": None, "sessionId": "s", "message": {"role": "user", "content": "Is gw1 up?"}},
        {"type": "assistant", "uuid": "b", "parentUuid": "a", "sessionId": "s", "message": {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "It is."}]}},
    ],
)
OPENAI_CHAT = Sample(format="openai-chat", records=[{"role": "user", "content": "Is gw1 up?"}, {"role": "assistant", "content": [{"type": "text", "text": "It is."}]}])
DOCUMENT = Sample(format="openai-chat", records=OPENAI_CHAT.records, document="messages", fields={"system": "Be brief.", "made": {"by": "x"}})
EXPORT = Sample(format="playhead", records=[{"id": n, "kind": "message", "payload": {"role": "user", "content": f"{n}"}, "meta": {"uid": f"u{n}"}, "date": "2026-03-01"} for n in (1, 2)])
KINDS = {**SAMPLES, "claude-code": CLAUDE_CODE, "openai-chat": OPENAI_CHAT, "a document": DOCUMENT, "playhead": EXPORT}


@pytest.mark.parametrize(
    ("body", "repeats"),
    [
        ('{"a":1,"a":2}', [("a", "1")]),
        ('{"a" :1, "b": ":", "a"\n:\t2}', [("a", "1")]),
        ('{"a":{"b":[{"c":1,"c":2}]}}', [("a.b[0].c", "1")]),
        ('{"a":1,"a":2,"a":3}', [("a", "1"), ("a", "2")]),
        ('{"a":{"q":1,"q":2},"a":3}', [("a", '{"q": 2}'), ("a.q", "1")]),
        ('{"a\\\\":1,"a\\\\":2}', [("a\\", "1")]),
        ('{"\\ud83d\\ude00":1,"😀":2}', [("😀", "1")]),
        ('{"a":1e999,"a":1}', [("a", "Infinity")]),
        ('{"a":"\\ud83d","a":1}', [("a", '"\ud83d"')]),
    ],
)
def test_what_a_later_member_replaces_is_found_with_its_place(body: str, repeats: list[tuple[str, str]]) -> None:
    assert repeats_in(body.encode()) == tuple(Repeat(at=at, json=value) for at, value in repeats)


@pytest.mark.parametrize(
    "body",
    [
        '{"a":1,"b":{"a":1}}',
        '{"a": ":", "b": "\\":", "c": "\\\\\\":\\"x\\":"}',
        '{"a": "{\\"b\\": 1, \\"b\\": 2}"}',
        '[{"a": 1}, {"a": 1}]',
        '"a"',
        "7",
        '{"a":1,"a":',
        "",
    ],
)
def test_what_repeats_no_key_has_none(body: str) -> None:
    assert repeats_in(body.encode()) == ()


def test_a_number_that_no_reader_takes_is_kept_with_its_whole_line() -> None:
    body = '{"b": {"a": 1, "a": 2}, "n": ' + "9" * 5_000 + "}"
    assert repeats_in(body.encode()) in ((), (Repeat(at="", json=body),))


def with_repeats(value: Any, marks: Iterator[int]) -> str:
    """Return JSON in which a key of each object stands twice, first with a mark that is lost where only the last is read."""
    if isinstance(value, dict):
        members = [f"{json.dumps(k)}: {with_repeats(v, marks)}" for k, v in value.items()]
        repeated = [f'{json.dumps(k)}: "MARK{next(marks)}-"' for k in list(value)[:1]]
        return "{" + ", ".join([*repeated, *members]) + "}"
    return f"[{', '.join(with_repeats(v, marks) for v in value)}]" if isinstance(value, list) else json.dumps(value)


@pytest.mark.parametrize("is_one_line", [True, False])
@pytest.mark.parametrize("sample", KINDS.values(), ids=KINDS)
def test_no_importer_loses_a_repeated_key(sample: Sample, is_one_line: bool, tmp_path: Path) -> None:
    marks = count()
    if sample.document is None:
        body = "".join(f"{with_repeats(r, marks)}\n" for r in sample.records)
    else:
        body = with_repeats(json.loads(sample.body()), marks)
        body = body if is_one_line else body.replace("{", "{\n", 1)
    path = tmp_path / "file"
    path.write_text(body)
    entries, notes = read(path)
    kept = json.dumps([(e.payload, e.meta) for e in entries])
    assert [n for n in range(next(marks)) if f"MARK{n}-" not in kept] == []
    assert any("has a key twice in one object" in w for w in notes.warnings)
    plain, _ = read(sample.write(tmp_path / "plain"))
    assert told(shown(entries)) == told(shown(plain))
