"""A fork for the length of a block: what is written inside comes back when it ends, however it ends."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

import anyio

from playhead.errors import BranchClosed, BranchNotFound, InvalidInput
from playhead.store.concurrency.owner import Owner, let_go, new_owner
from playhead.store.family import kin_of
from playhead.tape.delta import Policy
from playhead.tape.merging import MergeReport, collect_now

if TYPE_CHECKING:
    from playhead.tape.tape import Branch, Tape


class ForkScope:
    """`async with tape.fork_tape() as branch:` merges the branch at the end, or discards it with `merge_back=False`.

    It merges also after an exception or a cancellation, may be left in another task than it was entered in, and never puts an error
    of its own in the place of one that the block raised: that one gets a note, and `error` holds the other; the branch then stays
    open. Where the process dies inside, `tape.recover()` finds the branch. `report` says what the merge did.
    """

    def __init__(self, tape: Tape, *, merge_back: bool, policy: Policy, name: str | None, at: int | None) -> None:
        self.report: MergeReport | None = None
        self.error: Exception | None = None
        self._tape = tape
        self._merge_back = merge_back
        self._policy = policy
        self._name = name
        self._at = at
        self._owner: Owner | None = None
        self._branch: Branch | None = None

    async def __aenter__(self) -> Branch:
        if self._owner is not None:
            raise InvalidInput("This fork was entered before; make another one with tape.fork_tape().")
        owner = self._owner = new_owner(self)
        try:
            self._branch = await self._tape.fork(self._at, name=self._name, owner=str(owner))
        except BaseException:
            self._owner = None
            let_go(owner)  # the branch may be there all the same, and is then for recovery to find
            raise
        return self._branch

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with anyio.CancelScope(shield=True):
            try:
                await self._end()
            except Exception as exc:
                self.error = exc
                if error is None:
                    raise
                error.add_note(f"The branch '{self._name_of_branch}' could not be {'merged' if self._merge_back else 'discarded'}, and is still there: {exc}")
            finally:
                if self._owner is not None:
                    let_go(self._owner)

    @property
    def parent_name(self) -> str:
        """The name of the tape that is forked."""
        return self._tape.name

    @property
    def _name_of_branch(self) -> str:
        return self._branch.name if self._branch is not None else ""

    async def _end(self) -> None:
        """Merge or discard, then remove the branch where no other was forked from it, as its entries are where they should be."""
        branch = self._branch
        if branch is None:
            return
        try:
            await self._brought_back(branch)
        except BranchNotFound:
            branch = await self._renamed(branch)
            if branch is not None:
                await self._brought_back(branch)

    async def _brought_back(self, branch: Branch) -> None:
        try:
            if self._merge_back:
                self.report = await branch.merge(policy=self._policy)
            else:
                await branch.discard()
        except BranchClosed:  # the block has ended it itself
            return
        await collect_now(branch.store, branch.name)

    async def _renamed(self, branch: Branch) -> Branch | None:
        """Return the branch under the name that it, or its family, was given inside the block; None where the block has ended it."""
        store = self._tape.store
        root = kin_of(branch.name).root
        for family in [root, *(name for name in await store.list_tapes() if name != root)]:
            for record in await store.branches(family):
                if record.owner == str(self._owner):
                    return await self._tape.scoped(family).branch(record.name)
        return None
