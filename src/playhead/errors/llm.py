"""The error of `LLM`, in the seven kinds that its callers decide by."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from playhead.errors.tree import PlayheadError


class ErrorKind(StrEnum):
    """What kind of failure a call of `LLM` met: what was given, how it is set up, the provider, a tool, something that passes, something that is not there, or anything else."""

    INVALID_INPUT = "invalid_input"
    CONFIG = "config"
    PROVIDER = "provider"
    TOOL = "tool"
    TEMPORARY = "temporary"
    NOT_FOUND = "not_found"
    UNKNOWN = "unknown"


class LLMError(PlayheadError):
    """A call of `LLM` failed; decide by `kind`, an ErrorKind: "temporary" may be tried again. The exact error is its `__cause__`."""

    kind: ErrorKind

    def __init__(self, kind: ErrorKind, message: str, details: Mapping[str, object] | None = None) -> None:
        super().__init__(kind, message, details)
