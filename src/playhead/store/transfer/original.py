"""A family as it stands in a store, read for a copy: its outline, and its entries a page at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from uuid import UUID

from playhead.entry import codec
from playhead.entry.entry import TapeEntry, digest
from playhead.entry.frozen import FrozenDict
from playhead.errors import BranchNotFound, Conflict, InvalidInput, StoreDamaged
from playhead.store.change import BranchRecord
from playhead.store.family import Kin, kin_of, sidecar_name
from playhead.store.protocol import EMPTY, Head
from playhead.store.query import TapeQuery
from playhead.store.transfer.draft import is_mark
from playhead.store.transfer.outline import Member, Outline, Strip, in_order
from playhead.store.transfer.readable import Readable
from playhead.store.transfer.strips import Need, needs_of

PAGE = 256
"""How many entries are read at a time at most."""

PAGE_BYTES = 8 << 20
"""From how many bytes of payload and meta on a page is not made longer."""

_FIRST = 8
"""How many entries are read at first, when nobody knows yet how long they are."""

MARKS = 4096
"""How many marks are read at a time."""

ATTEMPTS = 5
"""How often an outline is taken anew because branches came or went meanwhile, before that is given up."""

_FORM, _FREE_FORM = 0xF000 << 64 | 3 << 62, 0x8000 << 64 | 2 << 62
"""The bits of a UUID that say its version and variant, and those of version 8, whose other bits mean what one likes (RFC 9562, section 5.8)."""

Page = list[tuple[TapeEntry, Head | None]]
"""Entries, on a sidecar each with its mark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a store says of a member of a family: where it ends, and its record where it was forked."""

    kin: Kin
    head: Head
    record: BranchRecord | None = None


class Original:
    """A family in a store, as it was when its outline was taken; what is appended since is left out.

    Raises Conflict where a tape of it was reset, or a branch removed, meanwhile; InvalidInput where ids have gaps, as another
    program may have numbered them.
    """

    def __init__(self, store: Readable, root: str, outline: Outline, through: Mapping[tuple[str | None, str | None, int], str]) -> None:
        self.store = store
        self.root = root
        self.outline = outline
        self._through = through
        self._count = _FIRST

    @classmethod
    async def of(cls, store: Readable, root: str) -> Original:
        """Return a family as it stands now."""
        for _ in range(ATTEMPTS):
            before = await store.branches(root)
            known = await _known(store, root, before)
            if await store.branches(root) == before:
                return await cls._taken(store, root, known)
        raise Conflict(expected="an end", found="more branches", message=f"Branches of tape '{root}' are made and closed all the time; stop those who do, then copy it.")

    @classmethod
    async def _taken(cls, store: Readable, root: str, known: Sequence[Known]) -> Original:
        needs = needs_of({one.kin: (one.head, one.record) for one in known})
        through = {(kin.branch, kin.sidecar, generation): need.through for (kin, generation), need in needs.items()}
        original = cls(store, root, Outline(members=()), through)
        generations: dict[Kin, list[int]] = {}
        for kin, generation in needs:
            generations.setdefault(kin, []).append(generation)
        members = [_member(one, [await original._strip(one, generation, needs[one.kin, generation]) for generation in sorted(generations[one.kin])]) for one in known]
        original.outline = Outline(members=in_order(members))
        return original

    async def page(self, member: Member, strip: Strip, *, after: int, upto: int) -> Page:
        """Return the first entries of a strip behind an id, none behind `upto`."""
        name, stop = self._name(member.label, member.sidecar, strip.generation), min(upto, strip.last)
        query = TapeQuery(tape=name).after(max(after, strip.first - 1)).up_to(stop).limit(self._count)
        try:
            entries = self._fitting(await self.store.fetch_all(query))
            marks: list[Head | None] = []
            if member.sidecar is not None and entries:
                marks += await self.store.marks(name, after=query.cursor, limit=len(entries))
            await self._check_generation(name, strip.generation)
        except BranchNotFound as exc:
            raise self._moved(exc.name) from exc
        if [entry.id for entry in entries] != list(range(query.cursor + 1, query.cursor + 1 + len(entries))) or (not entries and query.cursor < stop):
            raise InvalidInput(f"The entries of '{name}' are numbered with gaps, as another program wrote them; copy it with copy_tape(), which counts them anew, then export that.")
        return [(_named(entry), mark) for entry, mark in zip(entries, marks if member.sidecar is not None else [None] * len(entries), strict=True)]

    def _fitting(self, entries: Sequence[TapeEntry]) -> list[TapeEntry]:
        """Return the first of some entries, as many as fit a page, and ask for as many the next time; a payload that is kept in parts is loaded only where it is taken."""
        fitting, size = [], 0
        for entry in entries:
            fitting.append(entry)
            size += sum(len(codec.encode(part)) for part in (entry.payload, entry.meta))
            if size >= PAGE_BYTES:
                break
        if fitting:
            grown = self._count * 2 if len(fitting) == self._count else self._count
            self._count = max(1, min(PAGE, grown, PAGE_BYTES * len(fitting) // max(size, 1)))
        return fitting

    def _name(self, label: str | None, sidecar: str | None, generation: int) -> str:
        """Return the tape that shows a strip now."""
        return self._through[label, sidecar, generation]

    async def _check_generation(self, name: str, generation: int) -> None:
        if (await self.store.head(name)).generation != generation:
            raise self._moved(name)

    def _moved(self, name: str) -> Conflict:
        return Conflict(expected="the same tape", found="another", message=f"'{name}' was reset or removed while the tape '{self.root}' was copied; copy it again.")

    async def _strip(self, one: Known, generation: int, need: Need) -> Strip:
        base = one.record.base if one.record is not None and one.record.base.generation == generation else EMPTY
        first, last = base.id + 1, max(base.id, need.shown)
        strip = Strip(generation=generation, first=first, last=last, reach=max(last, need.given))
        if not strip.count:
            return strip
        member = Member(label=one.kin.branch, sidecar=one.kin.sidecar, strips=(strip,))
        ((entry, _),) = await self.page(member, strip, after=last - 1, upto=last)
        return replace(strip, uid=entry.uid, spans=() if one.kin.sidecar is None else await self._spans(member, strip))

    async def _spans(self, member: Member, strip: Strip) -> tuple[tuple[int, int], ...]:
        """Return in which generations of its main tape a strip of a sidecar was written, up to which ids."""
        name, spans, after = self._name(member.label, member.sidecar, strip.generation), dict[int, int](), strip.first - 1
        while after < strip.last:
            marks = await self.store.marks(name, after=after, limit=min(MARKS, strip.last - after))
            if not marks:
                raise self._moved(name)
            for generation, run in groupby(mark.generation for mark in marks):
                after += sum(1 for _ in run)
                spans[generation] = after
        if any(one >= other for one, other in pairwise(spans)):
            raise StoreDamaged(f"The marks of the sidecar '{name}' do not rise; verify the store.", tape=name)
        return tuple(spans.items())


async def _known(store: Readable, root: str, branches: Sequence[BranchRecord]) -> list[Known]:
    """Return what a store says of the members of a family: what was forked is asked before what it was forked from, sidecars before their tapes."""
    mains = [root, *(record.name for record in branches)]
    names = sorted({name for main in mains for name in await store.sidecars(main) if not await is_mark(store, main, name)})
    found: dict[str, list[Known]] = {}
    for main, record in reversed(list(zip(mains, (None, *branches), strict=True))):
        sides = [await _side(store, sidecar_name(main, name), is_forked=record is not None) for name in names]
        found[main] = [Known(kin=kin_of(main), head=await store.head(main), record=record), *(side for side in sides if side is not None)]
    return [one for main in mains for one in found[main]]


async def _side(store: Readable, name: str, *, is_forked: bool) -> Known | None:
    head, record = await store.head(name), await store.branch(name) if is_forked else None
    return None if head == EMPTY and record is None else Known(kin=kin_of(name), head=head, record=record)


def _member(one: Known, strips: Sequence[Strip]) -> Member:
    record, kin = one.record, one.kin
    member = Member(label=kin.branch, sidecar=kin.sidecar, strips=tuple(strips))
    if record is None:
        return member
    member = replace(member, parent=kin_of(record.parent).branch, base=record.base)
    if not member.is_branch:
        return member
    return replace(member, state=record.state, owner=record.owner, created_at=record.created_at, closed_at=record.closed_at)


def _named(entry: TapeEntry) -> TapeEntry:
    """Return an entry with a uid: one that has none, as another program wrote it, gets one that its id and text give, the same each time."""
    if "uid" in entry.meta:
        return entry
    return replace(entry, meta=FrozenDict({"uid": made_uid(entry.id, digest(entry)), **entry.meta}))


def made_uid(id: int, hashed: bytes) -> str:
    """Return the uid that an id and a hash give."""
    said = int.from_bytes(id.to_bytes(4, "big") + hashed[:12], "big")
    return str(UUID(int=said & ~_FORM | _FREE_FORM))
