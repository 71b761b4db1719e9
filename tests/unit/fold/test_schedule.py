from itertools import pairwise

import pytest

from playhead.fold.choosing.chunks import chunk_of
from playhead.fold.choosing.schedule import ChunkJob, MergeJob, due_chunks, merge_groups, next_job
from playhead.fold.config import AutobiographicalConfig
from playhead.fold.resolvers.protocol import Produce
from tests.unit.fold.choosing import called, forest, node, outcome, run, said

PLAIN = AutobiographicalConfig()
ADAPTIVE = AutobiographicalConfig(adaptive_resolution=True)
WORDS = "many words " * 30


def side_by_side(count, *, level=1, begin=1):
    return run(level, *range(begin, begin + 10 * count, 10))


def closed(*firsts, tokens=3_000):
    """Closed chunks of ten entries each."""
    return [chunk_of([said(*range(first, first + 10), tokens=tokens, text=WORDS)], after=first - 1) for first in firsts]


def sizes(roots, threshold=6, **known):
    return [len(group) for group in merge_groups(roots, threshold=threshold, **known)]


@pytest.mark.parametrize(
    ("count", "threshold", "expected"),
    [(5, 6, []), (6, 6, [6]), (7, 6, [5]), (12, 6, [6, 6]), (13, 6, [6, 5]), (2, 2, [2]), (3, 2, [3]), (5, 2, [2, 3]), (4, 3, [2])],
)
def test_the_newest_run_merges_in_full_groups_and_leaves_no_single_one(count, threshold, expected):
    assert sizes(side_by_side(count), threshold) == expected


@pytest.mark.parametrize(("count", "expected"), [(1, []), (2, [2]), (3, [3]), (5, [5]), (6, [6]), (7, [5, 2]), (8, [6, 2]), (13, [6, 5, 2])])
def test_a_run_that_is_cut_off_merges_as_soon_as_it_has_two(count, expected):
    assert sizes([*side_by_side(count), *side_by_side(1, begin=1_000)]) == expected


def test_two_cut_off_runs_of_five_do_not_wait_for_ever():
    roots = [*side_by_side(5), *side_by_side(5, begin=100), *side_by_side(1, begin=200)]
    assert sizes(roots) == [5, 5]


def test_no_group_reaches_over_a_hole():
    for group in merge_groups([*side_by_side(4), *side_by_side(4, begin=42)], threshold=3):
        assert all(b.first == a.last + 1 for a, b in pairwise(group))


def test_a_summary_of_another_level_parts_its_neighbours():
    assert sizes([*side_by_side(3), node(2, 31, 40), *side_by_side(5, begin=41)]) == [3]


def test_summaries_below_do_not_keep_a_run_from_growing():
    assert sizes([*side_by_side(2, level=2), *side_by_side(3, begin=21)]) == []


def test_lower_levels_are_merged_first_and_older_groups_before_newer():
    roots = [*side_by_side(6, level=2), *side_by_side(12, begin=61)]
    assert [(g[0].level, g[0].first) for g in merge_groups(roots, threshold=6)] == [(1, 61), (1, 121), (2, 1)]


@pytest.mark.parametrize(("level", "most"), [(1, 1_500), (3, 1_500), (4, 9_000), (5, 54_000)])
def test_how_wide_a_summary_may_be_grows_with_its_level(level, most):
    wide = [node(level, 10 * i + 1, 10 * i + 10, units=most) for i in range(6)]
    assert sizes(wide, widest=1_500) == [6]
    wide[2] = node(level, 21, 30, units=most + 1)
    assert sizes(wide, widest=1_500) == [2]


def test_summaries_that_are_barred_are_not_offered_and_part_their_neighbours():
    roots = side_by_side(8)
    assert [[n.uid for n in g] for g in merge_groups(roots, threshold=6, barred={"n1-31"})] == [["n1-1", "n1-11", "n1-21"]]


def test_nothing_is_due_where_nothing_is():
    assert next_job(forest(), [], PLAIN) is None


def test_the_newest_closed_chunks_are_held_back():
    chunks = closed(1, 11, 21)
    assert [job.chunk.first for job in due_chunks(chunks, PLAIN)] == [1, 11]
    assert due_chunks(chunks[:1], PLAIN) == ()
    assert len(due_chunks(chunks, AutobiographicalConfig(l1_holdback_chunks=0))) == 3
    assert len(due_chunks(chunks, PLAIN, reaches_newest=False)) == 3


def test_a_demand_is_served_whatever_is_held_back_and_covers_the_whole_backlog():
    chunks = closed(1, 11, 21)
    assert len(due_chunks(chunks, PLAIN, demands=[Produce(level=1, first=5, last=9_999)])) == 3
    assert len(due_chunks(chunks, PLAIN, demands=[Produce(level=2, first=1, last=9_999)])) == 2


def test_chunks_that_reach_a_hold_wait_and_those_before_it_go_on():
    chunks = [chunk_of([said(*range(1, 39), text=WORDS)], after=0), chunk_of([called(39, 40), said(41)], after=38), *closed(42, 52)]
    job = next_job(forest(), chunks, PLAIN, frozen_from=40)
    assert job == ChunkJob(chunk=chunks[0])
    assert next_job(forest(), chunks[1:], PLAIN, frozen_from=40) is None


def test_a_merge_that_reaches_a_hold_waits_and_does_not_block_chunks():
    known = forest(*side_by_side(6))
    assert next_job(known, [], PLAIN, frozen_from=60) is None
    assert isinstance(next_job(known, [], PLAIN, frozen_from=61), MergeJob)
    assert isinstance(next_job(known, closed(50, 61), PLAIN, frozen_from=60), ChunkJob)


def test_chunks_that_are_deferred_are_passed_over():
    chunks = closed(1, 11, 21)
    assert next_job(forest(), chunks, PLAIN, deferred={(1, 1, 10)}) == ChunkJob(chunk=chunks[1])
    assert next_job(forest(), chunks, PLAIN, deferred={(1, 1, 10), (1, 11, 20)}) is None


def test_a_chunk_of_few_words_is_thin_and_one_with_a_call_never_is():
    thin = chunk_of([said(i, text="ok") for i in range(1, 5)], after=0)
    busy = chunk_of([called(5, 6), called(7, 8)], after=4)
    assert [job.is_thin for job in due_chunks([thin, busy], AutobiographicalConfig(l1_holdback_chunks=0))] == [True, False]


def test_without_adaptive_resolution_chunks_go_before_merges():
    known = forest(*side_by_side(6), shown=[n.uid for n in side_by_side(6)])
    assert isinstance(next_job(known, closed(61, 71), PLAIN), ChunkJob)
    assert isinstance(next_job(known, closed(61), PLAIN), MergeJob)


def test_with_adaptive_resolution_a_merge_that_frees_more_goes_first():
    roots = side_by_side(6)
    known = forest(*roots, shown=[n.uid for n in roots])
    chunks = closed(61, 71)
    assert isinstance(next_job(known, chunks, ADAPTIVE, price=lambda _: 501), MergeJob)
    assert isinstance(next_job(known, chunks, ADAPTIVE, price=lambda _: 500), ChunkJob)


def test_summaries_that_are_not_shown_free_nothing():
    known = forest(*side_by_side(6))
    assert isinstance(next_job(known, closed(61, 71), ADAPTIVE, price=lambda _: 9_999), ChunkJob)


def test_a_merge_that_failed_lets_one_chunk_go_first_but_not_for_ever():
    roots = side_by_side(6)
    known = forest(*roots, shown=[n.uid for n in roots])
    assert isinstance(next_job(known, closed(61, 71), ADAPTIVE, last_failed_merge=(2, 1, 60)), ChunkJob)
    assert isinstance(next_job(known, closed(61), ADAPTIVE, last_failed_merge=(2, 1, 60)), MergeJob)


def test_nothing_is_merged_where_memory_is_flat():
    assert next_job(forest(*side_by_side(6)), [], AutobiographicalConfig(hierarchical=False)) is None


def test_a_backlog_of_summaries_is_merged_without_anything_new():
    job = next_job(forest(*side_by_side(30)), [], PLAIN)
    assert (job.span, job.nodes) == ((2, 1, 60), side_by_side(6))


def test_a_quarantined_merge_is_not_offered_again_until_a_part_of_it_went_elsewhere():
    roots = side_by_side(6)
    stuck = outcome(1, 60, level=2, children=tuple(n.uid for n in roots))
    assert next_job(forest(*roots, outcomes=[stuck]), [], PLAIN) is None
    assert next_job(forest(*roots[1:], *side_by_side(1, begin=61), outcomes=[stuck]), [], PLAIN).span == (2, 11, 70)


def test_a_demanded_merge_takes_the_longest_adjacent_run_at_most_a_full_group():
    known = forest(*side_by_side(2), *side_by_side(5, begin=100))
    job = next_job(known, [], AutobiographicalConfig(merge_threshold=4), demands=[Produce(level=2, first=1, last=9_999)])
    assert [n.first for n in job.nodes] == [100, 110, 120, 130]


def test_a_merge_that_is_deferred_lets_the_next_go():
    known = forest(*side_by_side(12))
    assert next_job(known, [], PLAIN, deferred={(2, 1, 60)}).span == (2, 61, 120)


def test_a_demand_for_which_there_are_no_two_summaries_is_passed_over():
    assert next_job(forest(*side_by_side(1)), [], PLAIN, demands=[Produce(level=2, first=1, last=10), Produce(level=4, first=1, last=10)]) is None
