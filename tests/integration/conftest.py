"""What the tests of real programs share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.program import Program


@pytest.fixture
def playhead(tmp_path: Path) -> Program:
    return Program(tmp_path)
