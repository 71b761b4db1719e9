"""The two token bars of a page: the view as it was told, and under it the prompt that came of it."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.etree.ElementTree import Element

from playhead.prompt.report.markup import element, swatch
from playhead.prompt.report.stretches import INJECTION, Stretch
from playhead.prompt.report.words import counted, entries, percent, price

FREE = "free"
FORMS = ("raw", "summary", "trimmed", INJECTION, "omitted", FREE)
"""The forms as the legend lists them."""

LEAST = 0.3
"""How wide a part of a bar is at least, in percent, so that it can be seen and met."""

UNREAD = 5.0
"""How wide a part is whose tokens are unknown."""

FINEST = 100
"""Neighbours smaller than this fraction of a bar are drawn as one part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One part of a bar: its form, its tokens (None: unknown), what is said of it, and the number of its first stretch."""

    form: str
    tokens: int | None
    tip: str
    number: int | None = None


def bars(parts: Sequence[Stretch], *, room: int) -> Element:
    """Return both bars with the flow of what is shown from the one to the other."""
    shown = sum(p.tokens or 0 for p in parts if p.is_shown)
    view = [(i, p) for i, p in enumerate(parts) if p.form != INJECTION]
    sent = [(i, p) for i, p in enumerate(parts) if p.is_shown]
    above, below = segments(view), segments(sent)
    left = max(0, room - shown)
    below += [Segment(form=FREE, tokens=left, tip=f"free: {counted(left, 'token')} of the room are not used")] if left else []
    loaded, unread = sum(p.tokens or 0 for _, p in view), sum(p.count for _, p in view if p.tokens is None)
    return element(
        "figure",
        _caption("The view", _amount(loaded, unread)),
        _bar(above, label="The view, divided into spans"),
        _flow(above, below),
        _bar(below, label="The prompt, in order"),
        _caption("The prompt", f"{shown:,} of {counted(room, 'token')}, {percent(shown, room)}"),
        legend(parts, free=left),
        element("p", "Point at a part, or step to it with Tab, to see its reason; Enter leads to its messages.", class_="hint"),
        class_="bars",
    )


def _caption(name: str, amount: str) -> Element:
    return element("p", element("strong", name), element("span", amount), class_="caption")


def legend(parts: Iterable[Stretch], *, free: int) -> Element:
    """Return what the colours and patterns of the bars stand for, with the tokens of each form."""
    known, unread = Tally({FREE: free}), Tally[str]()
    for part in parts:
        known[part.form] += part.tokens or 0
        unread[part.form] += part.count if part.tokens is None else 0
    items = [element("li", swatch(form), element("span", _amount(known[form], unread[form]))) for form in FORMS if form in known]
    return element("ul", *items, class_="legend")


def _amount(tokens: int, unread: int) -> str:
    """Return known tokens and unread entries in words."""
    return ", ".join([counted(tokens, "token")] * bool(tokens or not unread) + [f"{counted(unread, 'entry')} not read"] * bool(unread))


def segments(parts: Iterable[tuple[int, Stretch]]) -> list[Segment]:
    """Return the parts of a bar, neighbours that are too small to be told apart drawn as one."""
    numbered = list(parts)
    finest = sum(p.tokens or 0 for _, p in numbered) / FINEST
    groups: list[list[tuple[int, Stretch]]] = []
    size = 0.0
    for number, part in numbered:
        tokens = part.tokens
        is_small = tokens is not None and tokens < finest and len(numbered) > FINEST
        if is_small and groups and 0 <= size < finest:
            groups[-1].append((number, part))
            size += tokens or 0
        else:
            groups.append([(number, part)])
            size = (tokens or 0) if is_small else -1.0
    return [_segment(group) for group in groups]


def _segment(group: Sequence[tuple[int, Stretch]]) -> Segment:
    number, part = group[0]
    if len(group) == 1:
        return Segment(form=part.form, tokens=part.tokens, tip=tip_of(part), number=number)
    forms: Tally[str] = Tally()
    for _, one in group:
        forms[one.form] += one.tokens or 0
    tokens = sum(forms.values())
    named = ", ".join(f"{form} {counted(amount, 'token')}" for form, amount in sorted(forms.items()))
    where = entries(min((p.first for _, p in group if p.first), default=0), max(p.last for _, p in group))
    return Segment(form=max(sorted(forms), key=lambda f: forms[f]), tokens=tokens, tip=f"{len(group)} spans: {named}; {where}", number=number)


def tip_of(part: Stretch) -> str:
    """Return what is said of a stretch when it is pointed at: form, price, entries, reason."""
    where = entries(part.first, part.last) or part.where
    return f"{part.form}: {part.why}; " + ", ".join(filter(None, (where, price(part.tokens))))


def _bar(drawn: Sequence[Segment], *, label: str) -> Element:
    items = [element("li", _drawn(s), style=f"width:{width:.3f}%") for s, width in zip(drawn, widths([s.tokens for s in drawn]), strict=True)]
    return element("ol", *items, class_="bar", aria_label=label)


def _drawn(segment: Segment) -> Element:
    kind = f"part {segment.form}" + (" unread" if segment.tokens is None else "")
    label = element("span", "?" if segment.tokens is None else f"{segment.form} {segment.tokens:,}", class_="label")
    if segment.number is None:
        return element("span", label, class_=kind, data_tip=segment.tip, aria_label=segment.tip, role="img")
    return element("a", label, class_=kind, data_tip=segment.tip, aria_label=segment.tip, href=f"#part-{segment.number}")


def widths(amounts: Sequence[int | None]) -> list[float]:
    """Return how wide each part is, in percent of the bar: by tokens, with a least width, unknown ones all alike."""
    least = min(LEAST, 50 / max(1, len(amounts)))
    unknown, known = sum(a is None for a in amounts), sum(a for a in amounts if a)
    if not known:
        return [(100 - least * (len(amounts) - unknown)) / unknown if a is None else least for a in amounts]
    unread = min(UNREAD, 30 / max(1, unknown))
    left = 100 - unread * unknown
    small = [a is not None and a / known * left < least for a in amounts]
    large = sum(a for a, is_small in zip(amounts, small, strict=True) if a and not is_small)
    rest = left - least * sum(small)
    return [unread if a is None else least if is_small else a / large * rest for a, is_small in zip(amounts, small, strict=True)]


def _flow(above: Sequence[Segment], below: Sequence[Segment]) -> Element:
    """Return the bands that lead from each shown part of the view to where it stands in the prompt."""
    starts, ends = _edges(above), _edges(below)
    bands = []
    for number, (form, left, right) in starts.items():
        if number in ends:
            _, low, high = ends[number]
            shape = f"M{left:.3f} 0C{left:.3f} 50 {low:.3f} 50 {low:.3f} 100H{high:.3f}C{high:.3f} 50 {right:.3f} 50 {right:.3f} 0Z"
            bands.append(element("path", d=shape, class_=f"band {form}"))
    return element("svg", *bands, class_="flow", viewBox="0 0 100 100", preserveAspectRatio="none", aria_hidden="true")


def _edges(drawn: Sequence[Segment]) -> dict[int, tuple[str, float, float]]:
    """Return where the segment of each stretch begins and ends; omitted ones lead nowhere."""
    marks = [0.0]
    for width in widths([s.tokens for s in drawn]):
        marks.append(marks[-1] + width)
    return {s.number: (s.form, left, right) for s, (left, right) in zip(drawn, pairwise(marks), strict=True) if s.number is not None and s.form != "omitted"}
