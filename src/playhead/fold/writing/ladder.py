"""The ladder: which request is made next for a summary, and when there is none.

The canonical request comes first, with the same bytes as long as what it is made of is the same. A rung that was left is not
come back to. What a request came to counts for that request alone, known by the hash of all it holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256

from playhead.entry import codec
from playhead.fold.config import AutobiographicalConfig
from playhead.fold.forest import Outcome
from playhead.fold.writing.climb import CANONICAL_RUNG, Climb, Tried
from playhead.fold.writing.prompts import Draft, Material
from playhead.fold.writing.rungs import RUNG, attempts
from playhead.fold.writing.shapes import CANONICAL, Shape
from playhead.fold.writing.voices import wording

RETRY = "retry"
"""What every request for a merge after the first is called."""

SHAPES_OF_A_RUN = 3
"""How many different canonical requests may be tried for one run under the same settings (specs: context-manager 16.2)."""

_ASKS = ("ladder", "recall_expansions", "merge_attempt_limit", "summary_target_tokens", "compression_max_tokens", "compression_context_budget_tokens", "identity_reminder", "witnessed_instruction")


def regime_of(config: AutobiographicalConfig, *, model: str) -> str:
    """Return the hash of all that decides how a summary is asked for: outcomes of other settings, words or models count for nothing."""
    asked = {name: getattr(config, name) for name in _ASKS}
    return sha256(codec.encode_sorted({"model": model, "wording": wording(), **asked})).hexdigest()[:16]


def begun(material: Material, outcomes: Sequence[Outcome], *, settled: Mapping[str, str], inputs: Mapping[str, int]) -> Climb:
    """Return the climb for a job with what is on record for it, of one regime.

    A merge counts every failure, whatever the request was; a run of raw goes up the ladder again with what is known of each request.
    """
    if material.job.is_merge:
        trials = tuple(Tried(rung=known.rung, shape=CANONICAL, digest=known.shape, outcome=known.outcome) for known in outcomes)
        return Climb(material=material, settled=settled, inputs=inputs, trials=trials)
    return Climb(material=material, known={known.shape: known.outcome for known in outcomes}, settled=settled, inputs=inputs)


def is_spent(material: Material, outcomes: Sequence[Outcome]) -> bool:
    """Whether so many different canonical requests were tried for a run that another one is not."""
    families = {known.shape for known in outcomes if known.rung == CANONICAL_RUNG}
    return not material.job.is_merge and len(families) >= SHAPES_OF_A_RUN and material.draft(CANONICAL).digest not in families


def next_request(climb: Climb) -> tuple[str, Draft] | None:
    """Return the rung and the request that come next; None at the end of the ladder."""
    for rung, shape in _offers(climb):
        draft = climb.material.draft(shape)
        if not climb.has_tried(draft):
            return rung, draft
    return None


def climbed(climb: Climb) -> tuple[Climb, tuple[str, Draft] | None]:
    """Return the climb past all that is on record, and the request to make then; None at the end of the ladder."""
    while (due := next_request(climb)) is not None and due[1].digest in climb.known:
        climb = climb.after(due[1], rung=due[0], outcome=climb.known[due[1].digest])
    return climb, due


def is_over(climb: Climb) -> bool:
    """Whether nothing is left to try, on record or not."""
    return climbed(climb)[1] is None


def _offers(climb: Climb) -> Iterator[tuple[str, Shape]]:
    if climb.material.job.is_merge:
        yield from ((CANONICAL_RUNG if shape.attempt == 0 else RETRY, shape) for shape in attempts(climb))
        return
    if not climb.trials:
        yield CANONICAL_RUNG, CANONICAL
        return
    names = climb.material.config.ladder
    reached = max((names.index(trial.rung) for trial in climb.trials if trial.rung in names), default=0)
    for name in names[reached:]:
        yield from ((name, shape) for shape in RUNG[name](climb))
