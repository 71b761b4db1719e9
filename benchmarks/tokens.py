"""The default counter against exact o200k counts, by class of text and by file of real conversations, and how fast it counts.

Exact counts come from the extra `tokens` where it is installed, else from tests/golden/tokens/counts.json; `--golden` writes that file anew.
A file's turns are also summed over every window of 4,000 and 32,000 tokens; `lowest` is the worst of them.
Run: python -m benchmarks.tokens [--rounds N] [--json FILE] [--golden]
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from time import process_time

from benchmarks.measure import parser, report
from benchmarks.real import data_folder
from playhead.entry.message import user
from playhead.errors import MissingExtra
from playhead.view.exact import ExactCounter
from playhead.view.tokens import ClassAwareCounter, Counter, message_tokens
from tests.golden.tokens.odd import odd_texts
from tests.golden.tokens.said import read, said
from tests.golden.tokens.written import PYTHON, golden, texts

WINDOWS = (4_000, 32_000)
Count = Callable[[str], int]


def shared_files() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of every file of real conversations."""
    folder = data_folder()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in (".json", ".jsonl", ".traj"):
            yield path.relative_to(folder).as_posix(), read(path)


def counted(exact: Counter) -> dict[str, dict[str, object]]:
    """Return the exact counts that the tests compare with."""
    shared = {name: {"file": exact.count(text), "said": sum(map(exact.count, said(text)))} for name, text in shared_files()}
    written, odd = ({name: exact.count(text) for name, text in some.items()} for some in (texts(), odd_texts()))
    return {"written": dict(written), "odd": dict(odd), "shared": dict(shared)}


def exact_counter() -> ExactCounter | None:
    """Return the exact counter where its extra is installed."""
    try:
        return ExactCounter()
    except MissingExtra:
        return None


def error(estimate: int, exact: int) -> str:
    """Return an error in per cent, with its sign."""
    return f"{100 * (estimate / exact - 1):+.1f}" if exact else ""


def classes(estimate: Count, exact: dict[str, int], written: Mapping[str, str]) -> list[tuple[object, ...]]:
    """Return a row for each text this project wrote."""
    return [(name, exact[name], estimate(text), error(estimate(text), exact[name])) for name, text in written.items()]


def files(counter: Counter, golden_counts: dict[str, dict[str, int]], exact: Counter | None) -> Iterator[tuple[object, ...]]:
    """Yield a row for each file of real conversations."""
    for name, text in shared_files():
        if name not in golden_counts:
            continue
        turns = said(text)
        sums = golden_counts[name]
        lowest = [windowed(turns, size=size, counter=counter, exact=exact) if exact else "" for size in WINDOWS]
        yield name[-60:], sums["file"], error(counter.count(text), sums["file"]), sums["said"], error(sum(map(counter.count, turns)), sums["said"]), *lowest


def windowed(turns: Sequence[str], *, size: int, counter: Counter, exact: Counter) -> str:
    """Return the lowest error of the price of any run of turns that is about `size` tokens long."""
    prices = [message_tokens(user(turn), counter=counter) for turn in turns]
    tokens = [exact.count(turn) for turn in turns]
    first = price = total = 0
    lowest: list[float] = []
    for at in range(len(turns)):
        price, total = price + prices[at], total + tokens[at]
        while total > size and first < at:
            price, total, first = price - prices[first], total - tokens[first], first + 1
        if total > 0.7 * size:
            lowest.append(price / total)
    return f"{100 * (min(lowest) - 1):+.1f}" if lowest else ""


def speed(text: str, *, rounds: int) -> float:
    """Return how many megabytes a fresh counter counts in a second of processor time, at best."""
    seconds = []
    for _ in range(rounds):
        counter = ClassAwareCounter()
        began = process_time()
        counter.count(text)
        seconds.append(process_time() - began)
    return len(text.encode()) / min(seconds) / 1e6


def short(*, rounds: int, repeats: int = 20_000) -> float:
    """Return the microseconds of processor time that a message of forty characters takes, at best."""
    counter, text, seconds = ClassAwareCounter(), "Could you check the order A-1234, please", []
    for _ in range(rounds):
        began = process_time()
        for _ in range(repeats):
            counter.count(text)
        seconds.append(process_time() - began)
    return min(seconds) / repeats * 1e6


def speeds(*, rounds: int) -> list[tuple[str, float]]:
    """Return a row for each kind of text whose speed matters."""
    written = texts()
    locomo = read(data_folder() / "locomo/locomo_dev5.json")
    kinds = {
        "English turns": "\n".join(said(locomo)) * 4,
        "JSON of conversations": locomo,
        "a coding session": read(data_folder() / "trajectories/claude_code/spotter_258c7280.jsonl"),
        "programs": (PYTHON + written["typescript"] + written["sql"]) * 600,
        "Chinese turns": "\n".join(said(read(data_folder() / "memorybank/memory_bank_cn_8users.json"))) * 20,
        "base64": base64.b64encode(b"".join(sha256(i.to_bytes(4, "big")).digest() for i in range(20_000))).decode(),
    }
    return [*((f"{name}, MB/s", speed(text, rounds=rounds)) for name, text in kinds.items()), ("40 characters, us", short(rounds=rounds))]


def main() -> None:
    """Print the tables."""
    options = parser(__doc__)
    options.add_argument("--golden", action="store_true", help="write the exact counts that the tests compare with")
    given = options.parse_args()
    exact = exact_counter()
    if given.golden:
        golden().write_text(json.dumps(counted(exact or ExactCounter()), indent=1) + "\n", encoding="utf-8")
    known = json.loads(golden().read_text(encoding="utf-8"))
    counter = ClassAwareCounter()
    report("classes of text", ("text", "exact", "estimate", "error %"), classes(counter.count, known["written"], texts()), file=_beside(given.json, "classes"))
    print()
    report("odd texts", ("text", "exact", "estimate", "error %"), classes(counter.count, known["odd"], odd_texts()), file=_beside(given.json, "odd"))
    print()
    headings = ("file", "exact", "error %", "turns", "error %", *(f"lowest {size // 1_000}k %" for size in WINDOWS))
    report("files", headings, list(files(counter, known["shared"], exact)), file=_beside(given.json, "files"))
    print()
    report("speed", ("kind", "figure"), speeds(rounds=given.rounds), file=given.json)


def _beside(file: Path | None, name: str) -> Path | None:
    return file.with_name(f"{file.stem}-{name}{file.suffix}") if file else None


if __name__ == "__main__":
    main()
