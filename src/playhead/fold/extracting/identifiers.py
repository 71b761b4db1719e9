"""The identifiers of a run of history: what an agent has to name again, and has no way to guess."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from math import log2, sqrt

from playhead.entry.message import Media, Message, Text, ToolCall, ToolResult
from playhead.fold.extracting.names import is_file, is_known_file, names_in, steps
from playhead.fold.extracting.remarks import readable
from playhead.fold.node import Node
from playhead.view.tokens import Counter
from playhead.view.units import Unit

SAID, ANSWERED, PUT_IN, WRITTEN, PRINTED, FAILED = 2.0, 1.0, 2.0, 0.6, 0.8, 1.2
"""What naming something weighs: in a user's words, in the model's, in an input of a tool, in a long one, in what a tool printed, in its failure."""

FILE = 50.0
"""How much more the name of a file weighs: most of what is used again is files."""

FADING = 0.75
"""How fast it fades: what was named `a` messages ago weighs a ** -FADING. What was needed is needed again with odds that fall as a power of the
time since (Anderson and Schooler, Reflections of the Environment in Memory, 1991)."""

LONG_INPUT = 400
"""An input of more characters is no name and no command, but a text that is written."""

LONG = 4_000
"""A text of more characters names each thing less, by the square root of its length."""

WEIGHED = 20_000
"""How many names are remembered while more are found."""

SEPARATOR = ", "


def identifiers(units: Sequence[Unit]) -> tuple[str, ...]:
    """Return what units name, each once, what was named last and most often first: files, addresses, hashes, ids, codes, symbols.

    Files come before other names of their age, and what was put into tools before what long outputs list. A file that is
    named with more or fewer of its folders is there once, with most of them.
    """
    weights: dict[str, float] = {}
    ages = count(1)
    for unit in reversed(units):
        for message in reversed(unit.messages):
            faded = next(ages) ** -FADING
            for text, weight in _texts(message):
                share = faded * weight / sqrt(max(1.0, len(text) / LONG))
                for name, times in names_in(text).items():
                    weights[name] = weights.get(name, 0.0) + share * (1 + log2(times) / 2)
        if len(weights) > 2 * WEIGHED:
            weights = {name: weights[name] for name in _ordered(weights)[:WEIGHED]}
    return _ordered(_united(weights))


def merged_index(nodes: Sequence[Node]) -> tuple[str, ...]:
    """Return what the lists and the texts of summaries name, each once, in the same order; `nodes` are the oldest first."""
    weights: dict[str, float] = {}
    for age, node in enumerate(reversed(nodes), start=1):
        for rank, name in enumerate(dict.fromkeys((*node.index, *names_in(node.text))), start=1):
            weights[name] = weights.get(name, 0.0) + age**-FADING / sqrt(rank)
    return _ordered(_united(weights))


def index_within(names: Sequence[str], *, tokens: int, counter: Counter) -> tuple[str, ...]:
    """Return as many of the first names as cost no more than `tokens`, joined by SEPARATOR.

    Where not all of them fit, files are named as shortly as tells them apart: by their own name, and only then by a folder.
    """
    if len(names) <= tokens and counter.count(SEPARATOR.join(names)) <= tokens:
        return tuple(names)
    kept: list[str] = []
    left = tokens
    for name in _shortened(names):
        left -= counter.count(SEPARATOR + name)
        if left < 0:
            break
        kept.append(name)
    while kept and counter.count(SEPARATOR.join(kept)) > tokens:
        kept.pop()
    return tuple(kept)


def _texts(message: Message) -> Iterator[tuple[str, float]]:
    """Yield the texts of a message, and what naming something in each of them weighs."""
    said = ANSWERED if message.role == "assistant" else SAID
    for part in message.parts:
        match part:
            case Text():
                yield readable(part.text), said
            case Media():
                yield readable(f"{part.name or ''} {part.url or ''}"), said
            case ToolCall():
                yield from ((readable(value), PUT_IN if len(value) <= LONG_INPUT else WRITTEN) for value in _values(part.arguments))
            case ToolResult():
                texts = [part.content] if isinstance(part.content, str) else [p.text for p in part.content if isinstance(p, Text)]
                yield from ((readable(text), FAILED if part.is_error else PRINTED) for text in texts)


def _values(value: object) -> Iterator[str]:
    """Yield the texts in a JSON value; the keys of objects are the tool's, not the agent's."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _values(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _values(inner)


def _ordered(weights: Mapping[str, float]) -> tuple[str, ...]:
    needed = {name: weight * FILE if is_file(name) else weight for name, weight in weights.items()}
    return tuple(sorted(needed, key=lambda name: (-needed[name], name)))


def _united(weights: Mapping[str, float]) -> dict[str, float]:
    """Count a file that is named with fewer folders for the most needed one that ends so."""
    united = dict(weights)
    places = sorted(((steps(name), name) for name in weights if is_file(name)), key=lambda place: (len(place[0]), place))
    wholes: dict[tuple[str, ...], str] = {}
    for parts, name in sorted(places, key=lambda place: weights[place[1]]):
        wholes.update(dict.fromkeys(_tails(parts[1:]), name))
    for parts, name in places:
        if parts in wholes:
            united[wholes[parts]] += united.pop(name)
    return united


def _tails(parts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    return (parts[start:] for start in range(len(parts)))


def _shortened(names: Iterable[str]) -> tuple[str, ...]:
    """Return names with those of files shortened to the fewest last steps that no other file ends with."""
    places = {name: steps(name) if is_file(name) else () for name in names}
    tails = Tally(tail for parts in places.values() for tail in _tails(parts))
    return tuple(dict.fromkeys(_shortest(name, parts, tails) for name, parts in places.items()))


def _shortest(name: str, parts: tuple[str, ...], tails: Mapping[tuple[str, ...], int]) -> str:
    if len(parts) < 2:
        return name
    least = 1 if is_known_file(parts[-1]) else 2
    size = next((size for size in range(least, len(parts)) if tails[parts[-size:]] == 1), len(parts))
    if size == len(parts):
        return name
    return "/".join(parts[-size:]) if size < 3 else f"{parts[-size]}/…/{parts[-1]}"
