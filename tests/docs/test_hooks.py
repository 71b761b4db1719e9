"""The page of hooks is complete: each one with the arguments it may ask for, and none that is gone."""

import re

from playhead.agent.budget_watch import PREFIX, ContextBudget
from playhead.agent.plugins import HOOKS
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "reference" / "hooks.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in PAGE.splitlines() if re.match(r"\| `\w+` \|", line)]
TABLE = {row[0].strip("`"): row for row in ROWS if len(row) == 6}


def test_every_hook_is_described_and_none_that_does_not_exist():
    assert list(TABLE) == list(HOOKS)


def test_a_hook_is_described_with_exactly_the_arguments_it_may_ask_for():
    asked = {name: tuple(re.findall(r"`(\w+)`", row[2])) for name, row in TABLE.items()}
    assert asked == dict(HOOKS)


def test_every_hook_says_when_what_it_returns_in_which_order_and_what_a_failure_does():
    assert [name for name, row in TABLE.items() if not all(row)] == []


def test_every_setting_of_the_budget_watcher_is_described_with_its_variable():
    rows = {name: (default, variable) for name, default, variable in re.findall(r"^\| `(\w+)=(\w+)` \| `(\w+)` \| \S", PAGE, re.MULTILINE)}
    usual = ContextBudget()
    assert rows == {name: (repr(getattr(usual, name)), PREFIX + name.upper()) for name in ("max_context_tokens", "encoding_name", "compact_after")}
