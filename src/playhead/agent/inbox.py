"""Inboxes: messages that wait for a run, each taken up once in effect."""

from __future__ import annotations

import threading
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Protocol, runtime_checkable

import anyio

from playhead import clock
from playhead.agent.media import without_media
from playhead.entry.entry import EVENT, MESSAGE, TapeEntry, event_name, format_date
from playhead.entry.message import Message
from playhead.entry.payload import message_from_payload, message_to_entries
from playhead.errors import Conflict, InvalidInput, KeyConflict
from playhead.store.blobs import blobs_of
from playhead.store.concurrency.owner import is_gone, new_owner
from playhead.tape.reduction import Ignored, Reduction
from playhead.tape.tape import Tape

SIDECAR = "inbox"
LEASE_SECONDS = 300.0
_LEASED, _ACKED, _RELEASED = "inbox.leased", "inbox.acked", "inbox.released"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leased:
    """A message that was taken from an inbox: no other gets it until it is released, or its taker is gone.

    `id` is the message's own: keep it with the message, so that one that is given out again is kept once.
    """

    id: str
    message: Message
    lease: str


@runtime_checkable
class Inbox(Protocol):
    """Keeps messages until a run has taken them up; each is given to one taker at a time, in the order in which they came."""

    async def store(self, message: Message, *, key: str | None = None) -> str:
        """Keep a message and return its id; the same `key` again changes nothing."""
        ...

    async def take_pending(self, limit: int | None = None) -> list[Leased]:
        """Lease the oldest messages that nobody has, up to a limit."""
        ...

    async def ack(self, leased: Leased) -> None:
        """Say that a message was taken up, so that it is never given out again; saying it twice changes nothing."""
        ...

    async def release(self, leased: Leased) -> None:
        """Give a message back, to the place where it was; nothing changes where it was taken up, or another has it by now."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    """A message in an inbox and, while somebody has it, under which lease, who, and until when."""

    message: Message
    lease: str = ""
    owner: str = ""
    until: str = ""

    def is_free(self, now: str) -> bool:
        return not self.lease or self.until <= now or is_gone(self.owner)


_Pending = Mapping[str, _Waiting]


class MemoryInbox:
    """An inbox that lives as long as its process; several threads may use it.

    A message that was neither acknowledged nor released is given out again after `lease_seconds`.
    """

    def __init__(self, *, lease_seconds: float = LEASE_SECONDS) -> None:
        self._lease = _lease_time(lease_seconds)
        self._guard = threading.Lock()
        self._pending: dict[str, _Waiting] = {}
        self._keys: dict[str, tuple[str, Message]] = {}

    async def store(self, message: Message, *, key: str | None = None) -> str:
        """Keep a message and return its id; the same `key` again changes nothing. Raises InvalidInput for a turn with calls or results."""
        _entry(message)
        with self._guard:
            id, known = self._keys.get(key or "", ("", message))
            if known != message:
                raise KeyConflict(str(key))
            if not id:
                id = clock.new_uid()
                self._pending[id] = _Waiting(message=message)
            if key:
                self._keys[key] = (id, message)
            return id

    async def take_pending(self, limit: int | None = None) -> list[Leased]:
        """Lease the oldest messages that nobody has, up to a limit."""
        now = clock.now()
        lease, until = clock.new_uid(), format_date(now + self._lease)
        with self._guard:
            free = _free(self._pending, format_date(now), limit)
            self._pending |= {id: replace(self._pending[id], lease=lease, until=until) for id in free}
            return [Leased(id=id, message=self._pending[id].message, lease=lease) for id in free]

    async def ack(self, leased: Leased) -> None:
        """Say that a message was taken up; saying it twice changes nothing."""
        with self._guard:
            self._pending.pop(leased.id, None)

    async def waiting(self) -> dict[str, Message]:
        """Return what nobody has taken up yet, by id, in the order in which it came; also what somebody has just leased."""
        with self._guard:
            return {id: waiting.message for id, waiting in self._pending.items()}

    async def release(self, leased: Leased) -> None:
        """Give a message back, to the place where it was; nothing changes where it was taken up, or another has it by now."""
        with self._guard:
            waiting = self._pending.get(leased.id)
            if waiting is not None and waiting.lease == leased.lease:
                self._pending[leased.id] = _Waiting(message=waiting.message)


class TapeInbox:
    """An inbox on the sidecar `inbox` of a tape: messages, leases and acknowledgements are its entries, in any store, for any number of processes.

    What a killed process had taken is given out again: at once where it ran on this machine, else `lease_seconds` after it was taken.
    It stands beside the tape it is given and is emptied when that is reset. A branch has an inbox of its own, so a run that works on
    a branch reads the inbox of the tape that it was started on.
    """

    def __init__(self, tape: Tape, *, lease_seconds: float = LEASE_SECONDS) -> None:
        self._tape = tape.sidecar(SIDECAR)
        self._lease = _lease_time(lease_seconds)
        self._reduction = Reduction[_Pending](self._tape.store, self._tape.name, _step, dict)
        self._looking = anyio.Lock()
        self._owner = str(new_owner(self))
        self._void: set[str] = set()

    async def store(self, message: Message, *, key: str | None = None) -> str:
        """Keep a message, its media as blobs where the store has them, and return its id; the same `key` again changes nothing.

        Raises InvalidInput for a turn with calls or results.
        """
        _entry(message)
        blobs = blobs_of(self._tape.store)
        kept = message if blobs is None else (await without_media(message, blobs=blobs)).message
        stored = await self._tape.append(_entry(kept), key=key)
        return stored.uid

    async def take_pending(self, limit: int | None = None) -> list[Leased]:
        """Lease the oldest messages that nobody has, up to a limit; of several takers at a time each message goes to one."""
        while True:
            head = await self._tape.head()
            pending = await self._pending()
            now = clock.now()
            free = _free(pending, format_date(now), limit, void=self._void)
            if not free:
                return []
            lease = clock.new_uid()
            facts = {"ids": free, "lease": lease, "owner": self._owner, "until": format_date(now + self._lease)}
            try:
                with anyio.CancelScope(shield=True):  # a lease that nobody was told of would hold the messages back
                    await self._tape.append(TapeEntry.event(_LEASED, facts), expected_head=head)
            except Conflict:
                continue
            except Exception:
                self._void.add(lease)  # nobody knows whether it stands, and nobody is told of it
                raise
            return [Leased(id=id, message=pending[id].message, lease=lease) for id in free]

    async def ack(self, leased: Leased) -> None:
        """Say that a message was taken up; saying it twice changes nothing."""
        await self._tape.append_event(_ACKED, {"id": leased.id}, key=f"{_ACKED}:{leased.id}")

    async def release(self, leased: Leased) -> None:
        """Give a message back, to the place where it was; nothing changes where it was taken up, or another has it by now."""
        try:
            await self._tape.append_event(_RELEASED, {"id": leased.id, "lease": leased.lease}, key=f"{_RELEASED}:{leased.id}:{leased.lease}")
        except Exception:
            self._void.add(leased.lease)
            raise

    async def waiting(self) -> dict[str, Message]:
        """Return what nobody has taken up yet, by id, in the order in which it came; also what somebody has just leased."""
        return {id: waiting.message for id, waiting in (await self._pending()).items()}

    async def _pending(self) -> _Pending:
        async with self._looking:  # two looks at a time would count the same entries twice
            return (await self._reduction.look()).state


def _entry(message: Message) -> TapeEntry:
    entries = message_to_entries(message) if isinstance(message, Message) else ()
    if [entry.kind for entry in entries] != [MESSAGE]:
        raise InvalidInput(f"An inbox keeps what somebody says, such as user('Stop.'), not {message!r:.200}.")
    return entries[0]


def _lease_time(seconds: float) -> timedelta:
    if not isinstance(seconds, (int, float)) or not 0 < seconds < 1e9:
        raise InvalidInput(f"A lease lasts for a number of seconds above 0, not {seconds!r}.")
    return timedelta(seconds=seconds)


def _free(pending: _Pending, now: str, limit: int | None, *, void: Container[str] = ()) -> list[str]:
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
        raise InvalidInput(f"A limit is a whole number from 0, or None for all, not {limit!r}.")
    return [id for id, waiting in pending.items() if waiting.lease in void or waiting.is_free(now)][:limit]


def _step(pending: _Pending, entry: TapeEntry) -> _Pending:
    """Return what is pending once an entry has come; one that does not fit changes nothing."""
    if entry.kind == MESSAGE:
        message = message_from_payload(entry.payload)
        if message is None:
            raise Ignored("no message can be read from it")
        return {**pending, entry.uid: _Waiting(message=message)}
    facts = entry.payload.get("data") if entry.kind == EVENT else None
    if not isinstance(facts, Mapping):
        raise Ignored("no entry of an inbox")
    match event_name(entry):
        case "inbox.leased":
            return _leased(pending, facts)
        case "inbox.acked":
            return {id: waiting for id, waiting in pending.items() if id != _known(pending, facts)}
        case "inbox.released":
            id = _known(pending, facts)
            if pending[id].lease != facts.get("lease"):
                raise Ignored("the lease has passed on")
            return {**pending, id: _Waiting(message=pending[id].message)}
    raise Ignored("no entry of an inbox")


def _leased(pending: _Pending, facts: Mapping[str, Any]) -> _Pending:
    ids = facts.get("ids")
    known = [id for id in ids if id in pending] if isinstance(ids, list) else []
    if not known:
        raise Ignored("the message was taken up")
    lease, owner, until = (str(facts.get(name, "")) for name in ("lease", "owner", "until"))
    return {**pending, **{id: replace(pending[id], lease=lease, owner=owner, until=until) for id in known}}


def _known(pending: _Pending, facts: Mapping[str, Any]) -> str:
    id = facts.get("id")
    if not isinstance(id, str) or id not in pending:
        raise Ignored("the message was taken up")
    return id
