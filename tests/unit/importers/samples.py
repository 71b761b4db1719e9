"""A conversation in every format: what its tool writes, with a bit of everything the format knows."""

from __future__ import annotations

from typing import Any

from tests.unit.importers.sample import PIXEL, Sample, at
from tests.unit.importers.samples_tools import CODEX, GEMINI_CLI, GEMINI_CONTENTS, GEMINI_LINES, PI

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
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Ping it.", "signature": "sig"},
                {"type": "tool_use", "id": "toolu_1", "name": "ping", "input": {"host": "gw"}},
                {"type": "tool_use", "id": "toolu_2", "name": "ping", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "no", "is_error": True}, {"type": "tool_result", "tool_use_id": "toolu_2"}, {"type": "text", "text": "Well?"}],
        },
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": [{"type": "text", "text": "It is not."}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 3, "output_tokens": 4},
        },
    ],
    shown=("message Be brief.", "message Is gw up? image", "tool_call toolu_1,toolu_2", "tool_result toolu_1,toolu_2", "message Well?", "message It is not."),
)
SWE_AGENT = Sample(
    format="swe-agent",
    document="history",
    fields={
        "environment": "main",
        "trajectory": [{"action": "ls", "observation": "a b", "response": "I look.", "thought": "I look.", "execution_time": 0.1, "state": {"working_dir": "/w"}}],
        "info": {"exit_status": "submitted"},
    },
    records=[
        {"role": "system", "content": "Be brief.", "agent": "main", "message_type": "system_prompt"},
        {"role": "user", "content": [{"type": "text", "text": "Fix it."}], "agent": "main", "message_type": "observation", "is_demo": True},
        {
            "role": "assistant",
            "content": "I look.",
            "thought": "I look.",
            "action": "ls",
            "agent": "main",
            "message_type": "action",
            "tool_calls": [{"function": {"arguments": "{}", "name": "ls"}, "id": "call_1", "type": "function"}],
            "thinking_blocks": [{"type": "thinking", "thinking": "Hm.", "signature": "sig"}],
        },
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
        {
            "object": "response",
            "id": "resp_1",
            "model": "gpt-5",
            "output": [{"type": "function_call", "call_id": "call_2", "name": "bash", "arguments": "{}"}],
            "usage": {"input_tokens": 3},
            "extra": {"cost": 0.1},
        },
        {"type": "function_call_output", "call_id": "call_2", "output": "done"},
        {"role": "exit", "content": "patch", "extra": {"exit_status": "Submitted"}},
    ],
    shown=("message Be brief.", "message Fix it.", "message I look.", "message <returncode>0</returncode>", "tool_call call_1", "tool_result call_1", "tool_call call_2", "tool_result call_2"),
)
CLAUDE_AI = Sample(
    format="claude-ai",
    document="chat_messages",
    fields={"uuid": "c_1", "name": "Gateway", "created_at": at(1), "updated_at": at(9), "account": {"uuid": "a_1"}},
    records=[
        {
            "uuid": "m_1",
            "sender": "human",
            "text": "Is gw up?",
            "content": [{"start_timestamp": at(1), "stop_timestamp": at(1), "type": "text", "text": "Is gw up?", "citations": []}],
            "created_at": at(1),
            "attachments": [{"file_name": "gw.log", "file_size": 8, "file_type": "txt", "extracted_content": "MTU 1500"}],
            "files": [{"file_name": "gw.png"}],
        },
        {
            "uuid": "m_2",
            "sender": "assistant",
            "text": "I look.\n\nIt is not.",
            "content": [
                {"type": "thinking", "thinking": "Ping it.", "summaries": [{"summary": "Pinging"}]},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": None, "name": "ping", "input": {"host": "gw"}, "message": "Pinging"},
                {"type": "tool_result", "tool_use_id": None, "name": "ping", "content": [{"type": "text", "text": "no", "uuid": "t_1"}], "is_error": True},
                {"type": "text", "text": "It is not."},
                {"type": "token_budget", "left": 7},
            ],
            "created_at": at(2),
            "attachments": [],
            "files": [],
        },
        {"uuid": "m_3", "sender": "human", "text": "Thanks.", "created_at": at(3)},
    ],
    shown=("message Is gw up? [Attached: gw.log]\nMTU 1500", "tool_call ping-1", "tool_result ping-1", "message It is not. provider", "message Thanks."),
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
    shown=(
        "message Be brief.",
        "message Is gw up? image",
        "tool_call c1,c2,c3",
        "tool_result c1",
        "tool_result c2",
        "tool_result c3",
        "tool_call ",
        "tool_result ",
        "message Hm.",
        "message It is not.",
        "message Thanks.",
    ),
)


def request(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a pydantic-ai request."""
    return {"parts": list(parts), "kind": "request", "instructions": "In French.", "timestamp": None, **fields}


def response(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a pydantic-ai response."""
    return {"parts": list(parts), "kind": "response", "usage": {"input_tokens": 3}, "model_name": "claude-sonnet-4-5", "provider_name": "anthropic", "timestamp": at(3), **fields}


PYDANTIC_AI = Sample(
    format="pydantic-ai",
    document="",
    records=[
        request(
            {"part_kind": "system-prompt", "content": "Be brief.", "timestamp": at(1)},
            {
                "part_kind": "user-prompt",
                "content": ["Is gw up?", {"kind": "binary", "data": "__79", "media_type": "image/png", "identifier": "f0"}, {"kind": "image-url", "url": "https://x/y.png", "media_type": "image/png"}],
                "timestamp": at(2),
            },
            run_id="r1",
        ),
        response(
            {"part_kind": "thinking", "content": "Ping it.", "signature": "sig", "provider_name": "anthropic", "id": None},
            {"part_kind": "text", "content": "I look.", "id": None},
            {"part_kind": "tool-call", "tool_name": "ping", "args": {"host": "gw"}, "tool_call_id": "c1"},
            {"part_kind": "tool-call", "tool_name": "ping", "args": '{"host": "g2"}', "tool_call_id": "c2"},
        ),
        request(
            {"part_kind": "tool-return", "tool_name": "ping", "content": {"up": False}, "tool_call_id": "c1", "timestamp": at(4), "outcome": "success"},
            {"part_kind": "retry-prompt", "tool_name": "ping", "content": [{"type": "missing", "loc": ["port"], "msg": "Field required"}], "tool_call_id": "c2"},
            {"part_kind": "user-prompt", "content": "Well?", "timestamp": at(4)},
        ),
        response(
            {"part_kind": "builtin-tool-call", "tool_name": "web_search", "args": {"q": 1}, "tool_call_id": "w1"},
            {"part_kind": "builtin-tool-return", "tool_name": "web_search", "content": [1], "tool_call_id": "w1"},
            {"part_kind": "text", "content": "It is not."},
        ),
        request({"part_kind": "retry-prompt", "tool_name": None, "content": "Say why.", "tool_call_id": "x"}, {"part_kind": "instruction", "content": "?"}, instructions="In German."),
        response({"part_kind": "text", "content": "No route."}),
    ],
    shown=(
        "message In French.",
        "message Be brief.",
        "message Is gw up? image image",
        "tool_call c1,c2",
        "tool_result c1,c2",
        "message Well?",
        "message provider provider It is not.",
        "message Say why.\n\nFix the errors and try again.",
        "message No route.",
    ),
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
    "claude-ai": CLAUDE_AI,
    "sharegpt": SHAREGPT,
    "langchain": LANGCHAIN,
    "pydantic-ai": PYDANTIC_AI,
}
