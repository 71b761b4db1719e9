"""What a run leaves on its tape: each thing when it is known, in the order in which it is read back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any

import anyio

from playhead import clock
from playhead.agent.overflow import rejoin
from playhead.agent.unwritten import Unwritten
from playhead.entry.entry import EVENT, TapeEntry, format_date, stamped
from playhead.entry.frozen import freeze_dict
from playhead.entry.message import Message
from playhead.entry.payload import message_to_entries
from playhead.model.protocol import Reply, Usage
from playhead.store.protocol import IDEMPOTENCY_KEY
from playhead.tape.tape import Tape

SHOWN = 300
"""How many characters of a prompt the events of a run repeat; the whole of it is the message that follows."""

LOOP_START, MODEL_SWITCH, EFFORT_SWITCH = "loop.start", "model_switch", "reasoning_effort_switch"
_SWITCHES = {MODEL_SWITCH: "model", EFFORT_SWITCH: "reasoning_effort"}
_NEAR, _FAR = 64, 65_536
"""How many entries from the end are looked at first, and at most, for what is in force."""

OK, CONTINUE, FAILED, HANDED_OFF, CANCELLED = "ok", "continue", "error", "auto_handoff", "cancelled"
"""How a step ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """What holds on a tape until it is changed: the digest of the system prompt, the model and the effort that were switched to."""

    system: str = ""
    model: str | None = None
    reasoning_effort: str | None = None


async def in_force(tape: Tape) -> InForce:
    """Return what holds on a tape. Every run notes it at its start, so it costs what came since, and not what the tape holds."""
    found: dict[str, Any] = {}
    head = (await tape.head()).id
    above, reach = head, _NEAR
    while above > 0 and reach <= _FAR:
        below = max(0, head - reach)
        for event in await tape.query().kinds(EVENT).newest_first().after(below).up_to(above).all():
            if event.meta.get("context") is False:  # of a subagent, whose work is kept beside
                continue
            name, data = event.payload.get("name"), event.payload.get("data")
            if name in _SWITCHES and isinstance(data, Mapping):
                found.setdefault(_SWITCHES[name], data.get(_SWITCHES[name]))
            elif name == LOOP_START and isinstance(data, Mapping):
                held = data.get("in_force")
                return InForce(**{**(dict(held) if isinstance(held, Mapping) else {}), **found})
        above, reach = below, reach * 16
    return InForce(**found)


class Recorder:
    """Writes the entries of one run, all with its `run_id`; `held` is what is in force when it starts.

    What is written is written whole, also where the run is cancelled meanwhile. What could not be written, or nobody knows whether it
    was, is written with the failure that follows, once; where not even that can be, `unwritten` holds it.
    """

    def __init__(self, tape: Tape, *, run_id: str, held: InForce) -> None:
        self.tape = tape
        self.run_id = run_id
        self.unwritten: Unwritten | None = None
        self._held = held
        self._unsure: list[TapeEntry] = []
        self._answer = ""
        self._round: list[TapeEntry] = []
        self._asked: list[TapeEntry] = []

    async def begin(self, step: int, *, model: str, prompt: Message | None, system_prompt: str, tools: Sequence[str], steering: Sequence[tuple[str, Message]]) -> tuple[TapeEntry, ...]:
        """Keep what a step starts with, all at once, before the model is asked; return the entries of what was said: of the steering messages, then of the prompt.

        The system prompt is kept where it is not the one that was in force; steering messages are kept once, by their ids.
        """
        said = "" if prompt is None else _shown(prompt.text)
        entries: list[TapeEntry] = []
        if step == 1:
            digest = sha256(system_prompt.encode("utf-8", "surrogatepass")).hexdigest()[:16] if system_prompt else ""
            is_new = bool(digest) and digest != self._held.system
            self._held = replace(self._held, system=digest)
            held = {key: value for key, value in asdict(self._held).items() if value}
            entries.append(self._event(LOOP_START, {"model": model, "prompt": said, "allowed_tools": list(tools), "in_force": held}))
        entries.append(self._event("loop.step.start", {"step": step, "prompt": said}))
        if step == 1 and is_new:
            entries.append(TapeEntry.system(system_prompt, run_id=self.run_id))
        told = len(entries)
        for id, message in steering:
            for place, entry in enumerate(message_to_entries(message, run_id=self.run_id)):
                entries.append(_keyed(entry, f"inbox:{id}:{place}"))
        if prompt is not None:
            entries += message_to_entries(prompt, run_id=self.run_id)
        stored = await self._keep(entries)
        self._asked += stored[told:]
        return stored[told:]

    async def reply(self, reply: Reply, *, model: str, max_tokens: int | None = None, then: Iterable[TapeEntry] = ()) -> None:
        """Keep an answer, the event `run` with who gave it within how many tokens and what it cost, and what follows from it, all at once."""
        entries = [stamped(entry) for entry in message_to_entries(reply.message, run_id=self.run_id, stop=reply.stop)]
        self._answer = entries[0].uid
        with anyio.CancelScope(shield=True):
            stored = await self.tape.append_many([*entries, self._run("ok", model=model, usage=reply.usage, answered_by=reply.model, max_tokens=max_tokens), *then])
        self._round, self._answer = list(stored[: len(entries)]) if reply.calls else [], ""

    async def failure(
        self, error: Exception, *, step: int, model: str, partial: Message | None, elapsed_ms: int, status: str = FAILED, usage: Usage | None = None, max_tokens: int | None = None
    ) -> None:
        """Keep what is known of a step that failed: what could not be kept before, what had come of the answer, marked as partial, the error, and the events."""
        said = () if partial is None else self._stamped(message_to_entries(partial, run_id=self.run_id, partial=True))
        told = self._stamped(
            [TapeEntry.error(error, run_id=self.run_id), self._run("error", model=model, usage=usage, max_tokens=max_tokens), self.step_ended(step, status, elapsed_ms=elapsed_ms, error=error)]
        )
        self.unwritten = Unwritten(entries=(*self._unsure, *said, *told), answer=self._answer)
        with anyio.CancelScope(shield=True):
            await self.end_round()
            uids = [*(entry.uid for entry in self._unsure), *filter(None, [self._answer])]
            there = await self.tape.store.find(self.tape.name, uids=uids) if uids else {}
            missing = [entry for entry in self._unsure if entry.uid not in there]
            await self._with(missing, [*(() if self._answer in there else said), *told])
        self._unsure, self._answer, self.unwritten = [], "", None

    async def _with(self, missing: Sequence[TapeEntry], entries: Sequence[TapeEntry]) -> None:
        """Keep what is missing and what follows; where what is missing cannot be kept, what follows alone."""
        if missing:
            with suppress(Exception):  # it may be the missing entries themselves that no store takes
                await self.tape.append_many([*missing, *entries])
                return
        await self.tape.append_many(entries)

    async def results(self, message: Message) -> None:
        """Keep what a tool answered."""
        self._round.extend(await self._keep(message_to_entries(message, run_id=self.run_id)))

    async def end_round(self) -> None:
        """See to it that the calls and results of the last answer stand together, whatever their tools have left on the tape."""
        tool_round, self._round = self._round, []
        if tool_round and max(entry.id for entry in tool_round) - tool_round[0].id != len(tool_round):  # beside the event `run`
            await rejoin(self.tape, tool_round, asked=self._asked)

    async def cancelled(self, *, step: int, partial: Message | None, elapsed_ms: int) -> None:
        """Keep what is known of a step that was cancelled: what had come of the answer, marked as partial, and the event."""
        said = () if partial is None else message_to_entries(partial, run_id=self.run_id, partial=True)
        entries = self._stamped([*said, self.step_ended(step, CANCELLED, elapsed_ms=elapsed_ms)])
        self.unwritten = Unwritten(entries=(*self._unsure, *entries), answer=self._answer)
        await self.end_round()
        await self._keep(entries)
        self.unwritten = None

    async def step(self, step: int, status: str, *, elapsed_ms: int, error: Exception | None = None) -> None:
        """Keep how a step ended."""
        await self._keep([self.step_ended(step, status, elapsed_ms=elapsed_ms, error=error)])

    async def _keep(self, entries: Iterable[TapeEntry]) -> tuple[TapeEntry, ...]:
        written = self._stamped(entries)
        try:
            with anyio.CancelScope(shield=True):
                stored = await self.tape.append_many(written)
        except Exception:
            self._unsure += written
            raise
        return stored

    def _stamped(self, entries: Iterable[TapeEntry]) -> list[TapeEntry]:
        return [stamped(entry) for entry in entries]

    def step_ended(self, step: int, status: str, *, elapsed_ms: int, error: Exception | None = None) -> TapeEntry:
        """Return the event that says how a step ended."""
        facts: dict[str, Any] = {"step": step, "elapsed_ms": elapsed_ms, "status": status, "date": format_date(clock.now())}
        return self._event("loop.step", facts if error is None else {**facts, "error": str(error)})

    def _run(self, status: str, *, model: str, usage: Usage | None, answered_by: str | None = None, max_tokens: int | None = None) -> TapeEntry:
        provider, _, id = model.partition(":")
        another = None if answered_by in (model, id, provider) else answered_by
        cost = None if usage is None else usage.facts()
        facts = {"status": status, "provider": provider, "model": id or provider, "answered_by": another, "max_tokens": max_tokens, "usage": cost}
        return self._event("run", {key: value for key, value in facts.items() if value is not None})

    def _event(self, name: str, facts: Mapping[str, Any]) -> TapeEntry:
        return TapeEntry.event(name, dict(facts), run_id=self.run_id)


def _shown(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _keyed(entry: TapeEntry, key: str) -> TapeEntry:
    return replace(entry, meta=freeze_dict({**entry.meta, IDEMPOTENCY_KEY: key}, path="meta"))
