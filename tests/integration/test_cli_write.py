"""append, handoff, reset, ls, show, info, anchors, search: what is written is read back, by another process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.program import Program

BOOTSTRAP = 2
"""The entries a tape has behind a reset: `session/start` and the event beside it."""


def test_what_is_appended_is_shown(playhead: Program):
    playhead.json("append", "--tape", "support/42", "My VPN drops every hour.")
    playhead.json("append", "--tape", "support/42", "--role", "assistant", "Since when?")
    entries = playhead.json("show", "--tape", "support/42")["entries"]
    assert [(e["id"], e["kind"], e["payload"]) for e in entries] == [
        (1, "message", {"role": "user", "content": "My VPN drops every hour."}),
        (2, "message", {"role": "assistant", "content": "Since when?"}),
    ]
    shown = playhead.run("show", "--tape", "support/42").out.splitlines()
    assert [shown[i] for i in (1, 3)] == ["    My VPN drops every hour.", "    Since when?"]


def test_append_reads_standard_input_where_no_text_is_given(playhead: Program):
    assert playhead.json("append", "--tape", "t", stdin="from a pipe\nin two lines\n")["entry"]["payload"]["content"] == "from a pipe\nin two lines"
    assert playhead.json("append", "--tape", "t", "-", stdin="a dash")["entry"]["payload"]["content"] == "a dash"
    assert playhead.json("append", "--tape", "t", "--event", "e", "--data", "-", stdin='{"a": [1]}')["entry"]["payload"] == {"name": "e", "data": {"a": [1]}}


def test_events_and_entries_are_appended_as_they_are(playhead: Program):
    assert playhead.json("append", "--tape", "t", "--event", "order.note", "--data", '{"text": "called"}')["entry"]["kind"] == "event"
    stored = playhead.json("append", "--tape", "t", "--entry", '{"kind": "invoice", "payload": {"n": 1}, "date": "2026-03-01"}')["entry"]
    assert (stored["id"], stored["kind"], stored["payload"], stored["date"]) == (2, "invoice", {"n": 1}, "2026-03-01T00:00:00.000000+00:00")


@pytest.mark.parametrize(
    ("option", "json", "named"),
    [
        ("--entry", '{"kind": "k", "payload": {}, "meta": [1]}', "meta is an object"),
        ("--entry", '{"kind": "k", "payload": {}, "date": 7}', "date is an ISO text"),
        ("--entry", '{"kind": "k", "payload": {}, "id": "x"}', "id is a whole number"),
        ("--entry", '{"kind": "k", "payload": {}, "more": 1}', "no field 'more'"),
        ("--entry", '{"kind": "k", "payload": {"a": 1, "a": 2}}', "payload.a twice"),
        ("--data", '{"a": 1, "a": 2}', "--data has the key at a twice"),
    ],
)
def test_what_would_be_dropped_is_refused(playhead: Program, option: str, json: str, named: str):
    event = ["--event", "e"] if option == "--data" else []
    ran = playhead.run("append", "--tape", "t", *event, option, json)
    assert (ran.code, named in ran.error) == (1, True)
    assert playhead.json("ls")["tapes"] == []


def test_a_key_is_written_once(playhead: Program):
    first = playhead.json("append", "--tape", "t", "hello", "--key", "k")
    assert playhead.json("append", "--tape", "t", "hello", "--key", "k") == first
    ran = playhead.run("append", "--tape", "t", "something else", "--key", "k")
    assert (ran.code, "already used" in ran.error) == (1, True)
    assert playhead.json("info", "--tape", "t")["entries"] == 1


def test_handoff_leaves_an_anchor_that_reading_starts_behind(playhead: Program):
    playhead.json("append", "--tape", "t", "before")
    left = playhead.json("handoff", "cause-found", "--tape", "t", "--state", '{"summary": "jitter is 0"}')
    assert (left["anchor"]["id"], left["event"]["payload"]["data"]["state"]) == (2, {"summary": "jitter is 0"})
    playhead.json("append", "--tape", "t", "behind")
    (anchor,) = playhead.json("anchors", "--tape", "t")["anchors"]
    assert (anchor["id"], anchor["name"], anchor["state"]) == (2, "cause-found", {"summary": "jitter is 0"})
    facts = playhead.json("info", "--tape", "t")
    assert (facts["entries"], facts["last_anchor"], facts["entries_since_last_anchor"]) == (4, "cause-found", 2)


def test_show_narrows_by_kind_end_and_place(playhead: Program):
    for n in range(1, 6):
        playhead.json("append", "--tape", "t", f"message {n}")
    playhead.json("append", "--tape", "t", "--event", "e")
    shown = {
        words: [e["id"] for e in playhead.json("show", "--tape", "t", *words.split())["entries"]]
        for words in ("--kind event", "--last 2", "--first 2", "--after 2 --first 2", "--kind message event --last 3")
    }
    assert shown == {"--kind event": [6], "--last 2": [5, 6], "--first 2": [1, 2], "--after 2 --first 2": [3, 4], "--kind message event --last 3": [4, 5, 6]}


def test_show_shortens_long_texts_unless_all_is_asked_for(playhead: Program):
    words = " ".join(f"word{n}" for n in range(2_000))
    playhead.json("append", "--tape", "t", words)
    short, full = playhead.run("show", "--tape", "t").out, playhead.run("show", "--tape", "t", "--full").out
    assert "more characters" in short
    assert "word1999" not in short
    assert full.splitlines()[1] == f"    {words}"


def test_raw_prints_entries_as_they_are_stored(playhead: Program):
    playhead.json("append", "--tape", "t", "one")
    playhead.json("append", "--tape", "t", "two")
    raw = [json.loads(line) for line in playhead.run("show", "--tape", "t", "--raw").out.splitlines()]
    assert raw == playhead.json("show", "--tape", "t")["entries"]


def test_a_long_tape_is_shown_from_its_end_and_says_how_to_see_all(playhead: Program):
    (playhead.place / "chat.json").write_text(json.dumps([{"role": ("user", "assistant")[n % 2], "content": f"message {n}"} for n in range(80)]))
    playhead.json("import", "chat.json", "--tape", "t")
    ran, whole = playhead.run("show", "--tape", "t"), playhead.run("show", "--tape", "t", "--all")
    assert (ran.out.count("    message "), whole.out.count("    message ")) == (50, 80)
    assert ran.error.startswith("32 entries before these; `") and "show --all --tape t`" in ran.error
    assert "not shown to a model" in whole.error
    assert len(playhead.json("show", "--tape", "t")["entries"]) == len(playhead.run("show", "--tape", "t", "--raw").out.splitlines()) == 82


def test_show_tells_what_a_model_is_not_shown(playhead: Program):
    playhead.json("append", "--tape", "t", "before")
    playhead.json("handoff", "new-matter", "--tape", "t", "--state", '{"summary": "jitter is 0"}')
    playhead.json("append", "--tape", "t", "behind")
    playhead.json("append", "--tape", "t", "--event", "e")
    assert playhead.run("show", "--tape", "t").error.startswith("3 of these 5 entries are not shown to a model; `")
    assert [e["id"] for e in playhead.json("show", "--tape", "t", "--shown")["entries"]] == [2, 4]
    assert [e["id"] for e in playhead.json("show", "--tape", "t", "--shown", "--last", "1")["entries"]] == [4]
    assert [e["id"] for e in playhead.json("show", "--tape", "t", "--shown", "--first", "1")["entries"]] == [2]
    assert [e["id"] for e in playhead.json("show", "--tape", "t", "--until", "new-matter", "--shown")["entries"]] == [1]
    assert playhead.run("show", "--tape", "t", "--shown", "--all").err == ""


def test_search_finds_the_best_first_and_shows_where(playhead: Program):
    for text in ("the gateway is down", "nothing here", "A GATEWAY again"):
        playhead.json("append", "--tape", "t", text)
    entries = playhead.json("search", "gateways", "--tape", "t")["entries"]
    assert [e["id"] for e in entries] == [3, 1] and entries[0]["score"] > entries[1]["score"] > 0
    shown = playhead.run("search", "gateway", "--tape", "t", "--limit", "1").out.splitlines()
    assert shown[0].startswith("#3 user  ") and shown[1:] == ["    A GATEWAY again"]
    none = playhead.run("search", "absent", "--tape", "t")
    assert (none.code, none.out, "has a word of 'absent'" in none.error) == (0, "", True)


def test_search_is_narrowed_by_its_options(playhead: Program):
    for text in ("the gateway is down", "since noon"):
        playhead.json("append", "--tape", "t", text)
    playhead.json("handoff", "restarted", "--tape", "t")
    playhead.json("append", "--tape", "t", "a gateway again")
    playhead.json("append", "--tape", "t", "--event", "gateway.up")

    def found(*options: str) -> list[int]:
        return [e["id"] for e in playhead.json("search", "gatewya", "--tape", "t", *options)["entries"]]

    assert found() == [6, 5, 1]
    assert found("--anchor", "restarted", "--start", "2020-01-01") == [6, 5]
    assert found("--at", "2", "--anchor", "none") == [1]
    assert found("--end", "2020-01-01") == []
    assert found("--smoothed", "--kind", "message") == [5, 1, 2]
    for wrong in (("--anchor", ""), ("--start", "soon"), ("--at", "99")):
        assert playhead.run("search", "gateway", "--tape", "t", *wrong).code == 1


def test_ls_lists_the_tapes_with_what_they_hold(playhead: Program):
    playhead.json("append", "--tape", "b", "x")
    playhead.json("append", "--tape", "a/1", "x")
    assert [(t["tape"], t["entries"]) for t in playhead.json("ls")["tapes"]] == [("a/1", 1), ("b", 1)]
    assert [line.split()[-1] for line in playhead.run("ls").out.splitlines()] == ["tape", "a/1", "b"]


def test_reset_removes_nothing_without_yes(playhead: Program):
    playhead.json("append", "--tape", "t", "kept")
    refused = playhead.run("reset", "--tape", "t")
    assert (refused.code, "--yes" in refused.error) == (1, True)
    assert playhead.json("info", "--tape", "t")["entries"] == 1


def test_reset_archives_every_entry_first(playhead: Program):
    for text in ("one", "two"):
        playhead.json("append", "--tape", "t", text)
    before = playhead.json("show", "--tape", "t")["entries"]
    done = playhead.json("reset", "--tape", "t", "--archive", "old", "--yes")
    archived = [json.loads(line) for line in Path(playhead.place, done["archive"]).read_text(encoding="utf-8").splitlines()]
    assert (done["removed"], archived) == (2, before)
    facts = playhead.json("info", "--tape", "t")
    assert (facts["generation"], facts["entries"]) == (1, BOOTSTRAP)


def test_an_odd_name_is_a_plain_name(playhead: Program):
    names = ["../x", "a b\n\tc", "-dash", "%2e", "日本語", ".", "x" * 500]
    for name in names:
        playhead.json("append", f"--tape={name}", "here")
    assert [t["tape"] for t in playhead.json("ls")["tapes"]] == sorted(names)
    assert {p.name for p in playhead.place.iterdir()} <= {"tapes.db", "tapes.db-wal", "tapes.db-shm", "tapes.db.lock"}
    assert not (playhead.place.parent / "x").exists()


def test_without_a_named_store_tapes_are_kept_where_the_platform_keeps_them(playhead: Program):
    data = playhead.place / "some data?"
    ran = playhead.run("append", "--tape", "t", "x", PLAYHEAD_STORE=None, XDG_DATA_HOME=str(data))
    assert ran.code == 0, ran
    assert not playhead.store.exists()
    assert "t" in playhead.run("ls", PLAYHEAD_STORE=None, XDG_DATA_HOME=str(data)).out
    assert any(playhead.place.rglob("playhead/tapes.db"))


def test_a_named_store_comes_before_the_environment(playhead: Program):
    playhead.json("append", "--tape", "t", "x", "--store", "other.db")
    assert (playhead.place / "other.db").exists()
    assert not playhead.store.exists()
    assert playhead.json("ls")["tapes"] == []


def test_reading_makes_no_store(playhead: Program):
    assert playhead.json("ls")["tapes"] == []
    assert playhead.run("show", "--tape", "t").code == 1
    assert list(playhead.place.iterdir()) == []
