"""verify, salvage, backup: a damaged store is told from a sound one, made the best of, and copied while it is used."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.integration.program import Program

TAPE = "support/42"


@pytest.fixture
def filled(playhead: Program) -> Program:
    for number in range(1, 6):
        playhead.json("append", "--tape", TAPE, f"message {number}")
    return playhead


def damage(store: Path) -> None:
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("UPDATE entries SET body = CAST(replace(CAST(body AS TEXT), 'message 3', 'massage 3') AS BLOB)")
        connection.commit()


def test_a_sound_store_is_told_so(filled: Program):
    ran = filled.run("verify")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"sqlite:///{filled.store}: 1 tape, 5 entries, sound\n"
    told = filled.json("verify")
    assert (told["is_sound"], told["tapes"], told["entries"], told["flaws"], told["more"]) == (True, 1, 5, [], 0)


def test_damage_is_named_with_what_to_do(filled: Program):
    damage(filled.store)
    ran = filled.run("verify")
    assert ran.code == 1
    assert ran.out.splitlines()[0].endswith("not sound")
    assert f"damage   tape '{TAPE}', entry 3: it is not as it was written" in ran.out
    assert "playhead salvage`" in ran.error
    told = filled.run("verify", "--json")
    assert (told.code, told.err) == (1, "")
    assert told.json["flaws"] == [{"severity": "damage", "where": f"tape '{TAPE}', entry 3", "what": "it is not as it was written", "tape": TAPE, "entry": 3}]


def test_who_reads_what_is_damaged_is_told_of_salvage(filled: Program):
    damage(filled.store)
    for words in (("show", "--tape", TAPE), ("compile", "--tape", TAPE)):
        ran = filled.run(*words)
        assert ran.code == 1
        assert "restore a backup, or keep what can be read with `" in ran.error, words
        assert ran.error.endswith("playhead salvage`."), words


def test_an_export_keeps_what_can_be_read_and_says_what_it_could_not(filled: Program):
    filled.json("append", "--tape", "other", "sound")
    damage(filled.store)
    ran = filled.run("export", "--to", "exported")
    assert (ran.code, ran.out.splitlines()) == (1, ["exported 2 tapes to exported: 6 entries", "other", TAPE])
    assert ran.error == f"warning: lost: tape '{TAPE}', entry 3: it was not as it was written"
    ran = filled.run("import", "--from", "exported", "--to", "there.db")
    assert (ran.code, ran.error) == (0, f"warning: lost: tape '{TAPE}', entry 3: it was not as it was written")
    assert filled.json("import", "--from", "exported", "--to", "there.db", "--tape", "other")["lost"] == []
    piped = filled.run("export", "--to", "-")
    assert piped.code == 1
    assert "lost: tape 'support/42', entry 3" in piped.err


def test_a_copy_of_what_is_damaged_names_salvage_of_the_store_it_comes_from(filled: Program):
    damage(filled.store)
    ran = filled.run("copy", "--from", str(filled.store), "--to", "there.db")
    assert (ran.code, ran.error.endswith(f"playhead salvage --store {filled.store}`.")) == (1, True)


def test_salvage_keeps_what_can_be_read_beside_the_damaged_file(filled: Program):
    assert "is sound" in filled.run("salvage").out
    damage(filled.store)
    told = filled.json("salvage")
    assert (told["kept"], told["original"], told["files"]) == (4, str(filled.store), [])
    assert told["lost"] == [{"tape": TAPE, "first": 3, "last": 3, "why": "it was not as it was written"}]
    entries = filled.json("show", "--tape", TAPE, "--store", told["path"])["entries"]
    assert [e["id"] for e in entries] == [1, 2, 3, 4, 5]
    assert entries[2]["payload"]["name"] == "salvage.lost"
    assert filled.run("verify", "--store", told["path"]).code == 0
    assert filled.run("salvage").out.splitlines()[1] == f"lost: tape '{TAPE}', entry 3: it was not as it was written"


def test_a_store_of_files_is_salvaged_in_its_place(playhead: Program):
    for number in range(1, 6):
        playhead.json("append", "--tape", "t", f"message {number}", "--store", "file:tapes")
    path = playhead.place / "tapes" / "t.jsonl"
    path.write_bytes(path.read_bytes().replace(b"message 3", b"massage 3"))
    refused = playhead.run("show", "--tape", "t", "--raw", "--store", "file:tapes")
    assert (refused.code, "playhead salvage --store file:tapes`" in refused.err) == (1, True)
    told = playhead.json("salvage", "--store", "file:tapes")
    assert (told["kept"], told["original"], told["files"]) == (4, None, [{"path": str(path), "original": f"{path}.damaged"}])
    assert playhead.json("verify", "--store", "file:tapes")["is_sound"]


def test_a_backup_is_a_store_and_overwrites_nothing(filled: Program):
    assert filled.json("backup", "copy.db")["target"] == str(filled.place / "copy.db")
    assert filled.json("info", "--tape", TAPE, "--store", "copy.db")["entries"] == 5
    again = filled.run("backup", "copy.db")
    assert (again.code, "taken" in again.error) == (1, True)
    filled.json("append", "--tape", "t", "x", "--store", "file:tapes")
    filled.json("backup", "copied", "--store", "file:tapes")
    assert filled.json("verify", "--store", "file:copied")["entries"] == 1
    assert filled.run("backup", "sqlite:///y.db", "--store", "file:tapes").code == 1


def test_a_store_that_is_not_there_is_said_to_be_missing(playhead: Program):
    for words in (("verify",), ("salvage",), ("backup", "copy.db")):
        for store in ((), ("--store", "file:absent"), ("--store", "memory:")):
            ran = playhead.run(*words, *store)
            assert (ran.code, ran.out) == (1, "")
            assert ran.error.startswith("error: ")
    assert list(playhead.place.iterdir()) == []


def test_a_long_list_of_flaws_is_cut(playhead: Program):
    (playhead.place / "chat.json").write_text("[" + ",".join(f'{{"role": "{("user", "assistant")[n % 2]}", "content": "m{n}"}}' for n in range(60)) + "]")
    playhead.json("import", "chat.json", "--tape", "t")
    with closing(sqlite3.connect(playhead.store)) as connection:
        connection.execute("UPDATE entries SET digest = zeroblob(32)")
        connection.commit()
    ran = playhead.run("verify")
    assert len(ran.out.splitlines()) == 32
    assert "32 more flaws; --json has them." in ran.err
