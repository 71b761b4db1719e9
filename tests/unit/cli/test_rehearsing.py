"""Estimates: what a fold would take, from what a rehearsal of it asked for."""

from __future__ import annotations

import anyio

from playhead.cli.rehearsing import Asked, Estimate, Priced, estimates
from playhead.cli.steps import Step
from playhead.fold.config import AutobiographicalConfig
from playhead.fold.ticker import Ticked
from playhead.fold.writing.job import Surroundings, Written
from playhead.view.tokens import default_counter
from playhead.view.units import Unit
from tests.unit.fold.writing import NOW, chunk, node, said


def wrote(number: int, *, level: int, tokens: int) -> Step:
    return Step(ticked=Ticked(did="summary" if level == 1 else "merge", node=node(number, first=number, last=number, level=level)), tokens=tokens, left=0)


def test_levels_are_summed_apart_and_notes_take_no_request():
    taken = [wrote(1, level=1, tokens=40), wrote(2, level=1, tokens=50), wrote(3, level=2, tokens=60), Step(ticked=Ticked(did="lost"), tokens=None, left=0)]
    asked = [Asked(level=1, input=100, output=20, fits=True), Asked(level=2, input=300, output=30, fits=False)]
    assert list(estimates(taken, asked, scale=1.5)) == [
        Estimate(level=1, summaries=2, requests=1, input_tokens=150, output_tokens=20, raw_tokens=2_000, told_tokens=90),
        Estimate(level=2, summaries=1, requests=1, input_tokens=450, output_tokens=30, raw_tokens=1_000, told_tokens=60),
    ]


def test_a_priced_request_holds_what_a_real_one_would_and_is_answered_at_length():
    config, counter = AutobiographicalConfig(summary_target_tokens=120), default_counter()
    priced = Priced(config, name="openai:gpt-5-mini")
    units = [said(f"Host {n} is down since noon, and nobody knows why. " * 8, id=n) for n in range(1, 6)]

    async def note(_: object) -> None:
        raise AssertionError("nothing is noted of what was not asked")

    async def write(*told: Unit) -> Written:
        return await priced.write(chunk(*told), Surroundings(counter=counter, now=NOW), note=note)

    written = anyio.run(write, *units)
    (asked,) = priced.asked
    assert asked.level == 1
    assert asked.input > sum(unit.tokens for unit in units)
    assert (asked.output, asked.fits) == (120, True)
    assert 80 < counter.count(written.text) < 180
    anyio.run(write, said("Up?", id=9))
    assert priced.asked[-1].output < 20
