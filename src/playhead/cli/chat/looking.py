"""The commands of a chat that look: nothing is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from rich.text import Text

from playhead.agent.spending import usage_of
from playhead.cli.branching import family_table
from playhead.cli.chat.conversation import Conversation
from playhead.cli.chat.slashes import SLASHES
from playhead.cli.comparing import diff_lines
from playhead.cli.compiling import budget_bar, explained
from playhead.cli.layout import Column, prose, table
from playhead.cli.output import counted
from playhead.cli.plain import REASON_MOST, one_line, short_name
from playhead.cli.reading import anchors_table, info_lines, said_on
from playhead.cli.transcript import found_lines
from playhead.errors import InvalidInput
from playhead.store.family import kin_of
from playhead.tape.tape import Tape
from playhead.tape.tape import diff as compared

FOUND, PHASES = 8, 20
"""How many entries a search shows, and how many anchors are listed."""

MAIN = "main"
KEYS = "Enter sends, Alt-Enter begins a new line, Tab completes a command; Ctrl-C ends a turn, a second one or Ctrl-D leaves."


async def help(conversation: Conversation) -> None:
    """List the commands."""
    rows = [(slash.usage, slash.about) for slash in SLASHES.values()]
    columns = (Column(heading="command"), Column(heading="what it does"))
    _show(conversation, table(columns, rows, width=conversation.screen.width))
    _show(conversation, prose(KEYS, width=conversation.screen.width, style="dim"))


async def info(conversation: Conversation) -> None:
    """Say what the tape holds, and who answers."""
    tape = conversation.talk.tape
    facts, generation, sidecars = await tape.info(), (await tape.head()).generation, await tape.store.sidecars(tape.name)
    own = Text.assemble((f"{'model':<12}", "dim"), one_line(conversation.talk.answerer.spec))
    _show(conversation, [*info_lines(facts, url=conversation.talk.url, generation=generation, sidecars=sidecars, spent=await usage_of(tape), said=await said_on(tape)), own])


async def search(conversation: Conversation, rest: str) -> None:
    """Show the entries that are most about a text, the best first."""
    if not rest:
        raise InvalidInput("Say what to look for: /search TEXT.")
    found = await conversation.talk.tape.search(rest, limit=FOUND)
    _show(conversation, (line for hit in found for line in found_lines(hit.entry, rest, width=conversation.screen.width)))
    if not found:
        conversation.remark(f"No entry is about '{short_name(rest)}'.")


async def explain(conversation: Conversation, rest: str) -> None:
    """Say why each part of the tape is in the next prompt, or out; or what became of one entry."""
    prompt = await conversation.talk.prompt()
    if rest:
        id = entry_id(rest, last=prompt.provenance.head)
        conversation.remark(f"entry {id}: {short_name(prompt.explain().why(id), most=REASON_MOST)}")
        return
    width = conversation.screen.width
    _show(conversation, explained(prompt.explain(), width=width))
    if conversation.session.size.room is None:
        conversation.remark(f"{prompt.stats.total:,} tokens; no limit is known for {conversation.talk.answerer.spec}, --max-tokens sets one")
    else:
        _show(conversation, budget_bar(prompt, width=width))


async def diff(conversation: Conversation, rest: str) -> None:
    """Show what changed in the prompt since the turn before, or what this tape and another do not share."""
    tape, width = conversation.talk.tape, conversation.screen.width
    if rest:
        other = await named_tape(tape, rest)
        _show(conversation, diff_lines(await compared(other, tape), _label(other), _label(tape), width=width))
        return
    if len(conversation.prompts) < 2:
        conversation.remark("There is no turn before to compare with yet.")
        return
    before, now = conversation.prompts
    changed = now.diff(before)
    _show(conversation, _changes(str(changed).split("\n"), width))
    if changed.is_append:
        conversation.remark("The prompt only goes on where the one before ended, so all of that one can come from the provider's cache.")


def _changes(lines: list[str], width: int | None) -> Iterator[Text]:
    styles = {"-": "red", "+": "green"}
    for line in lines:
        yield from prose(line, width=width, style=styles.get(line[:1], "bold"))


async def anchors(conversation: Conversation) -> None:
    """List the phases of the tape."""
    found = await conversation.talk.tape.anchors(PHASES)
    if found:
        _show(conversation, anchors_table(found, width=conversation.screen.width))
    else:
        conversation.remark("There is no anchor yet; the first turn leaves one, and /handoff NAME another.")


async def branches(conversation: Conversation) -> None:
    """Show the branches of the tape as a tree."""
    tape = conversation.talk.tape
    lines = await family_table(tape.store, kin_of(tape.name).root, width=conversation.screen.width)
    _show(conversation, lines)
    conversation.remark("/switch NAME goes on on a branch." if lines else "There is no branch; /fork NAME makes one.")


def entry_id(text: str, *, last: int) -> int:
    """Return the id of an entry that a text names. Raises InvalidInput where there is none."""
    if not last:
        raise InvalidInput("There is no entry on the tape yet.")
    with suppress(ValueError):
        id = int(text.lstrip("#"))
        if 1 <= id <= last:
            return id
    raise InvalidInput(f"An entry is named by its number, from 1 to {counted(last, 'entry').split()[0]}, not '{short_name(text)}'.")


async def named_tape(tape: Tape, name: str) -> Tape:
    """Return a tape of the same family by what it is called there: a branch by its label, `main` for the tape itself. Raises BranchNotFound."""
    root = tape.scoped(kin_of(tape.name).root)
    return root if name in (MAIN, root.name) else await root.branch(name)


def _label(tape: Tape) -> str:
    return kin_of(tape.name).branch or MAIN


def called(tape: str) -> str:
    """Return what a tape is called in a chat: a branch by its label, beside the tape that it is of."""
    kin = kin_of(tape)
    return f"tape '{short_name(kin.root)}'" if kin.branch is None else f"branch '{short_name(kin.branch)}' of '{short_name(kin.root)}'"


def _show(conversation: Conversation, lines: Iterable[Text]) -> None:
    conversation.screen.lines(lines)
