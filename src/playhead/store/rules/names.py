"""The names of tapes: any text but a few that no place can keep."""

from __future__ import annotations

from playhead.errors import InvalidInput


def checked_name(tape: str) -> str:
    """Return a tape's name, of any length; raises InvalidInput where it is empty, no text, or holds NUL or half a surrogate pair."""
    if not isinstance(tape, str) or not tape:
        raise InvalidInput(f"A tape's name is a non-empty text, not {tape!r}.")
    if "\0" in tape or not (tape.isascii() or _encodes(tape)):
        raise InvalidInput(f"A tape's name holds no NUL and no half of a surrogate pair: {tape!r}.")
    return tape


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
