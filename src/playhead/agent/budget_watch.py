"""The budget watcher: a plug-in that has the model hand off before its context is full, and does so itself where the model will not."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from hashlib import sha256
from typing import Any, cast

from playhead.agent.decisions import RunFacts
from playhead.agent.retelling import retold
from playhead.entry import codec
from playhead.entry.entry import EVENT
from playhead.entry.frozen import thaw
from playhead.entry.message import Message, Text, system, user
from playhead.entry.payload import part_to_json
from playhead.errors import InvalidInput
from playhead.model.protocol import ModelRequest, Reply, ToolSpec
from playhead.store.family import kin_of
from playhead.tape.record import handoff_entries
from playhead.view.calibration import counter_for
from playhead.view.exact import ENCODINGS, Encoding, ExactCounter
from playhead.view.tokens import Counter, message_tokens, value_tokens

PREFIX = "PLAYHEAD_CONTEXT_BUDGET_"
SIDECAR = "context-budget"
MARKER = "[playhead:context-budget]"
STATE = "context_budget"
ANCHOR = "auto_handoff/context_budget"
RESERVE = 16_384
"""The tokens kept free for the answer and for the handoff itself; of a small context at most a quarter."""

_HANDOFF = ("tape_handoff", "tape.handoff")
_RETOLD = 10
"""The part of the context, one in so many, that a handoff of the watcher's own may fill."""

_log = logging.getLogger("playhead")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextBudget:
    """How full a context may get: a model's whole context in tokens, and after how many ignored requests the watcher hands off itself.

    `encoding_name` is what tokens are counted with, None for the best counter for the model that is asked. `compact_after` 0 is never.
    """

    max_context_tokens: int = 200_000
    encoding_name: Encoding | None = None
    compact_after: int = 3

    def __post_init__(self) -> None:
        for name, lowest in (("max_context_tokens", 1), ("compact_after", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < lowest:
                raise InvalidInput(f"{name} is a whole number from {lowest}, not {value!r}; as an environment variable it is {PREFIX}{name.upper()}.")
        if self.encoding_name not in (None, *ENCODINGS):
            raise InvalidInput(f"encoding_name is one of {', '.join(ENCODINGS)}, not {self.encoding_name!r}; as an environment variable it is {PREFIX}ENCODING_NAME.")

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> ContextBudget:
        """Return the settings that variables such as `PLAYHEAD_CONTEXT_BUDGET_MAX_CONTEXT_TOKENS` give, the usual ones where they are absent."""
        given = os.environ if environ is None else environ
        texts = {field.name: text for field in fields(cls) if (text := given.get(PREFIX + field.name.upper(), "").strip())}
        return cls(**{name: text if name == "encoding_name" else _whole(text) for name, text in texts.items()})  # type: ignore[arg-type]

    def threshold(self, limit: int | None = None) -> int:
        """Return how many tokens a request may have before the model is told to hand off, for a model with that context limit."""
        whole = self.max_context_tokens if limit is None else min(limit, self.max_context_tokens)
        return whole - min(RESERVE, whole // 4)


class BudgetWatcher:
    """A plug-in that estimates each request, and above the threshold tells the model to hand off before anything else.

    It believes what the provider reported of the last call and estimates only what came since. Where the model ignores it
    `compact_after` times in a row, or has no tool to hand off with, the watcher itself hands off to `auto_handoff/context_budget`
    at the next step, with what was said and done of late retold. What it knows is in `state["context_budget"]` and, from
    turn to turn, on the sidecar `context-budget`. Raises MissingExtra where an encoding is named that cannot be counted here.
    """

    def __init__(self, settings: ContextBudget | None = None, *, counter: Counter | None = None) -> None:
        self.settings = ContextBudget.from_environment() if settings is None else settings
        self._counter = counter or (ExactCounter(self.settings.encoding_name) if self.settings.encoding_name else None)

    async def step_start(self, run: RunFacts) -> None:
        """Hand off where the model was told often enough."""
        watch = await _watch(run.state, run)
        if 0 < self.settings.compact_after <= watch["ignored"]:
            await self._hand_off(run)
            watch.update(ignored=0, baseline=None, handed_off=True)
            await _keep(run, watch)

    async def before_llm_call(self, request: ModelRequest, state: dict[str, Any], run: RunFacts | None) -> ModelRequest | None:
        """Return the request with the instruction where it is over the threshold, None where it stays as it is."""
        watch = await _watch(state, run)
        tokens = self.estimate(request, state, run)
        threshold = self.settings.threshold(run.context_limit if run else None)
        watch["is_over"] = tokens > threshold
        if not watch["is_over"]:
            watch.update(ignored=0, handed_off=False)
            return None
        if watch["handed_off"] or self._fixed(request, run) > threshold:
            watch["is_over"] = False
            _log.warning("A request of about %s tokens is over the threshold of %s, and a handoff cannot make it shorter; shorten the system prompt or the tools.", tokens, threshold)
            return None
        tool = next((spec.name for spec in request.tools if spec.name in _HANDOFF), None)
        return None if tool is None else instructed(request, tool=tool)

    async def after_llm_call(self, request: ModelRequest, reply: Reply | None, state: dict[str, Any], run: RunFacts | None) -> None:
        """Keep what the provider reported, and whether the model did as it was told."""
        if reply is None:
            return
        watch = await _watch(state, run)
        if watch["is_over"]:
            watch["ignored"] = 0 if any(call.name in _HANDOFF for call in reply.calls) else watch["ignored"] + 1
        if reply.usage is not None and reply.usage.total > 0:
            seen = self._seen(_plain(request.messages), reply.message, total=reply.usage.total, counter=self._counting(run))
            watch["baseline"] = {"model": _model(run), "tools": _tools_digest(request.tools), "seen": seen}
        if run is not None and not reply.calls:
            await _keep(run, watch)

    def estimate(self, request: ModelRequest, state: Mapping[str, Any], run: RunFacts | None = None) -> int:
        """Return about how many tokens a request is: what was reported of its beginning and an estimate of the rest, else an estimate of all."""
        if not request.messages:
            return 0
        messages, counter = _plain(request.messages), self._counting(run)
        baseline = (state.get(STATE) or {}).get("baseline")
        seen = _continued(baseline, messages, request.tools, model=_model(run)) if baseline else None
        if seen is not None:
            return int(seen["total"]) + _tokens(messages[seen["covered"] :], counter)
        return _tokens(messages, counter) + _tool_tokens(request.tools, counter)

    def _seen(self, sent: Sequence[Message], reply: Message, *, total: int, counter: Counter) -> list[dict[str, Any]]:
        """Return what a report covers: all that was sent and the answer, and the same without words at the tail that no tape keeps."""
        covered = [*sent, reply]
        seen = [{"covered": len(covered), "digest": _digest(covered), "total": total}]
        if sent and sent[-1].role == "user" and not sent[-1].sources:
            kept = [*sent[:-1], reply]
            seen.append({"covered": len(kept), "digest": _digest(kept), "total": max(0, total - _tokens(sent[-1:], counter))})
        return seen

    def _fixed(self, request: ModelRequest, run: RunFacts | None) -> int:
        """Return what of a request stays whatever is handed off."""
        counter = self._counting(run)
        return _tool_tokens(request.tools, counter) + _tokens((m for m in request.messages if m.role == "system"), counter)

    def _counting(self, run: RunFacts | None) -> Counter:
        return self._counter or _counter_for(_model(run))

    async def _hand_off(self, run: RunFacts) -> None:
        """Leave an anchor with what was said and done of late; within a turn, say its prompt again behind it."""
        room = self.settings.threshold(run.context_limit) // _RETOLD
        units = await run.tape.read(tail_tokens=4 * room)
        told = retold(units, room=room, counter=self._counting(run))
        state = {"reason": SIDECAR, "summary": f"The context was nearly full. This was said and done last, shortened:\n{told}"}
        again = [user(run.prompt.text or "Go on.", name=run.prompt.name)] if run.prompt is not None and run.step > 1 else []
        await run.tape.append_many([*handoff_entries(ANCHOR, state, {"run_id": run.run_id}), *again])


def instructed(request: ModelRequest, *, tool: str) -> ModelRequest:
    """Return a request whose first system message ends with the instruction to hand off, itself where it is there already."""
    if any(MARKER in m.text for m in request.messages if m.role == "system"):
        return request
    words = instruction(tool)
    for place, message in enumerate(request.messages):
        if message.role == "system":
            content = f"{message.content}\n\n{words}" if isinstance(message.content, str) else (*message.content, Text(text=words))
            return replace(request, messages=(*request.messages[:place], replace(message, content=content), *request.messages[place + 1 :]))
    return replace(request, messages=(system(words), *request.messages))


def instruction(tool: str) -> str:
    """Return what the model is told."""
    return (
        f"{MARKER} This conversation has nearly filled your context. Before anything else, call the tool `{tool}` with the name `{SIDECAR}` and a summary from which "
        "you can go on without what came before: the goal, the progress so far, the key decisions and why, the files that were changed, and the work that remains."
    )


async def _watch(state: dict[str, Any], run: RunFacts | None) -> dict[str, Any]:
    """Return what is known in this turn; a new turn starts with what the last one left beside the tape."""
    root = "" if run is None else kin_of(run.tape.name).root
    watch = state.get(STATE)
    if not isinstance(watch, dict) or watch.get("tape") != root:
        watch = {"ignored": 0, "baseline": None, "handed_off": False, **(await _kept(run) if run else {}), "tape": root, "is_over": False}
        state[STATE] = watch
    return cast("dict[str, Any]", watch)


async def _kept(run: RunFacts) -> dict[str, Any]:
    found = await run.tape.sidecar(SIDECAR).query().kinds(EVENT).newest_first().limit(1).all()
    return dict(thaw(found[0].payload.get("data") or {})) if found else {}


async def _keep(run: RunFacts, watch: Mapping[str, Any]) -> None:
    facts = {name: watch[name] for name in ("ignored", "baseline", "handed_off")}
    await run.tape.sidecar(SIDECAR).append_event("context_budget", facts, run_id=run.run_id)


def _continued(baseline: Mapping[str, Any], messages: Sequence[Message], tools: Sequence[ToolSpec], *, model: str) -> Mapping[str, Any] | None:
    """Return what a report covers of a request for the same model with the same tools: its beginning, None where it is another one."""
    if (baseline["model"], baseline["tools"]) != (model, _tools_digest(tools)):
        return None
    return next((seen for seen in baseline["seen"] if seen["covered"] <= len(messages) and seen["digest"] == _digest(messages[: seen["covered"]])), None)


def _plain(messages: Iterable[Message]) -> list[Message]:
    """Return messages without the instruction, so that a request with it covers the same ones as one without."""
    plain = [_without_instruction(m) if m.role == "system" else m for m in messages]
    return [m for m in plain if m is not None]


def _without_instruction(message: Message) -> Message | None:
    if MARKER not in message.text:
        return message
    if isinstance(message.content, str):
        before = message.content[: message.content.index(MARKER)].removesuffix("\n\n")
        return replace(message, content=before) if before else None
    return replace(message, content=tuple(p for p in message.content if not (isinstance(p, Text) and p.text.startswith(MARKER))))


def _digest(messages: Iterable[Message]) -> str:
    total = sha256()
    for message in messages:
        total.update(codec.encode_sorted([message.role, message.name, [part_to_json(p) for p in message.parts], message.extra]))
    return total.hexdigest()


def _tools_digest(tools: Iterable[ToolSpec]) -> str:
    return sha256(codec.encode_sorted([_written(spec) for spec in tools])).hexdigest()


def _written(spec: ToolSpec) -> dict[str, Any]:
    return {"name": spec.name, "description": spec.description, "parameters": spec.parameters}


def _tokens(messages: Iterable[Message], counter: Counter) -> int:
    return sum(message_tokens(m, counter=counter) for m in messages)


def _tool_tokens(tools: Iterable[ToolSpec], counter: Counter) -> int:
    return sum(value_tokens(_written(spec), counter=counter) for spec in tools)


def _model(run: RunFacts | None) -> str:
    return "" if run is None else run.model


@cache
def _counter_for(model: str) -> Counter:
    return counter_for(model)


def _whole(text: str) -> int | str:
    """Return the number a text writes, the text where it writes none, for the settings to refuse."""
    try:
        return int(text)
    except ValueError:
        return text
