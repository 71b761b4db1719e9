"""The ladder: what came back, which request is made next, and what is kept; a row for each."""

from itertools import combinations

import pytest

from playhead.entry.message import Thinking
from playhead.errors import ContextLimitExceeded, ModelRefused, ModelRejected, WireError
from playhead.fold.config import RUNGS, AutobiographicalConfig
from playhead.fold.writing.acceptance import FLAWS
from playhead.fold.writing.job import Failed, Written
from playhead.fold.writing.ladder import regime_of
from playhead.fold.writing.rungs import REJECTED, RUNG, SPLIT_CALLS
from playhead.fold.writing.voices import ATTRIBUTED, MARKER, NO_TOOLS, PROSE
from playhead.model.protocol import Reply, Usage
from playhead.model.scripted import ScriptedModel, call
from tests.unit.fold.writing import LADDER, PING, Record, chunk, cut_off, merge, node, pinged, refusal, said, talk, written

TOLD = "I checked gw-11 to gw-14; all were up."
THOUGHT = [Thinking(text="It was...")]
LEAVES = tuple(node(i, first=i, last=i) for i in range(1, 9))
MEMORIES = (
    node(1, first=1, last=2, level=2, children=LEAVES[:2]),
    node(2, first=3, last=4, level=3, children=(node(7, first=3, last=4, level=2),)),
    node(3, first=5, last=6, level=2, children=LEAVES[4:6]),
    node(4, first=7, last=8, level=2, children=LEAVES[6:8]),
)
DEEPER = (*LEAVES, node(7, first=3, last=4, level=2))
CONTEXT = {"tools": (PING,), "memories": MEMORIES, "deeper": DEEPER}
RUN = chunk(*talk(id=11))
SOURCES = tuple(node(i, first=i, last=i) for i in (11, 12, 13))
MERGED = merge(*SOURCES, units=talk(id=11, count=3))


ROWS = {
    # what came back: (answers, ladder, rungs that were asked with what they came to, rung whose answer is kept)
    "a whole answer": ([TOLD], RUNGS, [], "canonical"),
    "a call, then an answer": ([call("ping"), TOLD], RUNGS, [("canonical", "tool_calls")], "no_tools_line"),
    "two calls, then an answer": ([call("ping"), call("ping"), TOLD], RUNGS, [("canonical", "tool_calls"), ("no_tools_line", "tool_calls")], "without_tools"),
    "only thoughts, then an answer": ([THOUGHT, TOLD], RUNGS, [("canonical", "empty")], "plain_prose"),
    "all within a thinking tag": (["<thinking>all of it</thinking>", TOLD], RUNGS, [("canonical", "empty")], "plain_prose"),
    "a call, then only thoughts": ([call("ping"), THOUGHT, TOLD], RUNGS, [("canonical", "tool_calls"), ("no_tools_line", "empty")], "plain_prose"),
    "a refusal, then an answer": ([refusal(), TOLD], RUNGS, [("canonical", "refusal")], "expand_recall"),
    "a refusal as an error": ([ModelRefused("no"), TOLD], RUNGS, [("canonical", "refusal")], "expand_recall"),
    "a filter": ([Reply(message=refusal().message, stop="content_filter"), TOLD], RUNGS, [("canonical", "content_filter")], "expand_recall"),
    "refusals of all variants": ([refusal()] * 4 + [TOLD], RUNGS, [("canonical", "refusal")] + [("expand_recall", "refusal")] * 3, "source_only"),
    "a call, then refusals": ([call("ping"), refusal(), TOLD], RUNGS, [("canonical", "tool_calls"), ("no_tools_line", "refusal")], "expand_recall"),
    "too long for the provider": ([ContextLimitExceeded("no"), TOLD], RUNGS, [("canonical", "context_limit")], "source_only"),
    "a request that is rejected": ([ModelRejected("no", status=400), TOLD], RUNGS, [("canonical", "rejected")], "source_only"),
    "a request that cannot be written": ([WireError("no"), TOLD], RUNGS, [("canonical", "rejected")], "source_only"),
    "an answer that is cut off": ([cut_off(), TOLD], RUNGS, [("canonical", "length")], "source_only"),
    "a stop sequence": ([Reply(message=refusal().message, stop="stop_sequence"), TOLD], RUNGS, [("canonical", "stop_sequence")], "source_only"),
    "refused also alone": ([ModelRejected("no", status=400), refusal(), "a", "b"], RUNGS, [("canonical", "rejected"), ("source_only", "refusal")], "split"),
    "cut off, alone as well": ([cut_off(), cut_off(), "a", "b"], RUNGS, [("canonical", "length"), ("source_only", "length")], "split"),
    "calls in spite of all": ([call("ping")] * 3, RUNGS[:4], [("canonical", "tool_calls"), ("no_tools_line", "tool_calls"), ("without_tools", "tool_calls")], None),
    "thoughts in spite of all": ([THOUGHT] * 2, RUNGS[:4], [("canonical", "empty"), ("plain_prose", "empty")], None),
    "refusals in spite of all": ([refusal()] * 4, RUNGS[:4], [("canonical", "refusal")] + [("expand_recall", "refusal")] * 3, None),
    "cut off, and nothing to be tried for it": ([cut_off()], RUNGS[:4], [("canonical", "length")], None),
    "rejected, and nothing smaller to try": ([ModelRejected("no", status=422)], RUNGS[:4], [("canonical", "rejected")], None),
    "without a ladder": ([refusal()], (), [("canonical", "refusal")], None),
    "without the line": ([call("ping"), TOLD], ("without_tools",), [("canonical", "tool_calls")], "without_tools"),
    "alone at once": ([call("ping"), TOLD], ("source_only", "no_tools_line"), [("canonical", "tool_calls")], "source_only"),
    "alone, then in plain prose": ([refusal(), THOUGHT, TOLD], ("source_only", "plain_prose"), [("canonical", "refusal"), ("source_only", "empty")], "plain_prose"),
    "split without having been alone": ([refusal(), "a", "b"], ("split",), [("canonical", "refusal")], "split"),
}


@pytest.mark.parametrize("row", ROWS)
def test_what_comes_back_decides_what_is_asked_next_and_what_is_kept(row):
    answers, ladder, outcomes, rung = ROWS[row]
    came, model, record = written(answers, RUN, config=AutobiographicalConfig(ladder=ladder), **CONTEXT)
    assert record.told == outcomes and model.left == 0 and len(model.requests) == len(answers)
    assert record.asked_before == list(range(1, len(outcomes) + 1))
    assert all(one != other for one, other in combinations(model.requests, 2))
    if rung is None:
        assert isinstance(came, Failed) and came.stuck and [o.rung for o in came.outcomes] == [r for r, _ in outcomes]
        assert [o.is_stuck for o in record.outcomes] == [False] * (len(outcomes) - 1) + [True]
    else:
        assert isinstance(came, Written) and came.how["rung"] == rung and came.how["stop"] == "end"
        assert came.text == ("a\n\nb" if rung == "split" else TOLD) and not any(o.is_stuck for o in record.outcomes)


def text_of(request):
    return "\n".join(m.text for m in request.messages)


def test_the_canonical_request_comes_first_with_the_same_bytes_whatever_the_ladder():
    first = [written([TOLD], RUN, config=AutobiographicalConfig(ladder=ladder), **CONTEXT)[1].requests[0] for ladder in (RUNGS, (), ("split",))]
    assert first[0] == first[1] == first[2]


def test_the_lines_that_are_added_stay_in_all_that_comes_after():
    _, model, _ = written([call("ping"), THOUGHT, refusal(), TOLD], RUN, config=AutobiographicalConfig(ladder=("no_tools_line", "plain_prose", "source_only")), **CONTEXT)
    assert [(NO_TOOLS in text_of(r), PROSE in text_of(r), ATTRIBUTED in text_of(r)) for r in model.requests] == [(False,) * 3, (True, False, False), (True, True, False), (True, True, True)]


def test_without_tools_none_is_declared_where_no_call_stands_in_the_request():
    _, model, _ = written([call("ping"), call("ping"), TOLD], RUN, **CONTEXT)
    assert [(len(r.tools), r.tool_choice) for r in model.requests] == [(1, "auto"), (1, "auto"), (0, "auto")]
    _, model, _ = written([call("ping"), call("ping"), TOLD], chunk(pinged("gw", id=11)), tools=(PING,))
    assert [(len(r.tools), r.tool_choice) for r in model.requests] == [(1, "auto"), (1, "auto"), (1, "none")]


def test_a_call_of_a_tool_that_nobody_declared_is_answered_with_the_line_alone():
    came, _, record = written([call("ping")] * 2, RUN, config=AutobiographicalConfig())
    assert record.told == [("canonical", "tool_calls"), ("no_tools_line", "tool_calls")] and came.stuck


def expanded(model):
    """Return which memories of level 1 or 2 below others each request after the first shows."""
    return [[i for i in (1, 2, 5, 6, 7, 8) if f"[Recall memory L1-{i}]" in text_of(r)] or ["L2-7"] * ("[Recall memory L2-7]" in text_of(r)) for r in model.requests[1:]]


def test_memories_are_shown_by_those_below_them_one_at_a_time_newest_first():
    config = AutobiographicalConfig(ladder=("expand_recall",), recall_expansions=9)
    _, model, record = written([refusal()] * 5, RUN, config=config, **CONTEXT)
    assert expanded(model) == [[7, 8], [5, 6], ["L2-7"], [1, 2]] and len(record.outcomes) == 5


def test_only_so_many_memories_are_expanded():
    for most in (0, 1, 3):
        config = AutobiographicalConfig(ladder=("expand_recall",), recall_expansions=most)
        assert len(written([refusal()] * (most + 1), RUN, config=config, **CONTEXT)[2].outcomes) == most + 1


def test_a_memory_whose_parts_are_not_all_at_hand_is_not_expanded():
    gone = [n for n in DEEPER if n.id not in ("L1-7", "L1-5")]
    empty = [node(7, first=7, last=7, text="") if n.id == "L1-7" else n for n in DEEPER]
    config = AutobiographicalConfig(ladder=("expand_recall",), recall_expansions=9)
    assert expanded(written([refusal()] * 3, RUN, config=config, **{**CONTEXT, "deeper": tuple(gone)})[1]) == [["L2-7"], [1, 2]]
    assert expanded(written([refusal()] * 4, RUN, config=config, **{**CONTEXT, "deeper": tuple(empty)})[1])[0] == [5, 6]


def admitted(usage, *, budget, below, tools=(PING,)):
    """Whether a refused request is made again with one memory expanded to `below` characters."""
    parts = (node(1, first=1, last=1, text="a" * below), node(2, first=2, last=2))
    memory = node(1, first=1, last=2, level=2, children=parts)
    config = AutobiographicalConfig(ladder=("expand_recall",), compression_context_budget_tokens=budget)
    answer = [Reply(message=refusal().message, stop="refusal", usage=usage), TOLD]
    return isinstance(written(answer, RUN, config=config, memories=(memory,), deeper=parts, tools=tools)[0], Written)


def test_a_variant_is_admitted_by_what_the_provider_reported_and_a_token_for_each_byte_more():
    assert admitted(Usage(input=62_000), budget=110_000, below=30_000)
    assert not admitted(Usage(input=62_000), budget=108_000, below=30_000)
    assert not admitted(Usage(input=93_000), budget=110_000, below=1_500)


@pytest.mark.parametrize("usage", [None, Usage(), Usage(input=20, output=3)])
def test_without_credible_usage_a_variant_is_admitted_by_its_bytes_alone(usage):
    assert not admitted(usage, budget=36_000, below=17_000)
    assert admitted(usage, budget=44_000, below=17_000)


def test_a_megabyte_of_tools_does_not_bar_a_variant_once_real_usage_is_known():
    wide = tuple(PING.__class__(name=f"t{i}", description="does much " * 100, parameters={}) for i in range(200))
    assert not admitted(None, budget=200_000, below=1_000, tools=wide)
    assert admitted(Usage(input=60_000), budget=200_000, below=1_000, tools=wide)


def test_a_run_that_is_too_long_by_our_own_count_is_never_sent_whole():
    long = chunk(*[said(f"{i} " + "word " * 2_000, id=i) for i in range(11, 15)])
    came, model, record = written(["a", "b"], long, limit=11_000)
    assert record.told == [("canonical", "too_long"), ("source_only", "too_long")]
    assert came.text == "a\n\nb" and len(model.requests) == 2
    stuck, model, record = written([], long, limit=11_000, config=AutobiographicalConfig())
    assert stuck.stuck and record.told == [("canonical", "too_long")] and not model.requests


SPLIT = AutobiographicalConfig(ladder=("split",))
FIVE = chunk(*talk(id=11, count=5))


def parts_asked(model):
    return [[i for i in range(11, 16) if f"part {i} of" in text_of(r)] for r in model.requests[1:]]


def test_a_run_is_halved_until_every_part_is_answered_and_kept_as_one_text():
    came, model, record = written([refusal(), "one", refusal(), "two", "three"], FIVE, config=SPLIT, **CONTEXT)
    assert parts_asked(model) == [[11, 12, 13], [14, 15], [14], [15]]
    assert came.text == "one\n\ntwo\n\nthree" and came.how["rung"] == "split" and came.how["pieces"] == 3
    assert record.told == [("canonical", "refusal"), ("split", "refusal")]
    assert all("Recall memory" not in text_of(r) and MARKER in text_of(r) for r in model.requests[1:])


def test_one_unit_that_is_refused_fails_the_whole_split_and_nothing_is_kept():
    came, model, record = written([refusal(), "one", refusal(), "two", refusal()], FIVE, config=SPLIT)
    assert isinstance(came, Failed) and came.stuck and parts_asked(model)[-1] == [15]
    assert record.told == [("canonical", "refusal"), ("split", "refusal"), ("split", "refusal")]


def test_a_single_unit_cannot_be_split():
    came, model, _ = written([refusal()], chunk(said("hello", id=11)), config=SPLIT)
    assert came.stuck and len(model.requests) == 1


def test_a_split_makes_no_more_than_so_many_requests():
    def only_single_ones(request):
        return refusal() if text_of(request).count("of the talk about") > 1 else "x"

    for count, is_kept in (16, True), (64, False):
        came, model, _ = written([only_single_ones] * 200, chunk(*talk(id=11, count=count)), config=SPLIT)
        assert isinstance(came, Written) == is_kept and len(model.requests) == (2 * count - 1 if is_kept else SPLIT_CALLS + 1)
        assert is_kept or came.stuck


MERGES = {
    # what came back at each attempt: (answers, what each request shows: sources themselves, line, tools, prose, alone)
    "refused once": ([refusal(), TOLD], [(False, False, True, False, False), (True, False, True, False, False)]),
    "refused, then cut off": ([refusal(), cut_off(), TOLD], [(False, False, True, False, False), (True, False, True, False, False), (True, False, True, False, False)]),
    "rejected as too long": ([ContextLimitExceeded("no"), TOLD], [(False, False, True, False, False), (True, False, True, False, False)]),
    "a call": ([call("ping"), TOLD], [(False, False, True, False, False), (False, True, True, False, False)]),
    "two calls": ([call("ping"), call("ping"), TOLD], [(False, False, True, False, False), (False, True, True, False, False), (False, True, False, False, False)]),
    "empty": ([THOUGHT, TOLD], [(False, False, True, False, False), (False, False, True, True, False)]),
    "empty, then a call": ([THOUGHT, call("ping"), TOLD], [(False, False, True, False, False), (False, False, True, True, False), (False, True, True, False, False)]),
    "refused to the end": (
        [refusal(), cut_off(), cut_off(), cut_off(), TOLD],
        [(False, False, True, False, False), *[(True, False, True, False, False)] * 3, (True, False, True, False, True)],
    ),
}
BEFORE = tuple(node(i, first=i, last=i, text=f"memory {i} " + "word " * 12_000) for i in range(1, 9))


def to_the_end(script, job, **more):
    """Let a merge be tried until something came of it; returns that, the model, the record and how each try ended."""
    model = ScriptedModel(script)
    record, ends = Record(job, model), []
    while True:
        came, _, _ = written(model, job, record=record, **more)
        ends.append(came)
        if isinstance(came, Written) or getattr(came, "stuck", True):
            return came, model, record, ends


@pytest.mark.parametrize("row", MERGES)
def test_a_merge_is_asked_for_again_in_the_shape_that_answers_to_what_went_wrong(row):
    answers, shapes = MERGES[row]
    came, model, record, ends = to_the_end(answers, MERGED, tools=(PING,), memories=BEFORE)
    shown = [("[Recall memory L1-11]" in text_of(r), NO_TOOLS in text_of(r), bool(r.tools), PROSE in text_of(r), ATTRIBUTED in text_of(r)) for r in model.requests]
    assert shown == shapes and came.text == TOLD and len(record.outcomes) == len(answers) - 1
    assert all(isinstance(end, Failed) and not end.stuck and len(end.outcomes) == 1 for end in ends[:-1])
    assert [MARKER in text_of(r) for r in model.requests] == [False] * len(answers)
    assert came.how["rung"] == ("canonical" if len(answers) == 1 else "retry")


def test_a_merge_shows_less_of_earlier_memories_after_each_failure_and_is_left_alone_in_the_end():
    came, model, record, ends = to_the_end([cut_off()] * 5, MERGED, config=AutobiographicalConfig(), memories=BEFORE)
    shown = [sum(f"[Recall memory L1-{i}]" in text_of(r) for i in range(1, 9)) for r in model.requests]
    assert shown == sorted(shown, reverse=True) and shown[0] > 6 and shown[-1] == 0 and shown[1] <= shown[0] // 2
    assert isinstance(came, Failed) and len(ends) == len(record.outcomes) and record.outcomes[-1].is_stuck
    assert [o.is_stuck for o in record.outcomes[:-1]] == [False] * (len(ends) - 1)


def test_a_merge_that_can_change_nothing_about_its_request_ends_at_once():
    came, model, record = written([cut_off()], MERGED, config=AutobiographicalConfig())
    assert came.stuck and record.told == [("canonical", "length")] and len(model.requests) == 1


def test_a_merge_makes_no_more_attempts_than_its_limit():
    config = AutobiographicalConfig(merge_attempt_limit=2)
    came, model, _, _ = to_the_end([cut_off()] * 2, MERGED, config=config, memories=BEFORE)
    assert came.stuck and len(model.requests) == 2


def test_a_merge_whose_raw_is_too_long_shows_its_sources_without_a_call_in_between():
    job = merge(*SOURCES, units=tuple(said("word " * 4_000, id=i) for i in (11, 12, 13)))
    came, model, record = written([TOLD], job, limit=12_000)
    assert came.text == TOLD and record.told == [("canonical", "too_long")] and "[Recall memory L1-12]" in text_of(model.requests[0])


def test_all_rungs_that_can_be_named_are_there_and_all_outcomes_have_names():
    assert set(RUNG) == set(RUNGS)
    assert {outcome for row in ROWS.values() for _, outcome in row[2]} <= {*FLAWS, *REJECTED}


def test_what_decides_how_a_summary_is_asked_for_makes_another_regime():
    plain = regime_of(AutobiographicalConfig(), model="a:b")
    assert plain == regime_of(AutobiographicalConfig(recent_window_tokens=1, head_window_tokens=9), model="a:b")
    changed = ({"ladder": RUNGS}, {"identity_reminder": "You are Claude."}, {"summary_target_tokens": 9}, {"witnessed_instruction": "Tell."}, {"recall_expansions": 1}, {"merge_attempt_limit": 2})
    assert len({plain, regime_of(AutobiographicalConfig(), model="a:c"), *(regime_of(AutobiographicalConfig(**c), model="a:b") for c in changed)}) == 2 + len(changed)


def resumed(record, script, *, config=LADDER, **more):
    return written(script, RUN, config=config, record=record, **{**CONTEXT, **more})


def test_a_refused_request_is_never_made_again_under_the_same_settings():
    _, _, record = written([refusal()] * 4, RUN, config=AutobiographicalConfig(), **CONTEXT)
    came, model, _ = resumed(record, [], config=AutobiographicalConfig())
    assert came == Failed(outcomes=(), stuck=True) and not model.requests and len(record.outcomes) == 4


def test_another_request_for_the_run_may_be_tried_but_no_more_than_three_of_them():
    config = AutobiographicalConfig(ladder=())
    record, asked = None, 0
    for number in range(8):
        memories = tuple(node(i, first=i, last=i) for i in range(1, 2 + number))
        came, model, record = written([refusal()], RUN, config=config, record=record, memories=memories)
        asked += len(model.requests)
        assert came.stuck
    assert asked == 3 and len(record.outcomes) == 3


def test_a_new_rung_is_a_new_regime_and_starts_over():
    _, _, record = written([refusal()] * 4, RUN, config=AutobiographicalConfig(), **CONTEXT)
    came, model, _ = resumed(record, [refusal()] * 4 + [TOLD], config=AutobiographicalConfig(ladder=(*RUNGS[:4], "source_only")))
    assert came.text == TOLD and len(model.requests) == 5


def test_what_is_on_record_for_other_sources_counts_for_nothing():
    config = AutobiographicalConfig(merge_attempt_limit=1)
    _, _, record = written([cut_off()], MERGED, config=config)
    other = merge(*SOURCES[:2], units=talk(id=11, count=2))
    came, _, _ = written([TOLD], other, record=record, config=config)
    assert came.text == TOLD


def test_a_request_alone_is_not_made_again_when_only_what_stands_before_the_run_changed():
    config = AutobiographicalConfig(ladder=("source_only",))
    _, _, record = written([refusal()] * 2, RUN, config=config, **CONTEXT)
    came, model, record = resumed(record, [refusal()], config=config, memories=MEMORIES[:3])
    assert came.stuck and len(model.requests) == 1 and record.told[-1] == ("canonical", "refusal")
