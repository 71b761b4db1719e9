"""What holds for every format alike."""

import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playhead.entry.entry import TapeEntry
from playhead.errors import UnreadableFile
from playhead.importers.formats import FORMATS
from tests.unit.importers.sample import Sample
from tests.unit.importers.samples import SAMPLES
from tests.unit.importers.sessions import read, shown, told

every_sample = pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)


def keys(entries: list[TapeEntry]) -> list[str]:
    return [e.meta["idempotency_key"] for e in entries]


@every_sample
def test_a_file_is_recognised_and_shows_what_was_said(sample: Sample, tmp_path: Path) -> None:
    entries, notes = read(sample.write(tmp_path / "file"))
    assert {e.meta["import"]["format"] for e in entries} == {sample.format}
    assert tuple(told(shown(entries))) == sample.shown
    assert (notes.unreadable, notes.warnings) == ([], [])


def test_there_is_a_sample_of_every_format_but_those_with_tests_of_their_own() -> None:
    assert {s.format for s in SAMPLES.values()} == set(FORMATS) - {"claude-code", "openai-chat", "playhead"}


@every_sample
def test_every_entry_has_a_key_of_its_own(sample: Sample, tmp_path: Path) -> None:
    entries, _ = read(sample.write(tmp_path / "file"))
    assert len(set(keys(entries))) == len(entries)


@every_sample
def test_a_document_on_one_line_says_the_same_as_one_on_many(sample: Sample, tmp_path: Path) -> None:
    if sample.document is None:
        pytest.skip("JSON Lines")
    indented, _ = read(sample.write(tmp_path / "file"))
    (tmp_path / "file").write_text(json.dumps(json.loads(sample.body())))
    compact, notes = read(tmp_path / "file")
    assert told(shown(compact)) == told(shown(indented))
    assert [e.payload for e in shown(compact)] == [e.payload for e in shown(indented)]
    assert keys(shown(compact)) == keys(shown(indented))
    assert notes.unreadable == []


@every_sample
def test_windows_line_ends_and_a_byte_order_mark_change_nothing(sample: Sample, tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    plain, _ = read(sample.write(tmp_path / "file"))
    (tmp_path / "w" / "file").write_bytes(b"\xef\xbb\xbf" + sample.body().replace(b"\n", b"\r\n"))
    windows, _ = read(tmp_path / "w" / "file")
    assert [(e.kind, e.payload, e.meta["idempotency_key"]) for e in windows] == [(e.kind, e.payload, e.meta["idempotency_key"]) for e in plain]


@every_sample
def test_every_record_is_on_the_tape_by_its_line(sample: Sample, tmp_path: Path) -> None:
    records = sample.records
    path = tmp_path / "file"
    path.write_text("\n".join(map(json.dumps, records)))
    entries, notes = read(path, format=sample.format)
    assert lines(entries) | {line for line, _ in notes.unreadable} == set(range(1, len(records) + 1)) - rewritten(records)
    assert notes.rewritten == len(rewritten(records))


def lines(entries: list[TapeEntry]) -> set[int]:
    """Return the lines that entries were made from."""
    return {line for e in entries for line in e.meta["import"].get("lines", (e.meta["import"]["line"],))}


def rewritten(records: list[Any]) -> set[int]:
    """Return the lines that a later one says again, as Gemini CLI writes them."""
    last = {r["id"]: i for i, r in enumerate(records) if r.get("type") == "gemini"}
    return {i + 1 for i, r in enumerate(records) if r.get("type") == "gemini" and last[r["id"]] != i}


SAID_BY_FORM = {"type", "role", "kind", "part_kind", "sender", "from", "object", "status", "timestamp", "lc", "data", "url", "image_url"}
"""Keys whose texts say how a record is written, or come in another form on a tape."""


@every_sample
def test_no_text_of_a_record_is_lost(sample: Sample, tmp_path: Path) -> None:
    entries, _ = read(sample.write(tmp_path / "file"))
    kept = "\n".join(text for e in entries for text in texts([json.loads(json.dumps([e.payload, e.meta]))], skipped=frozenset()))
    lost = [text for text in texts([sample.records, sample.fields], skipped=frozenset(SAID_BY_FORM)) if text not in kept and not said_as_json(text, kept)]
    assert lost == []


def texts(value: Any, *, skipped: frozenset[str]) -> Iterator[str]:
    """Yield the texts anywhere in a JSON value, but for those under some keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, member in value.items():
            if key not in skipped or isinstance(member, (dict, list)):
                yield from texts(member, skipped=skipped)
    elif isinstance(value, list) and "langchain" not in value:
        for member in value:
            yield from texts(member, skipped=skipped)


def said_as_json(text: str, kept: str) -> bool:
    """Tell whether a text is JSON, as arguments are written, whose texts are all kept."""
    return text.startswith(("{", "[")) and all(t in kept for t in texts(json.loads(text), skipped=frozenset()))


@every_sample
def test_a_cut_off_file_keeps_what_is_whole(sample: Sample, tmp_path: Path) -> None:
    whole = read(sample.write(tmp_path / "file"))[0]
    (tmp_path / "file").write_bytes(sample.body()[:-20])
    entries, notes = read(tmp_path / "file")
    assert notes.unreadable
    assert [e.payload for e in shown(entries)[:-1]] == [e.payload for e in shown(whole)][: len(shown(entries)) - 1]
    assert len(shown(entries)) >= len(shown(whole)) - 2


BROKEN = {
    b'{"torn': "no valid JSON",
    b'{"nul": "\0"}': "a NUL byte in it",
    b'{"latin": "caf\xe9"}': "no valid UTF-8 at byte 14",
    b'{"big": 1e999}': "Cannot store",
    b"[" * 200 + b"]" * 200: "nested deeper",
}
"""Lines that cannot be read, and why."""


@every_sample
def test_lines_that_cannot_be_read_are_kept_raw_and_those_around_them_are_read(sample: Sample, tmp_path: Path) -> None:
    lines = [json.dumps(r).encode() for r in sample.records]
    path = tmp_path / "file"
    path.write_bytes(b"\n".join(lines))
    whole, _ = read(path, format=sample.format)
    path.write_bytes(b"\n".join([lines[0], *BROKEN, *lines[1:]]))
    entries, notes = read(path, format=sample.format)
    assert told(shown(entries)) == told(shown(whole))
    assert [line for line, _ in notes.unreadable] == [2, 3, 4, 5, 6]
    for (_, why), expected in zip(notes.unreadable, BROKEN.values(), strict=True):
        assert why.startswith(expected)
    kept = [e.payload["data"] for e in entries if e.payload.get("name") == "import.unreadable"]
    assert [b64decode(d["base64"]) if "base64" in d else d["text"].encode() for d in kept] == list(BROKEN)


@every_sample
def test_strict_refuses_a_file_with_a_line_that_cannot_be_read_and_names_it(sample: Sample, tmp_path: Path) -> None:
    lines = [json.dumps(r).encode() for r in sample.records]
    (tmp_path / "file").write_bytes(b"\n".join([lines[0], b'{"torn', *lines[1:]]))
    with pytest.raises(UnreadableFile, match="line 2: no valid JSON") as raised:
        read(tmp_path / "file", format=sample.format, strict=True)
    assert raised.value.line == 2
