"""What is known of a family: a log of events on a tape of the user's store, reduced in order to a state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from playhead.entry.entry import TapeEntry, event_name
from playhead.store.adapted import events
from playhead.store.adapted.events import Start, lease_in, record_in
from playhead.store.change import BranchRecord, Lease
from playhead.store.family import FAMILY, kin_of
from playhead.store.protocol import Head


@dataclass(slots=True)
class FamilyState:
    """Branches and sidecars of branches by name, in the order they were made; generations, leases, cursors; changes that were begun.

    `made` are the branches whose tapes are this family's own, also those that are gone or half made. `leaving` is the root that
    the family is being renamed to, and the uid of the event that says so; `came_by` is that uid at the other end.
    """

    records: dict[str, BranchRecord] = field(default_factory=dict)
    starts: dict[str, Start] = field(default_factory=dict)
    leases: dict[str, Lease] = field(default_factory=dict)
    cursors: dict[tuple[str, str], Head] = field(default_factory=dict)
    begun: dict[str, dict[str, Head]] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)
    leaving: tuple[str, str] | None = None
    came_by: str | None = None
    is_known: bool = False

    @property
    def branches(self) -> list[BranchRecord]:
        """The records of branches, without those of sidecars."""
        return [record for record in self.records.values() if kin_of(record.name).sidecar is None]

    def take(self, entry: TapeEntry) -> None:
        """Go on by one event; one that does not fit what came before it changes nothing."""
        self.is_known = True
        told: Mapping[str, Any] = entry.payload.get("data", {})
        match event_name(entry):
            case events.STARTS:
                self._start(told["tapes"])
            case events.FORKS:
                self.made.add(told["tape"])
            case events.FORKED:
                self._fork(told)
            case events.CLOSED:
                self._close(told)
            case events.COLLECTED:
                self._collect(told["tapes"])
            case events.RENAMED:
                self._rename(told)
            case events.LEAVES:
                self.leaving = (told["for"], entry.uid)
            case events.ARRIVED:
                self._arrive(told)
            case events.LEFT:
                self._leave()
            case events.LEASED:
                self._lease(lease_in(told))
            case events.READ:
                self.cursors[told["tape"], told["consumer"]] = Head(*told["head"])
            case events.BEGUN:
                self.begun[told["work"]] = {tape: Head(*head) for tape, head in told["heads"].items()}
            case events.DONE:
                self.begun.pop(told["work"], None)

    def _start(self, starts: Mapping[str, Sequence[int]]) -> None:
        self.starts.update({tape: Start(*start) for tape, start in starts.items()})

    def _fork(self, told: Mapping[str, Any]) -> None:
        records = [record_in(row) for row in told["records"]]
        if records and not any(record.name in self.records for record in records):
            self.made.add(records[0].name)
            self.records |= {record.name: record for record in records}
            self._start(told["starts"])

    def _close(self, told: Mapping[str, Any]) -> None:
        for record in list(self.records.values()):
            if kin_of(record.name).main == told["tape"] and record.is_open:
                self.records[record.name] = replace(record, state=told["outcome"], closed_at=told["at"])

    def _collect(self, tapes: Iterable[str]) -> None:
        gone = frozenset(tapes)
        self.records = {name: record for name, record in self.records.items() if kin_of(name).main not in gone}
        self.starts = {name: start for name, start in self.starts.items() if kin_of(name).main not in gone}
        self.cursors = {(name, consumer): head for (name, consumer), head in self.cursors.items() if kin_of(name).main not in gone}
        self.leases = {name: _freed(lease) if kin_of(name).main in gone else lease for name, lease in self.leases.items()}

    def _rename(self, told: Mapping[str, Any]) -> None:
        old, new = told["tape"], told["name"]
        if old not in self.records or new in self.records:
            return
        self.made.add(new)
        leases = {name: lease for name, lease in self.leases.items() if kin_of(name).main == old}
        moved = self.renamed(old, new)
        self.records, self.starts, self.cursors = moved.records, moved.starts, moved.cursors
        self._start(told["starts"])
        for name, lease in leases.items():
            self._lease(moved.leases[within(name, old, new)])
            self.leases[name] = _freed(lease)

    def _arrive(self, told: Mapping[str, Any]) -> None:
        if self.records:
            return
        self.records = {record.name: record for record in map(record_in, told["records"])}
        self._start(told["starts"])
        self.cursors |= {(tape, consumer): Head(*head) for tape, consumer, head in told["cursors"]}
        self.made |= {record.name for record in self.branches}
        self.came_by = told["by"]
        for lease in map(lease_in, told["leases"]):
            self._lease(lease)

    def _leave(self) -> None:
        self.leases = {name: _freed(lease) for name, lease in self.leases.items()}
        self.records, self.starts, self.cursors, self.begun, self.leaving, self.came_by = {}, {}, {}, {}, None, None

    def _lease(self, lease: Lease) -> None:
        standing = self.leases.get(lease.tape)
        if standing is None or lease.epoch >= standing.epoch:
            self.leases[lease.tape] = lease

    def renamed(self, old: str, new: str) -> FamilyState:
        """Return the state with everything of a tape or branch, or of a whole family where `old` is its root, under another name."""
        names = {name: within(name, old, new) for name in {*self.records, *self.starts, *self.leases, *(tape for tape, _ in self.cursors)}}
        return FamilyState(
            records={names[name]: replace(record, name=names[name], parent=within(record.parent, old, new)) for name, record in self.records.items()},
            starts={names[name]: start for name, start in self.starts.items()},
            leases={names[name]: replace(lease, tape=names[name]) for name, lease in self.leases.items()},
            cursors={(names[tape], consumer): head for (tape, consumer), head in self.cursors.items()},
        )

    def lineage(self, tape: str, generation: int) -> list[int]:
        """Return the ids behind which the parts begin that a branch's tape is made of, the last part first."""
        cuts: list[int] = []
        while (record := self.records.get(tape)) is not None and record.base.generation == generation:
            cuts.append(min(record.base.id, cuts[-1]) if cuts else record.base.id)
            tape = record.parent
        return cuts


def reduced(entries: Iterable[TapeEntry]) -> FamilyState:
    """Return the state that the events of a family lead to."""
    state = FamilyState()
    for entry in entries:
        state.take(entry)
    return state


def by_uids(entries: Sequence[TapeEntry], cuts: Iterable[int]) -> dict[str, TapeEntry]:
    """Return a tape's entries by uid: of several the first of the last part that has one, parted behind the ids `cuts`."""
    found: dict[str, TapeEntry] = {}
    end = None
    for cut in (*cuts, 0):
        part = {entry.uid: entry for entry in reversed(entries) if entry.id > cut and (end is None or entry.id <= end)}
        found = part | found
        end = cut
    return found


def control_tape(root: str) -> str:
    """Return the name of the tape that a family's events stand on."""
    return f"{root}{FAMILY}"


def within(name: str, old: str, new: str) -> str:
    """Return what a tape is called once the tape or branch that it belongs to, or its whole family, is called otherwise."""
    kin, before, after = kin_of(name), kin_of(old), kin_of(new)
    if kin.root != before.root or (before.branch is not None and kin.branch != before.branch):
        return name
    return kin._replace(root=after.root, branch=kin.branch if before.branch is None else after.branch).name


def _freed(lease: Lease) -> Lease:
    return replace(lease, owner="", until=0)
