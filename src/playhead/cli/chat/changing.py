"""The commands of a chat that change what comes next; what stands on the tape stays there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playhead.cli.chat.conversation import Conversation
from playhead.cli.chat.looking import MAIN, called, entry_id, named_tape
from playhead.cli.chat.talk import AGENT
from playhead.cli.folding import entries_told
from playhead.cli.pinning import pinned_ends
from playhead.cli.plain import short_name
from playhead.cli.tree import pins_table
from playhead.errors import BranchClosed, InvalidInput
from playhead.prompt.manager.manager import ContextManager
from playhead.store.family import kin_of
from playhead.tape.tape import Branch


async def retry(conversation: Conversation) -> None:
    """Have the last line answered once more; what was answered before goes out of view."""
    if not await conversation.talk.forget_answer() and not conversation.session.waiting:
        raise InvalidInput("Nothing was said behind the newest anchor, so there is nothing to ask again.")
    conversation.want()


async def undo(conversation: Conversation) -> None:
    """Take back a line that still waits, else the last one that was said, with all that followed it; the line is put before the user."""
    waiting = conversation.session.waiting
    if waiting:
        id = list(waiting)[-1]
        await conversation.talk.drop(id)
        await conversation.settle()
        conversation.screen.suggest(waiting[id])
        conversation.remark("The line that waited is taken back.")
        return
    line = await conversation.talk.undo()
    if line is None:
        raise InvalidInput("Nothing was said behind the newest anchor, so there is nothing to take back.")
    await conversation.measure()
    conversation.screen.suggest(line)
    conversation.remark("Taken back: the line and what followed it are out of view. They stand on the tape; what tools did outside stays done.")


async def handoff(conversation: Conversation, rest: str) -> None:
    """Start a new phase behind an anchor, with a note that the model reads first."""
    name, note = _two(rest)
    if not name:
        raise InvalidInput("Say what the phase that ends is called: /handoff NAME [NOTE].")
    await conversation.talk.tape.handoff(name, {"summary": note} if note else None)
    await conversation.measure()
    conversation.remark(f"A new phase begins behind anchor '{short_name(name)}'. What came before is out of view, and stays on the tape.")


async def fork(conversation: Conversation, rest: str) -> None:
    """Make a branch and go on there."""
    name, at = _two(rest)
    if not name:
        raise InvalidInput("Say what the branch is called: /fork NAME [ENTRY].")
    tape = conversation.talk.tape
    if name in (MAIN, kin_of(tape.name).root):
        raise InvalidInput(f"'{short_name(name)}' is what /switch calls the tape itself; give the branch another name.")
    branch = await tape.fork(entry_id(at, last=(await tape.head()).id) if at else None, name=name)
    place = (await branch.record()).base.id
    conversation.talk.move(branch.name)
    await conversation.moved()
    conversation.remark(f"On {called(branch.name)}, from entry {place}. /switch main goes back, /merge brings it back.")


async def switch(conversation: Conversation, rest: str) -> None:
    """Go on on another branch, or on the tape itself."""
    if not rest:
        raise InvalidInput("Say where to go on: /switch NAME, or /switch main; /branches shows what there is.")
    tape = await named_tape(conversation.talk.tape, rest)
    if isinstance(tape, Branch) and not (record := await tape.record()).is_open:
        raise BranchClosed(tape.name, record.state)
    conversation.talk.move(tape.name)
    await conversation.moved()
    conversation.remark(f"On {called(tape.name)}, which ends at entry {(await tape.head()).id}.")


async def merge(conversation: Conversation) -> None:
    """Bring a branch back to what it was forked from, and go on there."""
    branch = conversation.talk.tape
    if not isinstance(branch, Branch):
        raise InvalidInput("This is the tape itself, not a branch; /fork NAME makes one.")
    report = await branch.merge()
    conversation.talk.move(report.parent)
    await conversation.moved()
    conversation.remark(f"Merged into {called(report.parent)}, which ends at entry {(await conversation.talk.tape.head()).id}.")


async def model(conversation: Conversation, rest: str) -> None:
    """Say who answers, or have another model answer."""
    if rest:
        await conversation.talk.switch(rest)
        await conversation.moved()
    conversation.remark(f"{conversation.talk.answerer.spec} answers{', and the tape remembers it' if rest else ''}.")


async def pin(conversation: Conversation, rest: str) -> None:
    """Keep entries raw, whatever is folded around them; without any, list what is pinned."""
    first, last = _two(rest)
    tape = conversation.talk.tape
    async with _managed(conversation) as manager:
        if first:
            one, other = await pinned_ends(tape, first, last or None)
            id = await manager.pin_range(one.uid, other.uid)
            made = next(pin for pin in await manager.list_pins() if pin.id == id)
            conversation.remark(f"{made.id} keeps {entries_told(made.first, made.last)} raw.")
            return
        found = await manager.list_pins()
    if found:
        conversation.screen.lines(pins_table(found, width=conversation.screen.width))
    else:
        conversation.remark("Nothing is pinned; /pin FIRST [LAST] keeps entries raw.")


async def unpin(conversation: Conversation, rest: str) -> None:
    """Let pinned entries be folded again."""
    async with _managed(conversation) as manager:
        if rest not in {pin.id for pin in await manager.list_pins()}:
            raise InvalidInput(f"There is no pin '{short_name(rest)}'; /pin lists those there are.")
        await manager.unpin(rest)
    conversation.remark(f"{rest} is gone; what it kept raw may be folded.")


async def quit(conversation: Conversation) -> None:
    """Leave."""
    conversation.screen.leave()


@asynccontextmanager
async def _managed(conversation: Conversation) -> AsyncIterator[ContextManager]:
    """Open what keeps the pins of the chat's memory. Raises InvalidInput where nothing is folded."""
    if not conversation.talk.folds:
        raise InvalidInput("Nothing is folded here, so nothing needs to be pinned; start with --strategy autobiographical --summarizer extractive, or a model.")
    tape = conversation.talk.tape
    async with ContextManager.open(store=tape.store, tape=tape.name, namespace=f"agents/{AGENT}") as manager:
        yield manager


def _two(rest: str) -> tuple[str, str]:
    """Return the first word, and what stands behind it."""
    first, _, more = rest.partition(" ")
    return first, more.strip()
