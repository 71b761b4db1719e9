from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from playhead.entry.message import ToolCall, assistant, tool_result_message, user
from playhead.fold.choosing.chunks import chunks
from playhead.fold.choosing.phases import PhaseTools, phase_chunks
from playhead.fold.choosing.schedule import merge_groups
from playhead.view.units import Unit
from tests.unit.fold.choosing import node

TARGET = 100
TOOLS = PhaseTools()


@st.composite
def histories(draw):
    """Units of a tape: messages and rounds whose answers may come late or never, with entries between that show nothing."""
    units, waiting, entry = [], [], 0
    for _ in range(draw(st.integers(0, 40))):
        entry += draw(st.integers(1, 2))
        tokens = draw(st.integers(0, 60))
        if waiting and draw(st.booleans()):
            waiting.pop()["ids"].append(entry)
        elif draw(st.integers(0, 3)) == 0:
            call = {"ids": [entry], "tokens": tokens, "tool": draw(st.sampled_from(["bash", "mcpl:a", "subagent:b", "lessons:create"]))}
            waiting.append(call)
            units.append(call)
        else:
            units.append({"ids": [entry], "tokens": tokens, "tool": None})
    return tuple(map(_unit, units))


def _unit(made):
    tool, ids = made["tool"], tuple(made["ids"])
    messages = (user("words"),) if tool is None else (assistant("", calls=[ToolCall(id="c", name=tool)]), tool_result_message("c", "x"))
    is_open = tool is not None and len(ids) == 1
    return Unit(kind="round" if tool else "message", messages=messages, ids=ids, uids=tuple(f"u{i}" for i in ids), tokens=made["tokens"], is_open=is_open)


def all_cuts(units, **options):
    yield chunks(units, after=0, target=TARGET, **options)
    yield phase_chunks(units, after=0, target=TARGET, tools=TOOLS, **options)


@given(histories(), st.booleans())
def test_chunks_and_what_waits_are_the_units_in_order_each_once(units, closes_at_end):
    for closed, rest in all_cuts(units, closes_at_end=closes_at_end):
        assert (*(u for chunk in closed for u in chunk.units), *rest) == units


@given(histories(), st.booleans())
def test_chunks_own_a_gapless_run_of_entries_that_no_other_unit_reaches_into(units, closes_at_end):
    for closed, rest in all_cuts(units, closes_at_end=closes_at_end):
        assert all(b.first == a.last + 1 for a, b in pairwise(closed))
        for chunk in closed:
            assert all(chunk.first <= id <= chunk.last for u in chunk.units for id in u.ids)
            others = [u for u in units if not any(u is own for own in chunk.units)]
            assert not any(chunk.first <= id <= chunk.last for u in others for id in u.ids)
            assert chunk.last_uid == f"u{chunk.last}"
        assert not closed or not rest or closed[-1].last < min(u.first for u in rest)


@given(histories())
def test_chunks_are_large_enough_unless_they_cannot_grow(units):
    closed, _ = chunks(units, after=0, target=TARGET)
    assert all(chunk.tokens >= TARGET and chunk.messages >= 4 for chunk in closed)
    closed, _ = chunks(units, after=0, target=TARGET, closes_at_end=True)
    assert all(chunk.tokens >= TARGET and chunk.messages >= 4 for chunk in closed[:-1])


@given(histories())
def test_an_open_call_is_told_only_where_enough_came_after_it(units):
    closed, _ = chunks(units, after=0, target=TARGET)
    for index, unit in enumerate(units):
        if unit.is_open and any(unit is own for chunk in closed for own in chunk.units):
            later = [u for u in units[index + 1 :] if not u.is_open]
            assert sum(u.tokens for u in later) >= TARGET
            assert sum(len(u.messages) for u in later) >= 4


@given(histories(), st.integers(1, 80))
def test_no_chunk_reaches_what_follows_the_run(units, before):
    run = tuple(u for u in units if u.first < before)
    for closes_at_end in (False, True):
        for closed, _ in all_cuts(run, closes_at_end=closes_at_end, before=before):
            assert all(chunk.last < before for chunk in closed)


@given(histories(), st.integers(0, 40))
def test_a_tape_that_grows_leaves_the_closed_chunks_as_they_are(units, count):
    """Of a tape on which no call is answered late, what was closed stays so."""
    straight = tuple(u for u in units if len(u.ids) == 1 and not u.is_open)
    before = chunks(straight[:count], after=0, target=TARGET)[0]
    after = chunks(straight, after=0, target=TARGET)[0]
    assert [(c.first, c.last) for c in after[: len(before)]] == [(c.first, c.last) for c in before]


@given(st.lists(st.tuples(st.integers(1, 3), st.booleans()), max_size=30), st.integers(2, 7))
def test_merges_are_of_adjacent_summaries_of_one_level_and_come_to_an_end(shape, threshold):
    roots, at = [], 1
    for number, (level, is_hole) in enumerate(shape):
        at += is_hole
        roots.append(node(level, at, at + 4, uid=f"n{number}"))
        at += 5
    for number in range(len(roots)):
        groups = merge_groups(roots, threshold=threshold)
        if not groups:
            break
        for group in groups:
            assert 2 <= len(group) <= max(threshold, 3)
            assert len({n.level for n in group}) == 1
            assert all(b.first == a.last + 1 for a, b in pairwise(group))
        first = groups[0]
        merged = node(first[0].level + 1, first[0].first, first[-1].last, uid=f"m{number}", units=1)
        start = roots.index(first[0])
        roots[start : start + len(first)] = [merged]
    assert merge_groups(roots, threshold=threshold) == ()
