"""What tests of written summaries are made of: units, nodes, jobs and a record of outcomes."""

from datetime import UTC, datetime

import anyio

from playhead.entry.message import ToolCall, assistant, tool_result_message, user
from playhead.fold.config import AutobiographicalConfig
from playhead.fold.forest import Outcome
from playhead.fold.node import Node
from playhead.fold.writing.job import Job, Surroundings
from playhead.fold.writing.model_summarizer import ModelSummarizer
from playhead.model.protocol import Reply, ToolSpec
from playhead.model.scripted import ScriptedModel
from playhead.view.tokens import default_counter, message_tokens
from playhead.view.units import Unit

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PING = ToolSpec(name="ping", description="Ask a host.", parameters={"type": "object", "properties": {}})
LADDER = AutobiographicalConfig(ladder=("no_tools_line", "without_tools", "plain_prose", "expand_recall", "source_only", "split"))


def unit(*messages, id, body=None):
    counter = default_counter()
    tokens = sum(message_tokens(m, counter=counter) for m in messages)
    ids = tuple(range(id, id + len(messages)))
    return Unit(kind="round" if len(messages) > 1 else "message", messages=messages, ids=ids, uids=tuple(f"u{i}" for i in ids), tokens=tokens, body=body)


def said(text, *, id, by="User"):
    return unit(user(text, name=by) if by != "me" else assistant(text), id=id)


def pinged(host, *, id):
    call = ToolCall(id=f"call_{id}", name="ping", arguments={"host": host})
    return unit(assistant(f"Let me ask {host}.", calls=[call]), tool_result_message(call.id, f"{host} is up"), id=id)


def node(number, *, first, last, level=1, text=None, children=(), **more):
    return Node(
        uid=f"n{level}-{number}",
        id=f"L{level}-{number}",
        level=level,
        first=first,
        last=last,
        first_uid=f"u{first}",
        last_uid=f"u{last}",
        units=last - first + 1,
        raw_tokens=1_000,
        text=f"I remember {number} of level {level}." if text is None else text,
        children=tuple(child.uid for child in children),
        since=NOW,
        until=NOW,
        created=NOW,
        **more,
    )


def chunk(*units, **more):
    return Job(level=1, first=units[0].first, last=units[-1].last, first_uid=units[0].uids[0], last_uid=units[-1].uids[-1], units=units, since=NOW, until=NOW, **more)


def merge(*sources, units=(), **more):
    first, last = sources[0], sources[-1]
    return Job(level=first.level + 1, first=first.first, last=last.last, first_uid=first.first_uid, last_uid=last.last_uid, units=units, sources=sources, since=NOW, until=NOW, **more)


def around(**more):
    return Surroundings(**{"counter": default_counter(), "now": NOW, **more})


def talk(*, id=11, count=4):
    return tuple(said(f"part {i} of the talk about gw-{i}", id=i, by="me" if i % 2 else "User") for i in range(id, id + count))


def refusal(text="I would rather not."):
    return Reply(message=assistant(text), stop="refusal")


def cut_off(text="It began when"):
    return Reply(message=assistant(text), stop="length")


class Record:
    """Keeps the outcomes that a summarizer notes for a job, as a tape would, with what had been asked by then."""

    def __init__(self, job, model=None):
        self.outcomes = []
        self.asked_before = []
        self._job = job
        self._model = model

    async def note(self, outcome):
        self.asked_before.append(len(self._model.requests) if self._model else None)
        job = self._job
        self.outcomes.append(
            Outcome(
                first=job.first,
                last=job.last,
                first_uid=job.first_uid,
                last_uid=job.last_uid,
                level=job.level,
                regime=outcome.regime,
                rung=outcome.rung,
                shape=outcome.shape,
                outcome=outcome.outcome,
                model=outcome.model,
                children=tuple(n.uid for n in job.sources),
                is_stuck=outcome.is_stuck,
                at=NOW,
            )
        )

    @property
    def told(self):
        return [(o.rung, o.outcome) for o in self.outcomes]


def written(script, job, *, config=LADDER, record=None, name="scripted:script", limit=None, **more):
    """Let a model that follows a script write a job; returns what came, the model, and the record."""
    model = script if isinstance(script, ScriptedModel) else ScriptedModel(script, name=name, context_limit=limit)
    record = Record(job, model) if record is None else record

    async def go():
        return await ModelSummarizer(model, config).write(job, around(**{"outcomes": tuple(record.outcomes), **more}), note=record.note)

    return anyio.run(go), model, record
