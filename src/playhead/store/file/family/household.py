"""A family as its writer holds it: the files written last are open, and nobody else writes meanwhile."""

from __future__ import annotations

from collections import OrderedDict
from types import TracebackType

from playhead.entry.entry import TapeEntry
from playhead.errors import BranchClosed
from playhead.store.change import OPEN
from playhead.store.family import Kin
from playhead.store.file.family.family import Family
from playhead.store.file.family.guard import Guard
from playhead.store.file.family.held import HeldTape
from playhead.store.file.family.ledger import Cursors, Leases
from playhead.store.file.place import Place
from playhead.store.file.record.lineage import Lineage
from playhead.store.file.record.tail import Tail
from playhead.store.protocol import Head

_HELD = 8


class Household:
    """Holds the tapes of one family that are written to, inside `with household:`. Raises StoreBusy, StoreUnavailable, OSError."""

    def __init__(self, place: Place, root: str) -> None:
        self.place = place
        self.family = Family(place, root)
        self.leases = Leases(place, self.family.stem)
        self.cursors = Cursors(place, self.family.stem)
        self._guard = Guard(place, self.family.stem)
        self._held: OrderedDict[Kin, HeldTape] = OrderedDict()

    def __enter__(self) -> Household:
        self._guard.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        while len(self._held) > _HELD:
            self._held.popitem(last=False)[1].close()
        self._guard.__exit__(kind, error, trace)

    def tape(self, kin: Kin) -> HeldTape:
        """Return a tape, held open."""
        held = self._held.get(kin)
        if held is None:
            held = self._held[kin] = HeldTape(self.family, kin)
        elif len(self._held) > 1:
            self._held.move_to_end(kin)
        return held

    def look(self, kin: Kin) -> Tail:
        """Return where a tape ends that can be written to. Raises BranchNotFound, BranchClosed, StoreDamaged."""
        if kin.sidecar is not None and kin.branch is not None and self.family.state(kin.branch) != OPEN:
            raise self.family.absence(kin)
        return self.tape(kin).look()

    def known(self, kin: Kin) -> Household:
        """Return the household itself. Raises BranchNotFound where a member is a branch, or beside one, that was never made."""
        self.family.known(kin)
        return self

    def head(self, kin: Kin) -> Head:
        """Return where a tape ends. Raises BranchNotFound, StoreDamaged."""
        try:
            return self.look(kin).head
        except BranchClosed:
            with self.family.newest(kin) as stretch:
                return stretch.recording.tail.head

    def standing(self, kin: Kin, key: str) -> TapeEntry | None:
        """Return the entry of a tape that has an idempotency key. Raises BranchNotFound, StoreDamaged."""
        try:
            self.look(kin)
        except BranchClosed:
            with self.family.newest(kin) as stretch:
                return Lineage(self.family, stretch, sidecar=kin.sidecar).find(keys=(key,), uids=()).get(key)
        return self.tape(kin).standing(key)

    def let_go(self) -> None:
        """Close all files and forget what is known of them, as they are changed by others than those that are held."""
        for held in self._held.values():
            held.close()
        self._held.clear()

    def close(self) -> None:
        """Close all files."""
        self.let_go()
        self._guard.close()
