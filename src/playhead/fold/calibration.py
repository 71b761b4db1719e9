"""Calibration: how much more, or less, a provider counts than our counter does, learnt from the usage it reports."""

from __future__ import annotations

from functools import cache
from hashlib import sha256

from playhead.fold.forest import Forest
from playhead.view import token_rates
from playhead.view.calibration import CREDIBLE, ScaledCounter
from playhead.view.tokens import Counter

CEILING = CREDIBLE[1]
"""The largest factor that is applied."""


def epoch_of(counter: Counter) -> str:
    """Return what a factor was learnt under: a counter and its rates. One learnt under others is not applied (specs: context-manager 4.7, 28.14)."""
    return f"{counter.name}/{_rates()}"


def factor_of(forest: Forest, counter: Counter) -> float:
    """Return the factor that is in force: the one kept beside the tape, 1 where it was learnt under another epoch."""
    return forest.factor if forest.factor_epoch == epoch_of(counter) else 1.0


def learnt(factor: float, *, counted: int, reported: int, counter: Counter) -> float:
    """Return the factor moved towards what a provider reported for a prompt of `counted` tokens by our counter (specs: context-manager 4.5, E3)."""
    return ScaledCounter(counter=counter, factor=factor).corrected(counted=max(1, round(counted * factor)), reported=reported).factor


@cache
def _rates() -> str:
    rates = sorted((name, value) for name, value in vars(token_rates).items() if name.isupper())
    return sha256(repr(rates).encode()).hexdigest()[:12]
