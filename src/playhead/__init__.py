"""The context engine for LLM agents: an append-only tape, and for every model call a prompt compiled from it.

    import playhead as ph

Names are lazy: each is imported from its module when it is first used, so that `import playhead` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playhead import sync, testing
    from playhead.entry.entry import TapeEntry
    from playhead.entry.frozen import FrozenDict, FrozenList, thaw
    from playhead.entry.message import Media, Message, ProviderItem, Text, Thinking, ToolCall, ToolResult, assistant, system, tool_result_message, user
    from playhead.errors import (
        AnchorNotFound,
        AppendOutcomeUnknown,
        Conflict,
        FileMissing,
        InvalidDate,
        InvalidInput,
        InvalidPlan,
        KeyConflict,
        MissingExtra,
        NoAnchors,
        NotFound,
        OverBudgetError,
        PlayheadError,
        ReadOnly,
        SelectorError,
        StoreBusy,
        StoreDamaged,
        StoreError,
        StoreOutdated,
        StoreUnavailable,
        TapeNotFound,
        TapeNotScoped,
        UnreadableFile,
        UnstorableValue,
        WireError,
    )
    from playhead.importers.driver import import_file
    from playhead.importers.report import ImportReport, Progress
    from playhead.prompt.budget import Budget
    from playhead.prompt.compile import compile
    from playhead.prompt.diff import PromptDiff
    from playhead.prompt.explain import Explanation, Row
    from playhead.prompt.injection import Injection
    from playhead.prompt.prompt import Prompt, Provenance
    from playhead.prompt.render import Source
    from playhead.prompt.report.page import report_html
    from playhead.prompt.stats import Stats
    from playhead.prompt.strategies.passthrough import PassthroughStrategy
    from playhead.prompt.strategies.windowed import WindowedPassthroughStrategy
    from playhead.prompt.strategy import Need, Strategy
    from playhead.store.adapt import adapt
    from playhead.store.file.codec import LineCodec
    from playhead.store.file.findings import Finding
    from playhead.store.file.salvage import SalvageReport, salvage
    from playhead.store.file.store import FileTapeStore
    from playhead.store.memory import InMemoryTapeStore
    from playhead.store.protocol import AsyncTapeStore, Head, TapeStore, WholeStore
    from playhead.store.query import TapeQuery
    from playhead.store.sqlite.store import SQLiteTapeStore
    from playhead.store.urls import open_store
    from playhead.tape.tape import AnchorSummary, Tape, TapeInfo, open_tape
    from playhead.view.calibration import ScaledCounter, counter_for
    from playhead.view.context import LAST_ANCHOR, Select, TapeContext, default_tape_context
    from playhead.view.exact import ExactCounter
    from playhead.view.pipe import pipe
    from playhead.view.plan import Plan, Span, Units
    from playhead.view.selection import build_messages
    from playhead.view.selectors import drop_images, drop_tool_results, keep_last, latest_read_only, mask, trim_tool_results
    from playhead.view.tokens import ClassAwareCounter, Counter, default_counter
    from playhead.view.units import Unit
    from playhead.wire.providers import messages_from

__all__ = [
    "LAST_ANCHOR",
    "AnchorNotFound",
    "AnchorSummary",
    "AppendOutcomeUnknown",
    "AsyncTapeStore",
    "Budget",
    "ClassAwareCounter",
    "Conflict",
    "Counter",
    "ExactCounter",
    "Explanation",
    "FileMissing",
    "FileTapeStore",
    "Finding",
    "FrozenDict",
    "FrozenList",
    "Head",
    "ImportReport",
    "InMemoryTapeStore",
    "Injection",
    "InvalidDate",
    "InvalidInput",
    "InvalidPlan",
    "KeyConflict",
    "LineCodec",
    "Media",
    "Message",
    "MissingExtra",
    "Need",
    "NoAnchors",
    "NotFound",
    "OverBudgetError",
    "PassthroughStrategy",
    "Plan",
    "PlayheadError",
    "Progress",
    "Prompt",
    "PromptDiff",
    "Provenance",
    "ProviderItem",
    "ReadOnly",
    "Row",
    "SQLiteTapeStore",
    "SalvageReport",
    "ScaledCounter",
    "Select",
    "SelectorError",
    "Source",
    "Span",
    "Stats",
    "StoreBusy",
    "StoreDamaged",
    "StoreError",
    "StoreOutdated",
    "StoreUnavailable",
    "Strategy",
    "Tape",
    "TapeContext",
    "TapeEntry",
    "TapeInfo",
    "TapeNotFound",
    "TapeNotScoped",
    "TapeQuery",
    "TapeStore",
    "Text",
    "Thinking",
    "ToolCall",
    "ToolResult",
    "Unit",
    "Units",
    "UnreadableFile",
    "UnstorableValue",
    "WholeStore",
    "WindowedPassthroughStrategy",
    "WireError",
    "adapt",
    "assistant",
    "build_messages",
    "compile",
    "counter_for",
    "default_counter",
    "default_tape_context",
    "drop_images",
    "drop_tool_results",
    "import_file",
    "keep_last",
    "latest_read_only",
    "mask",
    "messages_from",
    "open_store",
    "open_tape",
    "pipe",
    "report_html",
    "salvage",
    "sync",
    "system",
    "testing",
    "thaw",
    "tool_result_message",
    "trim_tool_results",
    "user",
]

_HOMES = {
    "playhead.wire.providers": "messages_from",
    "playhead.prompt.render": "Source",
    "playhead.prompt.stats": "Stats",
    "playhead.entry.entry": "TapeEntry",
    "playhead.entry.frozen": "FrozenDict FrozenList thaw",
    "playhead.entry.message": "Media Message ProviderItem Text Thinking ToolCall ToolResult assistant system tool_result_message user",
    "playhead.errors": (
        "AnchorNotFound AppendOutcomeUnknown Conflict FileMissing InvalidDate InvalidInput InvalidPlan KeyConflict MissingExtra NoAnchors NotFound "
        "OverBudgetError PlayheadError ReadOnly SelectorError StoreBusy StoreDamaged StoreError StoreOutdated StoreUnavailable TapeNotFound "
        "TapeNotScoped UnreadableFile UnstorableValue WireError"
    ),
    "playhead.importers.driver": "import_file",
    "playhead.importers.report": "ImportReport Progress",
    "playhead.prompt.budget": "Budget",
    "playhead.prompt.compile": "compile",
    "playhead.prompt.diff": "PromptDiff",
    "playhead.prompt.explain": "Explanation Row",
    "playhead.prompt.injection": "Injection",
    "playhead.prompt.prompt": "Prompt Provenance",
    "playhead.prompt.report.page": "report_html",
    "playhead.prompt.strategies.passthrough": "PassthroughStrategy",
    "playhead.prompt.strategies.windowed": "WindowedPassthroughStrategy",
    "playhead.prompt.strategy": "Need Strategy",
    "playhead.store.adapt": "adapt",
    "playhead.store.file.codec": "LineCodec",
    "playhead.store.file.findings": "Finding",
    "playhead.store.file.salvage": "SalvageReport salvage",
    "playhead.store.file.store": "FileTapeStore",
    "playhead.store.memory": "InMemoryTapeStore",
    "playhead.store.protocol": "AsyncTapeStore Head TapeStore WholeStore",
    "playhead.store.query": "TapeQuery",
    "playhead.store.sqlite.store": "SQLiteTapeStore",
    "playhead.store.urls": "open_store",
    "playhead.tape.tape": "AnchorSummary Tape TapeInfo open_tape",
    "playhead.view.calibration": "ScaledCounter counter_for",
    "playhead.view.context": "LAST_ANCHOR Select TapeContext default_tape_context",
    "playhead.view.exact": "ExactCounter",
    "playhead.view.pipe": "pipe",
    "playhead.view.plan": "Plan Span Units",
    "playhead.view.selection": "build_messages",
    "playhead.view.selectors": "drop_images drop_tool_results keep_last latest_read_only mask trim_tool_results",
    "playhead.view.tokens": "ClassAwareCounter Counter default_counter",
    "playhead.view.units": "Unit",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}
_SUBMODULES = ("sync", "testing")

__version__: str

if not TYPE_CHECKING:  # a checker that sees it takes any misspelt name for granted

    def __getattr__(name: str) -> object:
        if name in _SUBMODULES:
            return import_module(f"playhead.{name}")
        if name == "__version__":
            return import_module("importlib.metadata").version("playhead")
        if name not in _HOME_OF:
            raise AttributeError(f"module 'playhead' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
