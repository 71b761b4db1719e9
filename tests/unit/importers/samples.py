"""A conversation in every format: what its tool writes, with a bit of everything the format knows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PIXEL = "iVBORw0KGgo="
T = "2026-03-01T10:00:{:02d}.000Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Records of one file, as JSON Lines or (with `document`) in a list of a JSON document."""

    format: str
    records: list[Any]
    document: str | None = None
    fields: dict[str, Any] | None = None
    shown: tuple[str, ...] = ()

    def body(self, records: list[Any] | None = None) -> bytes:
        """Return the file's text."""
        records = self.records if records is None else records
        if self.document is None:
            return b"".join(json.dumps(r).encode() + b"\n" for r in records)
        return json.dumps(records if not self.document else {**(self.fields or {}), self.document: records}, indent=1).encode()

    def write(self, path: Path, records: list[Any] | None = None) -> Path:
        """Write the file."""
        path.write_bytes(self.body(records))
        return path


def codex(kind: str, second: int, /, **payload: Any) -> dict[str, Any]:
    """Return a line of a Codex rollout."""
    return {"timestamp": T.format(second), "type": kind, "payload": payload}


def words(role: str, text: str) -> dict[str, Any]:
    """Return the payload of a message item."""
    return {"type": "message", "role": role, "content": [{"type": "output_text" if role == "assistant" else "input_text", "text": text}]}


CODEX = Sample(
    format="codex",
    records=[
        codex("session_meta", 0, id="0199", timestamp=T.format(0), cwd="/w", originator="codex_cli_rs", cli_version="0.63.0", instructions=None, source="cli", model_provider="openai"),
        codex("response_item", 1, **words("developer", "Sandboxed.")),
        codex("response_item", 1, **words("user", "<environment_context>\n<cwd>/w</cwd></environment_context>")),
        codex("turn_context", 2, cwd="/w", model="gpt-5-codex", approval_policy="never"),
        codex("response_item", 2, **words("user", "Is gw up?")),
        codex("event_msg", 2, type="user_message", message="Is gw up?", images=[], kind="plain"),
        codex("event_msg", 3, type="agent_reasoning", text="**Looking**"),
        codex("response_item", 3, type="reasoning", id="rs_1", summary=[{"type": "summary_text", "text": "**Looking**"}], content=None, encrypted_content="gAAA"),
        codex("response_item", 4, **words("assistant", "I look.")),
        codex("event_msg", 4, type="agent_message", message="I look."),
        codex("response_item", 5, type="function_call", name="shell", arguments='{"command":["ping","gw"]}', call_id="call_1"),
        codex("response_item", 5, type="local_shell_call", call_id="call_2", status="completed", action={"type": "exec", "command": ["ls"]}),
        codex("event_msg", 5, type="token_count", info={"total_token_usage": {"input_tokens": 9}}),
        codex("response_item", 6, type="function_call_output", call_id="call_1", output={"content": "no route", "success": False}),
        codex("response_item", 6, type="function_call_output", call_id="call_2", output="a b"),
        codex("response_item", 7, type="custom_tool_call", name="apply_patch", call_id="call_3", input="*** Begin Patch", status="completed"),
        codex("response_item", 8, type="custom_tool_call_output", call_id="call_3", output="Done!"),
        codex("response_item", 9, type="web_search_call", id="ws_1", status="completed", action={"type": "search", "query": "gw"}),
        codex("response_item", 9, type="ghost_snapshot", ghost_commit={"id": "abc"}),
        codex("response_item", 10, **words("assistant", "It is not.")),
        codex("event_msg", 10, type="agent_message", message="It is not."),
    ],
    shown=(
        "message Sandboxed.",
        "message <environment_context>\n<cwd>/w</cwd></environment_context>",
        "message Is gw up?",
        "tool_call call_1,call_2",
        "tool_result call_1",
        "tool_result call_2",
        "tool_call call_3",
        "tool_result call_3",
        "message provider It is not.",
    ),
)


def pi(kind: str, id_: str | None, parent: str | None, second: int, /, **fields: Any) -> dict[str, Any]:
    """Return a record of a pi session."""
    tree = {} if id_ is None else {"id": id_, "parentId": parent}
    return {"type": kind, **tree, "timestamp": T.format(second), **fields}


def pi_turn(*content: Any, stop: str = "stop", **fields: Any) -> dict[str, Any]:
    """Return the message of a pi model turn."""
    made = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-sonnet-4-5"}
    return {"role": "assistant", "content": list(content), **made, "usage": {"input": 3, "output": 5}, "stopReason": stop, "timestamp": 1772359200000, **fields}


PI = Sample(
    format="pi",
    records=[
        {"type": "session", "version": 3, "id": "d703a1a9", "timestamp": T.format(0), "cwd": "/w"},
        pi("model_change", "a0", None, 0, provider="anthropic", modelId="claude-sonnet-4-5"),
        pi("message", "a1", "a0", 1, message={"role": "user", "content": "Is gw up?", "timestamp": 1}),
        pi("message", "a2", "a1", 2, message=pi_turn({"type": "thinking", "thinking": "Ping.", "thinkingSignature": "sig"}, {"type": "toolCall", "id": "t1", "name": "bash", "arguments": {"command": "ping gw"}}, stop="toolUse")),
        pi("message", "a3", "a2", 3, message={"role": "toolResult", "toolCallId": "t1", "toolName": "bash", "content": [{"type": "text", "text": "no"}], "isError": True, "timestamp": 3}),
        pi("message", "a4", "a3", 4, message=pi_turn({"type": "text", "text": "It is not."})),
        pi("message", "b1", "a1", 5, message=pi_turn({"type": "text", "text": "I would not know."})),
        pi("branch_summary", "b2", "a4", 6, fromId="b1", summary="I gave up."),
        pi("message", "b3", "b2", 7, message={"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 0, "cancelled": False, "truncated": False, "timestamp": 7}),
        pi("custom", "b4", "b3", 7, customType="x", data={"n": 1}),
        pi("custom_message", "b5", "b4", 7, customType="x", content=[{"type": "text", "text": "Mind the gap."}], display=True),
        pi("message", "b6", "b5", 8, message={"role": "user", "content": [{"type": "text", "text": "See:"}, {"type": "image", "data": PIXEL, "mimeType": "image/png"}], "timestamp": 8}),
        pi("message", "b7", "b6", 9, message=pi_turn(stop="aborted", errorMessage="Request was aborted.")),
        pi("message", "b8", "b7", 10, message=pi_turn({"type": "toolCall", "id": "t2", "name": "bash", "arguments": {"command": "pi"}, "partialJson": '{"command": "pi'}, stop="aborted", errorMessage="Request was aborted.")),
        pi("message", "b9", "b8", 11, message={"role": "user", "content": "Go on.", "timestamp": 11}),
        pi("label", "c0", "b9", 11, targetId="a1", label="start"),
    ],
    shown=(
        "message Is gw up?",
        "tool_call t1",
        "tool_result t1",
        "message It is not.",
        "message The conversation was continued from another branch. What was done there:\n\nI gave up.",
        "message Ran `ls`\n```\na\n```\nExit code 0.",
        "message Mind the gap.",
        "message See: image",
        "error Request was aborted.",
        "tool_call t2",
        "message Go on.",
    ),
)

GEMINI_CALLS = [
    {"id": "ping-1", "name": "ping", "args": {"host": "gw"}, "status": "success", "timestamp": T.format(3), "result": [{"functionResponse": {"id": "ping-1", "name": "ping", "response": {"output": "no"}}}], "displayName": "Ping"},
    {"id": "ls-2", "name": "ls", "args": {}, "status": "error", "timestamp": T.format(3), "result": [{"functionResponse": {"id": "ls-2", "name": "ls", "response": {"error": "denied"}}}], "resultDisplay": "denied"},
]
GEMINI_CLI = Sample(
    format="gemini-cli",
    document="messages",
    fields={"sessionId": "s-1", "projectHash": "abc", "startTime": T.format(0), "lastUpdated": T.format(9)},
    records=[
        {"id": "u1", "timestamp": T.format(1), "type": "user", "content": [{"text": "Is gw up?"}, {"inlineData": {"mimeType": "image/png", "data": PIXEL}}]},
        {"id": "i1", "timestamp": T.format(1), "type": "info", "content": "Update available"},
        {
            "id": "g1",
            "timestamp": T.format(2),
            "type": "gemini",
            "content": "I look.",
            "model": "gemini-2.5-pro",
            "thoughts": [{"subject": "Ping", "description": "I ping it.", "timestamp": T.format(2)}],
            "tokens": {"input": 3, "output": 4, "total": 7},
            "toolCalls": GEMINI_CALLS,
        },
        {"id": "g2", "timestamp": T.format(4), "type": "gemini", "content": "It is not.", "model": "gemini-2.5-pro", "thoughts": [], "tokens": None},
        {"id": "e1", "timestamp": T.format(5), "type": "error", "content": "Quota exceeded"},
        {"id": "u2", "timestamp": T.format(6), "type": "user", "content": "Why?"},
    ],
    shown=("message Is gw up? image", "tool_call ping-1,ls-2", "tool_result ping-1,ls-2", "message It is not.", "error Quota exceeded", "message Why?"),
)
GEMINI_LINES = Sample(
    format="gemini-cli",
    records=[
        {"sessionId": "s-1", "projectHash": "abc", "startTime": T.format(0), "lastUpdated": T.format(0), "kind": "main"},
        GEMINI_CLI.records[0],
        {"$set": {"lastUpdated": T.format(1)}},
        {**GEMINI_CLI.records[2], "toolCalls": [], "tokens": None},
        {**GEMINI_CLI.records[2], "toolCalls": [{**GEMINI_CALLS[0], "status": "executing", "result": None}], "tokens": None},
        GEMINI_CLI.records[2],
        GEMINI_CLI.records[3],
        {"id": "u9", "timestamp": T.format(5), "type": "user", "content": "Never mind."},
        {"id": "g9", "timestamp": T.format(5), "type": "gemini", "content": "Fine.", "model": "gemini-2.5-pro"},
        {"$rewindTo": "u9"},
        GEMINI_CLI.records[5],
    ],
    shown=("message Is gw up? image", "tool_call ping-1,ls-2", "tool_result ping-1,ls-2", "message It is not.", "message Why?"),
)
GEMINI_CONTENTS = Sample(
    format="gemini-contents",
    document="contents",
    fields={"systemInstruction": {"parts": [{"text": "Be brief."}]}, "generationConfig": {"temperature": 0}},
    records=[
        {"role": "user", "parts": [{"text": "Is gw up?"}, {"fileData": {"mimeType": "application/pdf", "fileUri": "https://x/y"}}]},
        {"role": "model", "parts": [{"text": "Ping it.", "thought": True, "thoughtSignature": "sg"}, {"functionCall": {"name": "ping", "args": {"host": "gw"}}}, {"functionCall": {"name": "ping", "args": {"host": "g2"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "ping", "response": {"output": "no"}}}, {"functionResponse": {"name": "ping", "response": {"up": True}}}, {"text": "Well?"}]},
        {"role": "model", "parts": [{"text": "One is."}, {"executableCode": {"language": "PYTHON", "code": "1"}}]},
    ],
    shown=("message Be brief.", "message Is gw up? document", "tool_call ping-1,ping-2", "tool_result ping-1,ping-2", "message Well?", "message One is. provider"),
)
RESPONSES = Sample(
    format="openai-responses",
    document="input",
    fields={"model": "gpt-5", "instructions": "Be brief.", "tools": [{"type": "function", "name": "ping"}]},
    records=[
        {"role": "user", "content": [{"type": "input_text", "text": "Is gw up?"}, {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"}]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "I look.", "annotations": []}]},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "ping", "arguments": '{"host":"gw"}', "status": "completed"},
        {"type": "function_call", "id": "fc_2", "call_id": "call_2", "name": "ping", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_2", "output": "yes"},
        {"type": "function_call_output", "call_id": "call_1", "output": [{"type": "input_text", "text": "no"}]},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "message", "role": "assistant", "content": "It is not."},
        {"role": "user", "content": "Thanks."},
    ],
    shown=("message Be brief.", "message Is gw up? image", "tool_call call_1,call_2", "tool_result call_2", "tool_result call_1", "message provider It is not.", "message Thanks."),
)
ANTHROPIC = Sample(
    format="anthropic-messages",
    document="messages",
    fields={"model": "claude-sonnet-4-5", "max_tokens": 100, "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]},
    records=[
        {"role": "user", "content": [{"type": "text", "text": "Is gw up?"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Ping it.", "signature": "sig"}, {"type": "tool_use", "id": "toolu_1", "name": "ping", "input": {"host": "gw"}}, {"type": "tool_use", "id": "toolu_2", "name": "ping", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "no", "is_error": True}, {"type": "tool_result", "tool_use_id": "toolu_2"}, {"type": "text", "text": "Well?"}]},
        {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [{"type": "text", "text": "It is not."}], "stop_reason": "end_turn", "usage": {"input_tokens": 3, "output_tokens": 4}},
    ],
    shown=("message Be brief.", "message Is gw up? image", "tool_call toolu_1,toolu_2", "tool_result toolu_1,toolu_2", "message Well?", "message It is not."),
)
SWE_AGENT = Sample(
    format="swe-agent",
    document="history",
    fields={"environment": "main", "trajectory": [{"action": "ls", "observation": "a b", "response": "I look.", "thought": "I look.", "execution_time": 0.1, "state": {"working_dir": "/w"}}], "info": {"exit_status": "submitted"}},
    records=[
        {"role": "system", "content": "Be brief.", "agent": "main", "message_type": "system_prompt"},
        {"role": "user", "content": [{"type": "text", "text": "Fix it."}], "agent": "main", "message_type": "observation", "is_demo": True},
        {"role": "assistant", "content": "I look.", "thought": "I look.", "action": "ls", "agent": "main", "message_type": "action", "tool_calls": [{"function": {"arguments": "{}", "name": "ls"}, "id": "call_1", "type": "function"}], "thinking_blocks": [{"type": "thinking", "thinking": "Hm.", "signature": "sig"}]},
        {"role": "tool", "content": "a b", "agent": "main", "message_type": "observation", "tool_call_ids": ["call_1"]},
        {"role": "assistant", "content": None, "thought": "Done.", "action": "submit", "agent": "main", "message_type": "action"},
        {"role": "user", "content": "Submitted.", "agent": "main", "message_type": "observation"},
    ],
    shown=("message Be brief.", "message Fix it.", "tool_call call_1", "tool_result call_1", "message Done.", "message Submitted."),
)
MINI_SWE_AGENT = Sample(
    format="mini-swe-agent",
    document="messages",
    fields={"info": {"mini_version": "1.14.0", "exit_status": "Submitted"}, "trajectory_format": "mini-swe-agent-1"},
    records=[
        {"role": "system", "content": "Be brief.", "extra": {"timestamp": 1772359201.5}},
        {"role": "user", "content": "Fix it."},
        {"role": "assistant", "content": "I look.", "extra": {"response": {"model": "gpt-5", "usage": {"prompt_tokens": 3}, "choices": []}}},
        {"role": "user", "content": "<returncode>0</returncode>"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "a b", "extra": {"returncode": 0}},
        {"object": "response", "id": "resp_1", "model": "gpt-5", "output": [{"type": "function_call", "call_id": "call_2", "name": "bash", "arguments": "{}"}], "usage": {"input_tokens": 3}, "extra": {"cost": 0.1}},
        {"type": "function_call_output", "call_id": "call_2", "output": "done"},
        {"role": "exit", "content": "patch", "extra": {"exit_status": "Submitted"}},
    ],
    shown=("message Be brief.", "message Fix it.", "message I look.", "message <returncode>0</returncode>", "tool_call call_1", "tool_result call_1", "tool_call call_2", "tool_result call_2"),
)
SHAREGPT = Sample(
    format="sharegpt",
    document="conversations",
    fields={"id": "x_1", "system": "Be brief.", "tools": "[]"},
    records=[
        {"from": "human", "value": "Is gw up?"},
        {"from": "function_call", "value": '{"name": "ping", "arguments": {"host": "gw"}}'},
        {"from": "observation", "value": "no"},
        {"from": "gpt", "value": "It is not.", "weight": 1},
        {"from": "tool", "value": "noise"},
        {"from": "human", "value": "Thanks."},
    ],
    shown=("message Be brief.", "message Is gw up?", "tool_call ", "tool_result ", "message It is not.", "message noise", "message Thanks."),
)


def langchain(kind: str, content: Any, /, **data: Any) -> dict[str, Any]:
    """Return a message as `messages_to_dict` writes it."""
    return {"type": kind, "data": {"content": content, "additional_kwargs": {}, "response_metadata": {}, "type": kind, "name": None, "id": None, **data}}


LANGCHAIN = Sample(
    format="langchain",
    document="",
    records=[
        langchain("system", "Be brief."),
        langchain("human", [{"type": "text", "text": "Is gw up?"}, {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}]),
        langchain(
            "ai",
            [{"type": "thinking", "thinking": "Ping it.", "signature": "sig"}, {"type": "text", "text": "I look."}, {"type": "tool_use", "id": "c1", "name": "ping", "input": {"host": "gw"}}],
            tool_calls=[{"name": "ping", "args": {"host": "gw"}, "id": "c1", "type": "tool_call"}, {"name": "ping", "args": {}, "id": "c2", "type": "tool_call"}],
            invalid_tool_calls=[{"type": "invalid_tool_call", "id": "c3", "name": "ls", "args": "{bad", "error": "no JSON"}],
            usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
            response_metadata={"model_name": "claude-sonnet-4-5", "model_provider": "anthropic"},
        ),
        langchain("tool", "no", tool_call_id="c1", status="success", artifact={"raw": 1}, name="ping"),
        langchain("tool", [{"type": "text", "text": "yes"}], tool_call_id="c2", status="success"),
        langchain("tool", "No JSON.", tool_call_id="c3", status="error"),
        langchain("ai", "", additional_kwargs={"function_call": {"name": "ls", "arguments": "{}"}}),
        langchain("function", "a b", name="ls"),
        langchain("chat", "Hm.", role="critic"),
        langchain("remove", "", id="m1"),
        {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "AIMessageChunk"], "kwargs": {"content": "It is not.", "type": "AIMessageChunk"}},
        {"type": "human", "content": "Thanks.", "additional_kwargs": {}},
    ],
    shown=("message Be brief.", "message Is gw up? image", "tool_call c1,c2,c3", "tool_result c1", "tool_result c2", "tool_result c3", "tool_call ", "tool_result ", "message Hm.", "message It is not.", "message Thanks."),
)


def request(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a pydantic-ai request."""
    return {"parts": list(parts), "kind": "request", "instructions": "In French.", "timestamp": None, **fields}


def response(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a pydantic-ai response."""
    return {"parts": list(parts), "kind": "response", "usage": {"input_tokens": 3}, "model_name": "claude-sonnet-4-5", "provider_name": "anthropic", "timestamp": T.format(3), **fields}


PYDANTIC_AI = Sample(
    format="pydantic-ai",
    document="",
    records=[
        request(
            {"part_kind": "system-prompt", "content": "Be brief.", "timestamp": T.format(1)},
            {"part_kind": "user-prompt", "content": ["Is gw up?", {"kind": "binary", "data": "__79", "media_type": "image/png", "identifier": "f0"}, {"kind": "image-url", "url": "https://x/y.png", "media_type": "image/png"}], "timestamp": T.format(2)},
            run_id="r1",
        ),
        response(
            {"part_kind": "thinking", "content": "Ping it.", "signature": "sig", "provider_name": "anthropic", "id": None},
            {"part_kind": "text", "content": "I look.", "id": None},
            {"part_kind": "tool-call", "tool_name": "ping", "args": {"host": "gw"}, "tool_call_id": "c1"},
            {"part_kind": "tool-call", "tool_name": "ping", "args": '{"host": "g2"}', "tool_call_id": "c2"},
        ),
        request(
            {"part_kind": "tool-return", "tool_name": "ping", "content": {"up": False}, "tool_call_id": "c1", "timestamp": T.format(4), "outcome": "success"},
            {"part_kind": "retry-prompt", "tool_name": "ping", "content": [{"type": "missing", "loc": ["port"], "msg": "Field required"}], "tool_call_id": "c2"},
            {"part_kind": "user-prompt", "content": "Well?", "timestamp": T.format(4)},
        ),
        response({"part_kind": "builtin-tool-call", "tool_name": "web_search", "args": {"q": 1}, "tool_call_id": "w1"}, {"part_kind": "builtin-tool-return", "tool_name": "web_search", "content": [1], "tool_call_id": "w1"}, {"part_kind": "text", "content": "It is not."}),
        request({"part_kind": "retry-prompt", "tool_name": None, "content": "Say why.", "tool_call_id": "x"}, {"part_kind": "instruction", "content": "?"}, instructions="In German."),
        response({"part_kind": "text", "content": "No route."}),
    ],
    shown=("message In French.", "message Be brief.", "message Is gw up? image image", "tool_call c1,c2", "tool_result c1,c2", "message Well?", "message provider provider It is not.", "message Say why.\n\nFix the errors and try again.", "message No route."),
)
SAMPLES = {
    "codex": CODEX,
    "pi": PI,
    "gemini-cli": GEMINI_CLI,
    "gemini-cli lines": GEMINI_LINES,
    "gemini-contents": GEMINI_CONTENTS,
    "openai-responses": RESPONSES,
    "anthropic-messages": ANTHROPIC,
    "swe-agent": SWE_AGENT,
    "mini-swe-agent": MINI_SWE_AGENT,
    "sharegpt": SHAREGPT,
    "langchain": LANGCHAIN,
    "pydantic-ai": PYDANTIC_AI,
}
