"""Units, summaries and items for tests of what is chosen to be folded."""

from datetime import UTC, datetime

from playhead.entry.message import ToolCall, assistant, tool_result_message, user
from playhead.fold.forest import Cut, Forest, Outcome
from playhead.fold.node import Node
from playhead.fold.resolvers.protocol import Item, Step
from playhead.view.units import Body, Unit

DAY = datetime(2026, 1, 1, tzinfo=UTC)


def said(*ids, tokens=10, text="word", body=None):
    return Unit(kind="message", messages=(user(text),), ids=ids, uids=tuple(f"u{i}" for i in ids), tokens=tokens, body=body)


def shard(id, of, index, count=3, tokens=10):
    return said(id, tokens=tokens, body=Body(id=of, index=index, count=count))


def called(*ids, tokens=10, tool="ping", is_open=False):
    messages = (assistant("", calls=[ToolCall(id="c", name=tool)]), tool_result_message("c", "pong"))
    return Unit(kind="round", messages=messages, ids=ids, uids=tuple(f"u{i}" for i in ids), tokens=tokens, is_open=is_open)


def node(level, first, last, *, uid=None, units=None, text="What happened.", number=1, **known):
    return Node(
        uid=uid or f"n{level}-{first}",
        id=f"L{level}-{number}",
        level=level,
        first=first,
        last=last,
        first_uid=f"u{first}",
        last_uid=f"u{last}",
        units=last - first + 1 if units is None else units,
        raw_tokens=3_000,
        text=text,
        since=DAY,
        until=DAY,
        created=DAY,
        **known,
    )


def run(level, *firsts, width=10):
    """Return summaries of a level, each over `width` entries."""
    return tuple(node(level, first, first + width - 1) for first in firsts)


def forest(*roots, shown=(), outcomes=(), **known):
    return Forest(roots=roots, nodes={n.uid: n for n in roots}, cut=Cut(nodes=tuple(shown)) if shown else None, outcomes=tuple(outcomes), **known)


def outcome(first, last, *, level=1, children=(), is_stuck=True, at=DAY):
    return Outcome(
        first=first, last=last, first_uid=f"u{first}", last_uid=f"u{last}", level=level, regime="r", rung="plain", shape="s", outcome="refused", model="m", children=children, is_stuck=is_stuck, at=at
    )


def items_over(costs, tree, *, fixed=(), phases=None):
    """Return raw items of these costs, one entry each; `tree` names summaries: uid -> (level, first index, index behind the last, price)."""
    items = []
    for index, cost in enumerate(costs):
        above = sorted((level, uid, price) for uid, (level, start, stop, price) in tree.items() if start <= index < stop)
        steps = tuple(Step(node=uid, level=level, tokens=price) for level, uid, price in above)
        items.append(Item(first=index + 1, last=index + 1, level=0, tokens=cost, above=steps, is_fixed=index in fixed, phase=phases and phases[index]))
    return tuple(items)


E_TREE = {
    "L1-0": (1, 0, 2, 40),
    "L1-1": (1, 2, 4, 40),
    "L1-2": (1, 4, 6, 40),
    "L1-3": (1, 6, 8, 40),
    "L2-0": (2, 0, 4, 50),
    "L2-1": (2, 4, 8, 50),
    "L3-0": (3, 0, 8, 60),
}
E = items_over([100] * 10, E_TREE, fixed=(8, 9))
"""Fixture E of specs: folding 14: ten parts of 100 tokens, the last two raw, four summaries of 40 tokens, two of 50 over these, one of 60 over all."""
