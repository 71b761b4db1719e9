from itertools import pairwise

import pytest

from playhead.entry.frozen import FrozenDict
from playhead.entry.message import Media, Message, ProviderItem, Text, Thinking, ToolCall, ToolResult, assistant, system, tool_result_message, user
from playhead.view.token_prices import BLOCK
from playhead.view.tokens import CALL, MESSAGE, NAME, ClassAwareCounter, default_counter, message_tokens, value_tokens

COUNTER = default_counter()
ODD = [
    "\0",
    "\ud800",
    "\udfff\ud800",
    "\x85",
    "\u2028",
    "\ufeff",
    "\U0010ffff",
    "e\u0301" * 3,
    "\u200d\ufe0f",
    "\x1b[31m",
    "\x1c",
    "ſK",
    "İ",
    "ß",
    "ǅ",
    "𝔨",
    "🏳️‍🌈",
    "'",
    "'s",
    "\r\r\n",
    "/\n/",
    " \t ",
]


def count(text):
    return COUNTER.count(text)


def price(message):
    return message_tokens(message, counter=COUNTER)


def test_an_empty_text_has_no_tokens_and_any_other_has_some():
    assert count("") == 0
    assert [text for text in (*ODD, " ", "\n", "a", "!") if count(text) < 1] == []


@pytest.mark.parametrize("text", ODD, ids=ascii)
def test_odd_characters_cost_no_more_than_their_bytes(text):
    assert 1 <= count(text) <= len(text.encode("utf-8", "surrogatepass"))


def test_common_words_are_one_token_each():
    assert count("the quick answer should always be simple") == 7
    assert count("return self.value") == 3


def test_digits_go_by_three():
    assert [count("1" * n) for n in (1, 3, 4, 6, 7)] == [1, 1, 2, 2, 3]


def test_a_run_of_spaces_is_one_token_and_indentation_costs_little():
    assert count(" " * 60) == 1
    assert count("\n".join(" " * n + "x" for n in (4, 8, 12, 16))) <= 12


def test_long_rulers_and_repeated_letters_are_not_priced_by_the_letter():
    assert count("=" * 80) <= 3
    assert count("a" * 80) <= 14
    assert count("─" * 80) <= 12


def test_chinese_costs_about_a_token_for_one_and_a_half_characters():
    text = "我们明天早上去图书馆看书"
    assert len(text) / 2 <= count(text) <= len(text)


def test_random_base64_costs_about_two_tokens_for_three_characters():
    text = "q83vASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4mrze8BI0VniavN7wEjRWeJ"
    assert len(text) / 1.9 <= count(text) <= len(text) / 1.2


@pytest.mark.parametrize("unit", ["word ", "字", "a", "x1", "\n", "🎉"])
def test_a_large_text_costs_its_parts(unit):
    once, many = unit * 2_000, unit * (2_000 * 100)
    assert len(many) > BLOCK
    assert 0.95 <= count(many) / (100 * count(once)) <= 1.06


def test_appending_to_a_large_text_changes_its_count_by_little():
    large = "The report is due on Monday, and nobody has started. " * 4_000
    assert 0 <= count(large + "Hurry!") - count(large) <= 4


def test_counts_rise_without_a_step_as_a_text_grows():
    counts = [count("All work and no play makes Jack a dull boy. " * n) for n in range(140, 260)]
    steps = [b - a for a, b in pairwise(counts)]
    assert max(steps) <= 1.2 * min(steps) + 1


def test_the_default_counter_has_a_name_for_reports_and_is_one():
    assert ClassAwareCounter.name == "class-aware"
    assert default_counter() is default_counter()


def test_a_message_costs_its_words_and_its_frame():
    assert price(user("Good morning")) == count("Good morning") + MESSAGE
    assert price(user("")) == MESSAGE


def test_prices_of_long_messages_leave_room_for_what_providers_add():
    words = "The ferry leaves at six. " * 100
    assert price(user(words)) >= 1.03 * count(words)


def test_a_name_and_a_system_label_cost_something():
    assert price(user("Hi", name="Ann Lee")) == price(user("Hi")) + count("Ann Lee") + NAME
    assert price(system("Be brief.")) > price(user("Be brief."))


def test_a_call_costs_its_id_its_name_and_its_arguments():
    call = ToolCall(id="call_1", name="search", arguments={"query": "vpn drops every hour"})
    words = count("call_1") + count("search") + count('{"query":"vpn drops every hour"}')
    assert price(assistant("", calls=[call])) >= words + CALL


def test_arguments_are_priced_in_the_longer_of_their_spellings():
    spaced = '{"a":    1,    "b":    [1,    2,    3,    4]}'
    arguments = {"a": 1, "b": [1, 2, 3, 4]}
    plain = ToolCall(id="c", name="f", arguments=arguments)
    as_sent = ToolCall(id="c", name="f", arguments=arguments, extra=FrozenDict({"openai": FrozenDict({"arguments": spaced})}))
    assert price(assistant("", calls=[as_sent])) - price(assistant("", calls=[plain])) == count(spaced) - count('{"a":1,"b":[1,2,3,4]}')


def test_an_answer_costs_its_words_and_the_id_of_its_call():
    assert price(tool_result_message("call_1", "pong")) > count("pong") + count("call_1") + MESSAGE
    parts = (Text(text="pong"), Media(kind="image", url="https://example.org/a.png"))
    assert price(tool_result_message("call_1", parts)) > 1_600


def test_an_empty_failed_answer_is_priced_as_the_words_that_stand_for_it():
    assert price(tool_result_message("c", "", is_error=True)) >= count("The tool failed without a message.") + MESSAGE


@pytest.mark.parametrize("thinking", [Thinking(), Thinking(signature="sig"), Thinking(redacted="x"), Thinking(text="Hm."), Thinking(extra=FrozenDict({"openai": FrozenDict({"x": 1})}))])
def test_thinking_is_never_free(thinking):
    assert price(assistant([thinking])) > price(assistant([]))


def test_signatures_and_hidden_thinking_are_priced_by_their_length():
    bare = price(assistant([Thinking(text="Look first.")]))
    signed = price(assistant([Thinking(text="Look first.", signature="c2ln" * 1_000)]))
    hidden = price(assistant([Thinking(redacted="c2ln" * 1_000)]))
    assert signed - bare >= 1_000
    assert hidden >= 1_000


def test_a_provider_item_costs_its_json():
    value = {"type": "web_search_call", "status": "completed", "action": {"query": "ferry times"}}
    item = ProviderItem(provider="openai", value=value)
    assert price(assistant([item])) >= count('{"type":"web_search_call","status":"completed","action":{"query":"ferry times"}}')


@pytest.mark.parametrize("wrap", [str, lambda d: f"data:application/octet-stream;base64,{d}", lambda d: d.replace("+", "-").replace("/", "_")])
def test_long_base64_in_an_unknown_item_is_not_priced_by_its_length(wrap):
    item = ProviderItem(provider="x", value={"type": "blob", "held": [{"data": wrap("q83v+SNFZ/mrze8B" * 100_000)}]})
    assert price(user([item])) < 9_000
    assert price(user([ProviderItem(provider="x", value={"type": "blob", "data": wrap("q83v+SNF" * 200)})])) >= 400


def test_short_base64_in_an_unknown_item_counts_as_text():
    assert value_tokens({"id": "q83vASNFZ4mrze8B"}, counter=COUNTER) == count('{"id":"q83vASNFZ4mrze8B"}')


def test_a_providers_own_fields_cost_the_dearest_providers_share():
    few, many = FrozenDict({"note": "x"}), FrozenDict({"note": "one two three four five six seven"})
    plain = price(Message(role="user", content="Hi"))
    both = price(Message(role="user", content="Hi", extra=FrozenDict({"openai": few, "anthropic": many})))
    assert both - plain == value_tokens(many, counter=COUNTER)


def test_every_kind_of_part_has_a_price():
    parts = [
        Text(text="x"),
        Thinking(text="x"),
        ToolCall(id="", name="f"),
        ToolResult(call_id="", content=(Text(text="x"), ProviderItem(provider="p", value={}))),
        Media(kind="video", ref="blob:1"),
        ProviderItem(provider="p", value={}),
    ]
    assert [p for p in parts if price(Message(role="assistant", content=(p,))) <= MESSAGE] == []
