"""A store by its URL."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

from playhead.errors import InvalidInput, StoreUnavailable
from playhead.store.protocol import WholeStore

_FORMS = "memory:, sqlite:///relative.db, sqlite:////absolute.db, file:DIRECTORY, or a path that ends in .db or .sqlite"
_OPTIONS = "durability=disk, durability=process, timeout=SECONDS, search=scan, mode=ro and, for SQLite, network=allow"
_SQLITE = "sqlite:///"
_FILE = "file:"
_LATER = ("postgresql:", "postgres:")
SUFFIXES = (".db", ".sqlite", ".sqlite3")
"""How the name of a SQLite file ends."""


def open_store(url: str) -> WholeStore:
    """Return the store that a URL names; it opens its file when it is first used.

    `memory:` is a new store in memory; `sqlite:///notes.db` is a file beside the program, `sqlite:////var/lib/notes.db` one
    anywhere, a bare path that ends in .db or .sqlite, too; `file:sessions` and `file:/var/lib/sessions` are directories of tapes.
    A path is taken as it stands, nothing in it is decoded; behind a `?` stand options: durability=disk|process, timeout=SECONDS,
    mode=ro|rw (ro: to be read only), search=index|scan (scan: without an index of words), and for SQLite network=refuse|allow.
    Raises InvalidInput for anything else, StoreUnavailable for stores that come in a later version.
    """
    if not isinstance(url, str):
        raise InvalidInput(f"A store's URL is a text, not {type(url).__name__}; use {_FORMS}.")
    if url == "memory:":
        from playhead.store.memory.store import InMemoryTapeStore  # noqa: PLC0415 - only the store that is asked for is imported

        return InMemoryTapeStore()
    if url.startswith(_SQLITE):
        return _sqlite(*_parts(url.removeprefix(_SQLITE), url, words=("durability", "network", "search", "mode")))
    if url.startswith(_FILE):
        return _file(*_parts(url.removeprefix(_FILE), url, words=("durability", "search", "mode")))
    if url.startswith(_LATER):
        raise StoreUnavailable(f"Stores at {url.partition(':')[0]}: are not available in this version; use {_FORMS}.", url=url)
    if url.endswith(SUFFIXES) and "://" not in url and not url.startswith("sqlite:"):
        return _sqlite(url, {})
    raise InvalidInput(f"{url!r} names no store; use {_FORMS}.", url=url)


def _sqlite(path: str, options: dict[str, Any]) -> WholeStore:
    from playhead.store.sqlite.store import SQLiteTapeStore  # noqa: PLC0415 - only the store that is asked for is imported

    if not path:
        raise InvalidInput(f"A store's URL names a file behind {_SQLITE}; use {_FORMS}.")
    return SQLiteTapeStore(path, **options)


def _file(path: str, options: dict[str, Any]) -> WholeStore:
    from playhead.store.file.store import FileTapeStore  # noqa: PLC0415 - only the store that is asked for is imported

    if path.startswith("///"):
        path = path.removeprefix("//")
    if not path or path.startswith("//"):
        raise InvalidInput(f"A store's URL names a directory on this machine behind {_FILE}; use {_FORMS}.")
    return FileTapeStore(path, **options)


def _parts(rest: str, url: str, *, words: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    """Return the path and the options of a URL."""
    path, mark, options = rest.rpartition("?")
    return (path, _options(options, url, words=words)) if mark else (options, {})


def _options(text: str, url: str, *, words: tuple[str, ...]) -> dict[str, Any]:
    given = dict(parse_qsl(text, keep_blank_values=True))
    try:
        options: dict[str, Any] = {"timeout": float(given.pop("timeout"))} if "timeout" in given else {}
    except ValueError as exc:
        raise InvalidInput(f"A store's timeout is a number of seconds: {url!r}.", url=url) from exc
    options |= {word: given.pop(word) for word in words if word in given}
    if "mode" in options:
        options["read_only"] = _is_read_only(options.pop("mode"), url)
    if given or not options:
        raise InvalidInput(f"{url!r} has options that no store knows; they are {_OPTIONS}.", url=url)
    return options


def _is_read_only(mode: str, url: str) -> bool:
    if mode not in ("ro", "rw"):
        raise InvalidInput(f"A store is opened with mode=ro, to be read only, or mode=rw: {url!r}.", url=url)
    return mode == "ro"
