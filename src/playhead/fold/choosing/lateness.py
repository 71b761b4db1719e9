"""Late answers: results that stand on the tape behind the end of a run in which their call is."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from playhead.entry.entry import TOOL_CALL, TOOL_RESULT, TapeEntry
from playhead.tape.tape import Tape
from playhead.view.pieces import read_piece
from playhead.view.tokens import Counter

NEAR = 16
"""How many entries before and behind the end of a run are looked at, whatever they are."""

FAR = 256
"""How many turns with calls, and results, are looked at behind these."""


async def late_answers(tape: Tape, *, first: int, last: int) -> dict[int, tuple[int, ...]]:
    """Return, by the entry of each turn in a run, the entries behind the run that answer it, those that were removed among them.

    They are paired as a view pairs them: a result answers the newest turn that made its call.
    """
    asked: list[TapeEntry] = await tape.query().after(first - 1).up_to(last + NEAR).all()
    pairs = _Pairs(last=last, counter=tape.counter)
    pairs.take(asked)
    if pairs.waiting:
        pairs.take(await tape.query().kinds(TOOL_CALL, TOOL_RESULT).after(last + NEAR).limit(FAR).all())
    return {turn: tuple(answers) for turn, answers in pairs.late.items()}


async def late_entries(tape: Tape, *, first: int, last: int) -> tuple[int, ...]:
    """Return the entries behind a run that answer one of the last turns in it."""
    found = await late_answers(tape, first=max(first, last - NEAR), last=last)
    return tuple(sorted(chain.from_iterable(found.values())))


class _Pairs:
    """Calls of the turns up to entry `last`, and what answers them behind it."""

    def __init__(self, *, last: int, counter: Counter) -> None:
        self.waiting: dict[str, int] = {}
        self.late: dict[int, list[int]] = {}
        self._newest: tuple[str, ...] = ()
        self._last = last
        self._counter = counter

    def take(self, entries: Iterable[TapeEntry]) -> None:
        for entry in entries:
            piece = read_piece(entry, counter=self._counter)
            for result in piece.results:
                turn = self.waiting.pop(result.call_id or next((id for id in self._newest if id in self.waiting), ""), None)
                if turn is not None and entry.id > self._last:
                    self.late.setdefault(turn, []).append(entry.id)
            calls = () if piece.message is None else tuple(call.id for call in piece.message.calls)
            if calls:
                self._newest = calls
                for id in calls:
                    self.waiting.pop(id, None)
                self.waiting |= dict.fromkeys(calls, entry.id) if entry.id <= self._last else {}
