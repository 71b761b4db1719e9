"""Tools take what their schema says, give back what they were given, and never break a run, whatever a model or a tool does."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from typing import Any

import anyio
from hypothesis import given
from hypothesis import strategies as st

from playhead.agent.answers import content_result, result_content, result_of
from playhead.agent.calling import answered
from playhead.agent.docstring import Docstring
from playhead.agent.hooks import Hooks
from playhead.agent.toolbox import Toolbox
from playhead.agent.tools import ToolContext, tool
from playhead.entry import codec
from playhead.entry.entry import TapeEntry
from playhead.entry.frozen import freeze, thaw
from playhead.entry.message import Media, Message, Text, ToolCall, ToolResult
from playhead.entry.payload import MEDIA_KINDS, results_from_payload
from playhead.errors import InvalidInput, ToolFailed
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.context import default_tape_context

words = st.text(st.characters() | st.sampled_from("\ud83d\ude00"), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
odd = st.recursive(
    values | st.binary(max_size=5) | st.floats() | st.builds(object) | st.sets(st.integers(), max_size=2) | st.dates() | st.just(Media(kind="image", data="aGk=")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words | st.integers() | st.none(), inner, max_size=3),
    max_leaves=6,
)
sources = st.fixed_dictionaries({"data": st.binary(max_size=9).map(lambda raw: b64encode(raw).decode())}) | st.fixed_dictionaries({"url": words}) | st.fixed_dictionaries({"ref": words})
media = st.builds(lambda source, kind, mime, name: Media(kind=kind, mime=mime, name=name, **source), sources, st.sampled_from(MEDIA_KINDS), st.none() | st.just("image/png"), st.none() | words)
parts = st.lists(media | st.builds(Text, text=words), max_size=4)
CALL = ToolCall(id="c1", name="t")


def joined(text: str) -> str:
    found: str = freeze(text)
    return found


def kept(part: Media | Text) -> Media | Text:
    """Return a part with its texts as a tape writes them: halves of surrogate pairs joined."""
    if isinstance(part, Text):
        return Text(text=joined(part.text))
    return replace(part, **{name: joined(value) for name in ("mime", "data", "url", "ref", "name") if (value := getattr(part, name)) is not None})


@given(words, parts)
def test_a_content_result_gives_back_exactly_its_parts(text: str, more: list[Media | Text]) -> None:
    value = content_result(text, *more)
    expected = tuple(map(kept, (*((Text(text=text),) if text else ()), *more)))
    assert result_content(value) == expected
    assert result_content(codec.decode(codec.encode(freeze(value)))) == expected
    assert result_of(value, call=CALL).content == expected


@given(words, parts)
def test_a_content_result_comes_through_an_entry_as_the_parts(text: str, more: list[Media | Text]) -> None:
    given_parts = result_content(content_result(text, *more))
    entry = TapeEntry(0, "tool_result", {"results": [content_result(text, *more)], "call_ids": ["c1"]})
    (result,) = results_from_payload(codec.decode(codec.encode(entry.payload)))
    assert (result.content or ()) == given_parts


@given(values)
def test_any_json_is_an_answer_and_text_is_its_own(value: Any) -> None:
    content = result_of(value, call=CALL).content
    assert isinstance(content, str)
    assert content == joined(value) if isinstance(value, str) else codec.decode(content) == thaw(freeze(value))
    assert result_content(value) == (Text(text=content),)


@given(odd)
def test_any_value_is_an_answer_that_a_tape_keeps_or_a_tool_error(value: Any) -> None:
    try:
        result = result_of(value, call=CALL)
    except ToolFailed as exc:
        assert exc.tool == "t"
        return

    async def go() -> None:
        tape = Tape(InMemoryTapeStore(), "t", context=default_tape_context(anchor=None))
        await tape.append(Message(role="assistant", content=(CALL,)))
        await tape.append(Message(role="tool", content=(result,)))
        (_, answer) = await tape.read_messages()
        assert answer.results == (result,)

    anyio.run(go)


@tool
def takes(count: int, ratio: float = 0.5, name: str = "x", flags: dict[str, bool] | None = None, more: list[int] | None = None, anything: Any = None):
    return [count, ratio, name, flags, more, anything]


right = st.fixed_dictionaries(
    {"count": st.integers()},
    optional={
        "ratio": st.floats(allow_nan=False, allow_infinity=False),
        "name": words,
        "flags": st.none() | st.dictionaries(words, st.booleans(), max_size=3),
        "more": st.none() | st.lists(st.integers(), max_size=3),
        "anything": values,
    },
)


@given(right)
def test_arguments_as_the_schema_wants_them_reach_the_function_unchanged(arguments: dict[str, Any]) -> None:
    assert takes.checked(freeze(arguments, path="arguments")) == thaw(freeze(arguments))


@given(right)
def test_arguments_written_as_text_are_read_as_the_same_values(arguments: dict[str, Any]) -> None:
    written = {key: codec.encode(value).decode() if key != "anything" and not isinstance(value, str) else value for key, value in freeze(arguments).items()}
    assert takes.checked(written) == thaw(freeze(arguments))


@given(st.dictionaries(st.sampled_from(["count", "ratio", "name", "flags", "more", "anything", "z"]) | words, values, max_size=5))
def test_whatever_a_model_writes_the_call_is_answered_and_only_right_types_arrive(arguments: dict[str, Any]) -> None:
    try:
        ready = takes.checked(freeze(arguments))
    except InvalidInput as exc:
        assert exc.details and set(exc.details) <= {*freeze(arguments), "count"}
    else:
        assert type(ready["count"]) is int and type(ready.get("ratio", 0.5)) is float and type(ready.get("name", "")) is str

    async def go() -> ToolResult:
        context = ToolContext(tape=Tape(InMemoryTapeStore(), "t"))
        answer = await answered(ToolCall(id="c1", name="takes", arguments=arguments), toolbox=Toolbox([takes]), context=context, hooks=Hooks())
        return answer.result

    result = anyio.run(go)
    assert result.call_id == "c1" and isinstance(result.content, str) and codec.decode(result.content) is not None


@given(st.text(max_size=200) | st.lists(st.sampled_from(["Args:", "Parameters", "----", "    a: one", "a : int", ":param a: one", "  two", "", "a - b", "Returns:"]), max_size=12).map("\n".join))
def test_no_docstring_breaks_a_tool(text: str) -> None:
    read = Docstring(text, parameters=["a"])
    assert set(read.parameters) <= {"a"}
