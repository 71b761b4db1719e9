"""Every method of an LLM and of its tapes is there in two forms with the same parameters."""

from __future__ import annotations

import inspect
import re

import pytest

import playhead as ph
from playhead.llm.client import Client
from playhead.llm.session import Session

NAMES = {"aclose": ("close", "aclose")}
PAIRS = [(ph.LLM, Client), (ph.LLMTape, Session), (ph.TextStream, ph.AsyncTextStream), (ph.StreamEvents, ph.AsyncStreamEvents)]
AWAITED = [(twin, cls, name) for twin, cls in PAIRS for name in dir(cls) if not name.startswith("_") and inspect.iscoroutinefunction(inspect.getattr_static(cls, name))]
CALLS = ("chat", "tool_calls", "run_tools", "stream", "stream_events")


def parameters(function):
    return [(p.name, p.kind, p.default, re.sub(r"AsyncModel \| Model", "Model", str(p.annotation))) for p in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize(("twin", "cls", "name"), AWAITED, ids=[f"{twin.__name__}.{name}" for twin, _, name in AWAITED])
def test_a_method_is_there_in_its_forms_with_the_same_parameters(twin, cls, name):
    both = twin in (ph.LLM, ph.LLMTape)
    blocking, other = NAMES.get(name, (name, f"{name}_async")) if both else (name, None)
    method = getattr(cls, name)
    assert not inspect.iscoroutinefunction(getattr(twin, blocking))
    assert parameters(getattr(twin, blocking)) == parameters(method)
    assert inspect.getdoc(getattr(twin, blocking)) == inspect.getdoc(method)
    if other is not None:
        assert inspect.iscoroutinefunction(getattr(twin, other))
        assert parameters(getattr(twin, other)) == parameters(method)
        assert inspect.signature(getattr(twin, other)).return_annotation == inspect.signature(method).return_annotation


@pytest.mark.parametrize("name", [*CALLS, *(f"{name}_async" for name in CALLS)])
def test_a_tape_is_asked_with_the_parameters_of_the_llm_but_for_the_tape_itself(name: str):
    assert [p for p in parameters(getattr(ph.LLM, name)) if p[0] != "tape"] == parameters(getattr(ph.LLMTape, name))


@pytest.mark.parametrize(("twin", "cls"), PAIRS, ids=[twin.__name__ for twin, _ in PAIRS])
def test_every_property_is_there_too(twin, cls):
    names = {name for name in dir(cls) if not name.startswith("_") and isinstance(inspect.getattr_static(cls, name), property)}
    assert {name for name in names if not isinstance(inspect.getattr_static(twin, name, None), property)} == set()
    assert {name for name in names if getattr(cls, name).fset and not getattr(twin, name).fset} == set()
