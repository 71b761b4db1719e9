"""How a damaged file begins: its first line where that is good, else what it must have said."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from playhead import clock
from playhead.entry.entry import format_date
from playhead.errors import StoreError
from playhead.store.family import Kin
from playhead.store.file.members import STATES, branch_stem, family_directory, generation_kept, is_member, kept_stem, member_in
from playhead.store.file.names import SUFFIX, label_of, tape_of
from playhead.store.file.place import Place
from playhead.store.file.record.header import Header, Origin, header_in
from playhead.store.file.record.lines import BadLine, Line, load
from playhead.store.file.record.snapshot import Snapshot
from playhead.store.file.record.stretch import header_at, opened
from playhead.store.protocol import Head


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """How many entries come before those of a file, and the first line to give it, None where the one it has is good or it needs none."""

    shared: int = 0
    header: Header | None = None


def beginning_of(file: Snapshot, place: Place, root: str, stem: str, *, generation: int, older: int) -> Beginning:
    """Return how a file begins that has lines of ours.

    Where the first line of a branch is lost, it is taken to have been forked from the tape itself, in front of its own first entry;
    that of a sidecar is told by the branch it stands beside.
    """
    if older:
        return Beginning()
    lines, kin = _first_lines(file), kin_in(stem)
    header = header_in(lines[0]) if lines and lines[0] is not None else None
    if header is not None:
        return Beginning(shared=header.shared)
    if kin is None or kin.branch is None:
        return _of_generation(kin or Kin(tape_of(stem) or ""), generation) if not any(lines) else Beginning()
    if kin.sidecar is None:
        return _guessed(place, root, kin, stem, generation=generation, next_id=_next_id(lines))
    header = _beside(place, root, kin, generation)
    return Beginning() if header is None or header.origin is None else Beginning(shared=header.shared, header=header)


def _of_generation(kin: Kin, generation: int) -> Beginning:
    """Return the beginning of a file in which nothing is good: which generation it is of is told by a first line, where it is not the first."""
    if not generation or kin == Kin(""):
        return Beginning()
    return Beginning(header=Header(kin=kin, date=format_date(clock.now()), generation=generation))


def _next_id(lines: list[Line | None]) -> int:
    """Return the id of a file's first entry: that of the first good line, less one for each lost line before it but the header."""
    for number, line in enumerate(lines):
        if line is not None and line.id:
            return max(1, line.id - max(0, number - 1))
    return 1


def _guessed(place: Place, root: str, kin: Kin, stem: str, *, generation: int, next_id: int) -> Beginning:
    base = Head(generation, next_id - 1)
    source = _source(place, root, stem, base) if base.id else None
    if source is None:
        base = Head(generation, 0)
    label = None if source is None else source.branch
    header = Header(kin=kin, date=format_date(clock.now()), generation=generation, uid=clock.new_uid(), origin=Origin(parent=label, base=base, source=label, place=0))
    return Beginning(shared=header.shared, header=header)


def _source(place: Place, root: str, own: str, base: Head) -> Kin | None:
    """Return whose file holds an entry of a generation, that of the tape itself before those of branches; None where none does."""
    branches = [f"{family_directory(root)}/{name.removesuffix(SUFFIX)}" for name in sorted(place.disk.names(place.family(root))) if (found := member_in(name)) and found.sidecar is None]
    for stem in (root, kept_stem(root, Kin(""), base.generation), *branches):
        if stem == own:
            continue
        with suppress(StoreError, OSError), opened(place, stem) as stretch:
            if stretch is not None and stretch.recording.tail.generation == base.generation and stretch.recording.shared < base.id <= stretch.recording.tail.id:
                return kin_in(stem) or Kin("")
    return None


def _beside(place: Place, root: str, kin: Kin, generation: int) -> Header | None:
    for state in STATES:
        with suppress(StoreError, OSError):
            header = header_at(place, branch_stem(root, str(kin.branch), state))
            if header is not None:
                return header.beside(str(kin.sidecar)).of(generation)
    return None


def kin_in(stem: str) -> Kin | None:
    """Return whose a member's file is, as its name says; None where it does not."""
    if not is_member(stem):
        return None
    name = f"{stem.rpartition('/')[2]}{SUFFIX}"
    member = member_in(name)
    if member is None and (kept := generation_kept(name)) is not None:
        member = kept[0]
    if member is None:
        return None
    branch, sidecar = (None if part is None else label_of(part) for part in (member.branch, member.sidecar))
    return None if (branch, sidecar) == (None, None) else Kin("", branch, sidecar)


def _first_lines(file: Snapshot) -> list[Line | None]:
    """Return the lines up to the first good one that is an entry, None for each that is damaged."""
    found: list[Line | None] = []
    for _, raw in file.forwards(0, file.size):
        found.append(line := _good(raw))
        if line is not None and line.id:
            break
    return found


def _good(raw: bytes) -> Line | None:
    try:
        return load(raw)
    except BadLine:
        return None
