"""A conversation on one tape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from playhead.agent.given import Prompt
from playhead.entry.entry import TapeEntry
from playhead.entry.message import Message
from playhead.llm.ask import Messages, Tools
from playhead.llm.result import ToolAutoResult
from playhead.llm.stream import AsyncStreamEvents, AsyncTextStream
from playhead.model.protocol import Model
from playhead.store.protocol import Head
from playhead.store.query import TapeQuery
from playhead.tape.summary import TapeInfo
from playhead.tape.tape import Tape
from playhead.view.context import TapeContext

if TYPE_CHECKING:
    from playhead.llm.client import Client


class Session:
    """One tape of an LLM: what is asked here goes behind what it shows, and is kept on it. Its name and its context may be read."""

    def __init__(self, llm: Client, name: str, *, context: TapeContext | None = None) -> None:
        self._llm = llm
        self._context = context
        self._name = llm.handle(name, context=context).name

    def __repr__(self) -> str:
        return f"LLMTape({self._name!r})"

    @property
    def name(self) -> str:
        """The tape's name."""
        return self._name

    @property
    def context(self) -> TapeContext:
        """How the tape is read: its own context where it was given one, else that of the LLM. It may be set, None for the latter."""
        return self._context or self._llm.context

    @context.setter
    def context(self, context: TapeContext | None) -> None:
        self._context = context

    @property
    def handle(self) -> Tape:
        """The handle of the tape, with all that a tape can do."""
        return self._llm.handle(self._name, context=self.context)

    @property
    def query(self) -> TapeQuery:
        """The query for all entries, to narrow by chaining."""
        return self.handle.query()

    async def chat(
        self,
        prompt: Prompt | None = None,
        *,
        system_prompt: str | None = None,
        model: str | Model | None = None,
        provider: str | None = None,
        messages: Messages | None = None,
        max_tokens: int | None = None,
        context: TapeContext | None = None,
        **options: Any,
    ) -> str:
        """Ask, and return the words of the answer; `context` says how the tape is read for this call alone. Raises LLMError."""
        return await self._llm.chat(
            prompt, system_prompt=system_prompt, model=model, provider=provider, messages=messages, max_tokens=max_tokens, context=context or self.context, tape=self._name, **options
        )

    async def tool_calls(
        self,
        prompt: Prompt | None = None,
        *,
        system_prompt: str | None = None,
        model: str | Model | None = None,
        provider: str | None = None,
        messages: Messages | None = None,
        max_tokens: int | None = None,
        context: TapeContext | None = None,
        tools: Tools = (),
        **options: Any,
    ) -> list[dict[str, Any]]:
        """Ask, and return the calls of tools that the model asks for, in chat form; none is run."""
        return await self._llm.tool_calls(
            prompt, system_prompt=system_prompt, model=model, provider=provider, messages=messages, max_tokens=max_tokens, context=context or self.context, tools=tools, tape=self._name, **options
        )

    async def run_tools(
        self,
        prompt: Prompt | None = None,
        *,
        system_prompt: str | None = None,
        model: str | Model | None = None,
        provider: str | None = None,
        messages: Messages | None = None,
        max_tokens: int | None = None,
        context: TapeContext | None = None,
        tools: Tools = (),
        **options: Any,
    ) -> ToolAutoResult:
        """Ask once, run the tools that the model asks for, and return what they came to; the model is not asked again."""
        return await self._llm.run_tools(
            prompt, system_prompt=system_prompt, model=model, provider=provider, messages=messages, max_tokens=max_tokens, context=context or self.context, tools=tools, tape=self._name, **options
        )

    async def stream(
        self,
        prompt: Prompt | None = None,
        *,
        system_prompt: str | None = None,
        model: str | Model | None = None,
        provider: str | None = None,
        messages: Messages | None = None,
        max_tokens: int | None = None,
        context: TapeContext | None = None,
        **options: Any,
    ) -> AsyncTextStream:
        """Return the words of the answer as they come; the call is made, and kept, while they are iterated."""
        return await self._llm.stream(
            prompt, system_prompt=system_prompt, model=model, provider=provider, messages=messages, max_tokens=max_tokens, context=context or self.context, tape=self._name, **options
        )

    async def stream_events(
        self,
        prompt: Prompt | None = None,
        *,
        system_prompt: str | None = None,
        model: str | Model | None = None,
        provider: str | None = None,
        messages: Messages | None = None,
        max_tokens: int | None = None,
        context: TapeContext | None = None,
        tools: Tools = (),
        **options: Any,
    ) -> AsyncStreamEvents:
        """Return all that happens in a call as it comes; tools are run where all of them can."""
        return await self._llm.stream_events(
            prompt, system_prompt=system_prompt, model=model, provider=provider, messages=messages, max_tokens=max_tokens, context=context or self.context, tools=tools, tape=self._name, **options
        )

    async def read_messages(self, *, context: TapeContext | None = None) -> list[Message]:
        """Return the messages of the view. Raises NoAnchors where it starts behind the newest anchor and there is none."""
        return await self._llm.handle(self._name, context=context or self.context).read_messages()

    async def append(self, item: Message | TapeEntry, *, expected_head: Head | None = None, key: str | None = None, **meta: object) -> TapeEntry:
        """Keep one message or entry at the end of the tape and return it as stored, with its id."""
        return await self.handle.append(item, expected_head=expected_head, key=key, **meta)

    async def handoff(self, name: str, state: Mapping[str, object] | None = None, *, key: str | None = None, **meta: object) -> tuple[TapeEntry, TapeEntry]:
        """Start a new phase: keep an anchor with the state that the next phase inherits, and the event beside it."""
        return await self.handle.handoff(name, state, key=key, **meta)

    async def reset(self) -> str:
        """Remove all entries and start anew."""
        return await self.handle.reset()

    async def info(self) -> TapeInfo:
        """Return what the tape holds; costs the same for any length."""
        return await self.handle.info()
