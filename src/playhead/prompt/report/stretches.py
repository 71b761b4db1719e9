"""The order of a page: the spans of a plan with the injections where the prompt has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from playhead.entry.message import Message
from playhead.prompt.explain import holds_note, told_reason
from playhead.prompt.injection import Injection, at
from playhead.prompt.prompt import Prompt
from playhead.prompt.report.words import between, brief
from playhead.view.bodies import bodies, shown
from playhead.view.plan import Span, span_of
from playhead.view.tokens import message_tokens
from playhead.view.units import Unit

INJECTION = "injection"
NOTE = "note"

Place = tuple[int, int]
"""The number of a span and of a unit in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A span of the plan, or its part on one side of an injection, or an injection.

    `tokens` is None where nothing was read; `messages` is what is shown in place of the units, `name` the summary,
    the trimming or the injection's namespace, `level` that of the summary; `is_rest` says that an injection parted it from its
    span's beginning.
    """

    form: str
    reason: str
    tokens: int | None
    first: int = 0
    last: int = 0
    count: int = 0
    units: tuple[Unit, ...] = ()
    messages: tuple[Message, ...] = ()
    name: str | None = None
    level: int | None = None
    is_rest: bool = False

    @property
    def is_shown(self) -> bool:
        """Whether the model sees something of it."""
        return self.form != "omitted"

    @property
    def why(self) -> str:
        """Its reason, with what trimmed it or the summary that tells it."""
        return brief(self.reason if self.form == INJECTION else told_reason(self.reason, self.name))

    @property
    def where(self) -> str:
        """Its entries, `note` for the boundary anchor's note alone, an injection's namespace."""
        if self.form == INJECTION:
            return brief(self.name or "")
        return between(self.first, self.last) or (NOTE if holds_note(self.units) else "")

    @property
    def spoken(self) -> Iterator[Message]:
        """The messages the model sees of it; of an omitted stretch those it would have seen."""
        if self.messages:
            yield from self.messages
        else:
            for unit in self.units:
                yield from unit.messages


def stretches(prompt: Prompt) -> tuple[Stretch, ...]:
    """Return everything a page shows of a prompt, in the order of the view."""
    spans = prompt.plan.spans
    cuts = _cuts(prompt)
    found: list[Stretch] = []
    for index, span in enumerate(spans):
        start = 0
        for unit, injections in cuts.get(index, ()):
            found += _part(span, start, unit) if start < unit else []
            found += injections
            start = unit
        found += _part(span, start, len(span.units)) if start < len(span.units) or not span.units else []
    return (*found, *(i for _, injections in cuts.get(len(spans), ()) for i in injections))


def dropped(prompt: Prompt) -> tuple[Injection, ...]:
    """Return the injections that have no place: those before the last user message where there is none."""
    return () if _last_user(prompt.plan.spans) is not None else at(prompt.injections, "before_user")


def _cuts(prompt: Prompt) -> dict[int, list[tuple[int, list[Stretch]]]]:
    """Return which injections stand before which unit of which span; a span told shorter is not cut, they stand beside it."""
    spans = prompt.plan.spans
    user, end = _last_user(spans), (len(spans), 0)
    places = [(_first_said(spans), at(prompt.injections, "system"))]
    if user is not None:
        places += [(user[0], at(prompt.injections, "before_user")), (user[1], at(prompt.injections, "after_user"))]
    else:
        places += [(end, at(prompt.injections, "after_user"))]
    cuts: dict[int, list[tuple[int, list[Stretch]]]] = {}
    for (span, unit), injections in places:
        if injections:
            cuts.setdefault(span, []).append((unit, [_injected(i, prompt) for i in injections]))
    return {span: sorted(found, key=lambda cut: cut[0]) for span, found in cuts.items()}


def _injected(injection: Injection, prompt: Prompt) -> Stretch:
    place = {"system": "in the system prompt", "before_user": "before the last user message", "after_user": "behind the last user message"}[injection.position]
    tokens = message_tokens(injection.message, counter=prompt.counter)
    return Stretch(form=INJECTION, reason=f"joins this prompt {place}", tokens=tokens, messages=(injection.message,), name=injection.namespace)


def _places(spans: Sequence[Span]) -> Iterator[tuple[Place, Place, Iterable[Message]]]:
    """Yield where each thing that is shown begins and where it ends, with the messages the model sees there.

    That is a unit, all parts of a long message that stand beside each other, or a span that is told shorter.
    """
    for is_raw, run in groupby(enumerate(spans), key=lambda numbered: numbered[1].is_shown and not numbered[1].messages):
        if is_raw:
            units = [(unit, (index, i)) for index, span in run for i, unit in enumerate(span.units)]
            places = {id(unit): place for unit, place in units}
            yield from ((places[id(group[0])], _behind(places[id(group[-1])], spans), shown(group)) for group in bodies(unit for unit, _ in units))
        else:
            yield from (((index, 0), (index + 1, 0), span.messages) for index, span in run if span.is_shown)


def _first_said(spans: Sequence[Span]) -> Place:
    """Return where the leading system messages end: the system prompt's injections stand there."""
    return next((start for start, _, messages in _places(spans) if any(m.role != "system" for m in messages)), (len(spans), 0))


def _last_user(spans: Sequence[Span]) -> tuple[Place, Place] | None:
    """Return where the last thing that a user said begins and ends, None where there is none."""
    last = None
    for start, stop, messages in _places(spans):
        last = (start, stop) if any(m.role == "user" for m in messages) else last
    return last


def _behind(place: Place, spans: Sequence[Span]) -> Place:
    span, unit = place
    return (span, unit + 1) if unit + 1 < len(spans[span].units) else (span + 1, 0)


def _part(span: Span, start: int, stop: int) -> list[Stretch]:
    """Return the part of a span from one unit to another."""
    if (start, stop) == (0, len(span.units)):
        return [_stretch(span, rest=False)]
    return [_stretch(span_of(span.units[start:stop], form=span.form, reason=span.reason, how=span.how), rest=start > 0)]


def _stretch(span: Span, *, rest: bool) -> Stretch:
    return Stretch(
        form=span.form,
        reason=span.reason,
        tokens=span.tokens,
        first=span.first,
        last=span.last,
        count=span.count,
        units=span.units,
        messages=span.messages,
        name=span.node or span.how,
        level=span.level,
        is_rest=rest,
    )
