"""A model writes summaries: whatever it does, what is known is kept, nothing is paid twice, and nothing wrong is remembered."""

import logging
from datetime import timedelta

import anyio
import pytest

from playhead.clock import using
from playhead.entry.message import Text, Thinking, assistant
from playhead.errors import BadReply, ContextLimitExceeded, ModelRefused, ModelRejected, ModelUnavailable
from playhead.fold.config import AutobiographicalConfig
from playhead.fold.writing.job import Deferred, Failed, Paused, Written
from playhead.fold.writing.ladder import regime_of
from playhead.fold.writing.model_summarizer import ModelSummarizer
from playhead.fold.writing.summarizer import Summarizer
from playhead.model.protocol import Reply, TextDelta, Usage
from playhead.model.scripted import ScriptedModel, call
from playhead.testing.clock import FakeClock
from tests.unit.fold.writing import LADDER, NOW, PING, Record, around, chunk, merge, node, pinged, refusal, said, talk, unit, written

RUN = chunk(*talk(id=11))
TOLD = "I checked gw-11 to gw-14; all were up."
BUSY = ModelUnavailable("the whole of what they said", status=429)
BROKEN = ModelUnavailable("the whole of what they said", status=500)


class Clerk:
    """Calls one summarizer again and again, as a ticker does, and keeps what it notes."""

    def __init__(self, script, *, job=RUN, config=LADDER, name="scripted:script", limit=None, **more):
        self.model = ScriptedModel(script, name=name, context_limit=limit)
        self.writer = ModelSummarizer(self.model, config)
        self.record = Record(job, self.model)
        self.job = job
        self.more = more
        self.clock = FakeClock(NOW)

    def write(self, *, wait=0.0, **more):
        self.clock.advance(timedelta(seconds=wait))
        context = around(**{**self.more, **more, "outcomes": tuple(self.record.outcomes), "now": self.clock.now()})
        with using(self.clock):
            return anyio.run(lambda: self.writer.write(self.job, context, note=self.record.note))


def test_a_summary_says_how_it_was_written():
    answer = Reply(message=assistant(TOLD), usage=Usage(input=900, output=77), model="small-2026")
    came, model, record = written([answer], chunk(*talk(), pinged("gw-1", id=15)), tools=(PING,))
    assert isinstance(came, Written) and (came.text, came.tools, came.index) == (TOLD, ("ping",), None)
    assert {k: came.how[k] for k in ("stop", "rung", "tokens", "model")} == {"stop": "end", "rung": "canonical", "tokens": 77, "model": "small-2026"}
    assert came.how["usage"]["prompt_tokens"] == 900 and len(came.how["request_hash"]) == 64
    assert not record.outcomes and len(model.requests) == 1


def test_without_reported_usage_its_tokens_are_counted_here():
    came, _, _ = written([TOLD], RUN)
    assert 5 < came.how["tokens"] < 30 and "usage" not in came.how and came.how["model"] == "scripted:script"
    zero, _, _ = written([Reply(message=assistant(TOLD), usage=Usage(input=5))], RUN)
    assert zero.how["tokens"] == came.how["tokens"]


def test_the_hash_is_that_of_the_request_that_was_answered():
    plain = written([TOLD], RUN)[0].how["request_hash"]
    assert written([TOLD], RUN)[0].how["request_hash"] == plain
    lined = written([call("ping"), TOLD], RUN)
    assert lined[0].how["request_hash"] != plain and lined[2].outcomes[0].shape == plain


def test_it_is_a_summarizer_and_knows_its_name_and_regime():
    writer = ModelSummarizer(ScriptedModel([], name="a:b"), LADDER)
    assert isinstance(writer, Summarizer) and writer.name == "a:b" and writer.regime == regime_of(LADDER, model="a:b") and "a:b" in repr(writer)


def test_a_run_with_calls_waits_until_the_tools_are_known_and_asks_nobody():
    clerk = Clerk([TOLD], job=chunk(*talk(), pinged("gw-1", id=15)))
    came = clerk.write()
    assert isinstance(came, Deferred) and "set_tool_definitions" in came.why and not clerk.model.requests
    assert isinstance(clerk.write(tools=(PING,)), Written)


def test_calls_that_stand_before_the_run_wait_for_the_tools_too():
    assert isinstance(Clerk([], head=(pinged("gw", id=1),)).write(), Deferred)


@pytest.mark.parametrize(
    "name",
    [
        "anthropic:claude-fable-5",
        "anthropic:claude-mythos-5-20270101",
        "claude-fable-5",
        "openai:anthropic/claude-mythos-5",
        "bedrock:us.anthropic.claude-fable-5-v1:0",
        "openai:eu.anthropic.Claude-Mythos-5",
    ],
)
def test_models_that_answer_nothing_without_tools_are_asked_nothing_without_them(name):
    for job in (RUN, merge(node(1, first=1, last=2), node(2, first=3, last=4))):
        assert isinstance(Clerk([], name=name, job=job).write(), Deferred)
    clerk = Clerk([call("ping"), call("ping"), TOLD], name=name, tools=(PING,))
    assert isinstance(clerk.write(), Written) and [(len(r.tools), r.tool_choice) for r in clerk.model.requests] == [(1, "auto"), (1, "auto"), (1, "none")]


@pytest.mark.parametrize("name", ["anthropic:claude-sonnet-5", "openai:my-claude-fable-5", "openai:claude-fabled", "x:notclaude-mythos-1"])
def test_other_models_are_asked_without_tools(name):
    assert isinstance(Clerk([TOLD], name=name).write(), Written)


@pytest.mark.parametrize(
    "error",
    [BUSY, BROKEN, ModelUnavailable("no"), BadReply("no"), TimeoutError(), KeyError("no"), ModelRejected("no", status=401), ModelRejected("no", status=404), ExceptionGroup("no", [ValueError()])],
)
def test_a_failure_that_passes_pauses_and_the_same_request_is_made_again(error):
    clerk = Clerk([error, TOLD])
    came = clerk.write()
    assert isinstance(came, Paused) and came.until == NOW + timedelta(seconds=30) and not clerk.record.outcomes
    assert clerk.write(wait=29) == came and len(clerk.model.requests) == 1
    assert isinstance(clerk.write(wait=1), Written) and clerk.model.requests[0] == clerk.model.requests[1]


def test_a_wait_that_the_provider_states_is_kept():
    assert Clerk([ModelUnavailable("no", status=429, retry_after=300.0)]).write().until == NOW + timedelta(seconds=300)


def test_a_pause_begins_when_the_answer_failed_not_when_the_request_was_made():
    async def slow(_):
        clerk.clock.advance(timedelta(minutes=5))
        raise BUSY

    clerk = Clerk([slow])
    assert clerk.write().until == NOW + timedelta(minutes=5, seconds=30)


def test_a_pause_holds_for_all_who_write_with_the_same_model():
    clerk, other = Clerk([BUSY, TOLD]), Clerk([])
    other.writer = ModelSummarizer(clerk.model, AutobiographicalConfig())
    paused = clerk.write()
    assert other.write() == paused and isinstance(clerk.write(wait=30), Written)


def test_an_answer_of_any_kind_starts_the_pauses_anew():
    clerk = Clerk([BUSY, BUSY, refusal(), BUSY], config=AutobiographicalConfig(ladder=("source_only",)))
    waits = [(clerk.write(wait=wait).until - clerk.clock.now()).total_seconds() for wait in (0, 30, 60)]
    assert waits == [30, 60, 30]
    clerk = Clerk([BUSY, BUSY, ModelRefused("no"), BUSY], config=AutobiographicalConfig(ladder=("source_only",)))
    assert [(clerk.write(wait=wait).until - clerk.clock.now()).total_seconds() for wait in (0, 30, 60)] == waits


def test_a_summary_in_parts_that_is_to_be_written_anew_is_asked_for_anew():
    clerk = Clerk([refusal(), "one", "two", "three", "four"], config=AutobiographicalConfig(ladder=("split",)))
    assert [clerk.write().text, clerk.write().text] == ["one\n\ntwo", "three\n\nfour"]


RUNGS_IN_TURN = [
    # answers before the trouble, and answers behind it
    ([], [TOLD]),
    ([call("ping")], [TOLD]),
    ([call("ping"), call("ping")], [TOLD]),
    ([refusal()], [TOLD]),
    ([refusal(), refusal()], [refusal(), refusal(), TOLD]),
    ([refusal(), refusal(), refusal(), refusal()], [TOLD]),
    ([ContextLimitExceeded("no"), refusal()], ["one", "two"]),
    ([ContextLimitExceeded("no"), refusal(), refusal(), "one"], ["two", "three"]),
]
LEAVES = tuple(node(i, first=i, last=i) for i in range(1, 7))
MEMORIES = tuple(node(i, first=2 * i - 1, last=2 * i, level=2, children=LEAVES[2 * i - 2 : 2 * i]) for i in (1, 2, 3))


@pytest.mark.parametrize("trouble", [BUSY, ModelRejected("no", status=402), BadReply("no")])
@pytest.mark.parametrize(("before", "behind"), RUNGS_IN_TURN)
@pytest.mark.parametrize("restarts", [False, True])
def test_an_outage_on_any_rung_goes_on_there_and_pays_for_nothing_twice(before, behind, trouble, restarts):
    smooth = Clerk([*before, *behind], tools=(PING,), memories=MEMORIES, deeper=LEAVES)
    expected = smooth.write()
    clerk = Clerk([*before, trouble, *behind], tools=(PING,), memories=MEMORIES, deeper=LEAVES)
    assert isinstance(clerk.write(), Paused)
    if restarts:
        settled = [answer for answer in before if isinstance(answer, str)]
        rest = ScriptedModel([*settled, *behind])
        clerk.writer = ModelSummarizer(rest, LADDER)
        assert clerk.write() == expected and rest.left == 0
        assert rest.requests == smooth.model.requests[len(before) - len(settled) :]
    else:
        assert clerk.write(wait=30) == expected
        assert clerk.model.requests == [*smooth.model.requests[: len(before) + 1], *smooth.model.requests[len(before) :]]
    assert clerk.record.told == smooth.record.told


def test_every_outcome_is_on_record_before_the_next_request_is_made():
    clerk = Clerk([call("ping"), call("ping"), refusal(), refusal(), "one", "two"], tools=(PING,))
    clerk.write()
    assert clerk.record.asked_before == [1, 2, 3, 4]


def test_a_record_that_cannot_be_kept_stops_the_climb():
    model = ScriptedModel([refusal(), TOLD])

    async def note(_):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        anyio.run(lambda: ModelSummarizer(model, LADDER).write(RUN, around(), note=note))
    assert len(model.requests) == 1


def test_twelve_server_errors_in_a_row_are_what_the_request_comes_to_and_the_next_rung_is_tried():
    clerk = Clerk([*[BROKEN] * 12, TOLD], config=AutobiographicalConfig(ladder=("source_only",)))
    for _ in range(11):
        assert isinstance(clerk.write(wait=600), Paused)
    came = clerk.write(wait=600)
    assert isinstance(came, Written) and came.how["rung"] == "source_only" and clerk.record.told == [("canonical", "server_errors")]


def test_persistent_server_errors_end_in_quarantine():
    clerk = Clerk([BROKEN] * 100, config=AutobiographicalConfig())
    ends = [clerk.write(wait=600) for _ in range(12)]
    assert isinstance(ends[-1], Failed) and ends[-1].stuck and all(isinstance(end, Paused) for end in ends[:-1])
    assert clerk.write(wait=600) == Failed(stuck=True) and len(clerk.model.requests) == 12


def test_persistent_server_errors_on_a_merge_count_as_its_attempts():
    job = merge(node(11, first=11, last=12), node(12, first=13, last=14), units=talk(id=11))
    clerk = Clerk([BROKEN] * 100, job=job, config=AutobiographicalConfig(merge_attempt_limit=2))
    ends = [clerk.write(wait=600) for _ in range(24)]
    assert [type(end).__name__ for end in ends] == [*["Paused"] * 11, "Failed"] * 2
    assert not ends[11].stuck and ends[23].stuck and len(clerk.model.requests) == 24


def test_a_transient_failure_of_a_merge_counts_no_attempt():
    job = merge(node(11, first=11, last=12), node(12, first=13, last=14), units=talk(id=11))
    clerk = Clerk([*[BUSY] * 9, TOLD], job=job, config=AutobiographicalConfig(merge_attempt_limit=1))
    assert all(isinstance(clerk.write(wait=600), Paused) for _ in range(9))
    assert isinstance(clerk.write(wait=600), Written) and not clerk.record.outcomes


def test_an_answer_that_dies_in_the_middle_is_never_remembered():
    clerk = Clerk([[TextDelta(text="I checked"), BadReply("cut", partial="I checked")], TOLD])
    assert isinstance(clerk.write(), Paused) and clerk.write(wait=30).text == TOLD


@pytest.mark.parametrize("answer", [None, "text", 7, Reply(message=None)])
def test_a_model_that_answers_with_something_else_is_survived(answer):
    class Odd(ScriptedModel):
        async def complete(self, request):
            return answer

    writer = ModelSummarizer(Odd([]), LADDER)
    record = Record(RUN)
    assert isinstance(anyio.run(lambda: writer.write(RUN, around(), note=record.note)), Paused)


def test_a_model_that_hangs_can_be_left_and_asked_again():
    async def never(_):
        await anyio.sleep_forever()

    clerk = Clerk([refusal(), never, TOLD], memories=MEMORIES, deeper=LEAVES)

    async def give_up():
        with anyio.move_on_after(0.01):
            await clerk.writer.write(RUN, around(memories=MEMORIES, deeper=LEAVES), note=clerk.record.note)
            raise AssertionError("it answered")

    anyio.run(give_up)
    assert clerk.record.told == [("canonical", "refusal")]
    assert clerk.write().how["rung"] == "expand_recall" and clerk.model.requests[1] == clerk.model.requests[2]


def test_a_request_that_is_being_answered_is_not_made_a_second_time():
    async def go():
        started, done = anyio.Event(), anyio.Event()

        async def slow(_):
            started.set()
            await done.wait()
            return TOLD

        model = ScriptedModel([slow, TOLD])
        came = []
        one, other = ModelSummarizer(model, LADDER), ModelSummarizer(model, LADDER)

        async def first():
            came.append(await one.write(RUN, around(), note=Record(RUN).note))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first)
            await started.wait()
            assert isinstance(await other.write(RUN, around(), note=Record(RUN).note), Deferred)
            assert isinstance(await other.write(chunk(*talk(id=31)), around(), note=Record(RUN).note), Written)
            done.set()
        assert isinstance(came[0], Written) and len(model.requests) == 2

    anyio.run(go)


def test_the_limit_of_the_model_bounds_the_request_and_a_limit_that_was_learnt_is_another_request():
    memories = tuple(node(i, first=i, last=i, text="word " * 2_000) for i in range(1, 10))
    clerk = Clerk([ContextLimitExceeded("no"), TOLD], config=AutobiographicalConfig(), memories=memories)
    assert clerk.write().stuck
    clerk.model._context_limit = 16_000
    assert isinstance(clerk.write(), Written)
    assert clerk.model.requests[1].max_tokens == 8_000 and len(clerk.model.requests[1].messages) < len(clerk.model.requests[0].messages)


def test_neither_logs_nor_results_hold_what_was_asked_or_what_the_provider_said(caplog):
    with caplog.at_level(logging.DEBUG, logger="playhead"):
        for error in (BROKEN, ModelRefused("the whole of what they said"), ModelRejected("the whole of what they said", status=400), ValueError("the whole of what they said")):
            clerk = Clerk([error], job=chunk(said("a secret of the user", id=11)), config=AutobiographicalConfig())
            shown = f"{clerk.write()!r} {clerk.record.outcomes!r} {clerk.writer!r}"
            assert "secret" not in shown and "they said" not in shown
    assert "secret" not in caplog.text and "they said" not in caplog.text


def test_unsigned_thinking_of_old_times_never_reaches_the_model():
    clerk = Clerk([TOLD], job=chunk(unit(assistant((Thinking(text="a private thought"), Text(text="Yes."))), id=11)))
    clerk.write()
    assert "private thought" not in repr(clerk.model.requests)
