"""Copying a SQLite store while it is in use: all of it, as it is at one moment."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

from playhead.errors import FileMissing, NameTaken
from playhead.store.condition.failures import typed
from playhead.store.drafts import discard_database, draft_of, take_name
from playhead.store.rows.connection import Place
from playhead.store.sqlite.upkeep.looking import looked_at


def backup(place: Place, target: Path) -> Path:
    """Copy a store to a new file, which appears whole or not at all, and return it; others may write meanwhile. Blocks.

    Raises NameTaken where something has that name, FileMissing, StoreUnavailable, StoreDamaged.
    Source: SQLite's online backup, https://sqlite.org/backup.html.
    """
    if not Path(place.path).exists():
        raise FileMissing(place.path)
    if target.exists():
        raise NameTaken(str(target))
    draft = draft_of(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        looked_at(place, partial(_copy, draft=draft))
        take_name(draft, target)
    except FileExistsError as exc:
        raise NameTaken(str(target)) from exc
    except (sqlite3.Error, OSError) as exc:
        raise typed(exc, path=str(target)) from exc
    finally:
        discard_database(draft)
    return target


def _copy(source: sqlite3.Connection, *, draft: Path) -> None:
    discard_database(draft)
    with closing(sqlite3.connect(draft, isolation_level=None)) as copy:
        source.backup(copy)
