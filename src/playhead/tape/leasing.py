"""Leasing a tape: a handle whose appends are refused once another holder has come."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

import anyio

from playhead import clock
from playhead.errors import InvalidInput, LeaseLost
from playhead.store.change import Lease
from playhead.store.rows.row import microseconds

if TYPE_CHECKING:
    from playhead.store.protocol import WholeStore
    from playhead.tape.tape import Tape

_SECOND = 1_000_000


class HeldLease:
    """A lease that its holder keeps alive: by each append in the second half of its time, or by `renew()`."""

    def __init__(self, store: WholeStore, lease: Lease, *, seconds: float) -> None:
        self._store = store
        self._seconds = seconds
        self.lease = lease

    @property
    def epoch(self) -> int:
        """What an append is fenced with."""
        return self.lease.epoch

    async def renew(self) -> Lease:
        """Hold the lease for its whole time from now on. Raises LeaseHeld or LeaseLost where another holder has come."""
        lease = await self._store.lease(self.lease.tape, owner=self.lease.owner, seconds=self._seconds)
        if lease.epoch != self.lease.epoch:
            await self._store.release(lease)
            raise LeaseLost(lease.tape, fence=self.lease.epoch, epoch=lease.epoch)
        self.lease = lease
        return lease

    async def renew_if_due(self) -> None:
        """Renew in the second half of the lease's time."""
        left = self.lease.until - microseconds(clock.now())
        if 0 < left < self._seconds * _SECOND / 2:
            await self.renew()


class LeaseScope:
    """`async with tape.lease(seconds=30) as tape:` yields a handle with the lease; the end gives it back."""

    def __init__(self, tape: Tape, *, seconds: float, owner: str | None) -> None:
        self._tape = tape
        self._seconds = seconds
        self._owner = owner or clock.new_uid()
        self._held: HeldLease | None = None

    async def __aenter__(self) -> Tape:
        if self._held is not None:
            raise InvalidInput("This lease was taken before; take another one with tape.lease().")
        lease = await self._tape.store.lease(self._tape.name, owner=self._owner, seconds=self._seconds)
        self._held = HeldLease(self._tape.store, lease, seconds=self._seconds)
        return self._tape.fenced(self._held)

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._held is not None:
            with anyio.CancelScope(shield=True):
                await self._tape.store.release(self._held.lease)
