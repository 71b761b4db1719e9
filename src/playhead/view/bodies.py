"""Bodies: long messages that are stored in parts are shown as one message again where their parts stand beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from playhead.entry.message import Message, Part, Text
from playhead.view.units import Unit


def messages(units: Iterable[Unit]) -> Iterator[Message]:
    """Yield what units show, neighbouring shards of one body as one message."""
    for group in bodies(units):
        yield from group[0].messages if len(group) == 1 else shown(group)


def bodies(units: Iterable[Unit]) -> Iterator[tuple[Unit, ...]]:
    """Yield units in groups that are shown together: neighbouring shards of one body, every other unit alone."""
    group: tuple[Unit, ...] = ()
    for unit in units:
        if group and unit.body is not None and goes_on(unit, group[-1]):
            group = (*group, unit)
            continue
        if group:
            yield group
        group = (unit,)
    if group:
        yield group


def goes_on(unit: Unit, before: Unit) -> bool:
    """Return whether a unit goes on with the body of the unit before it.

    It is a shard of the same body with a higher index: the same text may be posted twice, and then starts anew. What a
    selector changed is shown by itself.
    """
    if unit.body is None or unit.how or before.how or not unit.body.follows(before.body):
        return False
    one, other = unit.messages[0], before.messages[0]
    return (one.role, one.name, one.extra) == (other.role, other.name, other.extra)


def shown(group: Sequence[Unit]) -> tuple[Message, ...]:
    """Return the messages of one group of `bodies`."""
    if len(group) == 1:
        return group[0].messages
    parts = [unit.messages[0] for unit in group]
    sources = tuple(source for unit, message in zip(group, parts, strict=True) for source in message.sources or unit.uids)
    return (replace(parts[0], content=_joined(parts), sources=sources),)


def _joined(shards: Sequence[Message]) -> str | tuple[Part, ...]:
    """Return the contents of shards as one: their words run on in the first place that has words, what is no text stays."""
    if all(isinstance(m.content, str) for m in shards):
        return "".join(m.text for m in shards)
    words = "".join(p.text for m in shards for p in m.parts if isinstance(p, Text))
    joined: list[Part] = []
    for part in (p for m in shards for p in m.parts):
        if not isinstance(part, Text):
            joined.append(part)
        elif words:
            joined.append(replace(part, text=words))
            words = ""
    return tuple(joined)
