"""Whatever JSON a file holds, reading it ends, and every line is on the tape or told."""

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.entry.entry import TapeEntry
from playhead.importers.report import Notes
from tests.unit.importers.sessions import Session, call, read, text

ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8) | st.sampled_from(["user", "assistant", "tool_use", "tool_result", "text", "c1", "m1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "content", "id", "text", "role", "input", "tool_use_id", "source", "x"]), inner, max_size=3),
    max_leaves=6,
)


def a_session() -> list[dict[str, Any]]:
    session = Session()
    session.prompt([text("go"), {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}])
    session.turn(text("I look."), call("c1"), id="m1")
    session.result("c1", [text("found")], toolUseResult={"stdout": "found"})
    session.add("attachment", attachment={"type": "file", "filename": "a", "content": {"file": {"content": "b"}}})
    session.compaction("All done.")
    session.turn(text("oops"), id="m2", isApiErrorMessage=True)
    return session.records


CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [text("go")], "name": "Ann", "timestamp": 5},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "ok"},
]


def places(value: Any) -> list[Callable[[Any], None]]:
    """Return for each place inside a JSON value what puts another value there."""
    found: list[Callable[[Any], None]] = []
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        found.append(lambda odd, key=key: value.__setitem__(key, odd))
        found += places(value[key])
    return found


def entries(records: list[Any]) -> tuple[list[TapeEntry], Notes]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "f"
        path.write_text("\n".join(map(json.dumps, records)))
        return read(path)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10_000), ODD), min_size=1, max_size=4))
def test_a_session_with_odd_values_anywhere_is_read(changes: list[tuple[int, Any]]) -> None:
    records = [{"type": "user", "uuid": "u0", "message": {"role": "user", "content": "first"}}, *a_session()]
    for place, odd in changes:
        found = places(records[1:])
        if found:
            found[place % len(found)](odd)
    made, notes = entries(records)
    pieces = [r for e in made if e.payload.get("name") != "claude_code.session" for r in e.meta["import"].get("records", (1,))]
    second = [e for e in made if e.meta["idempotency_key"].endswith("#2")]
    assert len(pieces) - len(second) + notes.repeated == len(records)
    keys = [e.meta["idempotency_key"] for e in made]
    assert len(set(keys)) == len(keys)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10_000), ODD), min_size=1, max_size=4))
def test_a_chat_with_odd_values_anywhere_is_read(changes: list[tuple[int, Any]]) -> None:
    records: list[Any] = [{"role": "user", "content": "first"}, *json.loads(json.dumps(CHAT)), {"messages": json.loads(json.dumps(CHAT)), "id": 5}]
    for place, odd in changes:
        found = places(records[1:])
        if found:
            found[place % len(found)](odd)
    made, notes = entries(records)
    lines = {e.meta["import"]["line"] for e in made}
    assert lines | {line for line, _ in notes.unreadable} == set(range(1, len(records) + 1))
    keys = [e.meta["idempotency_key"] for e in made]
    assert len(set(keys)) == len(keys)


@settings(deadline=None)
@given(st.lists(ODD, max_size=6), st.sampled_from([None, 1]))
def test_a_document_of_odd_values_is_read(values: list[Any], indent: int | None) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "f"
        path.write_text(json.dumps([{"role": "user", "content": "first"}, *values], indent=indent))
        made, notes = read(path, format="openai-chat")
    assert len(made) + len(notes.unreadable) >= 1 + len(values)
