"""What an import takes of memory does not follow the size of the file."""

import json
import subprocess
import sys
from pathlib import Path

from tests.unit.importers.sessions import Session, call, read, shown, told

CHILD = """
import resource, sys, anyio
from playhead.importers.driver import import_file
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.tape.tape import Tape

async def main():
    async with SQLiteTapeStore(sys.argv[2], durability="process") as store:
        report = await import_file(sys.argv[1], into=Tape(store, "t"))
        print(report.added, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)

anyio.run(main)
"""


def peak(path: Path) -> tuple[int, int]:
    """Return how many entries an import in a process of its own adds, and its peak in MiB."""
    done = subprocess.run([sys.executable, "-c", CHILD, str(path), str(path.with_suffix(".db"))], check=True, capture_output=True, text=True)
    added, memory = map(int, done.stdout.split())
    return added, memory


def a_session(path: Path, *, turns: int) -> Path:
    """Write a session with results of 20 kB."""
    session = Session()
    with path.open("wb") as file:
        for n in range(turns):
            session.turn(call(f"c{n}"), id=f"m{n}")
            session.result(f"c{n}", "found " * 3_500)
            file.writelines(line + b"\n" for line in session.lines())
            session.records.clear()
    return path


def test_a_file_of_eight_times_the_size_takes_the_same_memory(tmp_path: Path) -> None:
    short, few = peak(a_session(tmp_path / "short.jsonl", turns=150)), 150
    long = peak(a_session(tmp_path / "long.jsonl", turns=8 * few))
    assert (short[0], long[0]) == (2 * few + 1, 16 * few + 1)
    assert long[1] - short[1] < 12


def test_a_list_of_conversations_is_read_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "many.json"
    sizes = []
    for count in (30, 240):
        with path.open("w") as file:
            for n in range(count):
                messages = [{"role": "user", "content": f"{n}"}, {"role": "assistant", "content": "word " * 20_000}]
                file.write(f"{',' if n else '['}{json.dumps({'id': n, 'messages': messages})}\n")
            file.write("]")
        sizes.append(peak(path.rename(tmp_path / f"{count}.json")))
    assert [added for added, _ in sizes] == [4 * 30, 4 * 240]
    assert sizes[1][1] - sizes[0][1] < 12


def test_a_line_above_the_limit_is_kept_in_parts(tmp_path: Path) -> None:
    session = Session()
    session.prompt("one")
    session.prompt("two")
    first, second = session.lines()
    long = b'{"type": "user", "text": "' + b"x" * (65 << 20) + b'"}'
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n".join([first, long, second]))
    entries, notes = read(path)
    assert told(shown(entries)) == ["message one", "message two"]
    assert notes.unreadable == [(2, "longer than 64 MiB")]
    parts = [e.payload["data"] for e in entries if e.payload.get("name") == "import.unreadable"]
    assert "".join(p["text"] for p in parts).encode() == long
    assert [p["part"] for p in parts] == list(range(len(parts)))
    assert [p["last"] for p in parts].index(True) == len(parts) - 1
