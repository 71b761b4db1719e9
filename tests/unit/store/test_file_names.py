"""Any name of a tape is the name of a file that no other tape has, on any disk, and reads back."""

from __future__ import annotations

import unicodedata
from itertools import product
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.entry.entry import TapeEntry
from playhead.store.file.names import LONGEST, is_cut, may_be_plain, stem_of, tape_of
from playhead.store.file.store import FileTapeStore
from playhead.store.query import TapeQuery

NAMES = ("../x", "/etc/passwd", "a/b", "a\\b", ".", "..", "a.", "a ", " a", ".hidden", "a:b", "a|b?*", "tab\there", "%41", "a~1", "Case", "case", "CASE", "🙂", "É", "é", "e\u0301")
tapes = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=60)


@pytest.mark.parametrize("name", ["demo-user", "a b", "2026-03-01", "user@example.com", "agents.main_2", "a__b", "日本語", "дом", "naïve", "서울"])
def test_an_ordinary_name_is_its_own(name: str):
    assert stem_of(name) == name
    assert tape_of(name) == name


@pytest.mark.parametrize(
    ("name", "stem"),
    [("support/42", "support%2F42"), ("Support", "Support~1"), ("../x", "%2E.%2Fx"), ("con", "%63on"), ("aux.b", "%61ux.b"), ("a.", "a%2E"), ("🙂", "%F0%9F%99%82"), ("MyTape", "MyTape~5")],
)
def test_an_unsafe_name_is_escaped_where_it_is_unsafe(name: str, stem: str):
    assert stem_of(name) == stem
    assert tape_of(stem) == name


def test_no_two_names_meet_where_case_and_composition_do_not_count():
    folded = [unicodedata.normalize("NFD", stem_of(name)).casefold() for name in NAMES]
    assert len(set(folded)) == len(NAMES)


@pytest.mark.parametrize("device", ["con", "PRN", "Aux", "nul", "com1", "LPT9"])
@pytest.mark.parametrize("rest", ["", ".txt", "1x"])
def test_no_name_is_that_of_a_device(device: str, rest: str):
    first = stem_of(device + rest).partition(".")[0].casefold()
    assert first != device.casefold()


@given(tapes)
def test_every_name_reads_back_and_is_safe(tape: str):
    stem = stem_of(tape)
    assert len(stem.encode()) <= LONGEST
    assert not set(stem) & set('/\\:*?"<>|\0') and min(stem) >= " "
    assert stem[0] not in ". " and stem[-1] not in ". "
    if not is_cut(stem):
        assert tape_of(stem) == tape
        assert tape_of(unicodedata.normalize("NFD", stem)) == tape


@given(tapes, tapes)
def test_two_names_never_share_a_file(one: str, other: str):
    meet = unicodedata.normalize("NFD", stem_of(one)).casefold() == unicodedata.normalize("NFD", stem_of(other)).casefold()
    assert meet == (one == other)


def test_all_ways_to_write_a_short_name_in_capitals_are_apart():
    names = ["".join(letters) for letters in product("aA", "bB", "1", "cC")]
    assert len({stem_of(name).casefold() for name in names}) == len(names)


def test_a_long_name_is_cut_and_told_from_its_neighbours():
    one, other = "x" * 3_000, "x" * 2_999
    assert is_cut(stem_of(one)) and is_cut(stem_of(other))
    assert stem_of(one) != stem_of(other)
    assert stem_of(one).startswith("x" * 60)


@pytest.mark.parametrize("stem", ["Plain", "a~", "a~0", "a~2", "%2f", "%zz", "%", "a%20b", "~1", "%FF"])
def test_a_stem_in_another_form_is_not_one_of_ours(stem: str):
    assert tape_of(stem) is None


def test_a_file_of_another_program_may_have_the_very_name_unless_that_is_unsafe():
    assert [name for name in ("Plain", "É", "x" * 200, "a/b", "..", "c:d") if may_be_plain(name)] == ["Plain", "É"]


@pytest.mark.parametrize("tape", ["a/b", "MyTape", "x" * 300, "é" * 90, "con", "."])
def test_a_tape_called_like_the_file_of_another_one_is_kept_apart(tape: str, tmp_path: Path):
    twin = stem_of(tape)

    async def go() -> None:
        async with FileTapeStore(tmp_path) as store:
            await store.append(tape, TapeEntry.event("secret"))
            assert await store.fetch_all(TapeQuery(tape=twin)) == []
            await store.append(twin, TapeEntry.event("other"))
            assert [e.payload["name"] for e in await store.fetch_all(TapeQuery(tape=tape))] == ["secret"]
            assert await store.list_tapes() == sorted([tape, twin])

    anyio.run(go)
