"""Stores to move tapes between, and families of all shapes to move."""

from __future__ import annotations

import atexit
import hashlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from random import Random

import playhead as ph
from playhead.entry.entry import TapeEntry
from playhead.errors import PlayheadError
from playhead.store.archiving.retention import archiving
from playhead.store.change import DISCARDED, MERGED, SQUASHED, Append, Change, Close, Fork, Reset
from playhead.store.family import branch_name, sidecar_name
from playhead.store.protocol import Head, WholeStore
from tests.postgres.databases import databases, known

STORES: dict[str, Callable[[Path], WholeStore]] = {
    "memory": lambda _: ph.InMemoryTapeStore(),
    "file": lambda place: ph.FileTapeStore(place / "tapes", durability="process"),
    "SQLite": lambda place: ph.SQLiteTapeStore(place / "tapes.db", durability="process"),
    "PostgreSQL": lambda place: ph.PostgresTapeStore(database(), tenant=hashlib.sha256(bytes(place)).hexdigest()[:32], durability="process"),
}
"""The stores that tapes are moved between, each with each; one more is one more line."""


@cache
def database() -> str:
    """Return the URL of a database for the stores of all tests of this process, each a tenant of its own; skip the test where there is no server."""
    open_until_the_end = ExitStack()
    url = open_until_the_end.enter_context(databases().database(fresh=True))
    atexit.register(open_until_the_end.close)  # behind what closes the databases, so it is called before that
    return url


def here() -> list[str]:
    """Return the names of the stores that can be opened here: all, or all but PostgreSQL where there is no server."""
    return [kind for kind in STORES if kind != "PostgreSQL" or known()]


def opened(kind: str, place: Path) -> WholeStore:
    place.mkdir(parents=True, exist_ok=True)
    return STORES[kind](place)


def files_of(directory: Path) -> dict[str, str]:
    """Return the files of an export, each with a digest."""
    return {path.relative_to(directory).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(directory.rglob("*")) if path.is_file()}


async def exported(store: WholeStore, directory: Path) -> dict[str, str]:
    await ph.export_store(store, directory)
    return files_of(directory)


async def furnish(store: WholeStore) -> None:
    """Fill a store with one of everything: resets that branches still show, closed branches, sidecars, blobs, cursors, odd names and texts."""
    tape, branch = "support/42", branch_name("support/42", "trial")
    picture = await store.put_blob(b"\x89PNG" + bytes(2000), mime="image/png")
    side = sidecar_name(tape, "spill")
    await store.append_many(tape, [ph.TapeEntry.event("n", {"n": n, "float": 1e16, "text": "héllo \U0001f600"}) for n in range(300)])
    await store.apply([Append(tape=side, entries=[ph.TapeEntry.event("beside", {"n": n}) for n in range(4)])])
    await store.append_many(tape, [ph.TapeEntry.message({"role": "user", "content": [{"type": "image", "ref": picture.digest, "mime": "image/png"}]}), ph.TapeEntry.anchor("seen")])
    await store.apply([Fork(tape=branch, parent=tape, at=301, owner="somebody")])
    await store.append_many(branch, [ph.TapeEntry.event("own", {"lone": "\ud800"})])
    await store.append_many(sidecar_name(branch, "spill"), [ph.TapeEntry.event("own beside")])
    await store.apply([Fork(tape=branch_name(tape, "deeper"), parent=branch, at=302), Close(tape=branch_name(tape, "deeper"), outcome=SQUASHED)])
    await store.apply([Reset(tape=tape, entries=[ph.TapeEntry.anchor("session/start"), TapeEntry(0, "event", {"name": "again"}, {"idempotency_key": "k"})])])
    await store.apply([Reset(tape=side), Append(tape=side, entries=[ph.TapeEntry.event("again beside")])])
    await store.apply([Fork(tape=branch_name(tape, "late"), parent=tape)])
    await store.apply([Reset(tape=branch_name(tape, "late")), Reset(tape=branch_name(tape, "late"), entries=[ph.TapeEntry.event("anew")])])
    await store.append_many("日本語", [ph.TapeEntry.message({"role": "user", "content": "hi"})])
    await store.append_many(sidecar_name("only a sidecar", "s"), [ph.TapeEntry.event("alone")])
    await store.apply([Fork(tape=branch_name("Only Squashed", "b"), parent="Only Squashed")])
    await store.append_many(branch_name("Only Squashed", "b"), [ph.TapeEntry.event("kept")])
    await store.apply([Close(tape=branch_name("Only Squashed", "b"), outcome=SQUASHED)])
    await store.move_cursor(tape, "mail", Head(1, 2))
    await store.move_cursor(branch, "merge", Head(0, 302))


ROOTS = ("support/42", "日本語", "only a sidecar", "Only Squashed")
"""The tapes that a store is furnished with."""

ANYTHING, ONWARD = (45, 20, 25, 10, 10), (55, 0, 25, 10, 10)
"""How often a family is appended to, reset, forked, closed, archived; onward nothing is reset."""


class Breaking:
    """Hands all on to a store, and fails at a change, counted from 0."""

    def __init__(self, store: WholeStore, *, at: int) -> None:
        self._store = store
        self._left = at

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def apply(self, changes: Sequence[Change]) -> object:
        self._left -= 1
        if self._left < 0:
            raise ph.StoreUnavailable("The disk is full.")
        return await self._store.apply(changes)


async def grow(store: WholeStore, root: str, chance: Random, *, steps: int, first: int = 0, weights: tuple[int, ...] = ANYTHING) -> None:
    """Do anything to a family, so many times, counted from the first; what is refused is left."""
    for step in range(first, first + steps):
        mains = [root, *(record.name for record in await store.branches(root))]
        main = chance.choice(mains)
        tape = main if chance.random() < 0.5 else sidecar_name(main, chance.choice("sq"))
        entries = [ph.TapeEntry.event("n", {"step": step, "n": n}) for n in range(chance.randint(0, 3))]
        try:
            match chance.choices(["append", "reset", "fork", "close", "archive"], weights)[0]:
                case "append":
                    await store.append_many(tape, entries)
                case "reset":
                    await store.apply([Reset(tape=tape, entries=entries)])
                case "fork":
                    at = chance.choice([None, chance.randint(0, (await store.head(main)).id)])
                    await store.apply([Fork(tape=branch_name(root, f"b{step}"), parent=main, at=at, owner=chance.choice([None, "x"]))])
                case "archive":
                    await archiving(store).archive(tape, upto=chance.randint(0, 12))
                case "close":
                    await store.apply([Close(tape=main, outcome=chance.choice([MERGED, DISCARDED, SQUASHED]))])
        except PlayheadError:
            continue
