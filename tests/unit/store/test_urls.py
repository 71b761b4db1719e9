from pathlib import Path

import pytest

from playhead.errors import InvalidInput
from playhead.store.file.store import FileTapeStore
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.postgres.store import PostgresTapeStore
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.store.urls import open_store


def test_memory_is_a_new_store_each_time():
    assert isinstance(open_store("memory:"), InMemoryTapeStore)
    assert open_store("memory:") is not open_store("memory:")


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///notes.db", Path.cwd() / "notes.db"),
        ("sqlite:///a/b c%20?.db?durability=disk", Path.cwd() / "a/b c%20?.db"),
        ("sqlite:////var/lib/notes.db", Path("/var/lib/notes.db")),
        ("notes.db", Path.cwd() / "notes.db"),
        ("/var/notes.sqlite", Path("/var/notes.sqlite")),
    ],
)
def test_a_file_is_named_by_url_or_by_path(url, path):
    store = open_store(url)
    assert isinstance(store, SQLiteTapeStore)
    assert store.path == path


def test_options_stand_behind_a_question_mark():
    store = open_store("sqlite:///x.db?durability=process&timeout=1.5")
    assert isinstance(store, SQLiteTapeStore)
    assert store.durability == "process"
    assert open_store("sqlite:///x.db").durability == "disk"
    assert open_store("file:x?durability=process").durability == "process"


@pytest.mark.parametrize("place", ["sqlite:///x.db", "file:x"])
def test_a_url_says_how_a_store_is_searched(place):
    assert open_store(place)._place.search == "index"
    assert open_store(f"{place}?search=scan")._place.search == "scan"
    with pytest.raises(InvalidInput, match="'index' or by 'scan'"):
        open_store(f"{place}?search=fts")


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("file:sessions", Path.cwd() / "sessions"),
        ("file:./a/b c%20", Path.cwd() / "a/b c%20"),
        ("file:/var/lib/sessions", Path("/var/lib/sessions")),
        ("file:///var/lib/sessions?timeout=2", Path("/var/lib/sessions")),
    ],
)
def test_a_directory_is_named_by_url(url, path):
    store = open_store(url)
    assert isinstance(store, FileTapeStore)
    assert store.path == path


@pytest.mark.parametrize(
    "url", ["", "notes", "file:", "file://", "file://host/sessions", "redis://x", "sqlite:", "sqlite:///", "sqlite://notes.db", "sqlite:/tmp/x.db", "sqlite:x.db", "http://x/y.db", "memory", 3]
)
def test_what_names_no_store_is_refused_with_what_does(url):
    with pytest.raises(InvalidInput, match="memory:, sqlite:///"):
        open_store(url)


@pytest.mark.parametrize("options", ["durability=none", "speed=1", "timeout=soon", "timeout=-1", "", "durability=disk&speed=1"])
def test_an_option_no_store_knows_is_refused_with_those_it_does(options):
    with pytest.raises(InvalidInput, match=r"durability|timeout"):
        open_store(f"sqlite:///x.db?{options}")


@pytest.mark.parametrize("place", ["sqlite:///x.db", "file:x", "postgresql://host/x"])
@pytest.mark.parametrize("seconds", ["inf", "nan", "-1", "1000001", "1e300"])
def test_a_timeout_has_an_end(place, seconds):
    with pytest.raises(InvalidInput, match="seconds from 0 to 1,000,000"):
        open_store(f"{place}?timeout={seconds}")


@pytest.mark.parametrize("kind", [SQLiteTapeStore, FileTapeStore, PostgresTapeStore])
@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), "30", None, 10**400])
def test_a_constructor_refuses_a_timeout_that_is_no_number_of_seconds(kind, seconds):
    with pytest.raises(InvalidInput, match="seconds from 0 to 1,000,000"):
        kind("postgresql://host/x", timeout=seconds)


@pytest.mark.parametrize("schema", ["information_schema", "pg_catalog", "pg_mine"])
def test_a_schema_of_the_server_itself_is_refused_with_one_to_take(schema):
    with pytest.raises(InvalidInput, match="such as 'playhead'"):
        open_store(f"postgresql://host/x?schema={schema}")
    assert isinstance(open_store("postgresql://host/x?schema=pgmine"), PostgresTapeStore)


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_a_database_is_named_by_the_url_that_libpq_takes(scheme):
    store = open_store(f"{scheme}://me:se%2Fcret@host:5433/db?schema=a%20b&tenant=t&durability=process&timeout=2&connections=3&search=scan&mode=ro&sslmode=require")
    server = store._server
    assert server.conninfo == f"{scheme}://me:se%2Fcret@host:5433/db?sslmode=require"
    assert (server.schema, server.tenant, server.durability, server.timeout, server.search, server.read_only) == ("a b", "t", "process", 2.0, "scan", True)
    assert (store.durability, "cret" in repr(store)) == ("process", False)


@pytest.mark.parametrize(
    "options", ["durability=none", "timeout=soon", "timeout=-1", "timeout=nan", "connections=0", "connections=many", "search=words", "mode=rx", "schema=", "speed=1", f"schema={'x' * 64}"]
)
def test_an_option_no_database_knows_is_refused_without_the_password(options):
    with pytest.raises(InvalidInput) as caught:
        open_store(f"postgresql://me:secret@host/db?{options}")
    assert "secret" not in str(caught.value)


def test_opening_by_url_touches_no_file(tmp_path):
    open_store(f"sqlite:///{tmp_path}/deep/notes.db")
    open_store(f"file:{tmp_path}/deep/sessions")
    assert list(tmp_path.iterdir()) == []
