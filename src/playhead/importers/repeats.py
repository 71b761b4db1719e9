"""Keys that stand twice in one JSON object: a reader of JSON keeps the last value, and an import the others too."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from playhead.entry import codec

_SPACED_KEY_END = re.compile(rb'"[ \t\r\n]++:')


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """A member that a later one of the same key replaces: where it stands, such as `message.content[0].text`, and its JSON."""

    at: str
    json: str


def repeats_in(body: bytes) -> tuple[Repeat, ...]:
    """Return the members of a JSON text that reading it drops, in order; none where it is no JSON."""
    try:
        value = codec.decode(body)
        if codec.encode(value) == body or _keys(value) == _most_keys(body):
            return ()
    except (ValueError, RecursionError):
        return ()
    try:
        return tuple(_repeats(json.loads(body, object_pairs_hook=_Members), ""))
    except (ValueError, RecursionError):
        # A number that is too long to be read stands among what is dropped.
        return (Repeat(at="", json=body.decode()),)


def _keys(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(_keys(v) for v in value.values() if isinstance(v, (dict, list)))
    return sum(_keys(v) for v in value if isinstance(v, (dict, list))) if isinstance(value, list) else 0


def _most_keys(body: bytes) -> int:
    """Return how many keys a JSON text has at most: the quotes before a colon, but for those that a text holds escaped."""
    return body.count(b'":') + len(_SPACED_KEY_END.findall(body)) - body.count(b'\\":') + body.count(b'\\\\":')


class _Members(dict[str, Any]):
    """An object, and which of its members later ones replace."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        last = {key: place for place, (key, _) in enumerate(pairs)}
        self.replaced = [(key, value) for place, (key, value) in enumerate(pairs) if last[key] != place]


def _repeats(value: Any, at: str) -> Iterator[Repeat]:
    if isinstance(value, _Members):
        for key, dropped in value.replaced:
            place = f"{at}.{key}".removeprefix(".")
            yield Repeat(at=place, json=json.dumps(dropped, ensure_ascii=False))
            yield from _repeats(dropped, place)
        for key, member in value.items():
            yield from _repeats(member, f"{at}.{key}".removeprefix("."))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _repeats(item, f"{at}[{i}]")
