"""What tests of code around playhead need: contracts to inherit, a clock to set, a model that follows a script."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playhead.model.scripted import ScriptedModel, call
    from playhead.testing.clock import FakeClock
    from playhead.testing.store_contract import StoreContract

__all__ = ["FakeClock", "ScriptedModel", "StoreContract", "call"]

_HOMES = {
    "FakeClock": "playhead.testing.clock",
    "ScriptedModel": "playhead.model.scripted",
    "StoreContract": "playhead.testing.store_contract",
    "call": "playhead.model.scripted",
}

if not TYPE_CHECKING:  # a checker that sees it takes any misspelt name for granted

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'playhead.testing' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
