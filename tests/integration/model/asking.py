"""Asking a model that a local server plays."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

import anyio

import playhead as ph
from tests.integration.model.server import Answer, ProviderServer
from tests.integration.model.wires import Wire

T = TypeVar("T")
QUESTION = ph.user("Why does gw-3 drop packets?")
PING = ph.ToolSpec(name="net.ping", description="Ping a host.", parameters={"type": "object", "properties": {"host": {"type": "string"}}, "required": ["host"], "additionalProperties": False})
LOOK = ph.ToolSpec(name="look", description="Look.", parameters={"type": "object", "properties": {}})
TOOLS = (PING, LOOK)


def request(*more: ph.Message, **fields: Any) -> ph.ModelRequest:
    return ph.ModelRequest(messages=(QUESTION, *more), **fields)


def asked(wire: Wire, answers: Iterable[Answer], act: Callable[[ph.Model, ProviderServer], Coroutine[Any, Any, T]], *, backend: str = "asyncio", **options: Any) -> T:
    """Return what `act` makes of a model that gets the answers."""

    async def run(server: ProviderServer) -> T:
        settings = {"api_key": "k", "base_url": server.url + wire.prefix, "max_retries": 0, **wire.options, **options}
        async with ph.get_model(wire.spec, **settings) as model:
            return await act(model, server)

    with ProviderServer(answers) as server:
        return anyio.run(run, server, backend=backend)


async def events_of(model: ph.Model, *more: ph.Message, into: list[Any] | None = None, **fields: Any) -> list[Any]:
    """Return the events of an answer; `into` has those that came before a failure, too."""
    events: list[Any] = [] if into is None else into
    async with model.stream(request(*more, **fields)) as stream:
        async for event in stream:
            events.append(event)  # noqa: PERF401 - what came before a failure stays
    return events


def words(events: Iterable[Any], kind: type) -> str:
    return "".join(e.text for e in events if isinstance(e, kind))
