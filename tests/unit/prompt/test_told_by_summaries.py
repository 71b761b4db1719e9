"""What a summary tells is counted, named and explained, whether its entries were read or not."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from playhead.cli.compiling import explained
from playhead.entry.message import Message, assistant, user
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.prompt.injection import Injection
from playhead.prompt.report.page import report_html
from playhead.prompt.report.stretches import stretches
from playhead.prompt.strategy import Need
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.plan import Plan, Span, span_of
from tests.unit.prompt.report.reading import read

WIDE = Budget(max_tokens=100_000)
UID = "0198c0de-0000-7000-8000-00000000000{}"


def told(first, last, number, *, level=1, reason="folded"):
    sources = (UID.format(number),)
    pair = (Message(role="user", content=f"[Recall L{level}-{number}]", sources=sources), Message(role="assistant", content=f"We counted from {first} to {last}.", sources=sources))
    return Span(form="summary", reason=reason, first=first, last=last, count=last - first + 1, tokens=50, messages=pair, node=f"L{level}-{number}", level=level)


class Folded:
    """Tells entries 1 to 40 as two summaries without reading them, leaves out 41 to 50, tells the next two by one it has read, shows the rest."""

    name = "folded"
    reason = "folded"

    def need(self, *, budget, state):
        return Need(folded=((1, 50),))

    def plan(self, units, *, budget, state):
        spans = [told(1, 30, 2, level=2, reason=self.reason), told(31, 40, 1), Span(form="omitted", reason="not read", first=41, last=50, count=10)]
        loaded = replace(told(51, 52, 3), units=units[:2])
        return Plan(spans=(*spans, loaded, span_of(units[2:], form="raw", reason="recent")), units=units)


def folded(*, injections=(), strategy=None):
    async def go():
        tape = Tape(InMemoryTapeStore(), "t")
        await tape.append_many((user if i % 2 else assistant)(f"m{i}") for i in range(1, 61))
        return await compile(tape, WIDE, strategy=strategy or Folded(), injections=injections)

    return anyio.run(go)


def test_summaries_are_counted_by_level_and_their_tokens_apart():
    prompt = folded()
    stats = prompt.stats
    assert stats.by_level == {1: 2, 2: 1} and stats.summaries == 150 and stats.omitted == 0
    assert stats.total == stats.raw + stats.summaries == prompt.plan.tokens


def test_the_source_of_a_summary_is_its_own_uid_and_its_name():
    prompt = folded(injections=[Injection(namespace="clock", position="before_user", content="Noon.")])
    sources = prompt.provenance.sources
    assert [(s.kind, s.uids, s.name) for s in sources[:6]] == [("summary", (UID.format(n),), name) for n, name in ((2, "L2-2"), (2, "L2-2"), (1, "L1-1"), (1, "L1-1"), (3, "L1-3"), (3, "L1-3"))]
    assert {s.kind for s in sources[6:]} == {"raw", "injection"} and len(sources) == len(prompt.messages)


def test_each_summary_is_a_row_with_its_name_and_level():
    rows = folded().explain()
    assert [(r.form, r.first, r.last, r.count, r.tokens, r.reason, r.node, r.level) for r in rows] == [
        ("summary", 1, 30, 30, 50, "folded; L2-2", "L2-2", 2),
        ("summary", 31, 40, 10, 50, "folded; L1-1", "L1-1", 1),
        ("omitted", 41, 50, 10, None, "not read", None, None),
        ("summary", 51, 52, 2, 50, "folded; L1-3", "L1-3", 1),
        ("raw", 53, 60, 8, rows[-1].tokens, "recent", None, None),
    ]
    assert "folded; L2-2" in str(rows) and " ? " in str(rows)
    assert [line.plain.split()[:4] for line in explained(rows, width=None)][1] == ["summary", "1-30", "30", "50"]


def test_a_reason_that_names_its_summary_is_not_told_twice():
    class Named(Folded):
        reason = "told by L2-2: 30 units of 400 tokens"

    rows = folded(strategy=Named()).explain()
    assert rows[0].reason == "told by L2-2: 30 units of 400 tokens"
    assert rows.why(7) == "summary: told by L2-2: 30 units of 400 tokens"


@pytest.mark.parametrize(
    ("entry", "why"), [(1, "summary: folded; L2-2"), (40, "summary: folded; L1-1"), (45, "omitted: not read"), (52, "summary: folded; L1-3"), (60, "raw: recent"), (99, "not in the view")]
)
def test_an_entry_is_told_by_the_summary_over_it(entry, why):
    assert folded().explain().why(entry) == why


def test_a_changed_summary_is_a_difference_where_it_stands():
    class Anew(Folded):
        def plan(self, units, *, budget, state):
            plan = super().plan(units, budget=budget, state=state)
            return replace(plan, spans=(plan.spans[0], replace(told(31, 40, 4), node="L1-4"), *plan.spans[2:]))

    changed = folded(strategy=Anew()).diff(folded())
    assert changed.seam == 2 and [m.text for m in changed.removed] == ["[Recall L1-1]"] and [m.text for m in changed.added] == ["[Recall L1-4]"]


def test_the_page_shows_what_the_model_sees_in_place_of_entries_that_were_not_read():
    prompt = folded()
    page = read(report_html(prompt))
    told_, _, loaded = page.all("details", within="summary")
    assert "The model sees this in place of entries 1–30, which had not to be read (L2-2):" in told_.text and "We counted from 1 to 30." in told_.text
    assert "in place of 2 units (L1-3)" in loaded.text and "m51" in loaded.text
    assert [a.attributes["class"] for a in page.all("ol", within="bar")[0].all("a")] == ["part summary", "part summary", "part omitted unread", "part summary", "part raw"]
    fell = [row[:4] for row in page.one(id="fell").one("table").rows()]
    assert fell == [["summary", "folded; L2-2", "1–30", "30 entries"], ["summary", "told by 2 summaries of level 1", "31–52", "12 entries"], ["omitted", "not read", "41–50", "10 entries"]]
    assert "3summaries, 150 tokens" in page.one("ul", within="figures").text.replace(" summaries", "summaries")


def test_injections_on_the_page_stand_where_the_prompt_has_them_beside_summaries():
    prompt = folded(injections=[Injection(namespace="rules", content="Never guess.")])
    assert [p.name or f"{p.first}-{p.last}" for p in stretches(prompt)][:3] == ["rules", "L2-2", "L1-1"]
