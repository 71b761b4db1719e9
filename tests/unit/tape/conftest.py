from pathlib import Path

import pytest

from tests.unit.tape.opened import KINDS, use


@pytest.fixture(params=KINDS)
def each_store(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Run a test on a store of each kind."""
    use(request.param, tmp_path)
