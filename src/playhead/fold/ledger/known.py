"""What is known of two tapes while something pure is decided: where entries stand, and what summaries there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from playhead.fold.node import Node


class Unread(Exception):
    """What must be looked up before it can be decided, which is then asked again.

    `places` are uids of entries of the main tape, `nodes` of summaries; `below` are summaries that stand, whose children are asked for.
    """

    def __init__(self, *, places: Iterable[str] = (), nodes: Iterable[str] = (), below: Iterable[Node] = ()) -> None:
        super().__init__()
        self.places = frozenset(places)
        self.nodes = frozenset(nodes)
        self.below = tuple(below)


class Known:
    """Answers from what was looked up. Raises Unread for what was not, all of it at once where several are asked for.

    `places` holds entry ids of the main tape by uid, 0 for what is not there; `nodes` summaries by uid, None for what is none.
    What is not in there is looked for in `more`.
    """

    def __init__(self, *more: Mapping[str, Node]) -> None:
        self.places: dict[str, int] = {}
        self.nodes: dict[str, Node | None] = {}
        self._more = more

    def place(self, uid: str) -> int:
        """Return where an entry stands, 0 where it does not."""
        if not isinstance(uid, str):
            return 0
        place = self.places.get(uid)
        if place is None:
            raise Unread(places=[uid])
        return place

    def several(self, uids: Iterable[str]) -> list[Node | None]:
        """Return summaries in the order they are asked for, whether they stand or not; None for what is none."""
        found = [(uid, self._found(uid)) for uid in uids]
        missing = [uid for uid, node in found if node is None and isinstance(uid, str) and uid not in self.nodes]
        if missing:
            raise Unread(nodes=missing)
        return [node for _, node in found]

    def children(self, nodes: Iterable[Node]) -> list[Node]:
        """Return the summaries that some which stand were merged from, in order."""
        parents = tuple(nodes)
        found = [[(uid, self._found(uid)) for uid in parent.children] for parent in parents]
        missing = [parent for parent, its in zip(parents, found, strict=True) if any(node is None and uid not in self.nodes for uid, node in its)]
        if missing:
            raise Unread(below=missing)
        return [node for its in found for _, node in its if node is not None]

    def _found(self, uid: object) -> Node | None:
        if not isinstance(uid, str):
            return None
        node = self.nodes.get(uid)
        if node is not None:
            return node
        return next((found for more in self._more if (found := more.get(uid)) is not None), None)
