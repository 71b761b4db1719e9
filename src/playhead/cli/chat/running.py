"""The command that asks once: for scripts, and for a quick question."""

from __future__ import annotations

import logging
from argparse import Namespace
from collections.abc import Coroutine, Iterable, Sequence

from playhead.agent.events import FinalEvent, RunEvent, TextEvent
from playhead.agent.recording import CANCELLED
from playhead.agent.tools import ToolContext
from playhead.cli.chat.approvals import Approvals
from playhead.cli.chat.interrupts import interrupts
from playhead.cli.chat.talk import opened_talk
from playhead.cli.failures import FAILED, INTERRUPTED
from playhead.cli.output import Output
from playhead.cli.writing import STDIN, stdin_text
from playhead.entry.entry import MESSAGE, TOOL_CALL, TapeEntry
from playhead.entry.frozen import thaw
from playhead.entry.lines import entry_to_json
from playhead.entry.message import ToolCall
from playhead.entry.payload import message_from_payload, turn_from_payload
from playhead.errors import InvalidInput


def run(args: Namespace, out: Output) -> Coroutine[object, object, int]:
    """Ask a model once; its words go to standard output as they come."""
    prompt = stdin_text().removesuffix("\n").removesuffix("\r") if args.prompt == STDIN else args.prompt
    if not prompt.strip():
        raise InvalidInput("Nothing is asked: give PROMPT some words, or - and something on standard input.")
    return _run(prompt, args, out)


async def _run(prompt: str, args: Namespace, out: Output) -> int:
    logging.getLogger("playhead").addHandler(logging.NullHandler())
    told = Told(out, Approvals(approves_all=args.yes))
    async with opened_talk(args, approve=told.approve) as talk:
        stream = talk.agent.run(prompt, model=talk.answerer.model, tape=talk.name)

        def stop() -> None:
            told.is_interrupted = True
            stream.cancel()

        try:
            async with interrupts(stop), stream:
                if not told.is_interrupted:
                    async for event in stream:
                        told.take(event)
        finally:
            told.end()
        report = stream.report
        if out.as_json:
            entries = () if report is None else report.entries
            is_cut = told.is_interrupted and not told.is_answered
            said = {"text": last_words(entries), "stop": CANCELLED} if is_cut else {"text": told.text, "stop": told.stop}
            facts = {**said, "usage": stream.usage.facts(), "refused": told.refused, "entries": [entry_to_json(entry) for entry in entries]}
            out.json({"tape": talk.name, "model": talk.answerer.spec, "run_id": run_id(entries), **facts})
    if told.is_interrupted:
        return INTERRUPTED
    return 0 if told.is_answered else FAILED


class Told:
    """What a run told of: its words are printed as they come, which calls were refused is noted beside them, and the last answer is kept."""

    def __init__(self, out: Output, approvals: Approvals) -> None:
        self.text = ""
        self.stop = "end"
        self.is_answered = False
        self.is_interrupted = False
        self.refused: list[dict[str, object]] = []
        self._approvals = approvals
        self._out = out
        self._is_open = False

    def take(self, event: RunEvent) -> None:
        """Take what a run tells."""
        match event:
            case TextEvent(delta=delta):
                self._print(delta)
            case FinalEvent(text=text, stop=stop, ok=ok, last=last):
                self.text, self.stop, self.is_answered = text, stop, ok and last
                self.end()

    async def approve(self, call: ToolCall, context: ToolContext) -> bool | str:
        """Return whether a call may run, or why it may not; that is said to whoever asked, too."""
        decision = await self._approvals(call, context)
        if decision is not True:
            self.refused.append({"name": context.name, "arguments": thaw(call.arguments), "why": decision})
            if not self._out.as_json:
                self.end()
                self._out.warn(f"{context.name} was not run: {decision}.")
        return decision

    def end(self) -> None:
        """End the line that is open."""
        if self._is_open:
            self._print("\n")

    def _print(self, words: str) -> None:
        if words and not self._out.as_json:
            self._out.words(words)
            self._is_open = not words.endswith("\n")


def last_words(entries: Sequence[TapeEntry]) -> str:
    """Return what a model said last, also where it was cut short; "" where it said nothing."""
    turns = (turn_from_payload(entry.payload) if entry.kind == TOOL_CALL else message_from_payload(entry.payload) for entry in reversed(entries) if entry.kind in (MESSAGE, TOOL_CALL))
    return next((turn.text for turn in turns if turn is not None and turn.role == "assistant" and turn.text), "")


def run_id(entries: Iterable[TapeEntry]) -> str | None:
    """Return the id of the run that entries are of."""
    return next((str(entry.meta["run_id"]) for entry in entries if "run_id" in entry.meta), None)
