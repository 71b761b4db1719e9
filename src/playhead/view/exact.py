"""Exact counts: the vocabularies of OpenAI's models, offline, from the packages of `playhead[tokens]`."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import Any, Literal, get_args

from playhead.errors import InvalidInput, MissingExtra

Encoding = Literal["o200k_base", "cl100k_base"]
ENCODINGS: tuple[str, ...] = get_args(Encoding)
_COMPILED = "bpe_openai._bindings"
_TIKTOKEN_FILES = {"o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790", "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"}
"""What tiktoken calls its vocabularies in its cache: a hash of where each comes from."""

_VOCABULARIES = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
"""The SHA-256 of each vocabulary: tiktoken throws a file away that has another one, and asks the network."""

_SPACE = 100_000
_SPACES = re.compile(rf"\s{{{_SPACE},}}")
"""White space that is counted in pieces: tiktoken panics on a million of it in a row."""


class ExactCounter:
    """Counts tokens exactly, offline: o200k_base for the models since GPT-4o, cl100k_base for those before.

    Uses the compiled module of bpe-openai, else tiktoken where its vocabulary file is on this machine already; both
    give the same counts, the first several times as fast. Lone surrogates count as question marks. Raises MissingExtra
    where neither is there.
    """

    def __init__(self, encoding: Encoding = "o200k_base") -> None:
        if encoding not in ENCODINGS:
            raise InvalidInput(f"An encoding is one of {', '.join(ENCODINGS)}, not {encoding!r}.")
        self.name = encoding.removesuffix("_base")
        self._count = _counting(encoding)

    def count(self, text: str) -> int:
        """Return how many tokens the text is."""
        try:
            return self._count(text)
        except UnicodeEncodeError:
            return self._count(text.encode("utf-8", "replace").decode())


def has_exact_counts() -> bool:
    """Return whether exact counting is possible here."""
    return find_spec("bpe_openai") is not None or any(_has_tiktoken_file(e) for e in ENCODINGS)


@cache
def _counting(encoding: str) -> Callable[[str], int]:
    compiled = _compiled_module()
    if compiled is not None:
        counting: Callable[[str], int] = compiled.tokenizer_for_encoding(encoding).count
        return counting
    if not _has_tiktoken_file(encoding):
        raise MissingExtra("tokens", "Exact counting")
    return _tiktoken(encoding)


def _compiled_module() -> Any:
    """Load the tokenizer itself: the package around it reads every vocabulary it knows when it is imported, which takes seconds."""
    package = find_spec("bpe_openai")
    found = PathFinder.find_spec(_COMPILED, package.submodule_search_locations) if package else None
    if found is None or found.loader is None:
        return None
    if _COMPILED not in sys.modules:
        module = module_from_spec(found)
        found.loader.exec_module(module)
        sys.modules[_COMPILED] = module
    return sys.modules[_COMPILED]


def _has_tiktoken_file(encoding: str) -> bool:
    """Return whether tiktoken is installed and has the vocabulary whole in its cache: without it, it would ask the network."""
    if find_spec("tiktoken") is None:
        return False
    place = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR", str(Path(tempfile.gettempdir()) / "data-gym-cache")))
    try:
        return bool(place) and sha256((Path(place) / _TIKTOKEN_FILES[encoding]).read_bytes()).hexdigest() == _VOCABULARIES[encoding]
    except OSError:
        return False


def _tiktoken(encoding: str) -> Callable[[str], int]:
    vocabulary = import_module("tiktoken").get_encoding(encoding)
    return lambda text: sum(len(vocabulary.encode_ordinary(piece)) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    """Yield a text whole, or cut within white space that is too long."""
    at = 0
    for run in _SPACES.finditer(text):
        for end in range(run.start() + _SPACE, run.end(), _SPACE):
            yield text[at:end]
            at = end
    yield text[at:]
