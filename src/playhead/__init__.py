"""The context engine for LLM agents: an append-only tape, and for every model call a prompt compiled from it.

    import playhead as ph

Names are lazy: each is imported from its module when it is first used, so that `import playhead` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playhead import sync, testing
    from playhead.adapters.otel.instrumentation import Instrumentation, instrument
    from playhead.agent.agent import Agent
    from playhead.agent.answers import content_result, result_content
    from playhead.agent.budget_watch import BudgetWatcher, ContextBudget
    from playhead.agent.chunks import Spilled
    from playhead.agent.decisions import Deny, Finish, Proceed, Replace, RunFacts, ToolOutcome
    from playhead.agent.events import ErrorEvent, FinalEvent, ReasoningEvent, TextEvent, ToolCallEvent, ToolResultEvent, UsageEvent
    from playhead.agent.inbox import Inbox, Leased, MemoryInbox, TapeInbox
    from playhead.agent.media import Recorded, resolved, without_media
    from playhead.agent.memory_tools import memory_tools
    from playhead.agent.plugins import load_plugins
    from playhead.agent.spending import ModelUsage, TapeUsage, usage_of
    from playhead.agent.spill import SpillSidecar
    from playhead.agent.stream import RunStream
    from playhead.agent.tape_tools import tape_tools
    from playhead.agent.tools import Tool, ToolContext, tool
    from playhead.entry.entry import TapeEntry
    from playhead.entry.frozen import FrozenDict, FrozenList, thaw
    from playhead.entry.message import Media, Message, ProviderItem, Text, Thinking, ToolCall, ToolResult, assistant, system, tool_result_message, user
    from playhead.errors.agent import BadPlugin, InvalidTool, StepLimitReached, ToolFailed
    from playhead.errors.fold import BodyNotWhole, InvalidOption, ManagerClosed, MessageNotFound, NoCompressionModel, SummaryNotFound
    from playhead.errors.llm import ErrorKind, LLMError
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
        TapeDiffers,
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
    from playhead.fold.choosing.debt import Debt
    from playhead.fold.choosing.holds import Hold
    from playhead.fold.choosing.phases import PhaseTools
    from playhead.fold.choosing.quarantine import Alarm, Quarantine
    from playhead.fold.config import AutobiographicalConfig
    from playhead.fold.extracting.extractive import ExtractiveSummarizer, extract
    from playhead.fold.forest import Cut, Forest, Outcome, Pin
    from playhead.fold.ledger.memory import FoldMemory
    from playhead.fold.ledger.search import Placed, SummaryHit
    from playhead.fold.node import Node
    from playhead.fold.resolvers.by_phase import ByPhase
    from playhead.fold.resolvers.flat_profile import FlatProfile
    from playhead.fold.resolvers.highest import Highest
    from playhead.fold.resolvers.oldest_first import OldestFirst
    from playhead.fold.resolvers.protocol import Item, Produce, Resolver, Solution, Step
    from playhead.fold.ticker import Ticked
    from playhead.fold.writing.job import Deferred, Failed, Job, Paused, RungOutcome, Surroundings, Written
    from playhead.fold.writing.model_summarizer import ModelSummarizer
    from playhead.fold.writing.summarizer import Summarizer
    from playhead.importers.driver import import_file, import_items
    from playhead.importers.report import ImportReport, Progress
    from playhead.llm.llm import LLM
    from playhead.llm.result import ToolAutoResult
    from playhead.llm.stream import AsyncStreamEvents, AsyncTextStream
    from playhead.llm.streams import StreamEvents, TextStream
    from playhead.llm.tape import LLMTape
    from playhead.model.protocol import CallReady, Model, ModelRequest, ReasoningDelta, Reply, TextDelta, ToolSpec, Usage
    from playhead.model.registry import get_model
    from playhead.prompt.budget import Budget
    from playhead.prompt.compile import compile
    from playhead.prompt.diff import PromptDiff
    from playhead.prompt.explain import Explanation, Row
    from playhead.prompt.folding.makeup import Bucket, RenderStats
    from playhead.prompt.injection import Injection
    from playhead.prompt.manager.listeners import MessageEvent
    from playhead.prompt.manager.manager import ContextManager
    from playhead.prompt.manager.receipts import FoldReceipt
    from playhead.prompt.manager.stored import StoredMessage
    from playhead.prompt.prompt import Prompt, Provenance
    from playhead.prompt.render import Source
    from playhead.prompt.report.page import report_html
    from playhead.prompt.stats import Stats
    from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
    from playhead.prompt.strategies.knowledge import KnowledgeStrategy
    from playhead.prompt.strategies.passthrough import PassthroughStrategy
    from playhead.prompt.strategies.windowed import WindowedPassthroughStrategy
    from playhead.prompt.strategy import Need, Remembers, Reread, Strategy
    from playhead.store.adapt import adapt
    from playhead.store.archiving.retention import ArchiveReport, ArchivingStore
    from playhead.store.blobs import Blob, BlobCollector, BlobNames, BlobStore
    from playhead.store.census import Census
    from playhead.store.change import BranchRecord, Lease
    from playhead.store.condition.flaws import Flaw, VerifyReport
    from playhead.store.condition.loss import Loss, SalvageReport
    from playhead.store.file.findings import Finding
    from playhead.store.file.record.codec import LineCodec
    from playhead.store.file.store import FileTapeStore
    from playhead.store.memory.store import InMemoryTapeStore
    from playhead.store.postgres.store import PostgresTapeStore
    from playhead.store.protocol import AsyncTapeStore, Head, TapeStore, WholeStore
    from playhead.store.query import TapeQuery
    from playhead.store.ranked.hit import Hit
    from playhead.store.sqlite.store import SQLiteTapeStore
    from playhead.store.sweep import BlobReport, gc_blobs, unused_blobs
    from playhead.store.transfer.moving import copy_store, export_store, import_store
    from playhead.store.transfer.report import TransferProgress, TransferReport
    from playhead.store.unavailable import UnavailableTapeStore
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
    from playhead.view.units import Body, Gap, Unit
    from playhead.wire.providers import messages_from

# fmt: off
__all__ = [
    "LAST_ANCHOR", "LLM", "Agent", "Alarm", "AnchorNotFound", "AnchorSummary", "AppendOutcomeUnknown", "ArchiveReport", "ArchivingStore", "AsyncStreamEvents", "AsyncTapeStore",
    "AsyncTextStream", "AutobiographicalConfig", "AutobiographicalStrategy", "BadPlugin", "BadReply", "Blob", "BlobCollector", "BlobNames", "BlobNotFound", "BlobReport",
    "BlobStore", "Body", "BodyNotWhole", "Branch", "BranchClosed", "BranchNotFound", "BranchRecord", "Bucket", "Budget", "BudgetWatcher", "ByPhase", "CallReady", "Census",
    "ClassAwareCounter", "Conflict", "ContextBudget", "ContextLimitExceeded", "ContextManager", "Counter", "Cut", "Debt", "Deferred", "Delta", "Deny", "ErrorEvent", "ErrorKind",
    "ExactCounter", "Explanation", "ExtractiveSummarizer", "Failed", "FileMissing", "FileTapeStore", "FinalEvent", "Finding", "Finish", "FlatProfile", "Flaw", "FoldMemory",
    "FoldReceipt", "Forest", "ForkScope", "FrozenDict", "FrozenList", "Gap", "Head", "Highest", "Hit", "Hold", "Ignored", "ImportReport", "InMemoryTapeStore", "Inbox", "Injection",
    "Instrumentation", "InvalidDate", "InvalidInput", "InvalidModelSpec", "InvalidOption", "InvalidPlan", "InvalidTool", "Item", "Job", "KeyConflict", "KnowledgeStrategy",
    "LLMError", "LLMTape", "Lease", "LeaseHeld", "LeaseLost", "Leased", "LineCodec", "Loss", "ManagerClosed", "Media", "MemoryInbox", "MergeReport", "Message", "MessageEvent",
    "MessageNotFound", "MissingExtra", "Model", "ModelError", "ModelRefused", "ModelRejected", "ModelRequest", "ModelSummarizer", "ModelUnavailable", "ModelUsage", "NameTaken",
    "Need", "NoAnchors", "NoCompressionModel", "Node", "NotFound", "NothingToSend", "OldestFirst", "Outcome", "OutputMismatch", "OverBudgetError", "PassthroughStrategy", "Paused",
    "PhaseTools", "Pin", "Placed", "Plan", "PlayheadError", "PostgresTapeStore", "Proceed", "Produce", "Progress", "Prompt", "PromptDiff", "Provenance", "ProviderItem",
    "ProviderNotFoundError", "Quarantine", "ReadOnly", "ReasoningDelta", "ReasoningEvent", "Recorded", "Recovered", "Reduced", "Reduction", "Remembers", "RenderStats", "Replace",
    "Reply", "Reread", "Resolver", "Row", "RunFacts", "RunStream", "RungOutcome", "SQLiteTapeStore", "SalvageReport", "ScaledCounter", "Select", "SelectorError", "Solution",
    "Source", "Span", "SpillSidecar", "Spilled", "Stats", "Step", "StepLimitReached", "StoreBusy", "StoreDamaged", "StoreError", "StoreOutdated", "StoreUnavailable",
    "StoredMessage", "Strategy", "StreamEvents", "Summarizer", "SummaryHit", "SummaryNotFound", "Surroundings", "Tape", "TapeContext", "TapeDiff", "TapeDiffers", "TapeEntry",
    "TapeInbox", "TapeInfo", "TapeNotFound", "TapeNotScoped", "TapeQuery", "TapeSidecar", "TapeStore", "TapeUsage", "Text", "TextDelta", "TextEvent", "TextStream", "Thinking",
    "Ticked", "Tool", "ToolAutoResult", "ToolCall", "ToolCallEvent", "ToolContext", "ToolFailed", "ToolOutcome", "ToolResult", "ToolResultEvent", "ToolSpec", "TransferProgress",
    "TransferReport", "UnavailableTapeStore", "Unit", "Units", "UnreadableFile", "UnstorableValue", "Usage", "UsageEvent", "VerifyReport", "WholeStore",
    "WindowedPassthroughStrategy", "WireError", "Written", "adapt", "assistant", "backup", "build_messages", "compile", "content_result", "copy_store", "copy_tape", "counter_for",
    "default_counter", "default_tape_context", "diff", "drop_images", "drop_tool_results", "export_store", "extract", "gc_blobs", "get_model", "import_file", "import_items",
    "import_store", "instrument", "keep_last", "latest_read_only", "load_plugins", "mask", "memory_tools", "messages_from", "open_store", "open_tape", "pipe", "reduce",
    "report_html", "resolved", "result_content", "salvage", "sync", "system", "tape_tools", "testing", "thaw", "tool", "tool_result_message", "trim_tool_results", "unused_blobs",
    "usage_of", "user", "verify", "without_media",
]
# fmt: on

_HOMES = {
    "playhead.adapters.otel.instrumentation": "Instrumentation instrument",
    "playhead.agent.agent": "Agent",
    "playhead.agent.answers": "content_result result_content",
    "playhead.agent.budget_watch": "BudgetWatcher ContextBudget",
    "playhead.agent.chunks": "Spilled",
    "playhead.agent.decisions": "Deny Finish Proceed Replace RunFacts ToolOutcome",
    "playhead.agent.events": "ErrorEvent FinalEvent ReasoningEvent TextEvent ToolCallEvent ToolResultEvent UsageEvent",
    "playhead.agent.inbox": "Inbox Leased MemoryInbox TapeInbox",
    "playhead.agent.media": "Recorded resolved without_media",
    "playhead.agent.memory_tools": "memory_tools",
    "playhead.agent.plugins": "load_plugins",
    "playhead.agent.spending": "ModelUsage TapeUsage usage_of",
    "playhead.agent.spill": "SpillSidecar",
    "playhead.agent.stream": "RunStream",
    "playhead.agent.tape_tools": "tape_tools",
    "playhead.agent.tools": "Tool ToolContext tool",
    "playhead.entry.entry": "TapeEntry",
    "playhead.entry.frozen": "FrozenDict FrozenList thaw",
    "playhead.entry.message": "Media Message ProviderItem Text Thinking ToolCall ToolResult assistant system tool_result_message user",
    "playhead.errors.agent": "BadPlugin InvalidTool StepLimitReached ToolFailed",
    "playhead.errors.fold": "BodyNotWhole InvalidOption ManagerClosed MessageNotFound NoCompressionModel SummaryNotFound",
    "playhead.errors.llm": "ErrorKind LLMError",
    "playhead.errors.model": "BadReply ContextLimitExceeded ModelError ModelRefused ModelRejected ModelUnavailable OutputMismatch ProviderNotFoundError",
    "playhead.errors.store": (
        "AnchorNotFound AppendOutcomeUnknown BlobNotFound BranchClosed BranchNotFound Conflict FileMissing KeyConflict LeaseHeld LeaseLost NameTaken NoAnchors NotFound StoreBusy "
        "StoreDamaged StoreError StoreOutdated StoreUnavailable TapeDiffers TapeNotFound"
    ),
    "playhead.errors.tree": "PlayheadError",
    "playhead.errors.value": (
        "InvalidDate InvalidInput InvalidModelSpec InvalidPlan MissingExtra NothingToSend OverBudgetError ReadOnly SelectorError TapeNotScoped UnreadableFile UnstorableValue WireError"
    ),
    "playhead.fold.choosing.debt": "Debt",
    "playhead.fold.choosing.holds": "Hold",
    "playhead.fold.choosing.phases": "PhaseTools",
    "playhead.fold.choosing.quarantine": "Alarm Quarantine",
    "playhead.fold.config": "AutobiographicalConfig",
    "playhead.fold.extracting.extractive": "ExtractiveSummarizer extract",
    "playhead.fold.forest": "Cut Forest Outcome Pin",
    "playhead.fold.ledger.memory": "FoldMemory",
    "playhead.fold.ledger.search": "Placed SummaryHit",
    "playhead.fold.node": "Node",
    "playhead.fold.resolvers.by_phase": "ByPhase",
    "playhead.fold.resolvers.flat_profile": "FlatProfile",
    "playhead.fold.resolvers.highest": "Highest",
    "playhead.fold.resolvers.oldest_first": "OldestFirst",
    "playhead.fold.resolvers.protocol": "Item Produce Resolver Solution Step",
    "playhead.fold.ticker": "Ticked",
    "playhead.fold.writing.job": "Deferred Failed Job Paused RungOutcome Surroundings Written",
    "playhead.fold.writing.model_summarizer": "ModelSummarizer",
    "playhead.fold.writing.summarizer": "Summarizer",
    "playhead.importers.driver": "import_file import_items",
    "playhead.importers.report": "ImportReport Progress",
    "playhead.llm.llm": "LLM",
    "playhead.llm.result": "ToolAutoResult",
    "playhead.llm.stream": "AsyncStreamEvents AsyncTextStream",
    "playhead.llm.streams": "StreamEvents TextStream",
    "playhead.llm.tape": "LLMTape",
    "playhead.model.protocol": "CallReady Model ModelRequest ReasoningDelta Reply TextDelta ToolSpec Usage",
    "playhead.model.registry": "get_model",
    "playhead.prompt.budget": "Budget",
    "playhead.prompt.compile": "compile",
    "playhead.prompt.diff": "PromptDiff",
    "playhead.prompt.explain": "Explanation Row",
    "playhead.prompt.folding.makeup": "Bucket RenderStats",
    "playhead.prompt.injection": "Injection",
    "playhead.prompt.manager.listeners": "MessageEvent",
    "playhead.prompt.manager.manager": "ContextManager",
    "playhead.prompt.manager.receipts": "FoldReceipt",
    "playhead.prompt.manager.stored": "StoredMessage",
    "playhead.prompt.prompt": "Prompt Provenance",
    "playhead.prompt.render": "Source",
    "playhead.prompt.report.page": "report_html",
    "playhead.prompt.stats": "Stats",
    "playhead.prompt.strategies.autobiographical": "AutobiographicalStrategy",
    "playhead.prompt.strategies.knowledge": "KnowledgeStrategy",
    "playhead.prompt.strategies.passthrough": "PassthroughStrategy",
    "playhead.prompt.strategies.windowed": "WindowedPassthroughStrategy",
    "playhead.prompt.strategy": "Need Remembers Reread Strategy",
    "playhead.store.adapt": "adapt",
    "playhead.store.blobs": "Blob BlobCollector BlobNames BlobStore",
    "playhead.store.census": "Census",
    "playhead.store.change": "BranchRecord Lease",
    "playhead.store.file.findings": "Finding",
    "playhead.store.file.record.codec": "LineCodec",
    "playhead.store.file.store": "FileTapeStore",
    "playhead.store.condition.flaws": "Flaw VerifyReport",
    "playhead.store.condition.loss": "Loss SalvageReport",
    "playhead.store.memory.store": "InMemoryTapeStore",
    "playhead.store.postgres.store": "PostgresTapeStore",
    "playhead.store.protocol": "AsyncTapeStore Head TapeStore WholeStore",
    "playhead.store.query": "TapeQuery",
    "playhead.store.ranked.hit": "Hit",
    "playhead.store.archiving.retention": "ArchiveReport ArchivingStore",
    "playhead.store.sqlite.store": "SQLiteTapeStore",
    "playhead.store.sweep": "BlobReport gc_blobs unused_blobs",
    "playhead.store.transfer.moving": "copy_store export_store import_store",
    "playhead.store.transfer.report": "TransferProgress TransferReport",
    "playhead.store.unavailable": "UnavailableTapeStore",
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
    "playhead.view.units": "Body Gap Unit",
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
