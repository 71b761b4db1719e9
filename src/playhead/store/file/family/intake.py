"""Changes on their way to the writer: what their lines will say, and when and by whom they were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from playhead import clock
from playhead.entry.entry import format_date
from playhead.errors import InvalidInput
from playhead.store.change import Append, Change, Close, Fork, Reset
from playhead.store.family import Kin, kin_of
from playhead.store.file.record.lines import Body, body_of


class Intake(NamedTuple):
    """A change, the tape it is made to, what the lines of its entries say, and its date and uid where it needs them."""

    change: Change
    kin: Kin
    bodies: Sequence[Body] = ()
    date: str = ""
    uid: str = ""


def taken_in(change: Change, *, limit: int | None) -> Intake:
    """Return a change as the writer takes it. Raises InvalidInput, UnstorableValue."""
    kin = kin_of(change.tape)
    match change:
        case Append(entries=entries) | Reset(entries=entries, marks=_):
            return Intake(change, kin, [body_of(entry, limit=limit) for entry in entries])
        case Fork() | Close():
            return Intake(change, kin, (), format_date(clock.now()), clock.new_uid())
    raise InvalidInput(f"A change is an Append, Reset, Fork or Close, not {change!r}.")
