"""Why each part of a view is in the prompt, told shorter, or out."""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import overload

from playhead.entry.entry import TapeEntry
from playhead.view.plan import Form, Plan, Span
from playhead.view.units import Hidden, Unit

HIDDEN = "not shown"
HEADINGS = ("form", "entries", "count", "tokens", "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of an explanation: a span of the plan, an injection, or entries of one kind that show nothing.

    `first` and `last` are entry ids (0 for what is no entry), `tokens` is None where nothing was read or priced. `node`
    and `level` are the summary that tells a span.
    """

    form: Form | str
    first: int
    last: int
    count: int
    tokens: int | None
    reason: str
    node: str | None = None
    level: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(Sequence[Row]):
    """The rows of a plan, in the order of the prompt, then what shows nothing; `str()` is a table."""

    rows: tuple[Row, ...]
    plan: Plan
    room: int
    total: int

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Row, ...]: ...
    def __getitem__(self, index: int | slice) -> Row | tuple[Row, ...]:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def why(self, entry: int | TapeEntry) -> str:
        """Return what became of one entry: its form and the reason, in a sentence."""
        return self._why(entry.id if isinstance(entry, TapeEntry) else entry)

    def _why(self, entry: int) -> str:
        for span in self.plan.spans:
            if any(entry in u.ids for u in span.units):
                return _why(span)
        for hidden in self.plan.units.hidden:
            if hidden.id == entry:
                return f"not shown: {hidden.reason}"
        before, noted = self.plan.units.before, next((s for s in self.plan.spans if s.is_shown and holds_note(s.units)), None)
        if before is not None and before.id == entry and noted is not None:
            return f"{noted.form}: its state is the note left at {before.name}"
        for span in self.plan.spans:
            if not span.units and span.first <= entry <= span.last:
                return _why(span)
        return "not in the view"

    def __str__(self) -> str:
        cells = [HEADINGS, *(_cells(r, self.plan.spans) for r in self.rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(HEADINGS))]
        lines = ("  ".join(_aligned(cell, widths[i], HEADINGS[i]) for i, cell in enumerate(row)).rstrip() for row in cells)
        return "\n".join([*lines, f"{self.total:,} of {self.room:,} tokens"])


def _plain(text: str) -> str:
    """Return text with what steers a terminal written out, so that no kind or name can forge a row."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def explain(plan: Plan, *, room: int, total: int, injections: Sequence[Row] = ()) -> Explanation:
    """Return the explanation of a plan whose prompt takes `total` tokens."""
    rows = (*merged(_row(s) for s in plan.spans), *injections, *hidden_rows(plan.units.hidden))
    return Explanation(rows=rows, plan=plan, room=room, total=total)


def merged(rows: Iterable[Row]) -> list[Row]:
    """Return rows with adjacent ones of equal form and reason in one: what was read and what was not, left out alike."""
    joined: list[Row] = []
    for row in rows:
        last = joined[-1] if joined else None
        if last and last.count and row.count and (last.form, last.reason, last.node) == (row.form, row.reason, row.node):
            tokens = None if last.tokens is None or row.tokens is None else last.tokens + row.tokens
            joined[-1] = replace(last, first=last.first or row.first, last=row.last or last.last, count=last.count + row.count, tokens=tokens)
        else:
            joined.append(row)
    return joined


def holds_note(units: Iterable[Unit]) -> bool:
    """Return whether the boundary anchor's note is among units."""
    return any(u.kind == "note" for u in units)


def _row(span: Span) -> Row:
    return Row(form=span.form, first=span.first, last=span.last, count=span.count, tokens=span.tokens, reason=told_reason(span.reason, span.node or span.how), node=span.node, level=span.level)


def _why(span: Span) -> str:
    return f"{span.form}: {told_reason(span.reason, span.node or span.how)}"


def told_reason(reason: str, by: str | None) -> str:
    """Return a reason with the summary or the trimming that a span is told by, unless the reason names it already."""
    return reason if by is None or re.search(rf"(?<![\w-]){re.escape(by)}(?![\w-])", reason) else f"{reason}; {by}"


def hidden_rows(hidden: Sequence[Hidden]) -> tuple[Row, ...]:
    """Return entries that show nothing as one row for each kind and reason, most frequent first."""
    tally = Tally((h.kind, h.reason) for h in hidden)
    bounds: dict[tuple[str, str], tuple[int, int]] = {}
    for h in hidden:
        first, last = bounds.get((h.kind, h.reason), (h.id, h.id))
        bounds[h.kind, h.reason] = min(first, h.id), max(last, h.id)
    return tuple(Row(form=HIDDEN, first=bounds[key][0], last=bounds[key][1], count=count, tokens=None, reason=f"{key[0]}: {key[1]}") for key, count in tally.most_common())


def _cells(row: Row, spans: Sequence[Span]) -> tuple[str, str, str, str, str]:
    return row.form, told_entries(row, spans), f"{row.count:,}" if row.count else "", told_tokens(row, spans), _plain(row.reason)


def told_entries(row: Row, spans: Sequence[Span]) -> str:
    """Return which entries a row tells of: `7`, `7-12`; `in 7-12` where they lie scattered among others, `note` for a note, "" for none."""
    if not row.first:
        return "note" if any((s.form, s.first, told_reason(s.reason, s.node or s.how)) == (row.form, 0, row.reason) and holds_note(s.units) for s in spans) else ""
    if row.first == row.last:
        return str(row.first)
    scattered = row.form == HIDDEN and row.count <= row.last - row.first
    return f"{'in ' if scattered else ''}{row.first}-{row.last}"


def told_tokens(row: Row, spans: Sequence[Span]) -> str:
    """Return what a row costs: `?` stands for what was not read, beside the price of what was; `-` where nothing is shown."""
    if row.tokens is not None:
        return f"{row.tokens:,}"
    if row.form == HIDDEN:
        return "-"
    read = sum(s.tokens or 0 for s in spans if not s.is_shown and row.first <= s.first and s.last <= row.last)
    return f"{read:,} + ?" if read else "?"


def _aligned(cell: str, width: int, heading: str) -> str:
    return cell.rjust(width) if heading in ("count", "tokens") else cell.ljust(width)
