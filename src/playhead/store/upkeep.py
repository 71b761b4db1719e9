"""Looking after a store: proving it, copying it while it is in use, and keeping what can be read of a damaged one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from playhead.errors import InvalidInput
from playhead.store.condition.flaws import VerifyReport
from playhead.store.condition.loss import SalvageReport
from playhead.store.urls import open_store

if TYPE_CHECKING:
    from playhead.store.file.store import FileTapeStore
    from playhead.store.postgres.server import Server
    from playhead.store.postgres.store import PostgresTapeStore
    from playhead.store.sqlite.store import SQLiteTapeStore

    Kept = str | os.PathLike[str] | SQLiteTapeStore | FileTapeStore

_JSONL = ".jsonl"
_URLS = ("sqlite:", "file:", "memory:", "postgresql:", "postgres:")
_SERVERS = ("postgresql://", "postgres://")
_WHAT = "a path or URL of a SQLite file or of a directory of tapes, or such a store"
_NO_BACKUP = (
    "A PostgreSQL store is copied by its server's own tools: pg_dump takes it as it is at one moment, while others write. "
    "Or `playhead export --to DIR` writes its tapes to a directory, which `playhead import --from DIR` takes into any store."
)
_NO_SALVAGE = (
    "What is damaged in PostgreSQL is mended by its server: restore what pg_dump or the archive of its log has kept. "
    "`playhead verify` says which entries are damaged, and `playhead export --to DIR` writes the tapes that can be read to a directory."
)


def verify(store: Kept | PostgresTapeStore) -> VerifyReport:
    """Read all of a store, given as one or by its path or URL, and return what is amiss; nothing is changed.

    Every entry is compared with its digest, every index and every record of the store with the entries; the indexes of a PostgreSQL store
    its server proves, with pg_amcheck. Others may use the store meanwhile. Blocks: in async code run it in a thread. Raises FileMissing, InvalidInput, StoreUnavailable, StoreOutdated, StoreBusy.
    """
    from playhead.store.file.upkeep import verify as files  # noqa: PLC0415 - only the one that is asked for
    from playhead.store.sqlite.upkeep import verify as sqlite  # noqa: PLC0415 - only the one that is asked for

    if (server := _server(store)) is not None:
        from playhead.store.postgres.upkeep.verify import verify as verify_server  # noqa: PLC0415 - needs the driver

        return verify_server(server)
    place = _place(store)
    return files.verify(place) if _is_directory(place) else sqlite.verify(place)


def salvage(place: str | os.PathLike[str]) -> SalvageReport:
    """Keep what can be read of a damaged store, given by its path or URL, or of one tape's file; a sound one is left as it is.

    A SQLite store is written anew beside the old file, which is not touched; of a directory of tapes each damaged file is replaced,
    and stays beside the new one as `...jsonl.damaged`. An event called `salvage.lost` stands for each lost entry whose number is known,
    so all others keep their ids. Nobody should use the store meanwhile. Blocks: in async code run it in a thread.
    Raises FileMissing, InvalidInput, StoreBusy, StoreUnavailable.
    """
    from playhead.store.file.upkeep.salvage import salvage as salvage_tape  # noqa: PLC0415 - most programs never need it
    from playhead.store.file.upkeep.salvage_store import salvage_store  # noqa: PLC0415
    from playhead.store.sqlite.upkeep.salvage import salvage as salvage_database  # noqa: PLC0415

    if not isinstance(place, str | os.PathLike):
        raise InvalidInput(f"A damaged store is named by its path or URL, not by {place!r}.")
    text = os.fspath(place)
    if _server(text) is not None:
        raise InvalidInput(_NO_SALVAGE)
    if isinstance(text, str) and text.endswith(_JSONL) and not text.startswith(_URLS) and not os.path.isdir(text):
        return salvage_tape(text)
    found = _place(place)
    return salvage_store(found.directory) if _is_directory(found) else salvage_database(found)


def backup(store: Kept | PostgresTapeStore, target: str | os.PathLike[str]) -> Path:
    """Copy a store, given as one or by its path or URL, to a new place, and return that: a store of the same kind.

    SQLite is copied as it is at one moment, of a directory of tapes each family is. Others may write meanwhile. Nothing is ever
    overwritten, and the copy appears whole or not at all. Blocks: in async code run it in a thread.
    Raises NameTaken where something has that name, FileMissing, InvalidInput, StoreUnavailable, StoreDamaged, StoreBusy.
    """
    from playhead.store.file.upkeep import backup as files  # noqa: PLC0415 - only the one that is asked for
    from playhead.store.sqlite.upkeep import backup as sqlite  # noqa: PLC0415 - only the one that is asked for

    if _server(store) is not None:
        raise InvalidInput(_NO_BACKUP)
    place = _place(store)
    if _is_directory(place):
        return files.backup(place, _target(target, kind="file:"))
    return sqlite.backup(place, _target(target, kind="sqlite:"))


def is_on_server(store: object) -> TypeGuard[str]:
    """Return whether a store is named by the URL of a PostgreSQL database."""
    return isinstance(store, str) and store.startswith(_SERVERS)


def _server(store: Any) -> Server | None:
    """Return where a PostgreSQL store is, None for any other one. Raises InvalidInput, MissingExtra."""
    from playhead.store.postgres.store import PostgresTapeStore  # noqa: PLC0415 - only what looks after stores imports them all

    if is_on_server(store):
        store = open_store(store)
    return store._server if isinstance(store, PostgresTapeStore) else None


def _place(store: Kept | PostgresTapeStore) -> Any:
    """Return where a store is: a place of the SQLite store, or of the file store."""
    from playhead.store.file.store import FileTapeStore  # noqa: PLC0415 - only what looks after stores imports them all
    from playhead.store.sqlite.store import SQLiteTapeStore  # noqa: PLC0415

    if isinstance(store, str | os.PathLike):
        store = _opened(os.fspath(store))
    if isinstance(store, SQLiteTapeStore | FileTapeStore):
        return store._place
    raise InvalidInput(f"What is looked after is kept on a disk: name {_WHAT}, not {store!r}.")


def _opened(text: str) -> Any:
    """Return the store of a path or URL, which is not opened."""
    from playhead.store.file.store import FileTapeStore  # noqa: PLC0415
    from playhead.store.sqlite.store import SQLiteTapeStore  # noqa: PLC0415

    if isinstance(text, str) and text.startswith(_URLS):
        return open_store(text)
    return FileTapeStore(text) if os.path.isdir(text) else SQLiteTapeStore(text)


def _is_directory(place: Any) -> bool:
    return hasattr(place, "directory")


def _target(target: str | os.PathLike[str], *, kind: str) -> Path:
    """Return the path of a target, which may be a URL of the same kind of store."""
    text = os.fspath(target)
    if not isinstance(text, str) or not text:
        raise InvalidInput(f"A backup is written to a path or URL, not to {target!r}.")
    if not text.startswith(_URLS):
        return Path(text).absolute()
    if not text.startswith(kind):
        raise InvalidInput(f"A backup is a store of the same kind, so its URL begins with {kind}, unlike {text!r}.")
    path: Path = open_store(text).path  # type: ignore[attr-defined]
    return path
