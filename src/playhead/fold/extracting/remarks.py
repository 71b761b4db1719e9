"""Remarks: what was said and done in a run of history, one speaker at a time; as text, and back from it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, cast

from playhead.entry import codec
from playhead.entry.message import Media, Message, Part, Text, ToolCall, ToolResult
from playhead.fold.node import Node
from playhead.view.units import Unit

RemarkKind = Literal["user", "assistant", "note", "call", "result", "error"]
"""Whose words a remark is: a user's, the model's, a note of the record; or the input of a tool, what it printed, its failure."""

PROSE: frozenset[RemarkKind] = frozenset({"user", "assistant", "note"})

READ = 100_000
"""How many characters of one text are looked at: three quarters of them at its beginning, the others at its end."""

PRINTED = 8_000
"""How many of what a tool printed."""

ARGUMENT = 160
"""How many characters of an argument of a call are told."""

LEFT_OUT = "…"
SPEAKERS = "speakers"
"""Where the `how` of a summary that is made of remarks says whose words they are, by label."""

_INDENT = "\n  "
_WALL = re.compile(r"(?:data:[\w.+/-]+;base64,)?[A-Za-z0-9+/=_-]{200,}")
_OPENED = re.compile(r"\s*+<([A-Za-z][\w-]*+)[^<>]*+>")
_DAY = re.compile(r"\[(\d{4}-\d\d-\d\d)\]")
_OURS = re.compile(r"(?:tool|note|assistant|memory)\b|.* calls ", re.IGNORECASE)
_GAP = re.compile(r"[\s:]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One text of one speaker, whose name is its label; `day` says when, as YYYY-MM-DD, empty where that is not known."""

    kind: RemarkKind
    label: str
    text: str
    day: str = ""


def remarks_of(units: Iterable[Unit], *, sources: Sequence[Node] = (), since: datetime | None = None) -> Iterator[Remark]:
    """Yield what units say, in order; reasoning is left out, media are named.

    A unit is of the day on which the one of `sources` that tells it began, else of that of `since`.
    """
    rest = iter(sources)
    source = next(rest, None)
    for unit in units:
        while source is not None and unit.first > source.last:
            source = next(rest, None)
        began = source.since if source is not None and source.covers(unit.first) else since
        for message in unit.messages:
            for remark in _said(message, is_note=unit.kind in {"anchor", "note"} or unit.event is not None):
                yield remark if began is None else replace(remark, day=began.date().isoformat())


def _said(message: Message, *, is_note: bool) -> Iterator[Remark]:
    kind: RemarkKind = "note" if is_note or message.role == "system" else "assistant" if message.role == "assistant" else "user"
    label = _label(message.name, kind=kind)
    if words := "\n".join(filter(None, map(_words, message.parts))):
        yield Remark(kind=_prose(kind, words), label=label, text=words)
    for part in message.parts:
        if isinstance(part, ToolCall):
            yield Remark(kind="call", label=f"{label} calls {_plain(part.name)}", text=_arguments(part.arguments))
        elif isinstance(part, ToolResult):
            words = part.content if isinstance(part.content, str) else "\n".join(filter(None, map(_words, part.content)))
            yield Remark(kind="error" if part.is_error else "result", label=f"Tool {_plain(part.name or '')}".strip() + " failed" * part.is_error, text=readable(words, most=PRINTED))


def _prose(kind: RemarkKind, words: str) -> RemarkKind:
    """Return whose words these are: what begins with an element of markup in a user's turn was put there by a program."""
    return "note" if kind == "user" and _is_wrapped(words) else kind


def _is_wrapped(words: str) -> bool:
    opened = _OPENED.match(words)
    return opened is not None and words.find(f"</{opened[1]}>", opened.end()) >= 0


def _label(name: str | None, *, kind: RemarkKind) -> str:
    """Return what a speaker is called; a user whose name reads like another kind of label is called a user first."""
    label = _plain(name or "")
    if kind == "note" or not label:
        return kind.capitalize()
    return f"User {label}" if kind == "user" and _OURS.match(label) else label


def _plain(name: str) -> str:
    return _GAP.sub(" ", name).strip()[:60]


def _words(part: Part) -> str:
    if isinstance(part, Media):
        return f"[{part.kind} {_plain(part.name)}]" if part.name else f"[{part.kind}]"
    return readable(part.text) if isinstance(part, Text) else ""


def readable(text: str, *, most: int = READ) -> str:
    """Return what of a text is looked at: its beginning and its end where it is longer than `most`, and walls of base64 by their length."""
    if len(text) > most:
        text = f"{text[: most // 4 * 3]}\n{LEFT_OUT}\n{text[-most // 4 :]}"
    return _WALL.sub(lambda wall: f"[{len(wall[0])} characters]", text) if len(text) >= 200 else text


def _arguments(arguments: Mapping[str, Any]) -> str:
    """Tell the arguments of a call: short ones first, long ones by how they begin."""
    told = [(name, value if isinstance(value, str) else codec.encode(value).decode()) for name, value in arguments.items()]
    told.sort(key=lambda argument: len(argument[1]) > ARGUMENT)
    return "; ".join(f"{name}: {_brief(value)}" for name, value in told) or "no arguments"


def _brief(value: str) -> str:
    start = " ".join(readable(value[: 2 * ARGUMENT]).split())
    return start if len(value) <= 2 * ARGUMENT and len(start) <= ARGUMENT else f"{start[:ARGUMENT]} {LEFT_OUT}"


def told(remarks: Iterable[Remark]) -> str:
    """Return remarks as a text: each begins a line with its label, its other lines are indented, and a line names each new day.

    So no words can pass for those of another speaker.
    """
    lines: list[str] = []
    day = ""
    for remark in remarks:
        if remark.day and remark.day != day:
            day = remark.day
            lines.append(f"[{day}]")
        lines.append(f"{remark.label}: {_INDENT.join(remark.text.splitlines())}")
    return "\n".join(lines)


def remarks_told(nodes: Iterable[Node]) -> Iterator[Remark]:
    """Yield the remarks that the texts of summaries are made of; one that is not made of remarks is one of its own, of its writer."""
    for node in nodes:
        speakers = node.how.get(SPEAKERS)
        day = node.since.date().isoformat()
        if isinstance(speakers, Mapping):
            yield from _untold(node.text, speakers=speakers, day=day)
        else:
            yield Remark(kind="assistant", label=f"Memory {node.id}", text=node.text, day=day)


def _untold(text: str, *, speakers: Mapping[str, Any], day: str) -> Iterator[Remark]:
    remark: Remark | None = None
    for line in text.splitlines():
        if line.startswith("  ") and remark is not None:
            remark = replace(remark, text=f"{remark.text}\n{line[2:]}")
            continue
        if remark is not None:
            yield _settled(remark)
            remark = None
        if dated := _DAY.fullmatch(line):
            day = dated[1]
            continue
        label, _, words = line.partition(": ")
        remark = Remark(kind=_kind(label, speakers), label=label, text=words, day=day)
    if remark is not None:
        yield _settled(remark)


def _settled(remark: Remark) -> Remark:
    return replace(remark, kind=_prose(remark.kind, remark.text))


def _kind(label: str, speakers: Mapping[str, Any]) -> RemarkKind:
    if speakers.get(label) in PROSE:
        return cast("RemarkKind", speakers[label])
    if label.startswith("Tool"):
        return "error" if label.endswith(" failed") else "result"
    return "call" if " calls " in label else "note"
