"""From a tape to the request a model gets: compiled within the budget, with what this call alone needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from playhead.agent.cap import capped
from playhead.agent.media import resolved
from playhead.entry.message import Message, system, user
from playhead.model.protocol import Model, ModelRequest, ToolSpec
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.prompt.injection import Injection
from playhead.prompt.prompt import Prompt
from playhead.prompt.strategy import Strategy
from playhead.store.blobs import BlobStore
from playhead.tape.tape import Tape
from playhead.view.tokens import message_tokens, text_tokens

RESERVE = 16_384
"""The tokens kept free for an answer where nobody says how many."""

UNLIMITED = Budget(1_000_000_000, reserve_for_response=0)
SYSTEM_PROMPT = "system_prompt"
LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
"""What providers call the limit of an answer."""


async def compiled(
    tape: Tape,
    *,
    model: Model,
    budget: Budget | None,
    strategy: Strategy | None,
    system_prompt: str,
    tools: Sequence[ToolSpec],
    tail: str = "",
    dry_run: bool = False,
) -> Prompt:
    """Compile what the model should see; the budget is the one that is given, else what is known of the model's context.

    The tools' schemas and the words at the tail take their part of it. A dry run keeps nothing, and refuses nothing.
    """
    injections = [Injection(namespace=SYSTEM_PROMPT, content=system_prompt)] if system_prompt else []
    overhead = {"tools": [{"name": t.name, "description": t.description, "parameters": dict(t.parameters)} for t in tools]} if tools else None
    whole = budget_for(model, budget)
    taken = sum(text_tokens(str(value), counter=tape.counter) for value in (overhead or {}).values()) + (message_tokens(user(tail), counter=tape.counter) if tail else 0)
    room = whole if whole is UNLIMITED else replace(whole, max_tokens=max(whole.max_tokens - taken, whole.reserve_for_response + 1))
    return await compile(tape, room, strategy=strategy, injections=injections, request_overhead=overhead, dry_run=dry_run)


def budget_for(model: Model, budget: Budget | None) -> Budget:
    """Return the budget of a call: the one that is given, cut to the model's context where that is known and smaller; without both, none."""
    limit = model.context_limit
    if budget is None:
        return UNLIMITED if limit is None else Budget(limit, reserve_for_response=min(RESERVE, limit // 4))
    if limit is None or budget.max_tokens <= limit:
        return budget
    return replace(budget, max_tokens=limit, reserve_for_response=min(budget.reserve_for_response, limit // 2))


async def request_of(
    prompt: Prompt,
    *,
    tools: Sequence[ToolSpec],
    budget: Budget | None,
    originals: Mapping[str, Message],
    blobs: BlobStore | None,
    tail: str,
    output_schema: Mapping[str, Any] | None = None,
    reasoning_effort: str | None = None,
) -> ModelRequest:
    """Return the request for a prompt.

    Media that the tape refers to come from `blobs`; `originals` holds, by the uid of their entries, messages whose media nobody
    keeps: the call gets them whole. A result of a tool that reached the tape whole is cut. `tail` is said last, and not kept.
    """
    leading = next((i for i, m in enumerate(prompt.messages) if m.role != "system"), len(prompt.messages))
    messages = [m if isinstance(m.content, str) and not originals else capped(await resolved(_original(m, originals), blobs=blobs)) for m in prompt.messages]
    if prompt.system_injections:
        messages.insert(leading, system(prompt.system_injections))
    if tail:
        messages.append(user(tail))
    return ModelRequest(
        messages=tuple(messages),
        tools=tuple(tools),
        max_tokens=budget.reserve_for_response or None if budget is not None else None,
        output_schema=output_schema,
        reasoning_effort=reasoning_effort,
    )


def asked_model(model: Model, request: ModelRequest) -> str:
    """Return the name of whom a request asks: the model, or another one of its provider where what is added to the body names one."""
    provider, other = model.name.partition(":")[0], request.extra.get("model")
    return f"{provider}:{other}" if isinstance(other, str) and other else model.name


def token_limit(request: ModelRequest) -> int | None:
    """Return within how many tokens a request wants its answer, None where it does not say; what is added to the body goes first, as it does there."""
    return next((limit for name in LIMITS if type(limit := request.extra.get(name)) is int), request.max_tokens)


def _original(message: Message, originals: Mapping[str, Message]) -> Message:
    found = next((originals[uid] for uid in message.sources if uid in originals), None)
    return message if found is None else replace(found, sources=message.sources)
