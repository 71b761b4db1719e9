"""Letting go of names under which nothing is kept any more."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from playhead.store.protocol import WholeStore


@runtime_checkable
class Forgetting(Protocol):
    """Takes away what a reset tape leaves: its name and its generation; every store of ours does, a store of yours may."""

    async def forget(self, tape: str) -> None:
        """Let go of a sidecar that holds nothing, or of a tape whose whole family holds nothing, as if it had never been; nothing else is changed."""
        ...


async def forget(store: WholeStore, tape: str) -> None:
    """Let go of a tape or sidecar that holds nothing, in a store that can."""
    if isinstance(store, Forgetting):
        await store.forget(tape)
