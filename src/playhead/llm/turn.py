"""One call of a model: what the tape shows and the prompt, the answer, and the tools that it asks for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import anyio

from playhead.agent.calling import Answer, answered
from playhead.agent.events import ErrorEvent, FinalEvent, ToolCallEvent, ToolResultEvent, UsageEvent
from playhead.agent.heard import Heard
from playhead.agent.hooks import Hooks
from playhead.agent.request import budget_for, compiled, request_of
from playhead.agent.stream import Emit
from playhead.agent.tools import ToolContext
from playhead.entry.message import ToolCall
from playhead.errors import LLMError, ModelError
from playhead.llm.ask import Ask
from playhead.llm.failures import told
from playhead.llm.models import Models
from playhead.llm.record import CANCELLED, Record
from playhead.model.protocol import Model, ModelRequest, Reply
from playhead.prompt.budget import Budget
from playhead.prompt.strategy import Strategy
from playhead.tape.tape import Tape
from playhead.tracing import span


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What came of a call: the answer, and what the tools that it asked for have answered, in its order."""

    reply: Reply
    answers: tuple[Answer, ...] = ()


class Turn:
    """Makes one call: called with what to do with events, it returns when all is kept. Raises LLMError.

    `conversation` is the tape that it is kept on, None where it is kept on none.
    """

    def __init__(self, ask: Ask, *, tape: Tape, models: Models, strategy: Strategy | None, budget: Budget | None, conversation: str | None) -> None:
        self._ask = ask
        self._conversation = conversation
        self._tape = tape
        self._models = models
        self._strategy = strategy
        self._budget = budget
        self._record = Record(tape, question=ask.messages if ask.prompt is None else (ask.prompt,), system_prompt=ask.system_prompt)
        self._heard = Heard()
        self._answers = ""
        self._is_kept = False

    async def __call__(self, emit: Emit) -> Settled:
        """Make the call."""
        try:
            reply = await self._reply(emit)
            answers = await self._carried_out(reply, emit)
        except anyio.get_cancelled_exc_class():
            if self._answers and not self._is_kept:
                await self._record.broken(model=self._answers, partial=self._heard.text)
            raise
        except Exception as exc:
            error = told(exc)
            if not self._is_kept:
                await self._note(error)
            await emit(ErrorEvent(error=error))
            if error is exc:
                raise
            raise error from exc
        if reply.usage is not None:
            await emit(UsageEvent(usage=reply.usage))
        await emit(FinalEvent(text=reply.text, stop=reply.stop))
        return Settled(reply=reply, answers=answers)

    async def _note(self, error: LLMError) -> None:
        """Keep a failure; where that fails too, the first error is the one that is told."""
        try:
            if self._answers:
                await self._record.broken(model=self._answers, partial=self._heard.text, error=error)
            else:
                await self._record.unasked(error, model=spec if isinstance(spec := self._ask.models[0], str) else spec.name)
        except Exception as exc:  # noqa: BLE001 - whatever it is, it must not hide the error
            error.add_note(f"Nor could the failure be recorded: {exc}")

    async def _reply(self, emit: Emit) -> Reply:
        """Ask the models in order until one answers. Raises what the first one raised where none does."""
        first: ModelError | None = None
        for spec in self._ask.models:
            try:
                async with self._models.open(spec) as model:
                    request = await self._request(model)
                    self._answers, self._heard = model.name, Heard()
                    return await self._streamed(model, request, emit)
            except ModelError as exc:
                first = first or exc
                if self._heard.text:
                    raise
            except LLMError:  # a fallback that cannot be had is passed over
                if first is None:
                    raise
        raise first or ModelError("Nobody was asked; give LLM(...) a model.")

    async def _request(self, model: Model) -> ModelRequest:
        """Return what the model is asked: what the tape shows, then the prompt; or the conversation as it was given."""
        ask = self._ask
        if ask.prompt is None:
            request = ModelRequest(messages=ask.messages, tools=ask.specs, reasoning_effort=ask.reasoning_effort)
        else:
            shown = await compiled(self._tape, model=model, budget=self._budget, strategy=self._strategy, system_prompt=ask.system_prompt, tools=ask.specs, tail=ask.prompt.text)
            room = None if self._budget is None else budget_for(model, self._budget)
            request = await request_of(shown, tools=ask.specs, budget=room, originals={}, blobs=self._record.blobs, tail="", reasoning_effort=ask.reasoning_effort)
            request = replace(request, messages=(*request.messages, ask.prompt))
        return replace(request, max_tokens=ask.max_tokens or request.max_tokens, tool_choice=ask.tool_choice, extra=ask.extra)

    async def _streamed(self, model: Model, request: ModelRequest, emit: Emit) -> Reply:
        """Ask one model and tell its words as they come."""
        with span("chat", tape=self._conversation, run_id=self._record.run_id, model=model.name, request=request) as traced:
            return await self._heard.answer_of(model, request, told=traced, emit=emit)

    async def _carried_out(self, reply: Reply, emit: Emit) -> tuple[Answer, ...]:
        """Keep the answer, and run the tools that it asks for where the call runs tools; return what they have answered."""
        for call in reply.calls:
            await emit(ToolCallEvent(call=call))
        if not (reply.calls and self._ask.runs):
            await self._record.answer(reply, model=self._answers)
            self._is_kept = True
            return ()
        await self._record.calls(reply, model=self._answers)
        self._is_kept = True
        status: str | None = CANCELLED
        error: LLMError | None = None
        answers: dict[str, Answer] = {}
        try:
            async with anyio.create_task_group() as tasks:
                for call in reply.calls:
                    tasks.start_soon(self._run_tool, call, reply.problems.get(call.id), answers, emit)
            status = None
        except ExceptionGroup as group:
            status, error = None, told(group.exceptions[0])
            raise error from group.exceptions[0]
        finally:
            await self._record.end(model=self._answers, usage=reply.usage, status=status, error=error)
        return tuple(answers[call.id] for call in reply.calls)

    async def _run_tool(self, call: ToolCall, problem: str | None, answers: dict[str, Any], emit: Emit) -> None:
        context = ToolContext(tape=self._tape, state=self._tape.context.state, run_id=self._record.run_id, call_id=call.id, name=call.name)
        with span("tool", tape=self._conversation, run_id=self._record.run_id, name=call.name, call=call) as traced:
            answer = await answered(call, problem=problem, toolbox=self._ask.tools, context=context, hooks=Hooks())
            traced.add(answer=answer)
        answers[call.id] = answer
        await self._record.result(answer.result)
        await emit(ToolResultEvent(call=call, result=answer.result, value=answer.value, elapsed_ms=answer.elapsed_ms))
