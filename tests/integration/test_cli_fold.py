"""fold, tree, pin, forget, and compiling with memory: what is old is told by summaries, nothing is lost, and what was said can be found."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from typing import Any

import pytest

from tests.integration.program import SMALL, Program, said

BUDGET = ("--max-tokens", "2600", "--reserve", "600")
MEMORY = ("--strategy", "autobiographical", *SMALL)
COMMAND = re.compile(r"`(?:python -m )?playhead ([^`]+)`")


def script(program: Program, *turns: Any) -> str:
    """Write a model's script and return what names the model."""
    (program.place / "script.jsonl").write_text("\n".join(json.dumps(turn) for turn in turns))
    return "scripted:script.jsonl"


# -- fold


def test_every_summary_is_told_on_a_line_as_it_is_kept(fresh: Program):
    ran = fresh.run("fold", "--tape", "t", "--summarizer", "extractive", *SMALL)
    lines, summaries = ran.out.splitlines(), fresh.json("tree", "--tape", "t")["summaries"]
    assert ran.code == 0
    assert sorted(line.split()[0] for line in lines) == sorted(node["id"] for node in summaries)
    for line in lines:
        node = next(node for node in summaries if node["id"] == line.split()[0])
        assert f"entries {node['first']}-{node['last']}" in line
        assert re.search(rf"{node['raw_tokens']:,} → +{node['tokens']:,} tokens", line)
    assert lines[-1].endswith("none due")


def test_json_tells_what_was_written(fresh: Program):
    done = fresh.json("fold", "--tape", "t", "--summarizer", "extractive", *SMALL)
    assert {step["did"] for step in done["wrote"]} == {"summary", "merge"}
    assert (done["ended"], done["failed"], done["given_up"], done["due"]) == ("done", [], [], {"chunks": 0, "merges": 0})
    again = fresh.json("fold", "--tape", "t", "--summarizer", "extractive", *SMALL)
    assert (again["wrote"], again["ended"]) == ([], "done")


def test_every_entry_is_told_once_or_stays_raw(remembered: Program):
    tree = remembered.json("tree", "--tape", "t")
    roots = [node for node in tree["summaries"] if node["parent"] is None]
    assert roots[0]["first"] == 1
    assert [node["first"] for node in roots[1:]] == [node["last"] + 1 for node in roots[:-1]]
    assert roots[-1]["last"] == tree["told_to"] < tree["head"]


def test_once_writes_one_summary(fresh: Program):
    words = ("fold", "--tape", "t", "--summarizer", "extractive", *SMALL, "--once")
    first = fresh.json(*words)
    assert (len(first["wrote"]), first["ended"]) == (1, "once")
    ran = fresh.run(*words)
    assert (ran.code, len(ran.out.splitlines())) == (0, 1)
    assert f"{first['due']['chunks'] - 1} more are due" in ran.err
    assert len(fresh.json("tree", "--tape", "t")["summaries"]) == 2


def test_a_tape_that_is_short_says_why_nothing_is_due(playhead: Program):
    playhead.json("append", "--tape", "t", "Hello.")
    ran = playhead.run("fold", "--tape", "t", "--summarizer", "extractive")
    assert (ran.code, ran.out) == (0, "")
    assert "the newest 30,000 tokens, 25% of the room at most, stay raw (--recent)" in ran.error


def test_an_estimate_writes_nothing_and_asks_nobody(fresh: Program):
    before = fresh.store.read_bytes()
    ran = fresh.run("fold", "--tape", "t", "--summarizer", "scripted:no-such-file", *SMALL, "--dry-run", "--store", f"sqlite:///{fresh.store}?mode=ro")
    assert (ran.code, fresh.store.read_bytes() == before) == (0, True)
    level, summaries, requests = ran.out.splitlines()[1].split()[:3]
    assert (level, summaries == requests) == ("1", True)
    assert fresh.json("fold", "--tape", "t", *SMALL, "--dry-run")["wrote"] == []
    assert fresh.json("tree", "--tape", "t")["summaries"] == []


def test_an_estimate_of_extracts_is_what_is_written_then(fresh: Program):
    words = ("fold", "--tape", "t", "--summarizer", "extractive", *SMALL, "--set", "merge_threshold=3")
    estimate = fresh.json(*words, "--dry-run")["estimate"]
    wrote = fresh.json(*words)["wrote"]
    assert [row["level"] for row in estimate] == sorted({step["level"] for step in wrote})
    for row in estimate:
        steps = [step for step in wrote if step["level"] == row["level"]]
        assert (row["summaries"], row["raw_tokens"], row["told_tokens"]) == (len(steps), sum(s["raw_tokens"] for s in steps), sum(s["tokens"] for s in steps))
        assert (row["requests"], row["input_tokens"], row["output_tokens"]) == (0, 0, 0)


def test_an_estimate_for_a_model_follows_the_merges_that_will_come(fresh: Program):
    words = ("fold", "--tape", "t", "--summarizer", "anthropic:claude-sonnet-4-5", *SMALL, "--set", "merge_threshold=3", "--dry-run")
    estimate = fresh.json(*words)["estimate"]
    wrote = fresh.json("fold", "--tape", "t", "--summarizer", script(fresh, *["I remember it."] * 40), *SMALL, "--set", "merge_threshold=3")["wrote"]
    assert [(row["level"], row["requests"]) for row in estimate] == [(level, sum(s["level"] == level for s in wrote)) for level in sorted({s["level"] for s in wrote})]
    assert len(estimate) >= 2
    assert all(row["input_tokens"] > row["raw_tokens"] / 2 and row["output_tokens"] <= row["raw_tokens"] for row in estimate)
    plain = fresh.json("fold", "--tape", "t", *SMALL, "--set", "merge_threshold=3", "--set", "summary_target_tokens=50", "--dry-run")["estimate"]
    assert sum(row["output_tokens"] for row in plain) <= 50 * sum(row["requests"] for row in plain)


def test_an_estimate_for_anthropic_counts_as_anthropic_does(fresh: Program):
    plain, claude = (fresh.json("fold", "--tape", "t", *SMALL, "--dry-run", *words)["estimate"] for words in ((), ("--summarizer", "anthropic:claude-sonnet-4-5")))
    assert claude[0]["input_tokens"] == pytest.approx(1.3 * plain[0]["input_tokens"], rel=0.01)


def test_an_interrupt_leaves_what_was_written(playhead: Program):
    (playhead.place / "chat.json").write_text(json.dumps([{"role": ("user", "assistant")[n % 2], "content": said(n)} for n in range(3_000)]))
    playhead.json("import", "chat.json", "--tape", "t")
    words = playhead.command("fold", "--tape", "t", "--summarizer", "extractive", "--recent", "0", "--set", "target_chunk_tokens=50", "--set", "hierarchical=no")
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=playhead.environment({}), cwd=playhead.place, text=True)
    assert child.stdout is not None
    first = child.stdout.readline()
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=120)
    assert (child.returncode, err) == (130, "error: Interrupted; what was written so far is kept.\n")
    printed = [line.split()[0] for line in (first + out).splitlines()]
    kept = [node["id"] for node in playhead.json("tree", "--tape", "t")["summaries"]]
    assert kept[: len(printed)] == printed
    assert len(printed) <= len(kept) <= len(printed) + 1
    assert playhead.json("verify")["is_sound"]


def test_what_a_model_refuses_stays_raw_until_it_is_tried_again(fresh: Program):
    words = ("fold", "--tape", "t", "--once", *SMALL)
    refused = fresh.run(*words, "--summarizer", script(fresh, {"error": "refused"}))
    assert refused.code == 1
    assert "failed L1 of entries 1-" in refused.out
    given_up = fresh.json("tree", "--tape", "t")["given_up"]
    assert [(run["level"], run["first"], run["outcome"]) for run in given_up] == [(1, 1, "refusal")]
    assert "One run was given up and stays as it is" in fresh.run("tree", "--tape", "t").err
    on = fresh.json(*words, "--summarizer", script(fresh, "I remember it."))
    assert on["wrote"][0]["first"] == given_up[0]["last"] + 1
    again = fresh.json(*words, "--summarizer", script(fresh, "I remember it."), "--retry")
    assert [(step["first"], step["last"]) for step in again["wrote"]] == [(1, given_up[0]["last"])]
    assert fresh.json("tree", "--tape", "t")["given_up"] == []


def test_another_summarizer_writes_what_one_gave_up(fresh: Program):
    assert fresh.run("fold", "--tape", "t", "--summarizer", script(fresh, {"error": "refused"}), "--once", *SMALL).code == 1
    wrote = fresh.json("fold", "--tape", "t", "--summarizer", "extractive", *SMALL)["wrote"]
    assert 1 in {step["first"] for step in wrote}
    assert fresh.json("tree", "--tape", "t")["given_up"] == []


def test_a_model_that_cannot_be_asked_ends_the_command_with_how_to_go_on(fresh: Program):
    ran = fresh.run("fold", "--tape", "t", "--summarizer", script(fresh, "I remember it.", {"error": "unavailable"}), *SMALL)
    assert (ran.code, len(ran.out.splitlines())) == (1, 1)
    warning = next(line for line in ran.err.splitlines() if line.startswith("warning: "))
    assert "paused" in warning
    assert "ModelUnavailable" in warning
    hint = COMMAND.search(warning)
    assert hint
    told = fresh.run("fold", "--tape", "t", "--summarizer", script(fresh, {"error": "unavailable"}), *SMALL, "--json")
    assert (told.code, told.json["ended"], told.json["due"]["chunks"] > 0) == (1, "paused", True)
    script(fresh, *["I remember it."] * 40)
    assert fresh.shell(f"playhead {hint[1]}").code == 0


def test_calls_of_tools_are_declared_so_that_a_model_can_tell_them(playhead: Program):
    for n in range(8):
        playhead.json("append", "--tape", "t", f"{said(n)} Ask it.")
        call = {"kind": "tool_call", "payload": {"calls": [{"id": f"c{n}", "name": "ping", "arguments": {"host": f"gw{n}"}}], "content": [{"type": "tool_call", "id": f"c{n}"}]}}
        playhead.json("append", "--tape", "t", "--entry", json.dumps(call))
        playhead.json("append", "--tape", "t", "--entry", json.dumps({"kind": "tool_result", "payload": {"results": [f"gw{n} is up"], "call_ids": [f"c{n}"]}}))
    done = playhead.json("fold", "--tape", "t", "--summarizer", script(playhead, *["I asked gw."] * 9), "--recent", "50", "--set", "target_chunk_tokens=100")
    assert (done["ended"], len(done["wrote"]) > 1) == ("done", True)
    assert playhead.json("tree", "--tape", "t")["summaries"][0]["tools"] == ["ping"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--summarizer", "gpt-5-mini"), "a model as PROVIDER:MODEL"),
        (("--summarizer", "nobody:x"), "There is no provider 'nobody'"),
        (("--summarizer", "extractive", "--set", "l1_budget_tokens=4"), "There is no option l1_budget_tokens"),
        (("--summarizer", "extractive", "--set", "merge_treshold=4"), "use merge_threshold"),
        (("--summarizer", "extractive", "--set", "merge_threshold=six"), "merge_threshold is a whole number from 2, not 'six'"),
        (("--summarizer", "extractive", "--set", "compression_max_tokens=x"), "compression_max_tokens is a whole number"),
        (("--summarizer", "extractive", "--set", "compression_model=x"), "with --summarizer"),
        (("--summarizer", "extractive", "--strategy", "knowledge", "--set", "hierarchical=no"), "use --strategy autobiographical"),
        (("--summarizer", "extractive", "--anchor", ""), "An anchor's name is a non-empty text"),
    ],
)
def test_what_cannot_be_meant_is_an_error_that_says_what_can(remembered: Program, words: tuple[str, ...], told: str):
    ran = remembered.run("fold", "--tape", "t", *words)
    assert (ran.code, ran.out) == (1, "")
    assert told in ran.error


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("fold", "--tape", "t"), "--summarizer says who writes"),
        (("fold", "--tape", "t", "--dry-run", "--retry"), "--retry goes without --dry-run"),
        (("fold", "--tape", "t", "--summarizer", "extractive", "--set", "a"), "OPTION=VALUE"),
        (("fold", "--tape", "t", "--summarizer", "extractive", "--namespace", ""), "a namespace is a text"),
        (("compile", "--tape", "t", "--recent", "9"), "--recent goes with --strategy autobiographical or knowledge"),
        (("explain", "--tape", "t", "--namespace", "a", "--set", "x=1"), "--namespace and --set go with"),
        (("compile", "--tape", "t", *MEMORY, "--summarizer", "extractive", "--at", "5"), "it does not go with --at"),
        (("compile", "--tape", "t", *MEMORY, "--summarizer", "extractive", "--read-only"), "it does not go with --read-only"),
        (("tree", "--tape", "t", "--depth", "1", "--markdown"), "--depth goes without --markdown"),
        (("pin", "--tape", "t", "3", "4", "--document"), "--document marks one entry"),
    ],
)
def test_what_does_not_go_together_is_misuse(remembered: Program, words: tuple[str, ...], told: str):
    ran = remembered.run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.error


# -- compiling with memory


def test_a_summarizer_writes_first_what_is_due(fresh: Program):
    words = ("compile", "--tape", "t", *MEMORY, *BUDGET)
    first = fresh.json(*words, "--summarizer", "extractive")
    assert first["wrote"]["summaries"] > 5
    assert first["stats"]["summaries"] > 0
    assert first["stats"]["total"] <= first["budget"]["room"]
    again = fresh.json(*words)
    assert (again["wrote"], again["payload"]) == (None, first["payload"])


def test_what_a_small_budget_lacks_is_written_too(fresh: Program):
    words = ("--tape", "t", *MEMORY, "--max-tokens", "2000", "--reserve", "600")
    refused = fresh.run("compile", *words)
    assert refused.code == 1
    assert "have the summaries it lacks written with --summarizer extractive, or a MODEL" in refused.error
    assert fresh.json("compile", *words, "--summarizer", "extractive")["stats"]["total"] <= 1400


def test_memory_reads_the_whole_tape_unless_an_anchor_is_named(folded: Program):
    folded.json("handoff", "new", "--tape", "t", "--state", "{}")
    folded.json("append", "--tape", "t", "Go on.")
    whole, behind = (folded.json("explain", "--tape", "t", *MEMORY, *BUDGET, *words) for words in ((), ("--anchor", "last")))
    assert (whole["anchor"], behind["anchor"]) == (None, "new")
    assert {row["form"] for row in whole["rows"]} >= {"summary", "raw"}
    assert "summary" not in {row["form"] for row in behind["rows"]}
    assert folded.json("explain", "--tape", "t")["anchor"] == "new"


def test_explain_tells_what_each_summary_stands_for(remembered: Program):
    words = ("explain", "--tape", "t", *MEMORY, *BUDGET)
    rows = [row for row in remembered.json(*words)["rows"] if row["form"] == "summary"]
    nodes = {node["id"]: node for node in remembered.json("tree", "--tape", "t")["summaries"]}
    assert rows
    for row in rows:
        node = nodes[row["node"]]
        assert (row["level"], row["first"], row["last"], row["tokens"]) == (node["level"], node["first"], node["last"], node["tokens"])
        assert row["reason"] == f"told by {node['id']}: {node['units']} units of {node['raw_tokens']:,} tokens"
    ran = remembered.run(*words)
    raw, cost = sum(nodes[row["node"]]["raw_tokens"] for row in rows), sum(row["tokens"] for row in rows)
    assert f"{raw:,} → {cost:,} tokens" in ran.out.splitlines()[-1]


def test_explain_says_by_which_summaries_an_entry_is_told(remembered: Program):
    words = ("explain", "--tape", "t", *MEMORY, *BUDGET, "--entry")
    told = remembered.json(*words, "5")
    assert set(told) == {"tape", "entry", "why", "told_by"}
    nearest, *above = told["told_by"]
    assert (nearest["level"], nearest["first"] <= 5 <= nearest["last"]) == (1, True)
    assert [node["id"] for node in told["told_by"] if node["is_shown"]] == [re.search(r"told by (L\d+-\d+)", told["why"])[1]]  # type: ignore[index]
    ran = remembered.run(*words, "5")
    assert f"told by {nearest['id']} (entries {nearest['first']}-{nearest['last']})" in ran.out
    assert all(f"part of {node['id']} " in ran.out for node in above)
    newest = remembered.json(*words, "90")
    assert (newest["told_by"], newest["why"]) == ([], "raw: in the recent window")
    assert "no summary tells it" in remembered.run(*words, "90").out


def test_compile_begins_alike_as_the_tape_grows(folded: Program):
    words = ("compile", "--tape", "t", *MEMORY, *BUDGET)
    before = folded.json(*words)["payload"]["messages"]
    folded.json("append", "--tape", "t", "Is that all?")
    after = folded.json(*words)["payload"]["messages"]
    assert after[: len(before)] == before


def test_what_only_reads_keeps_nothing(folded: Program):
    beside = ("show", "--tape", "t__sidecar__fold")
    before = folded.json(*beside)
    folded.json("explain", "--tape", "t", *MEMORY, *BUDGET)
    folded.json("compile", "--tape", "t", *MEMORY, *BUDGET, "--read-only")
    assert folded.json(*beside) == before
    folded.json("compile", "--tape", "t", *MEMORY, *BUDGET)
    assert folded.json(*beside)["entries"][-1]["kind"] == "fold.cut"


def test_memories_of_several_namespaces_are_apart(folded: Program):
    words = ("--tape", "t", "--namespace", "agents/bot")
    empty = folded.run("tree", *words)
    assert (empty.code, empty.out) == (0, "")
    assert "has no summaries under agents/bot yet, but it has some without --namespace" in empty.error
    folded.json("fold", *words, "--summarizer", "extractive", "--once", *SMALL)
    assert len(folded.json("tree", *words)["summaries"]) == 1
    assert len(folded.json("tree", "--tape", "t")["summaries"]) > 1
    explained = folded.run("explain", *words, *MEMORY, "--max-tokens", "3050", "--reserve", "400")
    assert "told by L1-1:" in explained.out


def test_the_hint_of_a_compile_repeats_all_that_it_was_given(remembered: Program):
    ran = remembered.run("compile", "--tape", "t", *MEMORY, "--set", "merge_threshold=5", *BUDGET, "--read-only")
    hint = COMMAND.search(ran.err)
    assert hint
    assert remembered.shell(f"playhead {hint[1]}").out == remembered.run("explain", "--tape", "t", *MEMORY, "--set", "merge_threshold=5", *BUDGET).out


def test_the_past_is_told_as_it_was(remembered: Program):
    told = remembered.json("explain", "--tape", "t", *MEMORY, "--max-tokens", "9000", "--at", "40")
    assert told["head"] == 40
    assert {row["form"] for row in told["rows"]} <= {"raw", "not shown"}


def test_knowledge_folds_too(fresh: Program):
    told = fresh.json("compile", "--tape", "t", "--strategy", "knowledge", *SMALL, "--summarizer", "extractive", *BUDGET)
    assert (told["strategy"], told["stats"]["summaries"] > 0) == ("knowledge", True)
    assert {node["phase"] for node in fresh.json("tree", "--tape", "t")["summaries"]} == {"synthesis"}
