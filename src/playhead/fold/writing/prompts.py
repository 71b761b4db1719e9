"""Prompts: what a model is shown when it writes a summary.

The order is that in which the agent lived it, and nothing stands behind the run that is told (specs: context-manager 14.3, 15.5):
the agent's own system prompt, the head, earlier memories, what no memory tells, then the run itself and the instruction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from playhead.entry import codec
from playhead.entry.message import Message, system
from playhead.entry.payload import message_to_json
from playhead.fold.config import AutobiographicalConfig
from playhead.fold.node import Node
from playhead.fold.recall import RecallStyle
from playhead.fold.writing.job import Job, Surroundings
from playhead.fold.writing.passages import Passage, joined, note, raw, recall
from playhead.fold.writing.shapes import CANONICAL, Shape
from playhead.fold.writing.voices import MARKER, RECALL, instruction
from playhead.model.protocol import ModelRequest, ToolSpec
from playhead.view.tokens import Counter, message_tokens, value_tokens
from playhead.view.units import Unit

LEAST_ANSWER = 16_000
"""Tokens an answer may have at least: a memory that breaks off is worse than a long one."""

LEAST_MEMORIES = 8_000
"""What a merge may still show of earlier memories after many failures, in tokens."""

LEAST_PIECE = 100
"""The shortest target of a part of a summary, in tokens."""

_HALVINGS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A request as it would be sent: its hash, its price with the answer in it, its size in bytes, and whether it fits.

    `memories` are the uids of those that it recalls, oldest first.
    """

    shape: Shape
    request: ModelRequest
    digest: str
    tokens: int
    size: int
    fits: bool
    memories: tuple[str, ...] = ()

    @property
    def has_rounds(self) -> bool:
        """Whether calls of tools or their results stand in it."""
        return any(message.calls or message.results for message in self.request.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Context:
    """What comes before the run that is told."""

    head: tuple[Passage, ...] = ()
    memories: tuple[Passage, ...] = ()
    between: tuple[Passage, ...] = ()

    @property
    def tokens(self) -> int:
        return _price((*self.head, *self.memories, *self.between))


class Material:
    """Everything that requests for one summary are made of, cleaned and priced once; drafts are pure functions of it and a shape.

    `limit` is the context of the model in tokens, None where nobody knows; `needs_tools` says that it answers no request without them.
    """

    def __init__(self, job: Job, surroundings: Surroundings, *, config: AutobiographicalConfig, limit: int | None = None, needs_tools: bool = False) -> None:
        self.job = job
        self.surroundings = surroundings
        self.config = config
        self.window = min(config.compression_context_budget_tokens, limit or config.compression_context_budget_tokens)
        self.answer = answer_tokens(config, window=self.window)
        self.needs_tools = needs_tools
        self._counter = surroundings.counter
        self._style = replace(RecallStyle.of(config), question=RECALL, lists_names=False)
        self._units = {index: passage for index, unit in enumerate(job.units) if (passage := raw(unit, counter=self._counter)) is not None}
        self._deeper = {node.uid: node for node in surroundings.deeper}
        self._recalls: dict[str, Passage] = {}
        before = [node for node in surroundings.memories if node.last < job.first and node.text.strip()]
        self._memories = {node.uid: node for node in before}
        self._head = _told(_outside(surroundings.head, before, job=job), counter=self._counter)
        self._between = _told(_outside(surroundings.between, before, job=job), counter=self._counter)
        prompt = surroundings.system_prompt
        self._lead = (system(prompt),) if prompt and prompt.strip() else ()
        self._fixed = _messages_price(self._lead, self._counter) + tools_tokens(surroundings.tools, counter=self._counter)
        self._drafts: dict[Shape, Draft] = {}

    def draft(self, shape: Shape = CANONICAL) -> Draft:
        """Return the request of a shape; what does not fit loses its oldest memories first, then the end of the head, then the oldest raw."""
        if shape not in self._drafts:
            self._drafts[shape] = self._drafted(shape)
        return self._drafts[shape]

    def below(self, uid: str) -> tuple[Node, ...] | None:
        """Return the summaries a memory was merged from, oldest first; None where one of them is not at hand or says nothing."""
        memory = self._memories.get(uid)
        if memory is None or memory.level < 2:
            return None
        found = [self._deeper[child] for child in memory.children if child in self._deeper and self._deeper[child].text.strip()]
        return tuple(found) if found and len(found) == len(memory.children) else None

    def memory(self, uid: str) -> Node:
        """Return an earlier memory by its uid."""
        return self._memories[uid]

    def _drafted(self, shape: Shape) -> Draft:
        context, run = self._context(shape), self._run(shape)
        memories = tuple(passage.node for passage in context.memories if passage.node is not None)
        if shape.expanded is not None:
            context = replace(context, memories=tuple(self._expanded(context.memories, shape.expanded)))
        messages = (*self._lead, *joined((*context.head, *context.memories, *context.between, *run)))
        offers = shape.offers_tools or self.needs_tools or any(message.calls or message.results for message in messages)
        request = ModelRequest(
            messages=messages,
            tools=self.surroundings.tools if offers else (),
            max_tokens=self.answer,
            tool_choice="none" if self.surroundings.tools and offers and not shape.offers_tools else "auto",
        )
        body = codec.encode_sorted(_as_json(request))
        tokens = self._fixed + context.tokens + _price(run) + self.answer
        return Draft(shape=shape, request=request, digest=sha256(body).hexdigest(), tokens=tokens, size=len(body), fits=tokens <= self.window, memories=memories)

    def _run(self, shape: Shape, *, wordy: bool = False) -> tuple[Passage, ...]:
        """Return what is told and what is asked; with every sentence that may be added where `wordy`."""
        told = self._target(shape) if self.job.is_merge else (note(MARKER, counter=self._counter), *self._chunk(shape))
        spoken = replace(shape, forbids_tools=True, asks_prose=True) if wordy else shape
        return (*told, note(instruction(self.job, config=self.config, shape=spoken, target=self._aim(shape)), counter=self._counter))

    def _chunk(self, shape: Shape) -> tuple[Passage, ...]:
        first, behind = shape.piece or (0, len(self.job.units))
        return tuple(passage for index, passage in self._units.items() if first <= index < behind)

    def _target(self, shape: Shape) -> Iterable[Passage]:
        """Return a merge's run one level below its sources: raw under level 2, else the summaries under them; the sources where that is asked for or all there is."""
        if shape.shows_sources or (self.job.level == 2 and not self._units):
            return [self._recall(node) for node in self.job.sources]
        if self.job.level == 2:
            return self._units.values()
        below = [child for node in self.job.sources for child in self._children(node)]
        return [self._recall(node) for node in below]

    def _children(self, node: Node) -> Sequence[Node]:
        found = [self._deeper[child] for child in node.children if child in self._deeper]
        return found if found and len(found) == len(node.children) else (node,)

    def _aim(self, shape: Shape) -> int:
        """Return the target in tokens; that of a piece is its share."""
        whole = self.config.summary_target_tokens
        if shape.piece is None:
            return whole
        total = sum(passage.tokens for passage in self._units.values())
        return max(LEAST_PIECE, round(whole * _price(self._chunk(shape)) / max(total, 1)))

    def _context(self, shape: Shape) -> _Context:
        if shape.stands_alone:
            return _Context()
        memories = self._remembered(memory_tokens(self.config, attempt=shape.attempt))
        context = _Context(head=self._head, memories=memories, between=self._between)
        return _within(context, room=self.window - self.answer - self._fixed - _price(self._run(shape, wordy=True)))

    def _remembered(self, budget: int) -> tuple[Passage, ...]:
        """Return the memories that a budget holds, chosen newest first: one that is too long is left out, a shorter one before it may still fit."""
        kept: list[Passage] = []
        for node in reversed(self._memories.values()):
            passage = self._recall(node)
            if passage.tokens <= budget:
                kept.append(passage)
                budget -= passage.tokens
        return tuple(reversed(kept))

    def _expanded(self, memories: Iterable[Passage], uid: str) -> Iterable[Passage]:
        for passage in memories:
            below = self.below(uid) if passage.node == uid else None
            yield from [passage] if below is None else [self._recall(node) for node in below]

    def _recall(self, node: Node) -> Passage:
        if node.uid not in self._recalls:
            self._recalls[node.uid] = recall(node, style=self._style, counter=self._counter)
        return self._recalls[node.uid]


def answer_tokens(config: AutobiographicalConfig, *, window: int) -> int:
    """Return how many tokens an answer may have: one and a half times the target and at least 16,000, never more than the model allows or half of what fits."""
    most = max(LEAST_ANSWER, round(1.5 * config.summary_target_tokens))
    return max(1, min(most, config.compression_max_tokens or most, window // 2))


def memory_tokens(config: AutobiographicalConfig, *, attempt: int = 0) -> int:
    """Return what a request may show of earlier memories, in tokens; it halves with every failed attempt of a merge down to 8,000 (E8)."""
    budget = config.compression_recall_budget_tokens
    return min(budget, max(LEAST_MEMORIES, budget >> min(attempt, _HALVINGS)))


def tools_tokens(tools: Iterable[ToolSpec], *, counter: Counter) -> int:
    """Return what the declarations of tools cost."""
    return sum(value_tokens(_tool_as_json(tool), counter=counter) for tool in tools)


def _outside(units: Iterable[Unit], memories: Sequence[Node], *, job: Job) -> list[Unit]:
    """Return the units before a job that none of the memories covers: what a memory tells is not shown raw as well."""
    return [unit for unit in units if unit.last < job.first and not any(node.covers(unit.first) for node in memories)]


def _told(units: Iterable[Unit], *, counter: Counter) -> tuple[Passage, ...]:
    return tuple(passage for unit in units if (passage := raw(unit, counter=counter)) is not None)


def _within(context: _Context, *, room: int) -> _Context:
    memories, over = _shed(context.memories, over=context.tokens - room)
    tail, over = _shed(tuple(reversed(context.head)), over=over)
    between, _ = _shed(context.between, over=over)
    return _Context(head=tuple(reversed(tail)), memories=memories, between=between)


def _shed(passages: tuple[Passage, ...], *, over: int) -> tuple[tuple[Passage, ...], int]:
    """Return passages without the first ones that are too many, and how many tokens are still too many."""
    dropped = 0
    while over > 0 and dropped < len(passages):
        over -= passages[dropped].tokens
        dropped += 1
    return passages[dropped:], over


def _price(passages: Iterable[Passage]) -> int:
    return sum(passage.tokens for passage in passages)


def _messages_price(messages: Iterable[Message], counter: Counter) -> int:
    return sum(message_tokens(message, counter=counter) for message in messages)


def _as_json(request: ModelRequest) -> dict[str, object]:
    return {
        "messages": [message_to_json(message) for message in request.messages],
        "tools": [_tool_as_json(tool) for tool in request.tools],
        "tool_choice": request.tool_choice,
        "max_tokens": request.max_tokens,
    }


def _tool_as_json(tool: ToolSpec) -> dict[str, object]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters, "strict": tool.strict}
