"""The tables of a page: what fell out, what shows nothing, sizes by tool and role, and the facts of the compile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from xml.etree.ElementTree import Element

from playhead.entry.entry import format_date
from playhead.prompt.explain import hidden_rows, holds_note
from playhead.prompt.injection import Injection
from playhead.prompt.prompt import Prompt
from playhead.prompt.report.limits import ends
from playhead.prompt.report.markup import Child, element, swatch
from playhead.prompt.report.sizes import Size
from playhead.prompt.report.stretches import INJECTION, NOTE, Stretch
from playhead.prompt.report.words import between, brief, counted, percent, price

MOST_ROWS = 200
"""How many rows a table has; of more, the first and the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table: its heading, and whether its cells are numbers."""

    heading: str
    is_number: bool = False


def table(columns: Sequence[Column], rows: Sequence[Sequence[Child]], *, name: str) -> Element:
    """Return a table; the first cell of a row is its heading."""
    head, tail = ends(len(rows), MOST_ROWS)
    between_ = len(rows) - len(head) - len(tail)
    lines = [_row(columns, rows[i]) for i in head]
    if between_:
        lines.append(element("tr", element("td", f"{counted(between_, 'more row')} between", colspan=len(columns), class_="more")))
        lines += [_row(columns, rows[i]) for i in tail]
    headings = element("tr", *(element("th", c.heading, scope="col", class_=_class(c)) for c in columns))
    return element("table", element("thead", headings), element("tbody", *lines), aria_label=name)


def _row(columns: Sequence[Column], row: Sequence[Child]) -> Element:
    first, *rest = zip(columns, row, strict=True)
    cells = [element("td", cell, class_=_class(column), data_name=column.heading) for column, cell in rest]
    return element("tr", element("th", first[1], scope="row", class_=_class(first[0])), *cells)


def _class(column: Column) -> str | None:
    return "number" if column.is_number else None


def fallen(parts: Iterable[Stretch], lost: Sequence[Injection]) -> Element:
    """Return what the model does not see as it was, by form and reason, or the sentence that it sees all."""
    groups: dict[tuple[str, object], list[Stretch]] = {}
    for part in parts:
        if part.form not in {"raw", INJECTION}:
            groups.setdefault((part.form, part.why if part.level is None else part.level), []).append(part)
    if not groups and not lost:
        return element("p", "Nothing: the model sees all of the view, word for word.")
    columns = (Column(heading="Form"), Column(heading="Reason"), Column(heading="Entries"), Column(heading="Count", is_number=True), Column(heading="Tokens", is_number=True))
    rows = [_fallen_row(form, group) for (form, _), group in groups.items()]
    rows += [[swatch(INJECTION), f"{i.namespace}: there is no user message to stand before", "", "", ""] for i in lost]
    return element("div", table(columns, rows, name="What fell out or is told shorter"), id="fell")


def _fallen_row(form: str, group: Sequence[Stretch]) -> list[Child]:
    reason = group[0].why if group[0].level is None or len(group) == 1 else f"told by {counted(len(group), 'summary')} of level {group[0].level}"
    first, last = min((p.first for p in group if p.first), default=0), max(p.last for p in group)
    count, known, unread = sum(p.count for p in group), sum(p.tokens or 0 for p in group), sum(p.count for p in group if p.tokens is None)
    size = _told(known, "token") if not unread else element("span", f"{known:,} + {counted(unread, 'entry')} not read" if known else "not read")
    where = between(first, last) or (NOTE if any(holds_note(p.units) for p in group) else "")
    return [swatch(form), brief(reason), where, _told(count, "entry") if count else "", size]


def _told(count: int, thing: str) -> Element:
    """Return a number; its thing is told where there is no room for the heading of the column."""
    number, _, word = counted(count, thing).partition(" ")
    return element("span", number, element("span", f" {word}", class_="narrow"))


def unseen(prompt: Prompt) -> Element:
    """Return the entries that show nothing, by kind and reason."""
    rows = hidden_rows(prompt.plan.units.hidden)
    if not rows:
        return element("p", "None of the entries that were read.")
    columns = (Column(heading="Kind and reason"), Column(heading="Entries"), Column(heading="Count", is_number=True))
    return table(columns, [[brief(r.reason), between(r.first, r.last), f"{r.count:,}"] for r in rows], name="Entries that show nothing")


def size_table(found: Sequence[Size], *, things: str, whole: int, empty: str) -> Element:
    """Return the sizes with a bar each: what the model sees, and what was left out behind it."""
    if not found:
        return element("p", empty)
    largest = max(s.tokens + s.left_tokens for s in found) or 1
    columns = (
        Column(heading="Name"),
        Column(heading=things, is_number=True),
        Column(heading="Tokens", is_number=True),
        Column(heading="Share", is_number=True),
        Column(heading="Left out", is_number=True),
    )
    return table(columns, [_size_row(s, largest=largest, whole=whole) for s in found], name=f"Sizes by {things.lower()}")


def _size_row(size: Size, *, largest: int, whole: int) -> list[Child]:
    inside = element("i", class_="meter-in", style=f"width:{100 * size.tokens / largest:.2f}%")
    outside = element("i", class_="meter-out", style=f"width:{100 * size.left_tokens / largest:.2f}%")
    name = element("span", element("span", brief(size.name)), element("span", inside, outside, class_="meter", aria_hidden="true"), class_="sized")
    left = f"{size.left_tokens:,}" if size.left_count or size.left_tokens else "–"
    return [name, f"{size.count:,}", f"{size.tokens:,}", percent(size.tokens, whole), left]


def figures(prompt: Prompt, parts: Sequence[Stretch]) -> Element:
    """Return the few numbers that say most."""
    stats = prompt.stats
    fell = sum(p.count for p in parts if not p.is_shown)
    found = [
        (f"{stats.total:,}", f"of {counted(stats.room, 'token')}, {percent(stats.total, stats.room)}"),
        (f"{len(prompt.messages):,}", "message seen" if len(prompt.messages) == 1 else "messages seen"),
        (f"{fell:,}", "entry left out" if fell == 1 else "entries left out"),
    ]
    if stats.summaries:
        told = sum(p.form == "summary" for p in parts)
        found.append((f"{told:,}", f"{'summary' if told == 1 else 'summaries'}, {counted(stats.summaries, 'token')}"))
    return element("ul", *(element("li", element("strong", number), element("span", words)) for number, words in found), class_="figures")


def facts(prompt: Prompt, *, compiled: datetime | None) -> Element:
    """Return how the compile was asked for and what names it."""
    made, budget = prompt.provenance, prompt.budget
    asked = [
        ("Strategy", made.strategy),
        ("Budget", f"{counted(budget.max_tokens, 'token')}, {budget.reserve_for_response:,} kept for the answer"),
        ("Read", f"behind anchor {brief(made.anchor)}" if made.anchor is not None else "from the first entry"),
        ("Up to", f"entry {made.head}" + (f", generation {made.generation}" if made.generation else "")),
        ("Counter", prompt.stats.counter or prompt.counter.name),
    ]
    if compiled is not None:
        asked.append(("Compiled", format_date(compiled)[:19].replace("T", " ") + " UTC"))
    names = [("Digest", element("code", prompt.digest)), ("Compile", element("code", made.compile_id))]
    return element("div", listing(asked), listing(names), class_="facts")


def makeup(prompt: Prompt) -> Element:
    """Return the statistics of the prompt, in tokens."""
    stats = prompt.stats
    levels = ", ".join(f"{count:,} of level {number}" for number, count in sorted(stats.by_level.items()))
    found = [("In all", price(stats.total)), ("As it was", price(stats.raw))]
    if stats.trimmed:
        found.append(("Trimmed", price(stats.trimmed)))
    if stats.summaries:
        found.append(("Summaries", price(stats.summaries) + (f" ({levels})" if levels else "")))
    if stats.injections:
        found.append(("Injections", price(stats.injections)))
    found += [("Free", price(max(0, stats.room - stats.total))), ("Loaded, left out", price(stats.omitted))]
    if stats.request is not None and stats.request_total is not None:
        found += [("Beside the tape", price(stats.request)), ("Whole request", price(stats.request_total))]
    return listing(found)


def listing(found: Iterable[tuple[str, Child]]) -> Element:
    """Return names with their values."""
    return element("dl", *(element("div", element("dt", name), element("dd", value)) for name, value in found))
