"""Texts that come in pieces, and are joined once: to add each piece to what came before would copy all of it each time."""

from __future__ import annotations


class GrowingTexts:
    """Texts by their names."""

    def __init__(self) -> None:
        self._pieces: dict[str, list[str]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._pieces

    def add(self, name: str, piece: str) -> None:
        """Add a piece to a text."""
        self._pieces.setdefault(name, []).append(piece)

    def whole(self) -> dict[str, str]:
        """Return the texts as they are now, in the order in which they began."""
        return {name: "".join(pieces) for name, pieces in self._pieces.items()}
