"""What tests of code around playhead need: contracts to inherit, a clock to set."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playhead.testing.clock import FakeClock
    from playhead.testing.store_contract import StoreContract

__all__ = ["FakeClock", "StoreContract"]

_HOMES = {"FakeClock": "clock", "StoreContract": "store_contract"}

if not TYPE_CHECKING:  # a checker that sees it takes any misspelt name for granted

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'playhead.testing' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"playhead.testing.{_HOMES[name]}"), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
