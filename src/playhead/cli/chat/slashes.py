"""Commands in a chat: lines that begin with a slash and one of these words."""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from playhead.errors import InvalidInput

if TYPE_CHECKING:
    from playhead.cli.chat.conversation import Conversation

MARK = "/"
_SLASH = re.compile(r"/(\s*)([a-z]+)(?:([/\s])\s*(.*))?", re.DOTALL | re.IGNORECASE)
Act = Callable[..., Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slash:
    """One command: its name, the words it takes, what it does, and where; one that `rests` is not carried out while a turn runs."""

    name: str
    words: str = ""
    about: str
    module: str
    rests: bool = False

    @property
    def usage(self) -> str:
        """How the command is written."""
        return f"{MARK}{self.name} {self.words}".rstrip()

    async def carry_out(self, conversation: Conversation, rest: str) -> None:
        """Do what the command says with the words behind it."""
        act: Act = getattr(import_module(f"playhead.cli.chat.{self.module}"), self.name)
        if rest and not self.words:
            raise InvalidInput(f"{self.usage} takes no words; a line that begins with {2 * MARK} is said with one slash.")
        await (act(conversation, rest) if self.words else act(conversation))


SLASHES = {
    slash.name: slash
    for slash in (
        Slash(name="help", about="list these commands", module="looking"),
        Slash(name="info", about="what the tape holds", module="looking"),
        Slash(name="search", words="TEXT", about="find the entries that hold a text", module="looking"),
        Slash(name="explain", words="[ENTRY]", about="why each part of the tape is in the next prompt, or out", module="looking"),
        Slash(name="diff", words="[BRANCH]", about="what changed in the prompt since the turn before; or between this tape and another", module="looking"),
        Slash(name="anchors", about="the phases of the tape", module="looking"),
        Slash(name="branches", about="the branches of the tape", module="looking"),
        Slash(name="retry", about="ask again: the last answer goes out of view, and another one is given", module="changing", rests=True),
        Slash(name="undo", about="take back the last line and all that followed it: out of view, not off the tape", module="changing", rests=True),
        Slash(name="handoff", words="NAME [NOTE]", about="start a new phase, which reads the note and not what came before", module="changing", rests=True),
        Slash(name="fork", words="NAME [ENTRY]", about="make a branch of the tape as it is now, or as it was then, and go on there", module="changing", rests=True),
        Slash(name="switch", words="NAME", about="go on on another branch; main is the tape itself", module="changing", rests=True),
        Slash(name="merge", about="bring this branch back to what it was forked from, and go on there", module="changing", rests=True),
        Slash(name="model", words="[SPEC]", about="who answers; with a SPEC another model from now on", module="changing", rests=True),
        Slash(name="pin", words="[FIRST [LAST]]", about="keep entries raw whatever is folded, or list what is kept", module="changing", rests=True),
        Slash(name="unpin", words="PIN", about="let them be folded again", module="changing", rests=True),
        Slash(name="quit", about="leave; the tape is there the next time", module="changing"),
    )
}


def meant(line: str) -> tuple[Slash, str] | None:
    """Return the command that a line means, and the words behind it; None where it is something to say. Raises InvalidInput for an unknown one."""
    found = _SLASH.fullmatch(line.strip())
    if found is None:
        return None
    gap, name, behind, rest = found[1], found[2].lower(), found[3], (found[4] or "").strip()
    if (gap or behind == MARK) and name not in SLASHES:
        return None
    if behind == MARK:
        raise InvalidInput(f"{MARK}{name} stands before a second slash, so it is not clear what is meant: begin the line with the command, or with {2 * MARK} to say it.")
    if name not in SLASHES:
        near = difflib.get_close_matches(name, SLASHES, n=1)
        raise InvalidInput(
            f"There is no {MARK}{name}{f'; perhaps you mean {MARK}{near[0]}' if near else ''}. {MARK}help lists the commands; a line that begins with {2 * MARK} is said with one of them."
        )
    return SLASHES[name], rest


def matching(text: str) -> tuple[Slash, ...]:
    """Return the commands that a line may become while it is typed; none once it has a space."""
    if not text.startswith(MARK) or any(c.isspace() for c in text):
        return ()
    return tuple(slash for slash in SLASHES.values() if slash.name.startswith(text[1:]))


def completed(text: str) -> str:
    """Return a line as far as the commands that it may become agree; with a space behind it where it is one that takes words."""
    found = matching(text)
    if not found:
        return text
    names = sorted(slash.name for slash in found)
    first, last = names[0], names[-1]
    shared = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    is_one = len(found) == 1 and found[0].words
    return f"{MARK}{first[:shared]}{' ' if is_one else ''}"
