"""Every format against a store: files that grow, imports that break off, and what reaches each provider."""

import importlib.util
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from playhead.entry.entry import TapeEntry
from playhead.entry.message import Message
from playhead.entry.payload import part_to_json
from playhead.errors import NothingToSend, OverBudgetError
from playhead.importers.driver import import_file
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.context import TapeContext, default_tape_context
from playhead.wire import anthropic, openai_chat, openai_responses
from tests.data import shared
from tests.unit.importers.sample import Sample
from tests.unit.importers.samples import SAMPLES
from tests.unit.importers.samples_tools import PI, pi

pytestmark = pytest.mark.anyio
every_sample = pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
WHOLE = TapeContext(anchor=None, select=default_tape_context().select)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def tape() -> Tape:
    return Tape(InMemoryTapeStore(), "t")


async def entries(tape: Tape) -> list[TapeEntry]:
    return [e async for e in tape.query()][2:]


@every_sample
async def test_importing_a_file_again_adds_nothing(sample: Sample, tape: Tape, tmp_path: Path) -> None:
    path = sample.write(tmp_path / "file")
    first = await import_file(path, into=tape)
    (tmp_path / "moved").mkdir()
    again = await import_file(sample.write(tmp_path / "moved" / "other"), into=tape)
    assert first.format == sample.format
    assert (again.added, again.known, again.warnings) == (0, first.added, first.warnings)


REWOUND = ("pi", "gemini-cli lines")
"""Samples in which a branch is abandoned: imported while it grew, it is on the tape as it was then."""


@pytest.mark.parametrize("sample", [s for name, s in SAMPLES.items() if name not in REWOUND], ids=[n for n in SAMPLES if n not in REWOUND])
async def test_a_growing_file_ends_as_one_imported_at_once(sample: Sample, tape: Tape, tmp_path: Path) -> None:
    for n in range(2, len(sample.records) + 1):
        report = await import_file(sample.write(tmp_path / "file", sample.records[:n]), into=tape, format=sample.format)
        assert not any("new but before" in w or "changed" in w for w in report.warnings)
    once = Tape(InMemoryTapeStore(), "t")
    await import_file(tmp_path / "file", into=once)
    assert spoken(await tape.read_messages()) == spoken(await once.read_messages())


@pytest.mark.parametrize("name", REWOUND)
async def test_a_branch_that_is_abandoned_after_its_import_is_told(name: str, tape: Tape, tmp_path: Path) -> None:
    sample, warnings = SAMPLES[name], []
    for n in range(2, len(sample.records) + 1):
        report = await import_file(sample.write(tmp_path / "file", sample.records[:n]), into=tape)
        warnings += report.warnings
        assert not any("new but before" in w for w in report.warnings)
    assert any("was rewound since it was imported" in w for w in warnings)
    again = await import_file(sample.write(tmp_path / "file"), into=tape)
    assert again.added == 0


async def test_a_compaction_that_came_after_what_it_keeps_was_imported_tells_it_again(tape: Tape, tmp_path: Path) -> None:
    def said(id_: str, parent: str | None, text: str) -> dict[str, Any]:
        return pi("message", id_, parent, 1, message={"role": "user", "content": text})

    compaction = pi("compaction", "x", "c", 5, summary="All in short.", firstKeptEntryId="b", tokensBefore=5)
    records = [PI.records[0], said("a", None, "1"), said("b", "a", "2"), said("c", "b", "3"), compaction, said("d", "x", "4"), said("e", "d", "5")]
    shown = []
    for n in (4, 5, 6, 7, 7):
        report = await import_file(PI.write(tmp_path / "s.jsonl", records[:n]), into=tape)
        shown.append([str(m) for m in await tape.read_messages()][-5:])
    assert (report.added, report.warnings) == (0, ())
    assert shown[0] == ["1", "2", "3"]
    assert shown[-1] == [shown[1][0], "2", "3", "4", "5"]
    assert "All in short." in shown[1][0]
    once = Tape(InMemoryTapeStore(), "t")
    await import_file(tmp_path / "s.jsonl", into=once)
    assert [str(m) for m in await once.read_messages()] == shown[-1]


def spoken(messages: list[Message]) -> Counter[str]:
    """Return how often each thing is said; a turn that was written in two says the same, and ids that the view made count for nothing."""
    return Counter(json.dumps({k: v for k, v in part_to_json(p).items() if k not in ("id", "call_id")}) for m in messages for p in m.parts)


@every_sample
async def test_what_a_provider_signed_goes_to_no_other(sample: Sample, tape: Tape, tmp_path: Path) -> None:
    await import_file(sample.write(tmp_path / "file"), into=tape)
    messages = await tape.with_context(WHOLE).read_messages()
    signed, others = ("sig", "gAAA", "sg", "rs_1"), ("ws_1", "msg_1", "fc_1")
    for dump, model in ((openai_chat.dump, "gpt-5"), (anthropic.dump, "claude-opus-4-6"), (openai_responses.dump, "gpt-4.1"), (anthropic.dump, None), (openai_responses.dump, None)):
        body = json.dumps(dump(messages, model=model))
        foreign = signed if dump is openai_responses.dump else (*signed, *others)
        assert [s for s in foreign if f'"{s}"' in body] == []


@pytest.mark.parametrize(
    ("name", "dump", "model"),
    [
        ("pi", anthropic.dump, "claude-sonnet-4-5"),
        ("anthropic-messages", anthropic.dump, "claude-sonnet-4-5"),
        ("pydantic-ai", anthropic.dump, "claude-sonnet-4-5"),
        ("codex", openai_responses.dump, "gpt-5-codex"),
    ],
)
async def test_what_a_provider_signed_goes_back_to_the_model_that_made_it(name: str, dump: Any, model: str, tape: Tape, tmp_path: Path) -> None:
    await import_file(SAMPLES[name].write(tmp_path / "file"), into=tape)
    body = json.dumps(dump(await tape.with_context(WHOLE).read_messages(), model=model))
    assert '"sig"' in body or '"gAAA"' in body


# ---- every prefix compiles -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def judge() -> ModuleType:
    spec = importlib.util.spec_from_file_location("judge", shared("protocols.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def faults(tape: Tape, judge: ModuleType, *, prefixes: int) -> list[str]:
    """Return what is wrong with the bodies of a sample of prefixes, behind the newest anchor and from the start."""
    end = (await tape.head()).id
    found: list[str] = []
    for id in sorted({max(1, end * n // prefixes) for n in range(1, prefixes + 1)}):
        for tokens in (4_000, 32_000, 200_000):
            for view in (tape.at(id), tape.at(id).with_context(WHOLE)):
                try:
                    prompt = await compile(view, Budget(max_tokens=tokens, reserve_for_response=0))
                except OverBudgetError:
                    continue
                assert prompt.stats.total <= tokens
                with suppress(NothingToSend):
                    found += judge.openai_faults(prompt.to("openai")["messages"])
                    prompt.to("openai-responses", model="gpt-5-codex")
                    found += judge.anthropic_faults(prompt.to("anthropic", model="claude-sonnet-4-5")["messages"])
    return found


@every_sample
async def test_every_prefix_of_a_sample_compiles_without_a_fault(sample: Sample, tape: Tape, tmp_path: Path, judge: ModuleType) -> None:
    await import_file(sample.write(tmp_path / "file"), into=tape)
    assert await faults(tape, judge, prefixes=40) == []


@pytest.mark.parametrize("folder", ["codex", "gemini", "mini_swe_agent", "pi", "swe_agent"])
async def test_real_files_compile_without_a_fault_at_every_prefix_sampled(folder: str, judge: ModuleType) -> None:
    for path in sorted(shared("trajectories", folder).iterdir()):
        tape = Tape(InMemoryTapeStore(), "t")
        await import_file(path, into=tape)
        assert await faults(tape, judge, prefixes=16) == []


# ---- nothing is lost -------------------------------------------------------------------------------------------------


def real_files() -> list[Path]:
    try:
        return sorted(p for p in shared("trajectories").glob("*/*") if not p.name.startswith("LICENSE"))
    except pytest.skip.Exception:
        return []


@pytest.mark.parametrize("path", real_files(), ids=lambda p: p.name)
async def test_every_line_and_every_element_of_a_real_file_is_an_entry_a_part_of_one_or_reported(path: Path, tape: Tape) -> None:
    report = await import_file(path, into=tape)
    told = {line for e in await entries(tape) for line in e.meta["import"].get("lines", (e.meta["import"]["line"],))}
    told |= {line for line, _ in report.unreadable}
    assert told == lines_of_values(path.read_text())
    assert not any("repeat" in w or "again" in w for w in report.warnings)


LISTS = frozenset({"messages", "history", "trajectory", "loglines"})


def lines_of_values(text: str) -> set[int]:
    """Return the lines on which the records of a file begin: its lines, or the members and listed elements of its one document."""
    try:
        document = json.loads(text)
    except ValueError:
        return {n for n, line in enumerate(text.split("\n"), 1) if line.strip()}
    return {text.count("\n", 0, at) + 1 for at in beginnings(text, 0, is_list=isinstance(document, list))}


def beginnings(text: str, at: int, *, is_list: bool) -> Iterator[int]:
    """Yield where each element of the list at a place begins, or each member's value, and the elements of those that are lists of records."""
    at = skipped(text, at) + 1
    while text[at := skipped(text, at)] not in "]}":
        key = None
        if not is_list:
            key, at = json.JSONDecoder().raw_decode(text, at)
            at = skipped(text, skipped(text, at) + 1)
        if key in LISTS and text[at] == "[":
            yield from beginnings(text, at, is_list=True)
        else:
            yield at
        at = skipped(text, json.JSONDecoder().raw_decode(text, at)[1])
        at += text[at] == ","


def skipped(text: str, at: int) -> int:
    while text[at].isspace():
        at += 1
    return at
