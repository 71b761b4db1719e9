"""Named SQL statements, read from the `.sql` files beside this module."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

_NAME = "-- name: "


@cache
def statements(file: str) -> Mapping[str, str]:
    """Return the statements of `sql/{file}.sql` by their names."""
    found: dict[str, str] = {}
    for part in script(file).split(_NAME)[1:]:
        name, _, text = part.partition("\n")
        found[name.strip()] = "\n".join(line for line in text.splitlines() if not line.startswith("--")).strip()
    return MappingProxyType(found)


@cache
def script(file: str) -> str:
    """Return the whole text of `sql/{file}.sql`."""
    return files("playhead.store").joinpath("sql", f"{file}.sql").read_text("utf-8")


@cache
def numbered(folder: str = "") -> tuple[str, ...]:
    """Return the names of the migrations in a folder of `sql`, in the order they are applied."""
    names = sorted(entry.name.removesuffix(".sql") for entry in files("playhead.store").joinpath("sql", folder).iterdir())
    return tuple(f"{folder}/{name}" if folder else name for name in names if name[:4].isdigit())
