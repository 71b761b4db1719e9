"""Faults in a provider's body: the shared judge where it is, and what it does not look at."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.data import shared


@cache
def _module(place: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("protocols", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def judged(provider: str, body: Mapping[str, Any]) -> list[str]:
    """The shared judge's faults; Responses items are put in chat form for it."""
    judge = _module(shared("protocols.py"))
    if provider == "anthropic":
        return list(judge.anthropic_faults(body["messages"]))
    messages = body["messages"] if provider == "openai" else list(_as_chat(body["input"]))
    return list(judge.openai_faults(messages))


def faults(provider: str, body: Mapping[str, Any]) -> list[str]:
    """Ours first (ids, names, ends, thinking, atoms of reasoning), then the judge's, so that the test is more than skipped where it is absent."""
    looks = {"openai": _chat, "openai-responses": _responses, "anthropic": _anthropic}[provider]
    return list(looks(body)) or judged(provider, body)


def _as_chat(items: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    calls: list[dict[str, Any]] = []
    for item in items:
        kind = item.get("type")
        if kind in ("function_call", "custom_tool_call"):
            calls.append({"id": item["call_id"]})
            continue
        if kind == "message" and item["role"] == "assistant" and calls:
            continue  # words behind calls are of the same turn
        if calls and kind in ("function_call_output", "custom_tool_call_output", "message"):
            yield {"role": "assistant", "tool_calls": calls}
            calls = []
        if kind in ("function_call_output", "custom_tool_call_output"):
            yield {"role": "tool", "tool_call_id": item["call_id"]}
        elif kind == "message":
            yield {"role": item["role"], "content": item["content"]}
    if calls:
        yield {"role": "assistant", "tool_calls": calls}


def _chat(body: Mapping[str, Any]) -> Iterator[str]:
    for i, message in enumerate(body["messages"]):
        if "name" in message and not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", message["name"]):
            yield f"{i}: name {message['name']!r}"
        for call in message.get("tool_calls") or []:
            if not 0 < len(call["id"]) <= 40:
                yield f"{i}: call id {call['id']!r}"
            if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", call["function"]["name"]):
                yield f"{i}: tool name {call['function']['name']!r}"
        content = message.get("content")
        if message["role"] not in ("user", "assistant") and isinstance(content, list):
            yield from (f"{i}: {b['type']} in {message['role']}" for b in content if b["type"] not in ("text", "x_server_item"))


def _responses(body: Mapping[str, Any]) -> Iterator[str]:
    items = body["input"]
    ids = [item["call_id"] for item in items if item.get("type") == "function_call"]
    if len(ids) != len(set(ids)):
        yield "call ids repeat"
    for i, item in enumerate(items):
        follower = items[i + 1] if i + 1 < len(items) else {}
        if item.get("type") == "reasoning" and (follower.get("role") in ("user", "system") or follower.get("type") in (None, "function_call_output")):
            yield f"{i}: reasoning without the item behind it"
        if item.get("type") == "function_call" and not (0 < len(item["call_id"]) <= 64 and re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", item["name"])):
            yield f"{i}: call {item['call_id']!r} {item['name']!r}"


def _anthropic(body: Mapping[str, Any]) -> Iterator[str]:
    messages = body["messages"]
    roles = [m["role"] for m in messages]
    if any(a == b for a, b in pairwise(roles)):
        yield "roles do not alternate"
    content = [b for m in messages for b in (m["content"] if isinstance(m["content"], list) else [])]
    ids = [b["id"] for b in content if b["type"] == "tool_use"]
    if len(ids) != len(set(ids)):
        yield "call ids repeat"
    yield from (f"call id {i!r}" for i in ids if not re.fullmatch(r"[a-zA-Z0-9_-]+", i))
    yield from (f"extra fields in message: {set(m)}" for m in messages if set(m) != {"role", "content"})
    for i, message in enumerate(messages):
        kinds = [b["type"] for b in message["content"]] if isinstance(message["content"], list) else []
        if message["role"] == "user" and "tool_result" in kinds[kinds.count("tool_result") :]:
            yield f"{i}: words before results"
        if kinds and message["role"] == "assistant" and kinds[-1] in ("thinking", "redacted_thinking"):
            yield f"{i}: ends in thinking"
        for block in message["content"] if kinds else []:
            if block["type"] == "tool_result" and block.get("is_error") and not block.get("content"):
                yield f"{i}: empty error"
    if messages and roles[-1] == "assistant":
        last = messages[-1]["content"]
        text = last if isinstance(last, str) else last[-1].get("text", "")
        if text != text.rstrip():
            yield "ends in white space"
    if str(body).count("'cache_control'") > 4:
        yield "more than four cache marks"
