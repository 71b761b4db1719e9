"""The lines that a user says to a run: an inbox on the tape that tells when one is taken up."""

from __future__ import annotations

from collections.abc import Callable

from playhead.agent.inbox import Leased, TapeInbox
from playhead.entry.message import Message
from playhead.tape.tape import Tape


class Lines:
    """The inbox of a tape; `taken` is told the id of each message once a request that holds it was accepted."""

    def __init__(self, tape: Tape, *, taken: Callable[[str], None]) -> None:
        self._tape = tape
        self._inbox = TapeInbox(tape)
        self._taken = taken

    async def store(self, message: Message, *, key: str | None = None) -> str:
        """Keep a message and return its id."""
        return await self._inbox.store(message, key=key)

    async def take_pending(self, limit: int | None = None) -> list[Leased]:
        """Lease the oldest messages that nobody has."""
        return await self._inbox.take_pending(limit)

    async def ack(self, leased: Leased) -> None:
        """Say that a message was taken up."""
        await self._inbox.ack(leased)
        self._taken(leased.id)

    async def release(self, leased: Leased) -> None:
        """Give a message back."""
        await self._inbox.release(leased)

    async def waiting(self) -> dict[str, Message]:
        """Return what nobody has taken up yet, by id."""
        return await self._inbox.waiting()

    async def settle(self) -> dict[str, Message]:
        """Acknowledge what stands on the tape, though no request with it was accepted: the next one holds it anyway. Return what still waits."""
        waiting = await self._inbox.waiting()
        keys = {f"inbox:{id}:0": id for id in waiting}
        found = await self._tape.store.find(self._tape.name, keys=list(keys)) if keys else {}
        for key in found:
            await self.drop(keys[key], waiting.pop(keys[key]))
        return waiting

    async def drop(self, id: str, message: Message) -> None:
        """Take a message out, so that no run takes it up; it stays on the inbox's own tape."""
        await self._inbox.ack(Leased(id=id, message=message, lease=""))
