"""Who may write to the tapes of a family that is held, and who has read how far."""

from __future__ import annotations

from playhead import clock
from playhead.store.change import Lease
from playhead.store.postgres.family import Family, now
from playhead.store.postgres.keys import name_key, raw, text_key
from playhead.store.protocol import Head
from playhead.store.rows.row import cell, text
from playhead.store.rules.lease import granted, returned
from playhead.store.rules.tails import main_of


def take_lease(family: Family, *, tape: str, owner: str, seconds: float) -> Lease:
    """Lease a tape, by the server's clock. Raises LeaseHeld, InvalidInput, BranchNotFound."""
    main_of(family, tape)
    ((at,),) = family.rows("server_time")
    lease = granted(tape, owner=owner, seconds=seconds, standing=_standing(family, tape), now=at if clock.is_machine() else None)
    _keep(family, lease)
    return lease


def give_back(family: Family | None, *, lease: Lease) -> None:
    """Give a lease back where it is still the newest."""
    standing = None if family is None else _standing(family, lease.tape)
    if family is not None and standing is not None:
        _keep(family, returned(lease, standing=standing))


def move_cursor(family: Family, *, tape: str, consumer: str, head: Head) -> None:
    """Remember how far a consumer has read a tape. Raises BranchNotFound."""
    main_of(family, tape)
    family.send("keep_cursor", name=name_key(tape), consumer=text_key(consumer), who=raw(cell(consumer)), generation=head.generation, seq=head.id, at=now())


def _standing(family: Family, tape: str) -> Lease | None:
    found = family.rows("lease", name=name_key(tape))
    if not found:
        return None
    owner, epoch, until = found[0]
    return Lease(tape=tape, owner=text(owner), epoch=epoch, until=until)


def _keep(family: Family, lease: Lease) -> None:
    key = name_key(lease.tape)
    family.send("keep_lease", name=key, owner=raw(cell(lease.owner)), epoch=lease.epoch, until=lease.until)
    family.send("note_epoch", name=key, epoch=lease.epoch)
