from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from playhead.fold.choosing.accounting import account, floor, total
from playhead.fold.resolvers.by_phase import ByPhase
from playhead.fold.resolvers.flat_profile import FlatProfile
from playhead.fold.resolvers.highest import Highest
from playhead.fold.resolvers.oldest_first import OldestFirst
from playhead.fold.resolvers.protocol import Item, Step

RESOLVERS = (FlatProfile(), OldestFirst(), Highest(), ByPhase())


PHASES = st.sampled_from([None, "research", "subagent", "lesson", "synthesis"])


@st.composite
def histories(draw, *, trees=4, children=3):
    """Items of a random history: trees of summaries of up to three levels, shown at any depth or not at all, with fixed parts among them."""
    items, numbers = [], count()

    def show(level, above):
        is_shown = level > 0 and draw(st.integers(0, 3)) == 0
        price = draw(st.integers(0, 200))
        if level > 0 and not is_shown:
            step = Step(node=f"n{next(numbers)}", level=level, tokens=price)
            for _ in range(draw(st.integers(1, children))):
                show(level - 1, (step, *above))
            return
        at = len(items) + 1
        name = f"n{next(numbers)}" if is_shown else None
        items.append(Item(first=at, last=at, level=level, tokens=price, node=name, above=above, is_fixed=draw(st.integers(0, 9)) == 0, phase=draw(PHASES)))

    for level in draw(st.lists(st.integers(0, 3), max_size=trees)):
        show(level, ())
    return tuple(items)


def cheapest(items):
    """The least tokens of any choice, by trying all."""
    uids = sorted({step.node for item in items for step in item.above})
    best = total(items)
    for chosen in range(2 ** len(uids)):
        best = min(best, account(items, [uid for i, uid in enumerate(uids) if chosen >> i & 1]).tokens)
    return best


@given(histories(), st.integers(0, 2_000))
def test_what_is_chosen_is_what_the_account_shows_and_costs(items, target):
    for resolver in RESOLVERS:
        solution = resolver.solve(items, target=target)
        told = account(items, solution.nodes)
        assert (told.tokens, told.nodes, told.unrealizable) == (solution.tokens, solution.nodes, ()), resolver.name


@given(histories(), st.integers(0, 2_000))
def test_the_account_tiles_the_items_with_running_offsets(items, target):
    for resolver in RESOLVERS:
        at = offset = 0
        for one in account(items, resolver.solve(items, target=target).nodes).shown:
            assert (one.start, one.offset) == (at, offset)
            at, offset = one.stop, offset + one.tokens
        assert at == len(items)


@given(histories(), st.integers(0, 2_000))
def test_nothing_is_unfolded_and_what_is_fixed_stays_as_it_is(items, target):
    for resolver in RESOLVERS:
        for one in account(items, resolver.solve(items, target=target).nodes).shown:
            under = items[one.start : one.stop]
            assert all(one.level >= item.level for item in under), resolver.name
            assert not any(item.is_fixed for item in under) or under == (items[one.start],) and one.node == items[one.start].node


@given(histories(), st.integers(0, 2_000))
def test_the_target_is_met_or_it_is_said_what_is_missing_or_that_nothing_is_left(items, target):
    for resolver in RESOLVERS:
        solution = resolver.solve(items, target=target)
        if solution.tokens <= target:
            assert (solution.produce, solution.is_exhausted) == ((), False)
        else:
            assert solution.is_exhausted != bool(solution.produce)


@given(histories(), st.integers(0, 2_000))
def test_no_more_is_folded_than_the_target_asks_for_and_every_fold_saves(items, target):
    for resolver in RESOLVERS:
        solution = resolver.solve(items, target=target)
        if total(items) <= target:
            assert (solution.moves, solution.tokens) == (0, total(items))
        assert solution.tokens <= total(items) - solution.moves


@given(histories(), st.integers(0, 2_000))
def test_what_was_chosen_stays_chosen_where_it_is_solved_again(items, target):
    for resolver in RESOLVERS:
        first = resolver.solve(items, target=target)
        assert resolver.solve(items, target=target) == first
        again = []
        for one in account(items, first.nodes).shown:
            item = items[one.start]
            steps = [step.node for step in item.above]
            above = item.above[steps.index(one.node) + 1 :] if one.node in steps else item.above
            last = items[one.stop - 1].last
            again.append(Item(first=item.first, last=last, level=one.level, tokens=one.tokens, node=one.node, above=above, is_fixed=item.is_fixed, phase=item.phase))
        second = resolver.solve(again, target=max(target, first.tokens))
        assert (second.nodes, second.moves) == (first.nodes, 0)


@given(histories(trees=2, children=2))
def test_every_resolver_reaches_the_floor_and_nothing_is_below_it(items):
    least = floor(items)
    assert least.tokens == cheapest(items)
    assert account(items, [*least.nodes]).tokens == least.tokens
    for resolver in RESOLVERS:
        assert resolver.solve(items, target=least.tokens).tokens == least.tokens


@given(histories(), st.integers(0, 2_000))
def test_a_certificate_says_how_much_is_lacking_and_names_only_what_binds(items, room):
    least = floor(items)
    assert least.certificate(room)["required_additional_tokens"] == max(0, least.tokens - room)
    assert least.protected_tokens == sum(item.tokens for item in items if item.is_fixed) <= least.tokens
    assert [item for item in items if item.is_fixed] == [item for item in least.binding if item.is_fixed]
