from datetime import UTC, datetime, timedelta

import pytest

from playhead import clock
from playhead.agent.tape_tools import EXCERPT, PAGE, tape_tools
from playhead.agent.toolbox import Toolbox
from playhead.entry import codec
from playhead.entry.entry import TapeEntry
from playhead.entry.message import Media, Message, Text, ToolCall, assistant, tool_result_message, user
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.testing import FakeClock
from playhead.view.tokens import default_counter
from tests.unit.agent.tools_lab import answer, context_on, fresh_tape, run, told

TOOLS = tape_tools()


async def ask(tape, tool, /, **arguments):
    done = await answer(TOOLS, tool, arguments, context=context_on(tape))
    assert not done.result.is_error, done.result.content
    return done.result.content


async def search(tape, query, **more):
    head, *lines = (await ask(tape, "tape_search", query=query, **more)).split("\n")
    return head, [codec.decode(line) for line in lines if line.startswith("{")], [line for line in lines if not line.startswith("{")]


def test_a_model_sees_the_tools_under_names_without_dots():
    assert list(Toolbox(TOOLS)) == ["tape.info", "tape.search", "tape.anchors", "tape.handoff", "tape.reset"]
    assert [t.model_name for t in TOOLS] == ["tape_info", "tape_search", "tape_anchors", "tape_handoff", "tape_reset"]
    assert all(t.description and t.needs_context for t in TOOLS)
    properties = TOOLS[1].parameters["properties"]
    assert properties["limit"]["default"] == 20 and properties["kinds"]["default"] == ["message", "tool_result"]
    assert all(p.get("description") for t in TOOLS for p in t.parameters["properties"].values())


def test_info_tells_what_the_tape_holds_and_cost():
    async def go():
        tape = fresh_tape()
        assert "entries: 0\nanchors: 0\nlast_anchor: -" in await ask(tape, "tape_info")
        await tape.handoff("reviewed")
        await tape.record_chat(run_id="r", response_text="hi", usage={"total_tokens": 120, "prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 50}})
        told = await ask(tape, "tape_info")
        assert "tape: t\nentries: 4\nanchors: 1\nlast_anchor: reviewed\nentries_since_last_anchor: 3\nlast_token_usage: 120\nlast_cache_hit_rate: 50%" in told

    run(go)


def test_handoff_adds_an_anchor_with_the_summary():
    async def go():
        tape = fresh_tape()
        assert await ask(tape, "tape_handoff", name="reviewed", summary="A123 is fine.") == "anchor added: reviewed"
        assert await ask(tape, "tape_handoff") == "anchor added: handoff"
        assert [(a.name, a.state) for a in await tape.anchors()] == [("reviewed", {"summary": "A123 is fine."}), ("handoff", {})]
        assert {e.meta.get("run_id") for e in await tape.query().all()} == {"run-1"}

    run(go)


def test_anchors_are_listed_or_said_to_be_none():
    async def go():
        tape = fresh_tape()
        assert await ask(tape, "tape_anchors") == "(no anchors)"
        await tape.handoff("first", {"summary": "one"})
        await tape.handoff("second", {"summary": "x" * 5000})
        first, second = (await ask(tape, "tape_anchors")).split("\n")
        assert first.startswith("- first (entry 1, ") and first.endswith('): {"summary":"one"}')
        assert second.startswith("- second (entry 3, ") and second.endswith("xxx...") and len(second) < 600

    run(go)


def test_anchors_come_by_the_page():
    async def go():
        tape = fresh_tape()
        for n in range(45):
            await tape.handoff(f"phase-{n}", {"summary": "字" * 300})
        names, before = [], None
        for _ in range(45):
            more, *lines = (await ask(tape, "tape_anchors", **({} if before is None else {"before": before}))).split("\n")
            if not more.startswith("[tape.anchors]: there are earlier ones; go on with before="):
                lines, more = [more, *lines], ""
            assert len(lines) <= 20
            names = [line.split()[1] for line in lines] + names
            if not more:
                break
            before = int(more.split("=")[1])
        assert names == [f"phase-{n}" for n in range(45)]

    run(go)


def test_reset_starts_anew_and_keeps_an_archive_where_it_is_asked_to(tmp_path):
    async def go():
        tape = fresh_tape()
        await tape.append(user("hello"))
        tape.archives = tmp_path
        assert (await ask(tape, "tape_reset", archive=True)).startswith("Archived: ")
        assert [a.name for a in await tape.anchors()] == ["session/start"]
        tape.archives = None
        assert await ask(tape, "tape_reset") == "ok"
        assert "Name the directory" in told(await answer(TOOLS, "tape_reset", {"archive": True}, context=context_on(tape)))["message"]

    run(go)


# -- search


def test_search_tells_how_many_match_then_one_json_line_an_entry_the_best_first():
    async def go():
        tape = fresh_tape()
        await tape.append(user("My VPN drops."))
        await tape.append(assistant("Which vpn?"))
        await tape.append(user("Something else."))
        head, lines, rest = await search(tape, "vpn")
        assert head == "[tape.search]: 2 matches (0 filtered)" and rest == []
        assert [(line["id"], line["kind"], line["payload"]["content"]) for line in lines] == [(2, "message", "Which vpn?"), (1, "message", "My VPN drops.")]
        assert lines[0]["date"] == (await tape.query().all())[1].date

    run(go)


def test_search_finds_what_stands_before_an_anchor():
    async def go():
        tape = fresh_tape()
        await tape.append(user("My VPN drops."))
        await tape.handoff("next")
        assert len((await search(tape, "vpn"))[1]) == 1

    run(go)


def test_earlier_answers_of_search_are_left_out_and_counted():
    async def go():
        tape = fresh_tape()
        await tape.append(user("My VPN drops."))
        for id in ("c1", "c2"):
            await tape.append(assistant(calls=[ToolCall(id=id, name="tape_search", arguments={"query": "vpn"})]))
            done = await answer(TOOLS, "tape_search", {"query": "vpn"}, context=context_on(tape))
            await tape.append(Message(role="tool", content=(done.result,)))
        head, lines, _ = await search(tape, "vpn")
        assert head == "[tape.search]: 1 matches (2 filtered)" and lines[0]["payload"]["content"] == "My VPN drops."

    run(go)


def test_an_entry_that_only_quotes_an_answer_of_search_is_found():
    async def go():
        tape = fresh_tape()
        quoted = "[tape.search]: 1 matches (0 filtered)\nvpn"
        await tape.append(user(f"It said: {quoted}"))
        await tape.append(user(quoted))
        await tape.append(tool_result_message("c1", quoted, name="read_file"))
        assert (await search(tape, "vpn"))[0] == "[tape.search]: 3 matches (0 filtered)"
        await tape.append(TapeEntry.tool_result([quoted]))
        assert (await search(tape, "vpn"))[0] == "[tape.search]: 3 matches (1 filtered)"

    run(go)


def test_of_results_kept_together_the_others_are_found():
    async def go():
        tape = fresh_tape()
        await tape.append(TapeEntry(0, "tool_result", {"results": ["vpn: old", "vpn: new"], "call_ids": ["a", "b"], "names": ["tape_search", "read"]}))
        await tape.append(TapeEntry(0, "tool_result", {"results": ["vpn: old", "nothing"], "call_ids": ["a", "b"], "names": ["tape_search", "read"]}))
        head, (line,), _ = await search(tape, "vpn")
        assert head == "[tape.search]: 1 matches (1 filtered)" and line["payload"] == {"results": ["vpn: new"]}

    run(go)


def test_equal_entries_are_shown_once():
    async def go():
        tape = fresh_tape()
        for _ in range(3):
            await tape.append(user("My VPN drops."))
        assert (await search(tape, "vpn"))[0] == "[tape.search]: 1 matches (0 filtered)"

    run(go)


@pytest.mark.parametrize("store", ["memory", "sqlite"])
@pytest.mark.parametrize(
    ("dates", "found"),
    [
        ({}, [3, 2, 1]),
        ({"start": "2026-03-02"}, [3, 2]),
        ({"end": "2026-03-02"}, [2, 1]),
        ({"start": "2026-03-02", "end": "2026-03-02"}, [2]),
        ({"start": "2026-03-02T12:00:00+00:00"}, [3, 2]),
        ({"end": "2026-02-01"}, []),
    ],
)
def test_search_takes_a_start_an_end_or_both(store, dates, found, tmp_path):
    async def go():
        tape = fresh_tape(SQLiteTapeStore(tmp_path / "t.db") if store == "sqlite" else None)
        with clock.using(FakeClock(datetime(2026, 3, 1, 12, tzinfo=UTC))) as time:
            for n in range(3):
                await tape.append(user(f"note {n}"))
                time.advance(timedelta(days=1))
        assert [line["id"] for line in (await search(tape, "note", **dates))[1]] == found
        await tape.store.aclose()

    run(go)


def test_a_date_that_is_none_is_told_to_the_model():
    async def go():
        said = told(await answer(TOOLS, "tape_search", {"query": "x", "start": "yesterday"}))
        assert said["kind"] == "invalid_input" and "yesterday" in said["message"]

    run(go)


def test_an_empty_text_finds_everything_of_the_kinds():
    async def go():
        tape = fresh_tape()
        await tape.append(user("a"))
        await tape.append_event("order.note", {"text": "b"})
        assert [line["id"] for line in (await search(tape, ""))[1]] == [1]
        assert [line["id"] for line in (await search(tape, "", kinds=["event"]))[1]] == [2]

    run(go)


@pytest.mark.parametrize("query", ["note", ""])
def test_search_goes_on_by_the_page_until_all_was_seen_once(query):
    async def go():
        tape = fresh_tape()
        for n in range(47):
            await tape.append(user(f"note {n}"))
        seen, skip = [], 0
        for _ in range(10):
            _, lines, rest = await search(tape, query, limit=7, skip=skip)
            seen += [line["id"] for line in lines]
            if not rest:
                break
            skip = int(rest[0].split("=")[1])
        assert seen == list(range(47, 0, -1))

    run(go)


def test_an_answer_never_fills_the_context_whatever_matches():
    async def go():
        tape = fresh_tape()
        for n in range(100):
            await tape.append(user(f"{n} " + "字" * 500_000 + " vpn " + "字" * 5_000) if n == 50 else user(f"{n} vpn " + "字" * 800))
        text = await ask(tape, "tape_search", query="vpn", limit=100)
        assert default_counter().count(text) < PAGE + 200
        assert "there are more; go on with skip=" in text.split("\n")[-1]
        seen, skip = [], 0
        while True:
            _, lines, rest = await search(tape, "vpn", limit=100, skip=skip)
            seen += lines
            if not rest:
                break
            skip = int(rest[0].split("=")[1])
        assert [line["id"] for line in seen] == [*range(100, 51, -1), *range(50, 0, -1), 51]
        (long,) = [line for line in seen if "excerpt" in line]
        assert " vpn " in long["excerpt"] and len(long["excerpt"]) < EXCERPT + 10 and long["characters"] > 500_000

    run(go)


def test_words_are_found_in_other_forms_and_what_stands_beside_them_where_it_is_wished():
    async def go():
        tape = fresh_tape()
        await tape.append(user("Which gateways were restarted?"))
        await tape.append(assistant("Both of them."))
        await tape.append(user("x " * 900 + "The restart took long."))
        assert [line["id"] for line in (await search(tape, "restarting"))[1]] == [1, 3]
        assert "The restart took" in (await search(tape, "restarting"))[1][1]["excerpt"]
        assert [line["id"] for line in (await search(tape, "gateway"))[1]] == [1]
        assert [line["id"] for line in (await search(tape, "gateway", smoothed=True))[1]] == [1, 2, 3]

    run(go)


@pytest.mark.parametrize("limit", [0, -1, 101, "many"])
def test_a_limit_that_is_none_is_told_to_the_model(limit):
    async def go():
        assert set(told(await answer(TOOLS, "tape_search", {"query": "x", "limit": limit}))["details"]) == {"limit"}

    run(go)


def test_media_in_a_result_are_not_shown_again():
    async def go():
        tape = fresh_tape()
        await tape.append(tool_result_message("c1", [Text(text="The rack, gw-3."), Media(kind="image", mime="image/png", data="iVBO" * 1000)], name="photo"))
        (line,) = (await search(tape, "rack"))[1]
        assert "The rack, gw-3." in line["excerpt"] and "[4,000 characters of base64]" in line["excerpt"] and "iVBO" not in line["excerpt"]

    run(go)
