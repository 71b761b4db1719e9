"""What extracts and lists of identifiers keep to, whatever was said."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from itertools import pairwise

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.entry.message import Media, Message, Text, ToolCall, assistant, tool_result_message, user
from playhead.fold.config import AutobiographicalConfig
from playhead.fold.extracting.extractive import ExtractiveSummarizer, extract
from playhead.fold.extracting.identifiers import SEPARATOR, identifiers, index_within, merged_index
from playhead.fold.extracting.remarks import LEFT_OUT, remarks_of, remarks_told, told
from playhead.fold.extracting.sentences import sentences
from playhead.fold.node import Node
from playhead.fold.writing.job import Job, Surroundings, Written
from playhead.view.tokens import default_counter, message_tokens
from playhead.view.units import Unit

COUNTER = default_counter()
WHEN = datetime(2026, 2, 3, tzinfo=UTC)
WORDS = [
    "src/app.py",
    "app.py",
    "b/app.py",
    "read_all",
    "HTTPServer",
    "E0308",
    "see",
    "the",
    "pump",
    ". ",
    ".\n",
    "? ",
    "…",
    "！",
    "漢字",
    "報告.docx",
    "Tool x: ",
    "[2020-01-01]\n",
    "\r\n",
    "\u2028",
    "🎉",
    "\ud800",
    "<a>",
    "</a>",
    "  ",
    "9f3c2a1",
    "https://x.org/a?b=1",
    "\\n",
    "error",
]

texts = st.lists(st.sampled_from(WORDS) | st.text(st.characters() | st.characters(categories=["Cs"]), max_size=8), max_size=60).map(" ".join)
names = st.sampled_from([None, "Ana", "Tool x", "A: b\nc", ""])


@st.composite
def rounds(draw: st.DrawFn) -> tuple[Message, ...]:
    call = ToolCall(id="c", name=draw(st.sampled_from(["grep", "a: b"])), arguments={"path": draw(texts), "deep": [draw(texts), 1]})
    return assistant(draw(texts), calls=[call]), tool_result_message("c", draw(texts), is_error=draw(st.booleans()), name=call.name)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Unit, ...]:
    media = st.builds(lambda name: Media(kind="image", mime="image/png", data="QUJD", name=name), name=names)
    message = (
        st.builds(lambda text, name: (user(text, name=name),), texts, names)
        | st.builds(lambda text: (assistant(text),), texts)
        | st.builds(lambda text, m: (user((Text(text=text), m)),), texts, media)
    )
    turns = draw(st.lists(message | rounds(), max_size=12))
    return tuple(_unit(messages, at=at) for at, messages in enumerate(turns, start=1))


def _unit(messages: tuple[Message, ...], *, at: int) -> Unit:
    return Unit(kind="round" if len(messages) > 1 else "message", messages=messages, ids=(at,), uids=(f"u{at}",), tokens=sum(message_tokens(m, counter=COUNTER) for m in messages))


def _written(job: Job, *, target: int = 2_000) -> Written:
    async def go() -> Written:
        config = AutobiographicalConfig(compression_model="extractive", summary_target_tokens=target)
        return await ExtractiveSummarizer(config).write(job, Surroundings(counter=COUNTER, now=WHEN), note=_never)

    return anyio.run(go)


async def _never(_: object) -> None:
    raise AssertionError


def _job(units: tuple[Unit, ...], *, sources: tuple[Node, ...] = ()) -> Job:
    return Job(level=2 if sources else 1, first=1, last=max(1, len(units)), first_uid="u1", last_uid="u", units=units, sources=sources, since=WHEN, until=WHEN)


def _node(written: Written, *, number: int) -> Node:
    ends = {"first": number, "last": number, "first_uid": f"u{number}", "last_uid": f"u{number}"}
    when = {"since": WHEN, "until": WHEN, "created": WHEN}
    return Node(uid=f"n{number}", id=f"L1-{number}", level=1, units=1, raw_tokens=9, text=written.text, index=written.index, how=written.how, **ends, **when)


def _cost(text: str, index: tuple[str, ...]) -> int:
    return COUNTER.count(text) + COUNTER.count(SEPARATOR.join(index))


@settings(deadline=None, max_examples=80)
@given(units=histories(), tokens=st.integers(0, 400), index_tokens=st.none() | st.integers(0, 300))
def test_an_extract_never_costs_more_than_its_tokens_nor_its_list_more_than_half(units, tokens, index_tokens) -> None:
    text, index = extract(units, tokens=tokens, counter=COUNTER, index_tokens=index_tokens)
    assert _cost(text, index) <= tokens
    assert COUNTER.count(SEPARATOR.join(index)) <= min(tokens // 2, tokens if index_tokens is None else index_tokens)
    assert extract(units, tokens=tokens, counter=COUNTER, index_tokens=index_tokens) == (text, index)


@settings(deadline=None, max_examples=80)
@given(units=histories(), tokens=st.integers(10, 400))
def test_an_extract_invents_nothing_and_keeps_the_order(units, tokens) -> None:
    said = list(remarks_of(units))
    text, _ = extract(units, tokens=tokens, counter=COUNTER)
    at = 0
    for line in text.splitlines():
        if line.startswith("  "):
            continue
        label = line.partition(": ")[0]
        at = next(index for index in range(at, len(said)) if said[index].label == label)
    squeezed = "".join(_bare(remark.text) for remark in said)
    spoken = "\n".join(line[2:] if line.startswith("  ") else line.partition(": ")[2] for line in text.splitlines())
    assert [run for run in spoken.replace(LEFT_OUT, "\n").splitlines() if _bare(run) not in squeezed] == []


def _bare(text: str) -> str:
    return "".join(text.replace(LEFT_OUT, "").split())


@settings(deadline=None, max_examples=80)
@given(units=histories(), target=st.integers(1, 400))
def test_a_summary_always_says_something_within_its_target(units, target) -> None:
    written = _written(_job(units), target=target)
    assert written.text.strip()
    assert _cost(written.text, written.index) <= target


@settings(deadline=None, max_examples=80)
@given(parts=st.lists(histories(), min_size=2, max_size=4), target=st.integers(1, 400))
def test_extracts_of_extracts_keep_the_same_promises(parts, target) -> None:
    sources = tuple(_node(_written(_job(units)), number=number) for number, units in enumerate(parts, start=1))
    written = _written(_job((), sources=sources), target=target)
    assert written.text.strip()
    assert _cost(written.text, written.index) <= target


@settings(deadline=None, max_examples=80)
@given(units=histories())
def test_what_is_told_reads_back_as_the_same_text(units) -> None:
    remarks = [remark for remark in remarks_of(units) if remark.text]
    speakers = {remark.label: "user" for remark in remarks if remark.kind == "user"}
    text = told(remarks)
    again = list(remarks_told([_node(Written(text=text, how={"speakers": speakers}), number=1)]))
    assert [remark.label for remark in again] == [remark.label for remark in remarks]
    assert told([type(remark)(kind=remark.kind, label=remark.label, text=remark.text) for remark in again]) == text


@settings(deadline=None, max_examples=80)
@given(units=histories(), tokens=st.integers(0, 200))
def test_identifiers_are_there_once_and_their_list_is_a_prefix_that_fits(units, tokens) -> None:
    found = identifiers(units)
    assert len(set(found)) == len(found)
    kept = index_within(found, tokens=tokens, counter=COUNTER)
    assert COUNTER.count(SEPARATOR.join(kept)) <= tokens
    assert len(kept) <= len(found)
    assert [name for name, whole in zip(kept, found, strict=False) if whole.rsplit("/", 1)[-1] != name.rsplit("/", 1)[-1]] == []


@settings(deadline=None, max_examples=80)
@given(parts=st.lists(histories(), max_size=3))
def test_a_merged_list_holds_every_name_of_its_parts_or_a_longer_one(parts) -> None:
    nodes = [_node(Written(text="", index=identifiers(units)), number=number) for number, units in enumerate(parts, start=1)]
    merged = merged_index(nodes)
    assert [name for node in nodes for name in node.index if name not in merged and not any(other.endswith(name.lstrip("./")) for other in merged)] == []


@settings(deadline=None, max_examples=80)
@given(text=texts)
def test_sentences_are_in_order_and_leave_out_white_space_alone(text) -> None:
    bounds = sentences(text)
    assert all(a < b for a, b in bounds)
    assert all(before[1] <= after[0] for before, after in pairwise(bounds))
    assert "".join("".join(text[a:b].split()) for a, b in bounds) == "".join(text.split())


PROGRAM = """
from playhead.entry.message import user, assistant
from playhead.fold.extracting.extractive import extract
from playhead.view.tokens import default_counter
from playhead.view.units import Unit

def said(n):
    words = f"Pump {n % 7} of src/part_{n}/pump.py leaks at {n * n} and at valve {n % 5}, see fix_{n % 11}. It must be oiled."
    return Unit(kind="message", messages=((user if n % 3 else assistant)(words),), ids=(n,), uids=(), tokens=20)

units = tuple(map(said, range(1, 200)))
print(extract(units, tokens=600, counter=default_counter()))
"""


def test_every_process_extracts_the_same() -> None:
    said = {subprocess.run([sys.executable, "-c", PROGRAM], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True).stdout for seed in ("1", "2")}
    assert len(said) == 1
    assert b"pump.py" in said.pop()
