"""Spans are told to whoever traces, in order and nested, and no tracer can disturb the work."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from playhead import tracing


class Notes:
    """A tracer that notes what it is told."""

    def __init__(self):
        self.told = []

    @contextmanager
    def span(self, operation, facts):
        self.told.append(("began", operation, facts))
        try:
            yield self
        except BaseException as error:
            self.told.append(("failed", operation, type(error)))
            raise
        else:
            self.told.append(("ended", operation))

    def add(self, **facts):
        self.told.append(("added", facts))


class Broken:
    """A tracer that fails wherever it is told to."""

    def __init__(self, *, where):
        self.where = where

    @contextmanager
    def span(self, operation, facts):
        if self.where == "begin":
            raise OSError("no")
        yield self
        if self.where == "end":
            raise OSError("no")

    def add(self, **facts):
        raise OSError("no")


@pytest.fixture
def traced():
    tracers = []

    def start(tracer):
        tracing.trace(tracer)
        tracers.append(tracer)
        return tracer

    yield start
    for tracer in tracers:
        tracing.untrace(tracer)


def test_without_a_tracer_every_span_is_the_same_one():
    with tracing.span("agent", tape="t") as one, tracing.span("step") as other:
        one.add(more=1)
    assert one is other


def test_a_tracer_hears_what_begins_what_is_added_and_how_it_ends(traced):
    notes = traced(Notes())
    with tracing.span("agent", tape="t"), tracing.span("step", step=1) as step:
        step.add(worked=True)
    assert notes.told == [("began", "agent", {"tape": "t"}), ("began", "step", {"step": 1}), ("added", {"worked": True}), ("ended", "step"), ("ended", "agent")]


def test_a_failure_of_the_work_is_told_and_passes_as_it_is(traced):
    notes = traced(Notes())
    with pytest.raises(KeyError), tracing.span("tool"):
        raise KeyError("gone")
    assert notes.told[-1] == ("failed", "tool", KeyError)


@pytest.mark.parametrize("where", ["begin", "middle", "end"])
def test_a_tracer_that_fails_is_logged_and_disturbs_nobody(traced, caplog, where):
    traced(Broken(where=where))
    notes = traced(Notes())
    with tracing.span("chat") as span:
        span.add(reply="r")
    assert [told[0] for told in notes.told] == ["began", "added", "ended"]
    assert "tracer failed" in caplog.text


def test_a_tracer_that_was_taken_away_hears_no_more_and_one_given_twice_hears_once(traced):
    notes = traced(Notes())
    tracing.trace(notes)
    with tracing.span("fold"):
        tracing.untrace(notes)
    with tracing.span("fold"):
        pass
    assert [told[0] for told in notes.told] == ["began", "ended"]
