"""Errors of values: what cannot be accepted as given, and what does not fit."""

from __future__ import annotations

from collections.abc import Mapping

from playhead.errors.tree import Kinded


class InvalidInput(Kinded):
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


class InvalidModelSpec(InvalidInput, ValueError):
    """A model is not named as PROVIDER:MODEL; write it like `openai:gpt-5-mini`."""

    def __init__(self, spec: str) -> None:
        self.spec = spec
        super().__init__(f"A model is named as PROVIDER:MODEL, such as openai:gpt-5-mini or anthropic:claude-sonnet-4-5, not {spec!r}.", spec=spec)


class SelectorError(Kinded):
    """A selector raised, or returned something that is no list of messages; `name` says which."""

    KIND = "selector"

    def __init__(self, name: str, why: str) -> None:
        self.name = name
        super().__init__(f"Selector '{name}' {why}.", name=name)


ADVICE = "raise max_tokens, lower the reserve, or hand off to a new phase"


class OverBudgetError(Kinded):
    """What must be shown does not fit; raise the budget, lower the reserve, or hand off to a new phase.

    `needed` and `room` are tokens; `what` names the thing that cannot fit. `room` is what `taken` leaves of the budget:
    tokens by what takes them (the reserve for the response, injections, the provider's frame). `diagnostics` says more where a strategy
    folds: tokens of head, middle and tail, the least it could come to, the pins that hold raw messages. `advice` says what helps.
    """

    KIND = "over_budget"

    def __init__(
        self, *, needed: int, room: int, what: str, budget: int | None = None, taken: Mapping[str, int] | None = None, diagnostics: Mapping[str, object] | None = None, advice: str = ADVICE
    ) -> None:
        self.needed = needed
        self.room = room
        self.what = what
        self.budget = budget
        self.taken = {name: tokens for name, tokens in (taken or {}).items() if tokens}
        self.diagnostics = dict(diagnostics or {})
        self.advice = advice
        less = ", ".join(f"{tokens:,} for the {name}" for name, tokens in self.taken.items())
        leaves = f"the budget leaves {room:,}" if budget is None else f"the budget of {budget:,} leaves {room:,}{f' after {less}' if less else ''}"
        verb = "need" if what.endswith("s") else "needs"
        told = f"{what} {verb} {needed:,} tokens but {leaves}; {advice}."
        super().__init__(told, needed=needed, room=room, what=what, budget=budget, taken=self.taken, **({"diagnostics": self.diagnostics} if self.diagnostics else {}))


class InvalidPlan(Kinded):
    """A strategy's plan loses, repeats or reorders something; mend the strategy (nothing was sent)."""

    KIND = "invalid_plan"


class WireError(Kinded):
    """A provider's body cannot be read or written; `where` is the path of the offending value."""

    KIND = "wire"

    def __init__(self, message: str, *, where: str = "") -> None:
        self.where = where
        super().__init__(f"{message} (at {where})" if where else message, where=where)


class NothingToSend(WireError):
    """A prompt holds nothing that the provider answers; append what the user says first, or read from an earlier anchor."""

    def __init__(self, provider: str, *, where: str, has_system: bool) -> None:
        self.provider = provider
        holds = "system messages alone" if has_system else "nothing"
        super().__init__(f"{provider} takes no request without a turn, and this prompt holds {holds}; append what the user says first, or read from an earlier anchor", where=where)


class UnreadableFile(Kinded):
    """A file is not of the format it was taken for; name the right one with `format=`.

    `line` is the line that could not be read, where that is why.
    """

    KIND = "unreadable"

    def __init__(self, path: str, why: str, *, line: int | None = None) -> None:
        self.path = path
        self.why = why
        self.line = line
        super().__init__(f"Cannot import '{path}': {why}.", path=path, **({} if line is None else {"line": line}))


class MissingExtra(Kinded):
    """An optional package is not installed; install the named extra."""

    KIND = "missing_extra"

    def __init__(self, extra: str, what: str) -> None:
        self.extra = extra
        super().__init__(f"{what} needs the optional packages of playhead[{extra}]; install them with: pip install 'playhead[{extra}]'.", extra=extra)
