"""The public list: complete, sorted, resolvable, typed, and every name explained."""

from __future__ import annotations

import ast
import inspect
import re

import pytest

import playhead
from playhead import errors
from tests.house.tree import ROOT

SOURCE = ROOT / "src" / "playhead" / "__init__.py"
PAGES = (ROOT / "docs" / "glossary.md", *sorted((ROOT / "docs" / "reference").glob("*.md")))


def shown_to_checkers() -> set[str]:
    """Return the names that `__init__` imports for type checkers only."""
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {alias.asname or alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}


@pytest.mark.parametrize("name", playhead.__all__)
def test_every_public_name_resolves(name: str):
    assert getattr(playhead, name) is not None
    assert name in dir(playhead)


def test_the_list_is_sorted_and_without_repeats():
    assert playhead.__all__ == sorted(set(playhead.__all__), key=lambda n: (not n.isupper(), n[0].islower(), n))


def test_type_checkers_see_exactly_the_public_names():
    assert shown_to_checkers() == set(playhead.__all__)


def test_every_error_is_public():
    tree = {name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, Exception) and not name.startswith("_")}
    assert tree <= set(playhead.__all__)


def test_a_public_thing_lives_in_the_module_it_is_exported_from():
    strays = [n for n in playhead.__all__ if inspect.isclass(v := getattr(playhead, n)) and v.__module__ != playhead._HOME_OF[n]]
    assert strays == []


def test_every_public_class_and_function_has_a_docstring():
    assert [n for n in playhead.__all__ if callable(v := getattr(playhead, n)) and not inspect.getdoc(v)] == []


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Tapes'"):
        _ = playhead.Tapes


def test_every_public_name_is_explained_in_the_glossary_or_the_reference():
    explained = set(re.findall(r"`(?:ph\.)?(\w+)", "\n".join(page.read_text(encoding="utf-8") for page in PAGES)))
    assert sorted(set(playhead.__all__) - explained) == []
