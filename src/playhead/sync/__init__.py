"""The same names without `await`: blocking twins, served by one event loop in a thread of its own.

The loop starts with the first call and serves them all, from whichever thread they come, also from one that runs an
event loop itself. It ends with the process; a forked child starts its own. `wait` runs any other async function on it.
"""

# Written by `python -m scripts.twins` from the table there and from the source of the async names.

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playhead.sync.agent import Agent, Inbox, RunStream
    from playhead.sync.calls import (
        compile,
        copy_store,
        copy_tape,
        diff,
        export_store,
        gc_blobs,
        get_model,
        import_file,
        import_items,
        import_store,
        open_store,
        open_tape,
        resolved,
        unused_blobs,
        usage_of,
        without_media,
    )
    from playhead.sync.manager import ContextManager
    from playhead.sync.model import Model
    from playhead.sync.portal import wait
    from playhead.sync.query import TapeQuery
    from playhead.sync.scope import Scope
    from playhead.sync.store import WholeStore
    from playhead.sync.tape import Branch, Tape

__all__ = [
    "Agent",
    "Branch",
    "ContextManager",
    "Inbox",
    "Model",
    "RunStream",
    "Scope",
    "Tape",
    "TapeQuery",
    "WholeStore",
    "compile",
    "copy_store",
    "copy_tape",
    "diff",
    "export_store",
    "gc_blobs",
    "get_model",
    "import_file",
    "import_items",
    "import_store",
    "open_store",
    "open_tape",
    "resolved",
    "unused_blobs",
    "usage_of",
    "wait",
    "without_media",
]

_HOME_OF = {
    "Agent": "agent",
    "Inbox": "agent",
    "RunStream": "agent",
    "compile": "calls",
    "copy_store": "calls",
    "copy_tape": "calls",
    "diff": "calls",
    "export_store": "calls",
    "gc_blobs": "calls",
    "get_model": "calls",
    "import_file": "calls",
    "import_items": "calls",
    "import_store": "calls",
    "open_store": "calls",
    "open_tape": "calls",
    "resolved": "calls",
    "unused_blobs": "calls",
    "usage_of": "calls",
    "without_media": "calls",
    "ContextManager": "manager",
    "Model": "model",
    "wait": "portal",
    "TapeQuery": "query",
    "Scope": "scope",
    "WholeStore": "store",
    "Branch": "tape",
    "Tape": "tape",
}

if not TYPE_CHECKING:  # a checker that sees it takes any misspelt name for granted

    def __getattr__(name: str) -> object:
        if name not in _HOME_OF:
            raise AttributeError(f"module 'playhead.sync' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"playhead.sync.{_HOME_OF[name]}"), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
