"""The members of a family as files: `demo-user.jsonl`, and beside it `demo-user.family/` with a file for each branch and each sidecar."""

from __future__ import annotations

from typing import NamedTuple

from playhead.store.change import DISCARDED, MERGED, OPEN, SQUASHED
from playhead.store.family import Kin
from playhead.store.file.names import SUFFIX, label_stem

HIDDEN = ".playhead"
"""The directory of all that is no tape."""

FAMILY = ".family"
"""How the directory of a family's branches and sidecars is named, behind the stem of its root."""

STATES = (OPEN, MERGED, SQUASHED, DISCARDED)
"""What a branch can be, in the order in which its file is looked for."""

_BRANCH, _SIDECAR, _KEPT = ".branch", ".sidecar", "@"
_ENDINGS = {OPEN: _BRANCH, MERGED: ".merged", SQUASHED: ".squashed", DISCARDED: ".discarded"}
_STATES = {ending: state for state, ending in _ENDINGS.items()}


OPEN_BRANCH = f"{_BRANCH}{SUFFIX}"
SIDECAR = f"{_SIDECAR}{SUFFIX}"
"""How the names of the files of open branches, and of sidecars, end."""


class MemberFile(NamedTuple):
    """What the name of a member's file says: the parts that stand for the branch and the sidecar, and the state of a branch."""

    branch: str | None
    sidecar: str | None
    state: str


def family_directory(root_stem: str) -> str:
    """Return the directory of the branches and sidecars of a tape, below the store's own."""
    return f"{root_stem}{FAMILY}"


def branch_stem(root_stem: str, label: str, state: str = OPEN) -> str:
    """Return the stem of a branch's file: `demo-user.family/trial.branch` while it is open, `demo-user.family/trial.merged` later."""
    return f"{root_stem}{FAMILY}/{label_stem(label)}{_ENDINGS[state]}"


def sidecar_stem(root_stem: str, label: str | None, name: str) -> str:
    """Return the stem of a sidecar's file: `demo-user.family/spill.sidecar`, `demo-user.family/trial.branch.spill.sidecar`."""
    main = "" if label is None else f"{label_stem(label)}{_BRANCH}."
    return f"{root_stem}{FAMILY}/{main}{label_stem(name)}{_SIDECAR}"


def member_stem(root_stem: str, kin: Kin) -> str:
    """Return the stem of a member's file, of a branch's while it is open."""
    if kin.sidecar is not None:
        return sidecar_stem(root_stem, kin.branch, kin.sidecar)
    return root_stem if kin.branch is None else branch_stem(root_stem, kin.branch)


def is_member(stem: str) -> bool:
    """Return whether a stem is that of a branch or sidecar, or of an earlier generation that is kept."""
    return "/" in stem


def kept_stem(root_stem: str, kin: Kin, generation: int) -> str:
    """Return the stem of the file that keeps an earlier generation of a member for those branches that show it."""
    name = "" if kin.is_root else member_stem("", kin).partition("/")[2]
    return f"{HIDDEN}/{family_directory(root_stem)}/{name}{_KEPT}{generation}"


def generation_kept(name: str) -> tuple[MemberFile | None, int] | None:
    """Return of which member a file keeps an earlier generation (None: of the root), and which; None for any other file."""
    member, sign, number = name.removesuffix(SUFFIX).rpartition(_KEPT)
    if not sign or not number.isdecimal() or not name.endswith(SUFFIX):
        return None
    return (member_in(f"{member}{SUFFIX}") if member else None), int(number)


def member_in(name: str) -> MemberFile | None:
    """Return what the name of a file in the directory of a family says, None where it is no member's."""
    stem, dot, ending = name.removesuffix(SUFFIX).rpartition(".")
    if not name.endswith(SUFFIX) or not dot or not stem:
        return None
    if f".{ending}" == _SIDECAR:
        branch, sign, sidecar = stem.partition(f"{_BRANCH}.")
        return MemberFile(branch, sidecar, OPEN) if sign else MemberFile(None, stem, OPEN)
    state = _STATES.get(f".{ending}")
    return None if state is None else MemberFile(stem, None, state)
