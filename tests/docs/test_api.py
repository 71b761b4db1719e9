"""The page of classes and methods is complete: every name with the parameters it has, and none that is gone."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

import playhead
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
FUNCTIONS = "Functions"
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
CLASSES = tuple(name for name in SECTIONS if name != FUNCTIONS)
MUST = {
    *(
        "Agent",
        "RunStream",
        "Tape",
        "Branch",
        "TapeQuery",
        "TapeContext",
        "Budget",
        "Prompt",
        "Plan",
        "Units",
        "WholeStore",
        "InMemoryTapeStore",
        "SQLiteTapeStore",
        "FileTapeStore",
        "PostgresTapeStore",
    ),
    *("ContextManager", "StoredMessage", "RenderStats", "AutobiographicalStrategy", "Node", "Forest", "FoldMemory", "Ticked", "Debt", "Summarizer", "Job", "Resolver", "Item"),
}


def functions() -> tuple[str, ...]:
    """Return the names of all public functions, sorted."""
    return tuple(name for name in playhead.__all__ if inspect.isfunction(getattr(playhead, name)))


def members(cls: type) -> set[str]:
    """Return the public names a class has of its own; of a store those that not every store has, of a query its methods."""
    own = {name for c in cls.__mro__ if c.__module__.startswith("playhead") for name in vars(c) if not name.startswith("_")}
    own |= {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    if cls.__name__ == "TapeQuery":
        own -= {field.name for field in dataclasses.fields(cls)}
    if cls.__name__ == "Tape":
        own |= {name for name in vars(playhead.Tape(playhead.InMemoryTapeStore())) if not name.startswith("_")}
    if cls is playhead.Branch:
        own -= members(playhead.Tape)
    if cls.__name__.endswith("TapeStore"):
        own -= members(playhead.WholeStore) - {"promises"}
    return own


def written(name: str, function: Callable[..., Any]) -> str:
    """Return a function as the page writes it: `await append(item, *, key=None, **meta)`."""
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name not in ("self", "cls")]
    plain = [p.replace(annotation=inspect.Parameter.empty, default=... if callable(p.default) and p.default is not p.empty else p.default) for p in parameters]
    waits = "await " if inspect.iscoroutinefunction(function) else ""
    return f"{waits}{name}{inspect.Signature(plain)}".replace("Ellipsis", "...")


def rows(section: str) -> list[str]:
    """Return the code in the first column of a section's table."""
    return re.findall(r"^\| `([^`]+)` \| \S", SECTIONS[section], re.MULTILINE)


def expected(cls: type, name: str) -> str:
    member = inspect.getattr_static(cls, name, None)
    is_method = inspect.isfunction(member) or isinstance(member, (classmethod, staticmethod))
    return written(name, getattr(cls, name)) if is_method else name


def test_the_functions_are_all_there_with_their_parameters():
    assert sorted(rows(FUNCTIONS)) == sorted(written(name, getattr(playhead, name)) for name in functions())


def test_the_classes_one_meets_are_there():
    assert set(CLASSES) >= MUST
    assert set(CLASSES) <= set(playhead.__all__)


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_is_described_by_exactly_the_names_it_has(name: str):
    cls = getattr(playhead, name)
    assert sorted(rows(name)) == sorted(expected(cls, member) for member in members(cls))
