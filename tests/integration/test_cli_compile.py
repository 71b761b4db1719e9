"""compile and explain: exactly the provider's body, within the budget, and a reason for everything."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.program import Program

TOOL_CALL = json.dumps(
    {
        "kind": "tool_call",
        "payload": {
            "calls": [{"id": "c1", "name": "ping", "arguments": {"host": "gw1"}}],
            "content": [{"type": "text", "text": "Let me look."}, {"type": "tool_call", "id": "c1"}],
        },
    }
)
TOOL_RESULT = '{"kind": "tool_result", "payload": {"results": ["6 sent, 0 received"], "call_ids": ["c1"]}}'
TURNS = 30


@pytest.fixture(scope="module")
def conversation(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """A tape with an anchor, a tool round, and more words than a small budget holds; only read by the tests."""
    program = Program(tmp_path_factory.mktemp("conversation"))
    program.json("append", "--tape", "t", "An old matter.")
    program.json("handoff", "new-matter", "--tape", "t", "--state", '{"summary": "The old one is done."}')
    (program.place / "chat.json").write_text(json.dumps([{"role": ("user", "assistant")[n % 2], "content": f"Turn {n}: " + "all is well. " * 40} for n in range(TURNS)]))
    program.json("import", "chat.json", "--tape", "t")
    for entry in (TOOL_CALL, TOOL_RESULT):
        program.json("append", "--tape", "t", "--entry", entry)
    return program


def lists_named(value: object, name: str) -> Iterator[list[object]]:
    """Yield every list that stands under a key of that name, anywhere in a JSON value."""
    if isinstance(value, dict):
        for key, held in value.items():
            if key == name and isinstance(held, list):
                yield held
            yield from lists_named(held, name)
    elif isinstance(value, list):
        for held in value:
            yield from lists_named(held, name)


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic"])
def test_the_payload_is_exactly_the_body_that_is_printed_without_json(conversation: Program, provider: str):
    words = ("compile", "--tape", "t", "--max-tokens", "8000", "--reserve", "1000", "--for", provider)
    told = conversation.json(*words)
    assert told["payload"] == json.loads(conversation.run(*words).out)
    assert (told["provider"], told["model"]) == (provider, None)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_the_payload_holds_the_only_list_named_messages(conversation: Program, provider: str):
    told = conversation.json("compile", "--tape", "t", "--for", provider)
    assert [id(found) for found in lists_named(told, "messages")] == [id(told["payload"]["messages"])]


def test_the_payload_is_openais_where_no_provider_is_named(conversation: Program):
    told = conversation.json("compile", "--tape", "t")
    assert told["provider"] == "openai"
    assert told["payload"]["messages"][-2]["tool_calls"][0]["function"]["name"] == "ping"


def test_a_small_budget_shows_the_newest_and_says_what_is_out(conversation: Program):
    told = conversation.json("compile", "--tape", "t", "--max-tokens", "1500", "--reserve", "500")
    assert told["stats"]["total"] <= told["budget"]["room"] == 1000
    assert next(s["reason"] for s in told["spans"] if s["form"] == "omitted") == "before anchor new-matter"
    assert any(s["reason"] == "older than what fits the budget" for s in told["spans"])
    assert len(told["provenance"]["sources"]) == len(told["payload"]["messages"])


def test_the_same_content_has_the_same_digest_in_every_process(conversation: Program):
    words = ("compile", "--tape", "t", "--max-tokens", "5500", "--strategy", "windowed", "--json")
    one, other = (conversation.run(*words, PYTHONHASHSEED=seed).json for seed in ("1", "2"))
    assert (one["digest"], one["payload"]) == (other["digest"], other["payload"])


def test_reading_starts_where_it_is_told_to(conversation: Program):
    whole = conversation.json("compile", "--tape", "t", "--anchor", "none")
    named = conversation.json("compile", "--tape", "t", "--anchor", "new-matter")
    assert (whole["anchor"], named["anchor"]) == (None, "new-matter")
    assert whole["payload"]["messages"][0]["content"] == "An old matter."
    assert "The old one is done." in json.dumps(named["payload"]["messages"][0])


def test_the_past_is_compiled_as_it_was(conversation: Program):
    told = conversation.json("compile", "--tape", "t", "--at", "1", "--for", "openai")
    assert (told["head"], told["payload"]) == (1, {"messages": [{"role": "user", "content": "An old matter."}]})


def test_without_a_provider_the_messages_are_text(conversation: Program):
    ran = conversation.run("compile", "--tape", "t", "--max-tokens", "1500", "--reserve", "500")
    lines = ran.out.splitlines()
    assert lines[-5:] == ["assistant", "    Let me look.", '    → ping {"host":"gw1"}', "tool", "    ← ping: 6 sent, 0 received"]
    assert "of 1,000 tokens" in ran.error


def test_what_cannot_fit_is_an_error_that_names_the_budget(conversation: Program):
    ran = conversation.run("compile", "--tape", "t", "--max-tokens", "510", "--reserve", "500")
    assert (ran.code, ran.out) == (1, "")
    assert "budget" in ran.error


def test_explain_covers_every_entry_once(conversation: Program):
    told = conversation.json("explain", "--tape", "t", "--max-tokens", "1500", "--reserve", "500")
    assert sum(r["count"] for r in told["rows"]) == told["head"]
    assert told["over_budget"] is None
    assert {r["form"] for r in told["rows"]} >= {"raw", "omitted"}
    assert all(r["reason"] for r in told["rows"])


def test_explain_says_why_one_entry_is_out(conversation: Program):
    words = ("explain", "--tape", "t", "--why", "1")
    assert conversation.json(*words)["why"] == "omitted: before anchor new-matter"
    assert conversation.run(*words).out == "entry 1: omitted: before anchor new-matter\n"


def test_explain_tells_also_what_does_not_fit_and_fails(conversation: Program):
    ran = conversation.run("explain", "--tape", "t", "--max-tokens", "510", "--reserve", "500", "--json")
    assert ran.code == 1
    assert ran.json["over_budget"]["room"] <= 10
    assert json.loads(ran.error)["error"]["kind"] == "over_budget"


def test_the_hint_is_the_whole_command(conversation: Program):
    words = ("--max-tokens", "1500", "--reserve", "500", "--strategy", "windowed", "--anchor", "none")
    hint = re.search(r"`(.+)`", conversation.run("compile", "--tape", "t", *words).error)
    assert hint
    again = conversation.shell(hint[1].replace("python -m playhead", "playhead", 1))
    assert again == conversation.run("explain", "--tape", "t", *words)


def test_a_model_is_counted_by_its_own_counter(conversation: Program):
    plain, claude = (conversation.json("explain", "--tape", "t", *words)["stats"] for words in ((), ("--model", "claude-sonnet-4-5")))
    assert claude["counter"].endswith("x 1.30")
    assert claude["total"] > plain["total"]
    header = conversation.run("explain", "--tape", "t", "--model", "claude-sonnet-4-5").out.splitlines()[1]
    assert header.endswith(f"counted by {claude['counter']}")


def test_a_price_that_is_known_in_part_says_what_is_missing(conversation: Program):
    lines = conversation.run("explain", "--tape", "t", "--max-tokens", "1500", "--reserve", "500").out.splitlines()
    price = re.search(r"omitted +\S+ +\d+ +([\d,]+) \+ \?  older", "\n".join(lines))
    assert price
    assert f"left out: {price[1]} tokens and " in lines[-1]


def test_explain_says_what_became_of_the_anchor_that_reading_starts_behind(conversation: Program):
    assert conversation.json("explain", "--tape", "t", "--why", "2")["why"] == "raw: its state is the note left at new-matter"


def test_a_note_that_is_left_out_has_a_row_of_its_own(conversation: Program):
    ran = conversation.run("explain", "--tape", "t", "--max-tokens", "564", "--reserve", "500")
    assert re.search(r"^omitted +note ", ran.out, re.MULTILINE), ran


def test_reading_ends_where_it_is_told_to(conversation: Program):
    told = conversation.json("compile", "--tape", "t", "--until", "new-matter")
    assert (told["head"], told["anchor"]) == (1, None)
    assert told["payload"]["messages"] == [{"role": "user", "content": "An old matter."}]


def test_explain_writes_a_page(conversation: Program):
    assert conversation.json("explain", "--tape", "t", "--html", "page.html")["html"] == "page.html"
    assert "Turn 29" in Path(conversation.place, "page.html").read_text(encoding="utf-8")


def test_an_empty_tape_has_no_body_but_an_explanation(playhead: Program):
    playhead.json("append", "--tape", "t", "--event", "e")
    told = playhead.json("compile", "--tape", "t")
    assert (told["payload"], told["provenance"]["sources"], told["stats"]["total"]) == (None, [], 0)
    for words in (("compile", "--for", "anthropic"), ("compile", "--json", "--for", "openai"), ("export", "--as", "anthropic")):
        ran = playhead.run(*words, "--tape", "t")
        assert (ran.code, "append what the user says first" in ran.error, ran.out) == (1, True, "")
