"""Autobiographical: the newest part raw, all before in summaries that the named model wrote, folded as far as the budget asks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from playhead.entry.message import Message
from playhead.errors import Conflict, InvalidInput, ReadOnly
from playhead.fold.choosing.chunks import LEAST_MESSAGES, Chunk, chunks
from playhead.fold.choosing.windows import head_end, recent_start
from playhead.fold.config import AutobiographicalConfig
from playhead.fold.forest import Cut, Forest, held_raw
from playhead.fold.ledger.entries import cut_entry
from playhead.fold.ledger.memory import FoldMemory
from playhead.fold.node import Node
from playhead.fold.recall import RecallPrices, RecallStyle, recall_pair
from playhead.fold.resolvers.choice import resolver_for
from playhead.fold.resolvers.protocol import Item, Resolver
from playhead.fold.ticker import Identity, Ticker
from playhead.fold.writing.summarizer import Summarizer
from playhead.prompt.budget import Budget
from playhead.prompt.compile import MOST_READS
from playhead.prompt.folding.makeup import HEAD, TAIL
from playhead.prompt.folding.middle import Part, Windows, items_of, parts_of
from playhead.prompt.folding.refusal import refusal
from playhead.prompt.folding.spans import plan_of
from playhead.prompt.folding.state import FoldState, beginning, usable
from playhead.prompt.strategies.passthrough import LEADS
from playhead.prompt.strategy import Need, Reread
from playhead.tape.tape import Tape
from playhead.view.plan import Plan, Units
from playhead.view.runs import Run, joined, meets
from playhead.view.tokens import Counter
from playhead.view.units import Unit

WANTED_SHARE = 1 / 8
"""The most of the room that a chunk takes without which a view does not fit."""

GROWN = 1.5
"""A budget that has grown by this factor has the past told anew, in more detail, where no resolver decides."""


class AutobiographicalStrategy:
    """Shows the newest units raw and folds what is older into summaries, so that every unit is told once and the prefix stays the same.

    What is folded changes only when the middle outgrows its room, and then in one jump (docs/design/adaptive-resolution.md). The
    summaries come from `ContextManager.tick()`, or an agent's turns. Options are those of AutobiographicalConfig, by name.

    Raises InvalidOption for an option that is unknown, gone or not built yet, InvalidInput for a value that one does not take.
    """

    name = "autobiographical"
    folds = True

    def __init__(self, config: AutobiographicalConfig | None = None, /, *, namespace: str | None = None, agent: str | None = None, **options: Any) -> None:
        if config is not None and (options or not isinstance(config, AutobiographicalConfig)):
            raise InvalidInput(f"{type(self).__name__} takes options by name, or one AutobiographicalConfig, not {config!r:.80} and {sorted(options)}.")
        self.config = AutobiographicalConfig.of(options) if config is None else config
        self.namespace = namespace
        self.agent = agent
        self.frozen_from: int | None = None
        self.room: int | None = None
        self._style = RecallStyle.of(self.config, agent=agent)
        self._resolver = self._chosen_resolver()
        self._prices: dict[str, RecallPrices] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.config!r})"

    def bound(self, namespace: str | None, *, agent: str | None = None) -> Self:
        """Return the strategy as it is for one agent: its state is kept under the namespace, `agent` is whose voice is the assistant's."""
        return self._remade(self.config, namespace=namespace, agent=agent or self.agent)

    def with_options(self, options: Mapping[str, Any]) -> Self:
        """Return the strategy with some settings changed. Raises InvalidOption, InvalidInput."""
        return self._remade(self.config.with_options(options), namespace=self.namespace, agent=self.agent)

    def _remade(self, config: AutobiographicalConfig, *, namespace: str | None, agent: str | None) -> Self:
        """Return a strategy of the same kind with these settings, for this agent."""
        return type(self)(config, namespace=namespace, agent=agent)

    def memory(self, tape: Tape) -> FoldMemory:
        """Return what is kept beside a tape, one object for all twins of a handle; for handles of the past the last that was asked for."""
        ceiling = tape.query().ceiling
        key = f"fold:{self.namespace or ''}" if ceiling is None else f"fold of the past:{self.namespace or ''}"
        found = tape.states.get(key)
        if not isinstance(found, FoldMemory) or found.tape.query().ceiling != ceiling:
            found = tape.states[key] = FoldMemory(tape, namespace=self.namespace)
        return found

    def ticker(self, tape: Tape, *, writer: Callable[[], Awaitable[Summarizer | None]], identity: Identity, frozen_from: Callable[[], Awaitable[int | None]], is_current: Callable[[], bool]) -> Ticker:
        """Return what writes the summaries of a tape, one job at a time."""
        return Ticker(
            self.memory(tape),
            config=self.config,
            writer=writer,
            identity=identity,
            cut=self._cut,
            phase_of=self._phase_of,
            frozen_from=frozen_from,
            room=lambda: self.room,
            is_current=is_current,
            price=self._priced(tape.counter).of,
        )

    async def recall(self, tape: Tape, *, budget: Budget) -> FoldState:
        """Return the forest and what of it was shown last; before anything was, or where the budget has grown much, what to begin with."""
        self.room = budget.room
        memory = self.memory(tape)
        forest = await memory.look()
        pinned = joined((*held_raw(forest), *await _border(tape, forest)))
        kept = self._unkept(tape)
        cut = kept or forest.cut
        if cut is not None and not self._is_outgrown(cut, budget.room):
            if pinned or cut is kept or not cut.nodes:
                forest = await memory.reach(room=max(cut.room, budget.room) if cut is kept or not cut.nodes else 0, spans=pinned)
            shown = tuple(forest.nodes[uid] for uid in cut.nodes if uid in forest.nodes)
            return FoldState(forest=forest, shown=usable(shown, forest, pinned), cut=cut)
        if not forest.roots:
            return FoldState(forest=forest, cut=cut)
        raw = joined((*pinned, *((lock, lock) for lock in forest.locks)))
        forest = await memory.reach(room=budget.room, spans=raw)
        return FoldState(forest=forest, shown=beginning(forest, raw, room=budget.room), cut=cut)

    def need(self, *, budget: Budget, state: object) -> Need:
        """Return what to load: all that no shown summary tells, as far as it fits."""
        known = _known(state)
        return Need(head_tokens=self.config.head_window_tokens, tail_tokens=self.wall(budget), folded=known.folded)

    def plan(self, units: Units, *, budget: Budget, state: object = None) -> Plan | Reread:
        """Return the plan for the loaded units, or what to load instead where more of the past is to be folded.

        Raises OverBudgetError where even all that can be folded leaves too much; its diagnostics say what takes how much.
        """
        known = _known(state)
        price = self._priced(units.counter)
        windows = self._windows(units, room=budget.room)
        parts = parts_of(units, known, price=price.of)
        tokens, is_whole = sum(part.tokens for part in parts), not any(part.missing for part in parts)
        if not is_whole or tokens > (self.wall(budget) if known.reads else self._high(budget.room)):
            folded = self._folded(units, parts, known, windows=windows, budget=budget, is_whole=is_whole)
            if folded is not None:
                return Reread(need=self.need(budget=budget, state=folded), state=folded)
        return plan_of(units, parts, reason=self._reason(units, known, windows), pair=self._pair, state=self._adopted(known, budget.room))

    def wall(self, budget: Budget) -> int:
        """Return the tokens that no plan may pass: the room, and the grace that the settings allow."""
        return int(budget.room * (1 + self.config.over_budget_grace_ratio))

    async def keep(self, tape: Tape, state: object) -> None:
        """Keep the cut that was shown beside the tape; where the tape cannot be written to, for as long as its handle lives."""
        cut = _known(state).cut
        if cut is None:
            return
        memory = self.memory(tape)
        try:
            await memory.write(lambda _: [cut_entry(cut)])
        except (Conflict, ReadOnly):
            tape.states[self._key] = tape.query().ceiling, cut
            return
        tape.states.pop(self._key, None)
        await memory.checkpoint()

    def _cut(self, units: Sequence[Unit], /, *, after: int, before: int, closes_at_end: bool, is_whole: bool, is_wanted: bool = False) -> tuple[tuple[Chunk, ...], tuple[Unit, ...]]:
        """Cut a run of units into chunks and what waits; a run that may grow keeps its end, whole or not."""
        config = self.config
        return chunks(
            units,
            after=after,
            before=before,
            target=self._chunk_tokens(is_wanted=is_wanted),
            attachments_ignore_size=config.attachments_ignore_size,
            closes_at_end=closes_at_end,
            least_messages=1 if is_wanted else LEAST_MESSAGES,
        )

    def _chunk_tokens(self, *, is_wanted: bool) -> int:
        """Return how many tokens are told by one summary; less in a small room, where something does not fit for want of it."""
        target = self.config.target_chunk_tokens
        return min(target, max(1, int(self.room * WANTED_SHARE))) if is_wanted and self.room else target

    def _phase_of(self, units: Sequence[Unit]) -> str | None:
        """Return what a run of units is called; this strategy knows no phases."""
        return None

    def _folded(self, units: Units, parts: Sequence[Part], known: FoldState, *, windows: Windows, budget: Budget, is_whole: bool) -> FoldState | None:
        """Return the state with more folded, None where nothing can be and what is shown fits as it is. Raises OverBudgetError where it does not.

        The last time that a view may be loaded anew, all is folded that can be.
        """
        items, untold = items_of(units, parts, known, windows=windows, price=self._priced(units.counter).of)
        is_last = known.reads + 1 >= MOST_READS
        solution = self._resolver.solve(items, target=0 if is_last else self._target(items, self._high(budget.room)))
        if solution.tokens > self.wall(budget) or (not is_whole and (is_last or not solution.moves)):
            raise refusal(units, items, known, untold=untold, windows=windows, solution=solution, budget=budget, least_told=self._chunk_tokens(is_wanted=True))
        if not solution.moves:
            return None
        return replace(known, shown=tuple(known.forest.nodes[uid] for uid in solution.nodes), reads=known.reads + 1, moves=known.moves + solution.moves)

    @property
    def _key(self) -> str:
        return f"cut:{self.namespace or ''}"

    def _unkept(self, tape: Tape) -> Cut | None:
        """Return the last cut of this very view that could not be kept beside the tape."""
        found = tape.states.get(self._key)
        return found[1] if isinstance(found, tuple) and found[0] == tape.query().ceiling else None

    def _chosen_resolver(self) -> Resolver:
        return resolver_for(self.config)

    def _is_outgrown(self, cut: Cut, room: int) -> bool:
        return not self.config.adaptive_resolution and bool(cut.nodes) and room > GROWN * cut.room > 0

    def _high(self, room: int) -> int:
        """Return the mark above which more is folded."""
        return int(room * (1 - self.config.compression_slack_ratio)) if self.config.adaptive_resolution else room

    def _target(self, items: Sequence[Item], high: int) -> int:
        """Return the mark down to which is folded: what is fixed, and its share of the rest of the room."""
        fixed = sum(item.tokens for item in items if item.is_fixed)
        return fixed + int(max(0, high - fixed) * self.config.low_water_ratio)

    def _windows(self, units: Units, *, room: int) -> Windows:
        front = min((gap.at for gap in units.gaps if gap.at >= units.lead), default=len(units))
        head = max(units.lead, head_end(units[:front], tokens=self.config.head_window_tokens))
        behind = max((gap.at for gap in units.gaps if gap.reason is None), default=0)
        tail = recent_start(units, tokens=self.config.recent_tokens(room), start=max(head, behind), frozen_from=self.frozen_from)
        return Windows(head=head, tail=max(head, min(tail, len(units) - 1)))

    def _priced(self, counter: Counter | None) -> RecallPrices:
        name = "" if counter is None else counter.name
        if name not in self._prices:
            self._prices[name] = RecallPrices(counter, self._style)
        return self._prices[name]

    def _pair(self, node: Node) -> tuple[Message, ...]:
        return recall_pair(node, style=self._style)

    def _adopted(self, known: FoldState, room: int) -> FoldState:
        """Return the state to keep: with a new cut only where the shown summaries are others than before."""
        nodes = tuple(node.uid for node in known.shown)
        before = () if known.cut is None else known.cut.nodes
        is_outgrown = known.cut is not None and self._is_outgrown(known.cut, room)
        if nodes == before and not is_outgrown:
            return known
        return replace(known, cut=Cut(nodes=nodes, room=room, resolver=self._resolver.name))

    def _reason(self, units: Units, known: FoldState, windows: Windows) -> Any:
        pins = [(pin.first, pin.last, pin.name or pin.id) for pin in known.forest.pins if pin.first]
        held = held_raw(known.forest)

        def why(unit: Unit, index: int) -> str:
            if index < units.lead:
                return LEADS
            if index < windows.head:
                return HEAD
            if index >= windows.tail:
                return TAIL
            if not meets(held, unit.first, unit.first):
                return "not folded"
            pin = next((name for first, last, name in pins if first <= unit.first <= last), None)
            return f"pinned ({pin})" if pin is not None else "not folded"

        return why


async def _border(tape: Tape, forest: Forest) -> tuple[Run, ...]:
    """Return, as a run that no summary may cover, the anchor that reading starts behind, where one does."""
    anchor = await tape.boundary() if forest.roots and tape.context.anchor is not None else None
    return () if anchor is None or forest.root_at(anchor.id) is None else ((anchor.id, anchor.id),)


def _known(state: object) -> FoldState:
    return state if isinstance(state, FoldState) else FoldState(forest=Forest())
