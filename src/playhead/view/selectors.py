"""Ready-made selectors: leave out bulky results, older reads, secrets, old turns and old pictures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from weakref import WeakKeyDictionary

from playhead.entry import codec
from playhead.entry.frozen import FrozenDict
from playhead.entry.message import Media, Message, Text, ToolCall, ToolResult
from playhead.errors import InvalidInput
from playhead.view.masking import masked_message
from playhead.view.pieces import result_tokens
from playhead.view.pipe import Selected, hide
from playhead.view.rounding import roundest
from playhead.view.tokens import Counter, message_tokens
from playhead.view.units import Hidden, Unit

READ_TOOLS = ("read_file", "read", "Read", "view", "open_file")
READ_KEYS = ("path", "file_path", "filename", "file")
READ_EVENTS = ("read_file",)
DROPPED_IMAGE = "[image dropped from live context]"
MASKED = "[masked]"


class UnitMemory:
    """What a step made of units, so that a compile pays for new ones only; what was decided is part of the key."""

    def __init__(self) -> None:
        self._units: WeakKeyDictionary[Unit, dict[object, Unit]] = WeakKeyDictionary()

    def get(self, unit: Unit, decision: object, make: Callable[[Unit], Unit]) -> Unit:
        """Return what `make` made of this unit for this decision."""
        known = self._units.setdefault(unit, {})
        if decision not in known:
            known[decision] = make(unit)
        return known[decision]


@dataclass(frozen=True, slots=True, kw_only=True)
class drop_tool_results:  # noqa: N801 - used like a function, named like one
    """Leave out results of tools that cost more than `over_tokens`; their calls stay, a stub says where the result is."""

    over_tokens: int = 2_000
    memory: UnitMemory = field(default_factory=UnitMemory, init=False, compare=False, repr=False)
    name = "drop_tool_results"

    def __post_init__(self) -> None:
        _positive(self.over_tokens, "over_tokens")

    def apply(self, units: Sequence[Unit], *, counter: Counter) -> Selected:
        """Return the units with stubs in place of large results."""

        def stub(result: ToolResult, tokens: int, entry: int) -> ToolResult:
            return left_out(result, tokens, entry) if tokens > self.over_tokens else result

        return Selected(units=tuple(self.memory.get(u, counter.name, lambda unit: with_results(unit, stub, self.name, counter)) for u in units))


@dataclass(frozen=True, slots=True, kw_only=True)
class trim_tool_results:  # noqa: N801
    """Show of results over `over_tokens` about the first `head` and the last `tail` tokens, and say how much is between."""

    over_tokens: int = 2_000
    head: int = 500
    tail: int = 500
    memory: UnitMemory = field(default_factory=UnitMemory, init=False, compare=False, repr=False)
    name = "trim_tool_results"

    def __post_init__(self) -> None:
        _positive(self.over_tokens, "over_tokens")
        if self.head < 0 or self.tail < 0 or self.head + self.tail >= self.over_tokens:
            raise InvalidInput(f"A head of {self.head} and a tail of {self.tail} tokens leave nothing out of a result over {self.over_tokens}; choose a smaller sum.")

    def apply(self, units: Sequence[Unit], *, counter: Counter) -> Selected:
        """Return the units with large results cut in the middle."""

        def cut(result: ToolResult, tokens: int, entry: int) -> ToolResult:
            if tokens <= self.over_tokens:
                return result
            if not isinstance(result.content, str):
                return left_out(result, tokens, entry)
            size = len(result.content)
            head, tail = size * self.head // tokens, size * self.tail // tokens
            note = f"[{tokens - self.head - self.tail} of {tokens} tokens not shown, entry {entry}]"
            kept = (result.content[:head], note, result.content[size - tail :] if tail else "")
            return replace(result, content="\n".join(filter(None, kept)), extra=FrozenDict())

        return Selected(units=tuple(self.memory.get(u, counter.name, lambda unit: with_results(unit, cut, self.name, counter)) for u in units))


@dataclass(frozen=True, slots=True, kw_only=True)
class latest_read_only:  # noqa: N801
    """Show of repeated reads of the same thing the newest alone: calls of `tools`, and events of these names.

    Two calls read the same thing where all their arguments are equal, so that two ranges of one file are two things;
    with `key` where the argument of that name is. Events are compared by `key`, or by the path in their data.
    """

    tools: tuple[str, ...] = READ_TOOLS
    key: str | None = None
    events: tuple[str, ...] = READ_EVENTS
    memory: UnitMemory = field(default_factory=UnitMemory, init=False, compare=False, repr=False)
    name = "latest_read_only"

    def apply(self, units: Sequence[Unit], *, counter: Counter) -> Selected:
        """Return the units with a word in place of what was read again later; older events fall out whole."""
        seen: set[bytes] = set()
        kept: list[Unit] = []
        hidden: list[Hidden] = []
        for unit in reversed(units):
            thing = self._event_thing(unit)
            if thing is not None and thing in seen:
                hidden += hide(unit, "read again later (latest_read_only)")
                continue
            stale = frozenset(c.id for c in unit.messages[0].calls if self._call_thing(c) in seen)
            kept.append(self.memory.get(unit, (counter.name, stale), partial(_without_reads, stale=stale, counter=counter)) if stale else unit)
            seen |= {t for t in (thing, *map(self._call_thing, unit.messages[0].calls)) if t is not None}
        return Selected(units=tuple(reversed(kept)), hidden=tuple(reversed(hidden)))

    def _call_thing(self, call: ToolCall) -> bytes | None:
        if call.name not in self.tools:
            return None
        if self.key is not None:
            return codec.encode_sorted(call.arguments[self.key]) if self.key in call.arguments else None
        paths = [k for k in READ_KEYS if k in call.arguments]
        alone = len(call.arguments) == 1 and paths
        return codec.encode_sorted(call.arguments[paths[0]] if alone else call.arguments)

    def _event_thing(self, unit: Unit) -> bytes | None:
        name, data = unit.event or ("", None)
        if name not in self.events or not isinstance(data, dict):
            return None
        found = next((data[k] for k in ((self.key,) if self.key else READ_KEYS) if k in data), None)
        return None if found is None else codec.encode_sorted(found)


@dataclass(frozen=True, slots=True)
class mask:  # noqa: N801
    """Hide what matches a pattern in everything that is shown: words, arguments, results, names; signed reasoning goes whole."""

    patterns: tuple[re.Pattern[str], ...]
    replacement: str
    memory: UnitMemory
    name = "mask"

    def __init__(self, *patterns: str | re.Pattern[str], replacement: str = MASKED) -> None:
        if not patterns:
            raise InvalidInput("mask needs at least one pattern.")
        try:
            compiled = tuple(re.compile(p) for p in patterns)
        except (re.error, TypeError) as exc:
            raise InvalidInput(f"mask takes regular expressions; one of {patterns!r} is none: {exc}.") from exc
        for attribute, value in (("patterns", compiled), ("replacement", replacement), ("memory", UnitMemory())):
            object.__setattr__(self, attribute, value)

    def apply(self, units: Sequence[Unit], *, counter: Counter) -> Selected:
        """Return the units with what matches hidden."""
        return Selected(units=tuple(self.memory.get(u, counter.name, lambda unit: self._masked(unit, counter)) for u in units))

    def _masked(self, unit: Unit, counter: Counter) -> Unit:
        messages = tuple(masked_message(m, self.patterns, self.replacement) for m in unit.messages)
        return unit if messages == unit.messages else repriced(unit, messages, self.name, counter)


@dataclass(frozen=True, slots=True)
class keep_last:  # noqa: N801
    """Keep the last `turns` user messages and all that follows them, and the system messages that the view opens with."""

    turns: int
    name = "keep_last"

    def __post_init__(self) -> None:
        _positive(self.turns, "turns")

    def apply(self, units: Sequence[Unit], *, counter: Counter) -> Selected:
        """Return the units from the oldest user message that is kept on."""
        reason = f"older than the last {self.turns} turns"
        starts = [i for i, u in enumerate(units) if u.kind == "message" and u.role == "user"]
        if len(starts) < self.turns:
            return Selected(units=tuple(units))
        first = starts[-self.turns]
        return Selected(units=tuple(units[first:]), hidden=tuple(h for u in units[:first] for h in hide(u, reason)), until=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class drop_images:  # noqa: N801
    """Show the newest `keep` images at most, the others as a word.

    Images fall out several at a time, so that the prompt's prefix changes seldom: where there are more than `keep`,
    those from the roundest entry id on stay that leaves between `keep * trim_to` and `keep` of them.
    """

    keep: int = 10
    trim_to: float = 0.5
    memory: UnitMemory = field(default_factory=UnitMemory, init=False, compare=False, repr=False)
    name = "drop_images"

    def __post_init__(self) -> None:
        _positive(self.keep, "keep")
        if not 0 < self.trim_to <= 1:
            raise InvalidInput(f"drop_images trims to a share of keep between 0 and 1, not {self.trim_to!r}.")

    def apply(self, units: Sequence[Unit], *, counter: Counter) -> Selected:
        """Return the units with words in place of older images."""
        cut = self._cut(units)
        return Selected(units=tuple(self.memory.get(u, counter.name, lambda unit: _without_images(unit, counter)) if u.first < cut else u for u in units))

    def _cut(self, units: Sequence[Unit]) -> int:
        """Return the entry id before which no image is shown."""
        places: list[int] = []
        for unit in reversed(units):
            places += [unit.first] * _images(unit)
            if len(places) > self.keep:
                break
        if len(places) <= self.keep:
            return 0
        low = max(1, places[self.keep] + 1)
        high = max(low, places[max(0, int(self.keep * self.trim_to) - 1)])
        return roundest(low, high)


def with_results(unit: Unit, change: Callable[[ToolResult, int, int], ToolResult], how: str, counter: Counter) -> Unit:
    """Return the unit with each result as `change(result, tokens, entry)` makes it; itself where nothing changes."""
    if unit.kind != "round":
        return unit
    messages = []
    for message in unit.messages:
        parts = tuple(change(p, result_tokens(p, counter=counter), entry_of(unit, message)) if isinstance(p, ToolResult) else p for p in message.parts)
        messages.append(message if parts == message.parts else replace(message, content=parts))
    return unit if tuple(messages) == unit.messages else repriced(unit, tuple(messages), how, counter)


def left_out(result: ToolResult, tokens: int, entry: int) -> ToolResult:
    """Return the stub of a result that exists and is not shown."""
    return replace(result, content=f"result not shown: {tokens} tokens, entry {entry}", extra=FrozenDict())


def entry_of(unit: Unit, message: Message) -> int:
    """Return the entry that a message of a unit was made from."""
    places = dict(zip(unit.uids, unit.ids, strict=False))
    return places.get(message.sources[0], unit.last) if message.sources else unit.last


def repriced(unit: Unit, messages: tuple[Message, ...], how: str, counter: Counter) -> Unit:
    """Return the unit with other messages, at their price; `how` says which selector changed them."""
    tokens = sum(message_tokens(m, counter=counter) for m in messages)
    return replace(unit, messages=messages, tokens=tokens, how=f"{unit.how}, {how}" if unit.how else how)


def _without_reads(unit: Unit, *, stale: frozenset[str], counter: Counter) -> Unit:
    def point(result: ToolResult, tokens: int, entry: int) -> ToolResult:
        again = replace(result, content=f"read again later; {tokens} tokens, entry {entry}", extra=FrozenDict())
        return again if result.call_id in stale else result

    return with_results(unit, point, latest_read_only.name, counter)


def _images(unit: Unit) -> int:
    return sum(_is_image(p) for m in unit.messages for part in m.parts for p in (part, *_inside(part)))


def _inside(part: object) -> Iterable[object]:
    return part.content if isinstance(part, ToolResult) and not isinstance(part.content, str) else ()


def _is_image(part: object) -> bool:
    return isinstance(part, Media) and part.kind == "image"


def _without_images(unit: Unit, counter: Counter) -> Unit:
    if not _images(unit):
        return unit
    word = Text(text=DROPPED_IMAGE)
    messages = []
    for message in unit.messages:
        parts = tuple(
            word if _is_image(p) else replace(p, content=tuple(word if _is_image(q) else q for q in p.content)) if isinstance(p, ToolResult) and not isinstance(p.content, str) else p
            for p in message.parts
        )
        messages.append(replace(message, content=parts) if parts != message.parts else message)
    return repriced(unit, tuple(messages), drop_images.name, counter)


def _positive(value: int, name: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidInput(f"A selector's {name} is a whole number from 1, not {value!r}.")
