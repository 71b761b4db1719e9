"""The errors of playhead: one tree, each with its kind, its facts as attributes, and what to do next.

    PlayheadError
    ├── InvalidInput                 invalid_input     a value that cannot be accepted as given
    │   ├── UnstorableValue                            a payload or meta value that JSON cannot hold
    │   ├── InvalidDate                                a date text that is no ISO date
    │   ├── TapeNotScoped                              a handle without a name was used like a tape
    │   └── ReadOnly                                   a handle that only reads was asked to write
    ├── NotFound                     not_found         something named does not exist
    │   ├── NoAnchors                                  the tape has no anchor to read behind
    │   ├── AnchorNotFound                             no anchor of that name
    │   ├── TapeNotFound                               no tape of that name
    │   └── FileMissing                                no file at that path
    ├── Conflict                     conflict          the tape moved, or a key was used for something else
    │   └── KeyConflict                                one idempotency key, two different bodies
    ├── StoreError                   store             the store cannot do what was asked
    │   ├── StoreUnavailable                           it cannot be opened or reached
    │   ├── StoreBusy                                  another process holds its lock for too long
    │   ├── StoreDamaged                               its content is not what was written
    │   ├── StoreOutdated                              its schema is not one this version reads
    │   └── AppendOutcomeUnknown                       nobody can say whether the append was kept
    ├── SelectorError                selector          a selector failed or returned no messages
    ├── OverBudgetError              over_budget       what must be shown does not fit the budget
    ├── InvalidPlan                  invalid_plan      a strategy's plan loses, repeats or reorders something
    ├── WireError                    wire              a provider's body cannot be read or written
    ├── UnreadableFile               unreadable        a file is not of the format it was taken for
    └── MissingExtra                 missing_extra     an optional package is not installed
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar


class PlayheadError(Exception):
    """Any failure that playhead reports; `str()` is `[kind] message`.

    `kind` is a stable word to branch on, `message` says what is wrong and what to do next,
    `details` holds the facts in JSON form.
    """

    kind: str
    message: str
    details: dict[str, object]

    def __init__(self, kind: str, message: str, details: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.details = dict(details or {})

    def __str__(self) -> str:
        return f"[{self.kind}] {self.message}"

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (type(self), self.kind, self.message, self.details, self.__dict__)


def _restore(cls: type[PlayheadError], kind: str, message: str, details: dict[str, object], facts: dict[str, object]) -> PlayheadError:
    error = cls.__new__(cls)
    PlayheadError.__init__(error, kind, message, details)
    error.__dict__.update(facts)
    return error


class _Kinded(PlayheadError):
    """An error whose class fixes its kind."""

    KIND: ClassVar[str]

    def __init__(self, message: str, **details: object) -> None:
        super().__init__(self.KIND, message, details)


class InvalidInput(_Kinded):
    """A value cannot be accepted as given; the message names the value and the accepted ones."""

    KIND = "invalid_input"


class UnstorableValue(InvalidInput):
    """A payload or meta holds something JSON cannot keep; change the value at `path` (nothing was written)."""

    def __init__(self, path: str, why: str) -> None:
        self.path = path
        super().__init__(f"Cannot store the value at {path}: {why}.", path=path)


class InvalidDate(InvalidInput):
    """A date text is no ISO date or datetime; write it like `2026-03-01` or `2026-03-01T12:00:00+00:00`."""

    def __init__(self, value: object) -> None:
        self.value = value
        super().__init__(f"Invalid ISO date or datetime: '{value}'.", value=str(value))


class TapeNotScoped(InvalidInput, ValueError):
    """A handle without a name was used like a tape; call `scoped(name)` first."""

    def __init__(self) -> None:
        super().__init__("tape is not scoped")


class ReadOnly(InvalidInput):
    """A handle that reads the tape as it was cannot write; use a handle of the tape itself."""


class NotFound(_Kinded):
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


class FileMissing(NotFound):
    """No readable file is at that path; check the path."""

    def __init__(self, path: str, why: str = "no such file") -> None:
        self.path = path
        self.why = why
        super().__init__(f"Cannot read '{path}': {why}.", path=path)


class Conflict(_Kinded):
    """The tape is not where the caller last saw it; read what came since, decide again, then retry.

    `expected` and `found` are heads (generation, id). Nothing was written.
    """

    KIND = "conflict"

    def __init__(self, *, expected: object, found: object, message: str | None = None) -> None:
        self.expected = expected
        self.found = found
        super().__init__(message or f"The tape's head is {found}, not {expected}; read what came since and retry.", expected=str(expected), found=str(found))


class KeyConflict(Conflict):
    """An idempotency key was already used for another body; use a fresh key for a new fact."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(expected="the same body", found="another body", message=f"Idempotency key '{key}' was already used for another entry; use a fresh key for a new fact.")


class StoreError(_Kinded):
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


class SelectorError(_Kinded):
    """A selector raised, or returned something that is no list of messages; `name` says which."""

    KIND = "selector"

    def __init__(self, name: str, why: str) -> None:
        self.name = name
        super().__init__(f"Selector '{name}' {why}.", name=name)


class OverBudgetError(_Kinded):
    """What must be shown does not fit; raise the budget, lower the reserve, or hand off to a new phase.

    `needed` and `room` are tokens; `what` names the thing that cannot fit. `room` is what `taken` leaves of the budget:
    tokens by what takes them (the reserve for the response, injections, the provider's frame).
    """

    KIND = "over_budget"

    def __init__(self, *, needed: int, room: int, what: str, budget: int | None = None, taken: Mapping[str, int] | None = None) -> None:
        self.needed = needed
        self.room = room
        self.what = what
        self.budget = budget
        self.taken = {name: tokens for name, tokens in (taken or {}).items() if tokens}
        less = ", ".join(f"{tokens:,} for the {name}" for name, tokens in self.taken.items())
        leaves = f"the budget leaves {room:,}" if budget is None else f"the budget of {budget:,} leaves {room:,}{f' after {less}' if less else ''}"
        verb = "need" if what.endswith("s") else "needs"
        super().__init__(
            f"{what} {verb} {needed:,} tokens but {leaves}; raise max_tokens, lower the reserve, or hand off to a new phase.",
            needed=needed,
            room=room,
            what=what,
            budget=budget,
            taken=self.taken,
        )


class InvalidPlan(_Kinded):
    """A strategy's plan loses, repeats or reorders something; mend the strategy (nothing was sent)."""

    KIND = "invalid_plan"


class WireError(_Kinded):
    """A provider's body cannot be read or written; `where` is the path of the offending value."""

    KIND = "wire"

    def __init__(self, message: str, *, where: str = "") -> None:
        self.where = where
        super().__init__(f"{message} (at {where})" if where else message, where=where)


class UnreadableFile(_Kinded):
    """A file is not of the format it was taken for; name the right one with `format=`.

    `line` is the line that could not be read, where that is why.
    """

    KIND = "unreadable"

    def __init__(self, path: str, why: str, *, line: int | None = None) -> None:
        self.path = path
        self.why = why
        self.line = line
        super().__init__(f"Cannot import '{path}': {why}.", path=path, **({} if line is None else {"line": line}))


class MissingExtra(_Kinded):
    """An optional package is not installed; install the named extra."""

    KIND = "missing_extra"

    def __init__(self, extra: str, what: str) -> None:
        self.extra = extra
        super().__init__(f"{what} needs the optional packages of playhead[{extra}]; install them with: pip install 'playhead[{extra}]'.", extra=extra)
