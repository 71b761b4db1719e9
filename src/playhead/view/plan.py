"""Plans: how a loaded view is divided into spans, each with one form and one reason, and the proof that none is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Literal, get_args, overload

from playhead.entry.message import Message
from playhead.errors import InvalidPlan, OverBudgetError
from playhead.view.prices import MessagePrices
from playhead.view.tokens import Counter, default_counter
from playhead.view.units import Before, Gap, Hidden, Unit

Form = Literal["raw", "summary", "trimmed", "omitted"]
FORMS: tuple[str, ...] = get_args(Form)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A run of adjacent units (or of entries that were not loaded) with one form and one reason.

    `first` and `last` are entry ids, `count` entries; `tokens` is what the run costs as it is told, for an omitted
    one what showing it would have cost, None where nothing was read. `messages` is what is shown in place of the
    units where a strategy tells them in other words, with the uid of the summary among their sources; `node` is what
    the summary is called (`L1-3`), `level` its level, `how` the trimming. Entries that were not loaded are omitted, or
    told by a summary; no span stands over some of them and over units as well.
    """

    form: Form
    reason: str
    units: tuple[Unit, ...] = ()
    first: int = 0
    last: int = 0
    count: int = 0
    tokens: int | None = None
    messages: tuple[Message, ...] = ()
    node: str | None = None
    level: int | None = None
    how: str | None = None

    @property
    def is_shown(self) -> bool:
        """Whether the model sees something of the span."""
        return self.form != "omitted"


def span_of(units: Iterable[Unit], *, form: Form, reason: str, how: str | None = None) -> Span:
    """Return the span of adjacent units in one form, its bounds and its price taken from them."""
    run = tuple(units)
    ids = {id for u in run for id in u.ids}
    return Span(
        form=form,
        reason=reason,
        units=run,
        first=min(ids, default=0),
        last=max(ids, default=0),
        count=len(ids),
        tokens=sum([u.tokens for u in run]),
        how=how,
    )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Units(Sequence[Unit]):
    """What was loaded of a view, in order, and what is known of the rest.

    `lead` is how many units at the front belong to the whole view rather than to a moment in it: the boundary
    anchor's note and the system messages it opens with. `hidden` are entries that show nothing, `gaps` the runs
    of entries that were not loaded, in order, `before` what lies in front of the view; the view ends at entry `end` of
    `generation`; `counter` priced it, `prices` remembers what else it priced. A slice is a tuple of units.
    """

    units: tuple[Unit, ...]
    lead: int = 0
    hidden: tuple[Hidden, ...] = ()
    gaps: tuple[Gap, ...] = ()
    before: Before | None = None
    generation: int = 0
    end: int = 0
    counter: Counter | None = field(default=None, compare=False, repr=False)
    prices: MessagePrices = field(default_factory=MessagePrices, compare=False, repr=False)

    @overload
    def __getitem__(self, index: int) -> Unit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Unit, ...]: ...
    def __getitem__(self, index: int | slice) -> Unit | tuple[Unit, ...]:
        return self.units[index]

    def __len__(self) -> int:
        return len(self.units)

    def __iter__(self) -> Iterator[Unit]:
        return iter(self.units)

    def __repr__(self) -> str:
        return f"Units({len(self.units)} units, {self.tokens} tokens)"

    @property
    def tokens(self) -> int:
        """The price of everything that was loaded."""
        return sum(u.tokens for u in self.units)

    def fit(self, room: int, *, start: int = 0) -> int:
        """Return the index of the first unit of the longest tail, at or behind `start`, that costs at most `room` tokens."""
        index, left = len(self.units), room
        while index > start and self.units[index - 1].tokens <= left:
            index -= 1
            left -= self.units[index].tokens
        return index

    def keep(self, kept: Iterable[Unit], *, reason: str, kept_reason: str = "fits", state: object = None) -> Plan:
        """Return the plan that shows `kept` raw, with what the view opens with, and leaves out every other unit for `reason`.

        Raises InvalidPlan for what is no unit of this view.
        """
        own, chosen = {id(u) for u in self.units}, {id(u) for u in self.units[: self.lead]}
        for unit in kept:
            if id(unit) not in own:
                raise InvalidPlan(f"keep takes units of this view, such as units[-10:], not {type(unit).__name__}.")
            chosen.add(id(unit))
        return self.plan([("raw", kept_reason) if id(u) in chosen else ("omitted", reason) for u in self.units], unread=reason, state=state)

    def plan(self, choices: Sequence[tuple[Form, str]], *, unread: str, state: object = None) -> Plan:
        """Return the plan that gives each unit its form and reason, adjacent equal ones in one span.

        A unit that selectors changed and that is shown is `trimmed`, and the span says how. What was not loaded is left out for the reason `unread`, what lies before the view for the anchor's sake.
        """
        spans: list[Span] = [] if self.before is None else [before_span(self.before)]
        told: list[tuple[Form, str, str | None]] = [("trimmed", reason, u.how) if form == "raw" and u.how else (form, reason, None) for (form, reason), u in zip(choices, self.units, strict=True)]
        start = 0
        for gap in (*self.gaps, None):
            stop = len(self.units) if gap is None else gap.at
            for (form, reason, how), run in groupby(range(start, stop), key=told.__getitem__):
                indices = list(run)
                spans.append(span_of(self.units[indices[0] : indices[-1] + 1], form=form, reason=reason, how=how))
            if gap is not None:
                spans.append(Span(form="omitted", reason=gap.reason or unread, first=gap.first, last=gap.last, count=gap.count))
            start = stop
        return Plan(spans=tuple(spans), units=self, state=state)


def before_span(before: Before) -> Span:
    """Return the span of what lies in front of a view."""
    return Span(form="omitted", reason=f"before anchor {before.name}", first=1, last=before.id, count=before.id)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Plan:
    """Which form each part of a view takes in the prompt: spans in order, over the units they divide.

    `state` is what the strategy wants to be told at the next compile; only compile keeps it, only after success, and
    for as long as the tape's handle lives.
    """

    spans: tuple[Span, ...]
    units: Units
    state: object = None

    @property
    def tokens(self) -> int:
        """What the plan shows, in tokens."""
        return sum(s.tokens or 0 for s in self.spans if s.is_shown)

    def check(self, room: int | None = None) -> None:
        """Prove the plan: spans tile the view in order, rounds are whole, prices add up, and all fits in `room` tokens.

        Raises InvalidPlan for a plan that loses, repeats or reorders something, OverBudgetError for one that does not fit.
        """
        _check_types(self.spans)
        self._check_tiling()
        self._check_places()
        for span in self.spans:
            _check_span(span, self.units)
        if room is not None and self.tokens > room:
            raise OverBudgetError(needed=self.tokens, room=room, what="The plan")

    def __repr__(self) -> str:
        return f"Plan(spans={len(self.spans)}, units={len(self.units)}, tokens={self.tokens})"

    def _check_tiling(self) -> None:
        planned = [u for span in self.spans for u in span.units]
        if len(planned) != len(self.units) or any(a is not b for a, b in zip(planned, self.units, strict=True)):
            raise InvalidPlan(_tiling_fault(planned, self.units), planned=len(planned), loaded=len(self.units))

    def _check_places(self) -> None:
        """Prove that what was not loaded, and what lies before the view, stand in their places, each entry of them in one span."""
        gaps, before, passed = list(self.units.gaps), self.units.before, 0
        if before is not None:
            _check_before(before, self.spans[:1])
        for index, span in enumerate(self.spans):
            if before is not None and index == 0:
                continue
            gap = gaps[0] if gaps else None
            if gap is not None and passed == gap.at:
                left = _rest_behind(span, gap)
                gaps[:1] = [left] if left.count else []
            elif not span.units:
                raise InvalidPlan(f"Span {index} ({span.reason}) covers nothing of the view.")
            passed += len(span.units)
            if gap is not None and passed > gap.at:
                raise InvalidPlan(f"The {span.form} span of entries {span.first} to {span.last} stands on both sides of entries {gap.first} to {gap.last}, which were not read.")
        if gaps:
            raise InvalidPlan(f"The plan says nothing of entries {gaps[0].first} to {gaps[0].last}, which were not read.")


def _check_before(before: Before, spans: Sequence[Span]) -> None:
    if not spans or spans[0].units:
        raise InvalidPlan("The plan says nothing of what lies before the view.")
    if (spans[0].form, spans[0].first, spans[0].last, spans[0].count) != ("omitted", 1, before.id, before.id):
        raise InvalidPlan(f"The span before the view is {spans[0].form} {spans[0].first} to {spans[0].last} ({spans[0].count}), not omitted 1 to {before.id} ({before.id}).")


def _rest_behind(span: Span, gap: Gap) -> Gap:
    """Return what is left of a gap behind a span that stands over its beginning. Raises InvalidPlan where it does not."""
    if span.units or span.first > gap.first:
        last = gap.last if span.units else min(gap.last, span.first - 1)
        raise InvalidPlan(f"The plan says nothing of entries {gap.first} to {last}, which were not read.")
    if span.form not in ("omitted", "summary"):
        raise InvalidPlan(f"Entries {span.first} to {span.last} were not read; they are omitted, or told by a summary, not {span.form}.")
    if span.first != gap.first or not gap.first <= span.last <= gap.last or span.count != span.last - span.first + 1:
        raise InvalidPlan(f"The {span.form} span of entries {span.first} to {span.last} ({span.count}) does not lie in what was not read, entries {gap.first} to {gap.last}.")
    return replace(gap, first=span.last + 1, count=gap.last - span.last)


def _tiling_fault(planned: Sequence[Unit], loaded: Sequence[Unit]) -> str:
    counts = {id(u): 0 for u in loaded}
    for unit in planned:
        if id(unit) not in counts:
            return f"The plan shows a unit (entries {unit.first} to {unit.last}) that was not loaded."
        counts[id(unit)] += 1
    lost = [u for u in loaded if counts[id(u)] == 0]
    twice = [u for u in loaded if counts[id(u)] > 1]
    if lost:
        return f"The plan loses {len(lost)} units, the first of entries {lost[0].first} to {lost[0].last}."
    if twice:
        return f"The plan repeats {len(twice)} units, the first of entries {twice[0].first} to {twice[0].last}."
    return "The plan changes the order of the units."


def _check_types(spans: object) -> None:
    """Prove that a plan is made of spans, units and messages; a strategy may build its own."""
    if not isinstance(spans, (tuple, list)):
        raise InvalidPlan(f"A plan's spans are a tuple of Span, not {type(spans).__name__}; build it with units.keep(...) or units.plan(...).")
    for index, span in enumerate(spans):
        if not isinstance(span, Span):
            raise InvalidPlan(f"Span {index} of the plan is {type(span).__name__}, not a Span; build the plan with units.keep(...) or units.plan(...).")
        for name, kind in (("units", Unit), ("messages", Message)):
            held = getattr(span, name)
            if not isinstance(held, tuple) or not all(isinstance(h, kind) for h in held):
                raise InvalidPlan(f"The {name} of span {index} are a tuple of {kind.__name__}, not {held!r:.80}.")
        if not isinstance(span.form, str) or not isinstance(span.reason, str):
            raise InvalidPlan(f"The form and the reason of span {index} are texts, not {span.form!r:.80} and {span.reason!r:.80}.")
        if not all(isinstance(number, int) for number in (span.first, span.last, span.count)):
            raise InvalidPlan(f"The bounds and the count of span {index} are whole numbers, not {(span.first, span.last, span.count)!r:.80}.")
        if span.tokens is not None and (not isinstance(span.tokens, int) or span.tokens < 0):
            raise InvalidPlan(f"The tokens of span {index} are a whole number from 0, or None, not {span.tokens!r:.80}.")


def _check_span(span: Span, units: Units) -> None:
    where = f"The {span.form} span of entries {span.first} to {span.last}"
    if span.form not in FORMS:
        raise InvalidPlan(f"{where} has a form that is none of {', '.join(FORMS)}.")
    if not span.reason:
        raise InvalidPlan(f"{where} has no reason.")
    if span.units:
        told = span_of(span.units, form=span.form, reason=span.reason)
        tokens = told.tokens if not span.messages else span.tokens
        if (span.first, span.last, span.count, span.tokens) != (told.first, told.last, told.count, tokens):
            raise InvalidPlan(f"{where} does not add up: its units are entries {told.first} to {told.last} ({told.count}) of {told.tokens} tokens.")
    counter = units.counter or default_counter()
    _check_words(span, where, units.prices.tokens(span.messages, counter=counter) if span.messages else 0)
    faults = (units.prices.fault(span.messages, counter=counter),) if span.messages else (u.fault for u in span.units)
    fault = next(filter(None, faults), None) if span.is_shown else None
    if fault is not None:
        raise InvalidPlan(f"{where} shows {fault}.")


def _check_words(span: Span, where: str, price: int) -> None:
    """Prove what a span tells in words of its own: only summaries and trimmed units may, and at its price."""
    if span.messages and span.form not in ("summary", "trimmed"):
        raise InvalidPlan(f"{where} shows other messages than its units'.")
    if span.form == "summary" and (not span.messages or not span.node):
        raise InvalidPlan(f"{where} shows nothing, or does not name its summary.")
    if span.form == "trimmed" and not (span.how and (span.messages or span.units)):
        raise InvalidPlan(f"{where} shows nothing, or does not say how it is trimmed.")
    if span.messages and (span.tokens is None or span.tokens < price):
        raise InvalidPlan(f"{where} costs {price} tokens, not {span.tokens}.")
