"""The settings of memory that folds: one frozen object, each option with its meaning beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from math import inf
from typing import Any, Literal, Self, cast, get_args

from playhead.errors import InvalidInput, InvalidOption
from playhead.fold.resolvers.protocol import Resolver
from playhead.fold.writing.summarizer import Summarizer
from playhead.model.protocol import Model

FoldingStrategy = Literal["flat-profile", "oldest-first"]
FOLDING_STRATEGIES: tuple[str, ...] = get_args(FoldingStrategy)
Envelope = Literal["none", "xml"]
SPEAKER = "Claude"
"""Who speaks summaries where nobody is named: the manager's own agent, whatever it is called."""

EXTRACTIVE = "extractive"
"""The compression model that is none: summaries are picked from what was said, offline."""

RECENT_TOKENS, RECENT_SHARE = 30_000, 0.25
"""The recent window where nothing is said of it: so many tokens, but no more than this share of the room."""

RUNGS = ("no_tools_line", "without_tools", "plain_prose", "expand_recall", "source_only", "split")
"""What may be tried, in this order, where a request for a summary comes to nothing (specs: context-manager 14.7, 28.6)."""

PLACEHOLDER = re.compile(r"\{(\w+)\}")
"""What a template holds in place of a word that is filled in later, such as {id}; other braces are text."""


def _means(meaning: str) -> Mapping[str, str]:
    return {"meaning": meaning}


@dataclass(frozen=True, slots=True, kw_only=True)
class AutobiographicalConfig:
    """The options of AutobiographicalStrategy; None means the default. docs/reference/autobiographical.md tells each at length.

    Raises InvalidInput for a value that an option does not take.
    """

    recent_window_tokens: int = field(default=cast("int", None), metadata=_means(f"the newest tokens that always stay raw; None: {RECENT_TOKENS:,}"))
    recent_window_share: float | None = field(default=None, metadata=_means(f"the most that these take of the room; None: {RECENT_SHARE}, or any part of it where recent_window_tokens is set"))
    head_window_tokens: int = field(default=0, metadata=_means("the first tokens of the conversation that always stay raw"))
    target_chunk_tokens: int = field(default=3_000, metadata=_means("how many tokens of text are told by one summary; the run closes behind them, at the end of a unit"))
    attachments_ignore_size: bool = field(default=True, metadata=_means("whether pictures, sounds and documents count nothing where a chunk is measured"))
    l1_holdback_chunks: int = field(default=1, metadata=_means("how many of the newest closed chunks wait before they are summarised"))
    min_chunk_chars_for_llm: int = field(default=200, metadata=_means("a chunk of fewer characters, without a tool call or an attachment, gets a note that holds its words instead of a summary"))
    auto_tick_on_new_message: bool = field(default=False, metadata=_means("whether a manager summarises in the background as messages come in"))
    compression_model: str | Model | Summarizer | None = field(default=None, metadata=_means('who writes summaries: "provider:id", a Model, a bare id, or "extractive"; no default'))
    summary_timeout: float = field(default=600.0, metadata=_means("how many seconds a model may take for one answer before that counts as an outage"))
    compression_max_tokens: int | None = field(
        default=None, metadata=_means("the most tokens a summary's answer may have, for models that allow few; None: 16,000, or one and a half times the target where that is more")
    )
    summary_target_tokens: int = field(default=2_000, metadata=_means("how long the model is asked to make a summary"))
    compression_recall_budget_tokens: int = field(default=100_000, metadata=_means("how many tokens of earlier summaries a request for a summary may hold"))
    compression_context_budget_tokens: int = field(default=200_000, metadata=_means("how many tokens a request for a summary may have, its answer included"))
    identity_reminder: str | None = field(default=None, metadata=_means("a sentence that ends every instruction to write a summary, such as who is speaking"))
    witnessed_before: str | None = field(default=None, metadata=_means("the id of the message before which all was inherited: summaries of it attribute everything to who did it"))
    witnessed_instruction: str | None = field(default=None, metadata=_means("what to ask instead for such summaries; {targetTokens} stands for the target"))
    identifier_index: bool = field(default=True, metadata=_means("whether paths, names and ids of a summary's span are listed below its prose, newest first"))
    identifier_index_tokens: int = field(default=400, metadata=_means("how many tokens that list may have"))
    summary_participant: str = field(default=SPEAKER, metadata=_means("who speaks a summary"))
    summary_context_label: str = field(default="What do you remember from earlier?", metadata=_means("what a summary answers, with adaptive_resolution; may hold {tools}"))
    recall_header_template: str = field(default="[Recall {id}]", metadata=_means("what a summary answers without it; may hold {id}, {level}, {first}, {last} and {tools}"))
    recall_envelope: Envelope = field(default="none", metadata=_means('"xml" wraps each summary in a <cm-recall> element that names it'))
    over_budget_grace_ratio: float = field(default=0.0, metadata=_means("the share by which a prompt may pass the budget before it is refused"))
    hierarchical: bool = field(default=True, metadata=_means("whether summaries are merged into summaries of a higher level"))
    merge_threshold: int = field(default=6, metadata=_means("how many neighbours are merged into one"))
    merge_max_source_span_messages: int = field(default=1_500, metadata=_means("a summary of more units than this, times the threshold for each level above 3, is never merged further"))
    merge_attempt_limit: int = field(default=5, metadata=_means("after so many answers that could not be used a merge is left alone"))
    adaptive_resolution: bool = field(default=False, metadata=_means("whether a resolver chooses step by step how deep each part is folded"))
    folding_strategy: FoldingStrategy | Resolver = field(default="flat-profile", metadata=_means("that resolver: flat-profile or oldest-first"))
    compression_slack_ratio: float = field(default=0.1, metadata=_means("with adaptive_resolution, the share of the room that is kept free"))
    low_water_ratio: float = field(default=0.3, metadata=_means("how full the middle is after folding, as a share of its room"))
    ladder: tuple[str, ...] = field(default=RUNGS[:4], metadata=_means(f"what is tried where a model gives no summary, in this order: any of {', '.join(RUNGS)}"))
    recall_expansions: int = field(default=3, metadata=_means("how many requests the rung expand_recall may make"))
    quarantine_alarm_interval: float = field(default=900.0, metadata=_means("how many seconds pass between alarms while something cannot be summarised; 0 for none"))

    def __post_init__(self) -> None:
        if self.recent_window_tokens is None:
            object.__setattr__(self, "recent_window_tokens", RECENT_TOKENS)
            if self.recent_window_share is None:
                object.__setattr__(self, "recent_window_share", RECENT_SHARE)
        for option in fields(self):
            if getattr(self, option.name) is None and option.default is not None:
                object.__setattr__(self, option.name, option.default)
        _check(self)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Return the settings with these options. Raises InvalidOption for a name that is none, with what to write instead."""
        known = [option.name for option in fields(cls)]
        for name in options:
            if name not in known:
                raise InvalidOption(name, instead=INSTEAD.get(_snake(name)) or _alternatives(_snake(name), known))
        return cls(**options)

    def with_options(self, options: Mapping[str, Any]) -> Self:
        """Return the settings with some changed. Raises InvalidOption, InvalidInput."""
        again = {"recent_window_share": None} if "recent_window_tokens" in options else {}
        return type(self).of({**{option.name: getattr(self, option.name) for option in fields(self)}, **again, **options})

    def recent_tokens(self, room: int | None) -> int:
        """Return how many of the newest tokens stay raw in a room; None for one that nobody knows."""
        if not room or self.recent_window_share is None:
            return self.recent_window_tokens
        return min(self.recent_window_tokens, int(room * self.recent_window_share))

    @classmethod
    def meanings(cls) -> dict[str, str]:
        """Return what each option means."""
        return {option.name: option.metadata["meaning"] for option in fields(cls)}


_COUNTS = {
    "recent_window_tokens": 0,
    "head_window_tokens": 0,
    "target_chunk_tokens": 1,
    "l1_holdback_chunks": 0,
    "min_chunk_chars_for_llm": 0,
    "summary_target_tokens": 1,
    "compression_recall_budget_tokens": 0,
    "compression_context_budget_tokens": 1,
    "identifier_index_tokens": 0,
    "merge_threshold": 2,
    "merge_max_source_span_messages": 1,
    "merge_attempt_limit": 1,
    "recall_expansions": 0,
}
_FLAGS = ("attachments_ignore_size", "auto_tick_on_new_message", "identifier_index", "hierarchical", "adaptive_resolution")
_TEXTS = ("summary_participant", "summary_context_label", "recall_header_template")
_PLACEHOLDERS: Mapping[str, tuple[str, ...]] = {
    "summary_context_label": ("tools",),
    "recall_header_template": ("id", "level", "first", "last", "tools"),
    "witnessed_instruction": ("targetTokens",),
}
_SHARES = {"recent_window_share": (0.0, 1.0), "over_budget_grace_ratio": (0.0, 1.0), "compression_slack_ratio": (0.0, 0.99), "low_water_ratio": (0.0, 1.0)}


def _check(config: AutobiographicalConfig) -> None:
    for name, least in _COUNTS.items():
        value = getattr(config, name)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise InvalidInput(f"{name} is a whole number from {least}, not {value!r:.80}.")
    most = config.compression_max_tokens
    if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 1):
        raise InvalidInput(f"compression_max_tokens is a whole number from 1, or None, not {most!r:.80}.")
    for name in _FLAGS:
        if not isinstance(getattr(config, name), bool):
            raise InvalidInput(f"{name} is True or False, not {getattr(config, name)!r:.80}.")
    for name in _TEXTS:
        if not isinstance(getattr(config, name), str) or not getattr(config, name).strip():
            raise InvalidInput(f"{name} is a text that says something, not {getattr(config, name)!r:.80}.")
    for name in ("identity_reminder", "witnessed_before", "witnessed_instruction"):
        value = getattr(config, name)
        if value is not None and not isinstance(value, str):
            raise InvalidInput(f"{name} is a text or None, not {value!r:.80}.")
    for name, known in _PLACEHOLDERS.items():
        _check_template(name, getattr(config, name), known)
    for name, (low, high) in _SHARES.items():
        value = getattr(config, name)
        if name == "recent_window_share" and value is None:
            continue
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not low <= value <= high:
            raise InvalidInput(f"{name} is a share from {low} to {high}, not {value!r:.80}.")
    if not isinstance(config.summary_timeout, (int, float)) or isinstance(config.summary_timeout, bool) or not 0 < config.summary_timeout < inf:
        raise InvalidInput(f"summary_timeout is a number of seconds above 0, not {config.summary_timeout!r:.80}.")
    interval = config.quarantine_alarm_interval
    if not isinstance(interval, (int, float)) or isinstance(interval, bool) or not 0 <= interval < inf:
        raise InvalidInput(f"quarantine_alarm_interval is a number of seconds from 0, not {interval!r:.80}.")
    _check_choices(config)


def _check_template(name: str, template: str | None, known: tuple[str, ...]) -> None:
    for word in PLACEHOLDER.findall(template or ""):
        if word not in known:
            may_hold = " and ".join(f"{{{one}}}" for one in known)
            raise InvalidInput(f"{name} may hold {may_hold}, not {{{word}}}, in {template!r:.80}.")


def _check_choices(config: AutobiographicalConfig) -> None:
    model = config.compression_model
    if model is not None and not isinstance(model, (Model, Summarizer)) and (not isinstance(model, str) or not model.strip()):
        raise InvalidInput(f'compression_model is a model such as "anthropic:claude-sonnet-4-5", a Model, or "extractive", not {model!r:.80}.')
    if not isinstance(config.folding_strategy, Resolver) and config.folding_strategy not in FOLDING_STRATEGIES:
        raise InvalidOption(f"folding_strategy={config.folding_strategy!r}", instead=INSTEAD.get(str(config.folding_strategy)) or f"one of {', '.join(FOLDING_STRATEGIES)}")
    if config.recall_envelope not in get_args(Envelope):
        raise InvalidOption(f"recall_envelope={config.recall_envelope!r}", instead=f"one of {', '.join(get_args(Envelope))}")
    if isinstance(config.ladder, str) or not isinstance(config.ladder, (tuple, list)):
        raise InvalidInput(f"ladder is a list of rungs, any of {', '.join(RUNGS)}, not {config.ladder!r:.80}.")
    object.__setattr__(config, "ladder", tuple(config.ladder))
    for rung in config.ladder:
        if rung not in RUNGS:
            raise InvalidOption(f"ladder rung {rung!r}", instead=f"any of {', '.join(RUNGS)}")
    if len(set(config.ladder)) < len(config.ladder):
        raise InvalidInput(f"ladder names each rung once, not {', '.join(config.ladder)}.")


def _snake(name: str) -> str:
    """Return a name as it is written here: `maxLiveImages` is `max_live_images`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _alternatives(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, n=3)
    return " or ".join(close) if close else f"one of {', '.join(known)}"


_SELECTORS = "a selector in front, such as TapeContext(select=pipe(trim_tool_results(...), drop_images(...)))"
_LADDER = "ladder, a list of rungs in the order they are tried"
_LATER = "flat-profile or oldest-first; the resolvers that weigh the prompt cache are not built yet"

INSTEAD: Mapping[str, str] = {
    "kv-stable": _LATER,
    "kv-unified": _LATER,
    "kv_unified": _LATER,
    "kv_stable_reach_tokens": _LATER,
    "kv_stable_quality_gap_ratio": _LATER,
    "chunk_on_message_boundary": "nothing: a chunk always ends at the end of a unit",
    "positioned_recall_pairs": "nothing: a summary always stands where its messages were",
    "carrier_policy": "nothing: a summary never carries signed reasoning",
    "enforce_budget": "a larger Budget(max_tokens=...), or over_budget_grace_ratio",
    "max_message_tokens": _SELECTORS,
    "tool_result_max_last_n": "a selector in front, such as TapeContext(select=latest_read_only())",
    "tool_use_input_max_tokens": "nothing: what a call was given is shown whole, and folded with its round",
    "max_live_images": _SELECTORS,
    "image_strip_depth_tokens": _SELECTORS,
    "max_live_image_bytes": _SELECTORS,
    "max_compression_image_bytes": "nothing: requests for summaries hold placeholders for pictures",
    "image_strip_hysteresis_ratio": _SELECTORS,
    "l1_budget_tokens": "nothing: one budget holds all levels; low_water_ratio says how far it folds",
    "l2_budget_tokens": "nothing: one budget holds all levels; low_water_ratio says how far it folds",
    "l3_budget_tokens": "nothing: one budget holds all levels; low_water_ratio says how far it folds",
    "speculative_production": "nothing: summaries are always written ahead of need",
    "max_speculative_l1s": "nothing: summaries are always written ahead of need",
    "production_budget_tokens": "nothing: summaries are always written ahead of need",
    "compression_refusal_curve_fallbacks": "recall_expansions, with expand_recall in ladder",
    "compression_source_only": _LADDER,
    "compression_source_only_fallback": f"{_LADDER}; add source_only",
    "compression_tool_prose_fallback": "nothing: moving prose between tool calls is not built",
    "primary_tool_prose_hoist": "nothing: moving prose between tool calls is not built",
    "compression_split_fallback": f"{_LADDER}; add split",
    "compression_split_placeholder": f"{_LADDER}; add split",
    "compression_split_max_calls_per_chunk": f"{_LADDER}; add split",
    "compression_split_max_calls_per_10_min": f"{_LADDER}; add split",
    "compression_merge_source_only": _LADDER,
    "compression_merge_source_only_fallback": f"{_LADDER}; add source_only",
    "compression_cache_markers": "nothing: the prefix stays the same by construction",
    "compression_cache_ttl": "nothing: the prefix stays the same by construction",
    "topology_policy": "nothing: an entry that would break the tree is ignored and counted",
    "audit_only": "a store that is opened to read, such as sqlite:///FILE?mode=ro",
    "quarantine_alarm_interval_ms": "quarantine_alarm_interval, in seconds",
    "persist_mint_preimages": "nothing: a summary keeps the hash of the request it answers",
    "log_effective_config": "repr(strategy.config)",
    "witnessed_before_sequence": "witnessed_before, a message's id",
    "diary_system_prompt": "identity_reminder; the single-level diary is gone",
    "diary_user_prompt": "identity_reminder; the single-level diary is gone",
    "summary_system_prompt": "identity_reminder; a summary is written under the agent's own system prompt",
    "summary_user_prompt": "identity_reminder; a summary is written under the agent's own system prompt",
}
"""What to write instead of options that other systems know and this one does not have."""
