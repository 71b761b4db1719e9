"""One run: step after step, until the model asks for no more tools."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import count
from typing import Any, cast

import anyio

from playhead import clock
from playhead.agent.calling import Approve, Shrink, answered
from playhead.agent.decisions import Finish, RunFacts
from playhead.agent.events import ErrorEvent, FinalEvent, TextEvent, ToolCallEvent, ToolResultEvent, UsageEvent
from playhead.agent.folding import Refold
from playhead.agent.heard import Heard
from playhead.agent.hooks import Hooks
from playhead.agent.inbox import Inbox, Leased
from playhead.agent.media import kept_answer, kept_result, without_media
from playhead.agent.output import OutputForm
from playhead.agent.overflow import hand_off, is_shortened_by_handoff
from playhead.agent.recording import CONTINUE, HANDED_OFF, OK, InForce, Recorder
from playhead.agent.request import asked_model, budget_for, compiled, request_of, token_limit
from playhead.agent.steering import Steering
from playhead.agent.stream import Emit
from playhead.agent.toolbox import Toolbox
from playhead.agent.tools import ToolContext
from playhead.agent.unwritten import Unwritten
from playhead.entry.message import Message, ToolCall, ToolResult, assistant, user
from playhead.entry.payload import message_to_entries
from playhead.errors import ContextLimitExceeded, ModelError, OutputMismatch, OverBudgetError, PlayheadError, StepLimitReached
from playhead.model.protocol import Model, ModelRequest, Reply, ToolSpec
from playhead.prompt.budget import Budget
from playhead.prompt.prompt import Prompt
from playhead.prompt.strategy import Strategy
from playhead.store.blobs import blobs_of
from playhead.tape.tape import Tape
from playhead.tracing import span

CONTINUE_PROMPT = "Continue the task until all targets are completed."
"""What the model is told behind a step with tools; said in that request alone, and not kept."""

MISFITS = 2
"""How often a model may try again to answer in the form that was asked for."""

_SMALLER = 0.8
_log = logging.getLogger("playhead")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a run is done with."""

    system_prompt: str
    max_steps: int | None
    strategy: Strategy | None
    budget: Budget | None
    toolbox: Toolbox
    hooks: Hooks
    inbox: Inbox | None
    approve: Approve | None
    shrink: Shrink | None
    refold: Refold | None
    continue_prompt: str
    reasoning_effort: str | None
    output: OutputForm | None


@dataclass(slots=True)
class _Turn:
    """What is known of a run so far."""

    began: int = 0
    step: int = 0
    retried: bool = False
    misfits: int = 0
    worked: bool = False
    heard: Heard = field(default_factory=Heard)
    answers: str = ""
    accepted: bool = False
    total: int = 0
    max_tokens: int | None = None
    smaller: Budget | None = None
    originals: dict[str, Message] = field(default_factory=dict)


class Run:
    """Drives one turn on a tape: called with it and with what to do with events, it returns when the turn has ended.

    `prompt` is what is asked, `recorded` the same as the tape keeps it, None where nothing new is. `models` are asked in order: the next one where one
    fails before it said anything. `deliver` is given the answer in the form that was asked for.
    """

    def __init__(
        self, settings: Settings, *, models: Sequence[Model], prompt: Message | None, recorded: Message | None, state: dict[str, Any], run_id: str, held: InForce, deliver: Callable[[Any], None]
    ) -> None:
        self._settings = settings
        self._models = tuple(models)
        self._prompt = prompt
        self._recorded = recorded
        self._state = state
        self._run_id = run_id
        self._held = held
        self._deliver = deliver
        self._steering = Steering(settings.inbox)
        self._turn = _Turn(answers=self._models[0].name)
        self._tape: Tape
        self._emit: Emit
        self._recorder: Recorder

    @property
    def id(self) -> str:
        """What its entries are marked with."""
        return self._run_id

    @property
    def unwritten(self) -> Unwritten | None:
        """What could not be kept of what was told; None where nothing was told that is not on the tape."""
        is_told = self._turn.accepted or self._turn.step > 1
        return self._recorder.unwritten if is_told else None

    async def __call__(self, tape: Tape, emit: Emit) -> None:
        """Run to the end. Raises what the model or the store raises, StepLimitReached, what a `task_start` hook raises."""
        self._tape, self._emit = tape, emit
        self._recorder = Recorder(tape, run_id=self._run_id, held=self._held)
        self._turn.began = (await tape.head()).id
        await self._settings.hooks.task_start(self._facts())
        prompt: Message | None = self._recorded
        for step in count(1):
            if self._settings.max_steps is not None and step > self._settings.max_steps:
                reached = StepLimitReached(self._settings.max_steps)
                await self._emit(ErrorEvent(error=reached))
                raise reached
            self._turn.step = step
            with span("step", tape=tape.name, run_id=self._run_id, step=step):
                if await self._step(prompt):
                    return
            prompt = None

    def _facts(self) -> RunFacts:
        model = self._models[0]
        return RunFacts(run_id=self._run_id, tape=self._tape, model=model.name, prompt=self._prompt, state=self._state, step=self._turn.step, context_limit=model.context_limit)

    async def _step(self, prompt: Message | None) -> bool:
        """Ask once and run the tools that are asked for; return whether the turn has ended with it."""
        turn, started = self._turn, clock.now()
        turn.heard, turn.accepted, turn.max_tokens = Heard(), False, None
        try:
            await self._settings.hooks.step_start(self._facts())
            await self._begin(prompt)
            reply = await self._reply(started)
            if reply is None:
                return False
            return await self._follow(reply, started)
        except anyio.get_cancelled_exc_class():
            await self._note_cancelled(started)
            raise
        except Exception as exc:
            await self._note_failure(exc, started)
            await self._emit(ErrorEvent(error=exc))
            raise

    async def _begin(self, prompt: Message | None) -> None:
        """Take up what waits, and keep what the step starts with before the model is asked; what is asked is kept also where the inbox fails."""
        try:
            pulled = await self._steering.pull()
        except Exception:
            await self._kept_beginning(prompt, ())
            raise
        await self._kept_beginning(prompt, pulled)

    async def _kept_beginning(self, prompt: Message | None, pulled: Sequence[Leased]) -> None:
        heard = [*(leased.message for leased in pulled), *([self._prompt] if self._prompt is not None and prompt is not None else [])]
        kept = [*[await self._without_media(leased.message) for leased in pulled], *([prompt] if prompt is not None else [])]
        entries = await self._recorder.begin(
            self._turn.step,
            model=self._models[0].name,
            prompt=prompt,
            system_prompt=self._settings.system_prompt,
            tools=list(self._settings.toolbox),
            steering=[(leased.id, message) for leased, message in zip(pulled, kept, strict=False)],
        )
        for entry, original, message in zip(entries, heard, kept, strict=True):
            if original is not message:
                self._turn.originals[entry.uid] = original

    async def _without_media(self, message: Message) -> Message:
        return (await without_media(message, blobs=blobs_of(self._tape.store))).message

    async def _reply(self, started: datetime) -> Reply | None:
        """Return the model's answer; None where the context was too short, and the step is to be done again on a shorter view."""
        turn = self._turn
        try:
            return await self._asked()
        except ContextLimitExceeded as exc:
            folds = getattr(self._settings.strategy, "folds", False)
            if turn.retried or not (folds or is_shortened_by_handoff(self._tape)):
                raise
            turn.retried = True
            if folds:
                turn.smaller = self._smaller()
                try:
                    return await self._asked()
                except ContextLimitExceeded:
                    if not is_shortened_by_handoff(self._tape):
                        raise
            await self._handed_off(exc, started)
            await self._emit(ErrorEvent(error=exc))
            return None

    async def _handed_off(self, error: ContextLimitExceeded, started: datetime) -> None:
        """Have the view start anew, with what the turn has done so far; either all of it or nothing."""
        turn = self._turn
        with anyio.CancelScope(shield=True):
            await self._steering.give_back()
            await self._recorder.failure(error, step=turn.step, model=turn.answers, max_tokens=turn.max_tokens, partial=turn.heard.partial, elapsed_ms=_since(started), status=HANDED_OFF)
            copies = await hand_off(self._tape, error, after=turn.began, run_id=self._run_id)
        turn.originals = {copies.get(uid, uid): message for uid, message in turn.originals.items()}

    async def _asked(self) -> Reply:
        """Compile, ask, and return the answer."""
        settings, turn = self._settings, self._turn
        specs = [tool.spec for tool in settings.toolbox.values()]
        tail = await self._tail()
        budget = turn.smaller or settings.budget
        prompt = await self._compiled(budget, tools=specs, tail=tail)
        room, turn.total = budget_for(self._models[0], budget), prompt.stats.total
        request = await request_of(
            prompt,
            tools=specs,
            budget=room if settings.budget is not None else None,
            originals=turn.originals,
            blobs=blobs_of(self._tape.store),
            tail=tail,
            output_schema=settings.output.schema if settings.output is not None else None,
            reasoning_effort=settings.reasoning_effort,
        )
        decided = await settings.hooks.before_llm_call(request, self._state, run=self._facts())
        turn.max_tokens = token_limit(decided) if isinstance(decided, ModelRequest) else None
        if isinstance(decided, Finish):
            await self._accepted()
            await self._emit(TextEvent(delta=decided.text))
            return Reply(message=assistant(decided.text), model="hook")
        return await self._answer_to(decided)

    async def _compiled(self, budget: Budget | None, *, tools: Sequence[ToolSpec], tail: str) -> Prompt:
        """Compile what the model should see; where it does not fit, again for as long as summaries are written that it lacks."""
        settings = self._settings
        make = partial(compiled, self._tape, model=self._models[0], budget=budget, strategy=settings.strategy, system_prompt=settings.system_prompt, tools=tools, tail=tail)
        while True:
            try:
                return await make()
            except OverBudgetError as refused:
                if settings.refold is None:
                    raise
                try:
                    written = await settings.refold(self._tape, refused)
                except PlayheadError as exc:
                    raise refused from exc
                if not written:
                    raise

    def _smaller(self) -> Budget:
        """Return the budget for a second try: what is known of the model's context by now, and less than what was too long."""
        room = budget_for(self._models[0], self._settings.budget)
        return replace(room, max_tokens=min(room.max_tokens, max(int(self._turn.total * _SMALLER), 1) + room.reserve_for_response))

    async def _tail(self) -> str:
        """Return what is said last in this request alone: behind a step with tools, that the work goes on."""
        if not self._turn.worked:
            return ""
        return await self._settings.hooks.continue_prompt(self._state, run=self._facts()) or self._settings.continue_prompt

    async def _answer_to(self, request: ModelRequest) -> Reply:
        """Ask the models in order until one answers. Raises what the first one raised where none does."""
        first: ModelError | None = None
        for model in self._models:
            error: Exception | None = None
            reply: Reply | None = None
            try:
                reply = await self._streamed(model, request)
            except ContextLimitExceeded as exc:
                error = exc
                raise
            except ModelError as exc:
                error, first = exc, first or exc
                if self._turn.accepted:
                    raise
            except Exception as exc:
                error = exc
                raise
            finally:
                if reply is not None or error is not None:
                    await self._settings.hooks.after_llm_call(request, reply, error, self._state, run=self._facts())
            if reply is not None:
                return reply
        raise first or ModelError("Nobody was asked; give the run a model.")

    async def _streamed(self, model: Model, request: ModelRequest) -> Reply:
        """Ask one model and tell its words as they come."""
        turn = self._turn
        turn.heard, turn.answers = Heard(), asked_model(model, request)
        with span("chat", tape=self._tape.name, run_id=self._run_id, model=turn.answers, request=request) as told:
            return await turn.heard.answer_of(model, request, told=told, emit=self._emit, accepted=self._accepted)

    async def _accepted(self) -> None:
        """Take note that the request was accepted: what came from the inbox is taken up for good."""
        self._turn.accepted = True
        await self._steering.acknowledge()

    async def _follow(self, reply: Reply, started: datetime) -> bool:
        """Keep an answer and do what it asks for; return whether the turn ends with it."""
        turn, recorder = self._turn, self._recorder
        reply = replace(reply, message=await self._kept_answer(reply.message))
        if reply.usage is not None:
            await self._emit(UsageEvent(usage=reply.usage))
        turn.worked = bool(reply.calls)
        if reply.calls:
            await recorder.reply(reply, model=turn.answers, max_tokens=turn.max_tokens)
            turn.heard = Heard()
            await self._emit(FinalEvent(text=reply.text, last=False, stop=reply.stop))
            await self._run_tools(reply)
            await recorder.step(turn.step, CONTINUE, elapsed_ms=_since(started))
            return False
        misfit = self._misfit(reply)
        ended = recorder.step_ended(turn.step, OK if misfit is None else CONTINUE, elapsed_ms=_since(started), error=misfit)
        again = misfit is not None and turn.misfits < MISFITS
        told = message_to_entries(user(misfit.told), run_id=self._run_id) if misfit is not None and again else ()
        await recorder.reply(reply, model=turn.answers, max_tokens=turn.max_tokens, then=[ended, *told])
        turn.heard = Heard()
        if misfit is None:
            await self._emit(FinalEvent(text=reply.text, stop=reply.stop))
            return True
        if not again:
            raise misfit
        turn.misfits += 1
        await self._emit(FinalEvent(text=reply.text, ok=False, last=False, stop=reply.stop))
        return False

    def _misfit(self, reply: Reply) -> OutputMismatch | None:
        """Deliver an answer in the form that was asked for; return why it has another one."""
        if self._settings.output is None:
            return None
        try:
            self._deliver(self._settings.output.read(reply.text))
        except OutputMismatch as exc:
            return exc
        return None

    async def _run_tools(self, reply: Reply) -> None:
        """Run all tools that an answer asks for at the same time; each result is kept when its tool ends."""
        for call in reply.calls:
            await self._emit(ToolCallEvent(call=call))
        failed: Exception | None = None
        try:
            async with anyio.create_task_group() as tasks:
                for call in reply.calls:
                    tasks.start_soon(self._run_tool, call, reply.problems)
        except ExceptionGroup as group:
            failed = group.exceptions[0]
        if failed is not None:
            raise failed
        await self._recorder.end_round()

    async def _run_tool(self, call: ToolCall, problems: Mapping[str, str]) -> None:
        settings = self._settings
        context = ToolContext(tape=self._tape, state=self._state, run_id=self._run_id, call_id=call.id, name=call.name)
        with span("tool", tape=self._tape.name, run_id=self._run_id, name=call.name, call=call) as told:
            answer = await answered(call, problem=problems.get(call.id), toolbox=settings.toolbox, context=context, hooks=settings.hooks, approve=settings.approve, shrink=settings.shrink)
            told.add(answer=answer)
        with anyio.CancelScope(shield=True):
            await self._recorder.results(Message(role="tool", content=(await self._kept(answer.result),)))
        await self._emit(ToolResultEvent(call=call, result=answer.result, value=answer.value, elapsed_ms=answer.elapsed_ms))

    async def _kept_answer(self, message: Message) -> Message:
        """Return an answer as the tape keeps it; where its media cannot be kept, a line says what they were."""
        try:
            return await kept_answer(message, blobs=blobs_of(self._tape.store))
        except Exception:  # noqa: BLE001 - the answer was paid for, and what else it says must not be lost
            _log.exception("The media that a model answered with could not be kept.")
        return (await without_media(message, blobs=None)).message

    async def _kept(self, result: ToolResult) -> ToolResult:
        """Return a result as the tape keeps it; where nobody can keep its media, a line says what they were."""
        try:
            return await kept_result(result, blobs=blobs_of(self._tape.store))
        except Exception:  # noqa: BLE001 - the tool has run, and what else it answered must not be lost
            _log.exception("The media that the tool %s returned could not be kept.", result.name)
        told = await without_media(Message(role="user", content=result.content), blobs=None)
        return replace(result, content=cast("Any", told.message.content))

    async def _note_failure(self, error: Exception, started: datetime) -> None:
        """Keep what is known of a step that failed; where that fails too, the first error is the one that is told."""
        turn = self._turn
        with anyio.CancelScope(shield=True):
            await self._steering.give_back()
            try:
                await self._recorder.failure(error, step=turn.step, model=turn.answers, max_tokens=turn.max_tokens, partial=turn.heard.partial, elapsed_ms=_since(started))
            except Exception as exc:  # noqa: BLE001 - whatever it is, it must not hide the error
                error.add_note(f"Nor could the failure be recorded: {exc}")

    async def _note_cancelled(self, started: datetime) -> None:
        """Keep what is known of a step that was cancelled; where that fails, it is logged, as nobody waits for it."""
        turn = self._turn
        with anyio.CancelScope(shield=True):
            await self._steering.give_back()
            try:
                await self._recorder.cancelled(step=turn.step, partial=turn.heard.partial, elapsed_ms=_since(started))
            except Exception:  # noqa: BLE001 - a store of the user's raises whatever it likes
                _log.exception("What a cancelled run had said could not be recorded.")


def _since(started: datetime) -> int:
    return int((clock.now() - started).total_seconds() * 1000)
