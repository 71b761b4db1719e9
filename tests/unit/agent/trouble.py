"""Trouble for a run: a store, a model, tools and hooks that count the places where the run waits, and at one of them do something to it."""

from contextlib import aclosing, asynccontextmanager

import anyio
import anyio.lowlevel

from playhead.agent.agent import Agent
from playhead.agent.decisions import Proceed
from playhead.agent.tools import tool
from playhead.entry.message import Text, Thinking, user
from playhead.model.protocol import Usage
from playhead.model.scripted import ScriptedModel, call
from playhead.store.adapted.tapes import FOUR, REST
from playhead.wire.providers import FORMATS, request_body
from tests.unit.agent.bodies import faults

METHODS = tuple(name for name in dict.fromkeys((*FOUR, *REST, "put_blob", "get_blob")) if name not in ("lock", "aclose"))
STUB = "interrupted, outcome unknown"


class Points:
    """The places where a run waits, counted; at the one of number `at` the trouble is made, at all later ones too where it `stays`."""

    def __init__(self, at=None, *, trouble=None, stays=False):
        self.at = at
        self.count = 0
        self.where = None
        self.is_on = False
        self.trouble = trouble
        self.stays = stays

    async def reach(self, where):
        await anyio.lowlevel.checkpoint()
        if not self.is_on:
            return
        self.count += 1
        if self.count == self.at or (self.stays and self.at is not None and self.count > self.at):
            self.where = self.where or where
            self.trouble()
            await anyio.lowlevel.checkpoint()


class TroubledStore:
    """Another store, with a point before and behind each of its calls."""

    def __init__(self, store, points):
        self._store = store
        self._points = points
        self.promises = store.promises

    def lock(self, tape):
        return self._store.lock(tape)

    async def aclose(self):
        await self._store.aclose()


def _pointed(name):
    async def method(self, *given, **named):
        await self._points.reach(f"store.{name} begins")
        answer = await getattr(self._store, name)(*given, **named)
        await self._points.reach(f"store.{name} ends")
        return answer

    return method


for _name in METHODS:
    setattr(TroubledStore, _name, _pointed(_name))


class TroubledModel:
    """Another model, with a point before and behind each event of its answers."""

    def __init__(self, model, points):
        self.model = model
        self.name = model.name
        self.context_limit = model.context_limit
        self._points = points

    @asynccontextmanager
    async def stream(self, request):
        await self._points.reach("model is asked")
        async with self.model.stream(request) as events, aclosing(self._events(events)) as pointed:
            yield pointed
        await self._points.reach("model has answered")

    async def _events(self, events):
        async for event in events:
            await self._points.reach(f"model says {type(event).__name__}")
            yield event

    async def aclose(self):
        await self.model.aclose()


class TroubledHooks:
    """Hooks that do nothing but wait."""

    def __init__(self, points):
        self._points = points

    async def task_start(self):
        await self._points.reach("task_start")

    async def step_start(self):
        await self._points.reach("step_start")

    async def before_llm_call(self, request):
        await self._points.reach("before_llm_call")
        return request

    async def after_llm_call(self, request):
        await self._points.reach("after_llm_call")

    async def before_tool_call(self, call):
        await self._points.reach("before_tool_call")
        return Proceed(call.arguments)

    async def after_tool_call(self, outcome):
        await self._points.reach("after_tool_call")


def charging(points, charged):
    """Return a tool with a side effect, which is in `charged` from the moment it has happened."""

    @tool
    async def charge(card: str) -> str:
        """Charge a card."""
        await points.reach("tool begins")
        charged(card)
        await points.reach("tool has charged")
        return f"charged {card}"

    return charge


def script():
    """Return what the model says in the turn that gets into trouble: two calls at a time, one more, and the end."""
    thought = Thinking(text="Both cards.", signature="sig", provider="scripted", model="script")
    return [
        [thought, Text(text="I charge both."), call("charge", card="red"), call("charge", card="blue"), Usage(input=10, output=2)],
        ["One is left.", call("charge", card="green")],
        ["All three ", "are charged."],
    ]


def agent_in(store, points, charged, *, inbox, hooks=True, **options):
    """Return an agent whose every wait is a point."""
    plugins = [TroubledHooks(points)] if hooks else []
    return Agent("Be careful.", store=TroubledStore(store, points), tools=[charging(points, charged)], plugins=plugins, inbox=inbox, **options)


async def seeded(agent, *, steering=("Use VISA.", "Be quick.")):
    """Have a first turn that goes well, and leave words in the inbox for the next one."""
    async with agent.run("Hello", model=ScriptedModel(["Hi."]), tape="t") as stream:
        await stream.text()
    for words in steering:
        await agent.inbox("t").store(user(words), key=words)


async def checked(agent, *, charged, steering=("Use VISA.", "Be quick."), heard=""):
    """Go on with the tape and raise AssertionError unless nothing was lost, doubled, left open or forgotten."""
    model = ScriptedModel(["I am here."])
    async with agent.run("Where are we?", model=model, tape="t") as stream:
        assert await stream.text() == "I am here."
    (request,) = model.requests
    for provider in FORMATS:
        assert faults(provider, request_body(provider, request.messages, model="any")) == []
    said = [m.text for m in request.messages if m.role == "user"]
    for words in ("Hello", "Where are we?", *steering):
        assert said.count(words) == 1, (words, said)
    assert said.count("Charge all cards") <= 1
    results = {r.call_id: r.content for m in request.messages for r in m.results}
    answers = {c.arguments["card"]: str(results[c.id]) for m in request.messages for c in m.calls}
    assert set(charged) <= answers.keys(), (charged, answers)
    assert all(answer == f"charged {card}" or STUB in answer or "the disk is gone" in answer for card, answer in answers.items()), answers
    told = [m.text for m in request.messages if m.role == "assistant"]
    for words in ("Hi.", "I charge both.", "One is left.", "All three are charged."):
        assert sum(text != "" and (text in words or words in text) for text in told) <= 1, told
    spoken = "".join(told)
    assert all(words in spoken for words in filter(None, heard)), (heard, told)
    await _whole(agent.tape("t"))


async def _whole(tape):
    entries = await tape.query().all()
    assert len({entry.uid for entry in entries}) == len(entries)
    assert [entry.id for entry in entries] == list(range(1, len(entries) + 1))
    assert [record for record in await tape.branches() if record.is_open] == []
    kept = [result for entry in entries if entry.kind == "tool_result" for result in entry.payload["results"]]
    assert len(kept) == len(set(map(str, kept)))
