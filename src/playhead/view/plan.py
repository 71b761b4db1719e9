"""Plans: how a loaded view is divided into spans, each with one form and one reason, and the proof that none is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args, overload

from playhead.entry.message import Message
from playhead.errors import InvalidPlan, OverBudgetError
from playhead.view.tokens import Counter, default_counter, message_tokens
from playhead.view.units import Before, Gap, Hidden, Unit, pairing_fault

Form = Literal["raw", "summary", "trimmed", "omitted"]
FORMS: tuple[str, ...] = get_args(Form)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A run of adjacent units (or of entries that were not read) with one form and one reason.

    `first` and `last` are entry ids, `count` entries; `tokens` is what the run costs as it is told, for an omitted
    one what showing it would have cost, None where nothing was read. `messages` is what is shown in place of the
    units where a strategy tells them in other words; `node` and `level` name the summary, `how` the trimming.
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
    anchor's note and the system messages it opens with. `hidden` are entries that show nothing, `unread` the run
    of entries that was not loaded, `before` what lies in front of the view; the view ends at entry `end` of `generation`;
    `counter` priced it. A slice is a tuple of units.
    """

    units: tuple[Unit, ...]
    lead: int = 0
    hidden: tuple[Hidden, ...] = ()
    unread: Gap | None = None
    before: Before | None = None
    generation: int = 0
    end: int = 0
    counter: Counter | None = field(default=None, compare=False, repr=False)

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

        A unit that selectors changed and that is shown is `trimmed`, and the span says how. What was not read is left out for the reason `unread`, what lies before the view for the anchor's sake.
        """
        spans: list[Span] = [] if self.before is None else [_before_span(self.before)]
        told: list[tuple[Form, str, str | None]] = [("trimmed", reason, u.how) if form == "raw" and u.how else (form, reason, None) for (form, reason), u in zip(choices, self.units, strict=True)]
        start = 0
        for index in range(len(self.units) + 1):
            at_gap = self.unread is not None and self.unread.at == index
            if index == len(self.units) or at_gap or (index > start and told[index] != told[start]):
                if index > start:
                    form, reason, how = told[start]
                    spans.append(span_of(self.units[start:index], form=form, reason=reason, how=how))
                start = index
            if at_gap and self.unread is not None:
                spans.append(_unread_span(self.unread, self.unread.reason or unread))
        return Plan(spans=tuple(spans), units=self, state=state)


def _before_span(before: Before) -> Span:
    return Span(form="omitted", reason=f"before anchor {before.name}", first=1, last=before.id, count=before.id)


def _unread_span(gap: Gap, reason: str) -> Span:
    return Span(form="omitted", reason=reason, first=gap.first, last=gap.last, count=gap.count)


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
        self._check_bounds()
        for span in self.spans:
            _check_span(span, self.units.counter)
        if room is not None and self.tokens > room:
            raise OverBudgetError(needed=self.tokens, room=room, what="The plan")

    def __repr__(self) -> str:
        return f"Plan(spans={len(self.spans)}, units={len(self.units)}, tokens={self.tokens})"

    def _check_tiling(self) -> None:
        planned = [u for span in self.spans for u in span.units]
        if len(planned) != len(self.units) or any(a is not b for a, b in zip(planned, self.units, strict=True)):
            raise InvalidPlan(_tiling_fault(planned, self.units), planned=len(planned), loaded=len(self.units))

    def _check_bounds(self) -> None:
        """Prove that what was not read, and what lies before the view, stand in their places."""
        unread, before, passed, seen = self.units.unread, self.units.before, 0, False
        for index, span in enumerate(self.spans):
            if span.units:
                passed += len(span.units)
            elif before is not None and index == 0:
                _same_bounds(span, first=1, last=before.id, what="The span before the view")
            elif unread is not None and not seen and passed == unread.at:
                _same_bounds(span, first=unread.first, last=unread.last, what="The span that was not read")
                seen = True
            else:
                raise InvalidPlan(f"Span {index} ({span.reason}) covers nothing of the view.")
        if before is not None and (not self.spans or self.spans[0].units):
            raise InvalidPlan("The plan says nothing of what lies before the view.")
        if unread is not None and not seen:
            raise InvalidPlan(f"The plan says nothing of entries {unread.first} to {unread.last}, which were not read.")


def _same_bounds(span: Span, *, first: int, last: int, what: str) -> None:
    if (span.form, span.first, span.last) != ("omitted", first, last):
        raise InvalidPlan(f"{what} is {span.form} {span.first} to {span.last}, not omitted {first} to {last}.")


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
        if span.tokens is not None and (not isinstance(span.tokens, int) or span.tokens < 0):
            raise InvalidPlan(f"The tokens of span {index} are a whole number from 0, or None, not {span.tokens!r:.80}.")


def _check_span(span: Span, counter: Counter | None) -> None:
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
    _check_words(span, where, counter)
    faults = (pairing_fault(span.messages),) if span.messages else (u.fault for u in span.units)
    fault = next(filter(None, faults), None) if span.is_shown else None
    if fault is not None:
        raise InvalidPlan(f"{where} shows {fault}.")


def _check_words(span: Span, where: str, counter: Counter | None) -> None:
    """Prove what a span tells in words of its own: only summaries and trimmed units may, and at its price."""
    if span.messages and span.form not in ("summary", "trimmed"):
        raise InvalidPlan(f"{where} shows other messages than its units'.")
    if span.form == "summary" and (not span.messages or not span.node):
        raise InvalidPlan(f"{where} shows nothing, or does not name its summary.")
    if span.form == "trimmed" and not (span.how and (span.messages or span.units)):
        raise InvalidPlan(f"{where} shows nothing, or does not say how it is trimmed.")
    if span.messages:
        price = sum(message_tokens(m, counter=counter or default_counter()) for m in span.messages)
        if span.tokens is None or span.tokens < price:
            raise InvalidPlan(f"{where} costs {price} tokens, not {span.tokens}.")
