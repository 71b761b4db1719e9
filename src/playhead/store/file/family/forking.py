"""Making a branch: where it goes on from its parent, and where each sidecar of that is cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial

from playhead.entry.entry import TapeEntry
from playhead.errors import NameTaken
from playhead.store.change import OPEN, Fork, check_cuts, cut_point, fork_names, fork_point
from playhead.store.family import Kin
from playhead.store.file.family.elders import Elders
from playhead.store.file.family.family import Family
from playhead.store.file.family.intake import Intake
from playhead.store.file.family.revision import Revision
from playhead.store.file.family.steps import discard, forget
from playhead.store.file.members import family_directory
from playhead.store.file.names import SUFFIX, is_cut, label_stem
from playhead.store.file.record.draft import Standing
from playhead.store.file.record.header import Header, Origin
from playhead.store.file.record.lineage import Lineage
from playhead.store.file.record.recording import Recording
from playhead.store.protocol import Head


def fork(revision: Revision, work: Intake, change: Fork) -> None:
    """Add a new branch to a revision. Raises InvalidInput, BranchNotFound, NameTaken."""
    kin, (label, parent) = work.kin, fork_names(change)
    forking = Forking(revision)
    head = revision.head(parent)
    at = fork_point(change, end=head.id)
    if kin in revision.sheets or not _is_free(revision.household.family, label):
        raise NameTaken(change.tape)
    _name_family(revision)
    cuts = forking.cuts(change, parent, Head(head.generation, at))
    header = Header(
        kin=kin,
        date=work.date,
        generation=head.generation,
        uid=work.uid,
        owner=change.owner,
        origin=forking.origin(parent, Head(head.generation, at)),
        sidecars={name: forking.origin(parent._replace(sidecar=name), cut) for name, cut in cuts.items()},
    )
    sheet = revision.blank(header, standing=forking.standing(parent, header))
    sheet.is_new = True
    sheet.beside = {name: forking.standing(parent._replace(sidecar=name), header.beside(name)) for name in cuts}
    revision.sheets[kin] = sheet


def _name_family(revision: Revision) -> None:
    """Have the file of the tape made where only its first line can tell the whole name of the family."""
    family = revision.household.family
    if is_cut(family.stem) and not family.place.disk.exists(family.place.path(family.stem)):
        revision.writable(Kin(family.root)).is_named = True


def _is_free(family: Family, label: str) -> bool:
    """Return whether there is no branch of a label; what a loss of power left of one that was never acknowledged is removed."""
    left = family.roster.files_of(label_stem(label))
    if (left or family.state(label) is not None) and family.is_made(label):
        return False
    for name in left:
        stem = f"{family_directory(family.stem)}/{name.removesuffix(SUFFIX)}"
        discard(family.place.disk, family.place.path(stem))
        forget(family.place, stem)
    return True


class Forking:
    """Looks for fork points in the tapes of a family, as the changes before have left them."""

    def __init__(self, revision: Revision) -> None:
        self._revision = revision
        self._sheets = revision.sheets
        self._family = revision.household.family

    def origin(self, kin: Kin, base: Head) -> Origin:
        """Return where a branch of a tape goes on from that shares its entries up to `base`."""
        sheet = self._sheets.get(kin)
        if not base.id:
            return Origin(parent=kin.branch, base=base, source=None, place=0)
        if sheet is not None and (sheet.pasts or base.id > sheet.tail.id):
            return Origin(parent=kin.branch, base=base, source=kin.branch, place=0)
        if sheet is not None and not sheet.tail.begun:
            return self._inherited(kin, base, sheet.header.origin)
        with self._recorded(kin) as (recording, before):
            if base.id > recording.shared:
                return Origin(parent=kin.branch, base=base, source=kin.branch, place=recording.up_to(base.id).tail.end)
        return self._inherited(kin, base, before)

    def cuts(self, change: Fork, parent: Kin, limit: Head) -> dict[str, Head]:
        """Return where each sidecar of a tape is cut: where the change says, where it ends, or behind what was written when the tape ended at a limit."""
        heads = {name: head for name in sorted(self._sidecars(parent)) if (head := self._revision.head(parent._replace(sidecar=name))).id}
        check_cuts(change, heads)
        ends = {name: cut_point(change, name, end=head.id, marked_up_to=partial(self._marked_up_to, parent._replace(sidecar=name), limit)) for name, head in heads.items()}
        return {name: heads[name]._replace(id=end) for name, end in ends.items() if end is not None}

    def standing(self, kin: Kin, header: Header) -> Standing:
        """Return what tells which entry that a branch shows of its parent has a key."""
        sheet, last = self._sheets.get(kin), header.shared
        if sheet is None:
            return Elders(self._family, header).standing
        draft = sheet.draft

        def shown(key: str) -> TapeEntry | None:
            found = draft.standing(key)
            return found if found is not None and found.id <= last else None

        return shown

    def _inherited(self, kin: Kin, base: Head, before: Origin | None) -> Origin:
        """Return the origin of a branch whose last shared entry stands in a file that its parent was forked from."""
        source, place = None, 0
        while before is not None:
            source, place = before.source, before.place
            if base.id == before.base.id:
                break
            sheet = self._sheets.get(Kin(kin.root, source, kin.sidecar))
            if sheet is not None and sheet.is_changed:
                place, is_there, before = 0, base.id > sheet.header.shared, sheet.header.origin
            else:
                with self._family.older(before, kin.sidecar) as stretch:
                    place, is_there, before = stretch.recording.up_to(base.id).tail.end, base.id > stretch.recording.shared, stretch.origin
            if is_there:
                break
        return Origin(parent=kin.branch, base=base, source=source, place=place)

    def _sidecars(self, parent: Kin) -> set[str]:
        main = self._sheets.get(parent)
        if main is not None and main.is_new:
            kept: Iterable[str] = main.header.sidecars
        else:
            names = self._family.roster.files_of(None if parent.branch is None else label_stem(parent.branch))
            kept = self._family.sidecars(parent.branch, names=names)
        return {*kept, *(kin.sidecar for kin in self._sheets if kin.sidecar is not None and kin.branch == parent.branch)}

    def _marked_up_to(self, kin: Kin, limit: Head) -> int:
        """Return the id of the last entry of a sidecar that was written when its main tape ended at a limit or before."""
        sheet, main = self._sheets.get(kin), self._sheets.get(kin._replace(sidecar=None))
        if sheet is not None:
            behind = next((place for place, mark in enumerate(reversed(sheet.draft.marks)) if mark is not None and mark <= limit), None)
            if behind is not None or sheet.pasts:
                return 0 if behind is None else sheet.draft.head.id - behind
        if main is None or not main.is_new:
            with self._family.newest(kin) as stretch:
                return Lineage(self._family, stretch, sidecar=kin.sidecar).marked_up_to(limit)
        origin = main.header.sidecars.get(str(kin.sidecar))
        return 0 if origin is None else min(origin.base.id, self._marked_up_to(Kin(kin.root, origin.source, kin.sidecar), limit))

    @contextmanager
    def _recorded(self, kin: Kin) -> Iterator[tuple[Recording, Origin | None]]:
        """Open a tape as its file has it, and what is shown before that."""
        household = self._revision.household
        if kin.branch is not None and self._family.state(kin.branch) != OPEN:
            with self._family.newest(kin) as stretch:
                yield stretch.recording, stretch.origin
            return
        household.look(kin)
        held = household.tape(kin)
        yield held.recording(), held.header.origin if held.header.shared else None
