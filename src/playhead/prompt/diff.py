"""What changed from one prompt to the next, and where the new one leaves the old prefix."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Sequence
from dataclasses import dataclass

from playhead.entry.message import Message
from playhead.view.tokens import Counter, message_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptDiff:
    """The difference of two prompts.

    `seam` is the index of the first message that differs; what stands before it is the shared prefix, of
    `shared_tokens` tokens, which a provider's cache can serve. `added` and `removed` are messages of one alone, in order.
    """

    seam: int
    shared_tokens: int
    added: tuple[Message, ...]
    removed: tuple[Message, ...]

    @property
    def is_append(self) -> bool:
        """Whether the new prompt only goes on where the old one ended."""
        return not self.removed

    def __str__(self) -> str:
        lines = [f"{self.seam} messages shared ({self.shared_tokens:,} tokens), {len(self.removed)} removed, {len(self.added)} added"]
        lines += [f"- {_line(m)}" for m in self.removed]
        lines += [f"+ {_line(m)}" for m in self.added]
        return "\n".join(lines)


def diff(old: Sequence[Message], new: Sequence[Message], *, counter: Counter) -> PromptDiff:
    """Return what changed between the messages of two prompts."""
    seam = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    return PromptDiff(
        seam=seam,
        shared_tokens=sum(message_tokens(m, counter=counter) for m in new[:seam]),
        added=_without(new[seam:], old[seam:]),
        removed=_without(old[seam:], new[seam:]),
    )


def _without(messages: Sequence[Message], others: Sequence[Message]) -> tuple[Message, ...]:
    left = Tally(others)
    kept = []
    for message in messages:
        if left[message] > 0:
            left[message] -= 1
        else:
            kept.append(message)
    return tuple(kept)


def _line(message: Message) -> str:
    text = " ".join(message.text.split()) or ", ".join(f"{c.name}()" for c in message.calls)
    return f"{message.role}: {text[:100]}{'…' if len(text) > 100 else ''}"
