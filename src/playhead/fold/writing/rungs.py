"""Rungs: what may be tried next, each a function of what was tried so far (specs: context-manager 14.7, 15.5, 28.6).

A rung yields the shapes it would ask for, in order; none where it has nothing to offer after what the newest request came to.
All of them are sent to the same model. No rung makes the canonical request larger once that was rejected as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from playhead.fold.node import Node
from playhead.fold.writing.climb import Climb
from playhead.fold.writing.prompts import Draft
from playhead.fold.writing.shapes import CANONICAL, Shape

Rung = Callable[[Climb], Iterator[Shape]]

REFUSED = frozenset({"refusal", "content_filter"})
"""The model or its provider will not answer this request."""

TOO_LONG = frozenset({"too_long", "context_limit"})
"""The request does not fit: by our own count before it is sent, or by the provider's."""

REJECTED = frozenset({*TOO_LONG, "rejected", "server_errors"})
"""The request came to no answer of a model at all."""

SPLIT_CALLS = 40
"""How many requests the parts of one summary may take."""

_FRAME, _FRAME_OF_MESSAGE = 512, 128
"""What is added to the bytes of a request where no provider said how many tokens it is."""

_CREDIBLE = 2
"""By what factor a provider's count of a request may lie below ours and still be believed: some report only what was not cached."""


def no_tools_line(climb: Climb) -> Iterator[Shape]:
    """Say that no tool is to be called, after an answer that called one."""
    if _came_to(climb, "tool_calls"):
        yield replace(climb.shape, forbids_tools=True)


def without_tools(climb: Climb) -> Iterator[Shape]:
    """Leave the model no tool to call, after an answer that called one."""
    if _came_to(climb, "tool_calls"):
        yield replace(climb.shape, forbids_tools=True, offers_tools=False)


def plain_prose(climb: Climb) -> Iterator[Shape]:
    """Ask for prose outside of tags, after an answer without words of its own."""
    if _came_to(climb, "empty"):
        yield replace(climb.shape, asks_prose=True)


def expand_recall(climb: Climb) -> Iterator[Shape]:
    """Show one earlier memory by those below it, after a refusal: newest first, then the higher level, each only where the request stays within its budget."""
    if climb.material.job.is_merge or not any(trial.outcome in REFUSED for trial in climb.trials):
        return
    left = climb.material.config.recall_expansions
    for node in _expandable(climb):
        shape = replace(climb.shape, expanded=node.uid)
        draft = climb.material.draft(shape)
        if left and draft.fits and (climb.knows(draft) or admits(climb, draft)):
            left -= 1
            yield shape


def source_only(climb: Climb) -> Iterator[Shape]:
    """Show nothing but the run itself."""
    if climb.trials:
        yield replace(climb.shape, stands_alone=True)


def split(climb: Climb) -> Iterator[Shape]:
    """Ask for the run in parts, halved at the ends of units as long as a part is not answered."""
    if climb.trials and not climb.material.job.is_merge:
        due = division(climb).due
        if due is not None and sum(trial.rung == "split" for trial in climb.trials) + len(climb.settled) < SPLIT_CALLS:
            yield due


def attempts(climb: Climb) -> Iterator[Shape]:
    """Ask for a merge once more, in a shape that answers to what went wrong; less of earlier memories is shown each time."""
    config, outcomes = climb.material.config, [trial.outcome for trial in climb.trials]
    calls = outcomes.count("tool_calls")
    for attempt in range(len(outcomes), config.merge_attempt_limit):
        yield Shape(
            attempt=attempt,
            shows_sources=any(outcome in REFUSED or outcome in REJECTED for outcome in outcomes),
            forbids_tools=calls > 0 and "no_tools_line" in config.ladder,
            offers_tools=calls < 2 or "without_tools" not in config.ladder,
            asks_prose=_came_to(climb, "empty") and "plain_prose" in config.ladder,
            stands_alone=attempt == config.merge_attempt_limit - 1 and "source_only" in config.ladder,
        )


RUNG: Mapping[str, Rung] = MappingProxyType(
    {
        "no_tools_line": no_tools_line,
        "without_tools": without_tools,
        "plain_prose": plain_prose,
        "expand_recall": expand_recall,
        "source_only": source_only,
        "split": split,
    }
)
"""The rungs that the setting `ladder` names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """How far a run has come in parts: the shape of the part that is due, or what all of them say; neither where a single unit is not answered."""

    due: Shape | None = None
    texts: tuple[str, ...] = ()


def division(climb: Climb) -> Division:
    """Return what is due of a run in parts (E13): two halves, the larger first, and the halves of each that was not answered."""
    count = len(climb.material.job.units)
    return _halves(climb, 0, count) if count > 1 else Division()


def _halves(climb: Climb, first: int, behind: int) -> Division:
    middle = (first + behind + 1) // 2
    left = _part(climb, first, middle)
    if not left.texts:
        return left
    right = _part(climb, middle, behind)
    return replace(right, texts=(*left.texts, *right.texts)) if right.texts else right


def _part(climb: Climb, first: int, behind: int) -> Division:
    shape = replace(climb.shape, stands_alone=True, piece=(first, behind))
    draft = climb.material.draft(shape)
    if draft.digest in climb.settled:
        return Division(texts=(climb.settled[draft.digest],))
    if not climb.has_tried(draft):
        return Division(due=shape)
    return _halves(climb, first, behind) if behind - first > 1 else Division()


def admits(climb: Climb, draft: Draft) -> bool:
    """Whether a larger request stays within the budget (E12).

    By what the provider reported of the canonical one and a token for each byte more; by bytes alone where it reported nothing credible.
    """
    canonical = climb.material.draft(CANONICAL)
    reported = next((trial.input for trial in climb.trials if trial.digest == canonical.digest), None)
    estimate = canonical.tokens - climb.material.answer
    if reported is not None and reported > 0 and reported * _CREDIBLE >= estimate:
        needed = reported + max(1, draft.size - canonical.size)
    else:
        needed = draft.size + _FRAME + _FRAME_OF_MESSAGE * len(draft.request.messages)
    return needed + climb.material.answer <= climb.material.window


def _expandable(climb: Climb) -> list[Node]:
    """Return the memories shown in the canonical request that can be shown by those below them."""
    material = climb.material
    shown = [material.memory(uid) for uid in material.draft(CANONICAL).memories if material.below(uid) is not None]
    return sorted(shown, key=lambda node: (-node.last, -node.level, node.uid))


def _came_to(climb: Climb, outcome: str) -> bool:
    return climb.last is not None and climb.last.outcome == outcome
