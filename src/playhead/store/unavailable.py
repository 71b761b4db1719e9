"""A store that is not there: every call says why."""

from __future__ import annotations

from typing import NoReturn

from playhead.entry.entry import TapeEntry
from playhead.errors import InvalidInput
from playhead.store.query import TapeQuery


class UnavailableTapeStore:
    """Stands where no store may be used, and raises InvalidInput with the given words for every call."""

    def __init__(self, message: str) -> None:
        self.message = message

    def list_tapes(self) -> list[str]:
        """Raise InvalidInput."""
        self._refuse()

    def reset(self, tape: str) -> None:
        """Raise InvalidInput."""
        self._refuse()

    def fetch_all(self, query: TapeQuery) -> list[TapeEntry]:
        """Raise InvalidInput."""
        self._refuse()

    def append(self, tape: str, entry: TapeEntry) -> TapeEntry:
        """Raise InvalidInput."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise InvalidInput(self.message)
