"""The context engine for LLM agents: an append-only tape, and for every model call a prompt compiled from it.

    import playhead as ph

Names are lazy: each is imported from its module when it is first used, so that `import playhead` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playhead import sync, testing
    from playhead.agent.agent import Agent
    from playhead.agent.answers import content_result, result_content
    from playhead.agent.budget_watch import BudgetWatcher, ContextBudget
    from playhead.agent.chunks import Spilled
    from playhead.agent.decisions import Deny, Finish, Proceed, Replace, RunFacts, ToolOutcome
    from playhead.agent.events import ErrorEvent, FinalEvent, ReasoningEvent, TextEvent, ToolCallEvent, ToolResultEvent, UsageEvent
    from playhead.agent.inbox import Inbox, Leased, MemoryInbox, TapeInbox
    from playhead.agent.media import Recorded, resolved, without_media
    from playhead.agent.plugins import load_plugins
    from playhead.agent.spill import SpillSidecar
    from playhead.agent.stream import RunStream
    from playhead.agent.tape_tools import tape_tools
    from playhead.agent.tools import Tool, ToolContext, tool
    from playhead.entry.entry import TapeEntry
    from playhead.entry.frozen import FrozenDict, FrozenList, thaw
    from playhead.entry.message import Media, Message, ProviderItem, Text, Thinking, ToolCall, ToolResult, assistant, system, tool_result_message, user
    from playhead.errors.agent import BadPlugin, InvalidTool, StepLimitReached, ToolFailed
    from playhead.errors.model import BadReply, ContextLimitExceeded, ModelError, ModelRefused, ModelRejected, ModelUnavailable, OutputMismatch, ProviderNotFoundError
    from playhead.errors.store import (
        AnchorNotFound,
        AppendOutcomeUnknown,
        BlobNotFound,
        BranchClosed,
        BranchNotFound,
        Conflict,
        FileMissing,
        KeyConflict,
        LeaseHeld,
        LeaseLost,
        NameTaken,
        NoAnchors,
        NotFound,
        StoreBusy,
        StoreDamaged,
        StoreError,
        StoreOutdated,
        StoreUnavailable,
        TapeNotFound,
    )
    from playhead.errors.tree import PlayheadError
    from playhead.errors.value import (
        InvalidDate,
        InvalidInput,
        InvalidModelSpec,
        InvalidPlan,
        MissingExtra,
        NothingToSend,
        OverBudgetError,
        ReadOnly,
        SelectorError,
        TapeNotScoped,
        UnreadableFile,
        UnstorableValue,
        WireError,
    )
    from playhead.importers.driver import import_file
    from playhead.importers.report import ImportReport, Progress
    from playhead.model.protocol import CallReady, Model, ModelRequest, ReasoningDelta, Reply, TextDelta, ToolSpec, Usage
    from playhead.model.registry import get_model
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
    from playhead.store.blobs import Blob, BlobStore
    from playhead.store.change import BranchRecord, Lease
    from playhead.store.file.findings import Finding
    from playhead.store.file.record.codec import LineCodec
    from playhead.store.file.store import FileTapeStore
    from playhead.store.flaws import Flaw, VerifyReport
    from playhead.store.loss import Loss, SalvageReport
    from playhead.store.memory.store import InMemoryTapeStore
    from playhead.store.protocol import AsyncTapeStore, Head, TapeStore, WholeStore
    from playhead.store.query import TapeQuery
    from playhead.store.sqlite.store import SQLiteTapeStore
    from playhead.store.upkeep import backup, salvage, verify
    from playhead.store.urls import open_store
    from playhead.tape.comparison import TapeDiff
    from playhead.tape.delta import Delta
    from playhead.tape.merging import MergeReport
    from playhead.tape.recovery import Recovered
    from playhead.tape.reduction import Ignored, Reduced, Reduction, reduce
    from playhead.tape.scope import ForkScope
    from playhead.tape.sidecar import TapeSidecar
    from playhead.tape.summary import AnchorSummary, TapeInfo
    from playhead.tape.tape import Branch, Tape, copy_tape, diff, open_tape
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
    "Agent",
    "AnchorNotFound",
    "AnchorSummary",
    "AppendOutcomeUnknown",
    "AsyncTapeStore",
    "BadPlugin",
    "BadReply",
    "Blob",
    "BlobNotFound",
    "BlobStore",
    "Branch",
    "BranchClosed",
    "BranchNotFound",
    "BranchRecord",
    "Budget",
    "BudgetWatcher",
    "CallReady",
    "ClassAwareCounter",
    "Conflict",
    "ContextBudget",
    "ContextLimitExceeded",
    "Counter",
    "Delta",
    "Deny",
    "ErrorEvent",
    "ExactCounter",
    "Explanation",
    "FileMissing",
    "FileTapeStore",
    "FinalEvent",
    "Finding",
    "Finish",
    "Flaw",
    "ForkScope",
    "FrozenDict",
    "FrozenList",
    "Head",
    "Ignored",
    "ImportReport",
    "InMemoryTapeStore",
    "Inbox",
    "Injection",
    "InvalidDate",
    "InvalidInput",
    "InvalidModelSpec",
    "InvalidPlan",
    "InvalidTool",
    "KeyConflict",
    "Lease",
    "LeaseHeld",
    "LeaseLost",
    "Leased",
    "LineCodec",
    "Loss",
    "Media",
    "MemoryInbox",
    "MergeReport",
    "Message",
    "MissingExtra",
    "Model",
    "ModelError",
    "ModelRefused",
    "ModelRejected",
    "ModelRequest",
    "ModelUnavailable",
    "NameTaken",
    "Need",
    "NoAnchors",
    "NotFound",
    "NothingToSend",
    "OutputMismatch",
    "OverBudgetError",
    "PassthroughStrategy",
    "Plan",
    "PlayheadError",
    "Proceed",
    "Progress",
    "Prompt",
    "PromptDiff",
    "Provenance",
    "ProviderItem",
    "ProviderNotFoundError",
    "ReadOnly",
    "ReasoningDelta",
    "ReasoningEvent",
    "Recorded",
    "Recovered",
    "Reduced",
    "Reduction",
    "Replace",
    "Reply",
    "Row",
    "RunFacts",
    "RunStream",
    "SQLiteTapeStore",
    "SalvageReport",
    "ScaledCounter",
    "Select",
    "SelectorError",
    "Source",
    "Span",
    "SpillSidecar",
    "Spilled",
    "Stats",
    "StepLimitReached",
    "StoreBusy",
    "StoreDamaged",
    "StoreError",
    "StoreOutdated",
    "StoreUnavailable",
    "Strategy",
    "Tape",
    "TapeContext",
    "TapeDiff",
    "TapeEntry",
    "TapeInbox",
    "TapeInfo",
    "TapeNotFound",
    "TapeNotScoped",
    "TapeQuery",
    "TapeSidecar",
    "TapeStore",
    "Text",
    "TextDelta",
    "TextEvent",
    "Thinking",
    "Tool",
    "ToolCall",
    "ToolCallEvent",
    "ToolContext",
    "ToolFailed",
    "ToolOutcome",
    "ToolResult",
    "ToolResultEvent",
    "ToolSpec",
    "Unit",
    "Units",
    "UnreadableFile",
    "UnstorableValue",
    "Usage",
    "UsageEvent",
    "VerifyReport",
    "WholeStore",
    "WindowedPassthroughStrategy",
    "WireError",
    "adapt",
    "assistant",
    "backup",
    "build_messages",
    "compile",
    "content_result",
    "copy_tape",
    "counter_for",
    "default_counter",
    "default_tape_context",
    "diff",
    "drop_images",
    "drop_tool_results",
    "get_model",
    "import_file",
    "keep_last",
    "latest_read_only",
    "load_plugins",
    "mask",
    "messages_from",
    "open_store",
    "open_tape",
    "pipe",
    "reduce",
    "report_html",
    "resolved",
    "result_content",
    "salvage",
    "sync",
    "system",
    "tape_tools",
    "testing",
    "thaw",
    "tool",
    "tool_result_message",
    "trim_tool_results",
    "user",
    "verify",
    "without_media",
]

_HOMES = {
    "playhead.agent.agent": "Agent",
    "playhead.agent.answers": "content_result result_content",
    "playhead.agent.budget_watch": "BudgetWatcher ContextBudget",
    "playhead.agent.chunks": "Spilled",
    "playhead.agent.decisions": "Deny Finish Proceed Replace RunFacts ToolOutcome",
    "playhead.agent.events": "ErrorEvent FinalEvent ReasoningEvent TextEvent ToolCallEvent ToolResultEvent UsageEvent",
    "playhead.agent.inbox": "Inbox Leased MemoryInbox TapeInbox",
    "playhead.agent.media": "Recorded resolved without_media",
    "playhead.agent.plugins": "load_plugins",
    "playhead.agent.spill": "SpillSidecar",
    "playhead.agent.stream": "RunStream",
    "playhead.agent.tape_tools": "tape_tools",
    "playhead.agent.tools": "Tool ToolContext tool",
    "playhead.entry.entry": "TapeEntry",
    "playhead.entry.frozen": "FrozenDict FrozenList thaw",
    "playhead.entry.message": "Media Message ProviderItem Text Thinking ToolCall ToolResult assistant system tool_result_message user",
    "playhead.errors.agent": "BadPlugin InvalidTool StepLimitReached ToolFailed",
    "playhead.errors.model": "BadReply ContextLimitExceeded ModelError ModelRefused ModelRejected ModelUnavailable OutputMismatch ProviderNotFoundError",
    "playhead.errors.store": (
        "AnchorNotFound AppendOutcomeUnknown BlobNotFound BranchClosed BranchNotFound Conflict FileMissing KeyConflict LeaseHeld "
        "LeaseLost NameTaken NoAnchors NotFound StoreBusy StoreDamaged StoreError StoreOutdated StoreUnavailable TapeNotFound"
    ),
    "playhead.errors.tree": "PlayheadError",
    "playhead.errors.value": (
        "InvalidDate InvalidInput InvalidModelSpec InvalidPlan MissingExtra NothingToSend OverBudgetError ReadOnly SelectorError TapeNotScoped UnreadableFile UnstorableValue WireError"
    ),
    "playhead.importers.driver": "import_file",
    "playhead.importers.report": "ImportReport Progress",
    "playhead.model.protocol": "CallReady Model ModelRequest ReasoningDelta Reply TextDelta ToolSpec Usage",
    "playhead.model.registry": "get_model",
    "playhead.prompt.budget": "Budget",
    "playhead.prompt.compile": "compile",
    "playhead.prompt.diff": "PromptDiff",
    "playhead.prompt.explain": "Explanation Row",
    "playhead.prompt.injection": "Injection",
    "playhead.prompt.prompt": "Prompt Provenance",
    "playhead.prompt.render": "Source",
    "playhead.prompt.report.page": "report_html",
    "playhead.prompt.stats": "Stats",
    "playhead.prompt.strategies.passthrough": "PassthroughStrategy",
    "playhead.prompt.strategies.windowed": "WindowedPassthroughStrategy",
    "playhead.prompt.strategy": "Need Strategy",
    "playhead.store.adapt": "adapt",
    "playhead.store.blobs": "Blob BlobStore",
    "playhead.store.change": "BranchRecord Lease",
    "playhead.store.file.record.codec": "LineCodec",
    "playhead.store.file.findings": "Finding",
    "playhead.store.file.store": "FileTapeStore",
    "playhead.store.flaws": "Flaw VerifyReport",
    "playhead.store.loss": "Loss SalvageReport",
    "playhead.store.memory.store": "InMemoryTapeStore",
    "playhead.store.protocol": "AsyncTapeStore Head TapeStore WholeStore",
    "playhead.store.query": "TapeQuery",
    "playhead.store.sqlite.store": "SQLiteTapeStore",
    "playhead.store.upkeep": "backup salvage verify",
    "playhead.store.urls": "open_store",
    "playhead.tape.comparison": "TapeDiff",
    "playhead.tape.delta": "Delta",
    "playhead.tape.merging": "MergeReport",
    "playhead.tape.recovery": "Recovered",
    "playhead.tape.reduction": "Ignored Reduced Reduction reduce",
    "playhead.tape.scope": "ForkScope",
    "playhead.tape.sidecar": "TapeSidecar",
    "playhead.tape.summary": "AnchorSummary TapeInfo",
    "playhead.tape.tape": "Branch Tape copy_tape diff open_tape",
    "playhead.view.calibration": "ScaledCounter counter_for",
    "playhead.view.context": "LAST_ANCHOR Select TapeContext default_tape_context",
    "playhead.view.exact": "ExactCounter",
    "playhead.view.pipe": "pipe",
    "playhead.view.plan": "Plan Span Units",
    "playhead.view.selection": "build_messages",
    "playhead.view.selectors": "drop_images drop_tool_results keep_last latest_read_only mask trim_tool_results",
    "playhead.view.tokens": "ClassAwareCounter Counter default_counter",
    "playhead.view.units": "Unit",
    "playhead.wire.providers": "messages_from",
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
