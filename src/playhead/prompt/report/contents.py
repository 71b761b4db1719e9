"""The long part of a page: every stretch with its units and messages, as far as a page can hold them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from playhead.entry.message import Message, Part, ProviderItem, Text, Thinking, ToolCall, ToolResult
from playhead.prompt.report.limits import MOST_CHARACTERS, MOST_STRETCHES, MOST_UNITS, PREVIEW, ends, level
from playhead.prompt.report.markup import element, swatch
from playhead.prompt.report.stretches import INJECTION, Stretch
from playhead.prompt.report.words import between, brief, counted, entries, listed, opening, price, role_of, runs, said, speaker
from playhead.view.units import Unit

OPEN_MOST = 12
"""A stretch of so few units stands open from the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What of a record a page lists: stretches by number, units of each stretch, characters of each text."""

    stretches: tuple[range, range]
    units: int
    characters: int
    largest: int


def limits_of(parts: Sequence[Stretch]) -> Limits:
    """Return how much of the stretches a page can hold."""
    numbers = ends(len(parts), MOST_STRETCHES)
    listed_parts = [parts[i] for run in numbers for i in run]
    units = level([len(p.units) for p in listed_parts], MOST_UNITS)
    lengths = [len(said(part)) for p in listed_parts for message in _listed_messages(p, units) for part in message.parts]
    characters = min(PREVIEW, level(lengths, MOST_CHARACTERS))
    largest = max((u.tokens for p in listed_parts for u in p.units), default=0)
    return Limits(stretches=numbers, units=units, characters=max(1, characters), largest=max(1, largest))


def _listed_messages(part: Stretch, units: int) -> Iterator[Message]:
    yield from part.messages
    for run in ends(len(part.units), units):
        for i in run:
            yield from part.units[i].messages


def contents(parts: Sequence[Stretch], limits: Limits) -> Iterator[Element]:
    """Yield each stretch; of too many the first and the last, and how many stand between."""
    head, tail = limits.stretches
    yield from (_stretch(parts[i], i, limits) for i in head)
    if tail:
        yield element("p", f"{counted(tail.start - head.stop, 'more span')} between, not listed on this page.", class_="more")
        yield from (_stretch(parts[i], i, limits) for i in tail)


def _stretch(part: Stretch, number: int, limits: Limits) -> Element:
    what = counted(len(part.units), "unit") if part.units else "" if part.form == INJECTION else counted(part.count, "entry")
    head = element(
        "summary",
        swatch(part.form),
        element("span", part.where, class_="where"),
        element("span", part.why, " (continued)" if part.is_rest else None, class_="why"),
        element("span", what, class_="what"),
        element("span", "not read" if part.tokens is None else f"{part.tokens:,}", class_="number", aria_label=price(part.tokens)),
    )
    is_open = "" if part.is_shown and len(part.units) <= OPEN_MOST else None
    return element("details", head, element("div", *_inside(part, limits), class_="inside"), class_=f"stretch {part.form}", id=f"part-{number}", open=is_open)


def _inside(part: Stretch, limits: Limits) -> Iterator[Element]:
    if part.messages:
        if part.form != INJECTION:
            yield element("p", f"The model sees this in place of {_replaced(part)}" + (f" ({part.name})" if part.name else "") + ":", class_="note")
        yield from (_message(m, limits) for m in part.messages)
        if part.units:
            yield element("p", "It stands for:", class_="note")
    elif not part.units:
        yield element("p", f"{entries(part.first, part.last).capitalize()} had not to be read for this prompt: neither text nor price is known here.", class_="note")
    head, tail = ends(len(part.units), limits.units)
    yield from (_unit(part.units[i], part, limits) for i in head)
    if tail or len(head) < len(part.units):
        yield element("p", f"{counted(tail.start - head.stop, 'more unit')} between, not listed on this page.", class_="more")
    yield from (_unit(part.units[i], part, limits) for i in tail)


def _replaced(part: Stretch) -> str:
    """Return what the messages of a stretch stand for."""
    return counted(len(part.units), "unit") if part.units else f"{entries(part.first, part.last)}, which had not to be read"


def _unit(unit: Unit, part: Stretch, limits: Limits) -> Element:
    provenance = _provenance(unit)
    meter = element("i", element("i", class_="meter-in", style=f"width:{100 * unit.tokens / limits.largest:.1f}%"), class_="meter", aria_hidden="true")
    head = element(
        "summary",
        element("span", between(unit.first, unit.last) or "–", class_="where"),
        element("span", speaker(unit), class_="who"),
        element("span", opening(unit.messages), class_="words", dir="auto"),
        element("span", "open", class_="flag") if unit.is_open else None,
        meter,
        element("span", f"{unit.tokens:,}", class_="number", aria_label=price(unit.tokens)),
        data_tip=f"{part.form}: {part.why}; {provenance}",
    )
    facts = element("p", provenance, "; a call of it has no result on the tape" if unit.is_open else None, class_="provenance")
    return element("details", head, element("div", facts, *(_message(m, limits) for m in unit.messages), class_="inside"), class_="unit")


def _provenance(unit: Unit) -> str:
    if not unit.uids and not unit.ids:
        return f"made by selector {unit.origin}" if unit.origin else "made by the view"
    where = f"{'entry' if len(unit.ids) == 1 else 'entries'} {runs(unit.ids)}" if unit.ids else "the anchor's state"
    return f"{where}; uid {listed(unit.uids)}" if unit.uids else where


def _message(message: Message, limits: Limits) -> Element:
    parts = [_part(p, limits) for p in message.parts] or [element("p", "(empty)", class_="note")]
    return element("div", element("p", role_of(message), class_="role"), *parts, class_=f"message {message.role}")


def _part(part: Part, limits: Limits) -> Element:
    match part:
        case Text():
            return _text(part.text, limits)
        case Thinking():
            bound = f" of {part.model}" if part.model else ""
            return _labelled(f"thinking{bound}", part.text or "(not readable)", limits)
        case ToolCall():
            return _labelled(f"call {brief(part.name)}", said(part), limits, is_code=True)
        case ToolResult():
            failed = ", failed" if part.is_error else ""
            return _labelled(f"result {brief(part.name or '')}".rstrip() + failed, said(part), limits, is_code=True)
        case ProviderItem():
            return _labelled(f"for {part.provider} alone", said(part), limits, is_code=True)
        case _:
            return _labelled("media", said(part), limits)


def _labelled(label: str, text: str, limits: Limits, *, is_code: bool = False) -> Element:
    return element("div", element("p", label, class_="label-of"), _text(text, limits, is_code=is_code), class_="labelled")


def _text(text: str, limits: Limits, *, is_code: bool = False) -> Element:
    shown = element("div", text[: limits.characters], class_="text code" if is_code else "text", dir="auto")
    if len(text) <= limits.characters:
        return shown
    return element("div", shown, element("p", f"The first {limits.characters:,} of {counted(len(text), 'character')}.", class_="more"))
