"""The root of the errors, and what all of them have."""

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

    def as_dict(self) -> dict[str, object]:
        """Return it as kind, message and, where there are any, details."""
        return {"kind": str(self.kind), "message": self.message, **({"details": self.details} if self.details else {})}

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (type(self), self.kind, self.message, self.details, self.__dict__)


def _restore(cls: type[PlayheadError], kind: str, message: str, details: dict[str, object], facts: dict[str, object]) -> PlayheadError:
    error = cls.__new__(cls)
    PlayheadError.__init__(error, kind, message, details)
    error.__dict__.update(facts)
    return error


class Kinded(PlayheadError):
    """An error whose class fixes its kind."""

    KIND: ClassVar[str]

    def __init__(self, message: str, **details: object) -> None:
        super().__init__(self.KIND, message, details)
