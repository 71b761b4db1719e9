"""Content blocks of LangChain messages, of its own forms and of the providers' that it passes through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from playhead.entry.frozen import freeze_dict
from playhead.entry.message import MEDIA_KINDS, Media, MediaKind, Part, ProviderItem, Text, Thinking, ToolCall
from playhead.entry.payload import arguments_from_json
from playhead.importers.told import text_in
from playhead.wire import anthropic_blocks, response_parts
from playhead.wire.extras import kept, rest
from playhead.wire.media import from_data_url

PROVIDER = "langchain"
_KINDS: Mapping[str, MediaKind] = {**{k: cast(MediaKind, k) for k in MEDIA_KINDS}, "file": "document", "image_url": "image", "text-plain": "document"}
_INPUTS = ("input_image", "input_file", "input_audio")


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """Who made a message: the provider as LangChain names it, and the model."""

    provider: str | None = None
    model: str | None = None


def parts_of(content: object, *, made: Made) -> Iterator[Part]:
    """Yield the parts that a message's content holds."""
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, str):
            yield Text(text=block)
        elif isinstance(block, Mapping):
            yield _part(freeze_dict(block), made)


def _part(block: Mapping[str, Any], made: Made) -> Part:
    kind = text_in(block, "type")
    if kind in ("text", "output_text", "input_text") and isinstance(block.get("text"), str):
        return Text(text=block["text"], extra=kept(PROVIDER, rest(block, "type", "text")))
    if kind == "refusal" and text_in(block, "refusal"):
        return Text(text=block["refusal"], extra=kept(PROVIDER, rest(block, "refusal")))
    if kind in ("thinking", "redacted_thinking", "reasoning"):
        return _thinking(block, made)
    if kind in ("tool_use", "tool_call", "function_call") and text_in(block, "name"):
        return _call(block)
    if kind in _INPUTS:
        return response_parts.load(freeze_dict(block), path="content")
    if kind in ("image", "document") and isinstance(block.get("source"), Mapping):
        return anthropic_blocks.load(freeze_dict(block), path="content")
    return _media(block, _KINDS[kind]) if kind in _KINDS else ProviderItem(provider=PROVIDER, value=block)


def _thinking(block: Mapping[str, Any], made: Made) -> Thinking:
    """Return reasoning; it goes back to Anthropic alone, for of the others' LangChain keeps parts of what they ask for."""
    summary = block.get("summary")
    words = text_in(block, "thinking") or text_in(block, "reasoning") or "\n\n".join(text_in(s, "text") for s in (summary if isinstance(summary, list) else ()))
    is_reasoning = block["type"] == "reasoning"
    return Thinking(
        text=words,
        signature=text_in(block, "signature") or text_in(block.get("extras"), "signature") or text_in(block, "encrypted_content") or None,
        redacted=text_in(block, "data") or None,
        provider=made.provider or ("openai" if is_reasoning else "anthropic"),
        model=made.model,
        extra=kept(PROVIDER, rest(block, "type", "thinking", "reasoning", "signature", "data", "encrypted_content")),
    )


def _call(block: Mapping[str, Any]) -> ToolCall:
    said = next((block[k] for k in ("input", "args", "arguments") if block.get(k) is not None), None)
    arguments, spelling = arguments_from_json(said)
    more = {**rest(block, "type", "id", "call_id", "name", "input", "args", "arguments", "index"), **({"arguments": spelling} if spelling is not None else {})}
    return ToolCall(id=text_in(block, "call_id") or text_in(block, "id"), name=block["name"], arguments=arguments, extra=kept(PROVIDER, more))


def _media(block: Mapping[str, Any], kind: MediaKind) -> Media | ProviderItem:
    """Return media in the forms of LangChain: with `base64` or `data`, a `url`, or a `file_id` or `id`."""
    url = block.get("image_url", block.get("url"))
    url = text_in(url, "url") if isinstance(url, Mapping) else url if isinstance(url, str) else ""
    mime = text_in(block, "mime_type") or None
    name = text_in(block, "filename") or None
    data = text_in(block, "base64") or (text_in(block, "data") if text_in(block, "source_type") in ("", "base64") else "")
    held = from_data_url(url) if url else None
    if held is not None:
        return Media(kind=kind, mime=held[0], data=held[1], name=name)
    if data and mime:
        return Media(kind=kind, mime=mime, data=data, name=name)
    if url:
        return Media(kind=kind, mime=mime, url=url, name=name)
    reference = text_in(block, "file_id") or (text_in(block, "id") if text_in(block, "source_type") == "id" else "")
    return Media(kind=kind, mime=mime, ref=reference, name=name) if reference else ProviderItem(provider=PROVIDER, value=block)
