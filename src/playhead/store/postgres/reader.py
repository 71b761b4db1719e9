"""Reading from a PostgreSQL store: every query becomes ranges of ids, so that it costs what it returns.

What stands on a tape up to the end that was seen first never changes, so the statements that follow need no transaction around them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import TypeVar

from playhead.entry.entry import TapeEntry
from playhead.errors import StoreDamaged
from playhead.store.postgres.address import Address
from playhead.store.postgres.keys import Numbers, Texts, text_key, uid_key
from playhead.store.postgres.reading import Moved, Reading
from playhead.store.postgres.rows import kinds_of, rows
from playhead.store.postgres.session import Row
from playhead.store.postgres.windows import ids_within, view_of
from playhead.store.protocol import EMPTY, IDEMPOTENCY_KEY, Head
from playhead.store.query import TapeQuery
from playhead.store.rows.row import LAST_SEQ, entry_of
from playhead.store.rules.gaps import gapless
from playhead.store.scan import holding

Answer = TypeVar("Answer")

_AT_ONCE = 2000


def head(reading: Reading, *, tape: str) -> Head:
    """Return where a tape ends, EMPTY where it never began. Raises BranchNotFound."""
    return ask_of(reading, tape, lambda at: Head(at.generation, _end(reading, at)), none=EMPTY)


def fetch(reading: Reading, *, query: TapeQuery) -> list[TapeEntry]:
    """Return the entries a query asks for.

    Raises NoAnchors or AnchorNotFound where its window has no edge, StoreDamaged where an entry is missing or cannot be read, BranchNotFound.
    """
    ask = partial(_at_once if _is_plain(query) else _fetched, reading, query)
    found = ask_of(reading, query.tape, ask, none=None)
    return query.apply(()) if found is None else found


def count(reading: Reading, *, query: TapeQuery) -> int:
    """Return how many entries a query returns, without reading them where that can be told."""
    if query.text is not None or query.since is not None or query.until is not None:
        return len(fetch(reading, query=query))
    number = ask_of(reading, query.tape, partial(_number, reading, query), none=None)
    return len(query.apply(())) if number is None else number


def find(reading: Reading, *, tape: str, keys: Sequence[str], uids: Sequence[str]) -> Mapping[str, TapeEntry]:
    """Return the entries of a tape that have one of the keys or uids, by key and by uid; the newest segment that has one decides."""

    def ask(address: Address) -> dict[str, TapeEntry]:
        by_uid = _with(reading, address, tape, "with_uids", Texts(map(uid_key, uids)))
        return by_uid | _with(reading, address, tape, "with_keys", Texts(map(text_key, keys)))

    found = ask_of(reading, tape, ask, none=dict[str, TapeEntry]())
    return {name: entry for name, entry in found.items() if name in {*keys, *uids}}


def ask_of(reading: Reading, tape: str, ask: Callable[[Address], Answer], *, none: Answer) -> Answer:
    """Return what is asked of a tape, asked again where it is not there any more; `none` where there is no such tape."""
    while (address := reading.address(tape)) is not None:
        try:
            return ask(address)
        except Moved:
            reading.book.forget(tape)
        except StoreDamaged:
            if reading.at(address, "end", tape=address.tape_no, name=address.name_key):
                raise
            reading.book.forget(tape)
    return none


def _end(reading: Reading, address: Address) -> int:
    ((end,),) = reading.proved(address, "end")
    return int(end)


def _is_plain(query: TapeQuery) -> bool:
    """Return whether a query asks for the first or last entries between two ids, of any kind or of some, and so is one statement."""
    return query.window is None and query.text is None and query.since is None and query.until is None and query.count is not None and query.count <= _AT_ONCE


def _at_once(reading: Reading, query: TapeQuery, address: Address) -> list[TapeEntry]:
    """Return what a plain query asks for, by one statement where the tape's own entries are enough."""
    first, stop = ids_within(query)
    low, limit = max(first, address.before + 1), query.count or 0
    inherits = first <= address.before
    if inherits and not query.descending:
        return _fetched(reading, query, address)
    statement, kinds = "newest" if query.descending else "oldest", {}
    if query.only is not None:
        statement, kinds = f"{statement}_of_kinds", {"kinds": kinds_of(query)}
    found = reading.proved(address, statement, low=low, high=stop - 1, limit=limit, **kinds)
    own = _own(reading, address, found, range(low, min(found[0][-1], stop - 1) + 1), query)
    if not inherits or len(own) == limit:
        return own
    pieces = address.pieces(range(first, min(stop, low)), head=address.before, descending=True)
    rest = chain.from_iterable(rows(reading, address, piece, query) for piece in pieces)
    return [*own, *(entry_of(row, tape=query.tape, load=reading.load) for row in islice(rest, limit - len(own)))]


def _own(reading: Reading, address: Address, found: Sequence[Row], ids: range, query: TapeQuery) -> list[TapeEntry]:
    """Return the entries of rows, each with the end of the tape behind it; without kinds, those of all the ids. Raises StoreDamaged where one is missing."""
    there = [row for row in found if row[0] is not None]
    wanted = ids[::-1][: query.count] if query.descending else ids[: query.count]
    if query.only is None and (len(there) != len(wanted) or (there and (there[0][0], there[-1][0]) != (wanted[0], wanted[-1]))):
        list(gapless(there, wanted, query.tape))
    return [entry_of(row, tape=query.tape, load=reading.load) for row in reading.filled(address, there, tape_no=address.tape_no)]


def _fetched(reading: Reading, query: TapeQuery, address: Address) -> list[TapeEntry]:
    end, ids = view_of(reading, address, query)
    pieces = address.pieces(ids, head=end, descending=query.descending)
    found = chain.from_iterable(rows(reading, address, piece, query) for piece in pieces)
    entries = map(partial(entry_of, tape=query.tape, load=reading.load), found) if query.text is None else holding(found, query.text, tape=query.tape, load=reading.load)
    return list(islice(entries, query.count and min(query.count, LAST_SEQ)))


def _number(reading: Reading, query: TapeQuery, address: Address) -> int:
    end, ids = view_of(reading, address, query)
    pieces = list(address.pieces(ids, head=end))
    if query.only is None:
        number = sum(high - low + 1 for _, low, high in pieces)
    else:
        kinds = kinds_of(query)
        number = sum(reading.at(address, "count_kinds", tape=piece.tape_no, low=piece.low, high=piece.high, kinds=kinds)[0][0] for piece in pieces)
    return number if query.count is None else min(number, query.count)


def _with(reading: Reading, address: Address, tape: str, statement: str, wanted: Texts) -> dict[str, TapeEntry]:
    """Return the entries with one of the keys, each by its uid or idempotency key; the first one in the newest segment that has one."""
    if not wanted:
        return {}
    segments = (*address.inherited(), (address.tape_no, 0, _end(reading, address)))
    found = reading.at(address, statement, tapes=Numbers(s[0] for s in segments), lasts=Numbers(s[2] for s in segments), wanted=wanted)
    by_segment = groupby(sorted(found, key=lambda row: (row[0], -row[1])), key=itemgetter(0))
    entries = [entry_of(row, tape=tape, load=reading.load) for place, its in by_segment for row in reading.filled(address, [row[1:] for row in its], tape_no=segments[place - 1][0])]
    return {str(entry.uid if statement == "with_uids" else entry.meta[IDEMPOTENCY_KEY]): entry for entry in entries}
