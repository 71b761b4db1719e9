"""Who may lease a tape, and whether a holder was followed by another: decisions, the same for every store."""

from __future__ import annotations

from dataclasses import replace

from playhead import clock
from playhead.errors import InvalidInput, LeaseHeld, LeaseLost
from playhead.store.change import Lease
from playhead.store.rows.row import date_text, microseconds

_SECOND = 1_000_000


def granted(tape: str, *, owner: str, seconds: float, standing: Lease | None, now: int | None = None) -> Lease:
    """Return the lease that an owner gets: a longer one where it holds it, under a new epoch where nobody does. Raises LeaseHeld, InvalidInput.

    `now` is the instant in microseconds since 1970, where another clock than ours tells it.
    """
    if not isinstance(owner, str) or not owner:
        raise InvalidInput(f"A lease's owner is a non-empty text, not {owner!r}.")
    if not isinstance(seconds, (int, float)) or not 0 < seconds < 1e9:
        raise InvalidInput(f"A lease lasts for a number of seconds above 0, not {seconds!r}.")
    now = microseconds(clock.now()) if now is None else now
    until = now + int(seconds * _SECOND)
    if standing is None or not standing.owner:
        return Lease(tape=tape, owner=owner, epoch=standing.epoch + 1 if standing else 1, until=until)
    if standing.owner == owner:
        return replace(standing, until=until)
    if standing.until > now:
        raise LeaseHeld(tape, owner=standing.owner, until=date_text(standing.until))
    return Lease(tape=tape, owner=owner, epoch=standing.epoch + 1, until=until)


def returned(lease: Lease, *, standing: Lease) -> Lease:
    """Return what stands once a lease is given back: free, its epoch kept; unchanged where another holder has followed."""
    return replace(standing, owner="", until=0) if (standing.epoch, standing.owner) == (lease.epoch, lease.owner) else standing


def check_fence(tape: str, *, fence: int, epoch: int) -> None:
    """Raise LeaseLost where a tape was leased under a higher epoch than the fence."""
    if epoch > fence:
        raise LeaseLost(tape, fence=fence, epoch=epoch)
