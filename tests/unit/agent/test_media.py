"""Media never reaches the tape: what stands in its place says type, size and hash, and what was there can come back."""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable
from hashlib import sha256
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

import playhead as ph
from playhead.agent.media import kept_result
from playhead.entry.frozen import FrozenDict
from playhead.entry.message import Media, Message, ProviderItem, Text, ToolResult
from playhead.entry.payload import message_from_payload, message_to_entries
from playhead.store.blobs import BlobStore
from playhead.view.tokens import default_counter, message_tokens
from tests.unit.tape.opened import KINDS

PIXELS = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4
DATA = base64.b64encode(PIXELS).decode()
HASH = f"sha256:{sha256(PIXELS).hexdigest()}"
PICTURE = Media(kind="image", mime="image/png", data=DATA, name="photo.png")
URL = f"data:image/png;base64,{DATA}"
SIZE = f"{len(PIXELS):,} bytes"


def blobs() -> ph.InMemoryTapeStore:
    return ph.InMemoryTapeStore()


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    anyio.run(scenario)


def written(message: Message) -> str:
    return json.dumps([entry.payload for entry in message_to_entries(message)])


def said(*parts: object) -> Message:
    return Message(role="user", content=parts)  # type: ignore[arg-type]


HELD = {
    "inline": PICTURE,
    "without a type": Media(kind="image", data=DATA),
    "in a data URL": Media(kind="image", url=URL),
    "in a data URL with more": Media(kind="image", url=f"data:image/png;charset=x;base64,{DATA}"),
    "in the other alphabet": Media(kind="image", mime="image/png", data=base64.urlsafe_b64encode(PIXELS).decode().rstrip("=")),
    "in lines": Media(kind="image", mime="image/png", data=base64.encodebytes(PIXELS).decode()),
    "with a misspelt type": Media(kind="image", mime="IMAGE/PNG", data=DATA),
}


@pytest.mark.parametrize("media", HELD.values(), ids=HELD)
def test_a_part_refers_to_a_blob_and_says_type_and_size(media: Media):
    async def go() -> None:
        store = blobs()
        before = said(Text(text="What is this?"), media)
        recorded = await ph.without_media(before, blobs=store)
        words, kept = recorded.message.content
        assert recorded.is_changed and words == Text(text="What is this?")
        assert (kept.kind, kept.ref, kept.data, kept.url) == ("image", HASH, None, None)
        assert kept.mime is not None and kept.mime.lower() == "image/png"
        assert kept.extra["playhead"]["size"] == len(PIXELS)
        assert await store.get_blob(HASH) == PIXELS
        assert before == said(Text(text="What is this?"), media)
        assert DATA[:40] not in written(recorded.message)

    run(go)


@pytest.mark.parametrize("media", HELD.values(), ids=HELD)
def test_without_blobs_a_line_says_type_size_and_hash(media: Media):
    async def go() -> None:
        recorded = await ph.without_media(said(media, Text(text="And?")), blobs=None)
        line, words = recorded.message.content
        assert isinstance(line, Text) and words.text == "And?"
        assert line.text.startswith("[image not kept: ") and "image/png" in line.text.lower() and SIZE in line.text and HASH in line.text
        assert DATA[:40] not in written(recorded.message)

    run(go)


def test_what_holds_no_media_is_the_same_message():
    async def go() -> None:
        for message in (ph.user("words"), said(Text(text="words"), Media(kind="image", url="https://example.org/a.png"), Media(kind="document", ref="file-1")), ph.assistant("x")):
            for store in (None, blobs()):
                recorded = await ph.without_media(message, blobs=store)
                assert recorded.message is message and not recorded.is_changed

    run(go)


def test_what_is_no_base64_does_not_stay_either():
    async def go() -> None:
        for store in (None, blobs()):
            recorded = await ph.without_media(said(Media(kind="audio", data="no base64 at all!"), Media(kind="audio", data="é")), blobs=store)
            assert [part.text for part in recorded.message.content] == ["[audio not kept: 17 characters that are no base64]", "[audio not kept: 1 characters that are no base64]"]

    run(go)


def test_a_data_url_of_plain_text_is_media_too():
    async def go() -> None:
        store = blobs()
        recorded = await ph.without_media(said(Media(kind="document", url="data:text/plain;charset=utf-8,a%20b%C3%A9")), blobs=store)
        (kept,) = recorded.message.content
        assert kept.mime == "text/plain" and await store.get_blob(kept.ref) == "a bé".encode()

    run(go)


def test_media_in_a_nested_result_goes_to_the_blobs_and_stays_where_there_are_none():
    async def go() -> None:
        result = ToolResult(call_id="c", content=(Text(text="a screen"), PICTURE), is_error=True, name="look")
        message = Message(role="tool", content=(result,))
        assert (await ph.without_media(message, blobs=None)).message is message
        assert await kept_result(result, blobs=None) is result
        store = blobs()
        (kept,) = (await ph.without_media(message, blobs=store)).message.results
        assert kept == await kept_result(result, blobs=store)
        assert (kept.call_id, kept.is_error, kept.name, kept.content[1].ref) == ("c", True, "look", HASH)
        assert (await ph.resolved(Message(role="tool", content=(kept,)), blobs=store)) == message
        assert await kept_result(ToolResult(call_id="c", content="words"), blobs=store) == ToolResult(call_id="c", content="words")

    run(go)


ITEMS = {
    "data URL": ({"type": "image", "image_url": {"url": URL, "detail": "high"}}, "image"),
    "source": ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}, "cache": 1}, "image"),
    "other spelling": ({"type": "resource", "mimeType": "image/png", "blob": [{"mime_type": "image/png", "data": DATA}]}, "image"),
    "sound": ({"type": "input_audio", "input_audio": {"data": DATA, "format": "wav"}}, "audio"),
}


@pytest.mark.parametrize(("value", "kind"), ITEMS.values(), ids=ITEMS)
def test_media_in_a_providers_own_block_does_not_stay(value: dict[str, object], kind: str):
    async def go() -> None:
        store = blobs()
        message = said(ProviderItem(provider="openai", value=value))
        (line,) = (await ph.without_media(message, blobs=None)).message.content
        assert line.text.startswith(f"[{kind} not kept: ") and HASH in line.text
        (kept,) = (await ph.without_media(message, blobs=store)).message.content
        assert (kept.kind, kept.ref) == (kind, HASH)
        assert await store.get_blob(HASH) == PIXELS

    run(go)


def test_several_in_one_block_are_named_each():
    async def go() -> None:
        value = {"pages": [URL, f"data:audio/wav;base64,{base64.b64encode(b'x' * 90).decode()}"]}
        recorded = await ph.without_media(said(ProviderItem(provider="x", value=value)), blobs=blobs())
        (line,) = recorded.message.content
        first, second = line.text.split("\n")
        assert HASH in first and first.startswith("[image not shown: image/png") and second.startswith("[audio not shown: audio/wav, 90 bytes")

    run(go)


@pytest.mark.parametrize("value", [{"type": "reasoning", "encrypted_content": DATA}, {"data": DATA}, {"media_type": "image/png", "data": "short"}, {"text": f"see {URL}"}])
def test_other_blocks_of_a_provider_are_left_word_for_word(value: dict[str, object]):
    async def go() -> None:
        message = said(ProviderItem(provider="openai", value=value))
        assert (await ph.without_media(message, blobs=blobs())).message is message

    run(go)


def test_a_request_gets_the_media_back():
    async def go() -> None:
        store = blobs()
        detailed = Media(kind="image", mime="image/png", data=DATA, extra=FrozenDict({"openai": {"image_url": {"detail": "low"}}}))
        message = said(PICTURE, Text(text="and"), detailed)
        recorded = (await ph.without_media(message, blobs=store)).message
        assert await ph.resolved(recorded, blobs=store) == message
        assert await ph.resolved(recorded, blobs=None) is recorded
        assert await ph.resolved(message, blobs=store) is message

    run(go)


def test_what_is_not_there_or_damaged_stays_a_reference(caplog: pytest.LogCaptureFixture, tmp_path: Path):
    async def go() -> None:
        recorded = (await ph.without_media(said(PICTURE), blobs=blobs())).message
        assert await ph.resolved(recorded, blobs=blobs()) == recorded
        async with ph.FileTapeStore(tmp_path) as store:
            await store.put_blob(PIXELS)
            (path,) = (path for path in tmp_path.rglob("*") if path.is_file() and path.read_bytes() == PIXELS)
            path.write_bytes(b"torn")
            assert await ph.resolved(recorded, blobs=store) == recorded

    run(go)
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert HASH in caplog.text


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_tape_keeps_is_read_back_whole(kind: str, tmp_path: Path):
    async def go() -> None:
        store = KINDS[kind](tmp_path)
        assert isinstance(store, BlobStore)
        tape = ph.Tape(store, "t", context=ph.default_tape_context(anchor=None))
        await tape.append((await ph.without_media(said(Text(text="look"), PICTURE), blobs=store)).message)
        (read,) = await tape.read_messages()
        assert DATA[:40] not in str(read.content)
        assert (await ph.resolved(read, blobs=store)).content == (Text(text="look"), PICTURE)
        await store.aclose()

    run(go)


PROVIDERS = ("openai", "openai-responses", "anthropic")


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("kind", ["image", "audio", "video", "document"])
def test_a_provider_is_shown_a_reference_as_a_line_of_text(provider: str, kind: str):
    async def go() -> None:
        store = blobs()
        media = Media(kind=kind, mime="application/x-thing", data=DATA, name="thing")  # type: ignore[arg-type]
        tape = ph.Tape(store, "t", context=ph.default_tape_context(anchor=None))
        await tape.append((await ph.without_media(said(media, Text(text="what?")), blobs=store)).message)
        result = ToolResult(call_id="c", content=(await kept_result(ToolResult(call_id="c", content=(media,)), blobs=store)).content)
        await tape.append(ph.assistant(calls=[ph.ToolCall(id="c", name="look")]))
        await tape.append(Message(role="tool", content=(result,)))
        body = json.dumps((await ph.compile(tape)).to(provider))
        line = f"[{kind} not shown: thing, application/x-thing, {SIZE}, {HASH}; kept by reference]"
        assert body.count(line) == 2
        assert DATA[:40] not in body

    run(go)


def test_a_reference_costs_what_its_bytes_do_so_that_it_can_be_sent_again():
    async def go() -> None:
        counter = default_counter()
        width, height = (1500).to_bytes(4), (20).to_bytes(4)
        shape = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + width + height + b"\x08\x02\0\0\0" + bytes(100)).decode()
        pdf = base64.b64encode(b"%PDF-1.4 " + b"/Type /Page " * 30).decode()
        for media in (PICTURE, Media(kind="image", mime="image/png", data=shape), Media(kind="document", mime="application/pdf", data=pdf)):
            recorded = (await ph.without_media(said(media), blobs=blobs())).message
            full, kept = (message_tokens(message, counter=counter) for message in (said(media), recorded))
            assert full <= kept <= full + 120

    run(go)


@given(st.lists(st.binary(max_size=300), max_size=4), st.booleans())
def test_any_bytes_go_and_come_back(pieces: list[bytes], nested: bool):
    async def go() -> None:
        store = blobs()
        media = tuple(Media(kind="document", mime="application/zip", data=base64.b64encode(piece).decode()) for piece in pieces)
        message = Message(role="tool", content=(ToolResult(call_id="c", content=media),)) if nested else said(Text(text="x"), *media)
        recorded = (await ph.without_media(message, blobs=store)).message
        (entry,) = message_to_entries(recorded)
        read = message_from_payload(entry.payload) if not nested else recorded
        assert read is not None and await ph.resolved(read, blobs=store) == message
        assert {blob.size for blob in await store.blobs()} == {len(piece) for piece in pieces}

    run(go)
