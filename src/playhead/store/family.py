"""Families: a tape, its branches, and the sidecars of each, told apart by their names alone."""

from __future__ import annotations

from typing import NamedTuple

from playhead.errors import InvalidInput
from playhead.store.rules.names import checked_name

BRANCH = "__branch__"
SIDECAR = "__sidecar__"
FAMILY = "__family__"
"""Ends the name of the tape on which a store that keeps nothing but tapes remembers what is known of a family."""


class Kin(NamedTuple):
    """What a tape's name says: the root of its family, the label of the branch and the name of the sidecar, None where it is neither."""

    root: str
    branch: str | None = None
    sidecar: str | None = None

    @property
    def main(self) -> str:
        """The tape or branch that a sidecar stands beside; for any other tape, its own name."""
        return self.root if self.branch is None else f"{self.root}{BRANCH}{self.branch}"

    @property
    def name(self) -> str:
        """The whole name."""
        return self.main if self.sidecar is None else f"{self.main}{SIDECAR}{self.sidecar}"

    @property
    def is_root(self) -> bool:
        """Whether it is a tape that stands for itself, neither a branch nor a sidecar."""
        return self.branch is None and self.sidecar is None

    @property
    def is_branch(self) -> bool:
        """Whether it is a branch, and not one of its sidecars."""
        return self.branch is not None and self.sidecar is None

    def moved_to(self, new: Kin) -> str:
        """Return the name that it has once its tape, or the branch it belongs to, has the name that `new` says."""
        return self._replace(root=new.root, branch=self.branch if new.branch is None else new.branch).name


def kin_of(tape: str) -> Kin:
    """Return what a tape's name says; `support/42__branch__trial__sidecar__spill` is the sidecar `spill` of the branch `trial` of `support/42`."""
    main, sidecar = _parted(checked_name(tape), SIDECAR)
    root, branch = _parted(main, BRANCH)
    return Kin(root, branch, sidecar)


def branch_name(tape: str, label: str) -> str:
    """Return the name of a branch in the family of a tape. Raises InvalidInput where the label is none."""
    return _named(Kin(kin_of(tape).root, _checked_label(label, "branch")))


def sidecar_name(tape: str, name: str) -> str:
    """Return the name of the tape behind a sidecar of a tape or branch. Raises InvalidInput where the name is none, or the tape itself is a sidecar."""
    kin = kin_of(tape)
    if kin.sidecar is not None:
        raise InvalidInput(f"'{tape}' is a sidecar itself; mount '{name}' beside '{kin.main}'.")
    return _named(kin._replace(sidecar=_checked_label(name, "sidecar")))


def renaming(tape: str, name: str) -> tuple[Kin, Kin]:
    """Return what both names of a renaming say. Raises InvalidInput unless both are names of tapes, or of branches of one family."""
    old, new = kin_of(tape), kin_of(name)
    if old.sidecar is not None or new.sidecar is not None or (old.branch is None) != (new.branch is None) or (old.branch is not None and old.root != new.root):
        raise InvalidInput(f"A tape is renamed to a tape's name, a branch to one of its own family, a sidecar not at all: not '{tape}' to '{name}'.")
    return old, new


def _named(kin: Kin) -> str:
    """Return the name of a branch or sidecar. Raises InvalidInput where it would say something else."""
    if kin_of(kin.name) != kin:
        raise InvalidInput(f"The name '{kin.root}' cannot have branches and sidecars, as '{kin.name}' says something else; choose a name that does not end in '{BRANCH[:-2]}' or '{SIDECAR[:-2]}'.")
    return kin.name


def _parted(text: str, sign: str) -> tuple[str, str | None]:
    before, _, behind = text.partition(sign)
    return (before, behind) if before and behind else (text, None)


def _checked_label(label: str, what: str) -> str:
    if checked_name(label) and (BRANCH in label or SIDECAR in label or label.startswith("_") or label.endswith("_")):
        raise InvalidInput(f"A {what} is called by a text without '{BRANCH}' and '{SIDECAR}' that neither begins nor ends with '_', not {label!r}.")
    return label
