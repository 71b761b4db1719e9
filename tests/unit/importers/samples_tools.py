"""Samples of what coding tools keep: Codex rollouts, pi session trees, Gemini CLI sessions and contents."""

from __future__ import annotations

from typing import Any

from tests.unit.importers.sample import PIXEL, Sample, at


def codex(kind: str, second: int, /, **payload: Any) -> dict[str, Any]:
    """Return a line of a Codex rollout."""
    return {"timestamp": at(second), "type": kind, "payload": payload}


def words(role: str, text: str) -> dict[str, Any]:
    """Return the payload of a message item."""
    return {"type": "message", "role": role, "content": [{"type": "output_text" if role == "assistant" else "input_text", "text": text}]}


CODEX = Sample(
    format="codex",
    records=[
        codex("session_meta", 0, id="0199", timestamp=at(0), cwd="/w", originator="codex_cli_rs", cli_version="0.63.0", instructions=None, source="cli", model_provider="openai"),
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
    return {"type": kind, **tree, "timestamp": at(second), **fields}


def pi_turn(*content: Any, stop: str = "stop", **fields: Any) -> dict[str, Any]:
    """Return the message of a pi model turn."""
    made = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-sonnet-4-5"}
    return {"role": "assistant", "content": list(content), **made, "usage": {"input": 3, "output": 5}, "stopReason": stop, "timestamp": 1772359200000, **fields}


PI = Sample(
    format="pi",
    records=[
        {"type": "session", "version": 3, "id": "d703a1a9", "timestamp": at(0), "cwd": "/w"},
        pi("model_change", "a0", None, 0, provider="anthropic", modelId="claude-sonnet-4-5"),
        pi("message", "a1", "a0", 1, message={"role": "user", "content": "Is gw up?", "timestamp": 1}),
        pi(
            "message",
            "a2",
            "a1",
            2,
            message=pi_turn(
                {"type": "thinking", "thinking": "Ping.", "thinkingSignature": "sig"}, {"type": "toolCall", "id": "t1", "name": "bash", "arguments": {"command": "ping gw"}}, stop="toolUse"
            ),
        ),
        pi("message", "a3", "a2", 3, message={"role": "toolResult", "toolCallId": "t1", "toolName": "bash", "content": [{"type": "text", "text": "no"}], "isError": True, "timestamp": 3}),
        pi("message", "a4", "a3", 4, message=pi_turn({"type": "text", "text": "It is not."})),
        pi("message", "b1", "a1", 5, message=pi_turn({"type": "text", "text": "I would not know."})),
        pi("branch_summary", "b2", "a4", 6, fromId="b1", summary="I gave up."),
        pi("message", "b3", "b2", 7, message={"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 0, "cancelled": False, "truncated": False, "timestamp": 7}),
        pi("custom", "b4", "b3", 7, customType="x", data={"n": 1}),
        pi("custom_message", "b5", "b4", 7, customType="x", content=[{"type": "text", "text": "Mind the gap."}], display=True),
        pi("message", "b6", "b5", 8, message={"role": "user", "content": [{"type": "text", "text": "See:"}, {"type": "image", "data": PIXEL, "mimeType": "image/png"}], "timestamp": 8}),
        pi("message", "b7", "b6", 9, message=pi_turn(stop="aborted", errorMessage="Request was aborted.")),
        pi(
            "message",
            "b8",
            "b7",
            10,
            message=pi_turn({"type": "toolCall", "id": "t2", "name": "bash", "arguments": {"command": "pi"}, "partialJson": '{"command": "pi'}, stop="aborted", errorMessage="Request was aborted."),
        ),
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
    {
        "id": "ping-1",
        "name": "ping",
        "args": {"host": "gw"},
        "status": "success",
        "timestamp": at(3),
        "result": [{"functionResponse": {"id": "ping-1", "name": "ping", "response": {"output": "no"}}}],
        "displayName": "Ping",
    },
    {
        "id": "ls-2",
        "name": "ls",
        "args": {},
        "status": "error",
        "timestamp": at(3),
        "result": [{"functionResponse": {"id": "ls-2", "name": "ls", "response": {"error": "denied"}}}],
        "resultDisplay": "denied",
    },
]
GEMINI_CLI = Sample(
    format="gemini-cli",
    document="messages",
    fields={"sessionId": "s-1", "projectHash": "abc", "startTime": at(0), "lastUpdated": at(9)},
    records=[
        {"id": "u1", "timestamp": at(1), "type": "user", "content": [{"text": "Is gw up?"}, {"inlineData": {"mimeType": "image/png", "data": PIXEL}}]},
        {"id": "i1", "timestamp": at(1), "type": "info", "content": "Update available"},
        {
            "id": "g1",
            "timestamp": at(2),
            "type": "gemini",
            "content": "I look.",
            "model": "gemini-2.5-pro",
            "thoughts": [{"subject": "Ping", "description": "I ping it.", "timestamp": at(2)}],
            "tokens": {"input": 3, "output": 4, "total": 7},
            "toolCalls": GEMINI_CALLS,
        },
        {"id": "g2", "timestamp": at(4), "type": "gemini", "content": "It is not.", "model": "gemini-2.5-pro", "thoughts": [], "tokens": None},
        {"id": "e1", "timestamp": at(5), "type": "error", "content": "Quota exceeded"},
        {"id": "u2", "timestamp": at(6), "type": "user", "content": "Why?"},
    ],
    shown=("message Is gw up? image", "tool_call ping-1,ls-2", "tool_result ping-1,ls-2", "message It is not.", "error Quota exceeded", "message Why?"),
)
GEMINI_LINES = Sample(
    format="gemini-cli",
    records=[
        {"sessionId": "s-1", "projectHash": "abc", "startTime": at(0), "lastUpdated": at(0), "kind": "main"},
        GEMINI_CLI.records[0],
        {"$set": {"lastUpdated": at(1)}},
        {**GEMINI_CLI.records[2], "toolCalls": [], "tokens": None},
        {**GEMINI_CLI.records[2], "toolCalls": [{**GEMINI_CALLS[0], "status": "executing", "result": None}], "tokens": None},
        GEMINI_CLI.records[2],
        GEMINI_CLI.records[3],
        {"id": "u9", "timestamp": at(5), "type": "user", "content": "Never mind."},
        {"id": "g9", "timestamp": at(5), "type": "gemini", "content": "Fine.", "model": "gemini-2.5-pro"},
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
        {
            "role": "model",
            "parts": [
                {"text": "Ping it.", "thought": True, "thoughtSignature": "sg"},
                {"functionCall": {"name": "ping", "args": {"host": "gw"}}},
                {"functionCall": {"name": "ping", "args": {"host": "g2"}}},
            ],
        },
        {"role": "user", "parts": [{"functionResponse": {"name": "ping", "response": {"output": "no"}}}, {"functionResponse": {"name": "ping", "response": {"up": True}}}, {"text": "Well?"}]},
        {"role": "model", "parts": [{"text": "One is."}, {"executableCode": {"language": "PYTHON", "code": "1"}}]},
    ],
    shown=("message Be brief.", "message Is gw up? document", "tool_call ping-1,ping-2", "tool_result ping-1,ping-2", "message Well?", "message One is. provider"),
)
