"""Making changes to a family: all at once or none, also where the process ends in the middle."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

from playhead.entry.entry import TapeEntry
from playhead.store.change import Append, Close, Fork, Reset
from playhead.store.family import Kin, kin_of
from playhead.store.file.blobs import settle
from playhead.store.file.disk import write_whole
from playhead.store.file.family.forking import fork
from playhead.store.file.family.household import Household
from playhead.store.file.family.intake import Intake
from playhead.store.file.family.redo import change, discard_drafts, write_draft
from playhead.store.file.family.revision import Revision
from playhead.store.file.family.steps import Step, dropping
from playhead.store.file.members import branch_stem, kept_stem
from playhead.store.file.names import SUFFIX
from playhead.store.file.record.sheet import Sheet

Stored = tuple[tuple[TapeEntry, ...], ...]


def make(household: Household, works: Sequence[Intake], *, unless: tuple[str, str] | None = None) -> Stored | None:
    """Make changes and return the entries of each as stored; None where the key of `unless` stands on its tape.

    Raises Conflict, KeyConflict, BranchNotFound, BranchClosed, NameTaken, InvalidInput; then nothing was written.
    """
    if unless is not None and household.standing(kin_of(unless[0]), unless[1]) is not None:
        return None
    revision = Revision(household)
    stored = tuple(_made(revision, work) for work in works)
    sheets = [sheet for sheet in revision.sheets.values() if sheet.is_changed]
    settle(household.place, (body for sheet in sheets for draft in (*sheet.pasts, sheet.draft) for body in draft.bodies))
    if len(sheets) == 1 and sheets[0].only_grows:
        household.tape(sheets[0].kin).append(sheets[0].draft)
    elif len(sheets) == 1 and sheets[0].is_new and not (sheets[0].pasts or sheets[0].ended):
        with household.family.roster.changing([_file_name(sheets[0])]):
            _write_branch(household, sheets[0])
    elif sheets:
        _rewrite(household, sheets)
    return stored


def _made(revision: Revision, work: Intake) -> tuple[TapeEntry, ...]:
    match work.change:
        case Append():
            return revision.append(work, work.change)
        case Reset():
            return revision.reset(work, work.change)
        case Fork():
            fork(revision, work, work.change)
        case Close():
            revision.close(work, work.change)
    return ()


def _write_branch(household: Household, sheet: Sheet) -> None:
    """Write the file of a new branch. Its header alone holds nothing to lose, so it is flushed with the first entry; torn, it is no branch."""
    place, stem = household.place, household.family.stem
    place.make_family(stem)
    lines, _ = sheet.draft.lines()
    path = place.path(sheet.stem)
    fd = place.disk.open_to_write(path)
    try:
        write_whole(place.disk, fd, b"".join(lines), 0)
        if place.flushes and sheet.draft.count:
            place.disk.flush(fd)
            place.disk.flush_directory(place.directory)
            place.disk.flush_directory(place.family(stem))
    except OSError as exc:
        with suppress(OSError):
            place.disk.cut(fd, 0)
            place.disk.remove(path)
        if place.disk.exists(path):
            place.health.doubt = f"The branch that '{path}' holds was begun and could not be undone ({exc})"
        raise
    finally:
        place.disk.close(fd)


def _rewrite(household: Household, sheets: Sequence[Sheet]) -> None:
    """Change several files, or one as a whole, by way of a redo file."""
    place, stem = household.place, household.family.stem
    discard_drafts(place, stem)
    shown = household.family.shown() | {found for sheet in sheets if sheet.is_new for found in sheet.header.shows()} if any(sheet.pasts for sheet in sheets) else set()
    for sheet in sheets:
        if not sheet.is_new:
            household.tape(sheet.kin).settle()
    household.let_go()
    steps = [*(step for sheet in sheets for step in _moved(household, sheet)), *(step for sheet in sheets for step in _steps(household, sheet, shown))]
    roster = household.family.roster
    with roster.changing(roster.named_by(steps)):
        change(place, stem, steps)


def _moved(household: Household, sheet: Sheet) -> Iterator[Step]:
    """Yield what gives the file of a branch that was closed its new name; first of all, so that nothing is made twice where that is tried again."""
    if sheet.ended is not None and not sheet.is_new:
        yield "rename", f"{sheet.stem}{SUFFIX}", f"{_final_stem(household, sheet)}{SUFFIX}"
        yield "forget", sheet.stem


def _steps(household: Household, sheet: Sheet, shown: set[tuple[Kin, int]]) -> Iterator[Step]:
    stem, tail, root = _final_stem(household, sheet), sheet.tail, household.family.stem
    for number, past in enumerate(sheet.pasts):
        kin, generation = sheet.kin._replace(root=""), past.head.generation
        if (kin, generation) not in shown:
            continue
        kept = kept_stem(root, kin, generation)
        if number or sheet.is_new or not tail.begun:
            yield "replace", write_draft(household.place, root, past.lines()[0] if not number else past.file(sheet.header.of(generation))), kept
            continue
        yield "keep", stem, kept
        if past.count:
            yield "append", kept, tail.end, _text(past.lines()[0])
    if sheet.pasts:
        yield "replace", write_draft(household.place, root, sheet.file()), stem
        yield "forget", stem
        if not sheet.is_new and (sheet.kin._replace(root=""), sheet.pasts[0].head.generation) not in shown:
            yield from dropping(household.place, sheet.stem)
    else:
        yield "append", stem, tail.end, _text([*sheet.draft.lines()[0], *sheet.end()])


def _final_stem(household: Household, sheet: Sheet) -> str:
    return sheet.stem if sheet.ended is None else branch_stem(household.family.stem, str(sheet.kin.branch), sheet.ended[0])


def _file_name(sheet: Sheet) -> str:
    return f"{os.path.basename(sheet.stem)}{SUFFIX}"


def _text(lines: Sequence[bytes]) -> str:
    return b"".join(lines).decode()
