"""Prompts to make pages of."""

from __future__ import annotations

from dataclasses import replace

import anyio

from playhead.entry.message import ToolCall, assistant, system, tool_result_message, user
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.prompt.prompt import Prompt
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.plan import Plan, Span, Units, span_of

WIDE = Budget(max_tokens=100_000)


async def filled(said, *, name="support/42"):
    tape = Tape(InMemoryTapeStore(), name)
    await tape.append_many(said)
    return tape


def compiled(said, *, budget=WIDE, name="support/42", **how) -> Prompt:
    async def go():
        return await compile(await filled(said, name=name), budget, **how)

    return anyio.run(go)


def talk(count, *, words=20):
    for i in range(count):
        yield user(f"question {i} " + "word " * words) if i % 2 == 0 else assistant(f"answer {i} " + "word " * words)


def a_round(number, *, tool="ping", answer="6 packets lost"):
    call = ToolCall(id=f"c{number}", name=tool, arguments={"host": f"gw{number}"})
    yield assistant(f"I look at gw{number}.", calls=[call])
    yield tool_result_message(call.id, answer)


class AllForms:
    """Tells the first two units as a summary, the third trimmed, leaves out the fourth, and shows the rest."""

    name = "all forms"

    def plan(self, units: Units, *, budget: Budget, state: object) -> Plan:
        told = replace(span_of(units[:2], form="summary", reason="folded"), messages=(system("They met."),), tokens=24, node="L1-0001", level=1)
        cut = replace(span_of(units[2:3], form="trimmed", reason="long and old"), messages=(user("question 2 [cut]"),), tokens=16, how="head and tail")
        rest: list[Span] = [span_of(units[3:4], form="omitted", reason="off the topic"), span_of(units[4:], form="raw", reason="recent")]
        return Plan(spans=(told, cut, *rest), units=units)
