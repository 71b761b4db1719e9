"""What the golden stores hold: one of everything, with uids and dates that are always the same."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import playhead as ph
from playhead.entry.entry import TapeEntry, format_date
from playhead.entry.frozen import freeze_dict
from playhead.store.change import DISCARDED, MERGED, SQUASHED, Append, Close, Fork, Reset
from playhead.store.family import branch_name, sidecar_name
from playhead.store.protocol import IDEMPOTENCY_KEY, Head
from playhead.testing import FakeClock

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
FAR = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)

TAPE, SHORT, LONG = "support/42", "ticks", "letters"
TRIAL, DEEPER, DROPPED, TAKEN = (branch_name(TAPE, label) for label in ("trial", "deeper", "dropped", "taken"))
SPILL, TRIAL_SPILL = sidecar_name(TAPE, "spill"), sidecar_name(TRIAL, "spill")
PICTURE = b"a picture, in words: a router with one red light"
KEY, LONG_KEY, ODD_UID = "note-1", "note " + "about a key that is longer than an index takes, " * 3, "an id of another program"
LIMIT = 1_024
"""From how many bytes of JSON on a store keeps a payload in parts."""

LETTER = "The tunnel drops every hour, on the hour, and comes back by itself after half a minute or so. " * 16


def uid(number: int) -> str:
    """Return the uid of an entry."""
    return f"019ca8c3-ba80-7000-8000-{number:012x}"


class Writer:
    """Makes entries, each with the next uid and a date one second behind that of the last."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._made = 0

    def __call__(self, kind: str, payload: dict[str, object], *, at: datetime | None = None, **meta: object) -> TapeEntry:
        self._made += 1
        self._clock.advance(timedelta(seconds=1))
        return TapeEntry(0, kind, freeze_dict(payload), freeze_dict({"uid": uid(self._made), **meta}, path="meta"), format_date(at or self._clock.now()))


async def write(store: ph.InMemoryTapeStore | ph.SQLiteTapeStore | ph.FileTapeStore | ph.PostgresTapeStore, clock: FakeClock) -> None:
    """Fill a store; `clock` is the one it goes by."""
    entry = Writer(clock)
    picture = await store.put_blob(PICTURE, mime="text/plain")
    await store.append_many(TAPE, [entry("anchor", {"name": "session/start", "state": {"owner": "human"}})])
    await store.append_many(TAPE, [entry("system", {"content": "Be brief."}), entry("message", {"role": "user", "content": "My VPN drops every hour."})])
    await store.append_many(SPILL, [entry("note", {"text": "written beside entry 3"})])
    await store.append_many(TAPE, [entry("tool_call", {"calls": [{"id": "c1", "name": "ping", "arguments": {"host": "gw", "count": 3}}], "content": []}, run_id="r1")])
    await store.append_many(TAPE, [entry("tool_result", {"results": [{"lost": 2, "ms": 1.5}], "call_ids": ["c1"]}, run_id="r1")])
    await store.append_many(TAPE, [entry("error", {"kind": "tool_failed", "message": 'It\'s gone \\ "away".'}, at=FAR)])
    await store.append_many(SPILL, [entry("note", {"text": "written beside entry 6"})])
    await store.append_many(TAPE, [entry("event", {"name": "odd", "data": {"日本語": "é \U0001f600", "big": 2**70, "float": 1e16, "none": None, "half": "\ud800", "nul": "a\0b"}})])
    await store.append_many(TAPE, [entry("note", {"text": "kept once"}, **{IDEMPOTENCY_KEY: KEY}), entry("note", {"text": "kept once, too"}, **{IDEMPOTENCY_KEY: LONG_KEY})])
    await store.append_many(TAPE, [entry("message", {"role": "user", "content": [{"type": "image", "ref": picture.digest, "mime": "text/plain"}]}, uid=ODD_UID)])
    await store.append_many(TAPE, [entry("anchor", {"name": "diagnosed", "state": {"summary": "MTU too large"}}), entry("message", {"role": "assistant", "content": "Set the MTU to 1400."})])
    await _branches(store, entry)
    await store.append_many(SHORT, [entry("event", {"name": "tick", "data": {"n": n, "word": f"w{n * n % 23}"}}) for n in range(66)])
    await store.append_many(LONG, [entry("message", {"role": "user", "content": LETTER}), entry("message", {"role": "assistant", "content": "Thank you for your letter."})])
    await store.move_cursor(TAPE, "mail", Head(1, 2))
    await store.move_cursor(TRIAL, "merge", Head(0, 6))
    await store.release(await store.lease(TAPE, owner="one", seconds=600))
    await store.lease(TAPE, owner="two", seconds=600)


async def _branches(store: ph.InMemoryTapeStore | ph.SQLiteTapeStore | ph.FileTapeStore | ph.PostgresTapeStore, entry: Writer) -> None:
    await store.apply([Fork(tape=TRIAL, parent=TAPE, at=5, owner="somebody")])
    await store.append_many(TRIAL, [entry("message", {"role": "user", "content": "Assume MTU 1400."})])
    await store.append_many(TRIAL_SPILL, [entry("note", {"text": "beside the trial"})])
    await store.apply([Fork(tape=DEEPER, parent=TRIAL), Append(tape=DEEPER, entries=[entry("note", {"text": "deeper"})]), Close(tape=DEEPER, outcome=SQUASHED)])
    await store.apply([Fork(tape=DROPPED, parent=TAPE), Append(tape=DROPPED, entries=[entry("note", {"text": "dropped"})]), Close(tape=DROPPED, outcome=DISCARDED)])
    await store.apply([Reset(tape=TAPE, entries=[entry("anchor", {"name": "session/start", "state": {}}), entry("message", {"role": "user", "content": "It drops again."})])])
    await store.apply([Fork(tape=TAKEN, parent=TAPE)])
    own = await store.append_many(TAKEN, [entry("message", {"role": "assistant", "content": "Then set it to 1300."})])
    await store.apply([Append(tape=TAPE, entries=[*own, entry("merge", {"of": "taken"}, context=False, **{IDEMPOTENCY_KEY: "merge taken"})]), Close(tape=TAKEN, outcome=MERGED)])
