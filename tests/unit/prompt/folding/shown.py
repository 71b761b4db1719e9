"""What a prompt shows of a tape, held against the tape itself: every unit once, in order, rounds whole, within the budget."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from playhead.entry.message import Message
from playhead.fold.ledger.memory import FoldMemory
from playhead.fold.node import Node
from playhead.prompt.manager.manager import ContextManager
from playhead.prompt.prompt import Prompt
from playhead.tape.tape import Tape
from playhead.view.tokens import message_tokens
from playhead.view.units import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A tape as one sees it who reads all of it: its units, and the summaries that stand, by uid."""

    units: tuple[Unit, ...]
    standing: dict[str, Node]

    @property
    def uids(self) -> dict[str, int]:
        """The place of each entry's unit, by what names the entry and by what names a change of it."""
        return {uid: index for index, unit in enumerate(self.units) for uid in (*unit.uids, *(source for m in unit.messages for source in m.sources))}

    def tells(self, node: Node, unit: Unit) -> bool:
        """Whether a summary covers a unit, but for answers that came when the unit had been told as one without them."""
        if not unit.ids or not node.covers(unit.first):
            return False
        told = min(one.uid for one in self.standing.values() if one.level == 1 and one.covers(unit.first))
        return all(node.covers(id) or uid > told for id, uid in zip(unit.ids, unit.uids, strict=True))


async def view_of(manager: ContextManager) -> View:
    """Read a manager's tape whole, through a handle that knows nothing yet."""
    tape = Tape(manager.tape.store, manager.tape.name, context=manager.tape.context, counter=manager.tape.counter)
    memory = FoldMemory(tape, namespace=manager.namespace)
    return View(units=tuple(await tape.read()), standing={node.uid: node async for node in memory.nodes()})


async def check_told_once(manager: ContextManager, prompt: Prompt) -> View:
    """Fail the test unless a prompt shows each unit of the view in exactly one way, in order, and fits; return the view.

    A result is left out that came after its call had been told as without one, or after what lies between the two had been told.
    """
    view = await view_of(manager)
    messages = [m for m in prompt.messages if not _is_injected(m, prompt)]
    nodes = [node for node in (view.standing.get(source) for m in messages for source in m.sources[:1]) if node is not None]
    shown = list(dict.fromkeys(nodes))
    assert Counter(node.uid for node in nodes) == dict.fromkeys((node.uid for node in shown), 2), "a summary is not shown as one pair"
    raw = Counter(source for m in messages for source in m.sources if source not in view.standing)
    expected: Counter[str] = Counter()
    for index, unit in enumerate(view.units):
        over = [node for node in shown if view.tells(node, unit)]
        sources = [source for m in unit.messages for source in m.sources]
        is_raw = any(raw[source] for source in sources)
        if is_raw and any(unit.first < node.first and node.last < unit.last for node in shown):
            raw, sources = Counter({source: count for source, count in raw.items() if source not in sources}), []
        assert is_raw + len(over) == 1, f"unit {index}, {unit!r}, is shown {'raw and ' * is_raw}by {[node.id for node in over]}"
        expected.update(sources if is_raw else ())
    assert raw == expected, "something is shown in part, twice, or is not in the view"
    _check_order(messages, view)
    check_rounds(prompt.messages)
    _check_fits(prompt)
    return view


def check_rounds(messages: Sequence[Message]) -> None:
    """Fail the test unless the results of every turn's calls stand right behind it, each once."""
    waiting: list[str] = []
    for message in messages:
        if message.role == "tool":
            for result in message.results:
                assert result.call_id in waiting, f"a result of {result.call_id} stands where nobody waits for it"
                waiting.remove(result.call_id)
            continue
        assert not waiting, f"calls {waiting} have no result right behind them"
        waiting = [call.id for call in message.calls]
    assert not waiting


def starts_with(messages: Sequence[Message], before: Sequence[Message]) -> bool:
    """Return whether a prompt only goes on behind where the one before it ended."""
    return tuple(messages[: len(before)]) == tuple(before)


def texts(messages: Iterable[Message]) -> str:
    """Return all words of messages, those of results and arguments included."""
    return "\n".join(f"{m.text} {[dict(call.arguments) for call in m.calls]}" for m in messages)


def _check_order(messages: Sequence[Message], view: View) -> None:
    firsts = [unit.first for unit in view.units if unit.ids]
    offset = len(view.units) - len(firsts)
    places: list[float] = []
    for message in messages:
        source = message.sources[0]
        node = view.standing.get(source)
        places.append(view.uids[source] if node is None else bisect_left(firsts, node.first) + offset - 0.5 * (not _covered(node, firsts)))
    assert places == sorted(places), "what is shown is not in the order of the view"


def _covered(node: Node, firsts: Sequence[int]) -> bool:
    at = bisect_left(firsts, node.first)
    return at < len(firsts) and firsts[at] <= node.last


def _check_fits(prompt: Prompt) -> None:
    assert prompt.budget is not None
    assert sum(message_tokens(m, counter=prompt.counter) for m in prompt.messages) <= prompt.stats.total <= prompt.budget.room


def _is_injected(message: Message, prompt: Prompt) -> bool:
    return any(message == injection.message for injection in prompt.injections)
