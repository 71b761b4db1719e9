"""A volume answers as the words in memory do that it was bound of; whatever is altered in it is found, and never told as true."""

from __future__ import annotations

from itertools import accumulate, pairwise
from random import Random

import pytest

from playhead.entry.entry import TapeEntry
from playhead.store.concordance.backlog import Backlog, Steps
from playhead.store.concordance.binding import InMemory, bound, made_at_once, merged
from playhead.store.concordance.chain import MOST_BYTES, Chain, due, linked
from playhead.store.concordance.postings import BLOCK, SpoiltVolume
from playhead.store.concordance.spare import BEHIND, Spare
from playhead.store.concordance.volume import MOST_IDS, Volume, opened
from playhead.store.ranked.protocol import SearchIndex
from playhead.store.ranked.words import Words
from playhead.store.sqlite.volumes import Kept

KINDS = ("message", "tool_call", "odd \ud83d kind")
VOCABULARY = [f"{chr(97 + rank % 26)}{'bcd' * (rank % 4)}{rank}" for rank in range(3_000)]
WEIGHTS = list(accumulate(1 / (rank + 1) for rank in range(len(VOCABULARY))))
BEFORE = 1_000
EDGES = list(accumulate((BEFORE, BLOCK - 1, 700, BLOCK, 1, BLOCK + 1, 900)))


def entry(id: int) -> TapeEntry:
    """Return the entry of an id, the same each time."""
    chance = Random(id)
    text = " ".join(chance.choices(VOCABULARY, cum_weights=WEIGHTS, k=chance.choice((0, 3, 20, 300))))
    return TapeEntry(id, chance.choice(KINDS), {"content": text if id % 7 else "一二三 é"}, date=f"2026-01-01T00:00:{id % 60:02}+00:00")


def words(before: int, last: int) -> Words:
    made = Words(before=before)
    for id in range(before + 1, last + 1):
        made.add(entry(id))
    return made


def volume_of(raw: bytes) -> Volume:
    return opened(InMemory(raw), size=len(raw))


@pytest.fixture(scope="module")
def whole() -> Words:
    return words(BEFORE, EDGES[-1])


@pytest.fixture(scope="module")
def raws() -> list[bytes]:
    """Volumes that follow each other."""
    return [made_at_once(bound(words(before, last))) for before, last in pairwise(EDGES)]


def told(index: SearchIndex, term: str, first: int, last: int, near: list[int] | None = None) -> list[tuple[int, int, int]]:
    return [posting for run in index.postings(term, first, last, near=near) for posting in zip(run.ids, run.counts, run.lengths, strict=True)]


def compare(index: SearchIndex, whole: Words, chance: Random, *, lowest: int, highest: int) -> None:
    """Ask an index and the words in memory the same of one range."""
    first = chance.choice((lowest, chance.randint(lowest, highest)))
    last = chance.choice((highest, chance.randint(first, highest)))
    assert index.totals(first, last) == whole.totals(first, last)
    for term in (*chance.choices(VOCABULARY[:12], k=3), *chance.choices(VOCABULARY, k=3), "一二", "absent"):
        wanted = told(whole, term, first, last)
        assert told(index, term, first, last) == wanted
        assert index.frequencies([term], first, last).get(term, 0) == len(wanted)
        near = sorted(chance.sample(range(first, last + 1), min(6, last - first + 1)))
        found = told(index, term, first, last, near)
        assert [posting for posting in found if posting[0] in near] == [posting for posting in wanted if posting[0] in near]
        assert set(found) <= set(wanted)
    ids = sorted(chance.sample(range(first, last + 1), min(40, last - first + 1)))
    assert list(index.documents(ids)) == list(whole.documents(ids))


@pytest.mark.parametrize("number", range(len(EDGES) - 1))
def test_a_volume_answers_as_the_words_in_memory_do(raws: list[bytes], whole: Words, number: int):
    volume, chance = volume_of(raws[number]), Random(number)
    for _ in range(10):
        compare(volume, whole, chance, lowest=EDGES[number] + 1, highest=EDGES[number + 1])


def test_volumes_in_a_chain_answer_as_one(raws: list[bytes], whole: Words):
    chain, chance = Chain([volume_of(raw) for raw in raws]), Random(5)
    for _ in range(20):
        compare(chain, whole, chance, lowest=BEFORE + 1, highest=EDGES[-1])
    for initial in ("a", "z", "一", "ü"):
        assert set(chain.vocabulary(initial, 2, 5)) == set(whole.vocabulary(initial, 2, 5))


def test_terms_are_told_alike_one_by_one_and_all_at_once_and_a_page_is_read_once_for_all_of_it(raws: list[bytes], whole: Words):
    wanted = [*VOCABULARY, "一二", "一", *(f"{letter}absent" for letter in "!azй")]
    single, together = volume_of(raws[2]), volume_of(raws[2])
    first, last = single.first, single.last
    frequencies = {term: count for term, count in whole.frequencies(wanted, first, last).items() if count}
    assert together.frequencies(wanted, first, last) == frequencies
    assert {term: count for text in wanted for term, count in single.frequencies([text], first, last).items()} == frequencies
    assert together.frequencies(wanted[::-1], first, last) == frequencies
    source = Counted(raws[2])
    opened(source, size=len(raws[2])).frequencies([f"一{place}" for place in range(50)], first, last)
    assert source.reads == 3, "the trailer, the contents, one page"


class Counted(InMemory):
    """Counts how often it is read."""

    reads = 0

    def read(self, start: int, stop: int) -> bytes:
        self.reads += 1
        return super().read(start, stop)


def test_volumes_are_merged_to_the_very_bytes_that_all_of_their_entries_make(raws: list[bytes], whole: Words):
    assert made_at_once(merged([volume_of(raw) for raw in raws])) == made_at_once(bound(whole))


def test_binding_goes_in_steps_none_of_which_is_most_of_the_work(raws: list[bytes]):
    assert sum(1 for _ in merged([volume_of(raw) for raw in raws])) > 8


def test_a_volume_that_is_altered_anywhere_is_found_out(raws: list[bytes]):
    raw, chance = raws[4], Random(3)
    read_through(volume_of(raw))
    for place in sorted(chance.sample(range(len(raw)), 60)):
        altered = raw[:place] + bytes([raw[place] ^ 1 << chance.randrange(8)]) + raw[place + 1 :]
        with pytest.raises(SpoiltVolume):
            read_through(volume_of(altered))


def read_through(volume: Volume) -> None:
    for term in volume.terms():
        volume.whole(term)
    list(volume.documents(range(volume.first, volume.last + 1)))
    for initial in {term.text[0] for term in volume.terms()}:
        list(volume.vocabulary(initial, 1, 99))


@pytest.mark.parametrize("left", [0, 1, 15, 16, 200])
def test_a_volume_that_lacks_its_front_or_its_end_is_none(raws: list[bytes], left: int):
    for raw in (raws[0][:left], raws[0][:-1], raws[0][: len(raws[0]) // 2]):
        with pytest.raises(SpoiltVolume):
            volume_of(raw)
    with pytest.raises(SpoiltVolume):
        list(volume_of(raws[0][100:]).terms())


def test_eight_volumes_of_a_size_are_merged_and_none_becomes_too_large():
    standing: list[Kept] = []
    merges = 0
    for number in range(1_000):
        standing.append(Kept(number, number * 512 + 1, number * 512 + 512, 90_000, 0))
        while together := due(standing):
            merges += 1
            place = standing.index(together[0])
            assert standing[place : place + len(together)] == list(together)
            one = Kept(number, together[0].first, together[-1].last, sum(row.size for row in together), 0)
            assert one.last - one.first < MOST_IDS
            assert one.size <= MOST_BYTES
            standing[place : place + len(together)] = [one]
    assert [(row.last, other.first - 1) for row, other in pairwise(standing)] == [(row.last, row.last) for row in standing[:-1]]
    assert len(standing) <= 1_000 * 512 // MOST_IDS + 16
    assert merges < 1_000 // 7


def test_volumes_of_long_entries_are_merged_by_their_bytes():
    standing = [Kept(number, number * 600 + 1, number * 600 + 600, MOST_BYTES // 3, 0) for number in range(8)]
    assert [row.volume_no for row in due(standing)] == [0, 1, 2]
    assert not due([Kept(number, number * 600 + 1, number * 600 + 600, MOST_BYTES, 0) for number in range(20)])


def test_a_chain_ends_at_a_gap_and_takes_the_longest_of_those_that_begin_alike():
    found = [Kept(1, 5, 8, 1, 0), Kept(2, 5, 20, 1, 0), Kept(3, 9, 12, 1, 0), Kept(4, 21, 30, 1, 0), Kept(5, 32, 40, 1, 0)]
    assert [row.volume_no for row in linked(found, before=4)] == [2, 4]
    assert linked(found, before=5) == []


def test_what_somebody_waits_for_is_made_first_and_what_fails_is_given_up():
    made: list[object] = []

    def make(name: object) -> Steps:
        yield
        if name == "bad":
            raise OSError("no space left")
        made.append(name)

    backlog = Backlog(make)
    for name in ("a", "bad", "b", "a"):
        backlog.grew(name)
    assert backlog.hurry(["wanted"]) is False
    assert made == ["wanted"]
    with pytest.raises(OSError, match="no space"):
        finish(backlog)
    finish(backlog)
    assert made == ["wanted", "a", "b"]
    assert backlog.is_done


def finish(backlog: Backlog) -> None:
    while backlog.step():
        pass


def test_beside_steady_writing_a_tenth_of_its_time_is_taken_and_a_pause_is_used_to_its_end():
    clock, steps = [0.0], [0]

    def step() -> bool:
        clock[0] += 0.004
        steps[0] += 1
        return True

    spare = Spare(now=lambda: clock[0])
    spare.wrote(BEHIND - 1, seconds=9.0)
    spare.use(step, is_pause=False, goes_on=lambda: True)
    assert steps == [0]
    for _ in range(1_000):
        spare.wrote(1, seconds=0.001)
        spare.use(step, is_pause=False, goes_on=lambda: True)
    assert 20 <= steps[0] <= 27
    steps[0] = 0
    spare.use(step, is_pause=True, goes_on=lambda: steps[0] < 100)
    assert steps == [100]
