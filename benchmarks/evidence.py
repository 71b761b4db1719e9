"""What a search finds of what answers a question (protocol a): gold turns of LoCoMo among the best entries that fit into a budget.

Each conversation is a tape, a message a turn; what was said of a picture stands behind the words. Each question that has gold turns is searched for
as it is asked, and the turns are taken in the order in which they were found, those that no longer fit passed over. `last` takes the newest turns instead.
R is the mean share of a question's gold turns, All of the questions whose gold turns were all taken; behind R its 95 % interval, by drawing conversations.
Then, how often a word of that talk is still found with one typo, or two, at random places (`another` became a word that stands there, too).
Tokens are counted exactly where the extra `tokens` is installed, else by the default counter. Run: python -m benchmarks.evidence [--store memory|sqlite|file] [--json FILE]
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.measure import parser, report
from benchmarks.real import data_folder, judge
from benchmarks.tokens import exact_counter
from playhead.entry.message import user
from playhead.store.file.store import FileTapeStore
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.protocol import WholeStore
from playhead.store.ranked.grammar import GRAMMAR
from playhead.store.ranked.tokens import terms
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.tape.tape import Tape
from playhead.view.tokens import Counter, default_counter

BUDGETS = (500, 2_000, 8_000)
WAYS = ("plain", "smoothed", "last")
KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
DRAWS = 2_000
WORDS = 200

STORES: dict[str, Callable[[Path], WholeStore]] = {
    "memory": lambda _: InMemoryTapeStore(),
    "sqlite": lambda place: SQLiteTapeStore(place / "tapes.db", durability="process"),
    "file": lambda place: FileTapeStore(place / "tapes", durability="process"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What one way took of a question's gold turns within a budget."""

    talk: str
    kind: str
    way: str
    budget: int
    recall: float


def turns_of(talk: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the turns of a conversation, in order."""
    return [turn for name, session in talk["conversation"].items() if name.startswith("session_") and isinstance(session, list) for turn in session]


def said(turn: Mapping[str, Any]) -> str:
    """Return the words of a turn, and what was said of its picture."""
    return f"{turn['text']} [picture: {turn['blip_caption']}]" if turn.get("blip_caption") else str(turn["text"])


def taken(ids: Iterable[str], costs: Mapping[str, int], budget: int) -> set[str]:
    """Return the turns that fit, in the order given."""
    kept: set[str] = set()
    for id in ids:
        if costs[id] <= budget:
            budget -= costs[id]
            kept.add(id)
    return kept


async def figures_of(talk: Mapping[str, Any], store: WholeStore, *, counter: Counter) -> list[Figure]:
    """Return what every way takes for every question of a conversation."""
    turns, name = turns_of(talk), str(talk["sample_id"])
    tape = Tape(store, name)
    await tape.append_many([user(said(turn), name=turn["speaker"]) for turn in turns])
    costs = {turn["dia_id"]: counter.count(f"{turn['speaker']}: {said(turn)}\n") for turn in turns}
    found: list[Figure] = []
    evidence_recall = judge().evidence_recall
    for question in talk["qa"]:
        gold = question.get("evidence") or []
        orders = {"last": [turn["dia_id"] for turn in reversed(turns)]}
        for way in ("plain", "smoothed"):
            hits = await tape.search(question["question"], limit=len(turns), smoothed=way == "smoothed")
            orders[way] = [turns[hit.entry.id - 1]["dia_id"] for hit in hits]
        for way, order in orders.items():
            for budget in BUDGETS:
                recall = evidence_recall(gold, taken(order, costs, budget))
                if recall is not None:
                    found.append(Figure(talk=name, kind=KINDS[question["category"]], way=way, budget=budget, recall=recall))
    return found


def rows_of(figures: Sequence[Figure]) -> list[tuple[object, ...]]:
    """Return a row for each budget and way: over all questions, with its interval, and by kind of question."""
    by_way: dict[tuple[int, str], list[Figure]] = defaultdict(list)
    for figure in figures:
        by_way[figure.budget, figure.way].append(figure)
    return [(budget, way, *_means(by_way[budget, way])) for budget in BUDGETS for way in WAYS]


def _means(figures: Sequence[Figure]) -> tuple[object, ...]:
    low, high = _interval(figures)
    by_kind = [100 * fmean(figure.recall for figure in figures if figure.kind == kind) for kind in KINDS.values()]
    return 100 * fmean(figure.recall for figure in figures), low, high, 100 * fmean(figure.recall == 1 for figure in figures), *by_kind


def _interval(figures: Sequence[Figure]) -> tuple[float, float]:
    by_talk: dict[str, list[float]] = defaultdict(list)
    for figure in figures:
        by_talk[figure.talk].append(figure.recall)
    chance, talks = random.Random(1), list(by_talk.values())
    drawn = sorted(100 * fmean(recall for talk in chance.choices(talks, k=len(talks)) for recall in talk) for _ in range(DRAWS))
    return drawn[DRAWS * 25 // 1_000], drawn[DRAWS * 975 // 1_000]


def mistyped(word: str, chance: random.Random) -> str:
    """Return a word with a letter left out, added, changed, or swapped with the next."""
    place, letter = chance.randrange(len(word) - 1), chance.choice("abcdefghijklmnopqrstuvwxyz")
    front, back = word[:place], word[place:]
    return chance.choice((front + back[1:], front + letter + back, front + letter + back[1:], front + back[1] + back[0] + back[2:]))


async def typo_rows(store: WholeStore, talks: Iterable[Mapping[str, Any]]) -> list[tuple[object, ...]]:
    """Return a row for one typo and one for two: how many words were tried, became another, and were found of the rest."""
    chance, tried = random.Random(1), {1: [0, 0, 0], 2: [0, 0, 0]}
    for talk in talks:
        tape = Tape(store, str(talk["sample_id"]))
        words = sorted({word for turn in turns_of(talk) for word in re.findall(r"[a-z]{4,}", turn["text"].lower())} - GRAMMAR)
        for word in chance.sample(words, WORDS):
            once = mistyped(word, chance)
            for typos, typed in ((1, once), (2, mistyped(once, chance))):
                if len(typed) >= (4, 8)[typos - 1]:
                    is_another = any(set(terms(typed)) & set(terms(said(turn))) for turn in turns_of(talk))
                    is_found = bool({hit.entry.id for hit in await tape.search(typed, limit=1_000)} & {hit.entry.id for hit in await tape.search(word, limit=1_000)})
                    tried[typos] = [sum(pair) for pair in zip(tried[typos], (1, is_another, is_found and not is_another), strict=True)]
    return [(typos, count, another, 100 * found / (count - another)) for typos, (count, another, found) in tried.items()]


async def measured(store: WholeStore, *, counter: Counter) -> tuple[list[Figure], list[tuple[object, ...]]]:
    """Return the figures of all conversations, and the rows about typos."""
    talks = json.loads((data_folder() / "locomo" / "locomo_dev5.json").read_text(encoding="utf-8"))
    try:
        return [figure for talk in talks for figure in await figures_of(talk, store, counter=counter)], await typo_rows(store, talks)
    finally:
        await store.aclose()


def main() -> None:
    """Print the tables."""
    options = parser(__doc__)
    options.add_argument("--store", choices=STORES, default="memory", help="the store that is searched (default: memory)")
    given = options.parse_args()
    with ExitStack() as stack:
        store = STORES[given.store](Path(stack.enter_context(tempfile.TemporaryDirectory())))
        figures, typos = asyncio.run(measured(store, counter=exact_counter() or default_counter()))
    report("evidence found", ("tokens", "way", "R %", "from", "to", "All %", *KINDS.values()), rows_of(figures), file=given.json)
    print()
    report("typos", ("typos", "words", "another", "found %"), typos, file=given.json and given.json.with_stem(f"{given.json.stem}-typos"))


if __name__ == "__main__":
    main()
