"""Folders of conversations: the files below one, and where tools keep their sessions."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from playhead.errors import FileMissing

CLAUDE_CODE, CODEX = "claude-code", "codex"
TOOLS = (CLAUDE_CODE, CODEX)
"""The tools whose places are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A file below a folder, and a name for it: its path from there, in `/`, without the suffix where that names no other."""

    path: Path
    name: str


def files_below(folder: Path) -> tuple[FoundFile, ...]:
    """Return the files below a folder in the order of their paths; hidden ones, and links to folders, are left out.

    Raises FileMissing where the folder cannot be read.
    """
    found = sorted((path.relative_to(folder) for path in _walked(folder)), key=lambda relative: relative.parts)
    # A name is counted as that of the file without its suffix, and with it: one that is new among the files must not take over another's.
    counts = Counter(name for relative in found for name in {_plain(relative), _text(relative)})
    return tuple(FoundFile(path=folder / relative, name=_plain(relative) if counts[_plain(relative)] == 1 else _text(relative)) for relative in found)


def _plain(path: Path) -> str:
    return _text(path.with_suffix("") if path.suffix else path)


def _text(path: Path) -> str:
    """Return a path as text; bytes of it that are none are written as escapes."""
    return path.as_posix().encode(errors="surrogateescape").decode(errors="backslashreplace")


def _walked(folder: Path) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        raise FileMissing(str(error.filename), error.strerror or str(error)) from error

    for place, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = [f for f in folders if not f.startswith(".")]
        yield from (path for name in files if not name.startswith(".") and (path := Path(place, name)).is_file())


def places_of(tool: str, *, environment: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """Return the folders in which a tool keeps its sessions, those of them that exist.

    Raises FileMissing, naming where it looked, where there is none.
    """
    looked = _claude_code(environment, home) if tool == CLAUDE_CODE else _codex(environment, home)
    there = tuple(place for place in looked if place.is_dir())
    if not there:
        variable = "CLAUDE_CONFIG_DIR" if tool == CLAUDE_CODE else "CODEX_HOME"
        raise FileMissing(str(looked[0]), f"{tool} keeps no sessions there; ${variable} names another place")
    return there


def _claude_code(environment: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    named = environment.get("CLAUDE_CONFIG_DIR")
    if named:
        return (Path(named, "projects"),)
    return (home / ".claude" / "projects", Path(environment.get("XDG_CONFIG_HOME") or home / ".config", "claude", "projects"))


def _codex(environment: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    place = Path(environment.get("CODEX_HOME") or home / ".codex")
    return (place / "sessions", place / "archived_sessions")
