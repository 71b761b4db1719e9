"""Text that may be shown on a terminal: what is on a tape never speaks to the terminal itself."""

from __future__ import annotations

import re

# C0 but newline and tab, DEL, C1; and the marks that reorder what stands beside them (CVE-2021-42574).
_SPOKEN_TO_TERMINALS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_IN_JSON = re.compile(rb"\x7f|\xc2[\x80-\x9f]")


def plain(text: str) -> str:
    """Return the text with control characters written as escapes; newlines and tabs stay."""
    return _SPOKEN_TO_TERMINALS.sub(_escape, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """Return the text as one line that a terminal shows as it is."""
    return plain(" ".join(text.split()))


def plain_json(body: bytes) -> bytes:
    """Return JSON of the same value in which no control character stands as itself."""
    return _IN_JSON.sub(lambda m: b"\\u00%02x" % m[0][-1], body)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
