"""What tests of runs share: a tool, and short ways to run and to look."""

import anyio

from playhead.agent.tools import tool
from playhead.entry.entry import event_name


def run(function):
    return anyio.run(function)


async def turn(agent, prompt, model, tape="t", **options):
    async with agent.run(prompt, model=model, tape=tape, **options) as stream:
        return [event async for event in stream]


def shape(entries):
    """Return kinds, with the role of a message and the name of an event or anchor."""
    return [f"{e.kind} {e.payload.get('role') or event_name(e)}".strip() for e in entries]


def said(request):
    return [f"{m.role}: {m.text}" for m in request.messages]


@tool
def ping(host: str) -> str:
    """Send one packet."""
    return f"{host} answers"
