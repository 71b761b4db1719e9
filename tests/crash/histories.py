"""Histories of one tape that many use at once: what each of them was told, and when; and whether all that is as if they had taken turns.

`python -m tests.crash.histories KIND PLACE WHO STEPS` uses the tape of a store from several threads and prints what they were told.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import anyio

from playhead.entry.entry import TapeEntry
from playhead.errors import Conflict
from playhead.store.protocol import EMPTY, IDEMPOTENCY_KEY, Head, WholeStore
from playhead.store.query import TapeQuery
from tests.stores import opened

TAPE = "t"
BACKENDS = ("asyncio", "trio", "asyncio")
"""The loop of each thread; the last thread opens the store for itself."""

TASKS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What one call was told: `start` and `end` are nanoseconds of a clock that all processes of a machine share.

    `call` is "append", "head", "find" or "last". An append that was refused has the `found` head and no ids; `found` is the id of
    a head, or of the entry with a key, 0 where there is none. `ids` and `texts` are those of the entries, newest first for "last".
    """

    start: int
    end: int
    call: str
    key: str | None = None
    expected: int | None = None
    found: int | None = None
    ids: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()


async def play(store: WholeStore, *, who: str, steps: int) -> list[Told]:
    """Use the tape for so many calls, by chance that is the same for the same name, and return what was told."""
    chance, seen, history = Random(who), EMPTY, []
    for step in range(steps):
        key = f"key {chance.randint(max(0, step - 3), step)}"
        match chance.choices(["append", "batch", "compare", "key", "head", "find", "last"], [3, 2, 4, 3, 3, 3, 3])[0]:
            case "append":
                told = await _append(store, [f"{who} {step}"])
            case "batch":
                told = await _append(store, [f"{who} {step} {part}" for part in range(chance.randint(2, 4))])
            case "compare":
                told = await _append(store, [f"{who} {step} compared"] * chance.randint(1, 2), expected=seen)
            case "key":
                told = await _append(store, [key], key=key)
            case "head":
                told = await _head(store)
            case "find":
                told = await _find(store, key)
            case _:
                told = await _last(store, chance.randint(1, 5))
        history.append(told)
        if told.call != "find":
            seen = Head(0, max((*told.ids, told.found or 0)))
    return history


async def together(store: WholeStore, *, who: str, steps: int, tasks: int = TASKS) -> list[Told]:
    """Use the tape from several tasks of one loop."""
    history: list[Told] = []

    async def one(number: int) -> None:
        history.extend(await play(store, who=f"{who}.{number}", steps=steps))

    async with anyio.create_task_group() as group:
        for number in range(tasks):
            group.start_soon(one, number)
    return history


def threaded(kind: str, place: Path, *, who: str, steps: int) -> list[Told]:
    """Use the tape from threads that have a loop each: all but the last, as far as a store outlives its process, share one store."""
    shared = opened(kind, place, **_options(kind))

    def one(number: int) -> list[Told]:
        mine = opened(kind, place, **_options(kind)) if number == len(BACKENDS) - 1 and kind != "memory" else shared
        history = anyio.run(partial(together, mine, who=f"{who}.{number}", steps=steps), backend=BACKENDS[number])
        if mine is not shared:
            anyio.run(mine.aclose)
        return history

    with ThreadPoolExecutor(len(BACKENDS)) as threads:
        found = [told for history in threads.map(one, range(len(BACKENDS))) for told in history]
    if kind == "memory":
        found.append(anyio.run(_last, shared, 1_000_000))
    anyio.run(shared.aclose)
    return found


def _options(kind: str) -> dict[str, Any]:
    return {} if kind == "memory" else {"durability": "process", "timeout": 60}


async def _append(store: WholeStore, texts: Sequence[str], *, expected: Head | None = None, key: str | None = None) -> Told:
    entries = [TapeEntry(0, "note", {"text": text}, {} if key is None else {IDEMPOTENCY_KEY: key}) for text in texts]
    about: dict[str, Any] = {"call": "append", "texts": tuple(texts), "key": key, "expected": None if expected is None else expected.id}
    start = time.monotonic_ns()
    try:
        stored = await store.append_many(TAPE, entries, expected_head=expected)
    except Conflict as conflict:
        return Told(start=start, end=time.monotonic_ns(), found=conflict.found.id, **about)
    return Told(start=start, end=time.monotonic_ns(), ids=tuple(entry.id for entry in stored), **about)


async def _head(store: WholeStore) -> Told:
    start = time.monotonic_ns()
    head = await store.head(TAPE)
    return Told(start=start, end=time.monotonic_ns(), call="head", found=head.id)


async def _find(store: WholeStore, key: str) -> Told:
    start = time.monotonic_ns()
    found = await store.find(TAPE, keys=[key])
    return Told(start=start, end=time.monotonic_ns(), call="find", key=key, found=found[key].id if found else 0)


async def _last(store: WholeStore, count: int) -> Told:
    start = time.monotonic_ns()
    entries = list(await store.fetch_all(TapeQuery(tape=TAPE).newest_first().limit(count)))
    return Told(start=start, end=time.monotonic_ns(), call="last", ids=tuple(entry.id for entry in entries), texts=tuple(entry.payload["text"] for entry in entries))


class Commit(NamedTuple):
    """An append that wrote: the ids of its first and its last entry, and between which instants it can have happened."""

    first: int
    last: int
    low: int
    high: int


def flaws(history: Iterable[Told], log: Sequence[str]) -> list[str]:
    """Return why a history of a tape, which then held the texts of `log`, is not as if its calls had been made one after the other, each between its start and its end.

    The ids say in which order the appends were, so that it only takes an instant for each of them: it must be within its call, not
    before that of the append in front of it, not behind the end of a call that was told of it, and not before the start of one that
    was told of less. A call that was told of an end of the tape then has an instant as well, between the two appends around that end.
    """
    history = list(history)
    found = list(_wrong_texts(history, log))
    commits = _commits(history)
    reach = [0, *(commit.last for commit in commits)]
    if any(commit.first != end + 1 for commit, end in zip(commits, reach, strict=False)) or reach[-1] != len(log):
        found.append(f"the appends that were acknowledged wrote {[(commit.first, commit.last) for commit in commits]}, and the tape has {len(log)} entries")
    if found:
        return found
    found += _wrong_comparisons(history)
    numbers = {end: number for number, end in enumerate(reach)}
    low, high = [commit.low for commit in commits], [commit.high for commit in commits]
    sent = {(told.key, told.ids[0]) for told in history if told.call == "append" and told.key and told.ids}
    keys = dict(sent)
    found += [f"the key {key!r} stands at {id} and at {keys[key]}" for key, id in sent if keys[key] != id]
    for told in history:
        least, most = _ends(told, keys)
        if least is not None and most is not None and least not in numbers:
            found.append(f"half of what was appended at once was seen: {told}")
            continue
        if least:  # what it was told of was there by its end
            number = next(number for number, commit in enumerate(commits) if commit.last >= least)
            high[number] = min(high[number], told.end)
        if most is not None and most < len(log):  # and what it was not told of came behind its start
            number = next(number for number, commit in enumerate(commits) if commit.last > most)
            low[number] = max(low[number], told.start)
    return found + list(_without_an_instant(commits, low, high))


def _wrong_texts(history: Iterable[Told], log: Sequence[str]) -> Iterator[str]:
    for told in history:
        if told.ids and any(not 0 < id <= len(log) or log[id - 1] != text for id, text in zip(told.ids, told.texts, strict=True)):
            yield f"the tape says something else: {told}"
        elif any(after - before != (-1 if told.call == "last" else 1) for before, after in pairwise(told.ids)):
            yield f"its ids are not one behind the other: {told}"
        elif told.call == "find" and told.found and (told.found > len(log) or log[told.found - 1] != told.key):
            yield f"that entry does not have the key: {told}"


def _commits(history: Iterable[Told]) -> list[Commit]:
    """Return the appends that wrote, in order. Of those with one key the first to begin may have written, and each was told of it by its end."""
    made: dict[object, Commit] = {}
    for number, told in enumerate(history):
        if told.call == "append" and told.ids:
            commit = Commit(told.ids[0], told.ids[-1], told.start, told.end)
            one = number if told.key is None else (told.key, told.ids[0])
            other = made.get(one, commit)
            made[one] = commit._replace(low=min(commit.low, other.low), high=min(commit.high, other.high))
    return sorted(made.values())


def _wrong_comparisons(history: Iterable[Told]) -> Iterator[str]:
    for told in history:
        before = told.ids[0] - 1 if told.ids else told.found
        if told.expected is not None and bool(told.ids) != (before == told.expected):
            yield f"it should{' not' if told.ids else ''} have been let in: {told}"


def _ends(told: Told, keys: dict[str | None, int]) -> tuple[int | None, int | None]:
    """Return at least and at most where the tape ended for a call that only read, None where that is not said."""
    match told.call:
        case "append" if told.ids:
            return None, None
        case "append" | "head":
            return told.found, told.found
        case "find" if told.found:
            return told.found, None
        case "find":
            return None, keys[told.key] - 1 if told.key in keys else None
        case _:
            end = told.ids[0] if told.ids else 0
            return end, end


def _without_an_instant(commits: Sequence[Commit], low: Sequence[int], high: Sequence[int]) -> Iterator[str]:
    at = 0
    for commit, least, most in zip(commits, low, high, strict=True):
        at = max(at, least)
        if at > most:
            yield f"there is no instant at which the entries {commit.first} to {commit.last} can have been appended: {at - most} ns are missing"
            at = most


def read(lines: Iterable[str]) -> Iterator[Told]:
    """Yield what a process printed."""
    for line in lines:
        said = json.loads(line)
        yield Told(**{**said, "ids": tuple(said["ids"]), "texts": tuple(said["texts"])})


if __name__ == "__main__":
    print("ready", flush=True)
    sys.stdin.readline()
    for each in threaded(sys.argv[1], Path(sys.argv[2]), who=sys.argv[3], steps=int(sys.argv[4])):
        print(json.dumps(asdict(each)))
