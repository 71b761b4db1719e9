"""The text on anchors and filters: the sample runs as it is printed, and its filter works on a run of an agent, too."""

import anyio
import pytest

import playhead as ph
from tests.docs.seed_samples.running import follow
from tests.docs.seed_samples.texts import ANCHORS, samples

ASSUMED = """from collections.abc import Sequence
from republic import TapeEntry
"""
"""What the sample names and does not import."""


def without_chat() -> str:
    """Return the one sample up to the line that asks a model by `tape.chat`."""
    (code,) = samples(ANCHORS)
    lines = code.splitlines()
    assert lines[-1].startswith("tape.chat(")
    return "\n".join(lines[:-1])


@ph.tool
def read_file(path: str) -> str:
    """Read a file."""
    return f"{path}: " + "print('hello')\n" * 200


@pytest.mark.parametrize("is_corrected", [False, True], ids=["as printed", "corrected"])
def test_an_agent_that_reads_through_the_filter_sends_no_long_results_and_keeps_all(is_corrected: bool):
    async def go() -> None:
        context = (await follow(ASSUMED, without_chat()))["ctx"]
        if is_corrected:
            context = ph.TapeContext(select=ph.pipe(ph.latest_read_only(), ph.drop_tool_results(over_tokens=100)))
        agent = ph.Agent(context=context, tools=[read_file], max_steps=4)
        call = ph.testing.call("read_file", path="x.py")
        model = ph.testing.ScriptedModel([call, call, "It prints hello."])
        async with agent.run("Summarize the final version of the code", model=model, tape="t") as stream:
            assert await stream.text() == "It prints hello."
        assert [len(message.calls) for message in model.requests[-1].messages if message.role == "assistant"] == [1, 1]
        shown = [message.text for message in model.requests[-1].messages if message.role == "tool"]
        assert len(shown) == 2 and max(map(len, shown)) < 300
        kept = await agent.tape("t").query().kinds("tool_result").all()
        assert ["hello" in str(entry.payload) for entry in kept] == [True, True]

    anyio.run(go)


def test_the_sample_runs_as_it_is_printed_and_the_tape_stays_as_it_was():
    async def go() -> None:
        call = ph.testing.call("read_file", path="x.py")
        model = ph.testing.ScriptedModel([call, call, "It prints hello."])
        tape = ph.LLM(model).tape("code")
        for _ in range(2):
            tape.run_tools("Read x.py.", tools=[read_file])
        before = [entry.payload for entry in tape.query.all()]
        await follow(ASSUMED, *samples(ANCHORS), names={"tape": tape})
        asked = model.requests[-1].messages
        assert asked[-1].text == "Summarize the final version of the code"
        assert max(len(message.text) for message in asked) < 300
        kept = [entry.payload for entry in tape.query.all()]
        assert kept[: len(before)] == before
        assert [payload.get("content") for payload in kept[len(before) : -1]] == ["Summarize the final version of the code", "It prints hello."]

    anyio.run(go)
