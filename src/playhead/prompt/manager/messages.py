"""The message book: the messages of one tape, to add, change, remove and find."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from datetime import date
from typing import Any, cast

from playhead.entry.entry import TOOL_CALL, TOOL_RESULT, TapeEntry
from playhead.errors import BodyNotWhole, InvalidInput, MessageNotFound
from playhead.prompt.manager.blocks import Content
from playhead.prompt.manager.bodies import body_around
from playhead.prompt.manager.drafts import entries_of
from playhead.prompt.manager.edits import edit_entry, removal_entry
from playhead.prompt.manager.ledger import Ledger, Standing
from playhead.prompt.manager.listeners import Change, Listener, Listeners, MessageEvent
from playhead.prompt.manager.querying import ChannelId, Filter, Matches, Page, between, channels_of, checked_limit
from playhead.prompt.manager.stored import ROWS, MessageId, StoredMessage, stored
from playhead.store.query import TapeQuery
from playhead.tape.tape import Tape
from playhead.view.pieces import body_of

CALLS_LOOKED_AT = 256
"""In how many turns before a result its call is looked for."""


class MessageBook:
    """The messages of one tape: every entry of a kind that says something, whoever wrote it, in order.

    A book keeps nothing that could be out of date: what others write to the tape, through another book too, shows at once.
    Changes are entries behind what they change, which stays as evidence. `agent` is who speaks as the assistant. With
    `shard_tokens` messages of more than two times as many tokens (4 characters each) are stored in parts.
    """

    def __init__(self, tape: Tape, *, agent: str, shard_tokens: int | None = None, listeners: Listeners | None = None) -> None:
        self.tape = tape
        self.agent = agent
        self.shard_tokens = shard_tokens
        self._ledger = Ledger(tape)
        self._listeners = Listeners() if listeners is None else listeners

    def on_message(self, listener: Listener) -> Callable[[], None]:
        """Tell a listener of what this book adds, edits and removes, until the function that is returned is called."""
        return self._listeners.add(listener)

    # -- writing

    async def add(self, participant: str, content: Content, *, metadata: Mapping[str, Any] | None = None, caused_by: Iterable[MessageId] = ()) -> tuple[MessageId, ...]:
        """Keep a message and return the ids of all entries written for it, all at once; the first names it.

        Results of tools are entries of their own, a long message is one entry a shard. Costs the same at any length of the tape.
        Raises InvalidInput for an empty message, and for calls of anybody but the agent.
        """
        entries = entries_of(participant, content, agent=self.agent, metadata=metadata, caused_by=caused_by, shard_tokens=self.shard_tokens)
        kept = await self.tape.append_many(entries)
        await self._tell("add", [stored(entry, agent=self.agent) for entry in kept])
        return tuple(entry.uid for entry in kept)

    async def edit(self, id: MessageId, content: Content) -> StoredMessage:
        """Put other content in the place of a message's, and return it as it reads now. Metadata stays; nothing is cut into shards.

        Raises MessageNotFound, BodyNotWhole for a shard, InvalidInput for what a message of its kind does not hold.
        """
        entry, standing = await self._live(id)
        if body_of(entry) is not None:
            raise BodyNotWhole(id)
        await self.tape.append_many([edit_entry(self._read(entry, standing), content)])
        edited = self._read(*await self._live(id))
        await self._tell("edit", [edited])
        return edited

    async def remove(self, id: MessageId) -> None:
        """Take a message away from what is shown; a view leaves out the whole round of a call or a result that was removed.

        Raises MessageNotFound, BodyNotWhole for a shard.
        """
        entry, _ = await self._live(id)
        if body_of(entry) is not None:
            raise BodyNotWhole(id)
        await self._remove("remove", [entry])

    async def remove_range(self, first: MessageId, last: MessageId) -> tuple[MessageId, ...]:
        """Take away all messages from one to another, both included, given in either order, and return their ids.

        Raises MessageNotFound, BodyNotWhole where the range ends inside a long message.
        """
        (one, standing), (other, _) = await self._live(first), await self._live(last)
        one, other = sorted((one, other), key=_place)
        if [e for e in await self._body(one) if e.id < one.id and not standing.is_removed(e)]:
            raise BodyNotWhole(one.uid)
        if [e for e in await self._body(other) if e.id > other.id and not standing.is_removed(e)]:
            raise BodyNotWhole(other.uid)
        inside = self._ledger.rows(standing).after(one.id - 1).up_to(other.id)
        return await self._remove("remove_range", [entry async for entry in inside if not standing.is_removed(entry)])

    async def remove_body(self, id: MessageId) -> tuple[MessageId, ...]:
        """Take away a long message whole, named by any of its shards, and return the ids of all of them. Raises MessageNotFound."""
        entry, standing = await self._live(id)
        return await self._remove("remove", [e for e in await self._body(entry) if not standing.is_removed(e)])

    # -- reading

    async def get(self, id: MessageId) -> StoredMessage:
        """Return a message as it reads now. Raises MessageNotFound for one that is unknown or was removed."""
        return self._read(*await self._live(id))

    async def get_at(self, id: MessageId, entry: int) -> StoredMessage:
        """Return a message as it read when the tape ended at an entry. Raises MessageNotFound where it was not there then."""
        if not isinstance(entry, int) or isinstance(entry, bool) or entry < 0:
            raise InvalidInput(f"A message is read as of the id of an entry, a whole number, not {entry!r:.80}.")
        return self._read(*await self._live(id, end=entry))

    async def all(self) -> AsyncIterator[StoredMessage]:
        """Yield all messages, oldest first, as they are at the beginning; a page of them is in memory at a time."""
        standing = await self._ledger.standing()
        async with _closing(self._ledger.rows(standing)) as rows:
            async for entry in rows:
                if not standing.is_removed(entry):
                    yield self._read(entry, standing)

    async def count(self) -> int:
        """Return how many messages there are; costs what came since the last time."""
        return await self._ledger.count(await self._ledger.standing())

    async def window(self, offset: int, limit: int, *, align_to_bodies: bool = False) -> Page:
        """Return up to `limit` messages from a place on, counted from 0; with `align_to_bodies` long messages at its ends whole.

        Costs what it returns, and the first time a count over the store's index of kinds; a store without one reads it through.
        """
        if not all(isinstance(n, int) and not isinstance(n, bool) for n in (offset, limit)) or offset < 0 or limit < 1:
            raise InvalidInput(f"A window begins at a whole number from 0 and holds at least one message, not offset={offset!r:.40}, limit={limit!r:.40}.")
        standing = await self._ledger.standing()
        total = await self._ledger.count(standing)
        if offset >= total:
            return Page(messages=(), start=total, total=total)
        entries = await self._ledger.stretch(standing, offset=offset, limit=limit)
        if align_to_bodies and entries:
            before = [e for e in await self._body(entries[0]) if e.id < entries[0].id and not standing.is_removed(e)]
            behind = [e for e in await self._body(entries[-1]) if e.id > entries[-1].id and not standing.is_removed(e)]
            entries, offset = (*before, *entries, *behind), offset - len(before)
        return Page(messages=tuple(self._read(entry, standing) for entry in entries), start=offset, total=total)

    async def query(
        self,
        *,
        participant: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        source: str | None = None,
        external_ids: Collection[ChannelId] | None = None,
        channel: ChannelId | None = None,
        since: date | str | None = None,
        until: date | str | None = None,
        limit: int | None = None,
        reverse: bool = False,
    ) -> Matches:
        """Return the messages that are wanted, up to a limit, oldest first, or newest first with `reverse`, and how many there are.

        See `Filter` for what each asks; `since` and `until` are both included, a bare date is its whole day. Reads what was written
        between these two, all of it, as notes are in no index; the newest or oldest few of all messages cost what they are.
        """
        wanted = Filter(participant=participant, metadata=metadata, source=source, external_ids=external_ids, channel=channel)
        most, standing = checked_limit(limit), await self._ledger.standing()
        rows = between(self._ledger.rows(standing), since, until)
        is_counted = wanted.is_open and since is None and until is None
        kept: list[TapeEntry] = []
        total = 0
        async with _closing(rows.newest_first() if reverse else rows) as found:
            async for entry in found:
                if standing.is_removed(entry) or not wanted.admits(entry, agent=self.agent):
                    continue
                total += 1
                if most is None or len(kept) < most:
                    kept.append(entry)
                elif is_counted:
                    break
        if is_counted:
            total = await self._ledger.count(standing)
        return Matches(messages=tuple(self._read(entry, standing) for entry in kept), total=total)

    async def find_by_external_id(self, source: str, id: ChannelId) -> StoredMessage | None:
        """Return the newest message that its host got under an id from a source, the first shard of a long one; None where there is none."""
        standing = await self._ledger.standing()
        wanted = Filter(source=source, external_ids=(id,))
        async with _closing(self._ledger.rows(standing).newest_first()) as rows:
            async for entry in rows:
                body = body_of(entry)
                if wanted.admits(entry, agent=self.agent) and not standing.is_removed(entry) and (body is None or body.index == 0):
                    return self._read(entry, standing)
        return None

    async def channel_counts(self) -> Mapping[ChannelId, int]:
        """Return how many messages each channel has, wherever their metadata names it; reads all of them."""
        standing = await self._ledger.standing()
        counts: Counter[ChannelId] = Counter()
        async for entry in self._ledger.rows(standing):
            if not standing.is_removed(entry):
                counts.update(channels_of(entry))
        return dict(counts)

    # -- where messages stand

    async def place(self, id: MessageId) -> int:
        """Return the id of the entry that a message is, also of one that was removed. Raises MessageNotFound."""
        return (await self._entry(id)).id

    async def places(self, ids: Iterable[MessageId]) -> dict[MessageId, int]:
        """Return the entry ids of those messages that are on the tape."""
        found = await self.tape.store.find(self.tape.name, uids=[id for id in ids if isinstance(id, str)])
        return {id: entry.id for id, entry in found.items()}

    async def body_places(self, id: MessageId) -> tuple[int, ...]:
        """Return the entry ids of all shards of the long message that a message is a part of; its own where it is whole. Raises MessageNotFound."""
        return tuple(entry.id for entry in await self._body(await self._entry(id)))

    async def parts(self, id: MessageId) -> dict[MessageId, int]:
        """Return, with their entry ids, all that stands or falls with a message: every shard of its body, the call of a result. Raises MessageNotFound."""
        entry = await self._entry(id)
        return {e.uid: e.id for e in (*await self._calls(entry), *await self._body(entry))}

    async def known_parts(self, id: MessageId) -> tuple[MessageId, ...]:
        """Return the ids of all that stands or falls with a message; none for one that is unknown."""
        try:
            return tuple(await self.parts(id))
        except MessageNotFound:
            return ()

    # -- inside

    def _read(self, entry: TapeEntry, standing: Standing) -> StoredMessage:
        return stored(entry, agent=self.agent, amend=standing.amend(entry))

    async def _entry(self, id: MessageId) -> TapeEntry:
        found = await self.tape.store.find(self.tape.name, uids=[id]) if isinstance(id, str) and id else {}
        entry = found.get(id) if found else None
        if entry is None or entry.kind not in ROWS:
            raise MessageNotFound(str(id), tape=self.tape.name)
        return entry

    async def _live(self, id: MessageId, *, end: int | None = None) -> tuple[TapeEntry, Standing]:
        """Return the entry of a message that was not removed, and how the tape stands, now or where it ended at `end`."""
        entry, standing = await self._entry(id), await self._ledger.standing()
        standing = standing if end is None else standing.at(end)
        if entry.id > standing.end or standing.is_removed(entry):
            raise MessageNotFound(id, tape=self.tape.name)
        return entry, standing

    async def _body(self, entry: TapeEntry) -> tuple[TapeEntry, ...]:
        """Return the shards of the body that an entry is one of, in order; itself where it is whole."""
        body = body_of(entry)
        if body is None:
            return (entry,)
        rows = self.tape.query().kinds(*ROWS)
        before = list(await rows.before(entry.id).newest_first().limit(body.index).all()) if body.index else []
        behind = list(await rows.after(entry.id).limit(body.count - body.index - 1).all()) if body.index < body.count - 1 else []
        return body_around(entry, before=before, behind=behind)

    async def _calls(self, entry: TapeEntry) -> Sequence[TapeEntry]:
        """Return the turns whose calls a message answers."""
        wanted = {result.call_id for result in stored(entry, agent=self.agent).message.results}
        if not wanted:
            return ()
        turns = await self.tape.query().kinds(TOOL_CALL).before(entry.id).newest_first().limit(CALLS_LOOKED_AT).all()
        found: list[TapeEntry] = []
        for turn in turns:
            asked = {call.id for call in stored(turn, agent=self.agent).message.calls} & wanted
            if asked:
                found.append(turn)
                wanted -= asked
            if not wanted:
                break
        return found[::-1]

    async def _remove(self, kind: Change, entries: Sequence[TapeEntry]) -> tuple[MessageId, ...]:
        ids = tuple(entry.uid for entry in entries)
        calls = [call.uid for entry in entries if entry.kind == TOOL_RESULT for call in await self._calls(entry)]  # else a view that does not load the result would show them
        await self.tape.append_many([removal_entry(id) for id in dict.fromkeys((*ids, *calls))])
        await self._listeners.tell(MessageEvent(kind=kind, ids=ids))
        return ids

    async def _tell(self, kind: Change, messages: Sequence[StoredMessage]) -> None:
        await self._listeners.tell(MessageEvent(kind=kind, ids=tuple(message.id for message in messages), messages=tuple(messages)))


def _closing(query: TapeQuery) -> aclosing[AsyncGenerator[TapeEntry, None]]:
    """Return the entries of a query, to go through in a block that may be left early."""
    return aclosing(cast("AsyncGenerator[TapeEntry, None]", aiter(query)))


def _place(entry: TapeEntry) -> int:
    return entry.id
