"""Asking models by name, on a tape or without one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from playhead.agent.events import RunEvent
from playhead.agent.given import Prompt, checked_context, checked_model
from playhead.agent.opening import Opened
from playhead.agent.recording import InForce
from playhead.agent.stream import Emit, RunStream
from playhead.errors import ErrorKind, InvalidInput, LLMError
from playhead.llm.ask import Ask, Messages, Tools, ask_of
from playhead.llm.failures import told
from playhead.llm.handles import Handles
from playhead.llm.models import Models
from playhead.llm.result import ToolAutoResult, chat_calls, result_of
from playhead.llm.session import Session
from playhead.llm.stream import AsyncStreamEvents, AsyncTextStream
from playhead.llm.turn import Settled, Turn
from playhead.model.protocol import Model
from playhead.prompt.budget import Budget
from playhead.prompt.strategy import Strategy
from playhead.store.adapt import adapt
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.protocol import AsyncTapeStore, TapeStore, WholeStore
from playhead.store.urls import open_store
from playhead.tape.tape import Tape
from playhead.view.context import TapeContext, default_tape_context
from playhead.view.tokens import Counter

SCRATCH = "scratch"
"""The tape of a call without a tape; it is gone with the call."""


class Client:
    """Asks models, and keeps on a tape what was said.

    `model` is a spec such as "openai:gpt-5-mini" (or with `provider`, what stands behind the colon), or a Model; `fallback_models` are
    asked in order where it fails before it said anything. `tape_store` keeps the tapes, by default in memory; it may be a URL, whose
    store is closed with this. `context` says how they are read, `strategy` and `budget` how prompts are compiled. `options` go to `get_model`, such as api_key and base_url.

    A model's connections live as long as a call, or inside a block as long as that.
    """

    def __init__(
        self,
        model: str | Model,
        *,
        provider: str | None = None,
        fallback_models: Iterable[str | Model] = (),
        tape_store: str | Path | TapeStore | AsyncTapeStore | WholeStore | None = None,
        context: TapeContext | None = None,
        strategy: Strategy | None = None,
        budget: Budget | None = None,
        counter: Counter | None = None,
        **options: Any,
    ) -> None:
        try:
            others = (fallback_models,) if isinstance(fallback_models, str) else fallback_models
            self.models = (_named(model, provider), *(_named(one, None if isinstance(one, str) and ":" in one else provider) for one in others))
            self._context = _checked(context) or default_tape_context()
            self._owns_store = isinstance(tape_store, (str, Path))
            self.store = open_store(str(tape_store)) if isinstance(tape_store, (str, Path)) else adapt(InMemoryTapeStore() if tape_store is None else tape_store)
        except InvalidInput as exc:
            raise told(exc) from exc
        self.strategy = strategy
        self.budget = budget
        self._counter = counter
        self._models = Models(options)
        self._handles = Handles(self.handle)

    async def __aenter__(self) -> Self:
        self._models.keep()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"LLM({', '.join(_shown(model) for model in self.models)})"

    async def aclose(self) -> None:
        """Let go of the connections that a block has kept; the store stays open, unless it was opened by its URL."""
        try:
            await self._models.aclose()
        finally:
            if self._owns_store:
                await self.store.aclose()

    @property
    def model(self) -> str:
        """The model that is asked first, as its provider calls it."""
        return _shown(self.models[0]).partition(":")[2] or _shown(self.models[0])

    @property
    def provider(self) -> str:
        """The provider of the model that is asked first."""
        return _shown(self.models[0]).partition(":")[0]

    @property
    def context(self) -> TapeContext:
        """How tapes are read that have no context of their own. It may be set."""
        return self._context

    @context.setter
    def context(self, context: TapeContext | None) -> None:
        self._context = _checked(context) or default_tape_context()

    def tape(self, name: str, *, context: TapeContext | None = None) -> Session:
        """Return the conversation on a tape; nothing is written. `context` says how it is read, by default as the LLM does."""
        return Session(self, name, context=context)

    async def chat(
        self,
        prompt: Prompt | None = None,
        *,
        system_prompt: str | None = None,
        model: str | Model | None = None,
        provider: str | None = None,
        messages: Messages | None = None,
        max_tokens: int | None = None,
        tape: str | None = None,
        context: TapeContext | None = None,
        **options: Any,
    ) -> str:
        """Ask, and return the words of the answer; with `tape` behind what that shows, and kept there. Raises LLMError.

        `messages` are a whole conversation, in place of prompt, system prompt and tape. Of `options`, reasoning_effort and tool_choice
        are playhead's, all others go to the provider as they are.
        """
        ask = self._ask(prompt, messages=messages, system_prompt=system_prompt, tape=tape, model=model, provider=provider, max_tokens=max_tokens, options=options)
        return (await self._settled(ask, tape, context)).reply.text

    async def tool_calls(
        self,
        prompt: Prompt | None = None,
        *,
        system_prompt: str | None = None,
        model: str | Model | None = None,
        provider: str | None = None,
        messages: Messages | None = None,
        max_tokens: int | None = None,
        tape: str | None = None,
        context: TapeContext | None = None,
        tools: Tools = (),
        **options: Any,
    ) -> list[dict[str, Any]]:
        """Ask, and return the calls of tools that the model asks for, in chat form; none is run. Otherwise as `chat`."""
        ask = self._ask(prompt, messages=messages, system_prompt=system_prompt, tape=tape, model=model, provider=provider, max_tokens=max_tokens, tools=tools, options=options, needs="told")
        return chat_calls((await self._settled(ask, tape, context)).reply.calls)

    async def run_tools(
        self,
        prompt: Prompt | None = None,
        *,
        system_prompt: str | None = None,
        model: str | Model | None = None,
        provider: str | None = None,
        messages: Messages | None = None,
        max_tokens: int | None = None,
        tape: str | None = None,
        context: TapeContext | None = None,
        tools: Tools = (),
        **options: Any,
    ) -> ToolAutoResult:
        """Ask once, run the tools that the model asks for, and return what they came to; the model is not asked again. Otherwise as `chat`."""
        ask = self._ask(prompt, messages=messages, system_prompt=system_prompt, tape=tape, model=model, provider=provider, max_tokens=max_tokens, tools=tools, options=options, needs="run")
        return result_of(await self._settled(ask, tape, context))

    async def stream(
        self,
        prompt: Prompt | None = None,
        *,
        system_prompt: str | None = None,
        model: str | Model | None = None,
        provider: str | None = None,
        messages: Messages | None = None,
        max_tokens: int | None = None,
        tape: str | None = None,
        context: TapeContext | None = None,
        **options: Any,
    ) -> AsyncTextStream:
        """Return the words of the answer as they come; the call is made, and kept, while they are iterated. Otherwise as `chat`."""
        ask = self._ask(prompt, messages=messages, system_prompt=system_prompt, tape=tape, model=model, provider=provider, max_tokens=max_tokens, options=options)
        return AsyncTextStream(self._run(ask, tape, context))

    async def stream_events(
        self,
        prompt: Prompt | None = None,
        *,
        system_prompt: str | None = None,
        model: str | Model | None = None,
        provider: str | None = None,
        messages: Messages | None = None,
        max_tokens: int | None = None,
        tape: str | None = None,
        context: TapeContext | None = None,
        tools: Tools = (),
        **options: Any,
    ) -> AsyncStreamEvents:
        """Return all that happens in a call as it comes; tools are run where all of them can. Otherwise as `stream`."""
        ask = self._ask(prompt, messages=messages, system_prompt=system_prompt, tape=tape, model=model, provider=provider, max_tokens=max_tokens, tools=tools, options=options)
        return AsyncStreamEvents(self._run(ask, tape, context))

    def handle(self, name: str, *, context: TapeContext | None = None) -> Tape:
        """Return the handle of a tape. Raises LLMError for a name or a context that is none."""
        try:
            return Tape(self.store, name, context=_checked(context) or self._context, counter=self._counter)
        except InvalidInput as exc:
            raise told(exc) from exc

    def _ask(
        self,
        prompt: Prompt | None,
        *,
        messages: Messages | None,
        system_prompt: str | None,
        tape: str | None,
        model: str | Model | None,
        provider: str | None,
        max_tokens: int | None,
        options: Mapping[str, Any],
        tools: Tools = (),
        needs: str = "",
    ) -> Ask:
        models = self.models if model is None else (_named(model, provider),)
        ask = ask_of(prompt, messages=messages, system_prompt=system_prompt, on_tape=tape is not None, models=models, tools=tools, max_tokens=max_tokens, options=options)
        if needs and not ask.specs:
            raise LLMError(ErrorKind.INVALID_INPUT, "tools are required for this operation.")
        if needs == "run" and not ask.runs:
            raise LLMError(ErrorKind.INVALID_INPUT, "All tools must be runnable; give functions, or use tool_calls().")
        return replace(ask, runs=False) if needs == "told" else ask

    def _turn(self, ask: Ask, tape: str | None, context: TapeContext | None) -> tuple[Turn, Tape]:
        handle = Tape(InMemoryTapeStore(), SCRATCH) if tape is None else self._handles.get(tape).with_context(_checked(context) or self._context)
        return Turn(ask, tape=handle, models=self._models, strategy=self.strategy, budget=self.budget, conversation=tape), handle

    async def _settled(self, ask: Ask, tape: str | None, context: TapeContext | None) -> Settled:
        return await self._turn(ask, tape, context)[0](_unheard)

    def _run(self, ask: Ask, tape: str | None, context: TapeContext | None) -> RunStream:
        turn, handle = self._turn(ask, tape, context)

        async def open() -> Opened:
            return Opened(tape=handle, models=(), held=InForce())

        async def run(_: Opened, emit: Emit) -> None:
            await turn(emit)

        return RunStream(open=open, run=run)


async def _unheard(event: RunEvent) -> None:
    """Do nothing with an event."""


def _checked(context: TapeContext | None) -> TapeContext | None:
    try:
        return checked_context(context)
    except InvalidInput as exc:
        raise told(exc) from exc


def _named(model: str | Model, provider: str | None) -> str | Model:
    """Return a model, given by a spec, or by its name beside its provider. Raises LLMError for what is none."""
    if not model:
        raise LLMError(ErrorKind.INVALID_INPUT, "Name a model, such as LLM('openai:gpt-5-mini').")
    try:
        found = checked_model(model)
    except InvalidInput as exc:
        raise told(exc) from exc
    return f"{provider}:{found}" if provider and isinstance(found, str) and not found.startswith(f"{provider}:") else found


def _shown(model: str | Model) -> str:
    return model if isinstance(model, str) else model.name
