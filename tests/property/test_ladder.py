"""Whatever a model does: its calls for one summary are bounded, nothing known is asked again, and only whole answers are kept."""

from datetime import timedelta

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.clock import using
from playhead.entry.message import Thinking, assistant
from playhead.errors import BadReply, ContextLimitExceeded, ModelRefused, ModelRejected, ModelUnavailable
from playhead.fold.config import RUNGS, AutobiographicalConfig
from playhead.fold.writing.job import Failed, Job, Paused, Written
from playhead.fold.writing.model_summarizer import ModelSummarizer
from playhead.fold.writing.pacing import ERRORS_IN_A_ROW
from playhead.fold.writing.prompts import Material
from playhead.fold.writing.rungs import SPLIT_CALLS
from playhead.fold.writing.shapes import Shape
from playhead.model.protocol import Reply, TextDelta, Usage
from playhead.model.scripted import ScriptedModel, call
from playhead.testing.clock import FakeClock
from playhead.view.selection import selected_units
from playhead.view.tokens import default_counter
from playhead.wire.providers import format_of
from tests.property.wire_conversations import MODEL, PROVIDERS, conversations
from tests.unit.fold.writing import NOW, PING, Record, around, chunk, merge, node, talk
from tests.unit.wire.faults import faults

GOOD = "A good memory."
BAD = "BAD: never to be remembered."

unusable = st.sampled_from(
    [
        *[Reply(message=assistant(BAD), stop=stop) for stop in ("refusal", "length", "stop_sequence", "content_filter", "other", "tool_calls")],
        Reply(message=assistant(BAD), stop="refusal", usage=Usage(input=900, output=3)),
        [BAD, call("ping")],
        [Thinking(text=BAD)],
        f"<thinking>{BAD}",
        f"<thinking>{BAD}</thinking>",
        "  ",
        ModelRefused(BAD),
        ContextLimitExceeded(BAD),
        ModelRejected(BAD, status=400),
    ]
)
passing = st.sampled_from(
    [
        ModelUnavailable(BAD),
        ModelUnavailable(BAD, status=429, retry_after=90.0),
        ModelUnavailable(BAD, status=500),
        ModelRejected(BAD, status=401),
        BadReply(BAD, partial=BAD),
        [TextDelta(text=BAD), BadReply(BAD)],
        ZeroDivisionError(BAD),
    ]
)
LEAVES = tuple(node(i, first=i, last=i) for i in range(1, 9))
MEMORIES = tuple(node(i, first=2 * i - 1, last=2 * i, level=2, children=LEAVES[2 * i - 2 : 2 * i]) for i in range(1, 5))
RUN = chunk(*talk(id=11, count=5))
MERGE = merge(*(node(i, first=i, last=i) for i in (11, 12, 13)), units=talk(id=11, count=3))


class World:
    """A summarizer, its clock and its record; `write` is one tick, with what stands before the run as it is then."""

    def __init__(self, script, *, job, ladder):
        self.model = ScriptedModel(script)
        self.clock = FakeClock(NOW)
        self.config = AutobiographicalConfig(ladder=ladder)
        self.record = Record(job)
        self.job = job
        self.restart()

    def restart(self):
        self.writer = ModelSummarizer(self.model, self.config)

    def write(self, *, memories):
        self.clock.advance(timedelta(hours=1))
        context = around(memories=MEMORIES[:memories], deeper=LEAVES, tools=(PING,), outcomes=tuple(self.record.outcomes), now=self.clock.now())
        with using(self.clock):
            return anyio.run(lambda: self.writer.write(self.job, context, note=self.record.note))


ladders = st.permutations(RUNGS).flatmap(lambda names: st.integers(0, len(names)).map(lambda count: tuple(names[:count]))) | st.just(RUNGS)
MOST = 3 * (1 + len(RUNGS) - 2 + 3 + SPLIT_CALLS)
"""Three canonical requests; for each, every rung once, three expanded memories, and the parts."""


@settings(deadline=None, max_examples=40)
@given(
    job=st.sampled_from([RUN, MERGE]),
    ladder=ladders,
    answers=st.lists(unusable | passing, max_size=40),
    last=unusable | passing,
    ticks=st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=60, max_size=60),
)
def test_calls_for_one_summary_are_bounded_and_nothing_known_is_asked_again(job, ladder, answers, last, ticks):
    world = World([*answers, *[last] * 2_000], job=job, ladder=ladder)
    for memories, restarts in ticks:
        if restarts:
            world.restart()
        assert not isinstance(world.write(memories=memories), Written)
    outcomes = world.record.outcomes
    asked = [repr(request) for request in world.model.requests]
    most = MOST if job is RUN else world.config.merge_attempt_limit
    assert len(outcomes) <= most and len({o.shape for o in outcomes if o.rung == "canonical"}) <= (3 if job is RUN else most)
    assert len(asked) <= most * ERRORS_IN_A_ROW + len(ticks)
    counted = {text: asked.count(text) for text in set(asked)}
    passed = len(asked) - sum(o.outcome not in ("too_long", "exhausted") for o in outcomes)
    assert sum(count - 1 for count in counted.values()) <= passed
    assert not any(BAD in repr(o) for o in outcomes)


@settings(deadline=None, max_examples=40)
@given(job=st.sampled_from([RUN, MERGE]), ladder=ladders, answers=st.lists(unusable, max_size=30))
def test_with_nothing_but_unusable_answers_it_ends_with_the_run_left_alone_and_then_asks_no_more(job, ladder, answers):
    world = World([*answers, *[Reply(message=assistant(BAD), stop="refusal")] * 500], job=job, ladder=ladder)
    for _ in range(10):
        came = world.write(memories=4)
        assert isinstance(came, Failed)
        if came.stuck:
            break
    assert came.stuck and sum(o.is_stuck for o in world.record.outcomes) == 1
    before = len(world.model.requests)
    assert world.write(memories=4) == Failed(stuck=True) and len(world.model.requests) == before


@settings(deadline=None, max_examples=80)
@given(job=st.sampled_from([RUN, MERGE]), ladder=ladders, answers=st.lists(st.one_of(unusable, passing, st.just(GOOD)), max_size=60), restarts=st.lists(st.booleans(), min_size=70, max_size=70))
def test_what_is_remembered_was_all_said_in_whole_answers(job, ladder, answers, restarts):
    world = World([*answers, *[GOOD] * 100], job=job, ladder=ladder)
    for restart in restarts:
        if restart:
            world.restart()
        came = world.write(memories=4)
        if not isinstance(came, Paused) and not (isinstance(came, Failed) and not came.stuck):
            break
    assert isinstance(came, (Written, Failed))
    if isinstance(came, Written):
        pieces = came.text.split("\n\n")
        assert set(pieces) == {GOOD} and len(pieces) == came.how.get("pieces", 1) and came.how["stop"] == "end"


@pytest.mark.parametrize("provider", PROVIDERS)
@settings(deadline=None, max_examples=40)
@given(head=conversations(), told=conversations(), shape=st.builds(Shape, stands_alone=st.booleans(), offers_tools=st.booleans(), asks_prose=st.booleans(), piece=st.none() | st.just((0, 2))))
def test_a_request_made_of_any_conversation_has_no_faults_with_any_provider(provider, head, told, shape):
    def units_of(messages):
        return selected_units(messages, [], selector="test", counter=default_counter()).units

    context = around(head=units_of(head), memories=MEMORIES[:2], system_prompt="Be brief.", tools=(PING,))
    draft = Material(Job(level=1, first=11, last=20, first_uid="a", last_uid="b", units=units_of(told), since=NOW, until=NOW), context, config=AutobiographicalConfig()).draft(shape)
    body = format_of(provider).dump(draft.request.messages, model=MODEL)
    assert faults(provider, body) == []
    assert not any(isinstance(part, Thinking) for message in draft.request.messages for part in message.parts)
    assert draft.request.messages[-1].role == "user" and draft.request.messages[-1].name == "Context Manager"
