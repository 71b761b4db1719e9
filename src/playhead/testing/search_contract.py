"""What a search returns, as tests that every store passes: the same entries in the same order with the same scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playhead.entry.entry import EVENT, MESSAGE, TapeEntry, format_date
from playhead.errors import AnchorNotFound, InvalidInput, NoAnchors
from playhead.store.change import Fork
from playhead.store.family import branch_name
from playhead.store.protocol import WholeStore
from playhead.store.query import TapeQuery
from playhead.store.ranked.answering import LIMIT
from playhead.store.ranked.unindexed import search
from playhead.testing.stage import StoreStage, entry_of, equal, raising, whole

_START = datetime(2026, 3, 1, tzinfo=UTC)
_TEXTS = ("The VPN drops.", "你好，世界 黑猫警长", 'She said "hi"\nand left', "Café au lait", "the database timed out", "vpn, VPN: a vpn", "getUserName failed with ERR_42", "Nothing at all")
_QUESTIONS = ("vpn", "VPN drop", "你好", "猫", '"hi"', "cafe LAIT", "databse", "timeout err", "user name", "role content", "the", "absent", "!?")


class SearchContract(StoreStage):
    """Words, ranking, filters, branches, and completeness of a search."""

    def test_a_search_finds_words_in_any_form(self, tmp_path: Path) -> None:
        """R-051, T-15: case, quotes, line ends, Chinese, accents, typos; names of fields do not count."""

        async def scenario(store: WholeStore) -> None:
            await store.append_many("t", list(map(_said, _TEXTS)))
            wanted = {"vpn": [6, 1], "VPN drop": [1, 6], "你好": [2], "猫": [2], '"hi"': [3], "cafe LAIT": [4], "databse": [5], "user name": [7], "role content": [], "absent": [], "!?": []}
            for text, ids in wanted.items():
                equal([hit.entry.id for hit in await store.search(TapeQuery(tape="t"), text)], ids, text)
            await _check(store, TapeQuery(tape="t"))

        self.play(tmp_path, scenario)

    def test_equal_scores_come_newest_first_and_equal_payloads_once(self, tmp_path: Path) -> None:
        """R-050."""

        async def scenario(store: WholeStore) -> None:
            await store.append_many("t", [_said(f"gate {n}") for n in range(30)])
            await store.append_many("t", [_said("gate 7"), _said("gate"), _said("other")])
            query = TapeQuery(tape="t")
            found = [hit.entry.id for hit in await store.search(query.limit(100), "gate")]
            equal(found, [32, 31, *range(30, 8, -1), *range(7, 0, -1)], "a shorter entry, then by age; the eighth stands once")
            equal([hit.entry.id for hit in await store.search(query, "gate")], found[:LIMIT])
            equal([hit.entry.id for hit in await store.search(query.limit(3), "gate")], found[:3])

        self.play(tmp_path, scenario)

    def test_filters_choose_among_what_is_found(self, tmp_path: Path) -> None:
        """R-041, R-044, R-047, R-052."""

        async def scenario(store: WholeStore) -> None:
            query = TapeQuery(tape="t")
            equal(await store.search(query, "vpn"), [], "of a tape that was never written")
            await store.append_many("t", _history())
            for asked in _narrowed(query):
                await _check(store, asked, texts=("vpn", "databse drop", "said user 3"))
            with raising(AnchorNotFound):
                await store.search(query.after_anchor("absent"), "vpn")
            with raising(NoAnchors):
                await store.search(replace(query, tape="unknown").last_anchor(), "vpn")
            with raising(InvalidInput):
                await store.search(query.query("vpn"), "vpn")

        self.play(tmp_path, scenario)

    def test_a_branch_is_searched_as_it_shows_its_tape(self, tmp_path: Path) -> None:
        """W-13: what frequencies are is decided by what the branch shows, and by nothing else."""

        async def scenario(store: WholeStore) -> None:
            branch, inner = branch_name("t", "middle"), branch_name("t", "inner")
            await store.append_many("t", _history())
            await store.search(TapeQuery(tape="t"), "vpn")
            await store.apply([Fork(tape=branch, parent="t", at=17)])
            await store.append_many(branch, list(map(_said, _TEXTS)))
            await store.append_many("t", [_said(f"the vpn of the database {n}") for n in range(9)])
            await store.apply([Fork(tape=inner, parent=branch, at=20)])
            await store.append_many(inner, list(map(_said, _TEXTS[::-1])))
            for tape in (inner, branch, "t"):
                for asked in (TapeQuery(tape=tape), TapeQuery(tape=tape, ceiling=19), TapeQuery(tape=tape, cursor=15)):
                    await _check(store, asked, texts=("vpn drop", "databse", "黑猫 3", "the"))

        self.play(tmp_path, scenario)

    def test_what_was_appended_last_is_found_and_what_was_reset_is_not(self, tmp_path: Path) -> None:
        """Answers are complete, however far an index has come."""

        async def scenario(store: WholeStore) -> None:
            query = TapeQuery(tape="t")
            for n in range(12):
                await store.append_many("t", [_said(f"vpn number {n * size}") for size in range(1 + n)])
                await _check(store, query, texts=("vpn", f"number {n * n}"))
            await store.reset("t")
            equal(await store.search(query, "vpn"), [])
            await store.append_many("t", [_said("a database")])
            equal([hit.entry.id for hit in await store.search(query, "database vpn")], [1])

        self.play(tmp_path, scenario)

    def test_a_search_is_there_when_the_store_is_opened_again(self, tmp_path: Path) -> None:
        """D1."""

        async def before(store: WholeStore) -> None:
            await store.append_many("t", _history())
            await _check(store, TapeQuery(tape="t"))
            await store.append_many("t", list(map(_said, _TEXTS)))

        async def after(store: WholeStore) -> None:
            await _check(store, TapeQuery(tape="t"))

        self.play_again(tmp_path, before, after)


async def _check(store: WholeStore, query: TapeQuery, *, texts: Sequence[str] = _QUESTIONS) -> None:
    """Fail the test unless a search gives what reading all gives, whatever is looked for."""
    entries = await whole(store, query.tape)
    for text in texts:
        for smoothed in (False, True):
            wanted = search(entries, query, text, smoothed=smoothed)
            equal(await store.search(query, text, smoothed=smoothed), wanted, f"{text!r} in {query}")
            equal(await store.search(query.limit(2), text, smoothed=smoothed), wanted[:2], f"the best two for {text!r} in {query}")


def _said(text: str) -> TapeEntry:
    return entry_of(MESSAGE, {"role": "user", "content": text})


def _history() -> list[TapeEntry]:
    entries: list[TapeEntry] = []
    for n in range(24):
        text = f"{_TEXTS[n % len(_TEXTS)]} {n // 3}"
        date = format_date(_START + timedelta(hours=7 * n))
        entries.append(entry_of(*((EVENT, {"name": "tick", "data": {"said": text}}) if n % 5 == 0 else (MESSAGE, {"role": "user", "content": text})), date=date))
        if n in (8, 15):
            entries.append(replace(TapeEntry.anchor("A", {"summary": text}), date=date))
    return entries


def _narrowed(query: TapeQuery) -> list[TapeQuery]:
    return [
        query,
        query.kinds(MESSAGE),
        query.kinds(EVENT, "anchor"),
        query.kinds("absent"),
        query.last_anchor(),
        query.after_anchor("A").up_to(14),
        query.between_dates("2026-03-02", "2026-03-04"),
        query.between_dates("2026-03-03", "2026-03-03").kinds(MESSAGE),
        query.after(5).before(20),
        query.up_to(12),
        query.up_to(0),
        query.up_to(3).after(3),
    ]
