"""Errors of models."""

from __future__ import annotations

from playhead.errors.tree import Kinded


class ModelError(Kinded):
    """A model did not answer as asked; `model` says which."""

    KIND = "model"

    def __init__(self, message: str, *, model: str = "", **details: object) -> None:
        self.model = model
        super().__init__(message, **({"model": model} if model else {}), **details)


class ModelUnavailable(ModelError):
    """The model cannot be reached or is busy; try again, after `retry_after` seconds where the provider says so."""

    def __init__(self, message: str, *, model: str = "", retry_after: float | None = None, status: int | None = None) -> None:
        self.retry_after = retry_after
        self.status = status
        super().__init__(message, model=model, retry_after=retry_after, status=status)


class ContextLimitExceeded(ModelError):
    """The request is longer than the model's context; send less. `limit` and `needed` are in tokens, None where the provider does not say."""

    def __init__(self, message: str, *, model: str = "", limit: int | None = None, needed: int | None = None) -> None:
        self.limit = limit
        self.needed = needed
        super().__init__(message, model=model, limit=limit, needed=needed)


class ModelRejected(ModelError):
    """The provider does not take the request: a wrong key, an unknown model, a body it cannot read; the message holds what it said."""

    def __init__(self, message: str, *, model: str = "", status: int | None = None) -> None:
        self.status = status
        super().__init__(message, model=model, status=status)


class ModelRefused(ModelError):
    """The model will not answer; ask otherwise, or ask another one."""


class BadReply(ModelError):
    """What the model answered cannot be read, or broke off; `partial` is what had come, try again."""

    def __init__(self, message: str, *, model: str = "", partial: str = "") -> None:
        self.partial = partial
        super().__init__(message, model=model)


class OutputMismatch(ModelError):
    """A model's answer does not have the form that was asked for; `answer` is what it said. Ask for less, or ask another model."""

    def __init__(self, why: str, *, answer: str) -> None:
        self.why = why
        self.answer = answer
        super().__init__(f"The answer does not have the form that was asked for: {why}", why=why)

    @property
    def told(self) -> str:
        """What the model is told, so that it can try again."""
        return f"Your answer does not have the form that was asked for: {self.why}. Answer again with JSON of that form alone."


class ProviderNotFoundError(ModelError):
    """No provider has that name; the message lists those that are there."""

    def __init__(self, name: str, *, known: tuple[str, ...]) -> None:
        self.name = name
        self.known = known
        super().__init__(f"There is no provider '{name}'; known are {', '.join(known)}. A model is named as PROVIDER:MODEL, such as openai:gpt-5-mini.", name=name)
