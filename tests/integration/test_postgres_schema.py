"""The tables of a PostgreSQL store: made once, however many make them, refused where they are another's, and asked by their indexes alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from random import Random
from urllib.parse import urlsplit

import anyio
import psycopg
import pytest
from psycopg import sql

from playhead.entry.entry import TapeEntry
from playhead.errors import InvalidInput, ReadOnly, StoreBusy, StoreDamaged, StoreError, StoreOutdated, StoreUnavailable
from playhead.store.change import Fork
from playhead.store.family import branch_name
from playhead.store.postgres.store import PostgresTapeStore
from playhead.store.protocol import Head
from playhead.store.query import TapeQuery
from playhead.store.rows.statements import script
from playhead.testing.stage import keyed, note
from tests.postgres import Databases

TABLES = """
SELECT c.relkind::text, c.relname, c.reloptions, pg_get_partkeydef(c.oid), pg_get_expr(c.relpartbound, c.oid)
FROM pg_class c WHERE c.relnamespace = %(schema)s::regnamespace ORDER BY 2
"""
COLUMNS = """
SELECT c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid), a.attstorage::text
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE c.relnamespace = %(schema)s::regnamespace AND a.attnum > 0 ORDER BY 1, 2
"""
INDEXES = "SELECT indexname, replace(indexdef, %(schema)s || '.', '') FROM pg_indexes WHERE schemaname = %(schema)s ORDER BY 1"


def connected(url: str) -> psycopg.Connection:
    return psycopg.connect(url, autocommit=True)


def play(url: str, scenario: Callable[[PostgresTapeStore], Awaitable[object]], **options: object) -> object:
    async def played() -> object:
        async with PostgresTapeStore(url, **options) as store:
            return await scenario(store)

    return anyio.run(played)


async def used(store: PostgresTapeStore) -> None:
    await store.append("t", TapeEntry.event("x"))


def test_the_migrations_make_the_schema(empty_postgres_url: str):
    play(empty_postgres_url, used)
    with connected(empty_postgres_url) as connection:
        connection.execute("CREATE SCHEMA written")
        connection.execute("SET search_path = written")
        connection.execute(script("postgres/schema"))
        for catalogue in (TABLES, COLUMNS, INDEXES):
            made, written = (connection.execute(catalogue, {"schema": schema}).fetchall() for schema in ("playhead", "written"))
            assert made == written
            assert len(made) > 5


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_many_who_come_first_at_the_same_time_make_the_tables_once(empty_postgres_url: str, backend: str):
    async def scenario() -> None:
        stores = [PostgresTapeStore(empty_postgres_url) for _ in range(8)]
        async with anyio.create_task_group() as tasks:
            for n, store in enumerate(stores):
                tasks.start_soon(store.append, f"t {n % 2}", TapeEntry.event(str(n)))
        assert await stores[0].list_tapes() == ["t 0", "t 1"]
        assert [await store.head("t 1") for store in stores] == [Head(0, 4)] * 8
        for store in stores:
            await store.aclose()

    anyio.run(scenario, backend=backend)


def test_a_schema_of_a_newer_version_is_refused(empty_postgres_url: str):
    play(empty_postgres_url, used)
    with connected(empty_postgres_url) as connection:
        connection.execute("INSERT INTO playhead.schema_version (v, checksum) SELECT max(v) + 1, 'of the future' FROM playhead.schema_version")
    for options in ({}, {"read_only": True}):
        with pytest.raises(StoreOutdated, match="upgrade playhead"):
            play(empty_postgres_url, lambda store: store.list_tapes(), **options)


def test_a_migration_that_is_not_ours_is_refused(empty_postgres_url: str):
    play(empty_postgres_url, used)
    with connected(empty_postgres_url) as connection:
        connection.execute("UPDATE playhead.schema_version SET checksum = 'another'")
    with pytest.raises(StoreDamaged):
        play(empty_postgres_url, used)


def test_tables_of_another_program_are_left_alone(empty_postgres_url: str):
    with connected(empty_postgres_url) as connection:
        connection.execute("CREATE SCHEMA playhead")
        connection.execute("CREATE TABLE playhead.entries (mine text)")
    with pytest.raises(StoreError, match="another"):
        play(empty_postgres_url, used)
    play(empty_postgres_url, used, schema="a schema of its own")
    with connected(empty_postgres_url) as connection:
        assert connection.execute("SELECT * FROM playhead.entries").fetchall() == []


def test_schemas_and_tenants_see_nothing_of_each_other(empty_postgres_url: str):
    places = [{}, {"schema": 'odd " name'}, {"tenant": "one"}, {"tenant": "other"}, {"schema": "x" * 63, "tenant": "one"}]
    for n, options in enumerate(places):
        play(empty_postgres_url, lambda store, n=n: store.append_many("t", [keyed(str(n), "k")]), **options)
    for n, options in enumerate(places):
        (entry,) = play(empty_postgres_url, lambda store: store.fetch_all(TapeQuery(tape="t")), **options)
        assert (entry.id, entry.payload["text"]) == (1, str(n))


@pytest.mark.parametrize("options", [{"schema": ""}, {"schema": "x" * 64}, {"schema": "a\0b"}, {"durability": "memory"}, {"timeout": -1}, {"connections": 0}, {"tenant": "a\0b"}])
def test_an_option_that_cannot_be_is_refused_at_once(options: dict[str, object]):
    with pytest.raises(InvalidInput):
        PostgresTapeStore("postgresql://localhost/x", **options)


@pytest.mark.parametrize("conninfo", ["", "no such word=1", "sqlite:///x.db", None, 7])
def test_what_names_no_database_is_refused_at_once(conninfo: object):
    with pytest.raises(InvalidInput):
        PostgresTapeStore(conninfo)


def test_an_encoding_that_cannot_hold_every_text_is_refused(postgres: Databases, empty_postgres_url: str):
    name = f"{urlsplit(empty_postgres_url).path[1:]}_latin"
    with connected(empty_postgres_url) as connection:
        connection.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
        try:
            with pytest.raises(StoreUnavailable, match="UTF8"):
                play(postgres.url(name), used)
        finally:
            connection.execute(f"DROP DATABASE {name}")


@pytest.fixture
def role(postgres: Databases, empty_postgres_url: str) -> Iterator[tuple[str, str]]:
    """Yield the name of a role without rights and the URL by which it reaches the database."""
    name = f"role_{urlsplit(empty_postgres_url).path[1:]}"
    with connected(empty_postgres_url) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'secret word'").format(sql.Identifier(name)))
        host, port = postgres.address
        yield name, f"postgresql://{name}:secret%20word@{host}:{port}{urlsplit(empty_postgres_url).path}"
        connection.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(name)))
        connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


def test_a_role_that_may_not_make_the_schema_is_told_so_and_uses_one_that_was_made(empty_postgres_url: str, role: tuple[str, str]):
    name, url = role
    with pytest.raises(StoreUnavailable, match="right"):
        play(url, used)
    play(empty_postgres_url, used)
    with pytest.raises(StoreUnavailable, match="right"):
        play(url, used)
    with connected(empty_postgres_url) as connection:
        connection.execute(f"GRANT USAGE ON SCHEMA playhead TO {name}; GRANT SELECT ON ALL TABLES IN SCHEMA playhead TO {name}")
    assert play(url, lambda store: store.head("t"), read_only=True) == Head(0, 1)
    with pytest.raises(StoreUnavailable, match="right"):
        play(url, used)
    with connected(empty_postgres_url) as connection:
        connection.execute(f"GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA playhead TO {name}")
    play(url, used)
    assert play(url, lambda store: store.head("t")) == Head(0, 2)


def test_the_time_outs_of_a_role_end_nothing(empty_postgres_url: str, role: tuple[str, str]):
    name, url = role
    play(empty_postgres_url, used)
    with connected(empty_postgres_url) as connection:
        connection.execute(f"GRANT USAGE ON SCHEMA playhead TO {name}; GRANT ALL ON ALL TABLES IN SCHEMA playhead TO {name}")
        connection.execute(f"ALTER ROLE {name} SET statement_timeout = '25ms'; ALTER ROLE {name} SET idle_session_timeout = '25ms'")

    said = Random(1).randbytes(8 << 20).hex()

    async def large(store: PostgresTapeStore) -> Head:
        await store.append("t", TapeEntry.event("x", {"said": said}))
        return await store.head("t")

    assert play(url, large, timeout=3, inline_limit=None) == Head(0, 2)


def test_a_wrong_password_is_never_shown(role: tuple[str, str]):
    _, url = role
    store = PostgresTapeStore(url.replace("secret%20word", "wrong%20word"), timeout=0.2)
    with pytest.raises(StoreUnavailable) as caught:
        anyio.run(store.list_tapes)
    anyio.run(store.aclose)
    for said in (str(caught.value), repr(caught.value), repr(caught.value.details), repr(store)):
        assert "wrong word" not in said
        assert "wrong%20word" not in said


def refused(url: str) -> StoreError | InvalidInput:
    """Return the error of a store that is opened at an address that cannot be, after asserting that it says so soon."""
    with pytest.raises((StoreError, InvalidInput)) as caught:
        play(url, used, timeout=0.2)
    return caught.value


def test_what_is_wrong_with_an_address_is_said(role: tuple[str, str]):
    _, url = role
    place = urlsplit(url)
    for wrong, words in {"?sslmode=mostly": "sslmode", "?keepalives=often": "keepalives", "?connect_timeout=x": "connect_timeout"}.items():
        error = refused(url + wrong)
        assert isinstance(error, InvalidInput)
        assert words in error.message
    error = refused(url.replace(f":{place.port}/", ":99999/"))
    assert isinstance(error, InvalidInput)
    assert "port number" in error.message
    for wrong, words in {
        url.replace(place.path, "/not_there"): "no such database",
        url.replace("secret%20word", "wrong"): "check the user, the password",
        url.replace("//role_", "//roll_"): "check the user, the password",
        url.replace(f":{place.port}/", ":1/"): "check that it runs",
    }.items():
        error = refused(wrong)
        assert isinstance(error, StoreUnavailable)
        assert words in error.message


def test_a_server_that_does_not_speak_tls_is_said_to_be_so(postgres: Databases, role: tuple[str, str]):
    if postgres.server is None:
        pytest.skip("the server that is named may speak TLS")
    error = refused(f"{role[1]}?sslmode=require")
    assert isinstance(error, StoreUnavailable)
    assert "another sslmode" in error.message


def test_a_limit_of_connections_is_named(empty_postgres_url: str, role: tuple[str, str]):
    name, url = role
    play(empty_postgres_url, used)
    with connected(empty_postgres_url) as connection:
        connection.execute(f"GRANT USAGE ON SCHEMA playhead TO {name}; GRANT ALL ON ALL TABLES IN SCHEMA playhead TO {name}; ALTER ROLE {name} CONNECTION LIMIT 1")
        with pytest.raises(StoreBusy, match="CONNECTION LIMIT, with ALTER ROLE"):
            play(url, used, timeout=0.2)
        connection.execute(f"ALTER ROLE {name} CONNECTION LIMIT -1; ALTER DATABASE {urlsplit(url).path[1:]} CONNECTION LIMIT 1")
        with pytest.raises(StoreBusy, match="CONNECTION LIMIT, with ALTER DATABASE"):
            play(url, used, timeout=0.2)
    assert play(empty_postgres_url, lambda store: store.head("t")) == Head(0, 1)


def test_a_store_that_only_reads_makes_and_writes_nothing(empty_postgres_url: str):
    with pytest.raises(StoreUnavailable, match="read_only"):
        play(empty_postgres_url, lambda store: store.list_tapes(), read_only=True)
    with connected(empty_postgres_url) as connection:
        assert connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'playhead'").fetchall() == []
    play(empty_postgres_url, used)

    async def refused(store: PostgresTapeStore) -> None:
        assert (await store.head("t")).id == 1
        calls = (
            lambda: store.append("t", TapeEntry.event("x")),
            lambda: store.reset("t"),
            lambda: store.apply([Fork(tape=branch_name("t", "b"), parent="t")]),
            lambda: store.rename("t", "u"),
            lambda: store.lease("t", owner="o", seconds=1),
            lambda: store.move_cursor("t", "c", Head(0, 1)),
        )
        for call in calls:
            with pytest.raises(ReadOnly):
                await call()

    play(empty_postgres_url, refused, read_only=True)


def test_what_no_index_could_hold_is_kept_and_found(postgres_url: str):
    """Keys, uids, kinds, names of anchors and of consumers that are longer than a page and do not compress."""
    long = "".join(chr(0x4E00 + n * 7919 % 20_000) for n in range(20_000))

    async def scenario(store: PostgresTapeStore) -> None:
        tape = "name " + long
        first = await store.append_many(tape, [keyed("x", "key " + long), note("y", uid="uid " + long), TapeEntry.anchor("anchor " + long), TapeEntry(0, "kind " + long, {}, {})])
        assert await store.append_many(tape, [keyed("x", "key " + long)]) == first[:1]
        assert await store.find(tape, keys=["key " + long], uids=["uid " + long]) == {"key " + long: first[0], "uid " + long: first[1]}
        assert list(await store.fetch_all(TapeQuery(tape=tape).kinds("kind " + long))) == [first[3]]
        assert list(await store.fetch_all(TapeQuery(tape=tape).after_anchor("anchor " + long))) == [first[3]]
        await store.move_cursor(tape, "consumer " + long, Head(0, 2))
        assert await store.cursor(tape, "consumer " + long) == Head(0, 2)
        assert (await store.lease(tape, owner="owner " + long, seconds=60)).epoch == 1
        assert await store.list_tapes() == [tape]

    play(postgres_url, scenario)
