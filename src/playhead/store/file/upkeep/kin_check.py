"""Proving what the files of a family say of each other: headers and names, where branches go on from, and where marks point to."""

from __future__ import annotations

from dataclasses import dataclass

from playhead.store.change import OPEN
from playhead.store.condition.flaws import Flaws, Severity
from playhead.store.family import Kin
from playhead.store.file.members import MemberFile
from playhead.store.file.names import SUFFIX, label_stem
from playhead.store.file.place import Place
from playhead.store.file.record.header import Origin
from playhead.store.file.upkeep.line_check import FileFacts
from playhead.store.protocol import Head


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A file of a family: what its name says, whose it is, which earlier generation it keeps (None: none), and what it holds."""

    stem: str
    name: MemberFile | None
    kin: Kin
    kept: int | None
    facts: FileFacts


class KinCheck:
    """Compares the files of one family."""

    def __init__(self, place: Place, stem: str, members: list[Member], flaws: Flaws) -> None:
        self._place = place
        self._stem = stem
        self._members = members
        self._flaws = flaws
        self._files = {(member.kin, member.facts.generation): member for member in members}
        self._newest = {member.kin: member for member in members if member.kept is None}

    def run(self) -> None:
        """Note whatever does not fit."""
        shown = self._shown()
        for member in self._members:
            self._check_name(member)
            self._check_header(member)
            self._check_state(member)
            self._check_marks(member)
            if member.kept is not None and (member.kin, member.facts.generation) not in shown:
                self._note("an earlier generation that no branch shows any more", member, "remnant")

    def _shown(self) -> set[tuple[Kin, int]]:
        """Return which generations of which members are shown by branches, over any number of others."""
        root = next((member.kin.root for member in self._members), "")
        waiting = [member for member in self._members if member.kept is None]
        shown: set[tuple[Kin, int]] = set()
        while waiting:
            header = waiting.pop().facts.header
            for kin, generation in header.shows() if header is not None else ():
                found = kin._replace(root=root), generation
                if found not in shown:
                    shown.add(found)
                    waiting += [self._files[found]] if found in self._files else []
        return shown

    def _check_name(self, member: Member) -> None:
        said = member.name
        if said is None:
            return
        for what, label, part in (("branch", member.kin.branch, said.branch), ("sidecar", member.kin.sidecar, said.sidecar)):
            if part != (None if label is None else label_stem(label)):
                self._note(f"its first line says that it is of the {what} {label!r}, unlike its name", member)
        if said.sidecar is not None and said.branch is not None and Kin(member.kin.root, member.kin.branch) not in self._newest:
            self._note("the branch of this sidecar is not there, so nobody reads it", member)

    def _check_header(self, member: Member) -> None:
        facts, header = member.facts, member.facts.header
        if header is None:
            if member.name is not None and member.name.sidecar is None and facts.entries:
                self._note("nothing says where the branch goes on from", member, "damage")
            return
        if member.kept is not None and member.kept != facts.generation:
            self._note(f"it holds generation {facts.generation}, unlike its name", member)
        if header.origin is not None:
            self._check_origin(member, header.origin, sidecar=member.kin.sidecar, is_shown=bool(header.shared))
        for name, origin in header.sidecars.items():
            self._check_origin(member, origin, sidecar=name, is_shown=bool(origin.base.id))

    def _check_origin(self, member: Member, origin: Origin, *, sidecar: str | None, is_shown: bool) -> None:
        root = member.kin.root
        if origin.parent is not None and Kin(root, origin.parent) not in self._newest:
            self._note(f"it was forked from the branch '{origin.parent}', which is not there", member)
        if not is_shown:
            return
        source = self._files.get((Kin(root, origin.source, sidecar), origin.base.generation))
        if source is None:
            kin = Kin(root, origin.source, sidecar)
            self._note(f"it goes on from entry {origin.base.id} of generation {origin.base.generation} of '{kin.name}', which is not there", member, "damage")
        elif not source.facts.is_damaged and not source.facts.shared < origin.base.id <= source.facts.last:
            self._note(f"it goes on from entry {origin.base.id} of '{source.kin.name}', which has {source.facts.shared + 1} to {source.facts.last}", member, "damage")

    def _check_state(self, member: Member) -> None:
        if member.name is None or member.name.sidecar is not None or member.kept is not None or member.facts.is_damaged:
            return
        said = member.facts.outcome or OPEN
        if said != member.name.state:
            self._note(f"its name says that the branch is {member.name.state}, its last line that it is {said}", member)

    def _check_marks(self, member: Member) -> None:
        main = self._newest.get(member.kin._replace(sidecar=None))
        if member.kin.sidecar is None or member.kept is not None or (main is not None and main.facts.is_damaged):
            return
        end = Head(0, 0) if main is None else main.facts.head
        if member.facts.mark > end:
            self._note(f"an entry is marked with {tuple(member.facts.mark)}, but its main tape ends at {tuple(end)}", member)

    def _note(self, what: str, member: Member, severity: Severity = "fault") -> None:
        self._flaws.add(what, where=f"{self._place.directory}/{member.stem}{SUFFIX}", severity=severity, tape=member.kin.name)
