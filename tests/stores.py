"""The stores that ship, for tests that run on all of them: a new one is one line here."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import playhead as ph

URL = "database.url"

KEPT: dict[str, Callable[..., Any]] = {
    "sqlite": lambda place, **options: ph.SQLiteTapeStore(place / "tapes.db", **options),
    "file": lambda place, **options: ph.FileTapeStore(place / "tapes", **options),
    "postgres": lambda place, **options: ph.PostgresTapeStore((place / URL).read_text(), **options),
}
"""Opens the store of a kind at a place, for those that outlive the process."""


def opened(kind: str, place: Path, **options: Any) -> Any:
    """Return the store of a kind at a place, "memory" or one of KEPT; all but memory open the same store at the same place again."""
    return ph.InMemoryTapeStore() if kind == "memory" else KEPT[kind](place, **options)


def kept() -> list[str]:
    """Return the kinds of KEPT that can be opened here: all, or all but PostgreSQL where there is no server."""
    from tests.postgres.databases import known

    return [kind for kind in KEPT if kind != "postgres" or known()]


@contextmanager
def place(kinds: Iterable[str] = KEPT) -> Iterator[Path]:
    """Yield an empty place for stores of some kinds: a folder, with the URL of an empty database in it where one of them is PostgreSQL and a server is here."""
    from tests.postgres.databases import known

    found = known() if "postgres" in kinds else None
    with tempfile.TemporaryDirectory(prefix="playhead-") as folder, found.database() if found else nullcontext("") as url:
        (Path(folder) / URL).write_text(url)
        yield Path(folder)
