"""The SQL: every statement fits the schema, reads use an index, migrations make the schema that is written down."""

import re
import sqlite3
import threading
from contextlib import closing

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.errors import PlayheadError, StoreDamaged, StoreOutdated, StoreUnavailable
from playhead.store.rows.connection import Place, connect, disconnect, migrate
from playhead.store.rows.statements import numbered, script, statements
from playhead.store.sqlite.store import SQLiteTapeStore

FILES = ("connection", "read", "write", "family", "search")
WALKS_ON_PURPOSE = {"names", "next_tape_no", "next_volume_no", "tables", "migrations"}


def fresh():
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection, path=":memory:")
    return connection


def shape(connection):
    found = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name").fetchall()
    return [(kind, name, table, " ".join(re.sub("--.*", "", sql).split())) for kind, name, table, sql in found]


def nothing_for(text):
    """Return a NULL for each parameter of a statement."""
    return [None] * max(text.count("?") - len(re.findall(r"\?\d", text)), *map(int, re.findall(r"\?(\d)", text)), 0, 0)


def opened(path):
    place = Place(path=str(path), durability="disk", timeout=1)
    lock = place.lock()
    disconnect(connect(place, lock=lock), lock=lock)


def test_migrations_make_the_schema_that_is_written_down():
    with closing(fresh()) as migrated, closing(sqlite3.connect(":memory:")) as written:
        written.executescript(script("schema"))
        assert shape(migrated) == shape(written)
        assert migrated.execute("SELECT v FROM schema_version").fetchall() == [(i,) for i in range(1, len(numbered()) + 1)]


def test_migrating_twice_changes_nothing():
    with closing(fresh()) as connection:
        before = connection.execute("SELECT * FROM schema_version").fetchall()
        migrate(connection, path=":memory:")
        assert connection.execute("SELECT * FROM schema_version").fetchall() == before


@pytest.mark.parametrize(("file", "name"), [(file, name) for file in FILES for name in statements(file)])
def test_every_statement_fits_the_schema(file, name):
    text = statements(file)[name]
    if name == "create_schema_version":
        return
    with closing(fresh()) as connection:
        connection.execute(f"EXPLAIN {text}", nothing_for(text))


@pytest.mark.parametrize(("file", "name"), [(file, name) for file in ("read", "write", "family", "search") for name in statements(file) if name not in WALKS_ON_PURPOSE])
def test_no_statement_goes_through_a_whole_table_or_sorts(file, name):
    text = statements(file)[name]
    with closing(fresh()) as connection:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", nothing_for(text))]
    assert not [step for step in plan if step.startswith("SCAN") and not re.match(r"SCAN (\(subquery|l VIRTUAL TABLE|t USING INDEX tapes_reset|(\d+ )?CONSTANT)", step)], plan
    assert not [step for step in plan if "TEMP B-TREE" in step], plan


def test_a_store_of_a_newer_version_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "tapes.db"
    opened(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO schema_version VALUES (99, 0, 'of tomorrow')")
    before = path.read_bytes()
    with pytest.raises(StoreOutdated, match="upgrade playhead"):
        opened(path)
    assert path.read_bytes() == before


def test_a_store_whose_migration_is_not_ours_is_refused(tmp_path):
    path = tmp_path / "tapes.db"
    opened(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE schema_version SET checksum = 'other'")
    with pytest.raises(StoreDamaged, match="not one that playhead made"):
        opened(path)


def test_a_database_of_another_program_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE schema_version (v TEXT)")
    before = path.read_bytes()
    with pytest.raises(StoreUnavailable, match="another program"):
        opened(path)
    assert path.read_bytes() == before


def test_a_migration_that_fails_leaves_nothing_behind(tmp_path):
    path = tmp_path / "tapes.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE schema_version (v INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL, checksum TEXT NOT NULL)")
        connection.execute("CREATE TABLE tape_names (name TEXT)")
        with pytest.raises(sqlite3.OperationalError, match="already exists"):
            migrate(connection, path=str(path))
        assert [name for _, name, _, _ in shape(connection)] == ["schema_version", "tape_names"]


def test_many_stores_may_make_the_same_file_at_once(tmp_path):
    failures = []

    def use(who):
        async def go():
            async with SQLiteTapeStore(tmp_path / "tapes.db") as store:
                await store.append("t", TapeEntry.event(who))

        try:
            anyio.run(go)
        except PlayheadError as exc:
            failures.append(exc)

    threads = [threading.Thread(target=use, args=(str(i),)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with closing(sqlite3.connect(tmp_path / "tapes.db")) as connection:
        assert connection.execute("SELECT count(*) FROM entries").fetchone() == (6,)
        assert connection.execute("SELECT count(*) FROM schema_version").fetchone() == (len(numbered()),)
