"""What was priced before costs nothing when it is shown again."""

from __future__ import annotations

from dataclasses import dataclass, field

from playhead.entry.frozen import FrozenDict
from playhead.entry.message import Message, Text, ToolCall, assistant, user
from playhead.view.prices import MOST, MessagePrices
from playhead.view.tokens import default_counter, message_tokens


@dataclass
class Counted:
    """Counts characters, and how often it was asked."""

    name: str = "counted"
    asked: list[str] = field(default_factory=list)

    def count(self, text):
        self.asked.append(text)
        return len(text)


def test_the_same_words_are_priced_once_whether_or_not_they_are_the_same_object():
    counter, prices = Counted(), MessagePrices()
    first = prices.tokens((user("hi"), assistant("there")), counter=counter)
    assert counter.asked == ["hi", "there"] and prices.tokens((user("hi"), assistant("there")), counter=counter) == first and counter.asked == ["hi", "there"]
    assert first == message_tokens(user("hi"), counter=counter) + message_tokens(assistant("there"), counter=counter)


def test_what_differs_is_priced_by_itself():
    counter, prices = Counted(), MessagePrices()
    for message in (user("hi"), assistant("hi"), user("hi", name="bob"), user([Text(text="hi")]), Message(role="user", content="hi", extra=FrozenDict({"openai": {"refusal": "no"}}))):
        assert prices.tokens((message,), counter=counter) == message_tokens(message, counter=counter)
    words = user("hello there, how are you")
    assert prices.tokens((words,), counter=default_counter()) == message_tokens(words, counter=default_counter()) != prices.tokens((words,), counter=counter)


def test_messages_in_parts_are_known_as_objects():
    counter, prices = Counted(), MessagePrices()
    true, one = (assistant("", calls=[ToolCall(id="a", name="f", arguments={"x": x})]) for x in (True, 1))
    assert true == one
    assert [prices.tokens((m,), counter=counter) for m in (true, one, true)] == [message_tokens(m, counter=counter) for m in (true, one, true)]


def test_faults_are_remembered_with_the_prices():
    prices, call = MessagePrices(), assistant("", calls=[ToolCall(id="a", name="f")])
    assert prices.fault((user("hi"),), counter=default_counter()) is None
    assert [prices.fault((call,), counter=default_counter()) for _ in range(2)] == ["call 'a' without its result"] * 2


def test_only_so_many_are_remembered():
    counter, prices = Counted(), MessagePrices()
    for n in range(MOST + 1):
        prices.tokens((user(str(n)),), counter=counter)
    counter.asked.clear()
    prices.tokens((user(str(MOST)),), counter=counter)
    assert counter.asked == []
    prices.tokens((user("0"),), counter=counter)
    assert counter.asked == ["0"]
