import json
from pathlib import Path

import pytest

from playhead.errors import InvalidInput, UnreadableFile
from playhead.importers.detect import Opened, checked_format, source_of
from playhead.importers.formats import FORMATS
from playhead.importers.lines import LINE_LIMIT
from tests.unit.importers.sessions import Session, read


def test_an_unknown_format_names_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match=r"auto, claude-code, codex, .*, playhead"):
        checked_format("morse")


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


RECORD = {"role": "user", "content": "hello"}
BROKEN = {
    "torn": (b'{"role": "user", "cont', "no valid JSON"),
    "latin-1": (b'{"role": "user", "content": "caf\xe9"}', "no valid UTF-8 at byte 32"),
    "NaN": (b'{"role": "user", "content": "hi", "cost": NaN}', "NaN is no JSON number"),
    "a torn list": (b'[{"role": "user"', "no valid JSON"),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_first_line_that_cannot_be_read_takes_no_other_line_with_it(broken: str, tmp_path: Path) -> None:
    line, why = BROKEN[broken]
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n".join([line, *[json.dumps(RECORD).encode()] * 3]))
    entries, notes = read(path)
    assert [n for n, _ in notes.unreadable] == [1] and why in notes.unreadable[0][1]
    assert [e.payload["content"] for e in entries if e.kind == "message"] == ["hello"] * 3


def test_a_first_line_that_is_too_long_takes_no_other_line_with_it(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with path.open("wb") as file:
        file.writelines([b'{"role": "user", "content": "', b"x" * LINE_LIMIT, b'"}\n', json.dumps(RECORD).encode()])
    with path.open("rb") as file:
        source = source_of(Opened(file=file, size=path.stat().st_size, path=str(path), name=path.name), format="auto")
        assert (source.format, list(source.index(strict=False))[-1] >= LINE_LIMIT, source.conversations) == ("openai-chat", True, 1)


@pytest.mark.parametrize("text", ["[\n{}\n]", "[\n{}\n,\n{}\n]", '{"messages": [\n{},\n{}\n]}', '{"model": "m",\n"messages":\n[\n{}\n,\n{}\n,\n{}\n]\n}'])
def test_a_document_with_a_message_a_line_is_no_json_lines(text: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(text.replace("{}", json.dumps(RECORD)))
    entries, notes = read(path)
    assert notes.unreadable == []
    assert {e.payload["content"] for e in entries if e.kind == "message"} == {"hello"}


@pytest.mark.parametrize("body", [b'{"messages": [{"role": "us', b'{"messages": [{"role": "user", "content": "caf\xe9"}]}', b'{"role": "user", "x": 1, "content": NaN}'])
def test_a_file_of_which_nothing_can_be_read_is_refused_with_the_line_and_the_cause(body: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(body)
    with pytest.raises(UnreadableFile, match=r"\(line 1: no valid (JSON|UTF-8)"):
        read(path)


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
    ],
)
def test_what_is_no_transcript_is_refused_with_the_reason(body: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(body)
    with pytest.raises(UnreadableFile, match=why):
        read(path)


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(tmp_path: Path) -> None:
    session = Session()
    session.prompt("one")
    session.prompt("two")
    plain, _ = read(session.write(tmp_path / "s.jsonl"))
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "s.jsonl").write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(session.lines()))
    windows, _ = read(tmp_path / "w" / "s.jsonl")
    assert windows == plain


LINES = {
    "codex": {"type": "event_msg", "timestamp": "t", "payload": {"type": "token_count"}},
    "pi": {"type": "message", "message": {"role": "user", "content": "hi"}},
    "gemini-cli": {"id": "1", "type": "gemini", "content": "hi"},
    "openai-chat": {"role": "tool", "tool_call_id": "c", "content": "hi"},
    "openai-responses": {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    "anthropic-messages": {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
    "gemini-contents": {"role": "model", "parts": [{"text": "hi"}]},
    "swe-agent": {"role": "user", "content": "hi", "agent": "main"},
    "mini-swe-agent": {"role": "exit", "content": "hi"},
    "claude-ai": {"uuid": "m", "sender": "human", "text": "hi"},
    "sharegpt": {"from": "human", "value": "hi"},
    "langchain": {"type": "human", "data": {"content": "hi"}},
    "pydantic-ai": {"kind": "request", "parts": []},
    "playhead": {"kind": "message", "payload": {"role": "user", "content": "hi"}, "meta": {}},
}


@pytest.mark.parametrize("format", LINES)
def test_one_line_tells_the_format(format: str, tmp_path: Path) -> None:
    plain = {"role": "user", "content": "hi"} if format not in ("claude-ai", "pi", "gemini-cli", "langchain", "pydantic-ai", "playhead", "sharegpt", "codex", "gemini-contents") else LINES[format]
    (tmp_path / "file").write_text("\n".join(map(json.dumps, [plain, LINES[format]])))
    assert found(tmp_path / "file") == format


def found(path: Path) -> str:
    with path.open("rb") as file:
        return source_of(Opened(file=file, size=path.stat().st_size, path=str(path), name=path.name), format="auto").format


def test_plain_words_with_roles_are_read_as_openai_chat(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(json.dumps([{"role": "user", "content": "hi"}, {"role": "assistant", "content": [{"type": "text", "text": "ho"}]}]))
    assert found(tmp_path / "file") == "openai-chat"


@pytest.mark.parametrize(("one", "other"), [("pi", "langchain"), ("codex", "pydantic-ai"), ("anthropic-messages", "openai-responses"), ("sharegpt", "gemini-cli")])
def test_a_file_with_the_marks_of_two_formats_is_refused_and_names_both(one: str, other: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("\n".join(map(json.dumps, [LINES[one], LINES[other]])))
    with pytest.raises(UnreadableFile, match=r"several formats.*format=") as raised:
        read(path)
    assert one in str(raised.value) and other in str(raised.value)
    assert {e.meta["import"]["format"] for e in read(path, format=one)[0]} == {one}


def test_a_stray_line_of_another_format_makes_no_doubt(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("\n".join(map(json.dumps, [*[LINES["pi"]] * 20, LINES["sharegpt"]])))
    assert found(tmp_path / "file") == "pi"


def test_a_trajectory_is_not_taken_for_the_chat_it_holds(tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]}, LINES["openai-chat"]] * 20
    (tmp_path / "file").write_text(json.dumps({"info": {"mini_version": "1"}, "messages": chat, "trajectory_format": "mini-swe-agent-1"}, indent=1))
    assert found(tmp_path / "file") == "mini-swe-agent"


def test_lines_that_are_lists_of_messages_are_conversations(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("\n".join(json.dumps([{"role": "user", "content": str(n)}, {"role": "assistant", "content": "ok"}]) for n in range(3)))
    entries, notes = read(tmp_path / "file")
    assert (notes.unreadable, [e.payload["name"] for e in entries if e.kind == "anchor"]) == ([], ["conversation/1", "conversation/2", "conversation/3"])


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_that_holds_nothing_of_the_named_format_is_refused(format: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("id,name\n1,x\n")
    with pytest.raises(UnreadableFile, match="format="):
        read(path, format=format)
