"""Which strategy a command uses, and with which settings."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields
from typing import Any

from playhead.cli.fold_arguments import EXTRACTIVE
from playhead.errors import InvalidInput, InvalidModelSpec
from playhead.fold.config import AutobiographicalConfig
from playhead.model.registry import provider_of
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.prompt.strategies.knowledge import KnowledgeStrategy
from playhead.prompt.strategies.passthrough import PassthroughStrategy
from playhead.prompt.strategies.windowed import WindowedPassthroughStrategy
from playhead.prompt.strategy import Strategy

PLAIN: Mapping[str, type[PassthroughStrategy | WindowedPassthroughStrategy]] = {made.name: made for made in (PassthroughStrategy, WindowedPassthroughStrategy)}
FOLDS: Mapping[str, type[AutobiographicalStrategy]] = {made.name: made for made in (AutobiographicalStrategy, KnowledgeStrategy)}

_FLAGS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def strategy_of(args: Namespace) -> Strategy:
    """Return the strategy that the arguments name. Raises InvalidOption, InvalidInput for settings that it does not take."""
    return folding_of(args) if args.strategy in FOLDS else PLAIN[args.strategy]()


def folding_of(args: Namespace) -> AutobiographicalStrategy:
    """Return the strategy that folds, as the arguments name and set it. Raises InvalidOption, InvalidInput."""
    options = settings_of(args)
    AutobiographicalConfig.of(options)
    return FOLDS[args.strategy](namespace=args.namespace, **options)


def settings_of(args: Namespace) -> dict[str, Any]:
    """Return the options that the arguments set, each read as what its kind is; `--set` wins over an option of the same meaning."""
    if args.summarizer is not None:
        _check_writer(args.summarizer)
    options = {"compression_model": args.summarizer, "recent_window_tokens": args.recent, "head_window_tokens": args.head}
    for setting in args.settings:
        name, _, text = setting.partition("=")
        name = name.strip().replace("-", "_")
        if name == "compression_model":
            raise InvalidInput("Who writes summaries is named with --summarizer, not with --set compression_model.")
        options[name] = _read(name, text)
    return {name: value for name, value in options.items() if value is not None}


def _check_writer(named: str) -> None:
    """Refuse what names nobody who could write a summary."""
    try:
        if named != EXTRACTIVE:
            provider_of(named)
    except InvalidModelSpec:
        raise InvalidInput(f"--summarizer names who writes the summaries: {EXTRACTIVE}, or a model as PROVIDER:MODEL such as anthropic:claude-sonnet-4-5, not '{named}'.") from None


def _read(name: str, text: str) -> Any:
    """Return the value that a text stands for in an option, the text itself where it stands for none: the settings say what they take."""
    kind = next((str(option.type) for option in fields(AutobiographicalConfig) if option.name == name), "str")
    if text.lower() == "none" and "None" in kind:
        return None
    return _READERS.get(kind.partition(" | ")[0], str)(text.strip())


def _flag(text: str) -> bool | str:
    return _FLAGS.get(text.lower(), text)


def _whole(text: str) -> int | str:
    with suppress(ValueError):
        return int(text.replace(",", ""))
    return text


def _real(text: str) -> float | str:
    with suppress(ValueError):
        return float(text)
    return text


def _several(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (word.strip() for word in text.split(","))))


_READERS: Mapping[str, Callable[[str], Any]] = {"bool": _flag, "int": _whole, "float": _real, "tuple[str, ...]": _several}
