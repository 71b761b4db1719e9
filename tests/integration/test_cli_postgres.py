"""The program on tapes in PostgreSQL, as on those in files; what only files need it says so."""

from __future__ import annotations

import json
import re
import shlex

import anyio
import psycopg
import pytest

import playhead as ph
from tests.integration.program import Program
from tests.postgres import with_words
from tests.unit.store.moving import exported, files_of, furnish

TAPE = "support/42"


@pytest.fixture
def url(postgres_url: str) -> str:
    return with_words(postgres_url, durability="process", timeout=5)


def test_tapes_are_written_listed_read_and_searched(playhead: Program, url: str):
    for text in ("My VPN drops every hour.", "Since the update.", "The router is new."):
        playhead.json("append", "--tape", TAPE, text, "--store", url)
    assert [tape["tape"] for tape in playhead.json("ls", "--store", url)["tapes"]] == [TAPE]
    shown = playhead.json("show", "--tape", TAPE, "--store", url)
    assert [entry["id"] for entry in shown["entries"]] == [1, 2, 3]
    found = playhead.run("search", "update", "--tape", TAPE, "--store", url)
    assert (found.code, found.err) == (0, "")
    assert "Since the update." in found.out
    assert "VPN" not in found.out
    prompt = playhead.json("compile", "--tape", TAPE, "--store", url)
    assert "My VPN drops every hour." in str(prompt)


def test_branches_are_made_merged_and_removed(playhead: Program, url: str):
    playhead.json("append", "--tape", "t", "first", "--store", url)
    branch = playhead.json("fork", "t", "--store", url)["branch"]
    playhead.json("append", "--tape", branch, "second", "--store", url)
    playhead.json("merge", branch, "--store", url)
    texts = [entry["payload"].get("content") for entry in playhead.json("show", "--tape", "t", "--store", url)["entries"]]
    assert texts[:2] == ["first", "second"]


def test_a_tape_goes_from_a_file_to_the_server_and_back_with_its_uids(playhead: Program, url: str):
    for text in ("one", "two"):
        playhead.json("append", "--tape", "t", text)
    lines = playhead.run("export", "--tape", "t", "--as", "jsonl").out
    (playhead.place / "t.jsonl").write_text(lines)
    for _ in range(2):
        playhead.json("import", "t.jsonl", "--tape", "t", "--store", url)
    there = [json.loads(line) for line in playhead.run("export", "--tape", "t", "--as", "jsonl", "--store", url).out.splitlines()]
    assert [{**entry, "id": n} for n, entry in enumerate(there[-2:], 1)] == [json.loads(line) for line in lines.splitlines()]
    assert len([entry for entry in there if entry["kind"] == "message"]) == 2


def test_whole_tapes_go_to_the_server_and_come_back_the_same(playhead: Program, url: str):
    async def begin() -> dict[str, str]:
        async with ph.SQLiteTapeStore(playhead.store) as store:
            await furnish(store)
            return await exported(store, playhead.place / "wanted")

    wanted = anyio.run(begin)
    assert len(playhead.json("copy", "--to", url)["tapes"]) == 4
    playhead.json("copy", "--from", url, "--to", "sqlite:///again.db")
    for number, store in enumerate((url, "sqlite:///again.db")):
        playhead.json("export", "--store", store, "--to", f"export {number}")
        assert files_of(playhead.place / f"export {number}") == wanted
    playhead.json("rename", "support/42", "support/43", "--store", url)
    assert playhead.json("import", "--from", "export 0", "--store", url)["tapes"] == ["support/42"]


def test_older_entries_are_archived_on_the_server(playhead: Program, url: str):
    async def begin() -> None:
        async with ph.open_store(url) as store:
            await ph.Tape(store, "t").append_many([ph.user(f"the same words again and again, number {number}") for number in range(9)])

    anyio.run(begin)
    report = playhead.json("archive", "--tape", "t", "--below", "7", "--store", url)
    assert (report["upto"], report["entries"], report["after"] < report["before"]) == (6, 6, True)
    assert "up to entry 6" in playhead.run("archive", "--tape", "t", "--below", "7", "--store", url).out
    shown = playhead.json("show", "--tape", "t", "--store", url)
    assert [entry["payload"]["content"][-1] for entry in shown["entries"]] == [*"012345678"]


def test_a_store_is_proved_and_what_is_damaged_is_named(playhead: Program, url: str, postgres_url: str):
    for text in ("one", "two"):
        playhead.json("append", "--tape", "t", text, "--store", url)
    ran = playhead.run("verify", "--store", url)
    assert (ran.code, "1 tape, 2 entries, sound" in ran.out) == (0, True), ran.out + ran.err
    with psycopg.connect(postgres_url) as connection:
        connection.execute("UPDATE playhead.entries SET body = '{}' WHERE seq = 2")
    ran = playhead.run("verify", "--store", url)
    assert (ran.code, "tape 't', entry 2" in ran.out, "playhead export" in ran.err) == (1, True, True), ran.out + ran.err


@pytest.mark.parametrize("words", [("salvage",), ("backup", "copy.db")])
def test_what_looks_after_files_names_the_servers_own_tools(playhead: Program, url: str, words: tuple[str, ...]):
    ran = playhead.run(*words, "--store", url)
    assert ran.code != 0
    assert "pg_dump" in ran.error


def test_a_server_that_is_not_there_is_said_in_a_line_without_the_password(playhead: Program):
    ran = playhead.run("ls", "--store", "postgresql://agents:hunter2@127.0.0.1:1/agents?timeout=0.1")
    assert ran.code != 0
    assert "127.0.0.1" in ran.error
    assert "hunter2" not in ran.err + ran.out


SAYING = (("show", "--tape", "b"), ("search", "second", "--tape", "b"), ("export", "--tape", "b", "--as", "jsonl"), ("copy", "--to", "copied.db"), ("verify",), ("salvage",))
"""Commands that speak of damage, each with what to do."""


def test_what_is_said_of_a_damaged_server_names_a_command_that_keeps_what_can_be_read(playhead: Program, postgres_url: str, url: str):
    async def fill() -> None:
        async with ph.open_store(url) as store:
            for tape in "abc":
                await store.append_many(tape, [ph.TapeEntry.message({"role": "user", "content": f"{text} of {tape}"}) for text in ("first", "second", "third")])

    anyio.run(fill)
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("UPDATE playhead.entries SET body = '{}' WHERE convert_from(body, 'UTF8') LIKE '%second of b%'").rowcount == 1
    named = set()
    for words in SAYING:
        ran = playhead.run(*words, "--store", url)
        assert ran.code == 1, words
        named |= set(re.findall(r"`[^`]*playhead (export [^`]*)`", ran.err))
    (said,) = named
    kept = playhead.run(*shlex.split(said), "--json")
    lost = [{"tape": "b", "first": 2, "last": 2, "why": "it was not as it was written"}]
    assert (kept.code, kept.json["tapes"], kept.json["lost"]) == (1, ["a", "b", "c"], lost)
    there = playhead.json("import", "--from", "exported", "--to", "there.db")
    assert (there["tapes"], there["lost"]) == (["a", "b", "c"], lost)
    shown = playhead.json("show", "--tape", "b", "--all", "--store", "there.db")["entries"]
    assert [(entry["id"], entry["payload"].get("content", entry["payload"].get("name"))) for entry in shown] == [(1, "first of b"), (2, "salvage.lost"), (3, "third of b")]
    assert playhead.json("verify", "--store", "there.db")["is_sound"]
