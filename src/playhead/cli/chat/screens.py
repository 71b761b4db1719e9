"""What a chat needs of what shows it: a terminal, or a pipe."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from rich.text import Text

from playhead.cli.chat.pieces import Piece
from playhead.cli.chat.session import Session


class Screen(Protocol):
    """Shows a chat: pieces and lines for good, and the state of the session for as long as it is that."""

    @property
    def width(self) -> int | None:
        """How many columns a line may have, None for any number."""
        ...

    def show(self, pieces: Iterable[Piece]) -> None:
        """Show pieces for good."""
        ...

    def lines(self, lines: Iterable[Text]) -> None:
        """Show lines for good."""
        ...

    def changed(self, session: Session) -> None:
        """Show another state of the session."""
        ...

    def suggest(self, text: str) -> None:
        """Put a line before the user, to send it or to change it."""
        ...

    def leave(self) -> None:
        """End the chat."""
        ...
