"""What is left of the records of a damaged SQLite store, put in order: what is unreadable is made anew from the rest."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from playhead import clock
from playhead.errors import InvalidInput
from playhead.store.change import DISCARDED, MERGED, OPEN, SQUASHED
from playhead.store.family import Kin, kin_of
from playhead.store.proving.catalogue import HIGHEST, IN_USE, REMOVED, RETIRED, Named, Numbered
from playhead.store.rows.row import microseconds
from playhead.store.rows.statements import statements
from playhead.store.sqlite.upkeep.pages import Record

_STATES = (OPEN, MERGED, SQUASHED, DISCARDED)
_NUMBERED, _NAMED = 11, 13


class Remains(NamedTuple):
    """The tape numbers and names of a store, in order; `is_whole` says whether there were surely no more of them."""

    numbered: dict[int, Numbered]
    named: dict[str, Named]
    leases: list[tuple[Any, ...]]
    cursors: list[tuple[Any, ...]]
    is_whole: bool

    def called(self, tape_no: int) -> str:
        """Return the name of a tape number."""
        return next((row.name for row in self.named.values() if row.tape_no == tape_no), f"no. {tape_no}")


def remains(path: str, records: Iterable[Record], present: set[int]) -> Remains:
    """Return what is left, read as SQLite reads it and, where it cannot, from the records on the pages; `present` are the tape numbers of which there are entries."""
    found = {name: _asked(path, name) for name in ("tapes", "names", "leases", "cursors")}
    is_whole = all(found[name][1] for name in ("tapes", "names"))
    numbered, named = [Numbered._make(row) for row in found["tapes"][0]], [Named._make(row) for row in found["names"][0]]
    if not is_whole:
        from_pages = list(records)
        numbered += _newest_numbers(from_pages)
        named += _newest_names(from_pages)
    numbers = _numbers(numbered)
    for number in ({row.tape_no for row in named} | (set() if is_whole else present)) - numbers.keys():
        if _is_number(number):
            numbers[number] = _unknown(number)
    names = _names(named, numbers)
    ordered = _lineages(numbers, names)
    leases, cursors = (_sound(found[name][0]) for name in ("leases", "cursors"))
    return Remains(ordered, _rebased(names, ordered), leases, cursors, is_whole)


def _asked(path: str, statement: str) -> tuple[list[tuple[Any, ...]], bool]:
    """Return the rows of a table as far as SQLite reads them, and whether that is all of it."""
    rows: list[tuple[Any, ...]] = []
    try:
        with closing(sqlite3.connect(f"{Path(path).as_uri()}?mode=ro", uri=True, isolation_level=None)) as connection:
            connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
            rows.extend(connection.execute(statements("verify")[statement]))
    except sqlite3.Error:
        return rows, False
    return rows, True


def _newest_numbers(records: Iterable[Record]) -> list[Numbered]:
    found: dict[int, Numbered] = {}
    for rowid, values in records:
        if rowid is None or len(values) != _NUMBERED or values[0] is not None or not isinstance(values[3], str) or values[5] not in (IN_USE, RETIRED, REMOVED):
            continue
        row = Numbered._make((rowid, *values[1:8], values[10]))
        old = found.get(rowid)
        if old is None or (_whole(row.state), _whole(row.indexed)) > (_whole(old.state), _whole(old.indexed)):
            found[rowid] = row
    return list(found.values())


def _newest_names(records: Iterable[Record]) -> list[Named]:
    found: dict[str, Named] = {}
    for rowid, values in records:
        if rowid is not None or len(values) != _NAMED or values[0] != "" or not isinstance(values[1], str) or not _is_number(values[2]):
            continue
        row = Named._make(values[1:])
        old = found.get(row.name)
        if old is None or (row.tape_no, row.state != OPEN) > (old.tape_no, old.state != OPEN):
            found[row.name] = row
    return list(found.values())


def _numbers(rows: Iterable[Numbered]) -> dict[int, Numbered]:
    """Return the rows whose numbers may be any, the first of each, with a state and a generation."""
    found: dict[int, Numbered] = {}
    for row in rows:
        if _is_number(row.tape_no) and row.tape_no not in found:
            state = row.state if row.state in (RETIRED, REMOVED) else IN_USE
            created = row.created_at if type(row.created_at) is int else microseconds(clock.now())
            found[row.tape_no] = row._replace(state=state, generation=row.generation if _is_whole(row.generation) else None, indexed=_whole(row.indexed), low_water=0, created_at=created)
    return found


def _names(rows: Iterable[Named], numbers: dict[int, Numbered]) -> dict[str, Named]:
    """Return a name for each number in use, and for each family its tape."""
    found: dict[str, Named] = {}
    taken: set[int] = set()
    for row in rows:
        with suppress(InvalidInput):
            kin_of(row.name)
            if row.name not in found and row.tape_no in numbers and numbers[row.tape_no].state == IN_USE and row.tape_no not in taken:
                taken.add(row.tape_no)
                found[row.name] = row
    for number in sorted(number for number, row in numbers.items() if row.state == IN_USE and number not in taken):
        name = f"salvaged/{number}"
        found[name] = Named(name, number, number, 1, None, None, None, None, None, None, numbers[number].created_at, None)
    for root in {kin_of(name).root for name in found} - found.keys():
        number = max(numbers) + 1
        numbers[number] = _unknown(number)
        found[root] = Named(root, number, number, 1, None, None, None, None, None, None, numbers[number].created_at, None)
    return {name: _ordered(row, kin_of(name), found, numbers) for name, row in found.items()}


def _ordered(row: Named, kin: Kin, found: dict[str, Named], numbers: dict[int, Numbered]) -> Named:
    """Return a name's row without contradictions."""
    own, root = numbers[row.tape_no], found[kin.root]
    is_branch = kin.is_branch
    row = row._replace(
        root_no=root.root_no if _is_number(root.root_no) else root.tape_no,
        listed=int(kin.is_root),
        branch_no=(row.branch_no if _is_number(row.branch_no) else row.tape_no) if is_branch else None,
        created_at=row.created_at if type(row.created_at) is int else own.created_at,
        owner=row.owner if isinstance(row.owner, str) else None,
    )
    forked = is_branch or (row.parent is not None and kin.branch is not None)
    if not forked:
        return row._replace(parent=None, base_generation=None, base_seq=None, state=None, closed_at=None)
    fallback = kin._replace(branch=None).name
    parent = row.parent if row.parent in found and kin_of(row.parent)._replace(branch=None) == kin._replace(branch=None) else fallback
    if parent not in found:
        return row._replace(parent=None, base_generation=None, base_seq=None, state=None, closed_at=None)
    state = row.state if row.state in _STATES else OPEN
    closed = None if state == OPEN else row.closed_at if type(row.closed_at) is int else microseconds(clock.now())
    base = row.base_seq if type(row.base_seq) is int and row.base_seq >= 0 else _whole(own.fork_seq)
    generation = row.base_generation if type(row.base_generation) is int and row.base_generation >= 0 else own.generation
    return row._replace(parent=parent, base_generation=generation, base_seq=base, state=state, closed_at=closed)


def _unknown(number: int) -> Numbered:
    """Return the row of a tape number of which nothing is known but that it was used."""
    return Numbered(number, None, 0, None, None, IN_USE, 0, 0, microseconds(clock.now()))


def _lineages(numbers: dict[int, Numbered], names: dict[str, Named]) -> dict[int, Numbered]:
    """Return the rows with lineages that rise and are there; one that cannot be read is that of the parent, as far as it was shared."""
    done: dict[int, Numbered] = {}
    named = {row.tape_no: row for row in names.values()}
    for number in sorted(numbers):
        row = _dated(numbers[number], named.get(number))
        kept: list[tuple[int, int]] = []
        inherited = row.inherited()
        for elder, last in _guessed(row, named.get(number), names, done) if inherited is None else inherited:
            if elder in numbers and numbers[elder].state != REMOVED and elder != number and last > (kept[-1][1] if kept else 0):
                kept.append((elder, last))
        lineage = json.dumps(kept, separators=(",", ":"))
        done[number] = row._replace(lineage=lineage, parent_no=kept[-1][0] if kept else None, fork_seq=kept[-1][1] if kept else 0)
    read = {elder for row in done.values() if row.state != REMOVED for elder, _ in row.inherited() or ()}
    return {number: row._replace(state=REMOVED, lineage="[]", parent_no=None, fork_seq=0) if row.state == RETIRED and number not in read else row for number, row in done.items()}


def _dated(row: Numbered, named: Named | None) -> Numbered:
    """Return a row with a generation: where none is known that of the fork, or one reset where the number is not the first of its tape."""
    if row.generation is not None or named is None:
        return row._replace(generation=_whole(row.generation))
    return row._replace(generation=named.base_generation if named.parent is not None else int(bool(named.listed) and named.root_no != row.tape_no))


def _guessed(row: Numbered, named: Named | None, names: dict[str, Named], done: dict[int, Numbered]) -> list[tuple[int, int]]:
    """Return the lineage that a tape number must have had, told by what it was forked from and where."""
    if named is None or named.parent is None or named.base_generation != row.generation:
        return []
    parent = names[named.parent]
    elder = parent.tape_no if parent.tape_no in done else parent.root_no if parent.listed and not named.base_generation else None
    if elder not in done:
        return []
    return [*((number, min(last, named.base_seq)) for number, last in done[elder].inherited() or ()), (elder, named.base_seq)]


def _rebased(names: dict[str, Named], numbers: dict[int, Numbered]) -> dict[str, Named]:
    """Return the names with the places they were forked at as the lineages say."""
    return {name: row._replace(base_seq=own.fork_seq) if row.parent is not None and (own := numbers[row.tape_no]).generation == row.base_generation else row for name, row in names.items()}


def _sound(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the rows of leases or cursors that can be kept."""
    return [row for row in rows if all(isinstance(value, str) and _is_text(value) for value in row[:2]) and all(_is_whole(value) for value in row[2:])]


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_number(value: Any) -> bool:
    return type(value) is int and 1 <= value <= HIGHEST


def _is_whole(value: Any) -> bool:
    return type(value) is int and value >= 0


def _whole(value: Any) -> int:
    return value if _is_whole(value) else 0
