"""`import_items`: what another library holds comes onto a tape as a file of it would."""

import json
from pathlib import Path
from typing import Any

import pytest

import playhead as ph
from playhead.importers.driver import import_file, import_items
from playhead.tape.tape import Tape
from tests.unit.importers.sessions import entries

pytestmark = pytest.mark.anyio

ITEMS: list[dict[str, Any]] = [
    {"role": "user", "content": "Is gw1 up?"},
    {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "ping", "arguments": '{"host": "gw1"}'},
    {"type": "function_call_output", "call_id": "call_1", "output": "gw1 answers"},
    {"role": "user", "content": "Sure?"},
]


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def tape() -> Tape:
    return Tape(ph.InMemoryTapeStore(), "t")


async def test_items_become_the_entries_that_a_file_of_them_becomes(tape: Tape, tmp_path: Path) -> None:
    path = tmp_path / "session"
    path.write_text("\n".join(map(json.dumps, ITEMS)))
    other = tape.scoped("other")
    assert await import_items(ITEMS, into=tape, source="session") == await import_file(path, into=other)
    found, expected = await entries(tape), await entries(other)
    assert [(e.kind, e.payload, e.meta.get("idempotency_key")) for e in found] == [(e.kind, e.payload, e.meta.get("idempotency_key")) for e in expected]
    assert {e.meta["import"]["source"] for e in found if "import" in e.meta} == {"session"}


async def test_items_that_grew_add_what_is_new(tape: Tape) -> None:
    first = await import_items(ITEMS[:3], into=tape)
    again = await import_items(iter(ITEMS), into=tape)
    assert (first.added, again.added, again.known) == (3, 1, 3)
    assert [m.text for m in await tape.read_messages()] == ["Is gw1 up?", "", "gw1 answers", "Sure?"]


async def test_no_items_write_nothing(tape: Tape) -> None:
    report = await import_items([], into=tape, format="openai-responses")
    assert (report.added, report.known, report.conversations) == (0, 0, 0)
    assert await entries(tape) == []


@pytest.mark.parametrize("items", [["Is gw1 up?"], [{"role": "user", "content": float("nan")}], [{"role": "user", "content": object()}]])
async def test_what_is_no_json_object_is_refused_and_nothing_is_written(tape: Tape, items: list[Any]) -> None:
    with pytest.raises(ph.InvalidInput):
        await import_items([*ITEMS, *items], into=tape)
    assert await entries(tape) == []


async def test_an_unknown_format_and_items_of_no_format_are_refused(tape: Tape) -> None:
    with pytest.raises(ph.InvalidInput, match="openai-responses"):
        await import_items(ITEMS, into=tape, format="agents")
    with pytest.raises(ph.UnreadableFile):
        await import_items([{"a": 1}], into=tape)
    assert await entries(tape) == []
