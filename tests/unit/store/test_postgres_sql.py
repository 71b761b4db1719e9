"""The SQL of the PostgreSQL store keeps to what Citus and YugabyteDB run as well."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

from playhead.store.rows.statements import statements

FOLDER = files("playhead.store").joinpath("sql", "postgres")
SCRIPTS = {file.name.removesuffix(".sql"): re.sub(r"--.*", "", file.read_text("utf-8")) for file in FOLDER.iterdir()}
SCHEMA = ("schema", *sorted(name for name in SCRIPTS if name[:4].isdigit()))
OF_A_FAMILY = ("families", "tapes", "entries", "segments", "leases", "cursors", "search_volumes", "search_pages")
BY_NAME_ALONE = {"tape_names": "tenant, name_key", "blobs": "tenant, digest", "schema_version": "v"}
"""What finds a family, what is shared by all of them, and what says how the tables are made: small, and never in one statement that must be atomic with a family's."""

FORBIDDEN = {
    "order by a sequence": r"\b(BIG|SMALL)?SERIAL\d?\b|\bSEQUENCE\b|\bnextval\b|\bGENERATED\b|\bIDENTITY\b",
    "code in the server": r"\bTRIGGER\b|\bplpgsql\b|\bFUNCTION\b|\bPROCEDURE\b|\bDO\s+\$",
    "locks of whole tables": r"\bLOCK\s+TABLE\b",
    "tables that last as long as a session": r"\bTEMP(ORARY)?\b",
    "keys into other tables": r"\bREFERENCES\b|\bFOREIGN\s+KEY\b",
    "constraints that not every server has": r"\bDEFERRABLE\b|\bEXCLUDE\b|\bINHERITS\b",
    "indexes that not every server has": r"\bUSING\s+(gin|gist|brin)\b",
    "large objects and transaction ids": r"\blo_\w+\(|\bxid8\b|\bpg_snapshot\b|\btxid_|\bpg_current_xact_id\b",
    "another isolation than the one that is everywhere": r"\bSERIALIZABLE\b|\bREPEATABLE\s+READ\b",
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_statement_uses(what: str):
    pattern = re.compile(FORBIDDEN[what], re.IGNORECASE)
    assert {name: found.group() for name, text in SCRIPTS.items() if (found := pattern.search(text))} == {}


def test_the_guide_says_of_every_table_where_citus_keeps_it():
    guide = (Path(__file__).resolve().parents[3] / "docs" / "howto" / "postgres.md").read_text(encoding="utf-8")
    spread = dict(re.findall(r"create_distributed_table\('playhead\.(\w+)',\s*'(\w+)'", guide))
    everywhere = re.findall(r"create_reference_table\('playhead\.(\w+)'\)", guide)
    tables = re.findall(r"CREATE TABLE (\w+) \(", SCRIPTS["schema"])
    assert sorted([*spread, *everywhere]) == sorted(tables)
    assert [table for table, column in spread.items() if column == "root_id"] == [*(t for t in spread if t in OF_A_FAMILY)]
    together = re.findall(r"'playhead\.(\w+)',\s*'root_id', colocate_with => 'playhead\.families'", guide)
    assert {*together, "families"} == set(OF_A_FAMILY)
    for table, column in spread.items():
        (columns,) = re.findall(rf"CREATE TABLE {table} (\([^;]*);", SCRIPTS["schema"])
        (key,) = re.findall(r"PRIMARY KEY \(([^)]*)\)|(\w+)[^,(\n]*PRIMARY KEY", columns)
        assert column in re.split(r",\s*", "".join(key)), table


def test_what_is_kept_depends_on_no_advisory_lock_and_no_notice():
    """Each has a file of its own, whose statements touch no table."""
    for word, home in (("advisory", "locks"), ("notify", "notices")):
        assert [name for name, text in SCRIPTS.items() if word in text.lower()] == [home]
        assert not re.search(r"\b(FROM|INTO|UPDATE|JOIN)\b", SCRIPTS[home], re.IGNORECASE)


@pytest.mark.parametrize("script", SCHEMA)
def test_every_unique_key_of_a_family_begins_with_its_root(script: str):
    text = SCRIPTS[script]
    tables = dict(re.findall(r"CREATE TABLE (\w+) (\([^;]*);", text))
    assert set(OF_A_FAMILY) <= set(tables) or script != "schema"
    for table, columns in tables.items():
        (key,) = re.findall(r"PRIMARY KEY \(([^)]*)\)|(\w+)[^,(\n]*PRIMARY KEY", columns)
        assert "".join(key).startswith("root_id") or BY_NAME_ALONE.get(table) == "".join(key), table
    for table, columns in re.findall(r"CREATE (?:UNIQUE )?INDEX\s+\w+\s+ON\s+(\w+)\s*(?:USING \w+\s*)?\(([^)]*)", text):
        assert columns.startswith("root_id") or table in BY_NAME_ALONE, f"{table}: {columns}"
    assert not re.search(r"\bUNIQUE\s*\(", text)


def test_every_statement_on_a_family_names_its_root():
    """So each of them runs on one shard; only what goes through all names does not."""
    named = {f"{script}/{name}": text for script in SCRIPTS if script not in SCHEMA for name, text in statements(f"postgres/{script}").items()}
    assert len(named) > 30
    table = re.compile(rf"\b(?:FROM|JOIN|UPDATE|INTO)\s+({'|'.join(OF_A_FAMILY)})\b", re.IGNORECASE)
    everywhere = [name for name, text in named.items() if table.search(text) and "root_id" not in text]
    assert everywhere == []
    unbound = [name for name, text in named.items() if table.search(text) and not re.search(r"root_id\s*=\s*(%\(root\)|\()|VALUES \(%\(root\)|SELECT %\(root\)", text)]
    assert sorted(unbound) == ["blobs/number", "read/families", "read/names"]


def test_no_statement_scans_what_it_does_not_return():
    """Every `SELECT` of entries is bound to a tape, or goes through a family a page at a time."""
    for script in SCRIPTS:
        if script not in SCHEMA:
            for name, text in statements(f"postgres/{script}").items():
                if re.search(r"\bFROM entries\b|\bJOIN entries\b", text):
                    assert "tape_no =" in text or ("(tape_no, seq) > (" in text and "LIMIT" in text), f"{script}/{name}"
