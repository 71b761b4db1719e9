"""branches, fork, merge, discard, diff, rename, copy, gc, recover, follow: what one process does another one sees."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

import playhead as ph
from tests.integration.program import Program, uncoloured

TAPE, TRIAL = "support/42", "support/42__branch__trial"


def three_entries(playhead: Program) -> Program:
    async def write() -> None:
        async with ph.open_tape(playhead.environment({})["PLAYHEAD_STORE"], TAPE) as tape:
            await tape.append_many([ph.user(f"message {number}") for number in (1, 2, 3)])

    anyio.run(write)
    return playhead


@pytest.fixture
def filled(playhead: Program) -> Program:
    """A program with three entries on a tape."""
    return three_entries(playhead)


@pytest.fixture(params=["sqlite", "files"])
def either(request: pytest.FixtureRequest, playhead: Program, monkeypatch: pytest.MonkeyPatch) -> Program:
    """The same, in a store of either kind."""
    if request.param == "files":
        monkeypatch.setattr(playhead, "environment", with_files(playhead))
    return three_entries(playhead)


def with_files(playhead: Program):
    before = playhead.environment

    def environment(changes):
        return {**before({}), "PLAYHEAD_STORE": f"file:{playhead.place}/tapes", **{k: v for k, v in changes.items() if v is not None}}

    return environment


def texts(playhead: Program, tape: str) -> list[str]:
    return [e["payload"]["content"] for e in playhead.json("show", "--tape", tape)["entries"] if e["kind"] == "message"]


def test_a_branch_goes_on_by_itself_and_comes_back(either: Program):
    forked = either.json("fork", TAPE, "--at", "2", "--name", "trial")
    assert forked == {"tape": TAPE, "branch": TRIAL, "at": 2}
    either.json("append", "--tape", TRIAL, "on the branch")
    assert texts(either, TRIAL) == ["message 1", "message 2", "on the branch"]
    assert texts(either, TAPE) == ["message 1", "message 2", "message 3"]
    merged = either.json("merge", TRIAL)
    assert (merged["tape"], merged["entries"], merged["event"], merged["moved"], merged["failed"]) == (TAPE, [4], 5, True, {})
    assert texts(either, TAPE) == ["message 1", "message 2", "message 3", "on the branch"]
    again = either.run("merge", TRIAL)
    assert (again.code, "nothing was changed" in again.out) == (0, True)


def test_branches_are_shown_as_a_tree(either: Program):
    either.json("fork", TAPE, "--at", "2", "--name", "trial")
    either.json("append", "--tape", TRIAL, "on the branch")
    either.json("fork", TRIAL, "--name", "deeper")
    either.json("fork", TAPE, "--name", "other")
    either.json("discard", f"{TAPE}__branch__other")
    shown = either.run("branches", TAPE)
    assert [line.split()[:4] for line in shown.out.splitlines()] == [
        ["branch", "state", "forked", "at"],
        [TAPE, "3"],
        ["└─", "trial", "open", "2"],
        ["└─", "deeper", "open", "3"],
    ]
    assert "   └─ deeper" in shown.out
    assert "1 branch that ended is not shown" in shown.err
    everything = either.run("branches", "--all").out
    assert "├─ trial" in everything and "│  └─ deeper" in everything and "└─ other" in everything
    facts = {b["branch"]: (b["parent"], b["at"], b["entries"], b["state"]) for b in either.json("branches", "--all")["branches"]}
    assert facts == {
        TRIAL: (TAPE, 2, 1, "open"),
        f"{TAPE}__branch__deeper": (TRIAL, 3, 0, "open"),
        f"{TAPE}__branch__other": (TAPE, 3, 0, "discarded"),
    }


@pytest.mark.parametrize("columns", [80, 160])
def test_the_output_fits_the_terminal(filled: Program, columns: int):
    filled.json("fork", TAPE, "--name", "a-label-that-is-rather-long-and-goes-on-for-quite-a-while-until-it-ends")
    filled.json("fork", TAPE, "--at", "1", "--name", "trial")
    filled.json("append", "--tape", TRIAL, "words " * 100)
    filled.json("discard", TRIAL)
    for words in (("branches", "--all"), ("diff", TAPE, TRIAL), ("verify",)):
        shown = uncoloured(filled.on_terminal(*words, columns=columns).out)
        tables = [line for line in shown.splitlines() if not line.startswith(("The whole name", "/", "file:", "sqlite:"))]
        assert max(map(len, tables), default=0) <= columns, words
        assert "Traceback" not in shown


def test_a_diff_says_what_each_has_alone(filled: Program):
    filled.json("fork", TAPE, "--at", "2", "--name", "trial")
    filled.json("append", "--tape", TRIAL, "on the branch")
    told = filled.json("diff", TAPE, TRIAL)
    assert (told["shared"], [e["id"] for e in told["removed"]], [e["payload"]["content"] for e in told["added"]]) == (2, [3], ["on the branch"])
    assert filled.run("diff", TAPE, TRIAL).out.splitlines() == [
        "2 entries shared, 1 to 2",
        f"--- 1 entry only on {TAPE}",
        "- #3 user: message 3",
        f"+++ 1 entry only on {TRIAL}",
        "+ #3 user: on the branch",
    ]
    assert filled.json("diff", TAPE, TAPE)["added"] == []


def test_a_squash_leaves_a_summary(filled: Program):
    filled.json("fork", TAPE, "--name", "trial")
    filled.json("append", "--tape", TRIAL, "a long way round")
    merged = filled.json("merge", TRIAL, "--policy", "squash", "--summary", "It was the MTU.")
    assert merged["entries"] == [4]
    assert "It was the MTU." in texts(filled, TAPE)[-1]
    assert texts(filled, TRIAL)[-1] == "a long way round"


def test_a_fast_forward_is_refused_where_the_parent_has_moved(filled: Program):
    filled.json("fork", TAPE, "--name", "trial")
    filled.json("append", "--tape", TRIAL, "x")
    filled.json("append", "--tape", TAPE, "moved")
    ran = filled.run("merge", TRIAL, "--policy", "fast-forward")
    assert (ran.code, ran.out) == (1, "")
    assert ran.error.startswith("error: ")
    assert filled.json("merge", TRIAL)["entries"] == [5]


def test_a_name_that_is_no_branchs_is_refused_with_what_to_do(filled: Program):
    for words in (("merge", TAPE), ("discard", TAPE), ("merge", f"{TAPE}__branch__none"), ("branches", "none"), ("recover", "none"), ("gc", f"{TAPE}__branch__none")):
        ran = filled.run(*words)
        assert (ran.code, ran.out) == (1, ""), words
        assert re.search(r"`[^`]*playhead (branches|ls)[^`]*`", ran.error), ran.error
    filled.json("fork", TAPE, "--name", "trial")
    taken = filled.run("fork", TAPE, "--name", "trial")
    assert (taken.code, "taken" in taken.error) == (1, True)
    for words in (("merge", TRIAL, "--policy", "squash"), ("merge", TRIAL, "--summary", "x"), ("gc", "--older-than", "soon"), ("fork", TAPE, "--at", "-1")):
        assert filled.run(*words).code == 2, words


def test_a_renamed_tape_takes_its_branches_along(filled: Program):
    filled.json("fork", TAPE, "--name", "trial")
    assert filled.json("rename", TAPE, "cases/42") == {"tape": TAPE, "name": "cases/42"}
    assert [b["branch"] for b in filled.json("branches")["branches"]] == ["cases/42__branch__trial"]
    assert filled.json("rename", "cases/42__branch__trial", "better")["name"] == "cases/42__branch__better"
    assert filled.run("show", "--tape", TAPE).code == 1


def test_a_copy_stands_for_itself(filled: Program):
    filled.json("fork", TAPE, "--name", "trial")
    filled.json("append", "--tape", TRIAL, "on the branch")
    assert filled.json("copy", TRIAL, "copied")["entries"] == 4
    assert texts(filled, "copied")[-1] == "on the branch"
    elsewhere = filled.json("copy", TAPE, "copied", "--to", "elsewhere.db")
    assert (elsewhere["store"], elsewhere["entries"]) == ("elsewhere.db", 3)
    assert [e["payload"]["content"] for e in filled.json("show", "--tape", "copied", "--store", "elsewhere.db")["entries"]] == [f"message {n}" for n in (1, 2, 3)]
    assert filled.run("copy", TAPE, "copied").code == 1


def test_closed_branches_are_removed_once_they_are_old(either: Program):
    either.json("fork", TAPE, "--name", "trial")
    either.json("discard", TRIAL)
    assert either.json("gc")["removed"] == []
    assert either.json("gc", "--older-than", "0s")["removed"] == [TRIAL]
    assert either.json("branches", "--all")["branches"] == []


DIES = """
import os, sys, anyio, playhead as ph
async def main():
    tape = ph.open_tape(sys.argv[1], "support/42")
    async with tape.fork_tape(name="orphan") as branch:
        await branch.append(ph.user("written before it died"))
        os.kill(os.getpid(), 9)
anyio.run(main)
"""


@pytest.mark.parametrize(("how", "expected"), [("merge", ["message 1", "message 2", "message 3", "written before it died"]), ("discard", ["message 1", "message 2", "message 3"])])
def test_a_branch_whose_driver_was_killed_is_recovered(either: Program, how: str, expected: list[str]):
    url = either.environment({})["PLAYHEAD_STORE"]
    died = subprocess.run([sys.executable, "-c", DIES, url], env=either.environment({}), cwd=either.place, check=False)
    assert died.returncode == -9
    (orphan,) = either.json("branches")["branches"]
    assert (orphan["is_gone"], "gone" in either.run("branches").out) == (True, True)
    (kept,) = either.json("recover", "--how", "keep")["recovered"]
    assert (kept["branch"], kept["action"], kept["error"]) == (f"{TAPE}__branch__orphan", "keep", None)
    (done,) = either.json("recover", TAPE, "--how", how)["recovered"]
    assert done["action"] == how
    assert texts(either, TAPE) == expected
    assert either.json("recover")["recovered"] == []


def test_follow_prints_what_comes_until_it_is_interrupted(either: Program):
    words = either.command("follow", TAPE, "--consumer", "tail", "--after", "1", "--json")
    following = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=either.environment({}), cwd=either.place)
    assert following.stdout is not None
    assert [json.loads(following.stdout.readline())["id"] for _ in range(2)] == [2, 3]
    either.json("append", "--tape", TAPE, "just now")
    assert json.loads(following.stdout.readline())["payload"]["content"] == "just now"
    following.send_signal(signal.SIGINT)
    out, err = following.communicate(timeout=60)
    assert (following.returncode, out, err) == (130, b"", b"")
    either.json("append", "--tape", TAPE, "later")
    seen = either.run("follow", TAPE, "--consumer", "tail", "--count", "1")
    assert seen.code == 0
    assert "just now" in seen.out or "later" in seen.out


def test_a_follower_who_ends_by_count_has_seen_what_was_printed(either: Program):
    words = ("follow", TAPE, "--consumer", "one by one", "--after", "0", "--count")
    assert [json.loads(either.run(*words, "1", "--json").out)["id"] for _ in (1, 2)] == [1, 2]
    either.json("append", "--tape", TAPE, "message 4")
    assert [json.loads(line)["id"] for line in either.run(*words, "2", "--json").out.splitlines()] == [3, 4]
    either.json("append", "--tape", TAPE, "message 5")
    assert json.loads(either.run(*words, "1", "--json").out)["id"] == 5


def test_a_fast_forward_that_cannot_be_says_what_can(either: Program):
    either.json("fork", TAPE, "--name", "trial")
    either.json("append", "--tape", TRIAL, "on the branch")
    either.json("append", "--tape", TAPE, "meanwhile")
    refused = either.run("merge", TRIAL, "--policy", "fast-forward")
    assert (refused.code, refused.out) == (1, "")
    assert f"'{TAPE}' ends with entry 4, not with entry 3 as when '{TRIAL}' left it" in refused.error
    assert "merge with --policy append" in refused.error


def test_info_names_the_sidecars(either: Program):
    assert either.json("info", "--tape", TAPE)["sidecars"] == []
    assert "\nsidecars" not in either.run("info", "--tape", TAPE).out

    async def note() -> None:
        async with ph.open_tape(either.environment({})["PLAYHEAD_STORE"], TAPE, sidecars=[ph.TapeSidecar("notes"), ph.TapeSidecar("inbox")]) as tape:
            for name in ("notes", "inbox"):
                await tape.sidecar(name).append_event("noted")

    anyio.run(note)
    assert either.json("info", "--tape", TAPE)["sidecars"] == ["inbox", "notes"]
    assert either.run("info", "--tape", TAPE).out.splitlines()[-1] == "sidecars    inbox, notes"
    assert [e["payload"]["name"] for e in either.json("show", "--tape", f"{TAPE}__sidecar__notes")["entries"]] == ["noted"]


def test_a_read_only_store_is_read_and_left_as_it_is(either: Program):
    either.json("fork", TAPE, "--name", "trial")
    url = either.environment({})["PLAYHEAD_STORE"]
    before = {path: path.stat().st_mtime_ns for path in Path(either.place).rglob("*")}
    for words in (("ls",), ("show", "--tape", TAPE), ("info", "--tape", TAPE), ("branches",), ("diff", TAPE, TRIAL), ("compile", "--tape", TAPE), ("search", "message", "--tape", TAPE)):
        assert either.run(*words, "--read-only").code == 0, words
    assert either.json("ls", "--store", f"{url}?mode=ro")["tapes"]
    assert {path: path.stat().st_mtime_ns for path in Path(either.place).rglob("*")} == before
    refused = either.run("append", "--tape", TAPE, "x", "--store", f"{url}?mode=ro")
    assert (refused.code, "read only" in refused.error) == (1, True)


def test_the_tape_is_named_by_itself_or_as_for_all_other_commands(filled: Program):
    assert filled.json("fork", "--tape", TAPE, "--name", "second")["branch"] == f"{TAPE}__branch__second"
    assert filled.json("branches", "--tape", TAPE) == filled.json("branches", TAPE) == filled.json("branches", TAPE, "--tape", TAPE)
    assert filled.run("follow", "--tape", TAPE, "--after", "0", "--count", "1").code == 0
    assert [filled.run(command, "--tape", TAPE).code for command in ("gc", "recover")] == [0, 0]
    assert [filled.run(command).error for command in ("fork", "follow")] == [f"error: name the tape, as TAPE or with --tape NAME; see playhead {command} --help" for command in ("fork", "follow")]
    assert "two tapes" in filled.run("branches", TAPE, "--tape", "other").error


def test_ls_says_which_tapes_have_branches(filled: Program):
    filled.json("append", "--tape", "plain", "x")
    filled.json("fork", TAPE, "--name", "trial")
    assert {tape["tape"]: tape["branches"] for tape in filled.json("ls")["tapes"]} == {TAPE: 1, "plain": 0}
    ran = filled.run("ls")
    assert ran.out.splitlines()[0].split() == ["entries", "anchors", "branches", "last", "entry", "tape"]
    assert "branches" in ran.error
    filled.run("discard", TRIAL)
    assert (filled.json("ls")["tapes"][1]["branches"], filled.run("ls").err) == (0, "")
