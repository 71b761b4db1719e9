"""Asking models by name, in both forms."""

# Written by `python -m scripts.twins` from the table there and from the source of the async names.

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from playhead.agent.given import Prompt
from playhead.llm.ask import Messages, Tools
from playhead.llm.client import Client
from playhead.llm.result import ToolAutoResult
from playhead.llm.stream import AsyncStreamEvents, AsyncTextStream
from playhead.llm.streams import StreamEvents, TextStream
from playhead.llm.tape import LLMTape
from playhead.model.protocol import Model as AsyncModel
from playhead.prompt.budget import Budget
from playhead.prompt.strategy import Strategy
from playhead.store.protocol import AsyncTapeStore, TapeStore
from playhead.store.protocol import WholeStore as AsyncWholeStore
from playhead.sync.model import Model
from playhead.sync.portal import given, wait
from playhead.sync.scope import entered
from playhead.sync.store import WholeStore
from playhead.view.context import TapeContext
from playhead.view.tokens import Counter


class LLM:
    """Asks models, and keeps on a tape what was said.

    `model` is a spec such as "openai:gpt-5-mini" (or with `provider`, what stands behind the colon), or a Model; `fallback_models` are
    asked in order where it fails before it said anything. `tape_store` keeps the tapes, by default in memory; it may be a URL, whose
    store is closed with this. `context` says how they are read, `strategy` and `budget` how prompts are compiled. `options` go to `get_model`, such as api_key and base_url.

    Each method is there in two forms, the async one with `_async` behind its name; both see the same tapes, over any store. A model's
    connections live as long as a call, or inside `with` or `async with` as long as the block.
    """

    asynchronous: Client

    def __init__(
        self,
        model: str | AsyncModel | Model,
        *,
        provider: str | None = None,
        fallback_models: Iterable[str | AsyncModel | Model] = (),
        tape_store: str | Path | TapeStore | AsyncTapeStore | AsyncWholeStore | WholeStore | None = None,
        context: TapeContext | None = None,
        strategy: Strategy | None = None,
        budget: Budget | None = None,
        counter: Counter | None = None,
        **options: Any,
    ) -> None:
        self.asynchronous = Client(
            given(model),
            provider=provider,
            fallback_models=given(fallback_models),
            tape_store=given(tape_store),
            context=context,
            strategy=strategy,
            budget=budget,
            counter=counter,
            **{name: given(option) for name, option in options.items()},
        )

    def __repr__(self) -> str:
        return repr(self.asynchronous)

    def __enter__(self) -> Self:
        entered(self.asynchronous)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        wait(self.asynchronous.__aexit__, kind, error, trace)

    async def __aenter__(self) -> Self:
        await self.asynchronous.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.asynchronous.__aexit__(kind, error, trace)

    @property
    def models(self) -> tuple[str | AsyncModel, ...]:
        """Who is asked, in order."""
        return self.asynchronous.models

    @property
    def store(self) -> WholeStore:
        """Where the tapes are kept."""
        return WholeStore(self.asynchronous.store)

    @property
    def strategy(self) -> Strategy | None:
        """How prompts are compiled."""
        return self.asynchronous.strategy

    @property
    def budget(self) -> Budget | None:
        """The budget of prompts, None for that of the model."""
        return self.asynchronous.budget

    def close(self) -> None:
        """Let go of the connections that a block has kept; the store stays open, unless it was opened by its URL."""
        wait(self.asynchronous.aclose)

    async def aclose(self) -> None:
        """Let go of the connections that a block has kept; the store stays open, unless it was opened by its URL."""
        await self.asynchronous.aclose()

    @property
    def model(self) -> str:
        """The model that is asked first, as its provider calls it."""
        return self.asynchronous.model

    @property
    def provider(self) -> str:
        """The provider of the model that is asked first."""
        return self.asynchronous.provider

    @property
    def context(self) -> TapeContext:
        """How tapes are read that have no context of their own. It may be set."""
        return self.asynchronous.context

    @context.setter
    def context(self, context: TapeContext | None) -> None:
        self.asynchronous.context = context

    def tape(self, name: str, *, context: TapeContext | None = None) -> LLMTape:
        """Return the conversation on a tape; nothing is written. `context` says how it is read, by default as the LLM does."""
        return LLMTape(self.asynchronous.tape(name, context=context))

    def chat(
        self,
        prompt: Prompt | None = None,
        *,
        system_prompt: str | None = None,
        model: str | AsyncModel | Model | None = None,
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
        return wait(
            self.asynchronous.chat,
            prompt,
            system_prompt=system_prompt,
            model=given(model),
            provider=provider,
            messages=messages,
            max_tokens=max_tokens,
            tape=tape,
            context=context,
            **{name: given(option) for name, option in options.items()},
        )

    async def chat_async(
        self,
        prompt: Prompt | None = None,
        *,
        system_prompt: str | None = None,
        model: str | AsyncModel | Model | None = None,
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
        return await self.asynchronous.chat(
            prompt,
            system_prompt=system_prompt,
            model=given(model),
            provider=provider,
            messages=messages,
            max_tokens=max_tokens,
            tape=tape,
            context=context,
            **{name: given(option) for name, option in options.items()},
        )

    def tool_calls(
        self,
        prompt: Prompt | None = None,
        *,
        system_prompt: str | None = None,
        model: str | AsyncModel | Model | None = None,
        provider: str | None = None,
        messages: Messages | None = None,
        max_tokens: int | None = None,
        tape: str | None = None,
        context: TapeContext | None = None,
        tools: Tools = (),
        **options: Any,
    ) -> list[dict[str, Any]]:
        """Ask, and return the calls of tools that the model asks for, in chat form; none is run. Otherwise as `chat`."""
        return wait(
            self.asynchronous.tool_calls,
            prompt,
            system_prompt=system_prompt,
            model=given(model),
            provider=provider,
            messages=messages,
            max_tokens=max_tokens,
            tape=tape,
            context=context,
            tools=tools,
            **{name: given(option) for name, option in options.items()},
        )

    async def tool_calls_async(
        self,
        prompt: Prompt | None = None,
        *,
        system_prompt: str | None = None,
        model: str | AsyncModel | Model | None = None,
        provider: str | None = None,
        messages: Messages | None = None,
        max_tokens: int | None = None,
        tape: str | None = None,
        context: TapeContext | None = None,
        tools: Tools = (),
        **options: Any,
    ) -> list[dict[str, Any]]:
        """Ask, and return the calls of tools that the model asks for, in chat form; none is run. Otherwise as `chat`."""
        return await self.asynchronous.tool_calls(
            prompt,
            system_prompt=system_prompt,
            model=given(model),
            provider=provider,
            messages=messages,
            max_tokens=max_tokens,
            tape=tape,
            context=context,
            tools=tools,
            **{name: given(option) for name, option in options.items()},
        )

    def run_tools(
        self,
        prompt: Prompt | None = None,
        *,
        system_prompt: str | None = None,
        model: str | AsyncModel | Model | None = None,
        provider: str | None = None,
        messages: Messages | None = None,
        max_tokens: int | None = None,
        tape: str | None = None,
        context: TapeContext | None = None,
        tools: Tools = (),
        **options: Any,
    ) -> ToolAutoResult:
        """Ask once, run the tools that the model asks for, and return what they came to; the model is not asked again. Otherwise as `chat`."""
        return wait(
            self.asynchronous.run_tools,
            prompt,
            system_prompt=system_prompt,
            model=given(model),
            provider=provider,
            messages=messages,
            max_tokens=max_tokens,
            tape=tape,
            context=context,
            tools=tools,
            **{name: given(option) for name, option in options.items()},
        )

    async def run_tools_async(
        self,
        prompt: Prompt | None = None,
        *,
        system_prompt: str | None = None,
        model: str | AsyncModel | Model | None = None,
        provider: str | None = None,
        messages: Messages | None = None,
        max_tokens: int | None = None,
        tape: str | None = None,
        context: TapeContext | None = None,
        tools: Tools = (),
        **options: Any,
    ) -> ToolAutoResult:
        """Ask once, run the tools that the model asks for, and return what they came to; the model is not asked again. Otherwise as `chat`."""
        return await self.asynchronous.run_tools(
            prompt,
            system_prompt=system_prompt,
            model=given(model),
            provider=provider,
            messages=messages,
            max_tokens=max_tokens,
            tape=tape,
            context=context,
            tools=tools,
            **{name: given(option) for name, option in options.items()},
        )

    def stream(
        self,
        prompt: Prompt | None = None,
        *,
        system_prompt: str | None = None,
        model: str | AsyncModel | Model | None = None,
        provider: str | None = None,
        messages: Messages | None = None,
        max_tokens: int | None = None,
        tape: str | None = None,
        context: TapeContext | None = None,
        **options: Any,
    ) -> TextStream:
        """Return the words of the answer as they come; the call is made, and kept, while they are iterated. Otherwise as `chat`."""
        return TextStream(
            wait(
                self.asynchronous.stream,
                prompt,
                system_prompt=system_prompt,
                model=given(model),
                provider=provider,
                messages=messages,
                max_tokens=max_tokens,
                tape=tape,
                context=context,
                **{name: given(option) for name, option in options.items()},
            )
        )

    async def stream_async(
        self,
        prompt: Prompt | None = None,
        *,
        system_prompt: str | None = None,
        model: str | AsyncModel | Model | None = None,
        provider: str | None = None,
        messages: Messages | None = None,
        max_tokens: int | None = None,
        tape: str | None = None,
        context: TapeContext | None = None,
        **options: Any,
    ) -> AsyncTextStream:
        """Return the words of the answer as they come; the call is made, and kept, while they are iterated. Otherwise as `chat`."""
        return await self.asynchronous.stream(
            prompt,
            system_prompt=system_prompt,
            model=given(model),
            provider=provider,
            messages=messages,
            max_tokens=max_tokens,
            tape=tape,
            context=context,
            **{name: given(option) for name, option in options.items()},
        )

    def stream_events(
        self,
        prompt: Prompt | None = None,
        *,
        system_prompt: str | None = None,
        model: str | AsyncModel | Model | None = None,
        provider: str | None = None,
        messages: Messages | None = None,
        max_tokens: int | None = None,
        tape: str | None = None,
        context: TapeContext | None = None,
        tools: Tools = (),
        **options: Any,
    ) -> StreamEvents:
        """Return all that happens in a call as it comes; tools are run where all of them can. Otherwise as `stream`."""
        return StreamEvents(
            wait(
                self.asynchronous.stream_events,
                prompt,
                system_prompt=system_prompt,
                model=given(model),
                provider=provider,
                messages=messages,
                max_tokens=max_tokens,
                tape=tape,
                context=context,
                tools=tools,
                **{name: given(option) for name, option in options.items()},
            )
        )

    async def stream_events_async(
        self,
        prompt: Prompt | None = None,
        *,
        system_prompt: str | None = None,
        model: str | AsyncModel | Model | None = None,
        provider: str | None = None,
        messages: Messages | None = None,
        max_tokens: int | None = None,
        tape: str | None = None,
        context: TapeContext | None = None,
        tools: Tools = (),
        **options: Any,
    ) -> AsyncStreamEvents:
        """Return all that happens in a call as it comes; tools are run where all of them can. Otherwise as `stream`."""
        return await self.asynchronous.stream_events(
            prompt,
            system_prompt=system_prompt,
            model=given(model),
            provider=provider,
            messages=messages,
            max_tokens=max_tokens,
            tape=tape,
            context=context,
            tools=tools,
            **{name: given(option) for name, option in options.items()},
        )
