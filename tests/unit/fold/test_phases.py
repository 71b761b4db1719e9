import pytest

from playhead.entry.message import ToolCall, assistant
from playhead.fold.choosing.phases import PhaseTools, phase_chunks
from playhead.view.units import Unit
from tests.unit.fold.choosing import called, said

TOOLS = PhaseTools()


def spans(units, **options):
    closed, rest = phase_chunks(units, **{"after": 0, "target": 100, "tools": TOOLS} | options)
    return [(c.first, c.last, TOOLS.phase_of_run(c.units)) for c in closed], [u.first for u in rest]


@pytest.mark.parametrize(
    ("names", "phase"),
    [
        ((), "synthesis"),
        (("bash",), "synthesis"),
        (("mcpl:search",), "research"),
        (("zulip:read", "bash"), "research"),
        (("zulip:read", "subagent:spawn"), "subagent"),
        (("subagent:spawn", "lessons:create"), "lesson"),
        (("lessons:update",), "lesson"),
        (("lessons:list",), "synthesis"),
    ],
)
def test_the_tools_that_are_called_say_the_phase(names, phase):
    turn = assistant("", calls=[ToolCall(id=str(i), name=name) for i, name in enumerate(names)])
    assert TOOLS.phase_of(Unit(kind="round", messages=(turn,), ids=(1,), uids=("u",), tokens=5)) == phase


def test_other_tools_may_say_the_phases():
    tools = PhaseTools(research=("web_",))
    assert tools.phase_of(called(1, 2, tool="web_search")) == "research"
    assert tools.phase_of(called(1, 2, tool="mcpl:x")) == "synthesis"


def test_a_chunk_closes_where_the_phase_changes():
    units = [called(1, 2, tool="mcpl:a"), called(3, 4, tool="mcpl:b"), said(5), said(6), called(7, 8, tool="lessons:create"), said(9)]
    assert spans(units) == ([(1, 4, "research"), (5, 6, "synthesis"), (7, 8, "lesson")], [9])


def test_a_single_message_goes_with_the_phase_that_follows_it():
    assert spans([said(1, tokens=5), called(2, 3, tool="mcpl:a", tokens=50), said(4), said(5)]) == ([(1, 3, "research")], [4, 5])


def test_each_phase_has_a_size_of_its_own():
    assert spans([said(i, tokens=50) for i in range(1, 5)])[0] == [(1, 3, "synthesis")]
    assert spans([called(i, i + 1, tool="mcpl:a", tokens=50) for i in (1, 3, 5, 7, 9)])[0] == [(1, 8, "research")]
    assert spans([called(i, i + 1, tool="lessons:create", tokens=50) for i in (1, 3, 5)])[0] == [(1, 4, "lesson")]


def test_what_is_left_of_a_whole_run_is_a_chunk_unless_a_call_is_open():
    units = [called(1, 2, tool="mcpl:a"), called(3, 4, tool="mcpl:b"), said(5)]
    assert spans(units, is_whole=True) == ([(1, 4, "research"), (5, 5, "synthesis")], [])
    assert spans([*units, called(6, is_open=True)], is_whole=True)[1] == [5, 6]
    assert spans([called(1, 9, tool="mcpl:a")], is_whole=True, before=5) == ([], [1])


def test_what_cannot_grow_is_a_chunk_with_its_open_calls():
    assert spans([said(1), called(2, is_open=True)], closes_at_end=True) == ([(1, 2, "synthesis")], [])
