"""What is particular to the export of claude.ai."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from playhead.entry.entry import TapeEntry
from playhead.importers.report import Notes
from tests.unit.importers.sessions import read, shown, told

ROOT = "00000000-0000-4000-8000-000000000000"


def message(uuid: str, sender: str, *content: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"uuid": uuid, "sender": sender, "text": "", "content": list(content), "attachments": [], "files": [], **fields}


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def export(*chats: list[dict[str, Any]], tmp_path: Path) -> tuple[list[TapeEntry], Notes]:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([{"uuid": f"c{i}", "name": f"Chat {i}", "created_at": "2026-03-01T10:00:00Z", "chat_messages": chat} for i, chat in enumerate(chats)]))
    return read(path)


def test_every_chat_of_an_export_is_a_conversation_and_an_empty_one_is_kept(tmp_path: Path) -> None:
    entries, notes = export([message("a", "human", words("hi"))], [], [message("b", "human", words("ho"))], tmp_path=tmp_path)
    assert told(shown(entries)) == ["anchor conversation/1", "message hi", "anchor conversation/2", "message ho"]
    assert "Chat 1" in {e.payload["data"].get("name") for e in entries if e.kind == "event"}
    assert notes.unreadable == []


def test_an_export_without_blocks_is_told_by_its_text(tmp_path: Path) -> None:
    older = [{"uuid": "a", "sender": "human", "text": "hi", "created_at": "2026-03-01T10:00:01Z"}, {"uuid": "b", "sender": "assistant", "text": "ho", "content": []}]
    entries, _ = export(older, tmp_path=tmp_path)
    assert told(shown(entries)) == ["message hi", "message ho"]


def test_what_was_edited_is_kept_and_the_newest_wording_is_shown(tmp_path: Path) -> None:
    chat = [
        message("a", "human", words("Is gw up?"), parent_message_uuid=ROOT),
        message("b", "assistant", words("Which?"), parent_message_uuid="a"),
        message("c", "human", words("Is gw1 up?"), parent_message_uuid=ROOT),
        message("d", "assistant", words("It is."), parent_message_uuid="c"),
    ]
    entries, _ = export(chat, tmp_path=tmp_path)
    assert told(shown(entries)) == ["message Is gw1 up?", "message It is."]
    assert [e.meta.get("context") for e in entries if e.kind == "message"] == [False, False, None, None]


def test_turns_and_answers_of_one_message_come_in_their_order(tmp_path: Path) -> None:
    blocks = [{"type": "tool_use", "name": n, "input": {}} for n in "ab"] + [{"type": "tool_result", "name": n, "content": [words(n)]} for n in "ab"]
    entries, _ = export(
        [message("a", "human", words("Go.")), message("b", "assistant", *blocks, {"type": "tool_use", "name": "a", "input": {}}, {"type": "tool_result", "name": "a", "content": "3"})],
        tmp_path=tmp_path,
    )
    assert told(shown(entries)) == ["message Go.", "tool_call a-1,b-2", "tool_result a-1,b-2", "tool_call a-3", "tool_result a-3"]


def test_a_block_of_an_unknown_kind_is_kept_word_for_word(tmp_path: Path) -> None:
    block = {"type": "canvas", "text": "x" * 5_000}
    entries, _ = export([message("a", "human", words("Go.")), message("b", "assistant", block)], tmp_path=tmp_path)
    assert shown(entries)[-1].payload["content"] == [{"type": "provider", "provider": "claude-ai", "value": block}]


def test_a_message_that_is_none_is_an_event(tmp_path: Path) -> None:
    odd = {"uuid": "x", "sender": "narrator", "text": "dusk"}
    entries, _ = export([*[message(f"m{i}", "human", words("hi")) for i in range(10)], odd], tmp_path=tmp_path)
    assert [e.payload["data"] for e in entries if e.payload.get("name") == "claude_ai.other"] == [odd]
