"""Errors of stores: what is not there, what stands in the way, what failed."""

from __future__ import annotations

from playhead.errors.tree import Kinded

_NAMED = 5
"""How many names are told one by one."""


class NotFound(Kinded):
    """Something named does not exist; the message names it."""

    KIND = "not_found"


class NoAnchors(NotFound):
    """The tape has no anchor; hand off or `bootstrap()` once, or read with `default_tape_context(anchor=None)`."""

    def __init__(self) -> None:
        super().__init__("No anchors found in tape.")


class AnchorNotFound(NotFound):
    """No anchor of that name stands in the tape; `anchors()` lists those that do."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"Anchor '{name}' was not found.", name=name)


class TapeNotFound(NotFound):
    """No tape of that name is in the store; `list_tapes()` or `playhead ls` shows those that are."""

    def __init__(self, name: str, *, hint: str = "") -> None:
        self.name = name
        super().__init__(f"Tape '{name}' was not found{hint or '; list the tapes to see those that exist'}.", name=name)


class BranchNotFound(NotFound):
    """No branch has that name; `tape.branches()` lists those that are there."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"There is no branch '{name}'; fork one with tape.fork(), or list those that are there with tape.branches().", name=name)


class BlobNotFound(NotFound):
    """No bytes of that digest are kept; put them again with `put_blob`, or use the store that they were put in."""

    def __init__(self, digest: str) -> None:
        self.digest = digest
        super().__init__(f"There is no blob {digest}; put it again with put_blob(), or use the store that it was put in.", digest=digest)


class FileMissing(NotFound):
    """No readable file is at that path; check the path."""

    def __init__(self, path: str, why: str = "no such file") -> None:
        self.path = path
        self.why = why
        super().__init__(f"Cannot read '{path}': {why}.", path=path)


class Conflict(Kinded):
    """The tape is not where the caller last saw it; read what came since, decide again, then retry.

    `expected` and `found` are heads (generation, id). Nothing was written.
    """

    KIND = "conflict"

    def __init__(self, *, expected: object, found: object, message: str | None = None) -> None:
        self.expected = expected
        self.found = found
        super().__init__(message or f"The tape ends with {found}, not with {expected}; read what came since and retry.", expected=str(expected), found=str(found))


class KeyConflict(Conflict):
    """An idempotency key was already used for another body; use a fresh key for a new fact."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(expected="the same body", found="another body", message=f"Idempotency key '{key}' was already used for another entry; use a fresh key for a new fact.")


class NameTaken(Conflict):
    """A tape or branch of that name is there; choose another name."""

    def __init__(self, name: str, *, message: str | None = None) -> None:
        self.name = name
        super().__init__(expected="a free name", found=name, message=message or f"The name '{name}' is taken; choose another one.")


class TapeDiffers(NameTaken):
    """A tape of that name stands in the store and is another one, or has gone on since; rename it, or leave that tape out. The other tapes were moved."""

    def __init__(self, name: str, *others: str) -> None:
        self.names = (name, *others)
        told = f"A tape '{name}' stands there and is not the same, or has gone on since; rename one of them, or leave it out."
        if others:
            named = ", ".join(f"'{one}'" for one in self.names[:_NAMED]) + (", ..." if len(self.names) > _NAMED else "")
            told = f"{len(self.names)} tapes ({named}) stand there and are not the same, or have gone on since; rename these or those, or leave them out."
        super().__init__(name, message=f"{told} What stands there was not changed; all other tapes were moved.")


class BranchClosed(Conflict):
    """The branch was merged or discarded, so nothing is written to it any more; fork it again to go on from where it ended."""

    def __init__(self, name: str, state: str) -> None:
        self.name = name
        self.state = state
        super().__init__(expected="open", found=state, message=f"The branch '{name}' was {state}; fork it again to go on from where it ended.")


class LeaseHeld(Conflict):
    """Somebody else has the tape leased, until `until`; try again then."""

    def __init__(self, tape: str, *, owner: str, until: str) -> None:
        self.tape = tape
        self.owner = owner
        self.until = until
        super().__init__(expected="a free lease", found=owner, message=f"The tape '{tape}' is leased by {owner} until {until}; try again then.")


class LeaseLost(Conflict):
    """Somebody else has leased the tape since; nothing was written. Lease it again, read what came since, then go on."""

    def __init__(self, tape: str, *, fence: int, epoch: int) -> None:
        self.tape = tape
        super().__init__(expected=fence, found=epoch, message=f"The lease of the tape '{tape}' (epoch {fence}) has passed to another holder (epoch {epoch}); lease it again and read what came since.")


class StoreError(Kinded):
    """The store cannot do what was asked; the message says what it needs."""

    KIND = "store"


class StoreUnavailable(StoreError):
    """The store cannot be opened or reached; check its place, its rights and the free space."""


class StoreBusy(StoreError):
    """Another process held the store's lock for longer than the time-out; retry, or end that process."""


class StoreDamaged(StoreError):
    """The store's content is not what was written; restore a backup or salvage what can be read."""


class StoreOutdated(StoreError):
    """The store was written by a newer version; upgrade playhead to read it."""


class AppendOutcomeUnknown(StoreError):
    """The append may or may not have been kept; reopen the store and ask by idempotency key."""
