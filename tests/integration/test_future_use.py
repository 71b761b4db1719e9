"""Real sessions folded into 1,500 tokens: what is used next is still named, judged by protocols.py."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from types import ModuleType

import anyio
import pytest

from playhead.fold.extracting.extractive import extract
from playhead.fold.extracting.identifiers import SEPARATOR
from playhead.importers.driver import import_file
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.context import default_tape_context
from playhead.view.exact import ExactCounter
from playhead.view.tokens import Counter, default_counter
from playhead.view.units import Unit
from tests.data import shared

SESSIONS = ("claude_code/spotter_258c7280.jsonl", "claude_code/spotter_ae4a77f8.jsonl", "pi/large-session.jsonl")
TOKENS = 1_500


def judge() -> ModuleType:
    spec = importlib.util.spec_from_file_location("protocols", shared("protocols.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def counter() -> Counter:
    return ExactCounter() if importlib.util.find_spec("tiktoken") and importlib.util.find_spec("bpe_openai") else default_counter()


def units_of(session: str) -> tuple[Unit, ...]:
    async def go():
        tape = Tape(InMemoryTapeStore(), session)
        await import_file(shared("trajectories", *session.split("/")), into=tape)
        return (await tape.with_context(default_tape_context(anchor=None)).read()).units

    return anyio.run(go)


def inputs(units: tuple[Unit, ...]) -> list[str]:
    return ["\n".join(texts(call.arguments)) for unit in units for message in unit.messages for call in message.calls]


def texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (Mapping, list)):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from texts(inner)


@pytest.mark.parametrize("session", SESSIONS)
def test_nineteen_of_twenty_files_that_are_used_next_are_named_in_1500_tokens(session):
    protocols, units, counts = judge(), units_of(session), counter()
    compacted = [index for index, unit in enumerate(units) if unit.kind == "anchor" and "compaction" in unit.messages[0].text[:40]]
    figures = []
    for index in (*compacted, *(len(units) * share // 100 for share in (25, 50, 75))):
        before = units[:index]
        text, names = extract(before, tokens=TOKENS, counter=counts)
        kept = f"{text}\n{SEPARATOR.join(names)}"
        assert counts.count(kept) <= TOKENS + 2
        said = [*(message.text for unit in before for message in unit.messages), *inputs(before)]
        figures.append(protocols.future_use_recall(kept, said, inputs(units[index:])))
    told = [figure for figure in figures if figure is not None]
    assert len(told) >= 3
    assert sum(told) / len(told) >= 0.95
