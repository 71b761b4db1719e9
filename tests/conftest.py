"""What holds for every test."""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.postgres import Databases

PATIENCE = 10.0


@pytest.fixture(autouse=True)
def no_store_is_left_open() -> Iterator[None]:
    """Fail a test that leaves the threads of a store behind, and so would disturb those after it."""
    before = set(threading.enumerate())
    yield
    left = _new_threads(before)
    if left:
        gc.collect()
        for thread in left:
            thread.join(PATIENCE)
        left = _new_threads(before)
    assert not left, f"a store was left open: {left}"


def _new_threads(before: set[threading.Thread]) -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("playhead ") and thread not in before]


@pytest.fixture(scope="session")
def postgres() -> Databases:
    """Return the databases of this process on a PostgreSQL server, or skip the test where there is none."""
    from tests.postgres import databases

    return databases()


@pytest.fixture
def postgres_url(postgres: Databases) -> Iterator[str]:
    """Yield the URL of a PostgreSQL database whose tables are there and empty."""
    with postgres.database() as url:
        yield url


@pytest.fixture
def empty_postgres_url(postgres: Databases) -> Iterator[str]:
    """Yield the URL of a PostgreSQL database in which nothing was made yet."""
    with postgres.empty() as url:
        yield url


@pytest.fixture
def store_place(kind: str, request: pytest.FixtureRequest) -> Iterator[Path]:
    """Yield an empty place for a store of the `kind` that the test is run with, one of `tests.stores`."""
    from tests.stores import place

    if kind == "postgres":
        request.getfixturevalue("postgres")
    with place([kind]) as made:
        yield made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let what was printed or logged pass between processes: half a surrogate pair, as odd file names have, would end them."""
    report = yield
    report.sections = [(name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections]
    return report
