"""Changes to the tapes of one family, which a store makes all at once or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from playhead.entry.entry import TapeEntry
from playhead.errors import InvalidInput
from playhead.store.family import Kin, kin_of
from playhead.store.protocol import Head

OPEN, MERGED, SQUASHED, DISCARDED = "open", "merged", "squashed", "discarded"
"""What a branch is: written to, or ended in one of three ways. The entries of a squashed one stand nowhere else, so it is kept."""

ENDED = (MERGED, SQUASHED, DISCARDED)
"""The ways in which a branch ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """Entries to keep at the end of a tape, as `append_many` does.

    On a sidecar, `marks` says for each entry how many ids behind the head that its main tape had before these changes it was
    written (behind 0 where they reset that tape); without it each entry is marked with the head that its main tape has then.
    """

    tape: str
    entries: Sequence[TapeEntry]
    expected_head: Head | None = None
    marks: Sequence[int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """Entries that start the next generation of a tape, as `reset` does; `marks` as for `Append`."""

    tape: str
    entries: Sequence[TapeEntry] = ()
    expected_head: Head | None = None
    marks: Sequence[int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """A new branch `tape` that shows `parent` up to the entry `at` (None: as it ends now) and goes on from there.

    Each sidecar of the parent is forked with it: where `at` is given, behind the last entry that was written when the main tape
    ended at `at` or before. With `cuts` those that it names are, each behind the entry of that id, and no others: so a copy of a
    family cuts them where they were cut. `owner` is who drives the branch and would merge it, None where it stands for itself.
    """

    tape: str
    parent: str
    at: int | None = None
    owner: str | None = None
    cuts: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """The end of a branch and of its sidecars: they stay readable, can no longer be written to, and go when they are collected.

    `outcome` is MERGED, SQUASHED or DISCARDED. Raises Conflict where the branch does not end at `expected_head`.
    """

    tape: str
    outcome: str
    expected_head: Head | None = None


Change = Append | Reset | Fork | Close


def fork_names(change: Fork) -> tuple[str, Kin]:
    """Return the label of a branch to make, and what its parent's name says.

    Raises InvalidInput unless the one is the name of a branch in the family of the other, and that is no sidecar.
    """
    kin, parent = kin_of(change.tape), kin_of(change.parent)
    if kin.branch is None or kin.sidecar is not None or parent.sidecar is not None or kin.root != parent.root:
        raise InvalidInput(f"A branch of '{change.parent}' is named by branch_name('{parent.main}', LABEL), not '{change.tape}'.")
    return kin.branch, parent


def fork_point(change: Fork, *, end: int) -> int:
    """Return the id of the last entry that a branch shares with a parent that ends at `end`. Raises InvalidInput where there is no such entry."""
    at = end if change.at is None else change.at
    if isinstance(at, bool) or not isinstance(at, int) or not 0 <= at <= end:
        raise InvalidInput(f"'{change.parent}' is forked at one of its entries, 1 to {end}, or at 0 to share nothing, not at {at!r}.")
    return at


def cut_point(change: Fork, name: str, *, end: int, marked_up_to: Callable[[], int]) -> int | None:
    """Return the last id that a branch takes with it of a sidecar that ends at `end`, None where it takes none. Raises InvalidInput where `cuts` names no such entry.

    `marked_up_to` returns the id of the last entry that was written when the main tape ended where it is forked, or before.
    """
    if change.cuts is None:
        return end if change.at is None else marked_up_to()
    cut = change.cuts.get(name)
    if cut is not None and (isinstance(cut, bool) or not isinstance(cut, int) or not 0 <= cut <= end):
        raise InvalidInput(f"The sidecar '{name}' of '{change.parent}' is cut at one of its entries, 1 to {end}, or at 0 to share nothing, not at {cut!r}.")
    return cut


def check_cuts(change: Fork, names: Iterable[str]) -> None:
    """Raise InvalidInput where `cuts` names a sidecar that shows nothing."""
    unknown = sorted({*(change.cuts or ())} - {*names})
    if unknown:
        raise InvalidInput(f"'{change.parent}' has no sidecar '{unknown[0]}' that shows anything, so it cannot be cut.")


def check_close(change: Close) -> None:
    """Raise InvalidInput unless it is a branch that ends, in one of the ways that there are."""
    if not kin_of(change.tape).is_branch:
        raise InvalidInput(f"Only a branch is closed, its sidecars with it, and '{change.tape}' is none.")
    if change.outcome not in ENDED:
        raise InvalidInput(f"A branch ends as {', '.join(map(repr, ENDED))}, not as {change.outcome!r}.")


def collectable(branches: Sequence[tuple[str, str, str | None, int | None]], *, tape: str, before: int) -> list[str]:
    """Return the branches of a family (or only the one that `tape` names) that were closed before an instant and that none was forked from.

    `branches` are name, parent, state and when it was closed, the newest first. What a squashed one holds stands nowhere else, so it stays.
    """
    asked, children = kin_of(tape), Counter(parent for _, parent, _, _ in branches)
    gone = []
    for name, parent, state, closed_at in branches:
        is_asked = asked.branch is None or name == asked.main
        if is_asked and state in (MERGED, DISCARDED) and closed_at is not None and closed_at < before and not children[name]:
            children[parent] -= 1
            gone.append(name)
    return gone


def family_of(changes: Sequence[Change], *, unless: tuple[str, str] | None = None) -> str | None:
    """Return the root of the family that changes, and the tape of `unless`, are of; None where there is nothing to change.

    Raises InvalidInput for what is no change, for marks of what is no sidecar, and where there are several families.
    """
    for change in changes:
        if not isinstance(change, Change):
            raise InvalidInput(f"A store applies Append, Reset, Fork and Close, not {change!r}.")
        if isinstance(change, (Append, Reset)) and change.marks is not None and kin_of(change.tape).sidecar is None:
            raise InvalidInput(f"Marks are for sidecars; '{change.tape}' is none, so leave them out.")
    roots = {kin_of(name).root for name in (*(change.tape for change in changes), *(unless or ())[:1])}
    if len(roots) > 1:
        raise InvalidInput("Changes that are made at once are to one tape, its branches and sidecars; make those to other tapes by themselves.")
    return roots.pop() if changes else None


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRecord:
    """A branch: what it was forked from and where, who drives it, and what became of it.

    `base` is where it left its parent: the generation the parent had, and the id of the last entry they share. `state` is OPEN,
    MERGED, SQUASHED or DISCARDED. Dates are as in entries; `closed_at` is None while it is open.
    """

    name: str
    parent: str
    base: Head
    state: str
    owner: str | None
    created_at: str
    closed_at: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether it can be written to."""
        return self.state == OPEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to write to a tape until an instant, in microseconds since 1970; each holder has a higher `epoch` than all before.

    An append that names an epoch as its `fence` is refused once another holder has come.
    """

    tape: str
    owner: str
    epoch: int
    until: int
