"""What is no longer as it was written: which entries of which tape, and what can be done."""

from __future__ import annotations

from playhead.errors import StoreDamaged


def altered(tape: str, id: int) -> StoreDamaged:
    """Return the error of an entry whose bytes are not those that were written."""
    return StoreDamaged(f"Entry {id} of the tape '{tape}' is not as it was written; restore a backup, or read what stands around it with before({id}) and after({id}).", tape=tape, id=id)


def missing(tape: str, first: int, last: int) -> StoreDamaged:
    """Return the error of entries that are gone though others stand behind them."""
    what = f"Entry {first} of the tape '{tape}' is" if first == last else f"Entries {first} to {last} of the tape '{tape}' are"
    return StoreDamaged(f"{what} missing; restore a backup, or read what stands around the gap with before({first}) and after({last}).", tape=tape, first=first, last=last)
