"""A tape opened to be read: what was left half done is finished first, and what looks damaged is looked at again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import TypeVar

from playhead.errors import StoreDamaged, StoreError
from playhead.store.family import Kin
from playhead.store.file.family.family import Family
from playhead.store.file.family.guard import Guard
from playhead.store.file.family.held import HeldTape
from playhead.store.file.findings import Finding
from playhead.store.file.place import Place
from playhead.store.file.record.lineage import Lineage
from playhead.store.file.record.stretch import empty, opened

Result = TypeVar("Result")

_PATIENCE = 1.0
"""How many seconds a reader waits for writers where it can answer without them."""


def answered(place: Place, *, kin: Kin, question: Callable[[Lineage], Result]) -> Result:
    """Return the answer that a tape gives to a question, as it is at that moment.

    Raises what the question raises, BranchNotFound, StoreDamaged, OSError.
    """
    family = settled(place, kin.root)
    try:
        with _shown(family, kin) as lineage:
            if place.read_only or not _lacks_only_a_newline(lineage):
                return question(lineage)
        _complete(family, kin, lineage)
        with _shown(family, kin) as lineage:
            return question(lineage)
    except StoreDamaged as damage:
        if place.read_only:
            raise
        return _asked_alone(family, kin, question, damage)


def settled(place: Place, root: str) -> Family:
    """Return a family, after a change that somebody began was finished; a store that only reads takes it as it is, and says so."""
    family = Family(place, root)
    redo = place.redo(family.stem)
    if place.disk.exists(redo):
        if place.read_only:
            place.findings.report(Finding(path=redo, what="a change was begun and not finished; it is read as it is", offset=0, size=0))
            return family
        with closing(Guard(place, family.stem)) as guard, guard:
            pass
    return family


@contextmanager
def _shown(family: Family, kin: Kin) -> Iterator[Lineage]:
    if kin.is_root:
        with opened(family.place, family.stem) as stretch:
            yield Lineage(family, stretch or empty(family.place, family.stem))
        return
    with family.newest(kin) as newest:
        yield Lineage(family, newest, sidecar=kin.sidecar)


def _lacks_only_a_newline(lineage: Lineage) -> bool:
    return lineage.tail.newline is not None and lineage.tail.part is None


def _complete(family: Family, kin: Kin, lineage: Lineage) -> None:
    """Have a whole line's newline added; where that cannot be, the line is left out, and that is reported."""
    try:
        with closing(Guard(family.place, family.stem, patience=_PATIENCE)) as guard, guard, closing(HeldTape(family, kin)) as held:
            held.look()
    except (OSError, StoreError) as exc:
        what = f"its last line lacks its newline, which could not be added ({exc}), so that line is left out"
        tail = lineage.tail
        family.place.findings.report(Finding(path=lineage.path, what=what, offset=tail.end, size=tail.size - tail.end))


def _asked_alone(family: Family, kin: Kin, question: Callable[[Lineage], Result], damage: StoreDamaged) -> Result:
    """Ask once more while nobody writes: a writer that cuts off a torn end while it is read makes a file look damaged."""
    with ExitStack() as stack:
        try:
            stack.enter_context(stack.enter_context(closing(Guard(family.place, family.stem, patience=_PATIENCE))))
        except (OSError, StoreError):
            raise damage from None
        return question(stack.enter_context(_shown(family, kin)))
