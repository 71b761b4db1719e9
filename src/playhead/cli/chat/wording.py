"""What an error says, in the words of a chat: its commands, and branches by their labels."""

from __future__ import annotations

import re

from playhead.store.family import BRANCH

_BRANCH = re.compile(rf"'((?:(?!{BRANCH})[^'])+){BRANCH}([^']+)'")
SAID = {
    "`playhead branches` lists those there are": "/branches lists those there are",
    "fork it again to go on from where it ended": "/fork NAME makes another one",
    "`unpin` some": "/unpin some",
}
"""What an error says to do, and what that is in a chat."""


def chatted(message: str) -> str:
    """Return what an error says, as a chat says it."""
    for said, instead in SAID.items():
        message = message.replace(said, instead)
    return _BRANCH.sub(r"'\2' of tape '\1'", message)
