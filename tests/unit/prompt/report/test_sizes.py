from playhead.entry.message import ToolCall, assistant, tool_result_message, user
from playhead.prompt.budget import Budget
from playhead.prompt.injection import Injection
from playhead.prompt.report.sizes import sizes
from playhead.prompt.report.stretches import stretches
from tests.unit.prompt.report.prompts import a_round, compiled, talk


def sized(prompt):
    return sizes(stretches(prompt), counter=prompt.counter)


def test_the_roles_together_are_the_prompt():
    prompt = compiled([*talk(6), *a_round(1), *a_round(2)], injections=[Injection(namespace="rules", content="Never guess.")])
    found = {s.name: s for s in sized(prompt).roles}
    assert sum(s.tokens for s in found.values()) == prompt.stats.total
    assert {name: s.count for name, s in found.items()} == {"user": 3, "assistant": 5, "tool": 2, "injection": 1}


def test_a_tool_counts_its_calls_and_weighs_them_with_their_results():
    large = "line of output " * 200
    found = sized(compiled([user("go"), *a_round(1, tool="read", answer=large), *a_round(2), *a_round(3)])).tools
    assert [(s.name, s.count) for s in found] == [("read", 1), ("ping", 2)]
    assert found[0].tokens > 500 > found[1].tokens > 0


def test_what_was_loaded_and_left_out_is_counted_apart():
    prompt = compiled([*(m for i in range(60) for m in a_round(i)), *talk(3)], budget=Budget(max_tokens=600, reserve_for_response=0))
    (tool,) = sized(prompt).tools
    assert tool.count > 0 and tool.left_count > 0 and tool.left_tokens > 0
    assert sum(s.left_tokens for s in sized(prompt).roles) == prompt.stats.omitted


def test_parallel_calls_of_several_tools_each_find_their_own():
    calls = [ToolCall(id="a", name="read"), ToolCall(id="b", name="ping"), ToolCall(id="c", name="read")]
    found = sized(compiled([user("go"), assistant(calls=calls), *(tool_result_message(c.id, "x") for c in calls)])).tools
    assert {s.name: s.count for s in found} == {"read": 2, "ping": 1}
