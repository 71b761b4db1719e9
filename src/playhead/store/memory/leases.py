"""Leases that are kept in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from playhead.store.change import Lease
from playhead.store.rules.lease import check_fence, granted, returned


class Leases:
    """Who has leased which tape, and how often each was leased."""

    def __init__(self) -> None:
        self._leases: dict[str, Lease] = {}

    def take(self, tape: str, *, owner: str, seconds: float) -> Lease:
        """Lease a tape. Raises LeaseHeld."""
        lease = self._leases[tape] = granted(tape, owner=owner, seconds=seconds, standing=self._leases.get(tape))
        return lease

    def release(self, lease: Lease) -> None:
        """Give a lease back where it is still the newest."""
        standing = self._leases.get(lease.tape)
        if standing is not None:
            self._leases[lease.tape] = returned(lease, standing=standing)

    def check(self, tape: str, fence: int | None) -> None:
        """Raise LeaseLost where a tape was leased under a higher epoch."""
        if fence is not None and (standing := self._leases.get(tape)) is not None:
            check_fence(tape, fence=fence, epoch=standing.epoch)

    def rename(self, renamed: Mapping[str, str]) -> None:
        """Keep leases under the new names of their tapes; no name is ever leased again under an epoch it had."""
        for old, new in renamed.items():
            if (lease := self._leases.get(old)) is not None:
                there = self._leases.get(new, lease)
                self._leases[old] = replace(lease, owner="", until=0)
                self._leases[new] = replace(lease, tape=new, epoch=max(lease.epoch, there.epoch))

    def forget(self, tapes: Collection[str]) -> None:
        """Forget the leases of tapes that are gone."""
        for tape in tapes:
            self._leases.pop(tape, None)
