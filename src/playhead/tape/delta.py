"""What a branch added, and what of it comes back to the tape it was forked from."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from playhead.entry.entry import ANCHOR, EVENT, TapeEntry, event_name, stamped
from playhead.entry.frozen import freeze_dict
from playhead.entry.message import Message, user
from playhead.errors import InvalidInput
from playhead.store.change import BranchRecord
from playhead.store.family import kin_of
from playhead.store.protocol import Head, WholeStore
from playhead.store.query import TapeQuery
from playhead.tape.record import entries_of
from playhead.view.pieces import BOOTSTRAP

FAST_FORWARD: Final = "fast-forward"
APPEND: Final = "append"
SQUASH: Final = "squash"

Decide = Callable[["Delta"], "Iterable[TapeEntry | Message] | Awaitable[Iterable[TapeEntry | Message]]"]
"""Returns what comes back to the parent; raises Conflict where nothing can."""

Policy = Literal["fast-forward", "append", "squash"] | Decide


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """What a branch added, and what its parent did meanwhile.

    `base` is where the branch left its parent, `head` where the parent ends now, `replaces` whether the branch was reset, so that
    its entries stand for those before `base` too. `others` are the entries that the parent got since.
    """

    branch: str
    parent: str
    base: Head
    head: Head
    entries: tuple[TapeEntry, ...]
    others: tuple[TapeEntry, ...] = ()
    replaces: bool = False

    @property
    def moved(self) -> bool:
        """Whether the parent has changed since the branch left it."""
        return self.head != self.base


async def delta_of(store: WholeStore, record: BranchRecord, parent: str, head: Head, *, since: int, others: bool) -> Delta:
    """Return what a branch has added behind the entry `since`, and what its parent did, with the entries it got where `others` says so."""
    there = await store.head(parent)
    base = record.base if parent == record.parent else Head(there.generation, 0)
    replaces = head.generation != record.base.generation
    entries = await between(store, record.name, after=0 if replaces else since, upto=head.id)
    got: tuple[TapeEntry, ...] = ()
    if replaces or others:
        got = await between(store, parent, after=base.id if there.generation == base.generation else 0, upto=there.id)
    return Delta(branch=record.name, parent=parent, base=base, head=there, entries=await new_to(store, parent, entries), others=got, replaces=replaces)


async def between(store: WholeStore, tape: str, *, after: int, upto: int) -> tuple[TapeEntry, ...]:
    """Return the entries of a tape behind one id, up to another."""
    return tuple(await store.fetch_all(TapeQuery(tape=tape).after(after).up_to(upto))) if upto > after else ()


async def new_to(store: WholeStore, tape: str, entries: tuple[TapeEntry, ...]) -> tuple[TapeEntry, ...]:
    """Leave out what came back before, by a merge whose outcome was lost: it is there from the first entry on."""
    if not entries or not await store.find(tape, uids=[entries[0].uid]):
        return entries
    there = await store.find(tape, uids=[entry.uid for entry in entries])
    return tuple(entry for entry in entries if entry.uid not in there)


async def chosen(store: WholeStore, delta: Delta, policy: Policy, summary: str | Message | TapeEntry | None, *, moving: bool) -> list[TapeEntry]:
    """Return the entries that come back, each with where it stood where its id changes."""
    if callable(policy):
        found = policy(delta)
        items = await found if inspect.isawaitable(found) else found
        return [stamped(entry) for item in items for entry in entries_of(item, {})]
    if policy == SQUASH:
        return [stamped(entry) for entry in entries_of(_summary(delta, summary), _origin(delta.branch, delta.entries[-1].id if delta.entries else 0))] if delta.entries else []
    if delta.replaces or not (delta.moved or moving):
        return list(delta.entries)
    entries = [replace(entry, meta=freeze_dict({**entry.meta, **_origin(delta.branch, entry.id)}, path="meta")) for entry in delta.entries]
    return await _without_a_second_beginning(store, delta.parent, entries)


async def _without_a_second_beginning(store: WholeStore, parent: str, entries: list[TapeEntry]) -> list[TapeEntry]:
    """Let the `session/start` of a branch be an event where its parent has an anchor since: of two first runs neither hides the other."""
    if not any(map(_is_beginning, entries)) or not await store.fetch_all(TapeQuery(tape=parent).kinds(ANCHOR).limit(1)):
        return entries
    return [_as_event(entry) if _is_beginning(entry) else entry for entry in entries]


def _is_beginning(entry: TapeEntry) -> bool:
    return entry.kind == ANCHOR and event_name(entry) == BOOTSTRAP


def _as_event(entry: TapeEntry) -> TapeEntry:
    facts = freeze_dict({"name": BOOTSTRAP, "data": entry.payload.get("state")})
    return replace(entry, kind=EVENT, payload=facts, meta=freeze_dict({**entry.meta, "context": False}, path="meta"))


def _origin(branch: str, id: int) -> dict[str, Any]:
    return {"origin": {"tape": branch, "id": id}}


def _summary(delta: Delta, summary: str | Message | TapeEntry | None) -> Message | TapeEntry:
    if isinstance(summary, str):
        return user(f"[Summary of branch {kin_of(delta.branch).branch}]\n{summary}")
    if summary is None:
        raise InvalidInput("To squash a branch say what is to stand for it: merge(policy='squash', summary=TEXT).")
    return summary


def check_policy(policy: Policy, summary: object) -> None:
    """Raise InvalidInput for a policy that is none, and for a summary that is missing or not asked for."""
    if not callable(policy) and policy not in (FAST_FORWARD, APPEND, SQUASH):
        raise InvalidInput(f"A merge policy is 'append', 'fast-forward', 'squash', or a function of the Delta, not {policy!r}.")
    if policy == SQUASH and not isinstance(summary, (str, Message, TapeEntry)):
        raise InvalidInput("To squash a branch say what is to stand for it: merge(policy='squash', summary=TEXT).")
    if policy != SQUASH and summary is not None:
        raise InvalidInput("Only policy='squash' puts a summary in place of what the branch added; leave it out.")
