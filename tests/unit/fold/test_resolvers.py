import pytest

from playhead.fold.choosing.accounting import account
from playhead.fold.config import AutobiographicalConfig
from playhead.fold.resolvers.by_phase import ByPhase
from playhead.fold.resolvers.choice import resolver_for
from playhead.fold.resolvers.flat_profile import FlatProfile
from playhead.fold.resolvers.highest import Highest
from playhead.fold.resolvers.oldest_first import OldestFirst
from playhead.fold.resolvers.protocol import Item, Produce, Resolver, Step
from tests.unit.fold.choosing import E_TREE, E, items_over

ALL = (FlatProfile(), OldestFirst(), Highest(), ByPhase())


def view(items, solution):
    """What is shown, in words: the summaries' names, and c0, c1, ... for raw parts."""
    return " ".join(one.node or f"c{one.start}" for one in account(items, solution.nodes).shown)


@pytest.mark.parametrize(
    ("target", "moves", "tokens", "shown"),
    [
        (1_000, 0, 1_000, "c0 c1 c2 c3 c4 c5 c6 c7 c8 c9"),
        (850, 1, 840, "L1-0 c2 c3 c4 c5 c6 c7 c8 c9"),
        (700, 2, 680, "L1-0 L1-1 c4 c5 c6 c7 c8 c9"),
        (630, 3, 520, "L1-0 L1-1 L1-2 c6 c7 c8 c9"),
        (500, 4, 490, "L2-0 L1-2 c6 c7 c8 c9"),
        (400, 5, 330, "L2-0 L1-2 L1-3 c8 c9"),
        (300, 6, 300, "L2-0 L2-1 c8 c9"),
        (270, 7, 260, "L3-0 c8 c9"),
    ],
)
def test_flat_profile_folds_fixture_e_in_the_published_sequence(target, moves, tokens, shown):
    solution = FlatProfile().solve(E, target=target)
    assert (solution.moves, solution.tokens, view(E, solution)) == (moves, tokens, shown)
    assert solution.produce == ()
    assert not solution.is_exhausted


@pytest.mark.parametrize(
    ("target", "moves", "tokens", "shown"),
    [
        (900, 1, 840, "L1-0 c2 c3 c4 c5 c6 c7 c8 c9"),
        (700, 2, 650, "L2-0 c4 c5 c6 c7 c8 c9"),
        (630, 3, 260, "L3-0 c8 c9"),
    ],
)
def test_oldest_first_folds_fixture_e_in_the_published_sequence(target, moves, tokens, shown):
    solution = OldestFirst().solve(E, target=target)
    assert (solution.moves, solution.tokens, view(E, solution)) == (moves, tokens, shown)


@pytest.mark.parametrize("resolver", [FlatProfile(), OldestFirst()], ids=lambda r: r.name)
def test_where_all_is_folded_the_next_level_is_asked_for_and_nothing_is_exhausted(resolver):
    solution = resolver.solve(E, target=250)
    assert (solution.tokens, solution.nodes) == (260, ("L3-0",))
    assert solution.produce == (Produce(level=4, first=1, last=8),)
    assert not solution.is_exhausted


def test_highest_shows_the_oldest_through_the_highest_summary_and_leaves_the_rest():
    two_trees = items_over([100] * 8, {"a1": (1, 0, 2, 40), "a2": (1, 2, 4, 40), "a": (2, 0, 4, 50), "b1": (1, 4, 6, 40)}, fixed=(7,))
    solution = Highest().solve(two_trees, target=500)
    assert (view(two_trees, solution), solution.moves) == ("a c4 c5 c6 c7", 1)


def test_what_is_not_summarised_yet_does_not_keep_the_rest_from_being_folded():
    items = items_over([100] * 6, {"late": (1, 2, 4, 40)}, fixed=(5,))
    for resolver in ALL:
        solution = resolver.solve(items, target=500)
        assert view(items, solution) == "c0 c1 late c4 c5", resolver.name
        assert solution.produce == ()


def test_a_target_out_of_reach_asks_for_each_run_that_no_summary_tells():
    items = items_over([100] * 6, {"late": (1, 2, 4, 40)}, fixed=(5,))
    for resolver in ALL:
        solution = resolver.solve(items, target=100)
        assert solution.produce == (Produce(level=1, first=1, last=2), Produce(level=2, first=3, last=4), Produce(level=1, first=5, last=5)), resolver.name
        assert not solution.is_exhausted


def test_neighbours_of_one_level_are_asked_to_be_told_together():
    items = items_over([100] * 6, {"a": (1, 0, 2, 40), "b": (1, 2, 4, 40), "c": (1, 4, 6, 40)})
    assert FlatProfile().solve(items, target=10).produce == (Produce(level=2, first=1, last=6),)


def test_a_summary_over_something_fixed_is_not_shown_but_those_below_it_are():
    items = items_over([100] * 10, E_TREE, fixed=(2, 8, 9))
    for resolver in ALL:
        solution = resolver.solve(items, target=0)
        assert view(items, solution) == "L1-0 c2 c3 L2-1 c8 c9", resolver.name
        assert (solution.tokens, solution.produce, solution.is_exhausted) == (490, (), True)


def test_a_summary_that_costs_no_less_than_what_it_tells_is_passed_over_for_the_one_above():
    items = items_over([20, 20, 20, 20], {"dear": (1, 0, 2, 45), "fair": (1, 2, 4, 30), "both": (2, 0, 4, 35)})
    for resolver in ALL:
        assert view(items, resolver.solve(items, target=60)) == "both", resolver.name


def test_what_is_shown_as_a_summary_stays_one_and_may_go_higher():
    shown = Item(first=1, last=4, level=1, tokens=40, node="a", above=(Step(node="up", level=2, tokens=45),))
    beside = Item(first=5, last=8, level=1, tokens=40, node="b", above=(Step(node="up", level=2, tokens=45),))
    for resolver in ALL:
        assert resolver.solve((shown, beside), target=1_000).nodes == ("a", "b")
        assert resolver.solve((shown, beside), target=50).nodes == ("up",)


def test_nothing_is_folded_where_nothing_is():
    for resolver in ALL:
        solution = resolver.solve((), target=0)
        assert (solution.nodes, solution.tokens, solution.is_exhausted) == ((), 0, False)


def test_research_is_folded_before_the_work_of_others_lessons_and_conclusions():
    phases = ["synthesis", "synthesis", "lesson", "lesson", "research", "research", "subagent", "subagent"]
    tree = {"s": (1, 0, 2, 40), "l": (1, 2, 4, 40), "r": (1, 4, 6, 40), "a": (1, 6, 8, 40)}
    items = items_over([100] * 8, tree, phases=phases)
    views = [view(items, ByPhase().solve(items, target=target)) for target in (700, 550, 400, 200)]
    assert views == ["c0 c1 c2 c3 r c6 c7", "c0 c1 c2 c3 r a", "c0 c1 l r a", "s l r a"]


def test_a_summary_that_mixes_phases_waits_for_the_last_of_them():
    tree = {"r": (1, 0, 2, 40), "s": (1, 2, 4, 40), "both": (2, 0, 4, 50)}
    items = items_over([100] * 6, tree, phases=["research", "research", "synthesis", "synthesis", None, None])
    assert view(items, ByPhase().solve(items, target=450)) == "r c2 c3 c4 c5"
    assert view(items, ByPhase().solve(items, target=300)) == "both c4 c5"


def test_the_settings_name_the_resolver():
    assert resolver_for(AutobiographicalConfig()).name == "highest"
    assert resolver_for(AutobiographicalConfig(), otherwise=ByPhase()).name == "by-phase"
    for name in ("flat-profile", "oldest-first"):
        resolver = resolver_for(AutobiographicalConfig(adaptive_resolution=True, folding_strategy=name), otherwise=ByPhase())
        assert resolver.name == name
        assert isinstance(resolver, Resolver)


@pytest.mark.parametrize("resolver", ALL, ids=lambda r: r.name)
def test_a_long_history_is_folded_in_about_as_many_steps_as_it_has_summaries(resolver):
    width, fan_in = 20_000, (10, 60, 360)
    chains = [tuple(Step(node=f"L{level}-{i // wide}", level=level, tokens=100) for level, wide in enumerate(fan_in, 1)) for i in range(width)]
    items = [Item(first=i + 1, last=i + 1, level=0, tokens=50, above=chain) for i, chain in enumerate(chains)]
    solution = resolver.solve(items, target=0)
    assert solution.nodes == tuple(f"L3-{i}" for i in range(-(-width // 360)))
    assert solution.moves <= 2_000 + 334 + 56
