"""tree, pins, pin, unpin and forget: memory looked at, kept from folding, and taken back; and all of it on a terminal."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
from rich.cells import cell_len

from tests.data import shared
from tests.integration.program import SMALL, Program, uncoloured

BUDGET = ("--max-tokens", "2600", "--reserve", "600")
MEMORY = ("--strategy", "autobiographical", *SMALL)
WIDTHS = (80, 160)


def rows(out: str) -> dict[str, str]:
    """Return the rows of a tree by the ids of their summaries."""
    return {found[1]: line for line in out.splitlines() if (found := re.match(r"[▓ ]* *(L\d+-\d+) ", line))}


# -- tree


def test_the_tree_shows_what_each_summary_tells(remembered: Program):
    nodes = remembered.json("tree", "--tape", "t")["summaries"]
    shown = rows(remembered.run("tree", "--tape", "t").out)
    assert list(shown) == [node["id"] for node in nodes]
    for node in nodes:
        line = shown[node["id"]]
        assert re.search(rf"{node['first']}-{node['last']} +{node['units']} +{node['raw_tokens']:,} → {node['tokens']:,} ", line)
        assert node["since"][:10] in line
        assert "extractive" in line


def test_children_are_indented_below_what_they_are_part_of(remembered: Program):
    nodes = remembered.json("tree", "--tape", "t")["summaries"]
    shown = rows(remembered.run("tree", "--tape", "t").out)
    indents = {id: line.index(id) for id, line in shown.items()}
    parts = [node for node in nodes if node["parent"] is not None]
    assert parts
    assert all(indents[node["id"]] == indents[node["parent"]] + 2 for node in parts)


def test_the_tree_marks_what_is_shown_now(folded: Program):
    assert "Nothing of it was shown yet" in folded.run("tree", "--tape", "t").out
    spans = folded.json("compile", "--tape", "t", *MEMORY, *BUDGET)["spans"]
    shown = [span["node"] for span in spans if span["node"]]
    assert folded.json("tree", "--tape", "t")["shown"]["summaries"] == shown
    marked = [id for id, line in rows(folded.run("tree", "--tape", "t").out).items() if line.startswith("▓")]
    assert marked == shown


def test_a_depth_shows_the_roots_alone(remembered: Program):
    everything = remembered.json("tree", "--tape", "t")["summaries"]
    roots = remembered.json("tree", "--tape", "t", "--depth", "1")["summaries"]
    assert roots == [node for node in everything if node["parent"] is None]
    assert remembered.json("tree", "--tape", "t", "--depth", "2")["summaries"] == everything


def test_the_tree_says_what_no_summary_tells(folded: Program):
    tree = folded.json("tree", "--tape", "t")
    assert f"told by none: entries {tree['told_to'] + 1}-{tree['head']}" in folded.run("tree", "--tape", "t").out
    node = next(node for node in tree["summaries"] if node["level"] == 1 and node["parent"] is not None)
    folded.json("forget", "--tape", "t", node["id"])
    assert f"told by none: entries {node['first']}-{node['last']} and {tree['told_to'] + 1}-{tree['head']}" in folded.run("tree", "--tape", "t").out


def test_markdown_holds_every_summary_whole(folded: Program):
    folded.json("pin", "--tape", "t", "5", "6", "--name", "two hosts")
    tree = folded.json("tree", "--tape", "t")
    document = folded.run("tree", "--tape", "t", "--markdown").out
    headings = re.findall(r"^(#+) (L\d+-\d+) · entries (\d+)-(\d+) ", document, re.MULTILINE)
    assert [(id, int(first), int(last)) for _, id, first, last in headings] == [(node["id"], node["first"], node["last"]) for node in tree["summaries"]]
    assert Counter(len(marks) for marks, *_ in headings) == Counter(2 if node["parent"] is None else 3 for node in tree["summaries"])
    for node in tree["summaries"]:
        assert all(f"> {line}" in document for line in node["text"].splitlines() if line)
        assert f"uid `{node['uid']}`" in document
        assert all(f"`{name}`" in document for name in node["names"])
    assert "- pin-1: entries 5-6, range, two hosts" in document
    assert document.startswith("# Memory of t\n")


def test_markdown_goes_to_a_file_whole(remembered: Program):
    ran = remembered.run("tree", "--tape", "t", "--markdown", "memory.md")
    document = (remembered.place / "memory.md").read_text(encoding="utf-8")
    assert (ran.code, ran.out) == (0, "")
    assert f"wrote memory.md, {len(document.encode()):,} bytes" in ran.error
    assert document == remembered.run("tree", "--tape", "t", "--markdown").out
    told = remembered.json("tree", "--tape", "t", "--markdown")
    assert told["markdown"] == document
    assert {*told, "summaries"} - {"markdown"} == set(remembered.json("tree", "--tape", "t"))


# -- pins


def test_what_is_pinned_stays_raw_until_it_is_unpinned(folded: Program):
    words = ("explain", "--tape", "t", *MEMORY, "--max-tokens", "3000", "--reserve", "500")
    assert folded.json(*words, "--entry", "5")["why"].startswith("summary: told by ")
    made = folded.json("pin", "--tape", "t", "5", "7", "--name", "three hosts")["pin"]
    assert made == {"id": "pin-1", "first": 5, "last": 7, "kind": "range", "name": "three hosts", "level": None, "max_level": None}
    assert folded.json(*words, "--entry", "5")["why"] == "raw: pinned (three hosts)"
    assert folded.json("pins", "--tape", "t")["pins"] == [made]
    assert "three hosts" in folded.run("tree", "--tape", "t").out
    assert folded.json("unpin", "--tape", "t", "pin-1")["pin"] == made
    assert folded.json(*words, "--entry", "5")["why"].startswith("summary: told by ")
    assert folded.json("pins", "--tape", "t")["pins"] == []


def test_entries_are_pinned_by_id_or_uid_in_either_order(folded: Program):
    uid = folded.json("show", "--tape", "t", "--after", "8", "--first", "1")["entries"][0]["meta"]["uid"]
    pins = [folded.json("pin", "--tape", "t", *words)["pin"] for words in ((uid,), (uid, "6"), ("9", "--document"))]
    assert [(pin["first"], pin["last"], pin["kind"]) for pin in pins] == [(9, 9, "range"), (6, 9, "range"), (9, 9, "document")]


def test_a_pinned_range_ends_at_messages(folded: Program):
    assert folded.json("pin", "--tape", "t", "1", "4")["pin"]["first"] == 3


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("pin", "900"), "has no entry 900; it ends at entry 92"),
        (("pin", "0"), "has no entry 0"),
        (("pin", "no-such-uid"), "has no entry no-such-uid"),
        (("pin", "1"), "Entry 1 of tape 't' is anchor session/start: only messages"),
        (("pin", "1", "2"), "Entries 1-2 of tape 't' hold no message"),
        (("unpin", "pin-7"), "pins --tape t` lists those there are"),
        (("forget", "L1-99"), "There is no summary 'L1-99'."),
        (("forget", "nonsense"), "tree --tape t` shows those that stand"),
    ],
)
def test_what_is_not_there_is_an_error_that_says_where_to_look(remembered: Program, words: tuple[str, ...], told: str):
    ran = remembered.run(*words, "--tape", "t")
    assert (ran.code, ran.out) == (1, "")
    assert told in ran.error


# -- forget


def test_what_is_taken_back_is_written_anew(folded: Program):
    before = folded.json("tree", "--tape", "t")["summaries"]
    node = next(node for node in before if node["level"] == 1 and node["parent"] is not None)
    gone = folded.json("forget", "--tape", "t", node["id"], "--reason", "stale")
    assert (gone["forgotten"], gone["first"], gone["last"]) == ([node["id"], node["parent"]], node["first"], node["last"])
    left = {other["id"] for other in folded.json("tree", "--tape", "t")["summaries"]}
    assert left == {other["id"] for other in before} - {node["id"], node["parent"]}
    wrote = folded.json("fold", "--tape", "t", "--summarizer", "extractive", *SMALL)["wrote"]
    assert next((step["did"], step["first"]) for step in wrote) == ("summary", node["first"])
    again = folded.json("tree", "--tape", "t")["summaries"]
    assert [(n["level"], n["first"], n["last"], n["text"]) for n in again] == [(n["level"], n["first"], n["last"], n["text"]) for n in before]
    assert folded.run("forget", "--tape", "t", node["id"]).code == 1


# -- on a terminal, and on a real session


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize(
    "words",
    [
        ("fold", "--tape", "t", "--summarizer", "extractive", *SMALL),
        ("fold", "--tape", "t", "--dry-run", "--recent", "50", "--set", "target_chunk_tokens=100"),
        ("tree", "--tape", "t"),
        ("pins", "--tape", "t"),
        ("explain", "--tape", "t", *MEMORY, "--max-tokens", "4000", "--reserve", "1000"),
        ("explain", "--tape", "t", *MEMORY, "--max-tokens", "4000", "--reserve", "1000", "--entry", "15"),
    ],
    ids=lambda words: words[0],
)
def test_no_line_is_wider_than_the_terminal(folded: Program, words: tuple[str, ...], columns: int):
    folded.json("pin", "--tape", "t", "80", "--name", "a name that is rather long, longer than what a narrow terminal has room for beside all else " * 2)
    folded.json("forget", "--tape", "t", "L1-1")
    ran = folded.on_terminal(*words, columns=columns, PLAYHEAD_STORE="sqlite:///tapes.db")
    told = [line for line in uncoloured(ran.out).split("\n") if "`" not in line and "an estimate" not in line]
    assert ran.code == 0, ran.out
    assert len(told) > 1
    assert [line for line in told if cell_len(line) > columns] == []


def test_a_real_session_folds_and_compiles_within_its_budget(playhead: Program):
    session = shared("trajectories", "claude_code", "spotter_4d5611e5_subagent.jsonl")
    playhead.json("import", str(session), "--tape", "s")
    words = ("--tape", "s", "--strategy", "autobiographical", "--recent", "3000")
    told = playhead.json("compile", *words, "--max-tokens", "16000", "--summarizer", "extractive")
    assert told["stats"]["total"] <= told["budget"]["room"]
    assert told["stats"]["summaries"] > 0
    explained = playhead.json("explain", *words, "--max-tokens", "16000")
    assert sum(row["count"] for row in explained["rows"]) == explained["head"]
    assert "omitted" not in {row["form"] for row in explained["rows"]}
    assert json.dumps(playhead.json("tree", "--tape", "s")["summaries"]).count('"is_shown": true') == sum(row["form"] == "summary" for row in explained["rows"])
