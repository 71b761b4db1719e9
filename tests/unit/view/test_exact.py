import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.errors import InvalidInput, MissingExtra
from playhead.view import exact
from playhead.view.calibration import ANTHROPIC_FACTOR, ScaledCounter, counter_for
from playhead.view.exact import ExactCounter
from playhead.view.tokens import default_counter
from tests.golden.tokens.written import golden, texts


class Words:
    name = "words"

    def count(self, text):
        return len(text.split())


def test_counts_are_those_of_the_vocabularies():
    assert ExactCounter().name == "o200k" and ExactCounter("cl100k_base").name == "cl100k"
    assert (ExactCounter().count("hello world"), ExactCounter().count("antidisestablishmentarianism"), ExactCounter().count("")) == (2, 6, 0)
    assert ExactCounter("cl100k_base").count("你好世界") > ExactCounter().count("你好世界")


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=()) | st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF), max_size=40))
def test_no_text_makes_counting_fail(text):
    assert 0 <= ExactCounter().count(text) <= 4 * len(text) + 1


def test_only_the_compiled_module_is_loaded():
    code = "import sys; from playhead.view.exact import ExactCounter; ExactCounter(); print('bpe_openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"


def test_without_the_extra_its_name_is_in_the_error(monkeypatch):
    exact._counting.cache_clear()
    monkeypatch.setattr(exact, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"playhead\[tokens\]"):
        ExactCounter()
    assert counter_for("gpt-5-mini") is default_counter()
    assert counter_for("anthropic:claude-sonnet-4-5") == ScaledCounter(counter=default_counter(), factor=ANTHROPIC_FACTOR)
    monkeypatch.undo()
    exact._counting.cache_clear()


def test_an_unknown_encoding_is_refused():
    with pytest.raises(InvalidInput, match="o200k_base"):
        ExactCounter("p50k")  # type: ignore[arg-type]


@pytest.fixture
def vocabularies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """The folder in which tiktoken looks for its vocabularies, with o200k there, and nothing else to count with."""
    place = Path(*find_spec("bpe_openai").submodule_search_locations)
    (tmp_path / exact._TIKTOKEN_FILES["o200k_base"]).write_bytes(gzip.decompress((place / "data" / "o200k_base.tiktoken.gz").read_bytes()))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(exact, "find_spec", lambda name: None if name == "bpe_openai" else find_spec(name))
    exact._counting.cache_clear()
    yield tmp_path
    exact._counting.cache_clear()


def test_tiktoken_counts_the_same_where_it_is_all_there_is(vocabularies: Path):
    by_tiktoken = ExactCounter()
    counts = {name: by_tiktoken.count(text) for name, text in texts().items()}
    assert counts == json.loads(golden().read_text(encoding="utf-8"))["written"]
    assert (by_tiktoken.count("\ud800"), by_tiktoken.count("<|endoftext|>")) == (1, 7)


def test_a_million_spaces_do_not_end_tiktoken(vocabularies: Path):
    spaces = " " * 1_200_000
    assert 0 <= ExactCounter().count(f"a{spaces}b") - 9_377 <= 13


def test_tiktoken_is_not_asked_where_it_would_ask_the_network(vocabularies: Path):
    assert exact.has_exact_counts()
    with pytest.raises(MissingExtra):
        ExactCounter("cl100k_base")
    (vocabularies / exact._TIKTOKEN_FILES["o200k_base"]).write_bytes(b"torn")
    assert not exact.has_exact_counts()
    with pytest.raises(MissingExtra):
        ExactCounter()
    assert (vocabularies / exact._TIKTOKEN_FILES["o200k_base"]).read_bytes() == b"torn"


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-5-mini", "o200k"),
        ("openai:gpt-4o", "o200k"),
        ("openai-responses:o3", "o200k"),
        ("gpt-4", "cl100k"),
        ("gpt-4-turbo", "cl100k"),
        ("gpt-3.5-turbo", "cl100k"),
        ("anthropic:claude-sonnet-4-5", "o200k x 1.30"),
        ("llama-3", "class-aware"),
    ],
)
def test_each_model_has_the_best_counter_there_is(model, name):
    assert counter_for(model).name == name


def test_a_report_moves_the_factor_a_fifth_of_the_way():
    counter = ScaledCounter(counter=Words(), factor=1.0)
    assert counter.count("a b c") == 3
    moved = counter.corrected(counted=100, reported=150)
    assert moved.factor == pytest.approx(1.1) and moved.count("a " * 10) == 11
    for _ in range(60):
        moved = moved.corrected(counted=round(100 * moved.factor), reported=150)
    assert moved.factor == pytest.approx(1.5, abs=0.02)


def test_incredible_reports_are_ignored_and_the_factor_stays_in_bounds():
    counter = ScaledCounter(counter=Words(), factor=1.0)
    assert counter.corrected(counted=100, reported=1_000) is counter
    assert counter.corrected(counted=100, reported=10) is counter
    assert ScaledCounter(counter=Words(), factor=1.7).corrected(counted=100, reported=170).factor <= 1.8
    with pytest.raises(InvalidInput):
        counter.corrected(counted=0, reported=10)
    with pytest.raises(InvalidInput):
        ScaledCounter(counter=Words(), factor=0)
