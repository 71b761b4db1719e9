import base64
import hashlib
import re
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.entry.message import Media, Message, ProviderItem, Text, Thinking, ToolCall, assistant, tool_result_message, user
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.prompt.injection import Injection
from playhead.prompt.report.limits import MOST_CHARACTERS, MOST_STRETCHES, MOST_UNITS, PREVIEW
from playhead.prompt.report.page import report_chunks, report_html
from playhead.prompt.report.words import percent
from playhead.view.context import default_tape_context
from playhead.view.selectors import mask
from tests.unit.prompt.report.prompts import WIDE, AllForms, a_round, compiled, filled, talk
from tests.unit.prompt.report.reading import read

SMALL = Budget(max_tokens=600, reserve_for_response=100)
HOSTILE = (
    "</script><script>document.title='owned'</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</title></style></details></main><svg/onload=alert(1)>",
    "<!-- --!> <![CDATA[ ]]>",
    "javascript:alert(1)",
    "\x00\x1b]0;owned\x07 \ud800 \udfff\udc00 \u202egnp",
    "&lt;b&gt; &amp;amp; &#60;script&#62;",
    "${style} $script $$ %s {0}",
)


def test_the_head_says_what_was_compiled_and_how():
    prompt = compiled(talk(6), budget=SMALL)
    page = read(report_html(prompt))
    assert page.one("h1").text == "support/42"
    head = {d.one("dt").text: d.one("dd").text for d in page.one("div", within="facts").all("div")}
    assert head["Strategy"] == "passthrough" and head["Budget"] == "600 tokens, 100 kept for the answer"
    assert head["Digest"] == prompt.digest and head["Compile"] == prompt.provenance.compile_id
    assert head["Read"] == "from the first entry" and head["Up to"] == "entry 6" and head["Counter"] == prompt.counter.name
    assert page.one("ul", within="figures").one("li").text.startswith(f"{prompt.stats.total:,}of 500 tokens")


def test_the_time_is_told_only_where_it_is_given():
    prompt = compiled(talk(2))
    assert "Compiled" not in report_html(prompt)
    assert "2025-03-04 05:06:07 UTC" in report_html(prompt, compiled=datetime(2025, 3, 4, 5, 6, 7, tzinfo=UTC))


def test_the_same_prompt_gives_the_same_page_in_pieces_or_whole():
    prompt = compiled([*talk(20), *a_round(1)], budget=SMALL)
    assert report_html(prompt) == report_html(prompt) == "".join(report_chunks(prompt))


def test_every_process_makes_the_same_page():
    code = (
        "import hashlib, sys\nfrom playhead.clock import using, uuid7\nfrom datetime import datetime, UTC\n"
        "class Clock:\n    n = 0\n    def now(self): return datetime(2025, 1, 1, tzinfo=UTC)\n"
        "    def uid(self):\n        Clock.n += 1\n        return str(uuid7(milliseconds=1, counter=0, chance=Clock.n))\n"
        "from tests.unit.prompt.report.prompts import *\nfrom playhead.prompt.report.page import report_html\n"
        "with using(Clock()): prompt = compiled([*talk(9), *a_round(1), *a_round(2, tool='read')], strategy=AllForms())\n"
        "print(hashlib.sha256(report_html(prompt).encode()).hexdigest())"
    )
    root = Path(__file__).resolve().parents[4]
    path = [*sys.path, str(root)]
    made = {
        subprocess.run([sys.executable, "-c", f"import sys; sys.path[:] = {path!r}\n{code}"], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True).stdout
        for seed in ("1", "2", "3")
    }
    assert len(made) == 1


def test_each_form_is_drawn_and_explained():
    page = read(report_html(compiled(talk(8), strategy=AllForms(), injections=[Injection(namespace="rules", content="Never guess.")])))
    view, sent = page.all("ol", within="bar")
    assert [a.attributes["class"] for a in view.all("a")] == ["part summary", "part trimmed", "part omitted", "part raw"]
    assert [a.attributes["class"] for a in sent.all(within="part")] == ["part summary", "part injection", "part trimmed", "part raw", "part free"]
    tips = [a.attributes["aria-label"] for a in view.all("a")]
    assert tips[0].startswith("summary: folded; L1-0001; entries 1–2, 24 tokens") and "off the topic" in tips[2]
    assert {a.attributes["data-tip"] for a in sent.all("a")} >= set(tips[:2])
    rows = page.one(id="fell").one("table").rows()
    assert [(r[0], r[1], r[2]) for r in rows] == [("summary", "folded; L1-0001", "1–2"), ("trimmed", "long and old; head and tail", "3"), ("omitted", "off the topic", "4")]
    assert [form.text for form in page.one("ul", within="legend").all(within="form")] == ["raw", "summary", "trimmed", "injection", "omitted", "free"]


def test_every_part_of_a_bar_leads_to_its_span():
    page = read(report_html(compiled([*talk(40), *a_round(1)], budget=SMALL)))
    ids = [node.attributes["id"] for node in page.all() if "id" in node.attributes]
    assert len(ids) == len(set(ids))
    targets = [a.attributes["href"] for a in page.all("a")]
    assert targets and all(t.startswith("#") and t[1:] in ids for t in targets)


def test_what_the_model_sees_in_place_of_units_is_shown_with_them():
    page = read(report_html(compiled(talk(6), strategy=AllForms())))
    told = page.one("details", within="summary")
    assert "They met." in told.text and "L1-0001" in told.text and "question 0" in told.text


def test_a_unit_says_its_reason_and_where_it_comes_from():
    prompt = compiled([user("go"), *a_round(7)])
    unit = read(report_html(prompt)).all("details", within="unit")[1]
    uids = prompt.plan.units[1].uids
    assert unit.one("summary").attributes["data-tip"] == f"raw: fits the budget; entries 2–3; uid {', '.join(uids)}"
    assert unit.one("p", within="provenance").text == f"entries 2–3; uid {', '.join(uids)}"
    assert unit.one("span", within="who").text == "ping" and "I look at gw7." in unit.one("span", within="words").text
    assert "call ping" in unit.text and '{"host":"gw7"}' in unit.text and "6 packets lost" in unit.text


def test_what_was_not_read_is_said_to_be_so():
    page = read(report_html(compiled(talk(3000), budget=SMALL)))
    assert "not read" in page.one(id="fell").text
    unread = page.one("details", within="omitted")
    assert "neither text nor price is known" in unread.text and unread.all("details") == []
    assert page.one("ol", within="bar").one("a").attributes["class"] == "part omitted unread"


def test_entries_that_show_nothing_are_grouped_with_their_reason():
    said = [user("hi"), *(TapeEntry.event("tick", {"n": n}) for n in range(3)), TapeEntry.message({"role": "user", "content": "psst"}, context=False)]
    page = read(report_html(compiled(said)))
    assert page.one("section", id="fallen").all("table")[-1].rows() == [["event: kind not shown by the default projection", "2–4", "3"], ["message: meta.context is False", "5", "1"]]


def test_nothing_fell_out_is_said_in_words():
    page = read(report_html(compiled(talk(3))))
    assert "Nothing: the model sees all of the view" in page.one("section", id="fallen").text


def test_an_injection_without_a_place_is_among_what_fell_out():
    page = read(report_html(compiled([assistant("alone")], injections=[Injection(namespace="clock", position="before_user", content="Noon.")])))
    assert "clock: there is no user message to stand before" in page.one(id="fell").text


def test_a_dry_run_that_does_not_fit_says_why():
    page = read(report_html(compiled([user("word " * 3000)], budget=SMALL, dry_run=True)))
    assert "budget" in page.one("p", within="refusal").text
    assert page.one("ul", within="figures").one("strong").text == "0"


def test_an_empty_tape_makes_a_page():
    page = read(report_html(compiled([])))
    assert page.one("section", id="by-tool").text.strip().endswith("No tool was called.")
    assert page.all("details") == []


def test_tools_are_listed_largest_first_with_their_share():
    prompt = compiled([user("go"), *a_round(1, tool="read", answer="line of output " * 300), *a_round(2)])
    rows = read(report_html(prompt)).one("section", id="by-tool").one("table").rows()
    assert [(r[0], r[1]) for r in rows] == [("read", "1"), ("ping", "1")]
    assert rows[0][3].endswith("%") and rows[0][4] == "–"


def test_parts_that_are_no_text_say_what_they_are():
    parts = [Thinking(text="hm", model="claude-x"), Text(text="So."), ProviderItem(provider="anthropic", value={"type": "server_tool"})]
    said = [user([Text(text="Look:"), Media(kind="image", mime="image/png", data="aGVsbG8=" * 50)]), assistant(parts)]
    text = read(report_html(compiled(said))).one("section", id="contents").text
    assert "image, image/png, 300 bytes" in text and "aGVsbG8" not in text
    assert "thinking of claude-x" in text and "for anthropic alone" in text


def test_a_call_without_a_result_is_marked():
    page = read(report_html(compiled([user("go"), assistant("look", calls=[ToolCall(id="a", name="f")])])))
    assert page.one("span", within="flag").text == "open"
    assert "no result on the tape" in page.one("section", id="contents").text


def everywhere(text):
    """Return a prompt that holds a text wherever a tape, a strategy or a caller can put one."""

    class Named:
        name = text

        def plan(self, units, *, budget, state):
            return units.keep(units[1:], reason=text, kept_reason=text)

    call = ToolCall(id=text, name=text, arguments={text: [text, {"deep": text}]})
    said = [
        user("first"),
        Message(role="user", content=text, name=text),
        assistant([Thinking(text=text, model=text), Text(text=text)], calls=[call]),
        tool_result_message(text, text, name=text, is_error=True),
        user([Media(kind="document", mime=text, url=text, name=text), ProviderItem(provider=text, value={text: text})]),
        TapeEntry(0, text, {"name": text}),
    ]
    prompt = compiled(said, strategy=Named(), injections=[Injection(namespace=text, content=text)])
    return replace(prompt, tape=text)


def skeleton(node):
    """Return the elements and attribute names of a page, without what they hold."""
    return [(n.tag, tuple(n.attributes)) for n in node.all()]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_of_a_tape_becomes_markup(text):
    page = read(report_html(everywhere(text)))
    assert skeleton(page) == skeleton(read(report_html(everywhere("harmless"))))
    assert [name for n in page.all() for name in n.attributes if name.startswith("on")] == []
    assert len(page.all("script")) == len(page.all("style")) == 1


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_every_page_is_utf_8_without_control_characters(text):
    body = report_html(everywhere(text)).encode()
    assert re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", body) is None


def test_the_page_brings_all_it_needs_and_may_do_nothing_else():
    text = report_html(compiled(talk(4)))
    page = read(text)
    assert [n for n in page.all() if {"src", "srcset", "action", "data"} & set(n.attributes)] == [] and page.all("link") == []
    assert "url(" not in page.one("style").text and "@import" not in page.one("style").text
    policy = page.one("meta", **{"http-equiv": "Content-Security-Policy"}).attributes["content"]
    assert policy.startswith("default-src 'none'") and "unsafe-eval" not in policy
    for kind in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(page.one(kind).text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_a_long_text_is_cut_and_its_length_is_told():
    page = read(report_html(compiled([user("x" * (PREVIEW + 1)), user("y" * PREVIEW)])))
    first, second = page.all("div", within="message")
    assert first.one("div", within="text").text == "x" * PREVIEW
    assert first.one("p", within="more").text == f"The first {PREVIEW:,} of {PREVIEW + 1:,} characters."
    assert second.all("p", within="more") == []


def test_a_very_long_record_is_listed_at_both_ends():
    prompt = compiled(talk(MOST_UNITS + 800, words=1), budget=Budget(max_tokens=10**6))
    page = read(report_html(prompt))
    units = page.all("details", within="unit")
    assert len(units) == MOST_UNITS
    assert "question 0" in units[0].text and f"answer {MOST_UNITS + 799}" in units[-1].text
    assert "800 more units between, not listed on this page." in page.one("section", id="contents").text


def test_very_many_spans_are_listed_at_both_ends_and_drawn_together():
    class Alternating:
        def plan(self, units, *, budget, state):
            return units.keep(units[::-2], reason="every other one")

    prompt = compiled(talk(MOST_STRETCHES + 500, words=1), budget=WIDE, strategy=Alternating())
    page = read(report_html(prompt))
    assert len(page.all("details", within="stretch")) == MOST_STRETCHES
    assert "500 more spans between" in page.one("section", id="contents").text
    assert len(page.all("a", within="part")) < 500


def test_a_page_of_long_texts_stays_bounded():
    prompt = compiled([user("long text " * 350) for _ in range(2000)], budget=Budget(max_tokens=10**8))
    chunks = [len(chunk) for chunk in report_chunks(prompt)]
    assert MOST_CHARACTERS * 0.9 < sum(chunks) < MOST_CHARACTERS * 1.5


def test_a_note_that_was_trimmed_is_named_with_what_trimmed_it():
    async def go():
        tape = await filled([])
        await tape.handoff("phase", state={"summary": "The key is sk-1."})
        await tape.append(user("Go on."))
        context = default_tape_context()
        context.select = mask(r"sk-\w+")
        return await compile(tape.with_context(context), WIDE)

    prompt = anyio.run(go)
    page = read(report_html(prompt))
    trimmed = page.one("details", within="trimmed").one("summary")
    assert (trimmed.one("span", within="where").text, trimmed.one("span", within="why").text) == ("note", "opens the view; mask")
    fell = page.one("div", id="fell").one("table").rows()
    assert [row[:4] for row in fell] == [["omitted", "before anchor phase", "1", "1 entry"], ["trimmed", "opens the view; mask", "note", ""]]
    makeup = {d.one("dt").text: d.one("dd").text for d in page.one(id="makeup").all("div")}
    assert makeup["Trimmed"] == f"{prompt.stats.trimmed} tokens"


@pytest.mark.parametrize(("part", "whole", "said"), [(0, 9, "0 %"), (1, 200, "<1 %"), (2, 200, "1 %"), (99, 100, "99 %"), (999, 1_000, ">99 %"), (9, 9, "100 %"), (0, 0, "0 %")])
def test_a_share_is_0_or_100_percent_only_where_it_is(part: int, whole: int, said: str):
    assert percent(part, whole) == said


def test_a_very_long_name_is_told_by_its_beginning():
    long = "n" * 50_000
    history = [user("hi", name=long), assistant("", calls=[ToolCall(id="c", name=long)]), tool_result_message("c", "ok"), TapeEntry.event(long)]
    page = report_html(compiled([*history, TapeEntry.anchor(long), user("and?", name=long)]))
    whole = report_html(compiled(history))
    assert "n" * 301 not in page + whole
    assert "more characters)" in page and "more characters)" in whole
