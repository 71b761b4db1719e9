"""Tapes with summaries for benchmarks: built cheaply, in bulk, and kept below .benchmarks/ for the next run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playhead.entry.entry import TapeEntry, stamped
from playhead.entry.message import Message, ToolCall, assistant, tool_result_message, user
from playhead.fold.choosing.chunks import Chunk, chunks
from playhead.fold.config import AutobiographicalConfig
from playhead.fold.extracting.identifiers import identifiers, index_within, merged_index
from playhead.fold.ledger.entries import node_entry
from playhead.fold.ledger.memory import FoldMemory
from playhead.fold.ledger.reduction import node_of
from playhead.fold.node import Node, NodeDraft
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.tape.tape import Tape
from playhead.view.context import default_tape_context
from playhead.view.tokens import default_counter

KEPT = Path(".benchmarks")
TAPE = "messages"
BATCH = 3_000
PAGE = 20_000
LEAD = 60
"""How many characters of each message a summary repeats."""

SAID = 1_800
"""How many characters a summary has at most: a fifth of what it tells, as an extract has."""

CONFIG = AutobiographicalConfig(compression_model="extractive", recent_window_tokens=30_000)
START = datetime(2026, 1, 1, tzinfo=UTC)


def turn(number: int) -> list[Message]:
    """Return one turn of a conversation: three units in four messages."""
    call = ToolCall(id=f"c{number}", name="read_file", arguments={"path": f"src/module_{number % 97}.py", "lines": [number, number + 40]})
    return [
        user(f"Question {number}: why does the check in module {number % 97} fail when the queue is full?"),
        assistant(f"Let me look at module {number % 97}.", calls=[call]),
        tool_result_message(f"c{number}", "".join(f"    value_{n} = queue.get(timeout={n})  # waits\n" for n in range(8))),
        assistant(f"It waits for a slot that nobody frees; see value_{number % 12}."),
    ]


def opened(place: Path) -> SQLiteTapeStore:
    """Return the store at a place."""
    return SQLiteTapeStore(place, durability="process")


async def talked(place: Path, units: int) -> Path:
    """Return a store whose tape holds so many units, none of them summarised; it is built where it is not there yet."""
    return await _kept(place, f"talked-{units}.db", units, summarised=False)


async def folded(place: Path, units: int) -> Path:
    """Return a store whose tape holds so many units, all but the recent window in summaries; it is built where it is not there yet."""
    return await _kept(place, f"folded-{units}.db", units, summarised=True)


async def _kept(place: Path, name: str, units: int, *, summarised: bool) -> Path:
    whole, half = place / name, _cleared(place, f"half-{name}")
    if not _is_there(whole):
        async with opened(half) as store:
            tape = Tape(store, TAPE, context=default_tape_context(anchor=None))
            await _talk(tape, units // 3)
            if summarised:
                await _Summaries(tape).write()
        half.rename(whole)
    return whole


def _is_there(place: Path) -> bool:
    return place.exists()


def _cleared(place: Path, name: str) -> Path:
    """Return a place in a folder that is made, with nothing there, nor of a build that was broken off."""
    place.mkdir(parents=True, exist_ok=True)
    for left in place.glob(f"{name}*"):
        left.unlink()
    return place / name


async def _talk(tape: Tape, turns: int) -> None:
    for start in range(0, turns, BATCH // 4):
        await tape.append_many([message for number in range(start, min(turns, start + BATCH // 4)) for message in turn(number)])


class _Summaries:
    """Writes the summaries that ticks behind every turn would have left, many at a time."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._memory = FoldMemory(tape)
        self._open: dict[int, list[Node]] = {}
        self._count = 0
        self._written: list[TapeEntry] = []

    async def write(self) -> None:
        end = (await self._tape.read(tail_tokens=CONFIG.recent_window_tokens)).units[1].first
        after = 0
        while True:
            units = await self._tape.read_range(after + 1, min(end - 1, after + PAGE))
            closed, _ = chunks(units, after=after, target=CONFIG.target_chunk_tokens, before=min(end, after + PAGE + 1))
            for chunk in closed if after + PAGE >= end else closed[:-1]:
                self._told(chunk)
                after = chunk.last
            await self._flush()
            if len(closed) < 2:
                break
        await self._memory.checkpoint()

    async def _flush(self) -> None:
        written, self._written = self._written, []
        for start in range(0, len(written), 256):
            await self._memory.sidecar.append_many(written[start : start + 256])
        await self._memory.checkpoint()

    def _told(self, chunk: Chunk) -> None:
        text = "\n".join(_leads(chunk))[:SAID]
        self._add(chunk, (), text, index_within(identifiers(chunk.units), tokens=CONFIG.identifier_index_tokens, counter=default_counter()))

    def _merged(self, nodes: Sequence[Node]) -> None:
        text = "\n".join(node.text[: SAID // len(nodes)] for node in nodes)
        self._add(None, nodes, text, index_within(merged_index(nodes), tokens=CONFIG.identifier_index_tokens, counter=default_counter()))

    def _add(self, chunk: Chunk | None, nodes: Sequence[Node], text: str, index: tuple[str, ...]) -> None:
        self._count += 1
        first, last = (chunk.first, chunk.last) if chunk is not None else (nodes[0].first, nodes[-1].last)
        draft = NodeDraft(
            level=nodes[0].level + 1 if nodes else 1,
            first_uid=chunk.first_uid if chunk is not None else nodes[0].first_uid,
            last_uid=chunk.last_uid if chunk is not None else nodes[-1].last_uid,
            entries=last - first + 1,
            units=len(chunk.units) if chunk is not None else sum(node.units for node in nodes),
            raw_tokens=chunk.tokens if chunk is not None else sum(node.raw_tokens for node in nodes),
            text=text,
            index=index,
            tools=("read_file",),
            children=tuple(node.uid for node in nodes),
            since=START + timedelta(seconds=first),
            until=START + timedelta(seconds=last),
            model="benchmark",
        )
        entry = stamped(node_entry(draft, id=f"L{draft.level}-{self._count}"))
        self._written.append(entry)
        waiting = self._open.setdefault(draft.level, [])
        waiting.append(node_of(entry, draft, number=self._count, first=first, last=last))
        if len(waiting) == CONFIG.merge_threshold:
            self._open[draft.level] = []
            self._merged(waiting)


def _leads(chunk: Chunk) -> Iterator[str]:
    return (f"{message.role}: {message.text[:LEAD]}" for unit in chunk.units for message in unit.messages)
