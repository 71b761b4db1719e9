"""Every recorded conversation: nothing of it is lost, and a sample of its prefixes makes valid bodies for all three providers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import anyio
import pytest

from playhead.errors import NothingToSend, OverBudgetError
from playhead.importers.driver import import_file
from playhead.importers.report import ImportReport
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.prompt.prompt import Prompt
from playhead.prompt.strategies.windowed import WindowedPassthroughStrategy
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.context import TapeContext, default_tape_context
from tests.data import shared
from tests.unit.wire.faults import faults

FILES = (
    "claude_code/ccl_edge_cases.jsonl",
    "claude_code/ccl_representative_messages.jsonl",
    "claude_code/ccl_session_b.jsonl",
    "claude_code/ccl_todowrite_examples.jsonl",
    "claude_code/simonw_sample_session.json",
    "claude_code/spotter_258c7280.jsonl",
    "claude_code/spotter_4d5611e5_subagent.jsonl",
    "claude_code/spotter_ae4a77f8.jsonl",
    "claude_code/spotter_fa812bfe_acompact.jsonl",
    "claude_code/spotter_tool_heavy.jsonl",
    "codex/agentsview_fc_args_2.jsonl",
    "codex/agentsview_function_calls.jsonl",
    "gemini/agentsview_thinking_only.json",
    "gemini/agentsview_tool_calls.json",
    "mini_swe_agent/github_issue.traj.json",
    "mini_swe_agent/local.traj.json",
    "pi/large-session.jsonl",
    "swe_agent/ch-HumanEvalFix-python__lcb__t-0.00__p-0.95__c-4.00__install-0~humanevalfix-python-0.traj",
    "swe_agent/de__marshmallow-1867__function_calling__install-1~marshmallow-code__marshmallow-1867.traj",
    "swe_agent/ev-easy_first_only__default__t-0.00__p-0.95__c-3.00__install-1~pydicom__pydicom-1458.traj",
    "swe_agent/mallow-1867__function_calling_replace_from_source~marshmallow-code__marshmallow-1867.traj",
    "tau_bench/gpt-4o-airline-even.json",
)
SAMPLES = 6
WORDS = 20
"""From how many characters on a text is what somebody said, and no name of a field's kind."""

PROVIDERS = (("openai", None), ("openai-responses", None), ("anthropic", "claude-opus-4-6"))

every_file = pytest.mark.parametrize("file", FILES)


async def imported(file: str) -> tuple[Tape, ImportReport]:
    tape = Tape(InMemoryTapeStore(), file)
    return tape, await import_file(shared("trajectories", file), into=tape)


def test_no_file_is_left_out():
    place = shared("trajectories")
    there = {p.relative_to(place).as_posix() for p in place.rglob("*") if p.suffix in {".json", ".jsonl", ".traj"}}
    assert there == set(FILES)


@pytest.mark.parametrize("file", [f for f in FILES if f.endswith(".jsonl")])
def test_every_line_is_an_entry_or_a_part_of_one_or_reported(file: str):
    async def go() -> None:
        tape, report = await imported(file)
        told = {line for line, _ in report.unreadable}
        for entry in await tape.query().all():
            origin = entry.meta.get("import", {})
            told |= set(origin.get("lines", [origin["line"]] if origin else []))
        body = shared("trajectories", file).read_bytes()
        assert told == {n for n, line in enumerate(body.split(b"\n"), start=1) if line.strip()}

    anyio.run(go)


@pytest.mark.parametrize("file", [f for f in FILES if not f.endswith(".jsonl")])
def test_every_text_of_a_document_is_on_the_tape(file: str):
    async def go() -> None:
        tape, _ = await imported(file)
        kept = {text for entry in await tape.query().all() for text in texts([entry.payload, entry.meta])}
        together = "\n".join(kept)
        said = [t for t in texts(json.loads(shared("trajectories", file).read_bytes())) if len(t) >= WORDS and not is_date(t)]
        assert [t for t in said if t not in kept and t not in together and not is_kept_json(t, kept)] == []

    anyio.run(go)


def texts(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for member in value.values() if isinstance(value, dict) else value:
            yield from texts(member)


def is_date(text: str) -> bool:
    return text[:4].isdigit() and text[4:5] == "-" and text.endswith("Z")


def is_kept_json(text: str, kept: set[str]) -> bool:
    """Tell whether a text is JSON, as the arguments of a call are written, and each text in it is kept."""
    with suppress(ValueError):
        return all(t in kept for t in texts(json.loads(text)))
    return False


@every_file
def test_a_sample_of_prefixes_makes_valid_bodies_within_the_budget(file: str):
    async def go() -> None:
        tape, _ = await imported(file)
        whole = tape.with_context(TapeContext(anchor=None, select=default_tape_context().select))
        end = (await tape.head()).id
        for id in sorted({max(1, end * n // SAMPLES) for n in range(1, SAMPLES + 1)}):
            for handle, tokens in ((tape, 200_000), (whole, 16_000)):
                with suppress(OverBudgetError):
                    prompt = await compile(handle.at(id), Budget(max_tokens=tokens, reserve_for_response=0), strategy=WindowedPassthroughStrategy())
                    assert prompt.stats.total <= tokens
                    assert found(prompt) == [], f"{file} at entry {id}"

    anyio.run(go)


def found(prompt: Prompt) -> list[str]:
    """Return the faults of a prompt's bodies; where nothing is said yet, a provider takes none."""
    told = []
    for provider, model in PROVIDERS:
        with suppress(NothingToSend):
            told += faults(provider, prompt.to(provider, model=model))
    return told
