from __future__ import annotations

import base64
from typing import Any

import pytest

from playhead.entry.message import Media, Message, Text, ToolCall, ToolResult, assistant, user
from playhead.wire.media import from_data_url, spelled_out
from playhead.wire.providers import format_of

PNG = "iVBORw0KGgo="
PDF = base64.b64encode(b"%PDF-1.7").decode()
NOTES = base64.b64encode("Grüße".encode()).decode()


def shown(provider: str, media: Media) -> dict[str, Any]:
    """The block a user's picture or file becomes."""
    body = format_of(provider).dump([user((media,))])
    block: dict[str, Any] = body["input" if provider == "openai-responses" else "messages"][0]["content"][0]
    return block


def test_a_data_url_is_taken_apart_only_where_it_can_be_put_together_again():
    assert from_data_url(f"data:image/png;base64,{PNG}") == ("image/png", PNG)
    assert from_data_url("data:image/png;charset=utf-8;base64,AAAA") is None
    assert from_data_url("https://example.org/a.png") is None


def test_a_missing_or_misspelled_type_is_found():
    assert spelled_out(Media(kind="image", data=PNG)).mime == "image/png"
    assert spelled_out(Media(kind="image", data="AAAA", mime="image/jpg")).mime == "image/jpeg"
    assert spelled_out(Media(kind="image", url="data:image/gif;base64,AAAA")) == Media(kind="image", mime="image/gif", data="AAAA")
    assert spelled_out(Media(kind="image", data="AAAA")).mime is None


def test_a_picture_has_the_type_of_its_bytes_whatever_it_is_called():
    webp = base64.b64encode(b"RIFF\x24\x00\x00\x00WEBPVP8 ").decode()
    for called in ("image/jpeg", "image/png", "image/webp", "image/svg+xml"):
        assert spelled_out(Media(kind="image", mime=called, data=PNG)).mime == "image/png"
        assert spelled_out(Media(kind="image", mime=called, data=webp)).mime == "image/webp"
    sound = base64.b64encode(b"RIFF\x24\x00\x00\x00WAVEfmt ").decode()
    assert spelled_out(Media(kind="audio", mime="audio/wav", data=sound)).mime == "audio/wav"
    assert spelled_out(Media(kind="image", mime="image/png", data=sound)).mime == "image/png"
    assert spelled_out(Media(kind="document", mime="application/pdf", data=PNG)).mime == "application/pdf"


def test_a_picture_is_inline_for_every_provider():
    picture = Media(kind="image", mime="image/png", data=PNG)
    assert shown("openai", picture) == {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    assert shown("openai-responses", picture) == {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}
    assert shown("anthropic", picture) == {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}


def test_a_pictures_address_goes_to_every_provider():
    picture = Media(kind="image", url="https://example.org/a.png")
    assert shown("openai", picture) == {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    assert shown("openai-responses", picture) == {"type": "input_image", "image_url": "https://example.org/a.png"}
    assert shown("anthropic", picture) == {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}


def test_a_pdf_is_inline_for_every_provider():
    paper = Media(kind="document", mime="application/pdf", data=PDF, name="paper.pdf")
    url = f"data:application/pdf;base64,{PDF}"
    assert shown("openai", paper) == {"type": "file", "file": {"filename": "paper.pdf", "file_data": url}}
    assert shown("openai-responses", paper) == {"type": "input_file", "filename": "paper.pdf", "file_data": url}
    assert shown("anthropic", paper) == {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}, "title": "paper.pdf"}


def test_a_text_document_is_text_where_files_are_pdf_only():
    notes = Media(kind="document", mime="text/markdown", data=NOTES, name="notes.md")
    assert shown("openai", notes) == {"type": "text", "text": '<document title="notes.md">\nGrüße\n</document>'}
    assert shown("openai-responses", notes)["file_data"] == f"data:text/markdown;base64,{NOTES}"
    assert shown("anthropic", notes) == {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Grüße"}, "title": "notes.md"}


def test_a_documents_address_goes_where_it_can_be_fetched():
    paper = Media(kind="document", url="https://example.org/p.pdf")
    assert shown("openai", paper)["text"] == "[document not shown: https://example.org/p.pdf; OpenAI Chat takes documents as inline PDF or text only]"
    assert shown("openai-responses", paper) == {"type": "input_file", "file_url": "https://example.org/p.pdf"}
    assert shown("anthropic", paper) == {"type": "document", "source": {"type": "url", "url": "https://example.org/p.pdf"}}


def test_sound_goes_to_openai_chat_only():
    sound = Media(kind="audio", mime="audio/mp3", data="AAAA", name="a.mp3")
    assert shown("openai", sound) == {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}}
    assert shown("openai-responses", sound) == {"type": "input_text", "text": "[audio not shown: a.mp3, audio/mpeg; OpenAI Responses does not take this audio]"}
    assert shown("anthropic", sound) == {"type": "text", "text": "[audio not shown: a.mp3, audio/mpeg; Anthropic does not take this audio]"}


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic"])
@pytest.mark.parametrize(
    ("media", "told"),
    [
        (Media(kind="video", mime="video/mp4", data="AAAA", name="clip.mp4"), "[video not shown: clip.mp4, video/mp4; "),
        (Media(kind="image", mime="image/png", ref="sha256:9f"), "[image not shown: image/png, sha256:9f; kept by reference]"),
        (Media(kind="image", mime="image/svg+xml", data="PHN2Zz4="), "[image not shown: image/svg+xml; "),
        (Media(kind="image", url="s3://bucket/a.png"), "[image not shown: s3://bucket/a.png; "),
        (Media(kind="audio", mime="audio/ogg", data="AAAA"), "[audio not shown: audio/ogg; "),
    ],
)
def test_what_a_provider_does_not_take_is_named_in_its_place(provider: str, media: Media, told: str):
    assert shown(provider, media)["text"].startswith(told)


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic"])
def test_pictures_of_the_assistant_and_the_system_are_named_too(provider: str):
    picture = Media(kind="image", mime="image/png", data=PNG, name="plot")
    body = format_of(provider).dump([Message(role="system", content=(picture,)), user("hi"), assistant((picture,))])
    assert str(body).count("[image not shown: plot, image/png; it is shown to the model in a user's message only]") == 2
    assert PNG not in str(body)


def round_with(*content: Text | Media) -> list[Message]:
    return [user("go"), assistant(calls=[ToolCall(id="c1", name="shoot")]), Message(role="tool", content=(ToolResult(call_id="c1", content=content),)), user("and?")]


def test_a_tools_picture_stands_in_the_result_where_results_hold_pictures():
    messages = round_with(Text(text="done"), Media(kind="image", mime="image/png", data=PNG))
    result = format_of("anthropic").dump(messages)["messages"][2]["content"][0]
    assert result["content"] == [{"type": "text", "text": "done"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}]
    assert format_of("openai-responses").dump(messages)["input"][2]["output"][1] == {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}


def test_openai_chat_shows_a_tools_picture_behind_the_whole_round():
    picture = Media(kind="image", mime="image/png", data=PNG, name="shot")
    messages = [
        assistant(calls=[ToolCall(id="c1", name="shoot"), ToolCall(id="c2", name="shoot")]),
        Message(role="tool", content=(ToolResult(call_id="c1", content=(picture,)),)),
        Message(role="tool", content=(ToolResult(call_id="c2", content="nothing there"),)),
        user("and?"),
    ]
    pointer = "[image: shot, image/png; shown in the user's message behind the results]"
    assert format_of("openai").dump(messages)["messages"][1:] == [
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": pointer}]},
        {"role": "tool", "tool_call_id": "c2", "content": "nothing there"},
        {
            "role": "user",
            "content": [{"type": "text", "text": "Returned by tool call c1:"}, {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}],
        },
        {"role": "user", "content": "and?"},
    ]


def test_openai_chat_shows_a_tools_picture_also_at_the_end():
    messages = round_with(Media(kind="image", mime="image/png", data=PNG))[:3]
    assert format_of("openai").dump(messages)["messages"][-1]["content"][1]["type"] == "image_url"
