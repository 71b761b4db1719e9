"""Media that stand inside words as data: URLs; nobody reads them, and they cost as much as a chapter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from playhead.wire.media import size_text

LEAST = 4_096
"""From how many characters of base64 on a data: URL is left out."""

_SIGN = ";base64,"
_URL = re.compile(rf"data:(?P<mime>[\w.+-]+/[\w.+-]+)(?:;[\w.+-]+=[\w.+-]*)*;base64,(?P<body>[A-Za-z0-9+/_-]{{{LEAST},}}={{0,2}})", re.IGNORECASE)


def without_serialised(text: str) -> str:
    """Return a text with a line of its type and size in place of each long data: URL."""
    return _URL.sub(_told, text) if _SIGN in text.lower() else text


def value_without_serialised(value: Any) -> Any:
    """Return a JSON value with the same done to every text in it; itself where there is none to leave out."""
    if isinstance(value, str):
        return without_serialised(value)
    if isinstance(value, Mapping):
        told = {key: value_without_serialised(inner) for key, inner in value.items()}
        return value if all(told[key] is value[key] for key in told) else told
    if isinstance(value, (list, tuple)):
        items = [value_without_serialised(inner) for inner in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    return value


def _told(found: re.Match[str]) -> str:
    return f"[{found['mime'].lower()} of {size_text(len(found['body'].rstrip('=')) * 3 // 4)}, not shown]"
