"""A job knows which tools were called in its run."""

from playhead.entry.message import ToolCall, assistant, tool_result_message
from playhead.fold.writing.job import called_in
from tests.unit.fold.writing import chunk, merge, node, pinged, said, unit


def test_the_tools_of_a_chunk_are_those_called_in_it_in_the_order_of_their_first_calls():
    looks = unit(assistant(calls=[ToolCall(id="a", name="look"), ToolCall(id="b", name="ping")]), tool_result_message("a", ""), tool_result_message("b", ""), id=3)
    assert chunk(said("hi", id=1), pinged("gw-1", id=5), looks).tools == ("ping", "look")
    assert called_in([said("hi", id=1)]) == ()


def test_the_tools_of_a_merge_are_those_of_its_sources():
    job = merge(node(1, first=1, last=4, tools=("ping", "look")), node(2, first=5, last=9, tools=("write", "ping")), units=(pinged("gw-9", id=1),))
    assert job.tools == ("ping", "look", "write") and job.is_merge and not chunk(said("hi", id=1)).is_merge
