"""What is said becomes parts, in whatever form a host has it."""

import base64

import pytest

from playhead.entry.message import Media, ProviderItem, Text, Thinking, ToolCall, ToolResult, tool_result_message, user
from playhead.errors import InvalidInput
from playhead.prompt.manager.blocks import parts_of

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n0000").decode()
MP3 = base64.b64encode(b"ID3.....").decode()
ANTHROPIC_IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("hello", (Text(text="hello"),)),
        (Text(text="hello"), (Text(text="hello"),)),
        (["hello", Text(text="there")], (Text(text="hello"), Text(text="there"))),
        (user("hello", name="Ann"), (Text(text="hello"),)),
        (tool_result_message("c1", "done"), (ToolResult(call_id="c1", content="done"),)),
        ({"type": "text", "text": "hello"}, (Text(text="hello"),)),
        ((block for block in [{"type": "text", "text": "hello"}]), (Text(text="hello"),)),
        ("", ()),
        ([{"type": "text", "text": ""}, ""], ()),
    ],
)
def test_text_parts_messages_and_blocks_become_parts(content, parts):
    assert parts_of(content) == parts


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ({"type": "thinking", "thinking": "hm", "signature": "c2ln"}, Thinking(text="hm", signature="c2ln", provider="anthropic")),
        ({"type": "redacted_thinking", "data": "b3Bh"}, Thinking(redacted="b3Bh", provider="anthropic")),
        ({"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 3}}, ToolCall(id="c1", name="look", arguments={"at": 3})),
        ({"type": "tool_result", "tool_use_id": "c1", "content": "done"}, ToolResult(call_id="c1", content="done")),
        ({"type": "tool_result", "toolUseId": "c1", "content": "no", "isError": True}, ToolResult(call_id="c1", content="no", is_error=True)),
        (
            {"type": "tool_result", "toolUseId": "c1", "content": [{"type": "text", "text": "see"}, {"type": "image", "source": {"type": "base64", "mediaType": "image/png", "data": PNG}}]},
            ToolResult(call_id="c1", content=(Text(text="see"), Media(kind="image", mime="image/png", data=PNG))),
        ),
        (ANTHROPIC_IMAGE, Media(kind="image", mime="image/png", data=PNG)),
        ({"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}, Media(kind="image", url="https://example.org/a.png")),
        ({"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}, "title": "A"}, Media(kind="document", url="https://example.org/a.pdf", name="A")),
        ({"type": "audio", "source": {"type": "base64", "mediaType": "audio/mpeg", "data": MP3}}, Media(kind="audio", mime="audio/mpeg", data=MP3)),
        ({"type": "video", "source": {"type": "url", "url": "https://example.org/a.mp4"}, "name": "a.mp4"}, Media(kind="video", url="https://example.org/a.mp4", name="a.mp4")),
        ({"type": "generated_image", "data": PNG, "mimeType": "image/png"}, Media(kind="image", mime="image/png", data=PNG)),
        ({"type": "image", "source": {"type": "base64", "media_type": "image/svg+xml", "data": "PHN2Zz4="}}, Media(kind="image", mime="image/svg+xml", data="PHN2Zz4=")),
        (
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
            ProviderItem(provider="anthropic", value={"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}),
        ),
    ],
)
def test_a_block_of_anthropics_form_is_read_in_either_spelling(block, part):
    assert parts_of([block]) == (part,)


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ({"type": "text", "text": "a", "extra": {"anthropic": {"citations": []}}}, Text(text="a", extra={"anthropic": {"citations": []}})),
        ({"type": "thinking", "text": "hm", "provider": "anthropic", "model": "m"}, Thinking(text="hm", provider="anthropic", model="m")),
        ({"type": "tool_call", "id": "c1", "name": "look", "arguments": {"at": 3}}, ToolCall(id="c1", name="look", arguments={"at": 3})),
        ({"type": "tool_result", "call_id": "c1", "content": [{"type": "text", "text": "see"}]}, ToolResult(call_id="c1", content=(Text(text="see"),))),
        ({"type": "image", "mime": "image/png", "ref": "sha256:9f"}, Media(kind="image", mime="image/png", ref="sha256:9f")),
        ({"type": "provider", "provider": "openai", "value": {"a": 1}}, ProviderItem(provider="openai", value={"a": 1})),
    ],
)
def test_a_part_as_json_is_read_back(block, part):
    assert parts_of([block]) == (part,)


@pytest.mark.parametrize("estimate", [{"tokenEstimate": 900}, {"token_estimate": 900}])
def test_an_estimate_of_tokens_is_left_out_so_that_no_provider_is_sent_it(estimate):
    assert parts_of([{"type": "text", "text": "hello", **estimate}, {**ANTHROPIC_IMAGE, **estimate}]) == (Text(text="hello"), Media(kind="image", mime="image/png", data=PNG))


def test_a_picture_gets_the_type_of_its_bytes_also_inside_a_result():
    wrong = Media(kind="image", mime="image/jpeg", data=PNG)
    assert parts_of([wrong]) == (Media(kind="image", mime="image/png", data=PNG),)
    assert parts_of([ToolResult(call_id="c1", content=(wrong,))]) == (ToolResult(call_id="c1", content=(Media(kind="image", mime="image/png", data=PNG),)),)
    by_reference = Media(kind="image", mime="image/jpeg", ref="sha256:9f")
    assert parts_of([by_reference]) == (by_reference,)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (7, "not int"),
        (None, "not NoneType"),
        ([{"text": "no type"}], r"content\[0\]"),
        (["fine", 7], r"content\[1\]"),
        ([{"type": "tool_use", "id": "c1", "input": {}}], "names its tool"),
        ([{"type": "text", "text": 7}], "'text' is a text"),
        ([{"type": "tool_call", "id": "c1", "name": 7}], "is no tool_call"),
        ([{"type": "tool_result", "content": "of no call"}], "tool_use_id"),
        ([{"type": "image"}], "neither its data"),
        ([{"type": "audio", "source": {"type": "base64"}}], "neither its data"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(content, says):
    with pytest.raises(InvalidInput, match=says):
        parts_of(content)
