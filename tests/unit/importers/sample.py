"""A file of one format, as its tool writes it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PIXEL = "iVBORw0KGgo="


def at(second: int) -> str:
    """Return a date."""
    return f"2026-03-01T10:00:{second:02d}.000Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Records of one file, as JSON Lines or (with `document`) in a list of a JSON document."""

    format: str
    records: list[Any]
    document: str | None = None
    fields: dict[str, Any] | None = None
    shown: tuple[str, ...] = ()

    def body(self, records: list[Any] | None = None) -> bytes:
        """Return the file's text."""
        records = self.records if records is None else records
        if self.document is None:
            return b"".join(json.dumps(r).encode() + b"\n" for r in records)
        return json.dumps(records if not self.document else {**(self.fields or {}), self.document: records}, indent=1).encode()

    def write(self, path: Path, records: list[Any] | None = None) -> Path:
        """Write the file."""
        path.write_bytes(self.body(records))
        return path
