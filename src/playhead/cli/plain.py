"""Text that may be shown on a terminal: what is on a tape never speaks to the terminal itself."""

from __future__ import annotations

import re

# C0 but newline and tab, DEL, C1; separators at which some break a line; and the marks that reorder what stands beside them (CVE-2021-42574).
_SPOKEN_TO_TERMINALS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
# In JSON also the line and paragraph separators, at which some readers of JSON Lines break a line.
_IN_JSON = re.compile(rb"\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]|\xe2\x81[\xa6-\xa9]")

NAME_MOST, REASON_MOST = 120, 400
"""How many characters of a name stand in a line, and how many of a reason that names something."""


def plain(text: str) -> str:
    """Return the text with control characters written as escapes; newlines and tabs stay."""
    return _SPOKEN_TO_TERMINALS.sub(_escape, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """Return the text as one line that a terminal shows as it is."""
    return plain(" ".join(text.split()))


def short_name(text: str, *, most: int = NAME_MOST) -> str:
    """Return a name, or words with one in them, as one line; of a very long one the beginning, and how much more there is."""
    line = one_line(text[: 8 * most])
    return line if len(line) <= most and len(text) <= 8 * most else f"{line[:most]}… ({len(text) - most:,} more characters)"


def plain_json(body: bytes) -> bytes:
    """Return JSON of the same value in which no control character, and no mark that reorders text, stands as itself."""
    return _IN_JSON.sub(lambda m: b"\\u%04x" % ord(m[0].decode()), body)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
