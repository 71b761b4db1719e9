"""Who may write to the tapes of a SQLite file, and who has read how far."""

from __future__ import annotations

from playhead import clock
from playhead.store.change import Lease
from playhead.store.protocol import Head
from playhead.store.rows.row import microseconds
from playhead.store.rows.statements import statements
from playhead.store.rules.lease import granted, returned
from playhead.store.rules.tails import main_of
from playhead.store.sqlite.tails import Tails


def take_lease(tails: Tails, tape: str, *, owner: str, seconds: float) -> Lease:
    """Lease a tape. Raises LeaseHeld, InvalidInput, BranchNotFound."""
    main_of(tails, tape)
    lease = granted(tape, owner=owner, seconds=seconds, standing=_standing(tails, tape))
    _keep(tails, lease)
    return lease


def give_back(tails: Tails, lease: Lease) -> None:
    """Give a lease back where it is still the newest."""
    standing = _standing(tails, lease.tape)
    if standing is not None:
        _keep(tails, returned(lease, standing=standing))


def move_cursor(tails: Tails, tape: str, *, consumer: str, head: Head) -> None:
    """Remember how far a consumer has read a tape. Raises BranchNotFound."""
    main_of(tails, tape)
    tails.execute(statements("family")["keep_cursor"], (tape, consumer, head.generation, head.id, microseconds(clock.now())))


def _standing(tails: Tails, tape: str) -> Lease | None:
    found = tails.execute(statements("family")["lease"], (tape,)).fetchone()
    if found is None:
        return None
    owner, epoch, until = found
    return Lease(tape=tape, owner=owner, epoch=epoch, until=until)


def _keep(tails: Tails, lease: Lease) -> None:
    tails.execute(statements("family")["keep_lease"], (lease.tape, lease.owner, lease.epoch, lease.until))
    tails.leased(lease.tape, lease.epoch)
