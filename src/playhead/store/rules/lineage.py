"""What a branch reads through: the numbers of other tapes, each with the last id that is shown of it, oldest first."""

from __future__ import annotations

from collections.abc import Sequence


def cut(lineage: Sequence[Sequence[int]], at: int) -> list[list[int]]:
    """Return what a lineage, the tape's own number at its end, shares with a branch that is forked at an id."""
    kept, before = [], 0
    for tape_no, last in lineage:
        if min(last, at) > before:
            kept.append([tape_no, min(last, at)])
        before = last
    return kept
