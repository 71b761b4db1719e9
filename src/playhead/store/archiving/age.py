"""Ages: how long ago something has to be, told as an instant."""

from __future__ import annotations

from datetime import datetime, timedelta

from playhead import clock
from playhead.errors import InvalidInput


def ago(age: timedelta, *, what: str) -> datetime:
    """Return the instant that lies so long ago. Raises InvalidInput, which calls the age `what`, for anything but a length of time from 0 on that leads to a date."""
    if not isinstance(age, timedelta) or age < timedelta(0):
        raise InvalidInput(f"{what} is a timedelta from 0 on, such as timedelta(days=30), not {age!r}.")
    try:
        return clock.now() - age
    except OverflowError as exc:
        raise InvalidInput(f"{what} of {age.days:,} days lies before the first date there is; give a shorter one.") from exc
