"""What went wrong in a call, told in the kinds that callers decide by."""

from __future__ import annotations

from playhead.errors import (
    Conflict,
    ErrorKind,
    InvalidInput,
    InvalidPlan,
    LLMError,
    MissingExtra,
    ModelError,
    ModelRejected,
    ModelUnavailable,
    NotFound,
    OverBudgetError,
    PlayheadError,
    ProviderNotFoundError,
    SelectorError,
    StoreBusy,
    ToolFailed,
    WireError,
)

_REFUSED_KEY = (401, 403)
_KINDS: tuple[tuple[ErrorKind, tuple[type[Exception], ...]], ...] = (
    (ErrorKind.CONFIG, (ProviderNotFoundError, MissingExtra)),
    (ErrorKind.TEMPORARY, (ModelUnavailable, StoreBusy, Conflict)),
    (ErrorKind.PROVIDER, (ModelError,)),
    (ErrorKind.TOOL, (ToolFailed,)),
    (ErrorKind.NOT_FOUND, (NotFound,)),
    (ErrorKind.INVALID_INPUT, (InvalidInput, SelectorError, OverBudgetError, InvalidPlan, WireError)),
)


def told(error: Exception) -> LLMError:
    """Return an error as one of `LLM`, itself where it is one."""
    if isinstance(error, LLMError):
        return error
    if not isinstance(error, PlayheadError):
        return LLMError(ErrorKind.UNKNOWN, f"{type(error).__name__}: {error}", {"type": type(error).__name__})
    return LLMError(kind_of(error), error.message, error.details)


def kind_of(error: PlayheadError) -> ErrorKind:
    """Return which of the seven kinds an error is of."""
    if isinstance(error, ModelRejected) and error.status in _REFUSED_KEY:
        return ErrorKind.CONFIG
    return next((kind for kind, classes in _KINDS if isinstance(error, classes)), ErrorKind.UNKNOWN)
