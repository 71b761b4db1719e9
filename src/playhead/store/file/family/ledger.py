"""What is known of a family beside its entries, in small files that are replaced as a whole: who has leased what, and how far consumers have read."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any
from zlib import crc32

from playhead.entry import codec
from playhead.store.change import Lease
from playhead.store.family import Kin
from playhead.store.file.disk import write_whole
from playhead.store.file.family.steps import discard
from playhead.store.file.place import Place
from playhead.store.protocol import EMPTY, Head
from playhead.store.rules.lease import check_fence, returned

LEASES, CURSORS = "leases", "cursors"
"""The ledgers of a family."""

_SUM = len(b',"~c":"00000000"}\n')


class Ledger:
    """One file of JSON, by the names of the family's tapes without that of the root.

    It is not flushed: it may be an older one after a loss of power, or gone. One that is spoilt or another's says nothing.
    """

    def __init__(self, place: Place, stem: str, name: str) -> None:
        self._place = place
        self.path = place.ledger(stem, name)
        self._name = os.path.basename(self.path)

    def read(self) -> dict[str, Any]:
        """Return what is known, nothing where the file is missing or spoilt."""
        disk = self._place.disk
        try:
            fd = disk.open_to_read(self.path)
        except FileNotFoundError:
            return {}
        try:
            raw = disk.read(fd, disk.state_of(fd).st_size, 0)
        finally:
            disk.close(fd)
        said = raw[:-_SUM]
        if raw[-_SUM:] != b',"~c":"%08x"}\n' % crc32(said):
            return {}
        found = codec.decode(said + b"}")
        known: dict[str, Any] = found["known"] if found.get("name") == self._name else {}
        return known

    def write(self, known: Mapping[str, Any]) -> None:
        """Replace what is known; runs under the guard of the family. Raises OSError where it was not replaced."""
        disk, part = self._place.disk, f"{self.path}.part"
        try:
            fd = disk.open_to_write(part)
            try:
                disk.cut(fd, 0)
                write_whole(disk, fd, self.text(known).encode(), 0)
            finally:
                disk.close(fd)
            disk.rename(part, self.path)
        except OSError:
            discard(disk, part)
            if self.read() != known:
                raise

    def below(self) -> str:
        """Return where the file is, below the store's directory."""
        return self.path.removeprefix(f"{self._place.directory}/")

    def text(self, known: Mapping[str, Any]) -> str:
        """Return what the file says of what is known."""
        said = codec.encode({"name": self._name, "known": known})[:-1]
        return (b'%b,"~c":"%08x"}\n' % (said, crc32(said))).decode()


class Leases:
    """Who has leased which tape of a family, and how often each was leased."""

    def __init__(self, place: Place, stem: str) -> None:
        self.ledger = Ledger(place, stem, LEASES)

    def take(self, kin: Kin, grant: Callable[[Lease | None], Lease]) -> Lease:
        """Lease a tape as it is granted, given the lease that stands. Raises LeaseHeld."""
        known = self.ledger.read()
        lease = grant(self._standing(kin, known))
        self.ledger.write({**known, name_in_family(kin): [lease.owner, lease.epoch, lease.until]})
        return lease

    def release(self, kin: Kin, lease: Lease) -> None:
        """Give a lease back where it is still the newest."""
        known = self.ledger.read()
        standing = self._standing(kin, known)
        if standing is not None and (left := returned(lease, standing=standing)) != standing:
            self.ledger.write({**known, name_in_family(kin): [left.owner, left.epoch, left.until]})

    def check(self, kin: Kin, fence: int) -> None:
        """Raise LeaseLost where a tape was leased under a higher epoch."""
        standing = self._standing(kin, self.ledger.read())
        if standing is not None:
            check_fence(kin.name, fence=fence, epoch=standing.epoch)

    def _standing(self, kin: Kin, known: Mapping[str, Any]) -> Lease | None:
        found = known.get(name_in_family(kin))
        return None if found is None else Lease(tape=kin.name, owner=found[0], epoch=found[1], until=found[2])


class Cursors:
    """How far which consumer has read which tape of a family."""

    def __init__(self, place: Place, stem: str) -> None:
        self.ledger = Ledger(place, stem, CURSORS)

    def get(self, kin: Kin, consumer: str) -> Head:
        """Return how far a consumer has read a tape."""
        found = self.ledger.read().get(name_in_family(kin), {}).get(consumer)
        return EMPTY if found is None else Head(*found)

    def of(self, kin: Kin) -> dict[str, Head]:
        """Return how far each consumer has read a tape."""
        return {consumer: Head(*head) for consumer, head in sorted(self.ledger.read().get(name_in_family(kin), {}).items())}

    def move(self, kin: Kin, consumer: str, head: Head) -> None:
        """Remember how far a consumer has read a tape."""
        known = self.ledger.read()
        name = name_in_family(kin)
        self.ledger.write({**known, name: {**known.get(name, {}), consumer: [*head]}})


def name_in_family(kin: Kin) -> str:
    """Return what a tape's name says behind that of its root."""
    return kin.name.removeprefix(kin.root)
