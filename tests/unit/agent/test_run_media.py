"""Pictures in a run: the model sees them, the tape keeps no bytes of them."""

import base64
import json

import pytest

from playhead.agent.agent import Agent
from playhead.agent.answers import content_result
from playhead.agent.inbox import MemoryInbox, TapeInbox
from playhead.agent.tools import tool
from playhead.entry.lines import dump_line
from playhead.entry.message import Media, Text, user
from playhead.model.scripted import ScriptedModel, call
from playhead.testing.stores import ListStore
from tests.unit.agent.runs_lab import run, turn

BYTES = base64.b64encode(b"\x89PNG" + bytes(range(256)) * 20).decode()
PICTURE = Media(kind="image", mime="image/png", data=BYTES)


@tool
def snap() -> object:
    """Take a picture."""
    return content_result("here it is", PICTURE)


async def on_tape(agent):
    return b"".join([dump_line(e) for e in await agent.tape("t").query().all()]).decode()


def pictures(request):
    """Return the media of a request, those in the results of tools too."""
    parts = [part for m in request.messages for part in m.parts]
    inner = [part for p in parts for part in (p.content if not isinstance(getattr(p, "content", ""), str) else ())]
    return [part for part in (*parts, *inner) if isinstance(part, Media)]


def test_a_picture_in_a_prompt_reaches_every_call_of_the_run_and_later_ones_and_its_bytes_no_entry():
    async def go():
        agent, model = Agent(tools=[snap]), ScriptedModel([call("snap"), "A gate.", "As I said."])
        asked = user([Text(text="What is it?"), PICTURE])
        await turn(agent, asked, model)
        await turn(agent, "Again?", model)
        assert asked.parts[1] is PICTURE
        assert [[p.data == BYTES for p in pictures(request)] for request in model.requests] == [[True], [True, True], [True, True]]
        kept = await on_tape(agent)
        assert BYTES[:200] not in kept and "sha256:" in kept

    run(go)


def test_a_picture_that_steers_is_kept_without_its_bytes():
    async def go():
        inbox = MemoryInbox()
        agent, model = Agent(inbox=lambda tape: inbox), ScriptedModel(["Seen."])
        await inbox.store(user([Text(text="Look at this too"), PICTURE]))
        await turn(agent, "Look", model)
        assert [p.data == BYTES for p in pictures(model.requests[0])] == [True]
        assert BYTES[:200] not in await on_tape(agent)

    run(go)


@pytest.mark.parametrize("asked", [[Text(text="What is it?"), PICTURE], [PICTURE]])
def test_without_blobs_the_run_still_sees_the_picture_and_the_tape_says_what_it_was(asked):
    async def go():
        agent, model = Agent(store=ListStore()), ScriptedModel(["A gate.", "I no longer see it."])
        await turn(agent, user(asked), model)
        await turn(agent, "Again?", model)
        assert [len(pictures(request)) for request in model.requests] == [1, 0]
        kept = await on_tape(agent)
        assert BYTES[:200] not in kept and "image/png" in kept and "sha256:" in kept
        assert "image not kept" in json.dumps([m.text for m in model.requests[1].messages])

    run(go)


def test_a_picture_that_waits_in_an_inbox_of_a_tape_is_no_bytes_there_and_reaches_the_model():
    async def go():
        agent, model = Agent(inbox=TapeInbox), ScriptedModel(["Seen."])
        await agent.inbox("t").store(user([Text(text="Look at this too"), PICTURE]))
        await turn(agent, "Look", model)
        assert [p.data == BYTES for p in pictures(model.requests[0])] == [True]
        waiting = b"".join([dump_line(e) for e in await agent.tape("t").sidecar("inbox").query().all()]).decode()
        assert BYTES[:200] not in waiting + await on_tape(agent) and "sha256:" in waiting

    run(go)


def test_a_picture_that_a_model_made_is_kept_as_a_reference_and_shown_again():
    async def go():
        agent, model = Agent(), ScriptedModel([[Text(text="Here."), PICTURE], "Nice."])
        await turn(agent, "Draw", model)
        await turn(agent, "And?", model)
        assert BYTES[:200] not in await on_tape(agent)
        assert [p.data == BYTES for p in pictures(model.requests[1])] == [True]

    run(go)


def test_a_picture_that_steers_reaches_the_model_also_where_nobody_keeps_it():
    async def go():
        inbox = MemoryInbox()
        agent, model = Agent(store=ListStore(), tools=[snap], inbox=lambda tape: inbox), ScriptedModel([call("snap"), "Seen."])
        await inbox.store(user([Text(text="Look at this too"), PICTURE]))
        await turn(agent, "Look", model)
        asked = [[p for m in request.messages if m.role == "user" for p in m.parts if isinstance(p, Media)] for request in model.requests]
        assert [[p.data == BYTES for p in found] for found in asked] == [[True], [True]]

    run(go)
