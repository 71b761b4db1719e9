"""The refusal of a plan that does not fit, with what takes how much of the room and what would help."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict

from playhead.errors import OverBudgetError
from playhead.fold.choosing import accounting
from playhead.fold.choosing.backlog import free_runs
from playhead.fold.forest import Pin, held_raw, is_raw
from playhead.fold.resolvers.protocol import Item, Solution
from playhead.prompt.budget import Budget
from playhead.prompt.folding.middle import Missing, Windows
from playhead.prompt.folding.state import FoldState
from playhead.view.plan import Units
from playhead.view.runs import joined

Held = tuple[Pin, int, bool]
"""A pin that holds raw units, how many tokens of these were loaded, and whether that is all of them."""


def refusal(units: Units, items: Sequence[Item], known: FoldState, *, untold: Sequence[Missing], windows: Windows, solution: Solution, budget: Budget, least_told: int) -> OverBudgetError:
    """Return the error for a view that cannot be folded into a room; `diagnostics` holds the facts of specs: context-manager 6.2 and folding 8.

    `untold` are the runs that were not loaded and that no summary tells; what they cost is estimated by what the loaded entries cost.
    `least_told` is how many tokens are worth a summary.
    """
    room = budget.room
    head = sum(unit.tokens for unit in units[: windows.head])
    tail = sum(unit.tokens for unit in units[windows.tail :])
    pins = _raw_pins(units, known, windows, untold)
    untold = _unpinned(untold, known)
    floor, unread = accounting.floor(items), _estimated(units, untold)
    fixed = sum(item.tokens for item in items if item.is_fixed)
    merges = [asdict(one) for one in floor.missing if one.level > 1]
    wanted = [*_wanted(untold, items, least=least_told), *merges] if fixed <= room else []
    diagnostics = {
        "configured_budget": budget.max_tokens,
        "reserve_for_response": budget.reserve_for_response,
        "input_budget": room,
        "head_tokens": head,
        "tail_tokens": tail,
        "middle_tokens": solution.tokens - head - tail,
        "floor_tokens": floor.tokens + unread,
        "deepest_level": max((known.forest.nodes[uid].level for uid in solution.nodes), default=0),
        "deepest_available_level": max((level for level, count in known.forest.counts.items() if count), default=0),
        "summary_counts_by_level": dict(known.forest.counts),
        "unsummarised": [{"first": run.first, "last": run.last} for run in untold],
        "wanted": wanted,
        "raw_pins": [{"id": pin.id, "name": pin.name, "kind": pin.kind, "tokens": tokens} for pin, tokens, _ in pins],
    }
    what, advice = _said(head, tail, room=room, pins=pins, can_help=bool(wanted))
    return OverBudgetError(needed=max(solution.tokens + unread, floor.tokens + unread, room + 1), room=room, what=what, diagnostics=diagnostics, advice=advice)


def _estimated(units: Units, untold: Iterable[Missing]) -> int:
    """Return about what runs that were not loaded cost, by what the loaded units cost an entry."""
    entries = sum(unit.last - unit.first + 1 for unit in units if unit.ids)
    return sum(run.last - run.first + 1 for run in untold) * units.tokens // max(1, entries)


def _wanted(untold: Sequence[Missing], items: Sequence[Item], *, least: int) -> list[dict[str, int]]:
    """Return the summaries of level 1 that would have helped: of what no summary tells, may be folded and is worth one, `least` tokens at least.

    Merges that would have helped are wanted beside them.
    """
    unread = {(run.first, run.last) for run in untold}
    loaded = [(item.first, item.last) for item in items if item.level == 0 and not item.above and not item.is_fixed and item.first]
    worth = [run for run in joined((*unread, *loaded)) if run in unread or sum(item.tokens for item in items if run[0] <= item.first <= run[1]) >= least]
    return [{"level": 1, "first": first, "last": last} for first, last in worth]


def _said(head: int, tail: int, *, room: int, pins: Sequence[Held], can_help: bool) -> tuple[str, str]:
    """Return what does not fit, and what helps: summaries that are not written yet only where these could make room."""
    named = ", ".join(f"{pin.name or pin.id} of {'' if is_whole else 'more than '}{tokens:,} tokens" for pin, tokens, is_whole in pins)
    pinned = f", with what is pinned ({named})" if named else ""
    unpin = "unpin some, or " if named else ""
    if can_help:
        return f"The view, part of which no summary tells yet{pinned},", f"call tick() or drain(), which write the summaries it lacks, then compile again; or {unpin}raise max_tokens"
    what = f"The view, folded as far as it goes{pinned}, of which a head window of {head:,} and a recent window of {tail:,} tokens always stay raw,"
    if head + tail > room:
        return what, "raise max_tokens, or set head_window_tokens and recent_window_tokens lower"
    return what, f"{unpin}raise max_tokens" if named else "raise max_tokens, or set recent_window_tokens and target_chunk_tokens lower"


def _raw_pins(units: Units, known: FoldState, windows: Windows, untold: Sequence[Missing]) -> list[Held]:
    """Return the pins that hold raw units in the middle."""
    middle = units[windows.head : windows.tail]
    pins = [pin for pin in known.forest.pins if is_raw(pin)]
    unread = {pin.uid for pin in pins for run in untold if pin.first <= run.last and run.first <= pin.last}
    held = [(pin, sum(u.tokens for u in middle if pin.first <= u.first <= pin.last), pin.uid not in unread) for pin in pins]
    return [(pin, tokens, is_whole) for pin, tokens, is_whole in held if tokens or not is_whole]


def _unpinned(untold: Iterable[Missing], known: FoldState) -> list[Missing]:
    """Return what of runs is not pinned: for that a summary would help."""
    runs = held_raw(known.forest)
    return [Missing(first=part.first, last=part.last) for run in untold for part in free_runs(run.first, run.last, runs)]
