"""A conversation on one tape, in both forms."""

# Written by `python -m scripts.twins` from the table there and from the source of the async names.

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playhead.agent.given import Prompt
from playhead.entry.entry import TapeEntry
from playhead.entry.message import Message
from playhead.llm.ask import Messages, Tools
from playhead.llm.query import Query
from playhead.llm.result import ToolAutoResult
from playhead.llm.session import Session
from playhead.llm.stream import AsyncStreamEvents, AsyncTextStream
from playhead.llm.streams import StreamEvents, TextStream
from playhead.model.protocol import Model as AsyncModel
from playhead.store.protocol import Head
from playhead.store.query import TapeQuery as AsyncTapeQuery
from playhead.sync.model import Model
from playhead.sync.portal import given, wait
from playhead.sync.tape import Tape
from playhead.tape.summary import TapeInfo
from playhead.tape.tape import Tape as AsyncTape
from playhead.view.context import TapeContext


class LLMTape:
    """One tape of an LLM: what is asked here goes behind what it shows, and is kept on it.

    Each method is there in two forms, the async one with `_async` behind its name; both see the same tape.
    """

    asynchronous: Session

    def __init__(self, asynchronous: Session) -> None:
        self.asynchronous = asynchronous

    def __repr__(self) -> str:
        return repr(self.asynchronous)

    @property
    def name(self) -> str:
        """The tape's name."""
        return self.asynchronous.name

    @property
    def context(self) -> TapeContext:
        """How the tape is read: its own context where it was given one, else that of the LLM. It may be set, None for the latter."""
        return self.asynchronous.context

    @context.setter
    def context(self, context: TapeContext | None) -> None:
        self.asynchronous.context = context

    @property
    def handle(self) -> Tape:
        """The handle of the tape, with all that a tape can do."""
        return Tape.of(self.asynchronous.handle)

    @property
    def handle_async(self) -> AsyncTape:
        """The handle of the tape, with all that a tape can do."""
        return self.asynchronous.handle

    @property
    def query(self) -> Query:
        """The query for all entries, to narrow by chaining."""
        return Query(self.asynchronous.query)

    @property
    def query_async(self) -> AsyncTapeQuery:
        """The query for all entries, to narrow by chaining."""
        return self.asynchronous.query

    def chat(
        self,
        prompt: Prompt | None = None,
        *,
        system_prompt: str | None = None,
        model: str | AsyncModel | Model | None = None,
        provider: str | None = None,
        messages: Messages | None = None,
        max_tokens: int | None = None,
        context: TapeContext | None = None,
        **options: Any,
    ) -> str:
        """Ask, and return the words of the answer; `context` says how the tape is read for this call alone. Raises LLMError."""
        return wait(
            self.asynchronous.chat,
            prompt,
            system_prompt=system_prompt,
            model=given(model),
            provider=provider,
            messages=messages,
            max_tokens=max_tokens,
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
        context: TapeContext | None = None,
        **options: Any,
    ) -> str:
        """Ask, and return the words of the answer; `context` says how the tape is read for this call alone. Raises LLMError."""
        return await self.asynchronous.chat(
            prompt,
            system_prompt=system_prompt,
            model=given(model),
            provider=provider,
            messages=messages,
            max_tokens=max_tokens,
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
        context: TapeContext | None = None,
        tools: Tools = (),
        **options: Any,
    ) -> list[dict[str, Any]]:
        """Ask, and return the calls of tools that the model asks for, in chat form; none is run."""
        return wait(
            self.asynchronous.tool_calls,
            prompt,
            system_prompt=system_prompt,
            model=given(model),
            provider=provider,
            messages=messages,
            max_tokens=max_tokens,
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
        context: TapeContext | None = None,
        tools: Tools = (),
        **options: Any,
    ) -> list[dict[str, Any]]:
        """Ask, and return the calls of tools that the model asks for, in chat form; none is run."""
        return await self.asynchronous.tool_calls(
            prompt,
            system_prompt=system_prompt,
            model=given(model),
            provider=provider,
            messages=messages,
            max_tokens=max_tokens,
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
        context: TapeContext | None = None,
        tools: Tools = (),
        **options: Any,
    ) -> ToolAutoResult:
        """Ask once, run the tools that the model asks for, and return what they came to; the model is not asked again."""
        return wait(
            self.asynchronous.run_tools,
            prompt,
            system_prompt=system_prompt,
            model=given(model),
            provider=provider,
            messages=messages,
            max_tokens=max_tokens,
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
        context: TapeContext | None = None,
        tools: Tools = (),
        **options: Any,
    ) -> ToolAutoResult:
        """Ask once, run the tools that the model asks for, and return what they came to; the model is not asked again."""
        return await self.asynchronous.run_tools(
            prompt,
            system_prompt=system_prompt,
            model=given(model),
            provider=provider,
            messages=messages,
            max_tokens=max_tokens,
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
        context: TapeContext | None = None,
        **options: Any,
    ) -> TextStream:
        """Return the words of the answer as they come; the call is made, and kept, while they are iterated."""
        return TextStream(
            wait(
                self.asynchronous.stream,
                prompt,
                system_prompt=system_prompt,
                model=given(model),
                provider=provider,
                messages=messages,
                max_tokens=max_tokens,
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
        context: TapeContext | None = None,
        **options: Any,
    ) -> AsyncTextStream:
        """Return the words of the answer as they come; the call is made, and kept, while they are iterated."""
        return await self.asynchronous.stream(
            prompt,
            system_prompt=system_prompt,
            model=given(model),
            provider=provider,
            messages=messages,
            max_tokens=max_tokens,
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
        context: TapeContext | None = None,
        tools: Tools = (),
        **options: Any,
    ) -> StreamEvents:
        """Return all that happens in a call as it comes; tools are run where all of them can."""
        return StreamEvents(
            wait(
                self.asynchronous.stream_events,
                prompt,
                system_prompt=system_prompt,
                model=given(model),
                provider=provider,
                messages=messages,
                max_tokens=max_tokens,
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
        context: TapeContext | None = None,
        tools: Tools = (),
        **options: Any,
    ) -> AsyncStreamEvents:
        """Return all that happens in a call as it comes; tools are run where all of them can."""
        return await self.asynchronous.stream_events(
            prompt,
            system_prompt=system_prompt,
            model=given(model),
            provider=provider,
            messages=messages,
            max_tokens=max_tokens,
            context=context,
            tools=tools,
            **{name: given(option) for name, option in options.items()},
        )

    def read_messages(self, *, context: TapeContext | None = None) -> list[Message]:
        """Return the messages of the view. Raises NoAnchors where it starts behind the newest anchor and there is none."""
        return wait(self.asynchronous.read_messages, context=context)

    async def read_messages_async(self, *, context: TapeContext | None = None) -> list[Message]:
        """Return the messages of the view. Raises NoAnchors where it starts behind the newest anchor and there is none."""
        return await self.asynchronous.read_messages(context=context)

    def append(self, item: Message | TapeEntry, *, expected_head: Head | None = None, key: str | None = None, **meta: object) -> TapeEntry:
        """Keep one message or entry at the end of the tape and return it as stored, with its id."""
        return wait(self.asynchronous.append, item, expected_head=expected_head, key=key, **meta)

    async def append_async(self, item: Message | TapeEntry, *, expected_head: Head | None = None, key: str | None = None, **meta: object) -> TapeEntry:
        """Keep one message or entry at the end of the tape and return it as stored, with its id."""
        return await self.asynchronous.append(item, expected_head=expected_head, key=key, **meta)

    def handoff(self, name: str, state: Mapping[str, object] | None = None, *, key: str | None = None, **meta: object) -> tuple[TapeEntry, TapeEntry]:
        """Start a new phase: keep an anchor with the state that the next phase inherits, and the event beside it."""
        return wait(self.asynchronous.handoff, name, state, key=key, **meta)

    async def handoff_async(self, name: str, state: Mapping[str, object] | None = None, *, key: str | None = None, **meta: object) -> tuple[TapeEntry, TapeEntry]:
        """Start a new phase: keep an anchor with the state that the next phase inherits, and the event beside it."""
        return await self.asynchronous.handoff(name, state, key=key, **meta)

    def reset(self) -> str:
        """Remove all entries and start anew."""
        return wait(self.asynchronous.reset)

    async def reset_async(self) -> str:
        """Remove all entries and start anew."""
        return await self.asynchronous.reset()

    def info(self) -> TapeInfo:
        """Return what the tape holds; costs the same for any length."""
        return wait(self.asynchronous.info)

    async def info_async(self) -> TapeInfo:
        """Return what the tape holds; costs the same for any length."""
        return await self.asynchronous.info()
