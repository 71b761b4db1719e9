"""A store by its URL."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote

from playhead.errors import InvalidInput
from playhead.store.protocol import WholeStore

_FORMS = "memory:, sqlite:///relative.db, sqlite:////absolute.db, file:DIRECTORY, postgresql://HOST/DATABASE, or a path that ends in .db or .sqlite"
_OPTIONS = "durability=disk, durability=process, timeout=SECONDS, search=scan, mode=ro and, for SQLite, network=allow"
_SQLITE = "sqlite:///"
_FILE = "file:"
_POSTGRES = ("postgresql://", "postgres://")
_POSTGRES_WORDS = ("durability", "timeout", "mode", "search", "schema", "tenant", "connections")
SUFFIXES = (".db", ".sqlite", ".sqlite3")
"""How the name of a SQLite file ends."""


def open_store(url: str) -> WholeStore:
    """Return the store that a URL names; it opens its file when it is first used.

    `memory:` is a new store in memory; `sqlite:///notes.db` is a file beside the program, `sqlite:////var/lib/notes.db` one
    anywhere, a bare path that ends in .db or .sqlite, too; `file:sessions` and `file:/var/lib/sessions` are directories of tapes.
    A path is taken as it stands, nothing in it is decoded; behind a `?` stand options: durability=disk|process, timeout=SECONDS,
    mode=ro|rw (ro: to be read only), search=index|scan (scan: without an index of words), and for SQLite network=refuse|allow.
    `postgresql://user@host:5432/database` is a database; it takes the same options, schema=, tenant= and connections= besides, and
    hands all others to libpq, such as sslmode=require.
    Raises InvalidInput for anything else, MissingExtra where what speaks to PostgreSQL is not installed.
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
    if url.startswith(_POSTGRES):
        return _postgres(url)
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


def _postgres(url: str) -> WholeStore:
    from playhead.store.postgres.store import PostgresTapeStore  # noqa: PLC0415 - only the store that is asked for is imported

    place, _, text = url.partition("?")
    given = [part.partition("=") for part in text.split("&") if part]
    ours = {word: unquote(value) for word, _, value in given if word in _POSTGRES_WORDS}
    libpq = "&".join(f"{word}{sign}{value}" for word, sign, value in given if word not in ours)
    shown = place.rpartition("@")[2]
    options: dict[str, Any] = {word: ours.pop(word) for word in ("durability", "search", "schema", "tenant") if word in ours}
    if "mode" in ours:
        options["read_only"] = _is_read_only(ours["mode"], shown)
    try:
        options |= {word: kind(ours[word]) for word, kind in (("timeout", float), ("connections", int)) if word in ours}
    except ValueError as exc:
        raise InvalidInput(f"A store's timeout is a number of seconds, its connections a whole number: the URL of the store at {shown!r}.") from exc
    return PostgresTapeStore(f"{place}?{libpq}" if libpq else place, **options)


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
