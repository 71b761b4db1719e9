"""What one call leaves on its tape, in the order in which it is read back."""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from playhead import clock
from playhead.agent.media import kept_answer, kept_result, without_media
from playhead.agent.overflow import rejoin
from playhead.entry.entry import SYSTEM, TapeEntry
from playhead.entry.message import Message, ToolResult, assistant
from playhead.entry.payload import message_to_entries
from playhead.errors import LLMError
from playhead.model.protocol import Reply, Usage
from playhead.store.blobs import BlobStore, blobs_of
from playhead.tape.record import chat_entries
from playhead.tape.tape import Tape

CANCELLED = "cancelled"
"""How a call ended that was ended before its answer was whole."""


class Record:
    """Keeps what one call was and gave, all with the same `run_id`.

    What fails before a model is asked is kept as an error, without the question; a failure or a cancellation behind it with the
    question and the words that had come. A turn that asks for tools is kept before they run, each result when its tool has ended.
    A system prompt is kept where it is not the newest that stands there.
    """

    def __init__(self, tape: Tape, *, question: Sequence[Message], system_prompt: str) -> None:
        self.run_id = clock.new_uid()
        self._tape = tape
        self._question = tuple(question)
        self._system_prompt = system_prompt
        self._asked: tuple[TapeEntry, ...] = ()
        self._round: list[TapeEntry] = []

    @property
    def blobs(self) -> BlobStore | None:
        """Where media are kept, None where the store keeps none."""
        return blobs_of(self._tape.store)

    async def unasked(self, error: LLMError, *, model: str) -> None:
        """Keep that nobody was asked, and why."""
        with anyio.CancelScope(shield=True):
            provider, name = _named(model)
            await self._tape.append_many(chat_entries(run_id=self.run_id, system_prompt=await self._new_system_prompt(), context_error=error, provider=provider, model=name))

    async def broken(self, *, model: str, partial: str, error: LLMError | None = None) -> None:
        """Keep that no whole answer came: because of an error, or because the call was ended."""
        with anyio.CancelScope(shield=True):
            said = message_to_entries(assistant(partial), partial=True) if partial else ()
            await self._keep(said, error=error, model=model, status=None if error is not None else CANCELLED)

    async def answer(self, reply: Reply, *, model: str) -> None:
        """Keep a whole answer, and with it the call's end."""
        with anyio.CancelScope(shield=True):
            await self._keep(await self._turn(reply), usage=reply.usage, model=model)

    async def calls(self, reply: Reply, *, model: str) -> None:
        """Keep an answer that asks for tools, before they run."""
        with anyio.CancelScope(shield=True):
            turn = await self._turn(reply)
            stored = await self._keep(turn, model=model, ends=False)
            self._asked, self._round = stored[: -len(turn)], list(stored[-len(turn) :])

    async def result(self, result: ToolResult) -> None:
        """Keep what a tool has answered."""
        with anyio.CancelScope(shield=True):
            kept = await kept_result(result, blobs=self.blobs)
            self._round += await self._tape.append_many(message_to_entries(Message(role="tool", content=(kept,)), run_id=self.run_id))

    async def end(self, *, model: str, usage: Usage | None, status: str | None = None, error: LLMError | None = None) -> None:
        """Keep the end of a call whose tools have run; where one of them has handed off, the round is said again behind it."""
        with anyio.CancelScope(shield=True):
            await rejoin(self._tape, self._round, asked=self._asked)
            provider, name = _named(model)
            await self._tape.append_many(chat_entries(run_id=self.run_id, error=error, usage=_facts(usage), provider=provider, model=name, status=status))

    async def _turn(self, reply: Reply) -> tuple[TapeEntry, ...]:
        return message_to_entries(await kept_answer(reply.message, blobs=self.blobs), stop=reply.stop)

    async def _keep(self, said: Sequence[TapeEntry], *, model: str, usage: Usage | None = None, error: LLMError | None = None, status: str | None = None, ends: bool = True) -> tuple[TapeEntry, ...]:
        """Keep the question, what was said, and where the call `ends` with it the event that tells so; a tape without an anchor is given its first one before."""
        await self._tape.bootstrap()
        question = [(await without_media(message, blobs=self.blobs)).message for message in self._question]
        provider, name = _named(model)
        entries = chat_entries(
            run_id=self.run_id,
            system_prompt=await self._new_system_prompt(),
            new_messages=[*question, *said],
            error=error,
            usage=_facts(usage),
            provider=provider,
            model=name,
            status=status,
        )
        return await self._tape.append_many(entries if ends else entries[:-1])

    async def _new_system_prompt(self) -> str | None:
        """Return the system prompt where it is not in force already."""
        if not self._system_prompt:
            return None
        newest = await self._tape.query().kinds(SYSTEM).newest_first().limit(1).all()
        return None if newest and newest[0].payload.get("content") == self._system_prompt else self._system_prompt


def _facts(usage: Usage | None) -> dict[str, object] | None:
    return None if usage is None else usage.facts()


def _named(model: str) -> tuple[str | None, str | None]:
    """Return provider and model of a name such as `openai:gpt-5-mini`."""
    provider, _, id = model.partition(":")
    return provider or None, id or provider or None
