"""What `get_model` was given, checked, and how a provider's package is found."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from playhead.errors import InvalidInput, MissingExtra


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to reach a model: its name at the provider, the key, the address, the seconds to wait, and options of the SDK's client."""

    spec: str
    model: str
    api_key: str | None
    base_url: str | None
    timeout: float | None
    options: Mapping[str, Any]

    def __post_init__(self) -> None:
        if self.base_url is not None and (urlsplit(self.base_url).scheme not in ("http", "https") or not urlsplit(self.base_url).netloc):
            raise InvalidInput(f"base_url is an address such as http://localhost:8000/v1, not {self.base_url!r}.")
        if self.timeout is not None and not self.timeout > 0:
            raise InvalidInput(f"A timeout is a number of seconds above 0, not {self.timeout!r}.")

    @property
    def client_options(self) -> dict[str, Any]:
        """What the client of an SDK takes: it repeats nothing by itself, for `model/retry.py` does."""
        address = {"base_url": self.base_url} if self.base_url is not None else {}
        return {"max_retries": 0, **address, **({"timeout": self.timeout} if self.timeout is not None else {}), **self.options}

    def made(self, client: Callable[..., Any], **more: Any) -> Any:
        """Return a client of these settings; raises InvalidInput for options it does not take."""
        try:
            return client(**{**self.client_options, **more})
        except TypeError as exc:
            raise InvalidInput(f"The options of {self.spec} are not taken: {exc}. Options of get_model go to {client.__name__}.") from exc

    def require_key(self, *variables: str) -> str:
        """Return the key given, else the one in the first of the environment variables that has one; raises InvalidInput where none has."""
        found = self.api_key or next((value for name in variables if (value := os.environ.get(name))), None)
        if not found:
            raise InvalidInput(f"The model {self.spec} needs a key: set {' or '.join(variables)} in the environment, or pass api_key= to get_model.")
        return found


def package(name: str, *, extra: str, what: str) -> Any:
    """Return a provider's package; raises MissingExtra where it is not installed."""
    try:
        return import_module(name)
    except ImportError as exc:
        raise MissingExtra(extra, what) from exc
