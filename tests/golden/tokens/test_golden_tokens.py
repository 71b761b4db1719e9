"""The default counter against the exact counts in counts.json; `python -m benchmarks.tokens --golden` writes them anew."""

import json
import os
import subprocess
import sys

import pytest

from playhead.errors import MissingExtra
from playhead.view.exact import ExactCounter
from playhead.view.tokens import ClassAwareCounter, default_counter
from tests.data import shared
from tests.golden.tokens.odd import odd_texts
from tests.golden.tokens.said import read, said
from tests.golden.tokens.written import golden, texts

COUNTS = json.loads(golden().read_text(encoding="utf-8"))
ODD = (0.80, 1.25)
"""What the count of a text that nobody writes keeps to."""

LEAST_SURE = 2_000
"""Below so many tokens the promise is an absolute one."""


def promised(estimate: int, exact: int) -> bool:
    if exact < LEAST_SURE:
        return abs(estimate - exact) <= 60
    return 0.97 * exact <= estimate <= 1.20 * exact


def exact_counter() -> ExactCounter:
    try:
        return ExactCounter()
    except MissingExtra as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("name", COUNTS["written"])
def test_the_count_of_every_class_of_text_is_near_the_exact_one(name):
    estimate, exact = default_counter().count(texts()[name]), COUNTS["written"][name]
    assert promised(estimate, exact)
    assert abs(estimate - exact) <= max(8, 0.17 * exact)


@pytest.mark.parametrize("name", COUNTS["odd"])
def test_the_count_of_an_odd_text_is_not_far_below_the_exact_one(name):
    assert ODD[0] * COUNTS["odd"][name] <= default_counter().count(odd_texts()[name]) <= ODD[1] * COUNTS["odd"][name]


def test_every_text_has_an_exact_count():
    assert texts().keys() == COUNTS["written"].keys()
    assert odd_texts().keys() == COUNTS["odd"].keys()


def test_the_classes_together_lean_to_the_safe_side():
    estimate, exact = default_counter().count(texts()["everything"]), COUNTS["written"]["everything"]
    assert exact <= estimate <= 1.10 * exact


@pytest.mark.parametrize("name", COUNTS["shared"])
def test_the_count_of_every_real_file_keeps_its_promise(name):
    text, exact = read(shared(name)), COUNTS["shared"][name]
    assert promised(default_counter().count(text), exact["file"])
    assert promised(sum(map(default_counter().count, said(text))), exact["said"])


def test_the_exact_counter_counts_as_the_golden_file_says():
    counter = exact_counter()
    assert {name: counter.count(text) for name, text in texts().items()} == COUNTS["written"]
    assert {name: counter.count(text) for name, text in odd_texts().items()} == COUNTS["odd"]
    assert counter.count("\ud800") == counter.count("?")


def test_a_counter_that_has_counted_much_counts_as_a_fresh_one():
    used = ClassAwareCounter()
    for text in texts().values():
        used.count(text)
    assert {name: used.count(text) for name, text in texts().items()} == {name: ClassAwareCounter().count(text) for name, text in texts().items()}


@pytest.mark.parametrize("seed", ["1", "2"])
def test_counts_are_the_same_in_every_process(seed):
    program = "import json; from playhead.view.tokens import *; from tests.golden.tokens.written import texts; print(json.dumps([default_counter().count(t) for t in texts().values()]))"
    elsewhere = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}, check=True, capture_output=True, text=True)
    assert json.loads(elsewhere.stdout) == [default_counter().count(text) for text in texts().values()]
