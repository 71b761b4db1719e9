"""Summaries written by a model: one request after the other, up a ladder, until an answer can be kept or none is left to try."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import Any

import anyio

from playhead import clock
from playhead.entry.frozen import freeze_dict
from playhead.entry.message import Message
from playhead.fold.config import AutobiographicalConfig
from playhead.fold.writing.acceptance import Accepted, judged
from playhead.fold.writing.job import Deferred, Failed, Job, Paused, RungOutcome, Surroundings, Written
from playhead.fold.writing.ladder import begun, climbed, is_over, is_spent, regime_of
from playhead.fold.writing.pacing import Lane, Trouble, lane_of, verdict_of
from playhead.fold.writing.prompts import Draft, Material
from playhead.fold.writing.rungs import division
from playhead.fold.writing.shapes import CANONICAL
from playhead.fold.writing.summarizer import Came, Note
from playhead.model.protocol import Model, Reply, Usage
from playhead.tracing import span
from playhead.view.tokens import text_tokens

_NEEDS_TOOLS = re.compile(r"(?:^|[/.:])claude-(?:fable|mythos)-", re.IGNORECASE)
"""Models that answer no request in which no tool is declared, by any name that a gateway or a date gives them."""

_KEPT = 256
_UNTOLD = "its tools are not known yet: {why}. Give them with set_tool_definitions(...); until then what is due stays as it is."


class ModelSummarizer:
    """Writes summaries with a model, always the same one; implements `Summarizer`.

    What an answer or a refusal taught is noted before the next request, and counts from then on. What is only held here is lost
    without harm: pauses, parts of a summary that were answered, what a provider counted.
    """

    def __init__(self, model: Model, config: AutobiographicalConfig, *, lane: Lane | None = None) -> None:
        self._model = model
        self._config = config
        self._lane: Lane = lane_of(model) if lane is None else lane
        self._settled: dict[str, dict[str, str]] = {}
        self._inputs: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"<summaries by {self.name}>"

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    @property
    def regime(self) -> str:
        """The hash of the settings that outcomes count under."""
        return regime_of(self._config, model=self.name)

    async def write(self, job: Job, surroundings: Surroundings, *, note: Note) -> Came:
        """Write the summary of a run, or say why there is none."""
        material = Material(job, surroundings, config=self._config, limit=self._model.context_limit, needs_tools=_NEEDS_TOOLS.search(self.name) is not None)
        canonical = material.draft(CANONICAL)
        if (why := _untold(material, canonical)) is not None:
            return Deferred(why=_UNTOLD.format(why=why))
        if (pause := self._lane.paused(now=surroundings.now)) is not None:
            return pause
        with self._lane.writing(canonical.digest) as is_mine:
            if not is_mine:
                return Deferred(why="it is being written already, by another memory in this process")
            came = await _Writing(self, material, note=note).done()
        if not isinstance(came, Paused):
            self._settled.pop(canonical.digest, None)
        return came

    async def _ask(self, draft: Draft, *, tape: str | None) -> Reply | str | Trouble:
        """Send a request; returns the answer, else what the request came to or the trouble on the way."""
        try:
            with span("chat", tape=tape, model=self.name, request=draft.request) as told, anyio.fail_after(self._config.summary_timeout):
                reply = await self._model.complete(draft.request)
                told.add(reply=reply)
        except Exception as error:  # noqa: BLE001 - a model may be anybody's, and raises whatever it likes
            verdict = verdict_of(error)
        else:
            if isinstance(reply, Reply) and isinstance(reply.message, Message):
                self._lane.answered(draft.digest)
                self._count(draft, reply.usage)
                return reply
            verdict = Trouble(why="the answer is no Reply", may_be_the_request=True)
        if isinstance(verdict, Trouble):
            return "server_errors" if self._lane.fails_for_good(draft.digest, verdict) else verdict
        self._lane.answered(draft.digest)
        return verdict

    def _count(self, draft: Draft, usage: Usage | None) -> None:
        """Remember what a request is by the provider's own count."""
        if usage is not None:
            self._inputs[draft.digest] = usage.input
            _forget_oldest(self._inputs)

    def _settled_of(self, canonical: Draft) -> dict[str, str]:
        """Return the parts of a summary that were answered, to be added to."""
        found = self._settled.setdefault(canonical.digest, {})
        _forget_oldest(self._settled)
        return found


_GENEROUS = 4
"""How many times the length that was asked for a summary may have, where that is more than what it tells."""


class _Writing:
    """One summary while it is written."""

    def __init__(self, summarizer: ModelSummarizer, material: Material, *, note: Note) -> None:
        self._by = summarizer
        self._material = material
        self._note = note
        self._regime = summarizer.regime
        children = tuple(node.uid for node in material.job.sources)
        self._record = tuple(known for known in material.surroundings.outcomes if known.regime == self._regime and known.children == children)
        self._settled = summarizer._settled_of(material.draft(CANONICAL))
        self._climb = begun(material, self._record, settled=self._settled, inputs=summarizer._inputs)
        self._learnt: list[RungOutcome] = []
        self._began = clock.now()

    async def done(self) -> Came:
        if is_spent(self._material, self._record):
            return await self._failed()
        while True:
            self._climb, due = climbed(self._climb)
            if due is None:
                return await self._failed()
            came = await self._tried(*due)
            if came is not None:
                return came

    async def _tried(self, rung: str, draft: Draft) -> Came | None:
        """Make one request; returns what the job comes to by it, None where there is more to try."""
        answer = await self._by._ask(draft, tape=self._material.surroundings.tape) if draft.fits else "too_long"
        if isinstance(answer, Trouble):
            return self._by._lane.pause(answer, model=self._by.name, now=self._now())
        if isinstance(answer, Reply):
            kept = judged(answer)
            if isinstance(kept, Accepted) and not self._is_overlong(kept.text):
                return self._accepted(rung, draft, answer, kept.text)
            answer = "overlong" if isinstance(kept, Accepted) else kept.flaw
        self._climb = self._climb.after(draft, rung=rung, outcome=answer)
        stuck = is_over(self._climb)
        await self._learn(RungOutcome(rung=rung, shape=draft.digest, outcome=answer, regime=self._regime, model=self._by.name, is_stuck=stuck))
        if stuck or (self._material.job.is_merge and draft.fits):
            return Failed(outcomes=tuple(self._learnt), stuck=stuck)
        return None

    def _is_overlong(self, text: str) -> bool:
        """Whether an answer is much longer than was asked for and no shorter than what it tells: shown in place of that it would save nothing."""
        job, counter = self._material.job, self._material.surroundings.counter
        told = sum(unit.tokens for unit in job.units) or sum(text_tokens(node.text, counter=counter) for node in job.sources)
        most = max(told, _GENEROUS * self._by._config.summary_target_tokens)
        return len(text) > most and text_tokens(text, counter=counter) > most

    async def _failed(self) -> Failed:
        """Leave a run alone of which nothing is left to try; that is put on record where it is not yet."""
        if not any(known.is_stuck for known in self._record):
            digest = self._material.draft(CANONICAL).digest
            await self._learn(RungOutcome(rung="ladder", shape=digest, outcome="exhausted", regime=self._regime, model=self._by.name, is_stuck=True))
        return Failed(outcomes=tuple(self._learnt), stuck=True)

    async def _learn(self, outcome: RungOutcome) -> None:
        await self._note(outcome)
        self._learnt.append(outcome)

    def _accepted(self, rung: str, draft: Draft, reply: Reply, text: str) -> Written | None:
        """Return the summary that an answer completes, None where it is one part and others are due."""
        if draft.shape.piece is None:
            return self._written(text, self._how(rung, reply, request=draft.digest, text=text, usage=reply.usage))
        self._settled[draft.digest] = text
        self._climb = replace(self._climb, settled=dict(self._settled))
        pieces = division(self._climb).texts
        if not pieces:
            return None
        whole = "\n\n".join(pieces)
        request = sha256("".join(self._settled).encode()).hexdigest()
        return self._written(whole, {**self._how(rung, reply, request=request, text=whole, usage=None), "pieces": len(pieces)})

    def _written(self, text: str, how: Mapping[str, object]) -> Written:
        return Written(text=text, tools=self._material.job.tools, how=freeze_dict(how, path="how"))

    def _how(self, rung: str, reply: Reply, *, request: str, text: str, usage: Usage | None) -> dict[str, object]:
        """Return how a summary was written; its tokens are those the provider reported, else our own count."""
        told = {"usage": usage.facts()} if usage is not None else {}
        tokens = usage.output if usage is not None and usage.output > 0 else text_tokens(text, counter=self._material.surroundings.counter)
        return {"stop": reply.stop, "request_hash": request, "rung": rung, "tokens": tokens, "model": reply.model or self._by.name, **told}

    def _now(self) -> datetime:
        """Return the time by the caller's clock: a request may take minutes."""
        return self._material.surroundings.now + (clock.now() - self._began)


def _untold(material: Material, canonical: Draft) -> str | None:
    """Say why a request cannot be made before the agent's tools are known; None where it can."""
    if material.surroundings.tools:
        return None
    if material.needs_tools:
        return "this model answers no request without any"
    return "calls of tools stand in what is to be told" if canonical.has_rounds else None


def _forget_oldest(kept: dict[str, Any]) -> None:
    while len(kept) > _KEPT:
        del kept[next(iter(kept))]
