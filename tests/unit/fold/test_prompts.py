"""What a model is shown when it writes a summary: in which order, without what, and how much of it."""

import base64
import json
from itertools import pairwise

import pytest

from playhead.entry.frozen import FrozenDict
from playhead.entry.message import Media, ProviderItem, Text, Thinking, ToolCall, ToolResult, assistant, tool_result_message, user
from playhead.fold.config import AutobiographicalConfig
from playhead.fold.writing.passages import OMITTED
from playhead.fold.writing.prompts import Material, answer_tokens, memory_tokens, tools_tokens
from playhead.fold.writing.shapes import Shape
from playhead.fold.writing.voices import MARKER
from playhead.view.tokens import default_counter, message_tokens
from playhead.view.units import Body, Unit
from playhead.wire.providers import FORMATS
from tests.unit.fold.writing import PING, around, chunk, merge, node, pinged, said, talk, unit

PLAIN = AutobiographicalConfig()
PICTURE = base64.b64encode(b"\x89PNG" + bytes(6_000)).decode()


def drafted(job, *, config=PLAIN, shape=None, limit=None, **more):
    return Material(job, around(**more), config=config, limit=limit).draft(shape or Shape())


def messages(job, **more):
    return drafted(job, **more).request.messages


def words(job, **more):
    return [m.text for m in messages(job, **more)]


def whole(job, **more):
    return "\n".join(words(job, **more))


MEMORIES = (node(1, first=3, last=4), node(2, first=5, last=6))


def test_a_request_for_a_chunk_goes_as_the_agent_lived_it_and_ends_with_the_instruction():
    found = messages(
        chunk(*talk(id=11, count=2)),
        system_prompt="Be brief.",
        head=(said("The very first words.", id=1),),
        memories=MEMORIES,
        between=(said("A pinned word.", id=8),),
    )
    assert [(m.role, m.name) for m in found] == [
        ("system", None),
        ("user", "User"),
        ("user", "Context Manager"),
        ("assistant", None),
        ("user", "Context Manager"),
        ("assistant", None),
        ("user", "User"),
        ("user", "Context Manager"),
        ("assistant", None),
        ("user", "User"),
        ("user", "Context Manager"),
    ]
    told = [m.text for m in found]
    assert told[:7] == ["Be brief.", "The very first words.", "[Recall memory L1-1]", "I remember 1 of level 1.", "[Recall memory L1-2]", "I remember 2 of level 1.", "A pinned word."]
    assert told[7] == MARKER and "Write your memory" in told[10]


def test_without_a_system_prompt_there_is_no_system_message_at_all():
    for prompt in (None, "", "  "):
        assert all(m.role != "system" for m in messages(chunk(*talk()), system_prompt=prompt))


def test_nothing_later_than_the_run_is_shown_and_nothing_covered_twice():
    job = chunk(*talk(id=11, count=2))
    text = whole(job, head=(said("covered", id=3), said("opening", id=1), said("own", id=11), said("later", id=40)), memories=(*MEMORIES, node(9, first=20, last=30)), between=(said("after", id=50),))
    assert "opening" in text and "I remember 1" in text
    assert not [word for word in ("covered", "own", "later", "after", "I remember 9") if f"\n{word}" in text]


def test_a_memory_without_words_is_not_shown():
    assert "L1-1" not in whole(chunk(*talk()), memories=(node(1, first=1, last=2, text=" "),))


def test_memories_are_chosen_newest_first_within_their_budget_and_shown_in_order():
    counter = default_counter()
    memories = (node(1, first=1, last=1, text="short one"), node(2, first=2, last=2, text="a long one " * 400), node(3, first=3, last=3), node(4, first=4, last=4))
    price = sum(message_tokens(m, counter=counter) for m in messages(chunk(*talk()), memories=memories[3:])[:2])
    config = AutobiographicalConfig(compression_recall_budget_tokens=3 * price + 10)
    text = whole(chunk(*talk()), memories=memories, config=config)
    assert [f"L1-{i}" in text for i in (1, 2, 3, 4)] == [True, False, True, True]
    assert text.index("L1-1") < text.index("L1-3") < text.index("L1-4")
    assert "L1-3" not in whole(chunk(*talk()), memories=memories, config=AutobiographicalConfig(compression_recall_budget_tokens=price))


def test_what_does_not_fit_loses_its_oldest_memories_then_the_end_of_the_head_then_the_oldest_raw():
    head = tuple(said(f"head {i} " + "word " * 400, id=i) for i in (1, 2, 3))
    memories = tuple(node(i, first=i, last=i, text=f"memory {i} " + "word " * 400) for i in (4, 5, 6))
    between = tuple(said(f"between {i} " + "word " * 400, id=i) for i in (7, 8, 9))
    job = chunk(*talk(id=11))
    everything = ["head 1", "head 2", "head 3", "memory 4", "memory 5", "memory 6", "between 7", "between 8", "between 9"]
    dropped = ["memory 4", "memory 5", "memory 6", "head 3", "head 2", "head 1", "between 7", "between 8", "between 9"]
    seen = set()
    for window in range(1_200, 12_000, 100):
        draft = drafted(job, config=AutobiographicalConfig(compression_context_budget_tokens=window), head=head, memories=memories, between=between)
        text = "\n".join(m.text for m in draft.request.messages)
        shown = [name for name in everything if f"{name} word" in text]
        seen.add(len(shown))
        assert set(shown) == set(dropped[len(dropped) - len(shown) :])
        assert draft.fits and draft.tokens <= window
    assert seen == set(range(10))


def test_a_sentence_that_is_added_never_pushes_a_memory_out():
    memories = tuple(node(i, first=i, last=i, text="word " * 5) for i in range(1, 10))
    for window in range(600, 1_200, 10):
        config = AutobiographicalConfig(compression_context_budget_tokens=window)
        plain, lined = (drafted(chunk(*talk(id=11)), config=config, memories=memories, shape=shape) for shape in (Shape(), Shape(forbids_tools=True, asks_prose=True)))
        assert plain.request.messages[:-1] == lined.request.messages[:-1]


def test_a_run_that_does_not_fit_by_itself_is_told_apart_before_it_is_sent():
    job = chunk(said("word " * 4_000, id=11))
    assert not drafted(job, config=AutobiographicalConfig(compression_context_budget_tokens=4_000)).fits
    assert not drafted(job, limit=4_000).fits and drafted(job, limit=20_000).fits


def test_a_backlog_of_thousands_of_memories_stays_within_the_budget():
    memories = tuple(node(i, first=i, last=i, text="word " * 100) for i in range(1, 4_001))
    draft = drafted(chunk(*talk(id=5_000)), memories=memories)
    counted = sum(message_tokens(m, counter=default_counter()) for m in draft.request.messages)
    assert 98_000 < counted < 100_000 + 2_000 and draft.fits and draft.tokens >= counted


@pytest.mark.parametrize(
    ("options", "window", "tokens"),
    [
        ({}, 200_000, 16_000),
        ({"summary_target_tokens": 12_000}, 200_000, 18_000),
        ({"summary_target_tokens": 12_001}, 200_000, 18_002),
        ({"compression_max_tokens": 8_192}, 200_000, 8_192),
        ({"compression_max_tokens": 64_000}, 200_000, 16_000),
        ({}, 8_192, 4_096),
    ],
)
def test_an_answer_has_room_enough_and_no_more_than_the_model_allows(options, window, tokens):
    config = AutobiographicalConfig(**options)
    assert answer_tokens(config, window=window) == tokens
    assert drafted(chunk(*talk()), config=config, limit=window).request.max_tokens == tokens


def test_the_memories_of_a_merge_halve_with_every_failure_down_to_8000():
    assert [memory_tokens(PLAIN, attempt=i) for i in range(7)] == [100_000, 50_000, 25_000, 12_500, 8_000, 8_000, 8_000]
    assert memory_tokens(AutobiographicalConfig(compression_recall_budget_tokens=500), attempt=3) == 500


SOURCES = (node(1, first=11, last=14), node(2, first=15, last=18))


def test_a_merge_to_level_2_shows_the_raw_under_its_sources_without_a_marker():
    job = merge(*SOURCES, units=talk(id=11, count=8))
    text = whole(job, memories=(node(8, first=1, last=4),), head=(said("own", id=12),))
    assert MARKER not in text and "L1-8" in text and "part 11 of" in text and "part 18 of" in text
    assert "I remember 1 of level 1" not in text and "own" not in text.splitlines() and "one memory of it, of level 2" in text


def test_a_merge_to_a_higher_level_shows_the_summaries_two_levels_down():
    leaves = tuple(node(i, first=i, last=i) for i in (11, 12, 13, 14))
    above = (node(1, first=11, last=12, level=2, children=leaves[:2]), node(2, first=13, last=14, level=2, children=leaves[2:]))
    text = whole(merge(*above), deeper=leaves)
    assert [f"I remember {i} of level 1." in text for i in (11, 12, 13, 14)] == [True] * 4 and "of level 2." not in text
    part = whole(merge(*above), deeper=leaves[:3])
    assert "I remember 12 of level 1." in part and "I remember 2 of level 2." in part and "I remember 13 of level 1." not in part


def test_a_merge_shows_its_sources_themselves_where_asked_or_where_it_has_nothing_below():
    job = merge(*SOURCES, units=talk(id=11, count=8))
    for text in (whole(job, shape=Shape(shows_sources=True)), whole(merge(*SOURCES))):
        assert "I remember 1 of level 1." in text and "I remember 2 of level 1." in text and "part 11" not in text


def test_alone_a_run_stands_without_what_came_before_it():
    text = whole(chunk(*talk()), shape=Shape(stands_alone=True), head=(said("opening", id=1),), memories=MEMORIES, between=(said("pinned", id=8),), system_prompt="Be brief.")
    assert text.startswith(f"Be brief.\n{MARKER}\npart 11") and "opening" not in text and "Recall memory" not in text and "pinned" not in text


def test_a_memory_shown_by_those_below_it_changes_nothing_else():
    leaves = (node(5, first=3, last=3), node(6, first=4, last=4))
    memories = (node(1, first=1, last=2), node(2, first=3, last=4, level=2, children=leaves), node(3, first=5, last=6))
    more = {"memories": memories, "deeper": leaves}
    plain, expanded = messages(chunk(*talk()), **more), messages(chunk(*talk()), shape=Shape(expanded="n2-2"), **more)
    assert plain[:2] == expanded[:2] and plain[4:] == expanded[6:]
    assert [m.text for m in expanded[2:6]] == ["[Recall memory L1-5]", "I remember 5 of level 1.", "[Recall memory L1-6]", "I remember 6 of level 1."]


def test_thinking_and_what_only_a_provider_reads_never_goes():
    signed = Thinking(text="hm", signature="s", provider="anthropic", model="m")
    turn = unit(assistant((signed, Text(text="I see.", extra=FrozenDict({"anthropic": FrozenDict({"citations": []})})), ProviderItem(provider="anthropic", value={"type": "server_tool_use"}))), id=11)
    thought = unit(assistant((signed,)), id=12)
    found = messages(chunk(turn, thought))
    assert found[1].parts == (Text(text="I see."), Text(text="[server_tool_use of anthropic not shown: a request for a memory holds words alone]")) and len(found) == 3
    body = FORMATS["anthropic"].dump(found, model="m")
    assert "signature" not in json.dumps(body) and "citations" not in json.dumps(body)


def test_pictures_and_documents_become_a_line_also_in_the_answers_of_tools():
    call = ToolCall(id="c", name="look")
    answer = ToolResult(call_id="c", content=(Text(text="Here."), Media(kind="image", mime="image/png", data=PICTURE)))
    shown = unit(user((Media(kind="document", mime="application/pdf", name="plan.pdf", data="JVBERi0="),)), id=11)
    looked = unit(assistant(calls=[call]), assistant("x").__class__(role="tool", content=(answer,)), id=12)
    found = messages(chunk(shown, looked), tools=(PING,))
    assert found[1].text == "[document not shown: plan.pdf, application/pdf; a request for a memory holds words alone]"
    assert "[image not shown: image/png;" in found[3].text and PICTURE not in repr(found)
    assert looked.messages[1].results[0] is answer


@pytest.mark.parametrize("length", [4_095, 4_096, 8_004])
def test_long_data_urls_inside_words_are_left_out_of_the_request_alone(length):
    url = f"data:image/png;charset=x;base64,{'A' * length}"
    job = chunk(said(f"see {url} there", id=11), unit(assistant(calls=[ToolCall(id="c", name="save", arguments={"body": [url], "n": 1})]), tool_result_message("c", f"({url})"), id=12))
    found = messages(job)
    texts = [found[1].text, json.dumps(found[2].calls[0].arguments), found[3].text]
    if length < 4_096:
        assert all(url in text for text in texts)
    else:
        size = f"{length * 3 // 4:,}"
        assert texts[0] == f"see [image/png of {size} bytes, not shown] there"
        assert all(url not in text and f"[image/png of {size} bytes, not shown]" in text for text in texts) and found[2].calls[0].arguments["n"] == 1
    assert url in job.units[0].messages[0].text


def test_the_spelling_of_changed_arguments_does_not_bring_them_back():
    url = f"data:image/png;base64,{'A' * 5_000}"
    call = ToolCall(id="c", name="save", arguments={"body": url}, extra=FrozenDict({"openai": FrozenDict({"arguments": json.dumps({"body": url}), "extra_content": FrozenDict({"k": 1})})}))
    found = messages(chunk(unit(assistant(calls=[call]), tool_result_message("c", "ok"), id=11)))
    written = FORMATS["openai"].dump(found)["messages"][1]["tool_calls"][0]
    assert url not in json.dumps(written) and written["extra_content"] == {"k": 1}


def test_turns_that_one_participant_took_in_a_row_are_joined_with_a_line_between():
    found = messages(chunk(said("one", id=11), said("two", id=12), said("three", id=13, by="Ann"), said("four", id=14, by="me"), said("five", id=15, by="me"), pinged("gw", id=16)), tools=(PING,))
    assert [m.text for m in found[1:4]] == ["one\n\n---\n\ntwo", "three", "four\n\n---\n\nfive\n---\nLet me ask gw."]
    assert [c.name for c in found[3].calls] == ["ping"] and found[4].results


def test_parts_of_one_long_message_run_on_without_a_break():
    shards = [
        Unit(kind="message", messages=(user(t, name="User"),), ids=(i,), uids=(f"u{i}",), tokens=9, body=Body(id="b", index=i - 11, count=3)) for i, t in ((11, "It was a dark "), (12, "and stormy"))
    ]
    again = Unit(kind="message", messages=(user("It was", name="User"),), ids=(13,), uids=("u13",), tokens=9, body=Body(id="b", index=0, count=3))
    assert messages(chunk(*shards, again))[1].text == "It was a dark and stormy\n\n---\n\nIt was"


def test_empty_words_and_then_empty_messages_are_left_out():
    found = messages(chunk(said(" ", id=11), unit(user((Text(text=""), Text(text="hi")), name="User"), id=12), unit(user((Text(text=" "),)), id=13)))
    assert [m.text for m in found[1:-1]] == ["hi"] and found[1].parts == (Text(text="hi"),)


def test_a_call_without_its_other_half_is_left_out_and_said_so():
    broken = Unit(kind="message", messages=(assistant(calls=[ToolCall(id="c", name="ping")]), tool_result_message("d", "x")), ids=(11,), uids=("u11",), tokens=9)
    assert broken.fault is not None
    found = messages(chunk(broken, said("hi", id=12)))
    assert [m.text for m in found[1:3]] == [OMITTED, "hi"] and not any(m.calls or m.results for m in found)


def test_the_tools_of_the_agent_are_declared_and_cost_what_they_cost():
    job = chunk(pinged("gw", id=11))
    bare, told = drafted(job), drafted(job, tools=(PING,))
    assert told.request.tools == (PING,) and told.request.tool_choice == "auto"
    assert told.tokens - bare.tokens == tools_tokens([PING], counter=default_counter()) > 10


def test_without_tools_they_stay_declared_where_calls_stand_in_the_request_and_none_may_be_chosen():
    shape = Shape(offers_tools=False)
    assert drafted(chunk(*talk()), tools=(PING,), shape=shape).request.tools == ()
    kept = drafted(chunk(pinged("gw", id=11)), tools=(PING,), shape=shape).request
    assert (kept.tools, kept.tool_choice) == ((PING,), "none")


def test_the_same_material_gives_the_same_bytes_and_every_difference_another_hash():
    job = chunk(*talk())
    first, second = drafted(job, memories=MEMORIES), drafted(job, memories=MEMORIES)
    assert first.digest == second.digest and first.request == second.request
    others = [
        drafted(job),
        drafted(job, memories=MEMORIES, tools=(PING,)),
        drafted(job, memories=MEMORIES, system_prompt="x"),
        drafted(job, memories=MEMORIES, shape=Shape(asks_prose=True)),
        drafted(chunk(*talk(count=5)), memories=MEMORIES),
        drafted(job, memories=MEMORIES, config=AutobiographicalConfig(compression_max_tokens=99)),
    ]
    assert len({first.digest, *(o.digest for o in others)}) == 7


def test_the_target_of_a_part_is_its_share_and_at_least_100():
    job = chunk(*[said("word " * 300, id=i) for i in range(11, 15)])
    assert "about 1000 tokens" in whole(job, shape=Shape(stands_alone=True, piece=(0, 2)))
    small = AutobiographicalConfig(summary_target_tokens=120)
    assert "about 100 tokens" in whole(job, shape=Shape(stands_alone=True, piece=(3, 4)), config=small)
    assert "word" not in whole(chunk(said("word", id=11), said("other", id=12, by="me")), shape=Shape(stands_alone=True, piece=(1, 2))).splitlines()


HARD = (
    unit(
        assistant((Thinking(text="t", signature="s", provider="anthropic", model="m"), Text(text="On it.")), calls=[ToolCall(id="a", name="ping"), ToolCall(id="b", name="ping")]),
        tool_result_message("a", ""),
        tool_result_message("b", "\ud800 lone", is_error=True),
        id=21,
    ),
    unit(assistant(calls=[ToolCall(id="a", name="ping")]), tool_result_message("a", "again the same id"), id=24),
    unit(assistant((Thinking(text="only thought", signature="s"),)), id=26),
    unit(user((Media(kind="image", mime="image/png", data=PICTURE),), name="Ann Example"), id=27),
)


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic"])
@pytest.mark.parametrize("shape", [Shape(), Shape(stands_alone=True), Shape(stands_alone=True, piece=(1, 3)), Shape(offers_tools=False, forbids_tools=True, asks_prose=True)])
def test_every_provider_takes_the_request(provider, shape):
    more = {"head": (said("first", id=1, by="me"), pinged("gw", id=2)), "memories": (node(1, first=5, last=6, text="\ud800"), node(2, first=7, last=8)), "system_prompt": "Be brief."}
    request = drafted(chunk(*HARD), shape=shape, tools=(PING,), **more).request
    body = FORMATS[provider].dump(request.messages, model="m")
    turns = body["input" if provider == "openai-responses" else "messages"]
    assert turns[-1]["role"] == "user" and "Answer with the memory" in json.dumps(turns[-1])
    if provider == "anthropic":
        roles = [turn["role"] for turn in turns]
        assert roles[0] == "user" and all(a != b for a, b in pairwise(roles)) and body["system"]
        assert all(block.get("text", "x").strip() for turn in turns for block in (turn["content"] if isinstance(turn["content"], list) else []))
