"""Sessions of random shape: whatever the tree, each record is kept once, and results stand behind their calls."""

import json
import random
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.entry.entry import TapeEntry
from playhead.importers.driver import import_file
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.wire import anthropic, openai_chat
from tests.unit.importers.sessions import Session, call, read, text


def random_session(seed: int, size: int) -> Session:
    """Return a session with parallel calls, interleaved results, rewinds, sidechains, notes, compactions and lost records."""
    chance = random.Random(seed)
    session, turns, calls = Session(), 0, 0
    prompts: list[str | None] = [None]
    while len(session.records) < size:
        session.side = chance.random() < 0.1
        act = chance.choice(["prompt", "turn", "turn", "turn", "note", "link", "rewind", "compact", "bare", "lost"])
        if act == "prompt":
            prompts.append(session.last)
            session.prompt(f"p{session.count}")
        elif act == "turn":
            turns += 1
            waiting: list[tuple[str, str]] = []
            for _ in range(chance.randint(1, 4)):
                if chance.random() < 0.3:
                    session.turn(text(f"t{session.count}"), id=f"m{turns}")
                    continue
                calls += 1
                waiting.append((f"c{calls}", session.turn(call(f"c{calls}"), id=f"m{turns}")))
                if waiting and chance.random() < 0.3:
                    id_, parent = waiting.pop(chance.randrange(len(waiting)))
                    session.result(id_, f"r{session.count}", parent=parent)
            chance.shuffle(waiting)
            for id_, parent in waiting:
                if chance.random() < 0.9:
                    session.result(id_, f"r{session.count}", parent=parent)
        elif act == "note":
            session.prompt(f"n{session.count}", isMeta=True)
        elif act == "link":
            session.add("progress", data={"n": session.count})
        elif act == "rewind" and chance.random() < 0.5:
            session.last = chance.choice(prompts)
        elif act == "compact" and chance.random() < 0.3:
            session.compaction(f"s{session.count}")
        elif act == "bare":
            session.bare(type="queue-operation", operation=chance.choice("ab"), sessionId=session.session)
        elif act == "lost" and chance.random() < 0.2:
            session.last = "not-in-the-file"
    return session


def records_of(entry: TapeEntry) -> list[str]:
    origin = entry.meta["import"]
    return list(origin.get("records") or [origin.get("uuid")])


def check(found: list[TapeEntry], session: Session) -> None:
    """Check that every record is on the tape once, and no result before its call."""
    keys = [e.meta["idempotency_key"] for e in found]
    assert len(keys) == len(set(keys))
    own = [e for e in found if e.payload.get("name") not in ("claude_code.session", "import.rewind")]
    kept = Counter(u for e in own for u in records_of(e) if u)
    assert kept == Counter(r["uuid"] for r in session.records if "uuid" in r)
    assert sum(e.payload.get("name") == "claude_code.queue-operation" for e in own) == sum("uuid" not in r for r in session.records)
    asked: set[str] = set()
    calls = {b["id"] for r in session.records if r["type"] == "assistant" for b in r["message"]["content"] if b["type"] == "tool_use"}
    for entry in found:
        if entry.kind == "tool_call":
            asked |= {c["id"] for c in entry.payload["calls"]}
        if entry.kind == "tool_result":
            assert not set(entry.payload["call_ids"]) & calls - asked


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 60))
def test_each_record_of_any_session_is_kept_once_and_in_order(seed: int, size: int) -> None:
    session = random_session(seed, size)
    with TemporaryDirectory() as place:
        found, notes = read(session.write(Path(place) / "s.jsonl"))
    assert notes.unreadable == []
    check(found, session)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32), st.integers(2, 60), st.data())
def test_a_session_that_is_imported_while_it_grows_loses_and_doubles_nothing(seed: int, size: int, data: st.DataObject) -> None:
    session = random_session(seed, size)
    lines = session.lines()
    cuts = sorted(data.draw(st.lists(st.integers(1, len(lines)), max_size=4)))
    tape = Tape(InMemoryTapeStore(), "t")

    async def grow(path: Path) -> None:
        for cut in [*cuts, len(lines)]:
            path.write_bytes(b"\n".join(lines[:cut]))
            await import_file(path, into=tape)
        assert (await import_file(path, into=tape)).added == 0
        check([e async for e in tape.query() if "import" in e.meta], session)
        messages = await tape.read_messages()
        for body in (anthropic.dump(messages), openai_chat.dump(messages)):
            json.dumps(body)

    with TemporaryDirectory() as place:
        anyio.run(grow, Path(place) / "s.jsonl")
