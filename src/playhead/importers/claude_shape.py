"""The shape of a Claude Code session: its records in the tree, by turn, and each result with the turn that asked for it."""

from __future__ import annotations

from playhead.importers.claude_records import Record, blocks_of, message_id, sort_of, text_of
from playhead.importers.places import key_of
from playhead.importers.tree import NO_GROUP, Sort, Tree

RECENT = 65_536
"""How many unanswered calls, and how many turns, are remembered while the tree is read."""


class Shape:
    """Adds records to a tree, and finds the turns they are part of and the calls they answer."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._latest: dict[int, int] = {}
        self._unanswered: dict[int, int] = {}
        self._orphans: dict[int, int] = {}

    def add(self, record: Record) -> bool:
        """Add a record; returns whether its uuid came before."""
        place, sort = len(self._tree), sort_of(record)
        group = self._group(record, sort, place)
        repeats = self._tree.add(
            sort=sort,
            key=uuid_key(record),
            parent=hashed(record, "parentUuid") or hashed(record, "logicalParentUuid"),
            group=group,
            side=record.get("isSidechain") is True,
            session=hashed(record, "sessionId"),
        )
        if sort == Sort.TURN:
            self._ask(record, group)
        if group and sort in (Sort.TURN, Sort.BOUNDARY, Sort.SUMMARY):
            self._follow(group, place)
        return repeats

    def _group(self, record: Record, sort: Sort, place: int) -> int:
        match sort:
            case Sort.TURN:
                return key_of(f"turn {id_}") if (id_ := message_id(record)) else NO_GROUP
            case Sort.BOUNDARY:
                return uuid_key(record)
            case Sort.SUMMARY:
                return hashed(record, "parentUuid")
            case Sort.RESULT:
                return self._answered(record, place)
        return NO_GROUP

    def _follow(self, group: int, place: int) -> None:
        before = self._latest.pop(group, None)
        if before is not None:
            self._tree.continues(before)
        _remember(self._latest, group, place)

    def _ask(self, record: Record, group: int) -> None:
        for block in blocks_of(record, "tool_use"):
            call = key_of(text_of(block, "id"))
            orphan = self._orphans.pop(call, None)
            if orphan is None:
                _remember(self._unanswered, call, group)
            elif group:
                self._tree.precedes_its_call(orphan, group)

    def _answered(self, record: Record, place: int) -> int:
        calls = [key_of(text_of(block, "tool_use_id")) for block in blocks_of(record, "tool_result")]
        groups = [self._unanswered.pop(call) for call in calls if call in self._unanswered]
        if not groups:
            _remember(self._orphans, calls[0], place)
        return groups[0] if groups else NO_GROUP


def uuid_key(record: Record) -> int:
    """Return the key of a record in the tree, 0 where it has no uuid."""
    return hashed(record, "uuid")


def hashed(record: Record, field: str) -> int:
    """Return the key of a text field, 0 where a record has none."""
    text = text_of(record, field)
    return key_of(text) if text else 0


def _remember(known: dict[int, int], key: int, value: int) -> None:
    known[key] = value
    if len(known) > RECENT:
        del known[next(iter(known))]
