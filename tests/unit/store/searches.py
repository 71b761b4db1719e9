"""Searches that are compared with what a look at all entries finds, and the making of volumes without a wait."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from random import Random

from anyio import to_thread

import playhead as ph
from playhead.store.concordance.patience import Behind
from playhead.store.family import kin_of
from playhead.store.postgres.address import Address, part_of
from playhead.store.postgres.reading import Reading
from playhead.store.query import TapeQuery
from playhead.store.ranked.answering import answer, question_of
from playhead.store.ranked.protocol import Stretch
from playhead.store.ranked.words import Words
from playhead.store.sqlite.segments import shown

Kept = ph.SQLiteTapeStore | ph.FileTapeStore | ph.PostgresTapeStore

QUESTIONS = ("gate", "gate 17", "tunnel dropped", "w3 w40", "w2", "w1 w2 w3", "absent", "tunel", "w977 gate")


def said(number: int) -> ph.TapeEntry:
    """Return the message of a number, the same words each time."""
    chance = Random(number)
    words = " ".join(f"w{int(chance.paretovariate(0.7)) % 1_000}" for _ in range(chance.choice((1, 4, 9))))
    return ph.TapeEntry.message({"role": "user", "content": f"{words} {chance.choice(('gate', 'the tunnel dropped', ''))} {number % 40}"})


async def fill(store: Kept, tape: str, *, first: int = 0, count: int = 700) -> None:
    for start in range(first, first + count, 100):
        await store.append_many(tape, [said(number) for number in range(start, min(start + 100, first + count))])


async def check(store: Kept, *tapes: str) -> None:
    """Compare searches of tapes, of parts of them, and as they were, with what the words of all their entries answer."""
    for tape in tapes:
        query = TapeQuery(tape=tape)
        entries, words = await store.fetch_all(query), Words()
        for entry in entries:
            words.add(entry)
        for number, (text, asked) in enumerate(zip(QUESTIONS, _asked(query, len(entries)), strict=True)):
            found = await store.search(asked, text, smoothed=bool(number % 2))
            wanted = answer(_view(words, asked), question_of(asked, text, _within(asked, entries), smoothed=bool(number % 2)))
            assert [(hit.entry.id, hit.score) for hit in found] == wanted, (tape, text, asked)
            assert [hit.entry for hit in found] == [entries[id - 1] for id, _ in wanted]


def _view(words: Words, asked: TapeQuery) -> list[Stretch]:
    end = words.end if asked.ceiling is None else min(words.end, asked.ceiling)
    return [Stretch(words, 1, end)] if end else []


def _within(asked: TapeQuery, entries: list[ph.TapeEntry]) -> range:
    left = replace(asked, only=None, count=None).apply(entries)
    return range(left[0].id, left[-1].id + 1) if left else range(0)


def _asked(query: TapeQuery, count: int) -> Iterator[TapeQuery]:
    yield from (query, query.limit(3), query.kinds("message"), query.after(count // 2), query.up_to(count * 2 // 3), query.before(count // 3), query, query.kinds("event"), query.limit(100))


async def caught_up(store: Kept, *tapes: str) -> None:
    """Have volumes made now of all that has enough for one."""
    for tape in tapes:
        if isinstance(store, ph.SQLiteTapeStore):
            numbers = await store._read(lambda connection, tape=tape: [segment.low >> 32 for segment in whole.segments] if (whole := shown(connection, tape)) else [])
            while await store._writing.run(Behind(numbers)):
                pass
        elif isinstance(store, ph.PostgresTapeStore):
            parts = await store._lanes.ask(partial(_parts, tape=tape))
            while await store._lanes._indexing.run(Behind(parts)):
                pass
        else:
            root = kin_of(tape).root
            stems = await store._ask(tape, lambda lineage: [stretch.stem for stretch in lineage.stretches()])
            while await store._write(root, Behind(stems)):
                pass


async def volumes(store: Kept) -> list[tuple[str, int, int]]:
    """Return all volumes of a store: of what, their first and their last ids."""
    if isinstance(store, ph.SQLiteTapeStore):
        return await store._read(lambda connection: [(str(row[0]), *row[1:]) for row in connection.execute("SELECT tape_no, first, last FROM search_volumes ORDER BY 1, 2")])
    if isinstance(store, ph.PostgresTapeStore):
        rows: list[tuple[str, int, int]] = await store._lanes.ask(lambda reading: reading.session.rows("SELECT tape_no::text, first, last FROM search_volumes ORDER BY tape_no, first", {}))
        return rows
    found = [path for path in (store.path / ".playhead").rglob("*.words/*") if path.name.replace("-", "").isdigit()]
    return sorted((path.parent.name.removesuffix(".words"), *map(int, path.name.split("-"))) for path in found)


async def flaws(store: Kept) -> list[str]:
    """Return what is wrong with a store."""
    return [str(flaw) for flaw in (await to_thread.run_sync(ph.verify, store)).flaws]


def _parts(reading: Reading, *, tape: str) -> list[Address]:
    address = reading.address(tape)
    return [] if address is None else [part_of(address.root_id, tape_no) for tape_no in (*(segment.tape_no for segment in address.inherited()), address.tape_no)]
