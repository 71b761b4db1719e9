"""What people and models say in a file of conversations, whatever its format, one text for each turn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def read(path: Path) -> str:
    """Return a file's text; bytes that are no UTF-8 become replacement characters."""
    return path.read_bytes().decode("utf-8", "replace")


def said(text: str) -> list[str]:
    """Return the turns in the JSON or JSON Lines of a file, in order; none for other text."""
    return [turn for value in _values(text) for turn in _turns(value) if turn]


def _values(text: str) -> Iterator[Any]:
    try:
        yield json.loads(text)
    except ValueError:
        for line in text.splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                continue


def _turns(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _turns(item)
    elif isinstance(value, dict):
        if "content" in value and ("role" in value or "type" in value):
            yield "\n".join([*_words(value["content"]), *_calls(value)])
        elif isinstance(value.get("text"), str) and "speaker" in value:
            yield f"{value['speaker']}: {value['text']}"
        elif isinstance(value.get("query"), str) and isinstance(value.get("response"), str):
            yield from (value["query"], value["response"])
        else:
            for inner in value.values():
                yield from _turns(inner)


def _words(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for block in content:
            yield from _words(block)
    elif isinstance(content, dict):
        yield from (content[key] for key in ("text", "thinking") if isinstance(content.get(key), str))
        yield from _words(content.get("content"))
        for key in ("input", "arguments"):
            if key in content:
                yield f"{content.get('name', '')} {json.dumps(content[key], ensure_ascii=False)}"


def _calls(message: dict[str, Any]) -> Iterator[str]:
    for call in message.get("tool_calls") or ():
        if isinstance(call, dict) and isinstance(call.get("function"), dict):
            yield f"{call['function'].get('name')} {call['function'].get('arguments')}"
