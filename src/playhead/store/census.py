"""What a store keeps, told as a whole: every family, and how far who has read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from playhead.store.family import kin_of
from playhead.store.protocol import EMPTY, Head, WholeStore


@runtime_checkable
class Census(Protocol):
    """Lists what `list_tapes` leaves out; every store of ours does, a store of yours may."""

    async def families(self) -> list[str]:
        """Return the names of all tapes of which anything is kept, if only by a closed branch or a sidecar, sorted."""
        ...

    async def cursors(self, tape: str) -> Mapping[str, Head]:
        """Return how far each consumer has read a tape, by the consumer's name."""
        ...


async def families_of(store: WholeStore) -> list[str]:
    """Return the names of all tapes of which a store keeps anything; those that it lists, where it has no census."""
    if isinstance(store, Census):
        return await store.families()
    return sorted({kin_of(name).root for name in await store.list_tapes()})


async def cursors_of(store: WholeStore, tape: str) -> Mapping[str, Head]:
    """Return how far each consumer has read a tape, those that have begun; nothing where a store does not say."""
    found = await store.cursors(tape) if isinstance(store, Census) else {}
    return {consumer: head for consumer, head in found.items() if head != EMPTY}
