"""What queries return, as tests that every store passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import product
from pathlib import Path
from typing import Any

from playhead.entry.entry import TapeEntry, format_date
from playhead.errors import AnchorNotFound, InvalidDate, InvalidInput, NoAnchors, NotFound
from playhead.store.protocol import WholeStore
from playhead.store.query import TapeQuery
from playhead.testing.stage import StoreStage, entry_of, equal, raising

_START = datetime(2026, 3, 1, tzinfo=UTC)


class QueryContract(StoreStage):
    """Filters, windows, order and paging of a query, and its errors."""

    def test_filters_add_up_whatever_their_order(self, tmp_path: Path) -> None:
        """R-041, R-042: every pair of filters returns what `query.apply` keeps of the whole tape."""

        async def scenario(store: WholeStore) -> None:
            await store.append_many("t", history())
            query = TapeQuery(tape="t", store=store)
            whole = await query.all()
            windows = [query, query.last_anchor(), query.after_anchor("A"), query.between_anchors("A", "B")]
            for window, one, two in product(windows, filters(), filters()):
                for narrowed in (one(two(window)), one(two(window)).newest_first()):
                    for asked in (narrowed, narrowed.limit(3)):
                        wanted = kept(asked, whole)
                        equal(await found(asked), wanted, f"{asked}")
                        if wanted is not None:
                            equal(await store.count(asked), len(wanted), f"count of {asked}")

        self.play(tmp_path, scenario)

    def test_a_limit_counts_what_the_other_filters_leave(self, tmp_path: Path) -> None:
        """R-042, R-053."""

        async def scenario(store: WholeStore) -> None:
            await store.append_many("t", history())
            query = TapeQuery(tape="t", store=store)
            equal(await _texts(query.limit(2).kinds("note").query("NOTE 1")), ["note 1", "note 11"])
            equal(await _texts(query.kinds("note").newest_first().limit(2)), ["note 109", "note 107"])
            for wrong in (0, -1, True, 1.5):
                with raising(InvalidInput):
                    query.limit(wrong)  # type: ignore[arg-type]

        self.play(tmp_path, scenario)

    def test_a_window_begins_behind_the_newest_anchor_of_that_name(self, tmp_path: Path) -> None:
        """R-043, R-045: anchors A B A B; the window from A to B lies between the last A and the B behind it."""

        async def scenario(store: WholeStore) -> None:
            for name in "ABAB":
                await store.append_many("t", [TapeEntry.anchor(name), _note(f"behind {name}")])
            query = TapeQuery(tape="t", store=store)
            equal(await _ids(query.after_anchor("A")), [6, 7, 8])
            equal(await _ids(query.last_anchor()), [8])
            equal(await _ids(query.between_anchors("A", "B")), [6])
            equal(await _ids(query.last_anchor().after_anchor("A")), [6, 7, 8], "a window replaces the one before")
            equal(await _ids(query.after_anchor("A").up_to(4)), [2, 3, 4], "later anchors do not count")
            equal(await _ids(query.between_anchors("A", "B").up_to(4)), [2])
            equal(await _ids(query.last_anchor().before(8)), [], "an anchor behind `before` still opens the window")
            with raising(AnchorNotFound):
                await query.between_anchors("B", "A").all()

        self.play(tmp_path, scenario)

    def test_a_missing_anchor_is_named(self, tmp_path: Path) -> None:
        """R-044, R-052: on a tape without it, on an empty one, and on one that was never written."""

        async def scenario(store: WholeStore) -> None:
            await store.append_many("t", [_note("x"), TapeEntry.event("A")])
            await store.append_many("emptied", [TapeEntry.anchor("A")])
            await store.reset("emptied")
            for tape in ("t", "emptied", "unknown"):
                query = TapeQuery(tape=tape, store=store)
                with raising(NoAnchors, "No anchors found in tape."):
                    await query.last_anchor().all()
                for missing in (query.after_anchor("A"), query.between_anchors("A", "B")):
                    with raising(AnchorNotFound, "Anchor 'A' was not found."):
                        await missing.all()
            await store.append_many("t", [TapeEntry.anchor("A")])
            with raising(AnchorNotFound, "Anchor 'B' was not found."):
                await TapeQuery(tape="t", store=store).between_anchors("A", "B").all()

        self.play(tmp_path, scenario)

    def test_an_unknown_tape_is_empty(self, tmp_path: Path) -> None:
        """R-052."""

        async def scenario(store: WholeStore) -> None:
            query = TapeQuery(tape="unknown", store=store)
            equal([await query.all(), await query.kinds("note").all(), await store.count(query), await store.list_tapes()], [[], [], 0, []])

        self.play(tmp_path, scenario)

    def test_dates_are_instants_and_days_are_whole(self, tmp_path: Path) -> None:
        """R-047, R-048: both ends included, no zone is UTC, other zones are converted."""

        async def scenario(store: WholeStore) -> None:
            dates = ["2026-03-01T23:59:59.999999", "2026-03-02T00:00:00", "2026-03-02T23:59:59.999999", "2026-03-03T00:30:00+01:00", "2026-03-03", "2026-02-01"]
            await store.append_many("t", [entry_of("note", {"text": d}, date=d) for d in dates])
            query = TapeQuery(tape="t", store=store)
            equal(await _ids(query.between_dates("2026-03-02", "2026-03-02")), [2, 3, 4])
            equal(await _ids(query.between_dates(date(2026, 3, 2), date(2026, 3, 3))), [2, 3, 4, 5])
            equal(await _ids(query.between_dates("2026-03-02T00:00:00+01:00", "2026-03-02T00:00:00Z")), [1, 2])
            equal(await _ids(query.between_dates("2026-01-01", "2026-02-28")), [6])
            equal(await _ids(query.between_dates("2026-01-01", "2026-12-31").newest_first().limit(2)), [6, 5])
            with raising(InvalidDate, "Invalid ISO date or datetime: 'soon'."):
                query.between_dates("soon", "2026-03-02")
            with raising(InvalidInput, "Start date must be earlier than or equal to end date."):
                query.between_dates("2026-03-03", "2026-03-02")

        self.play(tmp_path, scenario)

    def test_text_is_searched_in_values_and_taken_word_for_word(self, tmp_path: Path) -> None:
        """R-049, R-104: case is folded, names of fields do not count, no character has a meaning of its own."""

        async def scenario(store: WholeStore) -> None:
            texts = ["Straße 100% _x_", 'say "hi" \\ now', "line\nbreak", "你好 世界", "half \ud83d", "3.5", "K elvin \u212a"]
            await store.append_many("t", [*map(_note, texts), TapeEntry.event("e", {"n": 1e22, "deep": [{"key": 12345}]})])
            query = TapeQuery(tape="t", store=store)
            wanted = {"STRASSE": [1], "0%": [1], "_x": [1], "%": [1], '"HI"': [2], "\\": [2], "e\nb": [3], "你好": [4], "\ud83d": [5], "3.5": [6], "1e+22": [8], "2345": [8]}
            for text, ids in wanted.items():
                equal(await _ids(query.query(text)), ids, repr(text))
            equal(await _ids(query.query("k")), [3, 7], "the Kelvin sign is a k")
            equal([await _ids(query.query(text)) for text in ("text", "data", "note", "key")], [[], [], [], []])

        self.play(tmp_path, scenario)

    def test_a_value_of_another_type_is_refused_with_what_to_give(self, tmp_path: Path) -> None:
        """A query is checked as it is built, so that no store has to guess what it means."""

        async def scenario(store: WholeStore) -> None:
            await store.append_many("t", [_note("5")])
            query: Any = TapeQuery(tape="t", store=store)
            wrong: Sequence[Callable[[], object]] = (
                lambda: query.after("1"), lambda: query.after(None), lambda: query.before(1.0), lambda: query.before(-1 < 0), lambda: query.up_to([1]), lambda: query.up_to(None),
                lambda: query.kinds(["note"]), lambda: query.kinds("note", 5), lambda: query.kinds(None), lambda: query.query(5), lambda: query.query(None), lambda: query.query(b"5"),
                lambda: query.limit("3"), lambda: query.after_anchor(5), lambda: query.between_anchors("a", None), lambda: query.between_dates(5, "2026-03-01"),
                lambda: query.between_dates("2026-03-01", None), lambda: query.between_dates(datetime.min.replace(tzinfo=timezone(timedelta(hours=1))), "2026-03-01"),
            )  # fmt: skip
            for build in wrong:
                with raising(InvalidInput) as caught:
                    build()
                equal(len(str(caught[0])) > 40, wanted=True, what=f"{caught[0]} says what to give")
            equal(await _ids(query.kinds("note").query("5").after(0).before(2).up_to(1).between_dates(datetime(2026, 1, 1), date(2027, 1, 1))), [1])  # noqa: DTZ001 - no zone is UTC

        self.play(tmp_path, scenario)

    def test_a_cursor_pages_through_a_tape(self, tmp_path: Path) -> None:
        """R-054: also while the tape grows, and backwards."""

        async def scenario(store: WholeStore) -> None:
            await store.append_many("t", [_note(str(i)) for i in range(1_100)])
            query = TapeQuery(tape="t", store=store)
            equal([e.id async for e in query], list(range(1, 1_101)))
            equal([e.id async for e in query.newest_first().limit(1_050)], list(range(1_100, 50, -1)))
            seen: list[int] = []
            while page := await query.after(seen[-1] if seen else 0).limit(400).all():
                seen += [e.id for e in page]
                if len(seen) == 400:
                    await store.append_many("t", [_note("late")])
            equal(seen, list(range(1, 1_102)))
            equal([await _ids(q) for q in (query.after(1_101), query.after(10**12), query.after(-5).limit(1), query.before(-1), query.up_to(0))], [[], [], [1], [], []])

        self.play(tmp_path, scenario)

    def test_entries_dated_before_those_in_front_of_them_are_found(self, tmp_path: Path) -> None:
        """R-047: an import of an old conversation stands behind newer entries; entries dated far ahead hide nothing and are found."""

        async def scenario(store: WholeStore) -> None:
            days = [40_000, 10, 11, 40_400, 12, 3, 3, 13, 4, 14, 40_400, 40_401, 15, 400, 16]
            await store.append_many("t", [_note(str(day), day=day) for day in days])
            query = TapeQuery(tape="t", store=store)
            whole = await query.all()
            for first, last in ((3, 4), (3, 13), (12, 12), (400, 400), (14, 500), (402, 500), (1, 2), (40_000, 40_400), (40_401, 50_000), (11, 40_000), (1, 50_000), (40_402, 50_000)):
                asked = query.between_dates(_START + timedelta(days=first), _START + timedelta(days=last))
                for each in (asked, asked.newest_first(), asked.after(4), asked.before(9).newest_first().limit(2)):
                    equal(await each.all(), each.apply(whole), f"{each}")

        self.play(tmp_path, scenario)


def filters() -> Sequence[Callable[[TapeQuery], TapeQuery]]:
    """Return filters of every sort, as steps of building a query of `history()`."""
    days = [_START + timedelta(minutes=m) for m in (10, 55)]
    return (
        lambda q: q.kinds("note", "event", "note"),
        lambda q: q.kinds("anchor"),
        lambda q: q.kinds("none such"),
        lambda q: q.query("1"),
        lambda q: q.between_dates(*days),
        lambda q: q.after(20),
        lambda q: q.before(85),
        lambda q: q.up_to(80),
    )


def kept(query: TapeQuery, whole: Sequence[TapeEntry]) -> list[TapeEntry] | None:
    """Return what a query keeps of a whole tape, None where its window has no edge."""
    try:
        return query.apply(whole)
    except NotFound:
        return None


async def found(query: TapeQuery) -> list[TapeEntry] | None:
    """Return what a query's store returns, None where its window has no edge."""
    try:
        return list(await query.all())
    except NotFound:
        return None


def history() -> list[TapeEntry]:
    """Return 110 entries, a minute apart: notes, with an event and an anchor here and there."""
    return [_of(i) for i in range(110)]


def _of(i: int) -> TapeEntry:
    when = format_date(_START + timedelta(minutes=i if i % 11 else i // 2))
    if i % 20 == 5:
        return entry_of("anchor", {"name": "AB"[i // 20 % 2]}, date=when)
    if i % 7 == 3:
        return entry_of("event", {"name": "tick", "data": i}, date=when)
    return entry_of("note", {"text": f"note {i}"}, date=when)


def _note(text: str, *, day: int = 0) -> TapeEntry:
    return entry_of("note", {"text": text}, date=format_date(_START + timedelta(days=day)))


async def _ids(query: TapeQuery) -> list[int]:
    return [entry.id for entry in await query.all()]


async def _texts(query: TapeQuery) -> list[str]:
    return [entry.payload["text"] for entry in await query.all()]
