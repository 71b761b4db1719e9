"""One turn of a model as each provider puts it on the wire, and how each tells what went wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.integration.model.server import Answer, cut, told


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What the model says: reasoning with its signature, words, calls (id, name, arguments as they are spelled)."""

    reasoning: str = ""
    signature: str = ""
    words: tuple[str, ...] = ()
    calls: tuple[tuple[str, str, str], ...] = ()
    stop: str = "end"
    model: str = ""


def sse(data: object, *, event: str | None = None) -> bytes:
    named = f"event: {event}\n" if event else ""
    return f"{named}data: {data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)}\n\n".encode()


@dataclass(frozen=True, kw_only=True)
class Wire:
    """A provider's own form, and the spec of a model that speaks it: over the provider's SDK, or over pydantic-ai."""

    spec: str
    path: str
    model: str
    options: dict[str, Any] = field(default_factory=dict)
    signs: bool = True
    prefix: str = ""

    def events(self, turn: Turn) -> Iterator[bytes]:
        raise NotImplementedError

    def failure(self, *, status: int, code: str, message: str) -> dict[str, Any]:
        """Return the body of an error."""
        return {"error": {"message": message, "type": code, "code": code, "param": None}}

    def broken(self, *, code: str, message: str) -> bytes:
        """Return an error inside a stream."""
        return sse(self.failure(status=200, code=code, message=message))

    def answer(self, turn: Turn, *, size: int | None = None) -> Answer:
        """Return the whole answer; with a size it is cut into pieces of that many bytes."""
        pieces = tuple(self.events(turn))
        return Answer(pieces=cut(b"".join(pieces), size) if size else pieces)

    def told(self, *, status: int, code: str, message: str, **headers: str) -> Answer:
        return told(self.failure(status=status, code=code, message=message), status=status, **headers)


class Chat(Wire):
    def events(self, turn: Turn) -> Iterator[bytes]:
        model = turn.model or self.model

        def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
            return sse({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": [choice], "usage": None})

        yield chunk({"role": "assistant", "content": None})
        for piece in cut_words(turn.reasoning):
            yield chunk({"reasoning_content": piece})
        for words in turn.words:
            yield chunk({"content": words})
        for at, (id, name, _) in enumerate(turn.calls):
            yield chunk({"tool_calls": [{"index": at, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}]})
        # The calls come interleaved: a piece of each in turn.
        pieces = [list(cut_words(spelled)) for _, _, spelled in turn.calls]
        for step in range(max(map(len, pieces), default=0)):
            for at, some in enumerate(pieces):
                if step < len(some):
                    yield chunk({"tool_calls": [{"index": at, "function": {"arguments": some[step]}}]})
        finish = {"end": "tool_calls" if turn.calls else "stop"}.get(turn.stop, turn.stop)
        yield chunk({}, finish)
        usage = {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 64},
            "completion_tokens_details": {"reasoning_tokens": 12},
        }
        yield sse({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": [], "usage": usage})
        yield sse("[DONE]")


class Responses(Wire):
    def events(self, turn: Turn) -> Iterator[bytes]:
        model = turn.model or self.model
        number = iter(range(10_000))

        def event(kind: str, **fields: Any) -> bytes:
            return sse({"type": kind, "sequence_number": next(number), **fields}, event=kind)

        response = {"id": "resp_1", "object": "response", "created_at": 1, "model": model, "status": "in_progress", "output": [], "tools": [], "parallel_tool_calls": True}
        yield event("response.created", response=response)
        items = list(self.items(turn))
        for at, item in enumerate(items):
            empty = {**item, **{key: kind() for key, kind in (("summary", list), ("content", list), ("arguments", str)) if key in item}}
            yield event("response.output_item.added", output_index=at, item=empty)
            yield from self._deltas(event, at, item)
            yield event("response.output_item.done", output_index=at, item=item)
        usage = {
            "input_tokens": 100,
            "output_tokens": 20,
            "total_tokens": 120,
            "input_tokens_details": {"cached_tokens": 64},
            "output_tokens_details": {"reasoning_tokens": 12},
        }
        is_cut = turn.stop == "length"
        more = {"incomplete_details": {"reason": "max_output_tokens"}} if is_cut else {}
        status = "incomplete" if is_cut else "completed"
        yield event(f"response.{status}", response={**response, "status": status, "output": items, "usage": usage, **more})

    def items(self, turn: Turn) -> Iterator[dict[str, Any]]:
        if turn.reasoning:
            summary = [{"type": "summary_text", "text": turn.reasoning}]
            yield {"id": "rs_1", "type": "reasoning", "summary": summary, "encrypted_content": turn.signature}
        if turn.words:
            content = [{"type": "output_text", "text": "".join(turn.words), "annotations": [], "logprobs": []}]
            yield {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": content}
        for at, (id, name, spelled) in enumerate(turn.calls):
            yield {"id": f"fc_{at}", "type": "function_call", "status": "completed", "arguments": spelled, "call_id": id, "name": name}

    def _deltas(self, event: Any, at: int, item: dict[str, Any]) -> Iterator[bytes]:
        where = {"item_id": item["id"], "output_index": at}
        match item["type"]:
            case "reasoning":
                yield event("response.reasoning_summary_part.added", **where, summary_index=0, part={"type": "summary_text", "text": ""})
                for piece in cut_words(item["summary"][0]["text"]):
                    yield event("response.reasoning_summary_text.delta", **where, summary_index=0, delta=piece)
                yield event("response.reasoning_summary_part.done", **where, summary_index=0, part=item["summary"][0])
            case "message":
                yield event("response.content_part.added", **where, content_index=0, part={"type": "output_text", "text": "", "annotations": []})
                for piece in cut_words(item["content"][0]["text"]):
                    yield event("response.output_text.delta", **where, content_index=0, delta=piece, logprobs=[])
                yield event("response.content_part.done", **where, content_index=0, part=item["content"][0])
            case "function_call":
                for piece in cut_words(item["arguments"]):
                    yield event("response.function_call_arguments.delta", **where, delta=piece)
                yield event("response.function_call_arguments.done", **where, arguments=item["arguments"], name=item["name"])

    def broken(self, *, code: str, message: str) -> bytes:
        return sse({"type": "error", "sequence_number": 9, "code": code, "message": message, "param": None}, event="error")


class Messages(Wire):
    def events(self, turn: Turn) -> Iterator[bytes]:
        def event(kind: str, **fields: Any) -> bytes:
            return sse({"type": kind, **fields}, event=kind)

        usage = {"input_tokens": 30, "cache_creation_input_tokens": 6, "cache_read_input_tokens": 64, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": turn.model or self.model, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        yield event("message_start", message=message)
        yield event("ping")
        for at, (block, deltas) in enumerate(self._blocks(turn)):
            yield event("content_block_start", index=at, content_block=block)
            for delta in deltas:
                yield event("content_block_delta", index=at, delta=delta)
            yield event("content_block_stop", index=at)
        stop = {"end": "tool_use" if turn.calls else "end_turn", "length": "max_tokens"}.get(turn.stop, turn.stop)
        yield event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage={"output_tokens": 20})
        yield event("message_stop")

    def _blocks(self, turn: Turn) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
        if turn.reasoning:
            spoken = [{"type": "thinking_delta", "thinking": piece} for piece in cut_words(turn.reasoning)]
            yield {"type": "thinking", "thinking": "", "signature": ""}, [*spoken, {"type": "signature_delta", "signature": turn.signature}]
        if turn.words:
            yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": words} for words in turn.words]
        for id, name, spelled in turn.calls:
            pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *cut_words(spelled))]
            yield {"type": "tool_use", "id": id, "name": name, "input": {}}, pieces

    def failure(self, *, status: int, code: str, message: str) -> dict[str, Any]:
        return {"type": "error", "error": {"type": code, "message": message}, "request_id": "req_1"}

    def broken(self, *, code: str, message: str) -> bytes:
        return sse(self.failure(status=200, code=code, message=message), event="error")


def cut_words(text: str) -> tuple[str, ...]:
    """Return a text in pieces of three characters."""
    return tuple(text[i : i + 3] for i in range(0, len(text), 3))


CHAT = Chat(spec="openai:gpt-5-mini", path="/v1/chat/completions", model="gpt-5-mini", signs=False, prefix="/v1")
RESPONSES = Responses(spec="openai-responses:gpt-5-mini", path="/v1/responses", model="gpt-5-mini", prefix="/v1")
MESSAGES = Messages(spec="anthropic:claude-sonnet-5-5", path="/v1/messages", model="claude-sonnet-5-5")
BRIDGED_CHAT = Chat(spec="pydantic-ai:openai-chat:gpt-5-mini", path="/v1/chat/completions", model="gpt-5-mini", signs=False, prefix="/v1")
BRIDGED_RESPONSES = Responses(spec="pydantic-ai:openai-responses:gpt-5-mini", path="/v1/responses", model="gpt-5-mini", prefix="/v1")
BRIDGED_MESSAGES = Messages(spec="pydantic-ai:anthropic:claude-sonnet-5-5", path="/v1/messages", model="claude-sonnet-5-5")

OURS = (CHAT, RESPONSES, MESSAGES)
ALL = (*OURS, BRIDGED_CHAT, BRIDGED_RESPONSES, BRIDGED_MESSAGES)


def name_of(wire: Wire) -> str:
    """Return how a wire is called in test ids."""
    return wire.spec.rpartition(":")[0]
