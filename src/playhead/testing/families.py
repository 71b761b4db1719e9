"""What scenarios with branches and sidecars do again and again."""

from __future__ import annotations

from playhead.errors import BranchNotFound
from playhead.store.change import MERGED, Append, Close, Fork, Reset
from playhead.store.family import branch_name, sidecar_name
from playhead.store.protocol import EMPTY, WholeStore
from playhead.store.query import TapeQuery
from playhead.testing.stage import keyed, note, raising, whole


async def written(store: WholeStore, tape: str, *texts: str) -> list[int]:
    """Append texts at once and return the ids they were given."""
    return [entry.id for entry in await store.append_many(tape, [note(text) for text in texts])]


async def shown(store: WholeStore, tape: str) -> list[tuple[int, str]]:
    """Return the ids and the texts that a tape shows, "" for what says none."""
    return [(entry.id, entry.payload.get("text", "")) for entry in await whole(store, tape)]


async def texts(store: WholeStore, tape: str) -> list[str]:
    """Return the texts that a tape shows."""
    return [text for _, text in await shown(store, tape)]


async def forked(store: WholeStore, parent: str, label: str, *, at: int | None = None, owner: str | None = None) -> str:
    """Fork a branch and return its name."""
    branch = branch_name(parent, label)
    await store.apply([Fork(tape=branch, parent=parent, at=at, owner=owner)])
    return branch


async def closed(store: WholeStore, branch: str, outcome: str = MERGED) -> str:
    """Close a branch and return its name."""
    await store.apply([Close(tape=branch, outcome=outcome)])
    return branch


async def merge_of(store: WholeStore, branch: str, *, key: str) -> list[Append | Close]:
    """Return the changes that merge a branch back: what it holds of its own, then an entry with the key, then its end."""
    record = await store.branch(branch)
    if record is None:
        raise BranchNotFound(branch)
    own = await store.fetch_all(TapeQuery(tape=branch).after(record.base.id))
    return [Append(tape=record.parent, entries=[*own, keyed("merge", key)]), Close(tape=branch, outcome=MERGED, expected_head=await store.head(branch))]


async def everything(store: WholeStore, root: str) -> list[object]:
    """Return all that can be seen of a family: its tapes, branches and sidecars, their heads, entries, records and marks."""
    records = await store.branches(root)
    seen: list[object] = [await store.list_tapes(), records]
    for main in (root, *(record.name for record in records)):
        seen += [main, await store.head(main), await whole(store, main)]
        for name in await store.sidecars(main):
            sidecar = sidecar_name(main, name)
            seen += [sidecar, await store.head(sidecar), await whole(store, sidecar), await store.marks(sidecar), await store.branch(sidecar)]
    return seen


async def is_not_found(store: WholeStore, name: str) -> None:
    """Fail the test unless the name of a branch, or of the sidecar of one, is unknown whatever is done with it."""
    calls = (
        lambda: store.append_many(name, [note("x")]),
        lambda: store.append_many(name, [keyed("x", "k")]),
        lambda: store.fetch_all(TapeQuery(tape=name)),
        lambda: store.fetch_all(TapeQuery(tape=name).last_anchor()),
        lambda: store.count(TapeQuery(tape=name)),
        lambda: store.head(name),
        lambda: store.find(name, keys=["k"], uids=["u"]),
        lambda: store.marks(name),
        lambda: store.reset(name),
        lambda: store.lease(name, owner="one", seconds=1),
        lambda: store.cursor(name, "mail"),
        lambda: store.move_cursor(name, "mail", EMPTY),
        lambda: store.apply([Append(tape=name, entries=[note("x")])]),
        lambda: store.apply([Reset(tape=name)]),
    )
    for call in calls:
        with raising(BranchNotFound):
            await call()
