"""What a docstring says: of the function, and of each of its parameters, in any of the usual styles."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable

_GOOGLE = re.compile(r"(?:args|arguments|params|parameters|keyword args|keyword arguments|other parameters):\s*", re.IGNORECASE)
_GOOGLE_ITEM = re.compile(r"(?P<indent>\s+)\*{0,2}(?P<name>\w+)(?:\s*\(.*?\))?\s*:\s*(?P<text>.*)")
_NUMPY = re.compile(r"(?:other )?parameters\s*", re.IGNORECASE)
_NUMPY_ITEM = re.compile(r"\*{0,2}(?P<name>\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?")
_RULE = re.compile(r"-{3,}\s*")
_SPHINX = re.compile(r"\s*[:@](?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(?P<name>\w+)\s*:\s*(?P<text>.*)")
_SPHINX_TYPE = re.compile(r"\s*[:@](?:type\s+\w+|rtype)\s*:.*")
_PLAIN = re.compile(r"\s*(?:[-*•]\s+)?`{0,2}(?P<name>\w+)`{0,2}(?:\s*\([^)]*\))?\s*(?::|--|–|—|-)\s+(?P<text>.+)")


class Docstring:
    """A docstring, read: `description` is what it says of the function, `parameters` what it says of each parameter that the function has.

    Google, NumPy and Sphinx styles are read, and plain lines of the form `name: text`.
    """

    def __init__(self, text: str | None, *, parameters: Iterable[str]) -> None:
        self._known = frozenset(parameters)
        self._lines = inspect.cleandoc(text or "").splitlines()
        self._at = 0
        self._told: dict[str, list[str]] = {}
        kept: list[str] = []
        while self._at < len(self._lines):
            if not (self._google() or self._numpy() or self._sphinx() or self._plain()):
                kept.append(self._lines[self._at])
                self._at += 1
        self.description = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
        self.parameters = {name: " ".join(filter(None, map(str.strip, words))) for name, words in self._told.items() if any(words)}

    def _google(self) -> bool:
        if not _GOOGLE.fullmatch(self._line()):
            return False
        self._at += 1
        indent, name = None, None
        while self._at < len(self._lines) and (not self._line().strip() or self._line()[0].isspace()):
            item = _GOOGLE_ITEM.fullmatch(self._line())
            if item and (indent is None or len(item["indent"]) <= indent):
                indent, name = len(item["indent"]), item["name"]
                self._tell(name, item["text"])
            elif name is not None:
                self._tell(name, self._line())
            self._at += 1
        return True

    def _numpy(self) -> bool:
        if not (_NUMPY.fullmatch(self._line()) and _RULE.fullmatch(self._line(1))):
            return False
        self._at += 2
        names: list[str] = []
        while self._at < len(self._lines) and not _RULE.fullmatch(self._line(1)):
            line = self._line()
            if line and not line[0].isspace():
                item = _NUMPY_ITEM.fullmatch(line)
                if item is None:
                    break
                names = [name.strip().lstrip("*") for name in item["name"].split(",")]
            else:
                for name in names:
                    self._tell(name, line)
            self._at += 1
        return True

    def _sphinx(self) -> bool:
        if _SPHINX_TYPE.fullmatch(self._line()):
            self._at += 1
            return True
        field = _SPHINX.fullmatch(self._line())
        if field is None:
            return False
        self._tell(field["name"], field["text"])
        self._at += 1
        while self._at < len(self._lines) and self._line()[:1].isspace() and self._line().strip() and not _SPHINX.fullmatch(self._line()):
            self._tell(field["name"], self._line())
            self._at += 1
        return True

    def _plain(self) -> bool:
        field = _PLAIN.fullmatch(self._line())
        if field is None or field["name"] not in self._known:
            return False
        self._tell(field["name"], field["text"])
        self._at += 1
        return True

    def _line(self, ahead: int = 0) -> str:
        place = self._at + ahead
        return self._lines[place] if place < len(self._lines) else ""

    def _tell(self, name: str, words: str) -> None:
        if name in self._known:
            self._told.setdefault(name, []).append(words)
