"""The index of words in a PostgreSQL database: spoilt, outdated, without room, made by two at once, or of a tape that is gone, no search depends on it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
import psycopg
import pytest

import playhead as ph
from playhead.errors import InvalidInput
from playhead.store.concordance.binding import bound, made_at_once
from playhead.store.concordance.postings import VolumeGone
from playhead.store.concordance.slabs import Slabs
from playhead.store.postgres import volumes as rows
from playhead.store.postgres.address import Address, part_of
from playhead.store.postgres.reading import Reading
from playhead.store.postgres.store import PostgresTapeStore
from playhead.store.query import TapeQuery
from playhead.store.ranked.words import Words
from tests.unit.store.searches import caught_up, check, fill, flaws, said, volumes

PAGES = "UPDATE playhead.search_pages SET content = decode(repeat('00', length(content)), 'hex')"
SPOILT = {
    "all pages are altered": PAGES,
    "a page is altered": f"{PAGES} WHERE page = 1",
    "a page is gone": "DELETE FROM playhead.search_pages WHERE page = 1",
    "all pages are gone": "DELETE FROM playhead.search_pages",
    "the size is another": "UPDATE playhead.search_volumes SET size = size - 1",
}


def play(url: str, scenario: Callable[[PostgresTapeStore], Awaitable[object]], **options: Any) -> None:
    async def played() -> None:
        async with PostgresTapeStore(url, durability="process", **options) as store:
            await scenario(store)

    anyio.run(played)


def asked(url: str, statement: str) -> Sequence[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(statement)
        return found.fetchall() if found.description else ()


async def filled(store: PostgresTapeStore) -> None:
    """Write a tape of which all but the end stands in volumes."""
    await fill(store, "t", count=700)
    await caught_up(store, "t")
    await fill(store, "t", first=700, count=50)


async def checked_twice(store: PostgresTapeStore) -> None:
    await check(store, "t")
    await check(store, "t")


async def on(store: PostgresTapeStore, do: Callable[[Reading, Address], Any]) -> Any:
    """Do something on a connection of a store, with the tape's number."""

    def done(reading: Reading) -> Any:
        address = reading.address("t")
        assert address is not None
        return do(reading, part_of(address.root_id, address.tape_no))

    return await store._lanes.ask(done)


async def volume(store: PostgresTapeStore, first: int, last: int) -> bytes:
    """Return the volume of some entries."""
    words = Words(before=first - 1)
    for entry in await store.fetch_all(TapeQuery(tape="t").after(first - 1).limit(last - first + 1)):
        words.add(entry)
    return made_at_once(bound(words))


def is_gone(reading: Reading, part: Address, row: rows.Kept) -> bool:
    """Return whether a volume is not there any more, as who reads it is told."""
    try:
        rows.Pages(reading.session, part, row, Slabs(most=1)).read(0, 10)
    except VolumeGone:
        return True
    return False


@pytest.mark.parametrize("statement", SPOILT.values(), ids=SPOILT)
def test_a_spoilt_volume_is_left_aside_and_made_anew(statement: str, postgres_url: str):
    async def mended(store: PostgresTapeStore) -> None:
        await checked_twice(store)
        assert await flaws(store) == []
        assert [(first, last) for _, first, last in await volumes(store)] == [(1, 750)]

    play(postgres_url, filled)
    asked(postgres_url, statement)
    report = ph.verify(postgres_url)
    assert {flaw.severity for flaw in report.flaws} == {"remnant"}
    assert report.is_sound
    play(postgres_url, checked_twice, read_only=True)
    play(postgres_url, mended)


def test_verify_finds_a_volume_that_says_something_else_than_the_entries(postgres_url: str):
    async def lying(store: PostgresTapeStore) -> None:
        await fill(store, "t", count=750)
        words = Words()
        for number in range(1, 701):
            words.add(said(number))
        raw = made_at_once(bound(words))
        assert await on(store, lambda reading, part: rows.add(reading.session, part, raw, first=1, last=700))

    play(postgres_url, lying)
    (flaw,) = ph.verify(postgres_url).flaws
    assert (flaw.severity, flaw.tape) == ("fault", "t")
    assert "index of words" in flaw.what


def test_verify_finds_pages_of_no_volume(postgres_url: str):
    play(postgres_url, filled)
    asked(postgres_url, "DELETE FROM playhead.search_volumes")
    (flaw,) = ph.verify(postgres_url).flaws
    assert (flaw.severity, flaw.where) == ("remnant", "table search_pages")


def test_volumes_of_other_rules_stand_beside_ours_until_they_are_old(postgres_url: str):
    """Two versions may use one database; neither removes what the other reads."""

    async def found_anew(store: PostgresTapeStore) -> None:
        await check(store, "t")
        await caught_up(store, "t")
        await check(store, "t")
        assert [(first, last) for _, first, last in await volumes(store)] == [(1, 700), (1, 750)]

    async def outlived(store: PostgresTapeStore) -> None:
        await fill(store, "t", first=750, count=600)
        await caught_up(store, "t")
        assert [(first, last) for _, first, last in await volumes(store)] == [(1, 750), (751, 1_350)]
        assert await flaws(store) == []

    play(postgres_url, filled)
    asked(postgres_url, "UPDATE playhead.search_volumes SET rules = 'of yesterday'")
    play(postgres_url, found_anew)
    asked(postgres_url, "UPDATE playhead.search_volumes SET made_at = made_at - 31 * 24 * 3600 * 1000000::bigint WHERE rules = 'of yesterday'")
    play(postgres_url, outlived)


def test_pages_fill_those_of_the_server_and_none_is_kept_elsewhere(empty_postgres_url: str):
    async def much(store: PostgresTapeStore) -> None:
        await fill(store, "t", count=2_000)
        await caught_up(store, "t")

    play(empty_postgres_url, much)
    relation = "SELECT pg_relation_size(oid), pg_relation_size(reltoastrelid) FROM pg_class WHERE oid = 'playhead.search_pages'::regclass"
    ((kept, elsewhere),) = asked(empty_postgres_url, relation)
    ((number,),) = asked(empty_postgres_url, "SELECT count(*) FROM playhead.search_pages")
    assert (kept, elsewhere) == (-(-number // 4) * 8192, 0)


def test_where_no_volume_can_be_written_appends_and_searches_go_on(empty_postgres_url: str):
    async def written(store: PostgresTapeStore) -> None:
        await fill(store, "t", count=1_100)
        await store.append("t", said(7))
        await check(store, "t")
        assert await volumes(store) == []

    play(empty_postgres_url, lambda store: store.list_tapes())
    asked(empty_postgres_url, "ALTER TABLE playhead.search_pages ADD CONSTRAINT no_room CHECK (page < 0)")
    play(empty_postgres_url, written)


def test_of_two_volumes_that_begin_at_one_id_the_first_stays(postgres_url: str):
    async def twice(store: PostgresTapeStore) -> None:
        await fill(store, "t", count=750)
        for last, is_first in ((700, True), (750, False)):
            raw = await volume(store, 1, last)
            assert await on(store, lambda reading, part, raw=raw, last=last: rows.add(reading.session, part, raw, first=1, last=last)) is is_first
        assert [(first, last) for _, first, last in await volumes(store)] == [(1, 700)]
        assert await flaws(store) == []
        await check(store, "t")

    play(postgres_url, twice)


def test_of_two_who_merge_the_same_volumes_one_does(postgres_url: str):
    async def twice(store: PostgresTapeStore) -> None:
        await fill(store, "t", count=1_400)
        for first, last in ((1, 700), (701, 1_400)):
            raw = await volume(store, first, last)
            await on(store, lambda reading, part, raw=raw, first=first, last=last: rows.add(reading.session, part, raw, first=first, last=last))
        standing = await on(store, lambda reading, part: rows.kept(reading.session, part, {part.tape_no: 0})[part.tape_no])
        raw = await volume(store, 1, 1_400)
        merged = [await on(store, lambda reading, part: rows.replace(reading.session, part, raw, of=standing)) for _ in range(2)]
        assert merged == [True, False]
        assert [(first, last) for _, first, last in await volumes(store)] == [(1, 1_400)]
        assert await flaws(store) == []
        assert await on(store, lambda reading, part: is_gone(reading, part, standing[0]))

    play(postgres_url, twice)


def test_no_volume_is_kept_of_a_tape_that_is_gone(postgres_url: str):
    async def late(store: PostgresTapeStore) -> None:
        await fill(store, "t", count=700)
        before, raw = await on(store, lambda _, part: part), await volume(store, 1, 700)
        await store.reset("t", entries=[said(1)])
        with anyio.fail_after(60):
            while True:
                if not asked(postgres_url, f"SELECT 1 FROM playhead.tapes WHERE tape_no = {before.tape_no}"):
                    break
                await anyio.sleep(0.01)
        assert await on(store, lambda reading, _: rows.add(reading.session, before, raw, first=1, last=700)) is False
        assert await volumes(store) == []
        assert await flaws(store) == []

    play(postgres_url, late)


def test_an_append_waits_for_no_volume_that_is_being_written(postgres_url: str):
    """Whoever writes one holds the tape only against its removal."""

    async def beside(store: PostgresTapeStore) -> None:
        await fill(store, "t", count=700)
        part = await on(store, lambda _, part: part)
        with psycopg.connect(postgres_url) as rival:
            rival.execute("SELECT 1 FROM playhead.tapes WHERE root_id = %s AND tape_no = %s FOR KEY SHARE", [part.root_id, part.tape_no])
            with anyio.fail_after(20):
                assert (await store.append("t", said(1))).id == 701
            rival.rollback()

    play(postgres_url, beside, timeout=30)


def test_the_connection_that_makes_volumes_is_opened_when_one_is_due(postgres_url: str):
    async def few(store: PostgresTapeStore) -> None:
        await fill(store, "t", count=500)
        await store.search(TapeQuery(tape="t"), "gate")
        assert not store._lanes._indexing._threads
        await fill(store, "t", first=500, count=100)
        assert store._lanes._indexing._threads

    play(postgres_url, few)


def test_a_search_is_by_index_or_by_scan(postgres_url: str):
    async def scanned(store: PostgresTapeStore) -> None:
        await fill(store, "t", count=1_100)
        await check(store, "t")
        assert await volumes(store) == []
        assert not store._lanes._indexing._threads

    play(postgres_url, scanned, search="scan")
    with pytest.raises(InvalidInput, match="'index' or by 'scan'"):
        PostgresTapeStore(postgres_url, search="words")  # type: ignore[arg-type]
