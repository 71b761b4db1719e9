"""Models by name: `get_model("openai:gpt-5-mini")`."""

from __future__ import annotations

from importlib import import_module
from types import TracebackType
from typing import Any, Protocol, Self, cast, runtime_checkable

from playhead.errors import InvalidInput, InvalidModelSpec, ProviderNotFoundError
from playhead.model.echo import EchoModel
from playhead.model.protocol import Model
from playhead.model.remote import Adapter, RemoteModel
from playhead.model.retry import Retry
from playhead.model.script_file import load_script
from playhead.model.settings import Settings

_ADAPTERS = {"openai": "openai", "openai-responses": "openai_responses", "anthropic": "anthropic", "pydantic-ai": "pydantic_ai"}
"""The module that speaks to each provider; it is imported when the first model of it is asked for."""

PROVIDERS = (*_ADAPTERS, "scripted", "echo")
"""Every provider, as it stands before the `:`."""


@runtime_checkable
class OpenModel(Model, Protocol):
    """A model that `async with` closes."""

    async def __aenter__(self) -> Self:
        """Return the model."""
        ...

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Let go of its connections."""
        ...


def get_model(
    spec: str,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    context_limit: int | None = None,
    max_retries: int = 2,
    timeout: float | None = None,
    **options: Any,
) -> OpenModel:
    """Return the model a spec names, as PROVIDER:MODEL; use it with `async with`. Nothing is sent before it is asked.

    Providers are `openai` (Chat Completions, also of any other server at `base_url`), `openai-responses`, `anthropic`, `pydantic-ai`
    (with a spec of theirs behind it), `scripted` (with a file behind it) and `echo`. `api_key` and `base_url` are by default those in
    the provider's environment variables. `context_limit` (tokens) wins over what the provider says and over what is listed; `timeout`
    (seconds) is how long to wait for the next piece of an answer; `options` go to the client of the provider's SDK. Raises
    InvalidModelSpec, ProviderNotFoundError, MissingExtra where the SDK is not installed, and InvalidInput for a missing key.
    """
    provider, model = provider_of(spec)
    if max_retries < 0:
        raise InvalidInput(f"max_retries says how often a request is repeated, at least 0 times, not {max_retries!r}.")
    settings = Settings(spec=spec, model=model, api_key=api_key, base_url=base_url, timeout=timeout, options=options)
    if provider not in _ADAPTERS:
        return _local(provider, settings, context_limit=context_limit)
    adapter = cast(Adapter, import_module(f"playhead.model.{_ADAPTERS[provider]}").connect(settings))
    return RemoteModel(adapter, name=spec, place=base_url or "", context_limit=context_limit, retry=Retry(times=max_retries))


def provider_of(spec: str) -> tuple[str, str]:
    """Return the provider a spec names, and its model there. Raises InvalidModelSpec, ProviderNotFoundError."""
    provider, colon, model = spec.partition(":") if isinstance(spec, str) else ("", "", "")
    if not colon or (not model and provider in (*_ADAPTERS, "scripted")):
        raise InvalidModelSpec(spec)
    if provider not in PROVIDERS:
        raise ProviderNotFoundError(provider, known=PROVIDERS)
    return provider, model


def _local(provider: str, settings: Settings, *, context_limit: int | None) -> OpenModel:
    """Return a model that needs no network, and so neither a key nor an address."""
    if settings.options or settings.base_url is not None:
        given = ", ".join([*settings.options, *(["base_url"] if settings.base_url is not None else [])])
        raise InvalidInput(f"The model {settings.spec} takes no {given}: it asks nobody.")
    return EchoModel(context_limit=context_limit) if provider == "echo" else load_script(settings.model, context_limit=context_limit)
