"""Plain values that every JSON reader takes: thawed copies in which lone surrogates are replaced."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_LONE = re.compile("[\ud800-\udfff]")
REPLACEMENT = "\ufffd"


def is_encodable(text: str) -> bool:
    """Tell whether a text has a UTF-8 form."""
    return text.isascii() or _LONE.search(text) is None


def encodable(value: Any) -> Any:
    """Return a plain, deep copy of a JSON value with every lone surrogate replaced by U+FFFD.

    Providers refuse an escaped half of a surrogate pair, and the tape keeps what it was.
    """
    if isinstance(value, str):
        return value if is_encodable(value) else _LONE.sub(REPLACEMENT, value)
    if isinstance(value, Mapping):
        return {encodable(k): encodable(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [encodable(v) for v in value]
    return value
