"""A family with all that a store can hold of one: batches, anchors, keys, sidecars, branches of branches, resets, merges, odd dates and texts."""

from __future__ import annotations

from pathlib import Path

import playhead as ph

TAPE = "support/42"
MANY = 150


async def fill(store: ph.SQLiteTapeStore | ph.FileTapeStore) -> None:
    """Write the family."""
    tape = ph.Tape(store, TAPE)
    for number in range(MANY):
        await tape.append(ph.user(f"message {number}"), key=f"key-{number}" if number % 5 == 0 else None)
    await tape.append_many([ph.user("one of two"), ph.assistant("two of two")])
    await tape.handoff("diagnosed", {"summary": "MTU"})
    await tape.append_event("odd", {"text": "\ud83d lone", "n": 1}, date_note="\udc00")
    await tape.append(ph.TapeEntry.event("far", date="2999-01-01"))
    await tape.append(ph.TapeEntry.event("early", date="1999-01-01"))
    await tape.sidecar("spill").append(ph.user("beside"))
    trial = await tape.fork(at=100, name="trial")
    for number in range(70):
        await trial.append(ph.user(f"trial {number}"))
    await trial.sidecar("spill").append_many([ph.user("beside the trial"), ph.user("again")])
    deeper = await trial.fork(name="deeper")
    await deeper.append(ph.user("deeper"))
    await deeper.sidecar("notes").append(ph.user("first written here"))
    merged = await tape.fork(name="merged")
    await merged.append(ph.user("comes back"))
    await merged.sidecar("spill").append(ph.user("comes back beside"))
    await merged.merge()
    gone = await tape.fork(name="gone")
    await gone.append(ph.user("never mind"))
    await gone.discard()
    again = await tape.fork(name="again")
    await again.reset()
    await again.append(ph.user("anew"))
    await tape.reset()
    await tape.append(ph.user("anew"))
    await store.lease("support/42", owner="somebody", seconds=60)
    await store.move_cursor("support/42", "reader", ph.Head(0, 7))
    await ph.Tape(store, "other").append(ph.user("another tape"))


async def told(store: ph.SQLiteTapeStore | ph.FileTapeStore) -> dict[str, list[tuple[int, str, object]]]:
    """Return what every tape, branch and sidecar shows."""
    shown = {}
    for root in await store.list_tapes():
        for main in (root, *(record.name for record in await store.branches(root))):
            for name in (main, *(f"{main}__sidecar__{sidecar}" for sidecar in await store.sidecars(main))):
                entries = await store.fetch_all(ph.TapeQuery(tape=name))
                shown[name] = [(entry.id, entry.uid, ph.thaw(entry.payload)) for entry in entries]
    return shown


async def filled_sqlite(path: Path) -> Path:
    """Write the family to a SQLite file and close it."""
    async with ph.SQLiteTapeStore(path, durability="process") as store:
        await fill(store)
    return path


async def filled_files(path: Path) -> Path:
    """Write the family to a directory of files."""
    async with ph.FileTapeStore(path, durability="process") as store:
        await fill(store)
    return path
