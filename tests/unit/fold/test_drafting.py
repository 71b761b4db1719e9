"""From what was written to the node that is kept."""

from __future__ import annotations

from dataclasses import replace

from playhead.fold.config import AutobiographicalConfig
from playhead.fold.extracting.identifiers import merged_index
from playhead.fold.writing.drafting import draft_of
from playhead.fold.writing.job import Written
from playhead.view.tokens import default_counter
from tests.unit.fold.writing import NOW, chunk, merge, node, pinged, said

CONFIG = AutobiographicalConfig()


def drafted(job, written, **options):
    return draft_of(job, written, config=CONFIG.with_options(options), counter=default_counter(), model="scripted:m")


def test_a_node_of_raw_counts_its_units_and_lists_what_is_named_in_them():
    job = chunk(said("Look at src/gateway.py.", id=1), pinged("gw-1", id=2), phase="research", voice="reading")
    draft = drafted(job, Written(text="I looked.", how={"rung": "canonical"}))
    assert (draft.level, draft.first_uid, draft.last_uid, draft.entries) == (1, "u1", "u3", 3)
    assert (draft.units, draft.raw_tokens) == (2, sum(unit.tokens for unit in job.units))
    assert (draft.text, draft.tools, draft.phase, draft.voice, draft.children, draft.model) == ("I looked.", ("ping",), "research", "reading", (), "scripted:m")
    assert "src/gateway.py" in draft.index and dict(draft.how) == {"rung": "canonical"}
    assert (draft.since, draft.until) == (NOW, NOW)


def test_a_node_of_summaries_adds_up_what_they_tell_and_merges_their_lists():
    sources = [node(1, first=1, last=4, index=("a.py", "b.py"), tools=("ping",)), node(2, first=5, last=9, index=("c.py", "a.py"), tools=("pong",))]
    draft = drafted(merge(*sources), Written(text="All of it."))
    assert (draft.level, draft.entries, draft.units, draft.raw_tokens, draft.children, draft.tools) == (2, 9, 9, 2_000, ("n1-1", "n1-2"), ("ping", "pong"))
    assert draft.index == merged_index(sources) and set(draft.index) == {"a.py", "b.py", "c.py"}


def test_a_list_that_was_written_is_kept_as_it_is():
    job = chunk(said("Look at src/gateway.py.", id=1))
    draft = drafted(job, Written(text="I looked.", index=("mine",), tools=("other",)))
    assert (draft.index, draft.tools) == (("mine",), ("other",))


def test_a_list_keeps_within_its_tokens_and_is_left_out_where_nobody_wants_it():
    job = chunk(*(said(f"Look at src/gateway_{number}.py.", id=number) for number in range(1, 60)))
    long, short = (drafted(job, Written(text="x"), identifier_index_tokens=tokens).index for tokens in (400, 40))
    assert len(long) > len(short) > 0
    assert drafted(job, Written(text="x"), identifier_index=False).index == ()


def test_facts_of_how_cannot_be_changed_later():
    how = {"rung": "canonical", "usage": {"input": 1}}
    draft = drafted(chunk(said("Hi.", id=1)), Written(text="x", how=how))
    how["usage"]["input"] = 2
    assert draft.how["usage"] == {"input": 1}
    assert replace(draft, text="y").how is draft.how
