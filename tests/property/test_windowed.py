from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from playhead.entry.message import user
from playhead.prompt.budget import Budget
from playhead.prompt.strategies.passthrough import PassthroughStrategy
from playhead.prompt.strategies.windowed import WindowedPassthroughStrategy
from playhead.view.plan import Units
from playhead.view.rounding import roundest
from playhead.view.units import Unit

ROOM = 1_000
BUDGET = Budget(max_tokens=ROOM, reserve_for_response=0)
prices = st.lists(st.integers(1, 400), min_size=1, max_size=120)


def tail(costs):
    return Units(units=tuple(Unit(kind="message", messages=(user("m"),), ids=(i,), uids=(), tokens=t) for i, t in enumerate(costs, 1)))


def start_of(costs, strategy):
    plan = strategy.plan(tail(costs), budget=BUDGET)
    plan.check(ROOM)
    return next(s.first for s in plan.spans if s.is_shown)


@given(prices)
def test_the_window_never_moves_back_and_always_fits(costs):
    starts = [start_of(costs[:n], WindowedPassthroughStrategy()) for n in range(1, len(costs) + 1)]
    assert starts == sorted(starts)


@given(st.lists(st.integers(1, 60), min_size=30, max_size=300))
def test_the_window_jumps_seldom_when_units_are_small(costs):
    starts = [start_of(costs[:n], WindowedPassthroughStrategy()) for n in range(1, len(costs) + 1)]
    jumps = sum(a != b for a, b in pairwise(starts))
    assert jumps <= 2 + sum(costs) / (0.2 * ROOM)


@given(prices)
def test_a_window_keeps_at_least_its_share_unless_one_unit_is_larger_than_the_jump(costs):
    plan = WindowedPassthroughStrategy().plan(tail(costs), budget=BUDGET)
    if sum(costs) > ROOM:
        assert plan.tokens > 0.5 * ROOM - max(costs)


@given(prices)
def test_passthrough_shows_the_longest_newest_run_that_fits(costs):
    start = start_of(costs, PassthroughStrategy())
    assert sum(costs[start - 1 :]) <= ROOM
    assert start == 1 or sum(costs[start - 2 :]) > ROOM


@given(st.integers(1, 10_000), st.integers(0, 10_000))
def test_the_roundest_number_of_a_range_is_divisible_by_the_highest_power_of_two(low, length):
    def power(n):
        return n & -n

    found = roundest(low, low + length)
    assert low <= found <= low + length
    assert power(found) == max(power(n) for n in range(low, low + length + 1))
