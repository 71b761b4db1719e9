"""What a fold keeps of what is needed next: identifiers of real sessions (protocol c) and evidence of real talk (protocol a), judged by protocols.py.

At 25, 50 and 75 % of every recorded session with tool calls, and where their own programs compacted them, the history before is told in N tokens: by
an extract, by its last N tokens, by the names of its files alone, and by the model that compacted it. The figure is the share of what the next 40 tool inputs name, and
the history had, that is still named. Inputs are the texts in a call's arguments. LoCoMo's gold turns are counted where an extract has them word for word.
Counts are exact where the extra `tokens` is installed, else the default counter's. Run: python -m benchmarks.recall [--json FILE]
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.measure import parser, report
from benchmarks.real import data_folder, judge, tape_of
from benchmarks.sweep import trajectories
from benchmarks.tokens import exact_counter
from playhead.entry.message import user
from playhead.fold.extracting.extractive import extract
from playhead.fold.extracting.identifiers import SEPARATOR, identifiers, index_within
from playhead.fold.extracting.names import is_file
from playhead.view.context import default_tape_context
from playhead.view.tokens import Counter, default_counter
from playhead.view.units import Unit

SIZES = (500, 1_500)
SHARES = (25, 50, 75)
LEAST_CALLS = 10
"""Sessions of fewer tool calls say little of what is used again."""

Kept = Callable[[Sequence[Unit], int], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """A place in a session: the units before it, the inputs of the tool calls behind it, and what the session's own program kept there, if it did."""

    file: str
    at: str
    before: tuple[Unit, ...]
    inputs: tuple[str, ...]
    summary: str | None = None

    @property
    def texts(self) -> list[str]:
        """All that was said and done before it."""
        return [text for unit in self.before for text in texts_of(unit)]


def inputs_of(unit: Unit) -> list[str]:
    """Return the texts in the arguments of each call of a unit."""
    return ["\n".join(_values(call.arguments)) for message in unit.messages for call in message.calls]


def texts_of(unit: Unit) -> list[str]:
    """Return what a unit says, and what it puts into tools."""
    return [*(message.text for message in unit.messages if message.text), *inputs_of(unit)]


def _values(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (Mapping, list, tuple)):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _values(inner)


def boundaries() -> list[Boundary]:
    """Return every place that is measured."""
    folds = [json.loads(line) for line in (data_folder() / "folds" / "real_folds_dev.jsonl").read_text(encoding="utf-8").splitlines()]
    compacted = {Path(fold["source"]).name: (fold["line"], fold["summary"]) for fold in folds if "summary" in fold}
    return [boundary for path in trajectories() for boundary in asyncio.run(_in_file(path, compacted.get(Path(path).name)))]


async def _in_file(path: str, compacted: tuple[int, str] | None) -> list[Boundary]:
    tape = await tape_of(path)
    units = (await tape.with_context(default_tape_context(anchor=None)).read()).units
    found: list[Boundary] = []
    for talk in _conversations(units):
        if sum(map(len, map(inputs_of, talk))) >= LEAST_CALLS:
            found += [_boundary(path, f"{share} %", talk, len(talk) * share // 100) for share in SHARES]
    if compacted is not None:
        line, summary = compacted
        behind = {entry.id async for entry in tape.query() if (entry.meta.get("import") or {}).get("line", 0) >= line}
        found.append(_boundary(path, "compacted", units, next(index for index, unit in enumerate(units) if unit.first in behind), summary=summary))
    return found


def _boundary(path: str, at: str, units: Sequence[Unit], index: int, *, summary: str | None = None) -> Boundary:
    inputs = tuple(text for unit in units[index:] for text in inputs_of(unit))
    return Boundary(file=Path(path).name, at=at, before=tuple(units[:index]), inputs=inputs, summary=summary)


def _conversations(units: Iterable[Unit]) -> list[list[Unit]]:
    """Part a file of many conversations at the anchors that an import sets between them."""
    found: list[list[Unit]] = [[]]
    for unit in units:
        if unit.kind == "anchor" and "[Anchor created: conversation/" in unit.messages[0].text:
            found.append([])
        else:
            found[-1].append(unit)
    return found


def extracted(units: Sequence[Unit], tokens: int, *, counter: Counter) -> str:
    """Return an extract with its list, as a summary shows them."""
    text, index = extract(units, tokens=tokens, counter=counter)
    return f"{text}\n{SEPARATOR.join(index)}"


def last_tokens(units: Sequence[Unit], tokens: int, *, counter: Counter) -> str:
    """Return the last tokens of a history."""
    kept: list[str] = []
    left = tokens
    for text in (text for unit in reversed(units) for text in reversed(texts_of(unit))):
        cost = counter.count(text)
        kept.append(text if cost <= left else text[len(text) - len(text) * left // cost :])
        left -= cost
        if left <= 0:
            break
    return "\n".join(reversed(kept))


def files_alone(units: Sequence[Unit], tokens: int, *, counter: Counter) -> str:
    """Return the names of a history's files, and nothing else."""
    return SEPARATOR.join(index_within([name for name in identifiers(units) if is_file(name)], tokens=tokens, counter=counter))


def recalled(boundary: Boundary, kept: str) -> tuple[float | None, float | None]:
    """Return the judge's figures: over paths, and over all identifiers."""
    paths, all_names = namers()
    future_use = partial(judge().future_use_recall, kept, boundary.texts, boundary.inputs)
    return future_use(names=paths), future_use(names=all_names)


@cache
def namers() -> tuple[Callable[[str], set[str]], Callable[[str], set[str]]]:
    """Return what the judge takes for paths and for identifiers, each text looked at once."""
    protocols = judge()
    return cache(protocols.paths), cache(protocols.identifiers)


def recall_rows(places: Sequence[Boundary], ways: Mapping[str, Kept]) -> list[tuple[object, ...]]:
    """Return a row for each file, kind of place and size, and one over all for each size."""
    found: dict[tuple[str, str, int], list[list[tuple[float | None, float | None]]]] = defaultdict(list)
    for place in places:
        for tokens in SIZES:
            row = [recalled(place, way(place.before, tokens)) for way in ways.values()]
            for group in ((place.file[-40:], "compacted" if place.summary else "25-75 %", tokens), ("all", "", tokens)):
                found[group].append(row)
    return [(*group, *_means(rows, 0), *_means(rows, 1)) for group, rows in sorted(found.items(), key=lambda item: (item[0][0] == "all", item[0])) if _count(rows)]


def _means(rows: Sequence[Sequence[tuple[float | None, float | None]]], which: int) -> tuple[object, ...]:
    judged_rows = [[figures[which] for figures in row] for row in rows if row[0][which] is not None]
    return len(judged_rows), *((100 * fmean(column) if (column := [row[way] or 0.0 for row in judged_rows]) else "") for way in range(len(rows[0])))


def _count(rows: Sequence[Sequence[tuple[float | None, float | None]]]) -> int:
    return sum(figures is not None for row in rows for figures in row[0])


def summary_rows(places: Sequence[Boundary], *, counter: Counter) -> Iterator[tuple[object, ...]]:
    """Yield a row for each summary that a model wrote."""
    for place in places:
        if place.summary is not None:
            yield place.file, counter.count(place.summary), *(100 * (figure or 0.0) for figure in recalled(place, place.summary))


def evidence_rows(*, counter: Counter) -> Iterator[tuple[object, ...]]:
    """Yield what share of the gold turns of talk is kept word for word at shares of its tokens, by extracts and by chance."""
    talks = json.loads((data_folder() / "locomo" / "locomo_dev5.json").read_text(encoding="utf-8"))
    for share in (0.1, 0.25, 0.5):
        figures = [_evidence(talk, share, counter=counter) for talk in talks]
        yield f"{share:.0%}", *(100 * fmean(column) for column in zip(*figures, strict=True))


def _evidence(talk: Mapping[str, Any], share: float, *, counter: Counter) -> tuple[float, float]:
    turns = [turn for name, session in talk["conversation"].items() if name.startswith("session_") and isinstance(session, list) for turn in session]
    lines = {turn["dia_id"]: f"{turn['speaker']}: {turn['text']}" for turn in turns}
    tokens = int(share * sum(counter.count(turn["text"]) for turn in turns))
    units = [Unit(kind="message", messages=(user(turn["text"], name=turn["speaker"]),), ids=(at,), uids=(), tokens=0) for at, turn in enumerate(turns, start=1)]
    told = set(extract(units, tokens=tokens, counter=counter, index_tokens=0)[0].splitlines())
    golds = [question["evidence"] for question in talk["qa"]]
    return _kept_of(golds, {id for id, line in lines.items() if line in told}), _kept_of(golds, _by_chance(lines, tokens, counter=counter))


def _by_chance(lines: Mapping[str, str], tokens: int, *, counter: Counter) -> set[str]:
    kept: set[str] = set()
    for id in random.Random(1).sample(sorted(lines), len(lines)):
        tokens -= counter.count(f"\n{lines[id]}")
        if tokens < 0:
            break
        kept.add(id)
    return kept


def _kept_of(golds: Iterable[Sequence[str]], kept: set[str]) -> float:
    recall = judge().evidence_recall
    return fmean(figure for gold in golds if (figure := recall(gold, kept)) is not None)


def main() -> None:
    """Print the tables."""
    given = parser(__doc__).parse_args()
    counter = exact_counter() or default_counter()
    places = boundaries()
    ways: dict[str, Kept] = {name: partial(way, counter=counter) for name, way in (("extract", extracted), ("last", last_tokens), ("files", files_alone))}
    headings = ("file", "at", "tokens", "paths of", *(f"{name} %" for name in ways), "all of", *(f"{name} % of all" for name in ways))
    report("future use", headings, recall_rows(places, ways), file=given.json)
    print()
    report("summaries of models", ("file", "tokens", "paths %", "all %"), list(summary_rows(places, counter=counter)), file=_beside(given.json, "models"))
    print()
    report("evidence", ("tokens kept", "extract %", "by chance %"), list(evidence_rows(counter=counter)), file=_beside(given.json, "evidence"))


def _beside(file: Path | None, name: str) -> Path | None:
    return file.with_name(f"{file.stem}-{name}{file.suffix}") if file else None


if __name__ == "__main__":
    main()
