"""Removing the entries of tapes that are out of use, and the volumes of their terms, some at a time."""

from __future__ import annotations

from playhead.store.postgres.family import Family


def purge(family: Family | None) -> bool:
    """Remove some entries of a tape, or a volume of it, that is out of use and that nobody reads through; return whether there is more to do."""
    found = [] if family is None else family.rows("retired")
    if family is None or not found:
        return False
    ((tape_no,),) = found
    if not family.rows("purge_volume", tape=tape_no) and not family.rows("purge", tape=tape_no):
        family.send("forget_tape", tape=tape_no)
        family.send("forget_volumes", tape=tape_no)
    return True
