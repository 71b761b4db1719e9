"""Whole tapes move, and tapes are archived, from the command line."""

from __future__ import annotations

import json
import subprocess

from tests.integration.program import Program, uncoloured


def fill(playhead: Program) -> None:
    body = [{"role": ("user", "assistant")[n % 2], "content": f"message {n} " + "and more of the same " * 20} for n in range(300)]
    (playhead.place / "chat.json").write_text(json.dumps(body))
    playhead.json("import", "chat.json", "--tape", "support/1")
    playhead.json("append", "--tape", "other", "hello")
    playhead.json("fork", "support/1", "--name", "trial")


def test_whole_tapes_go_to_a_directory_through_a_pipe_and_to_other_stores(playhead: Program):
    fill(playhead)
    exported = playhead.json("export", "--to", "exported")
    assert exported == {"from": f"sqlite:///{playhead.store}", "to": "exported", "tapes": ["other", "support/1"], "known": [], "entries": 303, "blobs": 0, "missing": [], "lost": []}
    assert playhead.json("import", "--from", "exported", "--to", "file:copied", "--tape", "support/*")["tapes"] == ["support/1"]
    again = playhead.json("import", "--from", "exported", "--to", "file:copied")
    assert (again["tapes"], again["known"], again["entries"]) == (["other"], ["support/1"], 1)

    packed = subprocess.run(playhead.command("export", "--from", "file:copied", "--to", "-"), capture_output=True, env=playhead.environment({}), cwd=playhead.place, check=True)
    assert packed.stderr.decode().startswith("exported 2 tapes to standard output")
    piped = playhead.run("import", "--from", "-", "--to", "piped.db", stdin=packed.stdout)
    assert (piped.code, piped.out.splitlines()) == (0, ["imported 2 tapes to piped.db: 303 entries", "other", "support/1"])
    assert playhead.json("copy", "--from", "piped.db", "--to", "third.db", "--tape", "other")["entries"] == 1
    assert playhead.run("copy", "--from", "third.db", "--to", "piped.db").out == "copied 0 tapes to piped.db: 0 entries; 1 tape stood there already\n"
    assert playhead.json("branches", "support/1", "--store", "piped.db")["branches"][0]["branch"] == "support/1__branch__trial"


def test_what_stands_in_the_way_is_said_in_a_line(playhead: Program):
    fill(playhead)
    playhead.json("export", "--to", "exported", "--tape", "other")
    playhead.json("append", "--tape", "other", "goes on")
    refused = playhead.run("import", "--from", "exported")
    assert refused.code == 1
    assert "A tape 'other' stands there and is not the same" in refused.error
    assert "take it in with `playhead import --from exported`" in playhead.run("import", "exported").error
    assert "is taken" in playhead.run("export", "--to", "exported").error
    assert "There is no store" in playhead.run("export", "--from", "none.db", "--to", "x").error
    assert "Tape 'none' was not found" in playhead.run("export", "--to", "x", "--tape", "none").error
    assert "an export has one" in playhead.run("import", "--from", ".").error
    words = ["export --tape a", "export --to x --as jsonl", "import --from x y.json", "import --to x.db y.json", "copy a", "copy", "copy a b --from x.db"]
    assert [playhead.run(*line.split()).code for line in words] == [2] * len(words)


def test_an_archived_tape_is_shown_as_before_and_takes_less_room(playhead: Program):
    fill(playhead)
    before, size = playhead.json("show", "--tape", "support/1", "--all"), playhead.store.stat().st_size
    archived = playhead.json("archive", "--tape", "support/1", "--below", "290")
    assert (archived["upto"], archived["entries"], archived["sidecars"]) == (289, 289, [])
    assert archived["after"] * 4 < archived["before"]
    assert playhead.store.stat().st_size < size
    assert playhead.json("show", "--tape", "support/1", "--all") == before
    again = playhead.run("archive", "--tape", "support/1", "--below", "290")
    assert again.out == "'support/1': nothing more to archive; it is archived up to entry 289\n"
    refused = playhead.run("archive", "--tape", "support/1", "--below", "never").error
    assert "Anchor 'never' was not found" in refused and "playhead anchors" in refused and "--anchor" not in refused
    assert playhead.json("verify")["is_sound"]


def test_archiving_by_age_says_where_it_stops_and_why(playhead: Program):
    lines = [{"type": "session", "version": 3, "id": "s", "timestamp": "2025-01-01T10:00:00Z", "cwd": "/x"}]
    lines += [{"type": "message", "id": f"m{n}", "timestamp": f"2025-01-01T10:00:{n:02}Z", "message": {"role": "user", "content": f"note {n}"}} for n in range(9)]
    (playhead.place / "old.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    imported = playhead.json("import", "old.jsonl", "--tape", "old")
    playhead.json("append", "--tape", "old", "Today.")
    end = 2 + imported["added"] + 1
    shown = playhead.run("archive", "--tape", "old", "--older-than", "30d").out
    assert shown.startswith(f"archived {end - 1} entries of 'old', up to entry {end - 1}")
    again = playhead.run("archive", "--tape", "old", "--older-than", "30d").out
    assert f"nothing more to archive; it is archived up to entry {end - 1}; entry {end}, of " in again and "is the first that is younger than --older-than says" in again
    assert playhead.json("archive", "--tape", "old", "--older-than", "30d")["younger"] == end
    playhead.json("append", "--tape", "new", "Today.")
    assert playhead.run("archive", "--tape", "new", "--older-than", "30d").out.startswith("'new': nothing more to archive; entry 1, of ")
    assert "nothing of its own that can be archived stands before that" in playhead.run("archive", "--tape", "new", "--below", "1").out


def test_a_tape_is_archived_below_an_anchor_whose_name_is_a_number(playhead: Program):
    fill(playhead)
    playhead.json("handoff", "--tape", "support/1", "42")
    end = playhead.json("info", "--tape", "support/1")["entries"]
    assert playhead.json("archive", "--tape", "support/1", "--below", "42")["upto"] == 41
    assert playhead.json("archive", "--tape", "support/1", "--below-anchor", "42")["upto"] == end - 2
    assert playhead.run("archive", "--tape", "support/1", "--below", "42", "--below-anchor", "42").code == 2


def test_a_terminal_shows_how_far_a_copy_is(playhead: Program):
    fill(playhead)
    shown = playhead.on_terminal("copy", "--to", "copied.db", columns=80).out
    assert "writing" in shown
    assert "copied 2 tapes" in uncoloured(shown)
