"""Proving a file store: every line, every index, and what the files of a family say of each other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import NamedTuple

from playhead.entry import codec
from playhead.errors import FileMissing, InvalidInput, StoreDamaged, StoreError
from playhead.store.blobs import refs_in
from playhead.store.condition.failures import typed
from playhead.store.condition.flaws import Flaws, VerifyReport
from playhead.store.family import Kin, kin_of
from playhead.store.file import blobs
from playhead.store.file.family.archiving import unwanted
from playhead.store.file.family.ledger import CURSORS, LEASES, Ledger
from playhead.store.file.marking import names_of
from playhead.store.file.members import FAMILY, HIDDEN, MemberFile, family_directory, generation_kept, is_member, member_in
from playhead.store.file.names import SUFFIX, is_cut, stem_of, tape_of
from playhead.store.file.place import Place
from playhead.store.file.record.codec import decoded
from playhead.store.file.record.lines import Line, moved_in
from playhead.store.file.record.recording import Recording
from playhead.store.file.record.snapshot import Snapshot
from playhead.store.file.record.stretch import header_at
from playhead.store.file.upkeep.beginning import kin_in
from playhead.store.file.upkeep.index_check import check_index
from playhead.store.file.upkeep.kin_check import KinCheck, Member
from playhead.store.file.upkeep.line_check import LineCheck
from playhead.store.file.upkeep.words_check import check_words
from playhead.store.parting import apart, joined

MOST_OPEN = 200
"""How many files of a family are opened at once; where there are more, nobody writes until all are proved."""

_LEFT_OVER = (".draft", ".part")
_EVER = 1 << 63


class _Found(NamedTuple):
    """A file of a family: its stem, and what its name says."""

    stem: str
    member: MemberFile | None
    generation: int | None


def verify(place: Place) -> VerifyReport:
    """Read all files of a store, each family as it is at one moment, and return what is amiss; nothing is changed, and others may write meanwhile. Blocks.

    Raises FileMissing where there is no such directory, StoreUnavailable, StoreBusy.
    """
    if not os.path.isdir(place.directory):
        raise FileMissing(place.directory, "no such directory")
    flaws, tapes, entries = Flaws(), 0, 0
    try:
        for stem in root_stems(place):
            found, its_tapes, its_entries = _proved(place, stem)
            flaws.take(found)
            tapes += its_tapes
            entries += its_entries
        _check_leftovers(place, flaws)
        for name in unwanted(place, before=_EVER):
            flaws.add("archived chunks of no file", where=place.disk.directory(name), severity="remnant")
        blobs.check(place, flaws)
    except OSError as exc:
        raise typed(exc, path=place.directory) from exc
    return flaws.report(place.directory, tapes=tapes, entries=entries)


def root_stems(place: Place) -> list[str]:
    """Return the stems of all families, sorted: of those that have a file, and of those that have members only. A directory without files is of none."""
    found = {name.removesuffix(SUFFIX) for name in place.disk.names(place.directory) if name.endswith(SUFFIX) and not name.startswith(".")}
    for directory in (place.directory, place.hidden):
        found |= {name.removesuffix(FAMILY) for name in place.disk.names(directory) if name.endswith(FAMILY) and _has_files(place, f"{directory}/{name}")}
    return sorted(stem for stem in found if stem and not os.path.isdir(place.path(stem)))


def _has_files(place: Place, directory: str) -> bool:
    return any(name.endswith(SUFFIX) for name in place.disk.names(directory))


def family_stems(place: Place, stem: str) -> list[str]:
    """Return the stems of the files of a family."""
    return [found.stem for found in _files(place, stem)]


def has_writers(place: Place) -> bool:
    """Return whether anybody could write to a store meanwhile; where not, there is nobody to be kept away, and no lock can be had."""
    return not place.read_only and place.disk.exists(place.hidden) and os.access(place.hidden, os.W_OK)


@contextmanager
def standing_still(place: Place, stem: str) -> Iterator[None]:
    """Keep all others from writing to a family inside the block."""
    with ExitStack() as stack:
        if has_writers(place):
            lock = place.lock(stem)
            stack.callback(lock.close)
            stack.enter_context(lock)
        yield


def _proved(place: Place, stem: str) -> tuple[Flaws, int, int]:
    """Return what is amiss in a family, how many tapes it has and how many entries; what looks damaged is looked at again while nobody writes."""
    flaws = Flaws()
    counts = _Proof(place, stem, flaws, most_open=MOST_OPEN).run()
    if flaws.has_damage:
        flaws = Flaws()
        counts = _Proof(place, stem, flaws, most_open=0).run()
    return flaws, *counts


class _Proof:
    """One look at all files of a family, at most `most_open` of them after others may write again."""

    def __init__(self, place: Place, stem: str, flaws: Flaws, *, most_open: int) -> None:
        self._most_open = most_open
        self._place = place
        self._stem = stem
        self._flaws = flaws
        self._members: list[Member] = []
        self._is_unfinished = False

    def run(self) -> tuple[int, int]:
        """Note what is amiss; return how many tapes and how many entries there are."""
        with ExitStack() as files:
            with standing_still(self._place, self._stem):
                self._root = self._name()
                self._look_at_redo()
                found = _files(self._place, self._stem)
                opened = [(one, self._opened(one.stem, files)) for one in found[: self._most_open]]
                for one in found[self._most_open :]:
                    with ExitStack() as own:
                        self._check(one, self._opened(one.stem, own))
            for one, file in opened:
                self._check(one, file)
        self._check_ledgers()
        if not self._is_unfinished:
            KinCheck(self._place, self._stem, self._members, self._flaws).run()
        current = [member for member in self._members if member.kept is None]
        return len(current), sum(member.facts.entries for member in self._members)

    def _name(self) -> str:
        """Return the tape's name; where it cannot be read back, the file's."""
        name = root_name(self._place, self._stem)
        if name is None:
            self._flaws.add("nobody can tell which tape it is of, so it is not listed", where=self._place.path(self._stem), severity="fault")
            return self._stem
        if self._place.stem(name) != self._stem:
            self._flaws.add(f"it is hidden by '{self._place.stem(name)}{SUFFIX}', which is of the same tape", where=self._place.path(self._stem), severity="fault", tape=name)
        return name

    def _look_at_redo(self) -> None:
        redo = self._place.redo(self._stem)
        self._is_unfinished = self._place.disk.exists(redo)
        if self._is_unfinished:
            what = "a change to several files was begun and is not finished; the next who opens the tape finishes it"
            self._flaws.add(what, where=redo, severity="remnant", tape=self._root)

    def _opened(self, stem: str, files: ExitStack) -> Snapshot | None:
        path, disk = self._place.path(stem), self._place.disk
        try:
            fd = disk.open_to_read(path)
            if disk.is_spoilt(path):
                self._flaws.add("one of its first two lines, which say where its archived entries are, is not as it was written", where=path, severity="damage", tape=self._root)
        except (OSError, StoreDamaged) as exc:
            why = exc.message if isinstance(exc, StoreDamaged) else f"it cannot be opened ({exc.strerror or exc})"
            self._flaws.add(why, where=path, severity="damage", tape=self._root)
            return None
        files.callback(disk.close, fd)
        return Snapshot(disk=disk, fd=fd, path=path, size=disk.state_of(fd).st_size)

    def _check(self, found: _Found, file: Snapshot | None) -> None:
        if file is None:
            return
        kin = self._kin(found)
        is_sidecar = found.member is not None and found.member.sidecar is not None
        facts = LineCheck(file, tape=kin.name, is_marked=is_sidecar, flaws=self._flaws, check_blobs=partial(self._check_blobs, kin.name)).run()
        if facts.header is not None and is_member(found.stem):
            kin = facts.header.kin._replace(root=self._root)
        member = Member(stem=found.stem, name=found.member, kin=kin, kept=found.generation, facts=facts)
        self._members.append(member)
        if not facts.is_damaged and facts.tail.begun:
            recording = Recording(file, facts.tail, place=self._place, shared=facts.shared)
            check_index(self._place, found.stem, recording, tape=kin.name, flaws=self._flaws)
            check_words(self._place, found.stem, recording, tape=kin.name, flaws=self._flaws)

    def _check_blobs(self, tape: str, line: Line) -> None:
        """Take note of blobs of an entry that are not there; what a codec wrote can only be told with it."""
        with suppress(StoreError, ValueError, RecursionError):
            if names_of(self._place, self._place.directory, line):
                line = decoded(line, self._place.codec, path=self._place.directory)
                payload, parts = apart(joined(bytes(line.payload), moved_in(line) or b"[]"))
                refs = refs_in(codec.decode(bytes(line.meta)), payload)
                self._flaws.blobs(parts=parts, refs=refs, tape=tape, id=line.id, has=partial(blobs.is_kept, self._place))

    def _kin(self, found: _Found) -> Kin:
        """Return whose a file is, as its name says; its header says it again."""
        if found.member is None:
            return Kin(self._root)
        header = None
        with suppress(StoreError, OSError):
            header = header_at(self._place, found.stem)
        if header is not None:
            return header.kin._replace(root=self._root)
        return (kin_in(found.stem) or Kin(""))._replace(root=self._root)

    def _check_ledgers(self) -> None:
        for name in (LEASES, CURSORS):
            ledger = Ledger(self._place, self._stem, name)
            if not ledger.read() and _content(ledger.path) not in (None, ledger.text({}).encode()):
                self._flaws.add(f"the {name} of the family cannot be read, so they count as none", where=ledger.path, severity="fault", tape=self._root)


def root_name(place: Place, stem: str) -> str | None:
    """Return the name of the tape that a stem is of, None where nobody can tell."""
    if is_cut(stem):
        with suppress(StoreError, OSError):
            header = header_at(place, stem)
            return header.kin.root if header is not None and header.kin.root and stem_of(header.kin.root) == stem else None
        return None
    name = tape_of(stem)
    with suppress(InvalidInput):
        if name is not None:
            return name if kin_of(name).is_root else None
        return stem if kin_of(stem).is_root else None
    return None


def _files(place: Place, stem: str) -> list[_Found]:
    """Return the files of a family: that of the tape, those of branches and sidecars, and those that keep earlier generations."""
    found = [_Found(stem, None, None)] if place.disk.exists(place.path(stem)) else []
    for name in sorted(place.disk.names(place.family(stem))):
        member = member_in(name)
        if member is not None:
            found.append(_Found(f"{family_directory(stem)}/{name.removesuffix(SUFFIX)}", member, None))
    for name in sorted(place.disk.names(f"{place.hidden}/{family_directory(stem)}")):
        kept = generation_kept(name)
        if kept is not None:
            found.append(_Found(f"{HIDDEN}/{family_directory(stem)}/{name.removesuffix(SUFFIX)}", *kept))
    return found


def _check_leftovers(place: Place, flaws: Flaws) -> None:
    """Note drafts of writers that died, and files in the directories of families that are no member's."""
    for directory in (place.directory, place.hidden, *(f"{above}/{name}" for above in (place.directory, place.hidden) for name in place.disk.names(above) if name.endswith(FAMILY))):
        for name in sorted(place.disk.names(directory)):
            if name.endswith(_LEFT_OVER):
                flaws.add("a draft that somebody left who died", where=f"{directory}/{name}", severity="remnant")
            elif directory.endswith(FAMILY) and name.endswith(SUFFIX) and member_in(name) is None and generation_kept(name) is None:
                flaws.add("it is named like no branch and no sidecar, so nobody reads it", where=f"{directory}/{name}", severity="fault")


def _content(path: str) -> bytes | None:
    """Return the bytes of a small file, None where there is none."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
