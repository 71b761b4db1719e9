"""Every async name has a blocking twin with the same parameters, and what is committed is what the table and the source say."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

import playhead as ph
from playhead import sync
from scripts.twins.writing import modules
from tests.house.tree import ROOT

CALLED_BY_PLAYHEAD = {
    *("AutobiographicalStrategy", "KnowledgeStrategy", "Remembers", "Summarizer", "ExtractiveSummarizer", "ModelSummarizer", "BudgetWatcher", "SpillSidecar", "Tool"),
    *("FoldMemory", "Reduction", "AsyncTapeStore", "BlobStore", "BlobCollector", "ArchivingStore", "Census"),
}
"""What runs inside of a call and not around it: parts that playhead itself awaits; `sync.wait` runs their methods where somebody wants to."""

ONE_OF_A_KIND = {name for name in ph.__all__ if name.endswith(("TapeStore", "Inbox")) and name not in ("AsyncTapeStore", "Inbox")}
"""What has the twin of the protocol it is one of."""

BOTH_FORMS = {"LLM", "LLMTape", "AsyncTextStream", "AsyncStreamEvents"}
"""What is there without `await` by itself, see tests/unit/llm."""

OURS = {"wait", "Scope"}
RENAMED = {"AsyncIterator": "Iterator", "AbstractAsyncContextManager": "Scope", "ForkScope": "Scope[Branch]", "LeaseScope": "Scope[Tape]", "Opening": "Self", "OpenModel": "Model"}
OTHERWISE = {"TapeQuery.all": "list[TapeEntry]", "Agent.session": "Scope[Branch]", "Agent.store": "WholeStore"}
"""What is returned where that does not follow from what the async form returns."""

NOT_FOR_USERS = {"TapeQuery.admits", "TapeQuery.apply"}
CLASSES = sorted(name for name in sync.__all__ if inspect.isclass(getattr(sync, name)) and name not in OURS)
FUNCTIONS = sorted(name for name in sync.__all__ if inspect.isfunction(getattr(sync, name)) and name not in OURS)


def waits(value: object) -> bool:
    return inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value)


def members(name: str) -> dict[str, Any]:
    """Return the public methods and properties of a class."""
    cls = getattr(ph, name)
    return {
        member: value for member in dir(cls) if not member.startswith("_") for value in [inspect.getattr_static(cls, member)] if isinstance(value, property | classmethod) or inspect.isfunction(value)
    }


MEMBERS = [(name, member) for name in CLASSES for member in members(name) if f"{name}.{member}" not in NOT_FOR_USERS]


def plain(annotation: object) -> str:
    """Return an annotation as both forms have it: a twin counts as what it is a twin of, once."""
    text = re.sub(rf"\bAsync({'|'.join(CLASSES)})\b", r"\1", str(annotation))
    text = re.sub(r"\b(\w+) \| \1\b", r"\1", text)
    parts = text.split(" | ")
    return " | ".join(part for part in parts if part != "WholeStore" or not {"Store", "BlobStore", "Stored"} & set(parts))


def parameters(function: Any) -> list[tuple[object, ...]]:
    return [(p.name, p.kind, p.default, plain(p.annotation)) for p in inspect.signature(function).parameters.values() if p.name not in ("self", "cls")]


def returned(function: Any) -> str:
    text = str(inspect.signature(function).return_annotation)
    return re.sub(r"\w+", lambda word: RENAMED.get(word[0], word[0]), text)


def first_line(function: object) -> str:
    line = (inspect.getdoc(function) or "").partition("\n")[0]
    return line.replace("an `async", "a `async").replace("async with", "with").replace("async for", "for")


def test_every_public_async_name_has_a_twin():
    awaited = {
        name
        for name in ph.__all__
        if waits(value := getattr(ph, name)) or (inspect.isclass(value) and any(waits(inspect.getattr_static(value, member)) for member in dir(value) if not member.startswith("_")))
    }
    assert awaited - set(sync.__all__) - CALLED_BY_PLAYHEAD - ONE_OF_A_KIND - BOTH_FORMS == set()
    assert {name for name in {*CALLED_BY_PLAYHEAD, *BOTH_FORMS} if name not in awaited} == set()


@pytest.mark.parametrize(("name", "member"), MEMBERS, ids=[".".join(pair) for pair in MEMBERS])
def test_every_method_has_a_twin_with_the_same_signature(name: str, member: str):
    method, twin = inspect.getattr_static(getattr(ph, name), member), inspect.getattr_static(getattr(sync, name), member)
    assert type(twin) is type(method)
    if isinstance(method, property):
        method, twin = method.fget, twin.fget
    elif isinstance(method, classmethod):
        method, twin = method.__func__, twin.__func__
    assert not waits(twin)
    assert parameters(twin) == parameters(method)
    assert inspect.signature(twin).return_annotation == OTHERWISE.get(f"{name}.{member}", returned(method))
    assert first_line(twin) == first_line(method)


@pytest.mark.parametrize("name", ["Agent", "ContextManager", "Tape"])
def test_what_is_made_by_its_class_is_made_with_the_same_arguments(name: str):
    assert parameters(getattr(sync, name).__init__) == parameters(getattr(ph, name).__init__)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_has_a_twin_with_the_same_signature(name: str):
    twin, function = getattr(sync, name), getattr(ph, name)
    assert not waits(twin)
    assert parameters(twin) == parameters(function)
    assert inspect.signature(twin).return_annotation == returned(function)
    assert first_line(twin) == first_line(function)


def attributes(value: object) -> set[str]:
    return {name for name in vars(value) if not name.startswith("_")}


def test_every_attribute_has_a_twin():
    tape = ph.Tape(ph.InMemoryTapeStore(), "t")
    agent = ph.Agent()
    manager = ph.ContextManager(tape, strategy=ph.PassthroughStrategy(), namespace="n", agent="Claude", model=None, clock=None, owns_store=False)
    for original, twin in ((tape, sync.Tape.of(tape)), (agent, sync.Agent.of(agent)), (manager, sync.ContextManager.of(manager))):
        for name in attributes(original):
            assert isinstance(inspect.getattr_static(type(twin), name), property), name
            value, theirs = getattr(twin, name), getattr(original, name)
            assert getattr(value, "asynchronous", value) is theirs, name


@pytest.mark.parametrize(("path", "text"), modules().items(), ids=[path.name for path in modules()])
def test_what_is_committed_is_what_the_table_and_the_source_say(path, text):
    assert (ROOT / path).read_text(encoding="utf-8") == text, "write it anew: python -m scripts.twins"


@pytest.mark.parametrize("name", sync.__all__)
def test_the_names_are_there_and_a_misspelt_one_is_not(name: str):
    assert name in dir(sync)
    assert getattr(sync, name).__module__.startswith("playhead.sync")
    with pytest.raises(AttributeError, match=f"{name}_"):
        getattr(sync, f"{name}_")
