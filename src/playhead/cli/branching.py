"""The commands for branches: branches, fork, merge, discard, recover, gc."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

from rich.text import Text

from playhead.cli.collecting import collect_blobs
from playhead.cli.hints import command
from playhead.cli.layout import VERY_WIDE, Column, cut, table
from playhead.cli.output import Output, counted
from playhead.cli.store_choice import chosen_store, existing_tape, is_absent, shown_url
from playhead.cli.transcript import age
from playhead.cli.writing import STDIN, stdin_text
from playhead.errors import BranchNotFound, InvalidInput, TapeNotFound
from playhead.store.archiving.age import ago
from playhead.store.change import BranchRecord
from playhead.store.concurrency.owner import is_gone
from playhead.store.family import kin_of
from playhead.store.protocol import EMPTY, WholeStore
from playhead.store.transfer.draft import without_drafts
from playhead.tape.recovery import Recovered
from playhead.tape.tape import Branch, Tape

CLOSED_FOR = timedelta(days=7)
"""How long `gc` leaves closed branches alone where nothing says otherwise."""

LABEL_LEAST, OTHERS = 12, 50
"""How much of a name stands in the tree at least, and how much the other columns of the table take, in columns."""

COLUMNS = (
    Column(heading="branch", is_tree=True),
    Column(heading="state"),
    Column(heading="forked at", is_number=True),
    Column(heading="entries", is_number=True),
    Column(heading="driver"),
    Column(heading="age"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limb:
    """A branch as it is shown: its record, how many entries it has added, and what stands before its label in the tree."""

    record: BranchRecord
    entries: int
    is_gone: bool
    trunk: str = ""

    @property
    def label(self) -> str:
        """The label in its family."""
        return kin_of(self.record.name).branch or self.record.name


async def branches(args: Namespace, out: Output) -> int:
    """Show the branches of a tape, or of every tape, as trees."""
    async with _families(args) as (store, roots):
        families = {root: await _limbs(store, root) for root in roots}
        sizes = {root: (await store.head(root)).id for root, limbs in families.items() if limbs}
    shown = {root: _grown([limb for limb in limbs if args.all or _is_alive(limb, limbs)], root) for root, limbs in families.items()}
    if out.as_json:
        out.json({"store": shown_url(args), "branches": [_facts(limb, root) for root, limbs in shown.items() for limb in limbs]})
        return 0
    room = (out.width or VERY_WIDE) - OTHERS
    rows = [row for root, limbs in shown.items() if limbs for row in (_root_row(root, sizes[root], room), *(_row(limb, room) for limb in limbs))]
    if rows:
        out.lines(*table(COLUMNS, rows, width=out.width))
        example = next(limb for limbs in shown.values() for limb in limbs)
        out.note(f"The whole name of a branch is TAPE__branch__LABEL, such as {example.record.name}.")
    closed = sum(len(limbs) for limbs in families.values()) - sum(map(len, shown.values()))
    if closed:
        told, them = ("1 branch that ended is", "it") if closed == 1 else (f"{closed:,} branches that ended are", "them")
        out.note(f"{told} not shown; {_again('branches', args, '--all')} shows {them}.")
    elif not rows:
        out.note(f"There are no branches{f' of {args.tape}' if args.tape else ''}; {_again('fork', args) if args.tape else command('fork', Namespace(store=args.store), 'TAPE')} makes one.")
    return 0


async def family_table(store: WholeStore, root: str, *, width: int | None) -> Sequence[Text]:
    """Return the open branches of a tape as the lines of a table, none where there is none."""
    limbs = await _limbs(store, root)
    shown = _grown([limb for limb in limbs if _is_alive(limb, limbs)], root)
    room = (width or VERY_WIDE) - OTHERS
    rows = [_root_row(root, (await store.head(root)).id, room), *(_row(limb, room) for limb in shown)]
    return list(table(COLUMNS, rows, width=width)) if shown else []


async def fork(args: Namespace, out: Output) -> int:
    """Make a branch."""
    async with existing_tape(args) as tape:
        branch = await tape.fork(args.at, name=args.name)
        record = await branch.record()
    if out.as_json:
        out.json({"tape": args.tape, "branch": branch.name, "at": record.base.id})
    else:
        out.write(f"branch '{branch.name}' of '{args.tape}' at entry {record.base.id}")
    return 0


async def merge(args: Namespace, out: Output) -> int:
    """Bring what a branch added back to its parent."""
    summary = stdin_text() if args.summary == STDIN else args.summary
    async with _branch(args) as branch:
        was_open = (await branch.record()).is_open
        report = await branch.merge(args.policy, summary=summary)
    for name, why in report.failed.items():
        out.warn(f"sidecar '{name}' could not be merged, what it added stays on the branch: {why}")
    ids = [entry.id for entry in report.entries]
    if out.as_json:
        facts = {"entries": ids, "event": report.event.id if report.event else None, "moved": report.moved, "failed": dict(report.failed)}
        out.json({"branch": args.branch, "tape": report.parent, "policy": report.policy, **facts})
    elif not was_open:
        out.write(f"branch '{args.branch}' was merged into '{report.parent}' before; nothing was changed")
    else:
        where = f", {ids[0]} to {ids[-1]}" if len(ids) > 1 else f", {ids[0]}" if ids else ""
        out.write(f"merged '{args.branch}' into '{report.parent}': {counted(len(ids), 'entry')}{where}")
    return 0


async def discard(args: Namespace, out: Output) -> int:
    """Close a branch so that nothing of it comes back."""
    async with _branch(args) as branch:
        await branch.discard()
        record = await branch.record()
    if out.as_json:
        out.json({"branch": args.branch, "state": record.state})
    else:
        out.write(f"discarded '{args.branch}'; what it added can be read until {command('gc', Namespace(store=args.store))} removes it")
    return 0


async def recover(args: Namespace, out: Output) -> int:
    """Deal with branches whose driver died; the exit code is 1 where one of them could not be."""
    async with _families(args) as (store, roots):
        done = [found for root in roots for found in await Tape(store, root).recover(args.how)]
    if out.as_json:
        out.json({"store": shown_url(args), "recovered": [_recovered(found) for found in done]})
    else:
        for found in done:
            out.write(_told(found))
    if not done and not out.as_json:
        out.note("There is no branch whose driver died.")
    return int(any(found.error is not None for found in done))


async def gc(args: Namespace, out: Output) -> int:
    """Remove what is left of branches that were merged or discarded, or the blobs that nothing names."""
    if args.blobs:
        return await collect_blobs(args, out)
    before = ago(CLOSED_FOR if args.older_than is None else args.older_than, what="--older-than")
    async with _families(args, is_branch_meant=True) as (store, names):
        removed = [gone for name in names for gone in await store.collect(name, before=before)]
    if out.as_json:
        out.json({"store": shown_url(args), "removed": removed})
    elif removed:
        for name in removed:
            out.write(f"removed '{name}'")
    else:
        out.note("There is no branch to remove: none was merged or discarded so long ago that no other was forked from.")
    return 0


@asynccontextmanager
async def _families(args: Namespace, *, is_branch_meant: bool = False) -> AsyncIterator[tuple[WholeStore, Sequence[str]]]:
    """Open the store, with the tapes whose branches are meant: the one that is named, else all. Raises TapeNotFound, BranchNotFound."""
    async with chosen_store(args) as store:
        if is_absent(store):
            if args.tape is not None:
                raise TapeNotFound(args.tape, hint=f"; there is no store at {shown_url(args)} yet: import or append something, or name another one with --store")
            yield store, []
            return
        if args.tape is None:
            yield store, await without_drafts(store, await store.list_tapes())
            return
        kin = kin_of(args.tape)
        if kin.branch is not None and await store.branch(kin.main) is None:
            raise BranchNotFound(kin.main)
        if kin.branch is None and await store.head(kin.root) == EMPTY and not await store.branches(kin.root):
            raise TapeNotFound(args.tape, hint=f"; {command('ls', Namespace(store=args.store))} lists those there are")
        yield store, [kin.main if is_branch_meant else kin.root]


@asynccontextmanager
async def _branch(args: Namespace) -> AsyncIterator[Branch]:
    """Open the branch that the command names. Raises BranchNotFound, InvalidInput where it names none."""
    kin = kin_of(args.branch)
    if not kin.is_branch:
        raise InvalidInput(f"'{args.branch}' is no branch's name; {command('branches', Namespace(store=args.store))} shows those there are.")
    async with chosen_store(args) as store:
        if is_absent(store) or await store.branch(args.branch) is None:
            raise BranchNotFound(args.branch)
        yield Branch(store, args.branch)


async def _limbs(store: WholeStore, root: str) -> list[Limb]:
    """Return the branches of a family, in the order they were made."""
    limbs = []
    for record in await store.branches(root):
        head = await store.head(record.name)
        added = head.id - record.base.id if head.generation == record.base.generation else head.id
        limbs.append(Limb(record=record, entries=added, is_gone=record.is_open and is_gone(record.owner)))
    return limbs


def _grown(limbs: Sequence[Limb], parent: str, trunk: str = "") -> list[Limb]:
    """Return the branches as a tree, each behind what it was forked from."""
    found: list[Limb] = []
    twigs = [limb for limb in limbs if limb.record.parent == parent]
    for limb in twigs:
        is_last = limb is twigs[-1]
        found.append(replace(limb, trunk=f"{trunk}{'└─ ' if is_last else '├─ '}"))
        found += _grown(limbs, limb.record.name, f"{trunk}{'   ' if is_last else '│  '}")
    return found


def _is_alive(limb: Limb, limbs: Sequence[Limb]) -> bool:
    """Return whether a branch, or one that was forked from it, is open."""
    return limb.record.is_open or any(_is_alive(twig, limbs) for twig in limbs if twig.record.parent == limb.record.name)


def _root_row(root: str, entries: int, room: int) -> tuple[str, ...]:
    return cut(root, width=max(LABEL_LEAST, room)), "", "", f"{entries:,}", "", ""


def _row(limb: Limb, room: int) -> tuple[str, ...]:
    record = limb.record
    driver = "" if record.owner is None or not record.is_open else "gone" if limb.is_gone else "at work"
    since = record.closed_at or record.created_at
    return limb.trunk + cut(limb.label, width=max(LABEL_LEAST, room - len(limb.trunk))), record.state, f"{record.base.id:,}", f"{limb.entries:,}", driver, age(since)


def _facts(limb: Limb, root: str) -> dict[str, object]:
    record = limb.record
    return {
        "tape": root,
        "branch": record.name,
        "parent": record.parent,
        "generation": record.base.generation,
        "at": record.base.id,
        "entries": limb.entries,
        "state": record.state,
        "owner": record.owner,
        "is_gone": limb.is_gone,
        "created_at": record.created_at,
        "closed_at": record.closed_at,
    }


def _recovered(found: Recovered) -> dict[str, object]:
    return {"branch": found.branch.name, "action": found.action, "entries": [e.id for e in found.report.entries] if found.report else [], "error": found.error}


def _told(found: Recovered) -> str:
    name = found.branch.name
    if found.error is not None:
        return f"'{name}' stays open: {found.error}"
    if found.action == "keep":
        return f"'{name}' is kept open; its driver is gone"
    if found.action == "discard":
        return f"discarded '{name}'"
    entries = found.report.entries if found.report is not None else ()
    return f"merged '{name}' into '{found.report.parent if found.report else found.branch.parent}': {counted(len(entries), 'entry')}"


def _again(name: str, args: Namespace, *words: str) -> str:
    """Return a command of the same tape, where one was named, and store."""
    tape = [args.tape] if args.tape is not None else []
    return command(name, Namespace(store=args.store), *words, *tape)
