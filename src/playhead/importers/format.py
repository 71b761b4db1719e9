"""What is known of a format: its name, how it is told, and the reader for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from playhead.importers.certainty import Certainty
from playhead.importers.conversations import Conversations
from playhead.importers.dialect import Dialect
from playhead.importers.items import Source
from playhead.importers.lines import Raw


class Reader(Protocol):
    """Makes a source of the lines, or the elements, of a file."""

    def __call__(self, raws: Iterable[Raw], *, path: str, source: str) -> Source:
        """Return the source; nothing is read yet."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format of files.

    `lists` name the members of a JSON document that are read element by element; `judge` tells how sure it is that
    a value is of the format; `covers` are formats whose marks its own files may bear.
    """

    name: str
    lists: frozenset[str]
    judge: Callable[[object], Certainty]
    reader: Reader
    covers: frozenset[str] = frozenset()


def spoken_in(dialect: Dialect, *, covers: Iterable[str] = ()) -> Format:
    """Return the format of files of conversations in a dialect."""
    return Format(name=dialect.format, lists=frozenset(dialect.lists), judge=dialect.judge, reader=partial(Conversations, dialect=dialect), covers=frozenset(covers))
