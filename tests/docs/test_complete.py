"""The documentation is whole: links lead somewhere, errors and commands are all there."""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from playhead import errors
from playhead.cli.parser import COMMANDS, Parser
from playhead.cli.store_choice import own_file
from tests.docs.pages import PAGES, ROOT, name_of

LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)\s#]+)(#[^)\s]+)?\)")
ERRORS = {name: value for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, errors.PlayheadError) and not name.startswith("_")}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_to_a_file_leads_to_one(page: Path):
    broken = [target for target, _ in LINK.findall(page.read_text(encoding="utf-8")) if not (page.parent / target).exists()]
    assert broken == []


def test_every_page_is_reached_from_the_index():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    linked = {(ROOT / "docs" / target).resolve() for target, _ in LINK.findall(index)}
    pages = {page for page in PAGES if page.is_relative_to(ROOT / "docs") and page.name != "index.md"}
    assert sorted(name_of(page) for page in pages - linked) == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_paragraph_stands_twice(page: Path):
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    beginnings = Counter(line[:60] for line in prose.splitlines() if len(line) >= 60 and not line.startswith("|"))
    assert [words for words, times in beginnings.items() if times > 1] == []


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_every_error_is_described_with_its_kind(name: str):
    page = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    row = next((line for line in page.splitlines() if line.startswith(f"| `{name}`")), "")
    assert row, f"no row for {name}"
    kind = getattr(ERRORS[name], "KIND", None)
    assert kind is None or f"`{kind}`" in row


def section(command: str) -> str:
    """Return what the command line's page says under a command's heading."""
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(command)}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert found, f"no section for {command}"
    return found[1]


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_is_described_with_all_its_options(name: str):
    parser = Parser(prog=name)
    COMMANDS[name].add(parser)
    told = section(name)
    options = [option for action in parser._actions for option in action.option_strings if option.startswith("--") and option != "--help"]
    assert [option for option in options if not re.search(rf"[` ]{option}\b", told)] == []


def test_no_command_is_described_that_does_not_exist():
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^## ([a-z]+)$", page, re.MULTILINE)) == set(COMMANDS)


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs" / "chat.md"], ids=name_of)
@pytest.mark.skipif(sys.platform in {"darwin", "win32"}, reason="the pages name the place on Linux")
def test_where_tapes_are_kept_is_said_where_one_begins(page: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert f"`~/{own_file().relative_to(Path.home()).as_posix()}`" in page.read_text(encoding="utf-8")
