"""Where the real conversations are that tests read; they are not part of the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def shared(*parts: str) -> Path:
    """Return a path below the shared data, or skip the test where it is absent."""
    place = os.environ.get("PLAYHEAD_DATA")
    roots = [Path(place)] if place else [p / "shared" / "data" for p in Path(__file__).resolve().parents]
    for root in roots:
        found = root.joinpath(*parts)
        if found.exists():
            return found
    pytest.skip(f"the shared data ({'/'.join(parts)}) is not here; set PLAYHEAD_DATA to the folder that holds it")
