"""Memory as Markdown: a heading for each summary by how deep it lies, its words, what is named there, and how it was written."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import AsyncIterator, Iterator

from playhead.cli.files import replaced
from playhead.cli.grove import Grove, Leaf, facts, pinned, untold
from playhead.cli.markdown import coded, escaped
from playhead.cli.output import Output, counted
from playhead.cli.plain import plain
from playhead.fold.choosing.quarantine import quarantined
from playhead.fold.forest import Pin
from playhead.fold.node import Node

DEEPEST = 6
"""The deepest heading that Markdown has."""

STDOUT = "-"
_BREAKS = re.compile(r"^(\s{0,3})(#{1,6}|>|`{3,}|~{3,}|=+\s*$|-+\s*$)")
_TAGS = re.compile(r"<(?=[a-zA-Z/!?])")


async def write_markdown(grove: Grove, args: Namespace, out: Output) -> int:
    """Write all summaries of a tape, whole, as one document."""
    if args.markdown == STDOUT and out.as_json:
        out.json({**facts(grove, args), "markdown": "".join([piece async for piece in _pieces(grove, args)])})
    elif args.markdown == STDOUT:
        async for piece in _pieces(grove, args):
            out.body((plain(piece) if out.is_terminal else piece).encode(errors="backslashreplace"))
    else:
        size = 0
        with replaced(args.markdown) as file:
            async for piece in _pieces(grove, args):
                size += file.write(piece.encode(errors="backslashreplace"))
        if out.as_json:
            out.json({**facts(grove, args), "file": args.markdown, "bytes": size})
        else:
            out.note(f"wrote {args.markdown}, {counted(size, 'byte')}")
    return 0


async def _pieces(grove: Grove, args: Namespace) -> AsyncIterator[str]:
    yield "".join(_head(grove, args))
    async for leaf in grove.leaves():
        yield "".join(f"\n{block}\n" for block in _blocks(leaf))
    yield "".join(_foot(grove))


def _head(grove: Grove, args: Namespace) -> Iterator[str]:
    forest = grove.forest
    whose = "" if args.namespace is None else f" ({escaped(args.namespace)})"
    yield f"# Memory of {escaped(args.tape)}{whose}\n"
    levels = ", ".join(f"{count:,} of level {level}" for level, count in sorted(forest.counts.items(), reverse=True) if count)
    yield f"\n{counted(sum(forest.counts.values()), 'summary')}{f' ({levels})' if levels else ''} of a tape of {counted(grove.end, 'entry')}; told by none: {', '.join(untold(grove)) or 'nothing'}.\n"


def _blocks(leaf: Leaf) -> Iterator[str]:
    node = leaf.node
    yield f"{'#' * min(DEEPEST, leaf.depth + 1)} {node.id} · entries {node.first}-{node.last} · {node.since:%Y-%m-%d %H:%M} to {node.until:%Y-%m-%d %H:%M}"
    yield quoted(node.text)
    if node.index:
        yield f"Named there, newest first: {', '.join(coded(name) for name in node.index)}"
    yield _provenance(leaf)


def _provenance(leaf: Leaf) -> str:
    node = leaf.node
    told = f"{counted(len(node.children), 'summary')} of {counted(node.units, 'unit')}" if node.children else counted(node.units, "unit")
    facts = [
        f"level {node.level}{f', part of {leaf.parent}' if leaf.parent else ''}{', shown now' if leaf.is_shown else ''}",
        f"tells {told}, {node.raw_tokens:,} tokens in {leaf.tokens:,}",
        f"written by {escaped(node.model) if node.model else 'a fixed rule'} on {node.created:%Y-%m-%d %H:%M}",
        *_how(node),
        f"uid {coded(node.uid)}",
    ]
    return "\n".join(f"- {fact}" for fact in facts)


def _how(node: Node) -> Iterator[str]:
    if node.voice != "normal":
        yield f"voice: {node.voice}"
    if node.phase is not None:
        yield f"phase: {escaped(node.phase)}"
    if node.tools:
        yield f"tools called: {', '.join(coded(name) for name in node.tools)}"
    for name, fact in node.how.items():
        if isinstance(fact, (str, int, float)) and not isinstance(fact, bool):
            yield f"{escaped(name.replace('_', ' '))}: {coded(str(fact))}"


def _foot(grove: Grove) -> Iterator[str]:
    if grove.forest.pins:
        yield "\n## Pinned\n\n"
        yield from (f"- {_pin(pin)}\n" for pin in grove.forest.pins)
    if stuck := quarantined(grove.forest):
        yield "\n## Given up, and raw\n\n"
        yield from (f"- entries {o.first}-{o.last}, level {o.level}: {escaped(o.outcome)} of {escaped(o.model)}, last tried as {escaped(o.rung)}\n" for o in stuck)


def _pin(pin: Pin) -> str:
    entries = f"entries {pinned(pin)}" if pin.first and pin.last else "not on the tape"
    return f"{escaped(pin.id)}: {entries}, {pin.kind}{f', {escaped(pin.name)}' if pin.name else ''}"


def quoted(text: str) -> str:
    """Return words as a quotation, line by line as they stand; what would be a heading, a fence or a tag is written out."""
    lines = [_TAGS.sub(r"\\<", _BREAKS.sub(r"\1\\\2", line.rstrip())) for line in text.rstrip().splitlines()]
    behind = [*lines[1:], ""] if lines else []
    return "\n".join(f"> {line}{'  ' if after else ''}" if line else ">" for line, after in zip(lines, behind, strict=True))
