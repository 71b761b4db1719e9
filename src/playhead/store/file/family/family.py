"""A family as files: which branches and sidecars it has, where they go on from, and what is shown of whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property

from playhead.errors import BranchClosed, BranchNotFound, StoreDamaged
from playhead.store.change import OPEN, BranchRecord
from playhead.store.family import Kin, branch_name
from playhead.store.file.family.roster import Roster
from playhead.store.file.members import (
    OPEN_BRANCH,
    SIDECAR,
    STATES,
    MemberFile,
    branch_stem,
    family_directory,
    kept_stem,
    member_in,
    member_stem,
)
from playhead.store.file.names import SUFFIX, is_cut, label_of, label_stem
from playhead.store.file.place import Place, damaged
from playhead.store.file.record.header import Header, Origin
from playhead.store.file.record.lines import load
from playhead.store.file.record.stretch import Stretch, empty, header_at, opened, opened_up_to

Shown = tuple[Kin, int]
"""A generation of a member that is shown by a branch; the kin has no root."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A branch's file: its header, which names where it goes on from, and its state."""

    label: str
    state: str
    stem: str
    header: Header


class Family:
    """The files of a tape, of its branches and of their sidecars."""

    def __init__(self, place: Place, root: str) -> None:
        self.place = place
        self.root = root
        self.stem = place.stem(root)

    @cached_property
    def roster(self) -> Roster:
        """The files of branches and sidecars, for those who hold the guard of the family."""
        return Roster(self.place, self.stem)

    @contextmanager
    def newest(self, kin: Kin) -> Iterator[Stretch]:
        """Open the file of a member inside the block. Raises BranchNotFound where it is a branch, or beside one, that was never made."""
        if kin.sidecar is None:
            with self._main(kin) as stretch:
                yield stretch
            return
        stem = member_stem(self.stem, kin)
        if kin.branch is not None and self.state(kin.branch) is None:
            raise BranchNotFound(kin.main)
        with opened(self.place, stem) as stretch:
            yield stretch if stretch is not None and stretch.recording.tail.begun else empty(self.place, stem, self.beginning(kin))

    def older(self, origin: Origin, sidecar: str | None) -> AbstractContextManager[Stretch]:
        """Open the file that an origin is in, up to that entry, inside the block."""
        return opened_up_to(self.place, self._stems(Kin(self.root, origin.source, sidecar), origin.base.generation), origin)

    def known(self, kin: Kin) -> Family:
        """Return the family itself. Raises BranchNotFound where a member is a branch, or beside one, that was never made."""
        if kin.branch is not None and not self.is_made(kin.branch):
            raise BranchNotFound(kin.main)
        return self

    def beginning(self, kin: Kin) -> Header:
        """Return the first line of a sidecar's file that is not begun. Raises BranchNotFound."""
        if kin.branch is None:
            return Header(kin=kin, date="")
        return self.branch(kin.branch).header.beside(str(kin.sidecar))

    def state(self, label: str) -> str | None:
        """Return what a branch is, as the name of its file says, None where there is none of that label."""
        return next((state for state in STATES if self.place.disk.exists(self.place.path(branch_stem(self.stem, label, state)))), None)

    def absence(self, kin: Kin) -> BranchNotFound | BranchClosed:
        """Return the error of a branch, or of one that a sidecar stands beside, that is not open."""
        try:
            return BranchClosed(kin.main, self.branch(str(kin.branch)).state)
        except BranchNotFound as missing:
            return missing

    def is_made(self, label: str) -> bool:
        """Return whether a branch was made."""
        return any(header_at(self.place, branch_stem(self.stem, label, state)) is not None for state in STATES)

    def branch(self, label: str) -> Branch:
        """Return a branch. Raises BranchNotFound where there is none."""
        for state in STATES:
            stem = branch_stem(self.stem, label, state)
            header = header_at(self.place, stem)
            if header is not None:
                return Branch(label=label, state=state, stem=stem, header=header)
        raise BranchNotFound(branch_name(self.root, label))

    def branches(self) -> list[Branch]:
        """Return all branches, in the order they were made."""
        labels = {self._label(name, member) for name, member in self.files() if member.sidecar is None}
        found = []
        for label in labels - {None}:
            with suppress(BranchNotFound):
                found.append(self.branch(str(label)))
        return sorted(found, key=lambda branch: (branch.header.date, branch.header.uid))

    def has_open_branch(self) -> bool:
        """Return whether any branch can be written to."""
        return any(member.sidecar is None and member.state == OPEN and header_at(self.place, self._stem(name)) is not None for name, member in self._members(OPEN_BRANCH))

    def record(self, kin: Kin) -> BranchRecord | None:
        """Return what is known of a branch, or of a sidecar that was forked with one; None where there is none."""
        try:
            branch = self.branch(str(kin.branch))
        except BranchNotFound:
            return None
        header = branch.header if kin.sidecar is None else branch.header.beside(kin.sidecar)
        return None if header.origin is None else self.record_of(branch, header.origin, kin.sidecar)

    def records(self) -> list[BranchRecord]:
        """Return what is known of all branches, in the order they were made."""
        return [self.record_of(branch, branch.header.origin) for branch in self.branches() if branch.header.origin is not None]

    def record_of(self, branch: Branch, origin: Origin, sidecar: str | None = None) -> BranchRecord:
        """Return what is known of a branch, or of a sidecar with that origin."""
        return BranchRecord(
            name=Kin(self.root, branch.label, sidecar).name,
            parent=Kin(self.root, origin.parent, sidecar).name,
            base=origin.base,
            state=branch.state,
            owner=branch.header.owner,
            created_at=branch.header.date,
            closed_at=None if branch.state == OPEN else self.closed_at(branch),
        )

    def sidecars(self, label: str | None, *, names: Sequence[str] | None = None) -> list[str]:
        """Return the names of the sidecars of a tape or branch that show something, sorted; one that cannot be read does. `names` are those of all files. Raises BranchNotFound."""
        forked = {} if label is None else self.branch(label).header.sidecars
        found = {name for name, origin in forked.items() if origin.base.id}
        part = None if label is None else label_stem(label)
        for file, member in self._members(SIDECAR, names):
            if member.branch != part:
                continue
            name = label_of(str(member.sidecar))
            try:
                with opened(self.place, self._stem(file)) as stretch:
                    if stretch is None or not stretch.recording.tail.begun:
                        continue
                    name = name or (stretch.header.kin.sidecar if stretch.header is not None else None)
                    holds = stretch.recording.tail.id > 0
            except StoreDamaged:
                if name is None:
                    raise
                holds = True
            if name is not None:
                found.add(name) if holds else found.discard(name)
        return sorted(found)

    def names(self) -> list[str]:
        """Return the names of all files of branches and sidecars."""
        return self.place.disk.names(self.place.family(self.stem))

    def files(self) -> list[tuple[str, MemberFile]]:
        """Return the names of the files of branches and sidecars, and what they say."""
        return self._members(SUFFIX)

    def files_of(self, label: str) -> list[tuple[str, MemberFile]]:
        """Return the names of the files of a branch and its sidecars, and what they say."""
        part = label_stem(label)
        own = [name for name in self.names() if name.startswith(f"{part}.")]
        return [(name, member) for name, member in self._members(SUFFIX, own) if member.branch == part]

    def shown(self, branches: Iterable[Branch] | None = None) -> set[Shown]:
        """Return which generations of which members are shown by branches: by all, or by some."""
        headers = [branch.header for branch in (self.branches() if branches is None else branches)]
        found: set[Shown] = set()
        while headers:
            for kin, generation in headers.pop().shows():
                if (kin, generation) in found:
                    continue
                found.add((kin, generation))
                header = header_at(self.place, kept_stem(self.stem, kin, generation))
                headers += [] if header is None else [header]
        return found

    @contextmanager
    def _main(self, kin: Kin) -> Iterator[Stretch]:
        if kin.branch is None:
            with opened(self.place, self.stem) as stretch:
                yield empty(self.place, self.stem) if stretch is None else stretch
            return
        for state in STATES:
            with opened(self.place, branch_stem(self.stem, kin.branch, state)) as stretch:
                if stretch is None or not stretch.recording.tail.begun:
                    continue
                if stretch.header is None:
                    raise headless(stretch.recording.file.path)
                yield stretch
                return
        raise BranchNotFound(kin.main)

    def _members(self, ending: str, names: Sequence[str] | None = None) -> list[tuple[str, MemberFile]]:
        found = [name for name in (self.names() if names is None else names) if name.endswith(ending)]
        return [(name, member) for name in found if (member := member_in(name)) is not None]

    def _stems(self, kin: Kin, generation: int) -> Iterator[str]:
        """Yield the stems that the file of a generation of a member may have."""
        if kin.branch is None or kin.sidecar is not None:
            yield member_stem(self.stem, kin)
        else:
            yield from (branch_stem(self.stem, kin.branch, state) for state in STATES)
        yield kept_stem(self.stem, kin, generation)

    def _stem(self, name: str) -> str:
        return f"{family_directory(self.stem)}/{name.removesuffix(SUFFIX)}"

    def _label(self, name: str, member: MemberFile) -> str | None:
        """Return the label of a branch's file: as its name says, or as its first line says where that is cut."""
        if not is_cut(str(member.branch)):
            return label_of(str(member.branch))
        header = header_at(self.place, self._stem(name))
        return None if header is None else header.kin.branch

    def closed_at(self, branch: Branch) -> str | None:
        """Return when a branch ended: the date of its last line."""
        with opened(self.place, branch.stem) as stretch:
            if stretch is None:
                return None
            file = stretch.recording.file
            for _, raw in file.backwards(file.size):
                return load(raw).date
        return None


def headless(path: str) -> StoreDamaged:
    """Return the error of a branch whose first line does not say where it goes on from."""
    return damaged(path, 0, "its first line does not say where the branch goes on from")
