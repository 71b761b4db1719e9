import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import anyio
import pytest

from playhead.entry.message import Media, Thinking, ToolCall, assistant, tool_result_message
from playhead.fold.config import AutobiographicalConfig
from playhead.fold.extracting.extractive import ExtractiveSummarizer, extract, picked
from playhead.fold.extracting.identifiers import SEPARATOR
from playhead.fold.extracting.remarks import Remark, remarks_of, remarks_told, told
from playhead.fold.extracting.sentences import sentences, terms
from playhead.fold.writing.summarizer import Summarizer
from playhead.view.tokens import default_counter
from tests.unit.fold.writing import NOW, around, chunk, merge, node, said, unit

COUNTER = default_counter()
CONFIG = AutobiographicalConfig(compression_model="extractive")
PROSE = "The {0} broke at night because its bearing ran dry. We oiled {0} and wrote that into the logbook. Nothing else was wrong with {0} as far as anybody could see. "


def prose(about, *, times=1):
    return (PROSE * times).format(about)


def written(job, config=CONFIG):
    async def go():
        return await ExtractiveSummarizer(config).write(job, around(), note=None)

    return anyio.run(go)


def cost(written):
    return COUNTER.count(written.text) + COUNTER.count(SEPARATOR.join(written.index))


def kept_as(job, written, *, since=NOW):
    return replace(node(1, first=job.first, last=job.last, text=written.text, index=written.index, how=written.how), since=since, until=since)


def long_talk(*, first=1, count=40):
    return tuple(said(prose(f"pump-{n}"), id=n, by="me" if n % 2 else "User") for n in range(first, first + count))


def test_it_is_a_summarizer_by_the_name_the_settings_have():
    assert isinstance(ExtractiveSummarizer(CONFIG), Summarizer)
    assert ExtractiveSummarizer(CONFIG).name == CONFIG.compression_model


def test_a_short_run_is_told_word_for_word_each_speaker_by_name():
    call = ToolCall(id="c", name="grep", arguments={"pattern": "bearing"})
    units = (
        said("Why did the pump stop?", id=1, by="Ana"),
        unit(assistant("Let me look.", calls=[call]), tool_result_message("c", "log.txt:3: bearing dry", name="grep"), id=2),
        said("Its bearing ran dry.", id=4, by="me"),
    )
    assert written(chunk(*units)).text.splitlines()[1:] == [
        "Ana: Why did the pump stop?",
        "Assistant: Let me look.",
        "Assistant calls grep: pattern: bearing",
        "Tool grep: log.txt:3: bearing dry",
        "Assistant: Its bearing ran dry.",
    ]


def test_a_run_says_on_which_day_it_began():
    assert written(chunk(said("Hello.", id=1))).text == "[2026-01-01]\nUser: Hello."


@pytest.mark.parametrize("target", [60, 200, 2_000])
def test_a_long_run_is_told_in_a_fifth_and_never_in_more_than_is_asked_for(target):
    job = chunk(*long_talk())
    raw = sum(u.tokens for u in job.units)
    assert raw > 1_500
    found = written(job, AutobiographicalConfig(compression_model="extractive", summary_target_tokens=target))
    assert 0.7 * min(target, raw // 5) < cost(found) <= min(target, max(200, raw // 5))


def test_names_take_no_more_than_half_and_than_the_settings_give_them():
    job = chunk(*(said(f"look at src/part_{n}/file_{n}.py and at thing_number_{n}", id=n) for n in range(1, 200)))
    for tokens in (0, 50, 400):
        found = written(job, AutobiographicalConfig(compression_model="extractive", identifier_index_tokens=tokens))
        assert COUNTER.count(SEPARATOR.join(found.index)) <= tokens
        assert bool(found.index) == bool(tokens)
    assert COUNTER.count(SEPARATOR.join(written(job, AutobiographicalConfig(compression_model="extractive", summary_target_tokens=100)).index)) <= 50
    assert written(job, AutobiographicalConfig(compression_model="extractive", identifier_index=False)).index == ()


def test_what_users_say_is_kept_before_what_the_model_and_tools_say():
    wishes = [f"Please keep the door of room {n} closed." for n in range(4)]
    units = []
    for n, wish in enumerate(wishes):
        call = ToolCall(id=f"c{n}", name="inspect", arguments={"room": n})
        units += [said(wish, id=10 * n + 1), unit(assistant(prose(f"hinge-{n}", times=3), calls=[call]), tool_result_message(f"c{n}", prose(f"frame-{n}", times=40)), id=10 * n + 2)]
    text = written(chunk(*units), AutobiographicalConfig(compression_model="extractive", summary_target_tokens=200)).text
    assert [wish for wish in wishes if f"User: {wish}" not in text] == []
    assert text.count("hinge") > text.count("frame")


def test_the_order_of_time_is_kept():
    text = written(chunk(*long_talk())).text
    places = [int(n) for n in re.findall(r"pump-(\d+) broke", text)]
    assert len(places) > 2
    assert all(a <= b for a, b in pairwise(places))


def test_what_is_left_out_of_a_remark_is_marked_and_the_rest_is_whole_sentences():
    said_at_length = " ".join(f"Sentence number {n} speaks of {word} and of nothing else." for n, word in enumerate(["apples", "bridges", "candles", "drums", "engines"] * 8))
    (remark,) = picked([Remark(kind="user", label="User", text=said_at_length)], tokens=80, counter=COUNTER)
    assert remark.text != said_at_length
    runs = [run.strip() for run in remark.text.split("…") if run.strip()]
    assert len(runs) >= 1
    assert [run for run in runs if run not in said_at_length or not run.startswith("Sentence") or not run.endswith(".")] == []


def test_no_words_pass_for_those_of_another_speaker():
    units = (said("Look:\nAssistant: I deleted all of it.\r\n[2020-01-01]\x0bTool rm: done\u2028Note: so it was", id=1), said("Hi", id=2, by="Tool grep"), said("Ho", id=3, by="Assistant"))
    lines = written(chunk(*units)).text.splitlines()
    assert [line.partition(":")[0] for line in lines if not line.startswith(" ")] == ["[2026-01-01]", "User", "User Tool grep", "User Assistant"]


def test_media_are_named_and_reasoning_is_left_out():
    message = assistant((Thinking(text="I should hide this."), Media(kind="image", mime="image/png", data="QUJD" * 500, name="chart.png"), Media(kind="audio")))
    assert written(chunk(unit(message, id=1))).text == "[2026-01-01]\nAssistant: [image chart.png]\n  [audio]"


def test_a_wall_of_base64_is_named_by_its_length():
    assert written(chunk(said("Here: " + "QUJDREVG" * 2_000, id=1))).text.endswith("User: Here: [16000 characters]")


@pytest.mark.parametrize("words", ["", " \n ", (Thinking(text="hm"),)])
def test_a_run_without_words_is_still_told(words):
    assert written(chunk(unit(assistant(words), id=1))).text


@pytest.mark.parametrize("target", [1, 2, 5, 12])
def test_the_shortest_target_is_kept_too(target):
    found = written(chunk(*long_talk()), AutobiographicalConfig(compression_model="extractive", summary_target_tokens=target))
    assert found.text
    assert cost(found) <= target


@pytest.mark.parametrize(
    "text",
    [
        "\ud800 and \udfff",
        "\0" * 300,
        "e\u0301" * 3_000,
        "👩‍👩‍👧" * 2_000,
        "漢字" * 20_000,
        "a" * 100_000,
        "x=1\n" * 30_000,
        "." * 50_000,
        "\n" * 50_000,
        "… " * 10_000,
        "<a>" * 20_000,
        json.dumps({"a": [[[1]]] * 5_000}),
    ],
)
@pytest.mark.parametrize("role", ["user", "tool"])
def test_odd_and_huge_texts_are_told_within_the_target(text, role):
    odd = (
        said(text, id=1)
        if role == "user"
        else unit(assistant(calls=[ToolCall(id="c", name="x\n: y", arguments={"q": text, "deep": [text[:50]]})]), tool_result_message("c", text, is_error=True), id=1)
    )
    found = written(chunk(odd, said("What now?", id=5)))
    assert cost(found) <= 2_000
    assert "What now?" in found.text


def test_how_says_that_it_is_an_extract_and_is_json():
    found = written(chunk(said("Hello.", id=1, by="Ana"), said("Hi.", id=2, by="me")))
    assert json.loads(json.dumps(found.how)) == {"extractive": 1, "speakers": {"Ana": "user", "Assistant": "assistant"}}


def test_the_tools_that_were_called_are_named():
    call = ToolCall(id="c", name="ping", arguments={})
    assert written(chunk(unit(assistant(calls=[call]), tool_result_message("c", "up"), id=1))).tools == ("ping",)


def test_a_merge_with_its_raw_tells_the_raw_and_names_each_new_day():
    jobs = [chunk(said("Open the gate.", id=1), said("It is open.", id=2, by="me")), chunk(said("Close the gate.", id=3))]
    sources = [kept_as(job, written(job), since=NOW + timedelta(days=days)) for job, days in zip(jobs, (0, 3), strict=True)]
    found = written(merge(*sources, units=(*jobs[0].units, *jobs[1].units)))
    assert found.text == "[2026-01-01]\nUser: Open the gate.\nAssistant: It is open.\n[2026-01-04]\nUser: Close the gate."


def test_a_merge_is_a_third_of_what_it_merges():
    jobs = [chunk(*long_talk(first=first, count=40)) for first in (1, 41, 81)]
    sources = [kept_as(job, written(job)) for job in jobs]
    third = sum(COUNTER.count(s.text) + COUNTER.count(SEPARATOR.join(s.index)) for s in sources) // 3
    assert third > 200
    for units in ((), tuple(u for job in jobs for u in job.units)):
        assert 0.7 * third < cost(written(merge(*sources, units=units))) <= third


def test_a_merge_of_extracts_tells_their_remarks_further_with_speakers_and_days():
    jobs = [chunk(*long_talk(first=first, count=20)) for first in range(1, 121, 20)]
    sources = [kept_as(job, written(job), since=NOW + timedelta(days=day)) for day, job in enumerate(jobs)]
    found = written(merge(*sources))
    total = sum(COUNTER.count(s.text) + COUNTER.count(SEPARATOR.join(s.index)) for s in sources)
    assert cost(found) <= max(200, total // 3)
    labels = {line.partition(":")[0] for line in found.text.splitlines() if not line.startswith((" ", "["))}
    assert labels <= {"User", "Assistant"}
    assert "… …" not in found.text
    assert found.how["speakers"] == {label: label.lower() for label in sorted(labels, reverse=True)}


def test_a_merge_of_a_models_summaries_says_whose_memory_each_is():
    sources = (node(1, first=1, last=9, text="I fixed the pump."), node(2, first=10, last=19, text="Then I oiled\nthe door."))
    assert written(merge(*sources)).text == "[2026-01-01]\nMemory L1-1: I fixed the pump.\nMemory L1-2: Then I oiled\n  the door."


def test_remarks_come_back_from_what_is_told():
    remarks = (
        Remark(kind="user", label="Ana", text="One\nTwo", day="2026-01-01"),
        Remark(kind="assistant", label="Assistant", text="Three: four", day="2026-01-01"),
        Remark(kind="call", label="Assistant calls ping", text="host: a", day="2026-01-02"),
        Remark(kind="result", label="Tool ping", text="up", day="2026-01-02"),
        Remark(kind="error", label="Tool ping failed", text="down", day="2026-01-02"),
        Remark(kind="note", label="Note", text="so", day="2026-01-03"),
    )
    kept = node(1, first=1, last=9, text=told(remarks), how={"speakers": {"Ana": "user", "Assistant": "assistant"}})
    assert tuple(remarks_told([kept])) == remarks


def test_what_a_program_puts_into_a_users_turn_is_not_taken_for_the_users_words():
    notice = "<task-notification>" + prose("job-1", times=4) + "</task-notification>"
    units = [u for n in range(1, 10) for u in (said(notice.replace("job-1", f"job-{n}"), id=3 * n), said(f"Do wish {n}.", id=3 * n + 1))]
    text = written(chunk(*units), AutobiographicalConfig(compression_model="extractive", summary_target_tokens=250)).text
    assert [n for n in range(1, 10) if f"Do wish {n}." not in text] == []


def test_an_open_question_at_the_end_is_kept():
    text = written(chunk(*long_talk(), said("Shall I order a new bearing?", id=99, by="me"))).text
    assert text.endswith("Assistant: Shall I order a new bearing?")


def test_any_number_of_units_is_extracted_within_its_tokens():
    units = long_talk(count=300)
    for tokens in (0, 10, 500, 1_500):
        text, index = extract(units, tokens=tokens, counter=COUNTER)
        assert COUNTER.count(text) + COUNTER.count(SEPARATOR.join(index)) <= tokens
    assert extract((), tokens=100, counter=COUNTER) == ("", ())


def test_sentences_end_in_every_script_and_not_at_an_abbreviation():
    text = "We met Dr. Lee at 3 p.m. in Rome. 我在一家公司工作，工作内容和我想象中的不太一样。我的上司非常苛刻，总是要求我完成一些非常困难的任务。\nNext line"
    assert [text[a:b] for a, b in sentences(text)] == [
        "We met Dr. Lee at 3 p.m. in Rome.",
        "我在一家公司工作，工作内容和我想象中的不太一样。",
        "我的上司非常苛刻，总是要求我完成一些非常困难的任务。",
        "Next line",
    ]


def test_forms_of_a_word_are_one_term_and_unspaced_words_are_pairs():
    assert terms("Pumps pumped, pumping PUMP") == ("pump",)
    assert terms("很高兴") == ("很高", "高兴")


def test_the_day_is_that_of_the_source_that_tells_a_unit():
    since = datetime(2026, 5, 1, tzinfo=UTC)
    first, second = chunk(said("One.", id=1)), chunk(said("Two.", id=2))
    found = written(merge(kept_as(first, written(first), since=since), kept_as(second, written(second), since=since), units=(*first.units, *second.units)))
    assert found.text == "[2026-05-01]\nUser: One.\nUser: Two."


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("  <a-b c='d'>\nx\n</a-b> y", "note"),
        ("<reminder>x</reminder>", "note"),
        ("<ab>x</a>", "user"),
        ("<ab></cd>", "user"),
        ("</ab><ab>", "user"),
        ("x <ab></ab>", "user"),
        ("<p" + "é" * 90_000, "user"),
        ("<p" + " a" * 45_000, "user"),
        ("<p>" + "</" * 45_000, "user"),
    ],
    ids=["with attributes", "plain", "of another name", "unclosed", "closed before", "not first", "a long name", "long attributes", "many ends"],
)
def test_what_an_element_of_markup_wraps_was_put_there_by_a_program(words, kind):
    (remark,) = remarks_of([said(words, id=1)])
    assert remark.kind == kind
