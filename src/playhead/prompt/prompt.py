"""The prompt: what the model sees, and everything that can be said of it."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from playhead.entry import codec
from playhead.entry.message import Message, Part, Text, system
from playhead.entry.payload import message_to_json, part_to_json
from playhead.errors import OverBudgetError
from playhead.prompt.budget import Budget
from playhead.prompt.diff import PromptDiff, diff
from playhead.prompt.explain import Explanation, Row, explain
from playhead.prompt.folding.makeup import RenderStats
from playhead.prompt.injection import Injection
from playhead.prompt.render import Source, has_user_message, rendered
from playhead.prompt.stats import Stats
from playhead.view.plan import Plan
from playhead.view.tokens import Counter, message_tokens
from playhead.wire.providers import request_body


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Which compile made a prompt, of which tape as it ended where, and the source of each of its messages."""

    compile_id: str
    tape: str
    generation: int
    head: int
    anchor: str | None
    strategy: str
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Prompt:
    """What the model sees: messages in order, compiled from a tape within a budget.

    `system_injections` are parts for the system prompt; `to` puts them there. `over_budget` is set only by a
    dry run, `render_stats` only by a ContextManager: how much is raw, how much is told by summaries.
    """

    messages: tuple[Message, ...]
    system_injections: tuple[Part, ...]
    stats: Stats
    plan: Plan
    compile_id: str
    strategy: str
    tape: str
    budget: Budget
    counter: Counter
    injections: tuple[Injection, ...] = ()
    over_budget: OverBudgetError | None = None
    render_stats: RenderStats | None = None

    def __repr__(self) -> str:
        return f"Prompt(tape={self.tape!r}, strategy={self.strategy!r}, messages={len(self.messages)}, tokens={self.stats.total} of {self.budget.room})"

    @property
    def digest(self) -> str:
        """The SHA-256 of the rendered content alone: the same for the same content in any process, at any time."""
        content = {"messages": [message_to_json(m) for m in self.messages], "system": [part_to_json(p) for p in self.system_injections]}
        return sha256(codec.encode_sorted(content)).hexdigest()

    @property
    def provenance(self) -> Provenance:
        """Which compile this is, and where each message comes from."""
        units = self.plan.units
        return Provenance(
            compile_id=self.compile_id,
            tape=self.tape,
            generation=units.generation,
            head=units.end,
            anchor=units.before.name if units.before else None,
            strategy=self.strategy,
            sources=tuple(source for _, source in rendered(self.plan, self.injections)),
        )

    def to(self, provider: str, *, model: str | None = None) -> dict[str, Any]:
        """Return the provider's request body, without model, limits and tools: pass it on with `**`.

        `provider` is openai, openai-responses or anthropic. Signed reasoning goes only to the `model` that made it.
        Raises NothingToSend where the provider takes no such request: nothing is said in it, or for some only system messages.
        """
        return request_body(provider, self._with_system_injections(), model=model)

    def _with_system_injections(self) -> tuple[Message, ...]:
        if not self.system_injections:
            return self.messages
        lead = next((i for i, m in enumerate(self.messages) if m.role != "system"), len(self.messages))
        return (*self.messages[:lead], system(self.system_injections), *self.messages[lead:])

    def explain(self) -> Explanation:
        """Return why each part of the view is in, told shorter, or out: rows to iterate, a table to print."""
        has_user = has_user_message(self.plan) if self.injections else True
        rows = tuple(_injection_row(i, has_user=has_user, counter=self.counter) for i in self.injections)
        return explain(self.plan, room=self.budget.room, total=self.stats.total, injections=rows)

    def diff(self, old: Prompt) -> PromptDiff:
        """Return what changed since an older prompt."""
        return diff(old.messages, self.messages, counter=self.counter)


def flattened(injections: tuple[Injection, ...]) -> tuple[Part, ...]:
    """Return the contents of injections as one run of parts, in order."""
    return tuple(part for i in injections for part in ((Text(text=i.content),) if isinstance(i.content, str) else i.content))


def _injection_row(injection: Injection, *, has_user: bool, counter: Counter) -> Row:
    tokens = message_tokens(injection.message, counter=counter)
    where = f"{injection.namespace} at {injection.position}"
    if injection.position == "before_user" and not has_user:
        return Row(form="omitted", first=0, last=0, count=0, tokens=tokens, reason=f"injection {where}: no user message to stand before")
    return Row(form="injection", first=0, last=0, count=0, tokens=tokens, reason=where)
