import enum
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import msgspec
import pydantic
import pytest

from playhead.agent.answers import content_result, failure, result_content, result_of
from playhead.agent.tools import tool
from playhead.entry import codec
from playhead.entry.entry import TapeEntry
from playhead.entry.frozen import FrozenDict
from playhead.entry.message import Media, Message, ProviderItem, Text, ToolCall, ToolResult
from playhead.errors import InvalidInput, PlayheadError, ToolFailed, UnstorableValue
from playhead.store.file.store import FileTapeStore
from tests.unit.agent.tools_lab import answer, fresh_tape, run, told

CALL = ToolCall(id="c1", name="look")
PICTURE = Media(kind="image", mime="image/png", data="aGk=")
SOUND = Media(kind="audio", mime="audio/wav", url="https://example.org/a.wav")
FILM = Media(kind="video", mime="video/mp4", data="AAAA", name="film")


@dataclass
class Point:
    x: int
    when: date | None = None


class Row(msgspec.Struct):
    id: int


class Model(pydantic.BaseModel):
    at: datetime


class Colour(enum.Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("words", "words"),
        ("", ""),
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        (2**70, str(2**70)),
        ([1, "zwei", None], '[1,"zwei",null]'),
        ([], "[]"),
        ({"größe": 1}, '{"größe":1}'),
        ((1, 2), "[1,2]"),
        ([{"type": "text", "text": "hi"}], '[{"type":"text","text":"hi"}]'),
        ("\ud83d\ude00", "\U0001f600"),
        ({"a": "\ud800"}, '{"a":"\\ud800"}'),
        (Point(1, date(2026, 3, 1)), '{"x":1,"when":"2026-03-01"}'),
        ([Row(id=1)], '[{"id":1}]'),
        (Model(at=datetime(2026, 3, 1, tzinfo=UTC)), '{"at":"2026-03-01T00:00:00Z"}'),
        ({1: Colour.RED}, '{"1":"red"}'),
        ({Decimal("1.50")}, '["1.50"]'),
        (Path("a/b"), '"a/b"'),
        (FrozenDict({"a": 1}), '{"a":1}'),
    ],
)
def test_text_is_the_answer_as_it_is_and_any_other_value_its_json(value, content):
    assert result_of(value, call=CALL) == ToolResult(call_id="c1", content=content, name="look")


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        (PICTURE, (PICTURE,)),
        (Text(text="a"), (Text(text="a"),)),
        (["a caption", PICTURE], (Text(text="a caption"), PICTURE)),
        ((Text(text="a"), SOUND, FILM), (Text(text="a"), SOUND, FILM)),
        (content_result("seen", PICTURE), (Text(text="seen"), PICTURE)),
        (ProviderItem(provider="openai", value={"type": "x"}), (ProviderItem(provider="openai", value={"type": "x"}),)),
    ],
)
def test_parts_are_the_answer_as_they_are(value, parts):
    assert result_of(value, call=CALL).content == parts


def test_a_tool_result_is_taken_under_the_id_of_the_call():
    assert result_of(ToolResult(call_id="", content="no such file", is_error=True), call=CALL) == ToolResult(call_id="c1", content="no such file", is_error=True, name="look")


def holds_itself():
    whole = []
    whole.append({1: whole})
    return whole


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"png", "returned bytes, which no model reads"),
        (bytearray(b"png"), "returned bytes"),
        ({"a": b"png"}, r"result\.a: bytes is not a JSON value"),
        (Point(x=b"png"), r"result\.x: bytes is not a JSON value"),
        (float("nan"), "nan is no JSON number"),
        ([Point(x=float("inf"))], "inf is no JSON number"),
        (object(), "object is not a JSON value"),
        (print, "builtin_function_or_method is not a JSON value"),
        (Point, "type is not a JSON value"),
        ({"picture": PICTURE}, r"result\.picture: Media is not a JSON value"),
        ([PICTURE, 5], "Media is not a JSON value"),
        (holds_itself(), "nested deeper|It holds itself"),
        (Media(kind="image", data=b"png"), "a part that cannot be kept"),
        (Text(text=5), "a part that cannot be kept"),
        (ToolResult(call_id="", content=(Media(kind="image", data=b"png"),)), "a part that cannot be kept"),
    ],
)
def test_what_no_model_reads_or_no_tape_keeps_is_a_tool_error(value, why):
    with pytest.raises(ToolFailed, match=why):
        result_of(value, call=CALL)


def test_a_coroutine_that_was_not_awaited_is_a_tool_error():
    async def later():
        pass

    waiting = later()
    with pytest.raises(ToolFailed, match="coroutine is not a JSON value"):
        result_of([waiting], call=CALL)
    waiting.close()


def test_a_failure_tells_kind_message_and_details():
    result = failure(ToolFailed("Tool 'look' execution failed.", tool="look", error="ValueError('x')"), call=CALL)
    assert result.is_error and result.call_id == "c1" and result.name == "look"
    assert codec.decode(result.content) == {"kind": "tool", "message": "Tool 'look' execution failed.", "details": {"tool": "look", "error": "ValueError('x')"}}


def test_details_that_json_cannot_hold_are_told_by_their_repr():
    assert codec.decode(failure(PlayheadError("odd", "Odd.", {"a": object}), call=CALL).content)["details"] == {"a": "<class 'object'>"}


@pytest.mark.parametrize("media", [(PICTURE,), (SOUND,), (FILM,), (PICTURE, Text(text="and"), SOUND, FILM)])
def test_a_content_result_is_json_and_gives_its_parts_back(media):
    value = content_result("seen", *media)
    assert codec.decode(codec.encode(value)) == value and value["type"] == "content_result"
    assert result_content(value) == result_content(FrozenDict(value)) == (Text(text="seen"), *media)


def test_a_content_result_without_words_has_none():
    assert result_content(content_result("", PICTURE)) == (PICTURE,)
    assert result_content(content_result("")) == ()


@pytest.mark.parametrize(("value", "text"), [("words", "words"), ("", ""), ({"a": 1}, '{"a":1}'), (None, "null"), ({"type": "content_result"}, '{"type":"content_result"}')])
def test_of_any_other_value_the_content_is_one_text(value, text):
    assert result_content(value) == (Text(text=text),)


def test_a_content_result_of_a_later_version_is_told_as_text():
    assert result_content({"type": "content_result", "content": [{"type": "hologram", "x": 1}]}) == (Text(text='{"type":"hologram","x":1}'),)


@pytest.mark.parametrize("media", ["x", b"x", Media(kind="image", data=b"x"), Media(kind="image")])
def test_a_content_result_takes_media_that_a_tape_keeps(media):
    with pytest.raises(InvalidInput, match="content_result"):
        content_result("seen", media)
    with pytest.raises(UnstorableValue):
        result_content(object())


@pytest.mark.parametrize("media", [PICTURE, SOUND, FILM], ids=["image", "audio", "video"])
def test_media_of_a_tool_comes_back_from_the_file_through_the_view(media, tmp_path):
    @tool
    def look():
        return content_result("seen", media)

    async def go():
        async with FileTapeStore(tmp_path) as store:
            tape = fresh_tape(store)
            done = await answer(look, "look")
            await tape.append(TapeEntry.tool_call([{"id": "c1", "name": "look", "arguments": {}}, {"id": "c2", "name": "look", "arguments": {}}]))
            await tape.append(TapeEntry(0, "tool_result", {"results": [content_result("raw", media)], "call_ids": ["c2"]}))
            await tape.append(Message(role="tool", content=(done.result,)))
        async with FileTapeStore(tmp_path) as store:
            results = [r for m in await fresh_tape(store).read_messages() for r in m.results]
            assert {r.call_id: r.content for r in results} == {"c1": (Text(text="seen"), media), "c2": (Text(text="raw"), media)}

    run(go)


def test_thirty_megabytes_are_an_answer_like_any_other():
    words = "ä" * 15_000_000

    @tool
    def text():
        return words

    @tool
    def rows():
        return ["x" * 1000] * 30_000

    async def go():
        assert (await answer(text, "text")).result.content == words
        assert len((await answer(rows, "rows")).result.content) > 30_000_000

    run(go)


def test_an_answer_that_json_cannot_hold_is_told_to_the_model():
    @tool
    def odd():
        return {"handle": object()}

    async def go():
        said = told(await answer(odd, "odd"))
        assert said["kind"] == "tool" and "ran, but returned what JSON cannot hold" in said["message"] and "result.handle" in said["message"]

    run(go)
