"""What a conversation says and keeps where its store is lost, and where its commands fail."""

from __future__ import annotations

from collections.abc import Iterable

import anyio
import pytest

from playhead.agent.agent import Agent
from playhead.cli.chat import conversation
from playhead.cli.chat.answerer import Answerer
from playhead.cli.chat.approvals import Approvals
from playhead.cli.chat.conversation import BEHIND, CAUGHT_UP, LOST, Conversation
from playhead.cli.chat.lines import Lines
from playhead.cli.chat.pieces import Piece, Remark, Words
from playhead.cli.chat.talk import Talk
from playhead.model.scripted import ScriptedModel
from playhead.store.memory.store import InMemoryTapeStore
from tests.unit.agent.test_unwritten import gone, losing
from tests.unit.agent.trouble import Points, TroubledStore


class Shown:
    """A screen that remembers."""

    width = 100

    def __init__(self) -> None:
        self.words = ""
        self.remarks: list[str] = []
        self.suggested: list[str] = []

    def show(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            self.words += piece.text if isinstance(piece, Words) else ""
            self.remarks += [piece.text] if isinstance(piece, Remark) else []

    def lines(self, lines: object) -> None: ...

    def changed(self, session: object) -> None: ...

    def suggest(self, text: str) -> None:
        self.suggested.append(text)

    def leave(self) -> None: ...


def talking(points: Points, *answers: object) -> Conversation:
    acknowledged: list[str] = []
    agent = Agent(store=TroubledStore(InMemoryTapeStore(), points), inbox=lambda tape: Lines(tape, taken=acknowledged.append))
    answerer = Answerer("echo:")
    answerer.model = ScriptedModel(list(answers))
    return Conversation(Talk(agent, tape="t", url="memory:", answerer=answerer, acknowledged=acknowledged), screen=Shown(), approvals=Approvals(approves_all=True))


async def said(talk: Talk) -> list[str]:
    return [entry.payload["content"] for entry in await talk.tape.query().kinds("message").all()]


def test_an_answer_that_the_store_did_not_take_is_written_before_the_next_line():
    async def go():
        points = Points(1, trouble=gone, stays=True)
        chat = talking(points, losing(points, "Twelve ", "tunnels."), "At noon.")
        await chat.open()
        await chat.entered("How many?")
        await chat.answer()
        assert chat.screen.words == "Twelve tunnels." and BEHIND in chat.screen.remarks
        await chat.entered("When?")
        assert chat.screen.suggested == ["When?"] and not chat.is_wanted
        points.is_on = False
        await chat.entered("When?")
        assert CAUGHT_UP in chat.screen.remarks
        await chat.answer()
        assert await said(chat.talk) == ["How many?", "Twelve tunnels.", "When?", "At noon."]

    anyio.run(go)


def test_an_answer_that_the_store_did_not_take_is_written_while_nobody_says_anything(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(conversation, "AGAIN", 0.01)

    async def go():
        points = Points(1, trouble=gone, stays=True)
        chat = talking(points, losing(points, "Twelve."))
        await chat.open()
        await chat.entered("How many?")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(chat.turns)
            with anyio.fail_after(20):
                while BEHIND not in chat.screen.remarks:
                    await anyio.lowlevel.checkpoint()
                points.is_on = False
                while CAUGHT_UP not in chat.screen.remarks:
                    await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        assert await said(chat.talk) == ["How many?", "Twelve."]

    anyio.run(go)


def test_a_model_whose_choice_cannot_be_recorded_does_not_answer():
    async def go():
        points = Points(1, trouble=gone, stays=True)
        chat = talking(points, "I am still here.")
        await chat.open()
        before, points.is_on = chat.talk.answerer.model, True
        await chat.entered("/model scripted:other.jsonl")
        assert chat.failed
        points.is_on = False
        assert (chat.talk.answerer.spec, chat.talk.answerer.model, chat.session.model) == ("echo:", before, "echo:")
        await chat.entered("Who is it?")
        await chat.answer()
        assert chat.screen.words == "I am still here."

    anyio.run(go)


async def after(*lines: str) -> tuple[Conversation, str]:
    """Return a chat in which lines were entered, all commands, and what it said of the last one."""
    chat = talking(Points(), "Hi.")
    await chat.open()
    await chat.entered("Hello")
    await chat.answer()
    for line in lines:
        await chat.entered(line)
    return chat, chat.screen.remarks[-1]


@pytest.mark.parametrize("name", ["main", "t"])
def test_a_branch_is_not_called_what_the_tape_is_called(name: str):
    async def go():
        chat, told = await after(f"/fork {name}")
        assert "give the branch another name" in told
        assert (chat.talk.name, await chat.talk.tape.branches()) == ("t", [])

    anyio.run(go)


def test_a_branch_that_was_merged_is_not_gone_on_with():
    async def go():
        chat, told = await after("/fork x", "/merge", "/switch x")
        assert told == "The branch 'x' of tape 't' was merged; /fork NAME makes another one."
        assert (chat.talk.name, chat.session.tape) == ("t", "t")

    anyio.run(go)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["/switch nope"], "There is no branch 'nope' of tape 't'; /branches lists those there are."),
        (["/fork x", "/switch main", "/fork x"], "The name 'x' of tape 't' is taken; choose another one."),
        (["/fork x", "/switch main", "/switch x"], "On branch 'x' of 't', which ends at entry"),
        (["/fork x", "/fork y"], "On branch 'y' of 't', from entry"),
        (["/fork x", "/merge"], "Merged into tape 't', which ends at entry"),
    ],
)
def test_branches_are_called_by_their_labels_and_commands_by_those_of_the_chat(lines: list[str], told: str):
    async def go():
        _, said = await after(*lines)
        assert said.startswith(told) and "__branch__" not in said

    anyio.run(go)


def test_no_entry_of_an_empty_tape_is_named():
    async def go():
        chat = talking(Points())
        await chat.open()
        await chat.entered("/fork x 9999")
        assert chat.screen.remarks == ["There is no entry on the tape yet."]

    anyio.run(go)


def test_a_chat_that_ends_without_its_store_says_what_is_not_on_the_tape():
    async def go():
        points = Points(1, trouble=gone, stays=True)
        chat = talking(points, losing(points, "Twelve."))
        await chat.open()
        await chat.entered("How many?")
        await chat.answer()
        await chat.end()
        assert any(LOST in remark for remark in chat.screen.remarks) and chat.failed
        points.is_on = False
        await chat.end()
        assert await said(chat.talk) == ["How many?", "Twelve."]

    anyio.run(go)
