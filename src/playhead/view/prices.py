"""What messages cost, and whether calls and results among them are whole: remembered, so that showing the same again costs nothing."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from playhead.entry.message import Message
from playhead.view.tokens import Counter, message_tokens
from playhead.view.units import pairing_fault

MOST = 4_096
"""How many runs of messages are remembered, the ones that were asked about last."""


class MessagePrices:
    """Prices runs of messages, such as the question and the answer that a summary is shown as.

    Messages of plain text are known again by what they say, all others as the same objects.
    """

    def __init__(self) -> None:
        self._found: OrderedDict[Hashable, tuple[int, str | None, object]] = OrderedDict()

    def tokens(self, messages: tuple[Message, ...], *, counter: Counter) -> int:
        """Return the price of messages."""
        return self._of(messages, counter)[0]

    def fault(self, messages: tuple[Message, ...], *, counter: Counter) -> str | None:
        """Return which call or result among messages stands alone, None where they are whole."""
        return self._of(messages, counter)[1]

    def _of(self, messages: tuple[Message, ...], counter: Counter) -> tuple[int, str | None, object]:
        key = (id(counter), *map(_key, messages))
        found = self._found.get(key)
        if found is None:
            found = (sum(message_tokens(m, counter=counter) for m in messages), pairing_fault(messages), (counter, messages))
            self._found[key] = found
            if len(self._found) > MOST:
                self._found.popitem(last=False)
        else:
            self._found.move_to_end(key)
        return found


def _key(message: Message) -> Hashable:
    """Return what a message is known by; the same number of tokens and calls may never stand behind two unequal ones."""
    return (message.role, message.name, message.content) if isinstance(message.content, str) and not message.extra else id(message)
