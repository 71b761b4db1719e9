"""What a script is told of a run that was interrupted."""

from __future__ import annotations

import anyio
import pytest

from playhead.agent.agent import Agent
from playhead.agent.tools import tool
from playhead.cli.chat.running import last_words
from playhead.model.protocol import ModelRequest
from playhead.model.scripted import ScriptedModel, call


@tool
def ping(host: str) -> str:
    """Ping a host."""
    return f"{host} answers"


def pausing(words: str):
    """Return an answer that begins and never ends."""

    def answer(request: ModelRequest):
        async def pieces():
            yield words
            await anyio.sleep_forever()

        return pieces()

    return answer


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([pausing("Half an ")], "Half an "),
        ([["Let me see.", call("ping", host="gw")], pausing("It is ")], "It is "),
    ],
)
def test_the_last_words_of_a_run_that_was_cut_short_are_those_that_had_come(answers: list[object], words: str):
    async def go():
        agent = Agent(tools=[ping])
        async with agent.run("Up?", model=ScriptedModel(answers), tape="t") as stream:
            heard = ""
            async for event in stream:
                heard = heard + event.delta if event.kind == "text" else heard
                if heard.endswith(words):
                    stream.cancel()
        return last_words(stream.report.entries)

    assert anyio.run(go) == words


def test_who_said_nothing_has_no_last_words():
    assert last_words(()) == ""
