"""Neutral conversations of valid shape, with everything in them a record may hold."""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import strategies as st

from playhead.entry.message import MEDIA_KINDS, Media, Message, Part, ProviderItem, Text, Thinking, ToolCall, ToolResult

MODEL = "maker-1"
PROVIDERS = ("openai", "openai-responses", "anthropic")

surrogates = st.characters(categories=["Cs"])
letters = st.characters(exclude_categories=["Cs"]) | surrogates
words = st.text(letters, max_size=8) | st.sampled_from(["", " ", "\n\n", "(The conversation starts earlier.)", "<system-note>", "ends in space  "])
names = st.none() | st.sampled_from(["ann", "Ann Lee", "Zoë", "", " ", "a\nb", "x" * 65])
call_ids = st.sampled_from(["", "a", "b", "call_1", "functions.f:0", "call_x|fc_y", "x" * 90, "é", "\ud800"])
small = st.sampled_from([None, True, 3, "v", ["v"], {"k": "v"}])


@st.composite
def extras(draw: st.DrawFn, *fields: str) -> dict[str, Any]:
    kept = {p: {"x_field": draw(small)} for p in PROVIDERS if draw(st.integers(0, 5)) == 0}
    if "cache_control" in fields and draw(st.integers(0, 3)) == 0:
        kept["anthropic"] = {"cache_control": {"type": "ephemeral"}}
    return kept


def frozen(value: dict[str, Any]) -> Any:
    return ProviderItem(provider="x", value=value).value  # type: ignore[arg-type]


texts = st.builds(lambda t, e: Text(text=t, extra=frozen(e)), words, extras("cache_control"))
provider_items = st.builds(lambda p: ProviderItem(provider=p, value={"type": "x_server_item", "id": "srv_1"}), st.sampled_from(PROVIDERS))  # type: ignore[arg-type]


@st.composite
def media(draw: st.DrawFn) -> Media:
    mimes = ["image/png", "image/jpg", "image/svg+xml", "audio/wav", "audio/ogg", "video/mp4", "application/pdf", "text/plain", "application/json", None]
    data = base64.b64encode(draw(st.binary(min_size=1, max_size=4) | st.just(b" "))).decode()
    urls = ["https://example.org/x", f"data:image/png;base64,{data}", "data:image/png,x", "s3://b/k"]
    place = draw(st.sampled_from([{"data": data}, {"data": data}, {"data": "?"}, {"ref": "blob:1"}, *({"url": url} for url in urls)]))
    return Media(kind=draw(st.sampled_from(MEDIA_KINDS)), mime=draw(st.sampled_from(mimes)), name=draw(st.none() | words), **place)  # type: ignore[arg-type]


@st.composite
def thinking(draw: st.DrawFn) -> Thinking:
    return Thinking(
        text=draw(words),
        signature=draw(st.none() | st.sampled_from(["", "sig"])),
        redacted=draw(st.none() | st.just("opaque")),
        provider=draw(st.none() | st.sampled_from(PROVIDERS)),
        model=draw(st.sampled_from([None, MODEL, MODEL, "other"])),
    )


def contents(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return words | st.lists(parts, max_size=4).map(tuple)


@st.composite
def speech(draw: st.DrawFn) -> list[Message]:
    role = draw(st.sampled_from(["system", "user", "user", "assistant"]))
    parts: st.SearchStrategy[Part] = texts | media() | provider_items
    if role == "assistant":
        parts = parts | thinking()
    return [Message(role=role, content=draw(contents(parts)), name=draw(names), extra=frozen(draw(extras())))]


@st.composite
def tool_round(draw: st.DrawFn) -> list[Message]:
    calls = draw(st.lists(st.builds(_call, call_ids, st.sampled_from(["look", "a.b", "x" * 200]), words, st.none() | st.just('{"a" : 1}')), min_size=1, max_size=3))
    around = draw(st.lists(texts | thinking() | provider_items, max_size=3))
    turn = Message(role="assistant", content=tuple(draw(st.permutations([*around, *calls]))), name=draw(names), extra=frozen(draw(extras())))
    answers = [_result(draw, c) for c in draw(st.permutations([p for p in turn.content if isinstance(p, ToolCall)]))]
    if len({c.id for c in calls}) < len(calls) or "" in {c.id for c in calls}:
        answers = [_result(draw, c) for c in turn.calls]
    together = draw(st.booleans())
    beside: tuple[Any, ...] = tuple(draw(st.lists(texts | media(), max_size=1)))
    if together:
        return [turn, Message(role=draw(st.sampled_from(["tool", "user"])), content=(*beside, *answers), name=draw(names))]
    return [turn, *(Message(role="tool", content=(a,)) for a in answers)]


def _call(call_id: str, name: str, word: str, spelling: str | None) -> ToolCall:
    if spelling:
        return ToolCall(id=call_id, name=name, arguments=frozen({"a": 1}), extra=frozen({"openai": {"arguments": spelling}}))
    return ToolCall(id=call_id, name=name, arguments=frozen({"word": word}))


def _result(draw: st.DrawFn, call: ToolCall) -> ToolResult:
    content = draw(contents(texts | media() | provider_items))
    return ToolResult(call_id=call.id, content=content, is_error=draw(st.booleans()), name=draw(st.none() | st.just("look")), extra=frozen(draw(extras())))


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Any conversation whose calls are all answered behind their turn."""
    return [m for step in draw(st.lists(speech() | tool_round(), max_size=6)) for m in step]


plain = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).map(lambda t: f"{t}.")


@st.composite
def normal_conversations(draw: st.DrawFn, provider: str) -> list[Message]:
    """A conversation that every step of the way is as a load leaves it."""
    system = draw(st.none() | plain)
    messages = [Message(role="system", content=system)] if system is not None else []
    starts_late = draw(st.integers(0, 3)) == 0
    used = 0
    for n in range(draw(st.integers(0, 4))):
        if n or not starts_late:
            several = st.tuples(normal_parts(provider), normal_parts(provider))
            messages.append(Message(role="user", content=draw(plain | several)))
        if draw(st.booleans()):
            messages.append(Message(role="assistant", content=draw(plain)))
            continue
        calls = tuple(ToolCall(id=f"call_{(used := used + 1)}", name="look", arguments=frozen({"word": draw(plain)})) for _ in range(draw(st.integers(1, 3))))
        messages.append(_normal_turn(draw, provider, calls))
        messages.extend(Message(role="tool", content=(ToolResult(call_id=c.id, content=draw(plain | st.just(""))),)) for c in draw(st.permutations(calls)))
    return messages


def normal_parts(provider: str) -> st.SearchStrategy[Any]:
    pictures = st.builds(lambda b: Media(kind="image", mime="image/png", data=base64.b64encode(b).decode()), st.binary(min_size=1, max_size=3))
    pages = st.builds(lambda u: Media(kind="image", url=f"https://example.org/{u}"), st.integers(0, 9))
    items = st.just(ProviderItem(provider=provider, value={"type": "x_item"}))  # type: ignore[arg-type]
    return st.builds(lambda t: Text(text=t), plain) | pictures | pages | items


def _normal_turn(draw: st.DrawFn, provider: str, calls: tuple[ToolCall, ...]) -> Message:
    thought = Thinking(text=draw(plain), signature="sig" if provider != "openai" else None, provider=provider, model=MODEL)
    begin: tuple[Part, ...] = (thought,) if draw(st.booleans()) else ()
    said = (Text(text=draw(plain)),) if draw(st.booleans()) else ()
    return Message(role="assistant", content=(*begin, *said, *calls))
