import json
from pathlib import Path

import pytest

from playhead.errors import InvalidInput, UnreadableFile
from playhead.importers.detect import checked_format
from tests.unit.importers.sessions import Session, read


def test_an_unknown_format_names_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="auto, claude-code, openai-chat"):
        checked_format("codex")


def test_a_format_is_told_by_content_and_not_by_name(tmp_path: Path) -> None:
    session = Session()
    session.prompt("hello")
    entries, _ = read(session.write(tmp_path / "chat.json"))
    assert entries[-1].meta["import"]["format"] == "claude-code"
    (tmp_path / "session.jsonl").write_text(json.dumps([{"role": "user", "content": "hi"}]))
    entries, _ = read(tmp_path / "session.jsonl")
    assert entries[-1].meta["import"]["format"] == "openai-chat"


def test_broken_lines_before_the_first_record_do_not_hide_the_format(tmp_path: Path) -> None:
    session = Session()
    session.prompt("hello")
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"torn\n\0\0\0\n42\n' + session.lines()[0])
    entries, notes = read(path)
    assert len(notes.unreadable) == 3
    assert entries[-1].payload["content"] == "hello"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "empty"),
        (b" \n\r\n\t", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        ('{"type": "user"}'.encode("utf-16"), "UTF-16"),
        (b"\x1f\x8b\x08\x00rest", "gzip"),
        (b"PK\x03\x04rest", "zip"),
        (b"SQLite format 3\0rest", "SQLite"),
        (bytes(range(256)) * 20, "none of the formats"),
        (b"id,name\n1,x\n", "none of the formats"),
        (b'{"a": 1}\n{"b": 2}', "none of the formats"),
        (b"[1, 2, 3]", "none of the formats"),
        (b'"text"', "none of the formats"),
        (b"null", "none of the formats"),
        (b'{"timestamp": "t", "type": "response_item", "payload": {}}', "none of the formats"),
    ],
)
def test_what_is_no_transcript_is_refused_with_the_reason(body: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(body)
    with pytest.raises(UnreadableFile, match=why):
        read(path)


@pytest.mark.parametrize("format", ["claude-code", "openai-chat"])
def test_a_file_that_holds_nothing_of_the_named_format_is_refused(format: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"id,name\n1,x\n")
    with pytest.raises(UnreadableFile, match="format="):
        read(path, format=format)


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(tmp_path: Path) -> None:
    session = Session()
    session.prompt("one")
    session.prompt("two")
    plain, _ = read(session.write(tmp_path / "s.jsonl"))
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "s.jsonl").write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(session.lines()))
    windows, _ = read(tmp_path / "w" / "s.jsonl")
    assert windows == plain
