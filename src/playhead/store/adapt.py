"""A whole store out of any store: what it lacks is done with the four methods it has."""

from __future__ import annotations

import inspect
from typing import cast

from playhead.errors import InvalidInput
from playhead.store.adapted.store import AdaptedStore
from playhead.store.adapted.tapes import FOUR, REST
from playhead.store.protocol import AsyncTapeStore, TapeStore, WholeStore


def adapt(store: TapeStore | AsyncTapeStore | WholeStore) -> WholeStore:
    """Return a store that has all that the handles use: the given one where it is whole, else one that falls back on its methods.

    Raises InvalidInput where one of the four methods is missing.
    """
    if isinstance(store, type) or not all(callable(getattr(store, name, None)) for name in FOUR):
        hint = f"; ph.open_store({store!r}) opens the store of a URL" if isinstance(store, str) else ""
        raise InvalidInput(f"A store has the methods {', '.join(FOUR)}; {store!r} does not{hint}.")
    return cast(WholeStore, store) if _is_whole(store) else AdaptedStore(store)


def _is_whole(store: object) -> bool:
    methods = [getattr(store, name, None) for name in ("list_tapes", "reset", "fetch_all", *REST) if name != "lock"]
    return isinstance(getattr(store, "promises", None), frozenset) and callable(getattr(store, "lock", None)) and all(map(inspect.iscoroutinefunction, methods))
