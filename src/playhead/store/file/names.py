"""The names of tapes as names of files: an ordinary one stays as it is, any other is escaped, and both read back."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256

SUFFIX = ".jsonl"
LONGEST = 120
"""How many bytes a stem has at most; what is added to it (`.jsonl`, a number) then fits every file system."""

LONGEST_LABEL = 90
"""How many bytes a label has at most: the name of a file has two of them where it is a sidecar's of a branch."""

# Letters without case, or small ones, that no file system folds or splits; given as ranges, as a mapping that names files must never change.
_UNSAFE = re.compile("[^A-Za-z0-9 ._@+=,à-öø-ÿα-ρσ-ωа-яぁ-ゖァ-ヺー一-\u9fff가-힣-]")
_NOT_PLAIN = re.compile(r'^\.|[/\\:*?"<>|\x00-\x1f]')
_EDGES = re.compile(r"^[. ]|[. ]$")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?=\.|$)", re.IGNORECASE)
_ESCAPE = re.compile("%([0-9A-F]{2})")
_BRANCH = re.compile(r"\.(?=branch)", re.IGNORECASE)
_CAPITALS = re.compile(r"%[0-9A-F]{2}|[A-Z]|[a-z]")
_SHOWN, _DIGEST = 60, 32


def stem_of(tape: str) -> str:
    """Return the name of a tape's file without its suffix.

    Small letters, digits and a few signs stand for themselves; anything unsafe is written as `%` and two hex digits a byte.
    Where capital letters occur, `~` and a hex number say which of the letters are capital, so that no two names meet where
    a disk takes both cases for one. A long name is cut, and `~~` and a digest of it are added.
    """
    return _fitted(tape, _escaped(tape), longest=LONGEST)


@lru_cache(maxsize=4096)
def label_stem(label: str) -> str:
    """Return what stands for the label of a branch, or for the name of a sidecar, in the name of its file; by the same rules, shorter, and `.branch` does not occur in it."""
    return _fitted(label, _BRANCH.sub("%2E", _escaped(label)), longest=LONGEST_LABEL)


def is_cut(stem: str) -> bool:
    """Return whether a stem does not say the whole name; the first line of the file does."""
    return "~~" in stem


def tape_of(stem: str) -> str | None:
    """Return the tape whose file has that stem, None where it has not exactly the form that `stem_of` gives.

    Not for stems that are cut.
    """
    return _read_back(stem, stem_of)


def label_of(stem: str) -> str | None:
    """Return the label that a part of a file's name stands for, None where `label_stem` gives no such part. Not for parts that are cut."""
    return _read_back(stem, label_stem)


def may_be_plain(tape: str) -> bool:
    """Return whether another program may have given a tape's file the tape's very name, although it is not the one we give.

    Not where we give that name to the file of another tape.
    """
    return len(tape.encode()) <= LONGEST and not _NOT_PLAIN.search(tape) and not is_cut(tape) and tape_of(tape) is None


def _read_back(stem: str, form: Callable[[str], str]) -> str | None:
    composed = unicodedata.normalize("NFC", stem)
    try:
        name = _unescaped(composed.partition("~")[0]).decode()
    except UnicodeError:
        return None
    return name if name and form(name) == composed else None


def _fitted(name: str, escaped: str, *, longest: int) -> str:
    stem = _cased(escaped)
    return stem if len(stem.encode()) <= longest else f"{_cut(escaped, min(_SHOWN, longest - _DIGEST - 2))}~~{sha256(name.encode()).hexdigest()[:_DIGEST]}"


def _escaped(tape: str) -> str:
    stem = _UNSAFE.sub(_hex, tape)
    stem = _EDGES.sub(_hex, stem)
    return _hex_text(stem[0]) + stem[1:] if _RESERVED.match(stem) else stem


def _hex(found: re.Match[str]) -> str:
    return _hex_text(found[0])


def _hex_text(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


def _cased(stem: str) -> str:
    """Return a stem that no other one equals when case is folded."""
    letters = [found for found in _CAPITALS.findall(stem) if len(found) == 1]
    number = sum(1 << place for place, letter in enumerate(letters) if letter.isupper())
    return f"{stem}~{number:x}" if number else stem


def _cut(stem: str, length: int) -> str:
    shown = stem.encode()[:length].decode(errors="ignore").lower()
    return re.sub("%[0-9a-f]?$", "", shown)


def _unescaped(stem: str) -> bytes:
    return b"".join(bytes.fromhex(part) if place % 2 else part.encode() for place, part in enumerate(_ESCAPE.split(stem)))
