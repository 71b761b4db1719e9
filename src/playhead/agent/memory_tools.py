"""Tools with which a model reads its own memory: summaries by what they say, and what each was made of, down to the words themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from playhead.agent.tools import Tool, ToolContext, tool
from playhead.entry import codec
from playhead.entry.message import Message
from playhead.errors import InvalidInput
from playhead.fold.ledger.memory import FoldMemory
from playhead.fold.ledger.search import search_summaries
from playhead.fold.node import Node
from playhead.prompt.manager.manager import ContextManager
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.view.tokens import Counter, text_tokens

PAGE = 3_000
"""How many tokens an answer has at most, so that reading the past never fills the present."""

MARGIN = 10
"""One in so many tokens of a page is left to its heading, and to what a counter adds to a text that is long."""

RAW = 30_000
"""How many tokens a memory that was made of others may stand for to be shown in their own words (specs: context-manager 22.5)."""

EXCERPT = 400
"""How many characters of a summary are shown where it is one of several."""

LONGEST = 4_000
"""How many characters of a message stand in one piece of a page; a longer one is several pieces."""

Count = Annotated[int, Meta(ge=1, le=50, description="how many to show at most")]


def memory_tools(source: AutobiographicalStrategy | ContextManager) -> tuple[Tool, ...]:
    """Return the tools with which a model reads the memory that a strategy or a manager keeps: memory.search, memory.expand.

    An agent with such a strategy has them without being given any. They read the memory beside the tape of the run. What they return is a
    tool's result like any other: it is folded with its round.
    """
    strategy = source.strategy_in_force if isinstance(source, ContextManager) else source
    if not isinstance(strategy, AutobiographicalStrategy):
        raise InvalidInput(f"memory_tools takes an AutobiographicalStrategy, or a manager that has one, not {source!r:.80}.")

    def memory_of(context: ToolContext) -> FoldMemory:
        return strategy.memory(context.tape)

    async def search(query: Annotated[str, "words that the summary holds; upper and lower case are alike; empty lists the newest"] = "", limit: Count = 8, *, context: ToolContext) -> str:
        """Find what you remember of earlier in this conversation by its words. Tells where each memory stands; memory_expand shows what it was made of."""
        hits = await search_summaries(memory_of(context), text=query or None, limit=limit, include_merged=True)
        if not hits:
            return "[no memory holds these words; tape_search finds words that were said]" if query else "[nothing has been summarised yet]"
        return "\n".join(_line(hit.node) for hit in hits)

    async def expand(
        id: Annotated[str, "the memory's id, such as L1-3"],
        page: Annotated[int, Meta(ge=1, description="which page of it, from 1")] = 1,
        *,
        raw: Annotated[bool, "the words themselves, also of a memory that was made of others"] = False,
        context: ToolContext,
    ) -> str:
        """Show what one of your memories was made of: the memories below it, or the conversation itself, page by page."""
        memory = memory_of(context)
        node = await memory.node(id) if id.isprintable() else None
        if node is None:
            return f"[there is no memory {id!r:.80}; memory_search lists them]"
        if node.children and raw and node.raw_tokens > RAW:
            return f"[{node.id} stands for {node.raw_tokens:,} tokens, too many to show word for word; show the memories below it, and of these the words]"
        is_made_of_others = node.children and not raw
        texts = [_whole(child) for child in await memory.children(node)] if is_made_of_others else [_said(message) for message in await memory.words(node)]
        return _paged(texts, page, title=f"{node.id}, entries {node.first}-{node.last}", counter=context.tape.counter)

    return tool(search, name="memory.search"), tool(expand, name="memory.expand")


def _line(node: Node) -> str:
    words = " ".join(node.text.split())
    said = words if len(words) <= EXCERPT else f"{words[:EXCERPT]} ..."
    return f"{node.id} ({node.since:%Y-%m-%d %H:%M} to {node.until:%Y-%m-%d %H:%M}, {node.units} units): {said}"


def _whole(node: Node) -> str:
    return f"{node.id} ({node.since:%Y-%m-%d %H:%M} to {node.until:%Y-%m-%d %H:%M}):\n{node.text}"


def _said(message: Message) -> str:
    lines = [f"{message.name or message.role}: {message.text}" if message.text or not message.calls else f"{message.name or message.role}:"]
    lines += [f"  calls {call.name}({codec.encode(call.arguments).decode()})" for call in message.calls]
    return "\n".join(lines)


def _paged(texts: list[str], page: int, *, title: str, counter: Counter) -> str:
    """Return one page of texts, a long text in several pieces, and how to go on."""
    room = PAGE - PAGE // MARGIN
    pages: list[list[str]] = [[]]
    left = room
    for text in texts:
        for piece, cost in _pieces(text, room=room, counter=counter):
            if cost > left and pages[-1]:
                pages.append([])
                left = room
            pages[-1].append(piece)
            left -= cost
    if page > len(pages):
        return f"[{title}: there are {len(pages)} pages]"
    more = f"\n[page {page} of {len(pages)}; page={page + 1} goes on]" if page < len(pages) else ""
    return f"[{title}, page {page} of {len(pages)}]\n" + "\n".join(pages[page - 1]) + more


def _pieces(text: str, *, room: int, counter: Counter) -> Iterator[tuple[str, int]]:
    """Yield a text in pieces of at most LONGEST characters and `room` tokens, each with its price and that of the end of its line."""
    waiting = [text[start : start + LONGEST] for start in range(0, max(1, len(text)), LONGEST)][::-1]
    while waiting:
        piece = waiting.pop()
        cost = text_tokens(piece, counter=counter) + 1
        if cost > room and len(piece) > 1:
            half = len(piece) // 2
            waiting += [piece[half:], piece[:half]]
            continue
        yield piece, cost
