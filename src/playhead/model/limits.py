"""How long a model's context is: what the caller says, else what its provider said in an error, else what is listed here."""

from __future__ import annotations

import re

LISTED_ON = "2026-11-30"
"""When the list below was made; what a provider says of itself wins over it."""

_LISTED: tuple[tuple[str, int], ...] = (
    ("claude-opus-4-6", 1_000_000),
    ("claude-opus-4-7", 1_000_000),
    ("claude-opus-4-8", 1_000_000),
    ("claude-sonnet-4-6", 1_000_000),
    ("claude-haiku-4", 200_000),
    ("claude-opus-4", 200_000),
    ("claude-sonnet-4", 200_000),
    ("claude-3", 200_000),
    ("claude-fable-5", 1_000_000),
    ("claude-haiku-5", 1_000_000),
    ("claude-mythos-5", 1_000_000),
    ("claude-opus-5", 1_000_000),
    ("claude-sonnet-5", 1_000_000),
    ("gpt-6", 1_050_000),
    ("gpt-5.6", 1_050_000),
    ("gpt-5.5", 1_000_000),
    ("gpt-5.4-mini", 400_000),
    ("gpt-5.4-nano", 400_000),
    ("gpt-5.4", 1_050_000),
    ("gpt-5.3-codex", 400_000),
    ("gpt-5.3", 128_000),
    ("gpt-5.2", 400_000),
    ("gpt-5.1", 400_000),
    ("gpt-5-mini", 400_000),
    ("gpt-5-nano", 400_000),
    ("gpt-5-pro", 400_000),
    ("gpt-5", 400_000),
    ("gpt-4.1", 1_000_000),
    ("gpt-4o", 128_000),
    ("chatgpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4", 8_192),
    ("gpt-3.5-turbo", 16_385),
    ("o1-mini", 128_000),
    ("o1-preview", 128_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4-mini", 200_000),
    ("gemini-2.5-flash", 1_048_576),
    ("gemini-3-flash", 1_000_000),
    ("gemini-3.5-flash", 1_000_000),
    ("gemini-3.6-flash", 1_000_000),
    ("gemini-3.7-flash", 1_000_000),
    ("gemini-4-argon", 1_048_576),
    ("deepseek-v4", 1_000_000),
    ("kimi-k2", 262_144),
    ("kimi-k3", 1_048_576),
    ("mistral-large-4", 1_048_576),
    ("mistral-large-2512", 262_144),
    ("grok-4.3", 1_000_000),
    ("grok-4.5", 500_000),
    ("grok-4.6", 500_000),
    ("grok-4.7", 500_000),
    ("grok-4-fast", 2_000_000),
    ("grok-3", 131_072),
)
"""Models by how their names begin, and the tokens a request and its answer may have together."""

_ENDS = re.compile(r"[-.@:]|$")
_VARIANTS = re.compile(r"audio|realtime|transcribe|tts|image|search|instruct|32k|vision|live")
_learned: dict[str, int] = {}


def listed(model: str) -> int | None:
    """Return the limit that is listed for a model, None for one that is not.

    A model is found under its own name, with a date or another ending behind it, and behind the name of a provider
    (`anthropic/claude-sonnet-4-5`). Variants for sound and pictures are not listed.
    """
    name = model.rpartition("/")[2].rpartition(":")[2].lower()
    if _VARIANTS.search(name):
        return None
    found = [(start, limit) for start, limit in _LISTED if name.startswith(start) and _ENDS.match(name, len(start))]
    return max(found, key=lambda pair: len(pair[0]))[1] if found else None


def learn(place: str, limit: int) -> None:
    """Remember, for this process, the limit that a provider named; `place` is the model and where it is served."""
    _learned[place] = limit


def learned(place: str) -> int | None:
    """Return the limit a provider named since this process began, None where it never did."""
    return _learned.get(place)
