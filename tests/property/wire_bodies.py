"""Valid bodies of the three providers in canonical form: what a dump has to give back word for word.

Canonical means: every block and item names its type; no empty text and no empty message; results stand right
behind the turn they answer. For OpenAI Chat a refusal is a content part and calls are `tool_calls`; for Anthropic
turns alternate, the user begins, results come first in their turn, the final words do not end in white space and
at most four cache marks are set; for Responses no turn ends in reasoning.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from hypothesis import strategies as st

MODEL = "maker-1"

letters = st.characters(exclude_categories=["Cs"])
words = st.text(letters, min_size=1, max_size=12)
spoken = words.filter(str.strip)
tokens = st.text("abcXYZ019_-", min_size=1, max_size=12)
base64_data = st.binary(min_size=1, max_size=9).map(lambda b: base64.b64encode(b).decode())
web = st.sampled_from(["https://example.org/a.png", "http://example.org/b?c=d"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | st.text(letters, max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(letters, max_size=5), inner, max_size=3),
    max_leaves=6,
)
json_objects = st.dictionaries(st.text(letters, max_size=5), json_values, max_size=3)


@st.composite
def argument_texts(draw: st.DrawFn) -> str:
    """JSON text in every spelling models use, and text that is none."""
    said = draw(json_objects)
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,", " :")]))
    return draw(
        st.sampled_from(
            [
                json.dumps(said, separators=separators, ensure_ascii=draw(st.booleans())),
                json.dumps(said, indent=1),
                "",
                " ",
                "[1]",
                "null",
                '{"a": 1',
                '{"a":1,"a":2}',
                '{"a":1.0e3}',
                "no json",
            ]
        )
    )


def sometimes(draw: st.DrawFn, fields: dict[str, st.SearchStrategy[Any]]) -> dict[str, Any]:
    return {k: draw(v) for k, v in fields.items() if draw(st.integers(0, 3)) == 0}


def fresh_ids(draw: st.DrawFn, used: set[str], alphabet: str, longest: int) -> str:
    found: str = draw(st.text(alphabet, min_size=1, max_size=min(longest, 8)).filter(lambda t: t not in used))
    used.add(found)
    return found


chat_extras = {"x_field": json_values, "annotations": st.lists(json_objects, max_size=1), "audio": st.none()}


@st.composite
def chat_parts(draw: st.DrawFn) -> dict[str, Any]:
    mark = sometimes(draw, {"cache_control": st.just({"type": "ephemeral"}), "x": json_values})
    text = {"type": "text", "text": draw(words)}
    picture = {"type": "image_url", "image_url": {"url": draw(web | base64_data.map("data:image/png;base64,{}".format)), **sometimes(draw, {"detail": st.just("high")})}}
    sound = {"type": "input_audio", "input_audio": {"data": draw(base64_data), "format": draw(st.sampled_from(["wav", "mp3"]))}}
    inline = {"type": "file", "file": {"filename": draw(words), "file_data": f"data:application/pdf;base64,{draw(base64_data)}"}}
    uploaded = {"type": "file", "file": {"file_id": draw(tokens)}}
    unknown = {"type": "x_part", "value": draw(json_values)}
    return {**draw(st.sampled_from([text, text, picture, sound, inline, uploaded, unknown])), **mark}


@st.composite
def chat_texts(draw: st.DrawFn) -> list[dict[str, Any]]:
    return [{"type": "text", "text": draw(words), **sometimes(draw, {"x": json_values})} for _ in range(draw(st.integers(1, 2)))]


@st.composite
def chat_round(draw: st.DrawFn) -> list[dict[str, Any]]:
    used: set[str] = set()
    calls = []
    for _ in range(draw(st.integers(1, 3))):
        call_id = fresh_ids(draw, used, "abc|:_-é .9", 40)
        function = {"name": draw(tokens), "arguments": draw(argument_texts())}
        custom = {"name": draw(tokens), "input": draw(st.text(letters, max_size=5))}
        call = draw(st.sampled_from([{"type": "function", "function": function}] * 3 + [{"type": "custom", "custom": custom}]))
        calls.append({"id": call_id, **call, **sometimes(draw, {"index": st.integers(0, 3)})})
    turn: dict[str, Any] = {"role": "assistant", "tool_calls": calls, **_chat_reasoning(draw), **sometimes(draw, {**chat_extras, "name": tokens})}
    content = draw(st.sampled_from(["absent", None, "", draw(words), draw(chat_texts())]))
    if content != "absent":
        turn["content"] = content
    answers = [
        {"role": "tool", "tool_call_id": c["id"], "content": draw(st.text(letters, max_size=5) | chat_texts()), **sometimes(draw, {"name": tokens, "x": json_values})}
        for c in draw(st.permutations(calls))
    ]
    return [turn, *answers]


def _chat_reasoning(draw: st.DrawFn) -> dict[str, Any]:
    said = draw(words)
    return draw(
        st.sampled_from(
            [
                {},
                {},
                {"reasoning_content": said},
                {"reasoning_content": None},
                {"reasoning": said},
                {"reasoning": said, "reasoning_content": said},
                {"reasoning_details": [{"type": "reasoning.encrypted", "data": said}]},
            ]
        )
    )


@st.composite
def chat_speech(draw: st.DrawFn) -> list[dict[str, Any]]:
    role = draw(st.sampled_from(["system", "developer", "user", "user", "assistant", "assistant"]))
    more = sometimes(draw, {**chat_extras, "name": tokens})
    if role == "user":
        return [{"role": role, "content": draw(words | st.lists(chat_parts(), min_size=1, max_size=3)), **more}]
    if role == "assistant":
        refusal = [{"type": "refusal", "refusal": draw(words)}]
        content = draw(st.sampled_from([draw(words), draw(chat_texts()), refusal]))
        return [{"role": role, "content": content, **_chat_reasoning(draw), **more, **sometimes(draw, {"refusal": st.none()})}]
    return [{"role": role, "content": draw(words | chat_texts()), **more}]


@st.composite
def chat_bodies(draw: st.DrawFn) -> dict[str, Any]:
    steps = draw(st.lists(chat_speech() | chat_round(), max_size=5))
    return {"messages": [m for step in steps for m in step]}


@st.composite
def claude_text(draw: st.DrawFn) -> dict[str, Any]:
    return {"type": "text", "text": draw(spoken), **sometimes(draw, {"cache_control": st.just({"type": "ephemeral"}), "citations": st.lists(json_objects, max_size=1) | st.none()})}


@st.composite
def claude_shown(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["image", "document", "document", "search_result"]))
    if kind == "search_result":
        return {"type": kind, "source": draw(web), "title": draw(words), "content": [draw(claude_text())]}
    data = {"type": "base64", "media_type": draw(st.sampled_from(["image/png", "image/webp"])) if kind == "image" else "application/pdf", "data": draw(base64_data)}
    sources: list[dict[str, Any]] = [data, {"type": "url", "url": draw(web)}, {"type": "file", "file_id": draw(tokens)}]
    if kind == "document":
        sources += [{"type": "text", "media_type": "text/plain", "data": draw(spoken)}, {"type": "content", "content": [draw(claude_text())]}]
    more = {"title": words | st.none(), "context": words, "citations": st.just({"enabled": True})} if kind == "document" else {}
    return {"type": kind, "source": draw(st.sampled_from(sources)), **sometimes(draw, {**more, "cache_control": st.none()})}


@st.composite
def claude_thinking(draw: st.DrawFn) -> dict[str, Any]:
    signed = {"type": "thinking", "thinking": draw(st.text(letters, max_size=5)), "signature": draw(tokens)}
    return draw(st.sampled_from([signed, {"type": "redacted_thinking", "data": draw(tokens)}]))


@st.composite
def claude_model_turn(draw: st.DrawFn, used: set[str]) -> Any:
    if draw(st.booleans()):
        return draw(spoken)
    unknown = [{"type": "server_tool_use", "id": draw(tokens), "name": "web_search", "input": draw(json_objects)}, {"type": "web_search_tool_result", "content": draw(json_values)}]
    thought = draw(st.lists(claude_thinking(), max_size=2))
    said = draw(st.lists(claude_text() | st.sampled_from(unknown), max_size=2))
    calls = [
        {"type": "tool_use", "id": fresh_ids(draw, used, "abcXY09_-", 64), "name": draw(tokens), "input": draw(json_objects), **sometimes(draw, {"caller": json_objects})}
        for _ in range(draw(st.integers(0, 3)))
    ]
    late = draw(st.lists(claude_thinking(), max_size=1)) if calls else []
    return [*thought, *said, *late, *calls] if said or calls else [*thought, draw(claude_text())]


def _claude_answers(draw: st.DrawFn, turn: Any) -> list[dict[str, Any]]:
    ids = [b["id"] for b in turn if b["type"] == "tool_use"] if isinstance(turn, list) else []
    answers = []
    for call_id in draw(st.permutations(ids)):
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id, **sometimes(draw, {"cache_control": st.just({"type": "ephemeral"}), "is_error": st.booleans()})}
        content = draw(st.sampled_from([None, "", draw(words), draw(st.lists(claude_text() | claude_shown(), min_size=1, max_size=2))]))
        if block.get("is_error") and not (content and (not isinstance(content, str) or content.strip())):
            content = "It failed."
        answers.append({**block, **({} if content is None else {"content": content})})
    return answers


@st.composite
def claude_bodies(draw: st.DrawFn) -> dict[str, Any]:
    used: set[str] = set()
    messages: list[dict[str, Any]] = []
    turn: Any = []
    for _ in range(draw(st.integers(0, 3))):
        answers = _claude_answers(draw, turn)
        shown = draw(st.lists(claude_text() | claude_shown(), min_size=0 if answers else 1, max_size=2))
        messages.append({"role": "user", "content": [*answers, *shown] if answers or draw(st.booleans()) else draw(spoken)})
        turn = draw(claude_model_turn(used))
        messages.append({"role": "assistant", "content": turn})
    if messages:
        messages = _claude_end(draw, messages)
    system = draw(st.none() | spoken | st.lists(claude_text(), min_size=1, max_size=2))
    return _few_marks({**({"system": system} if system else {}), "messages": messages})


def _claude_end(draw: st.DrawFn, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    turn = messages[-1]["content"]
    answers = _claude_answers(draw, turn)
    if answers:
        return [*messages, {"role": "user", "content": answers}]
    if isinstance(turn, str):
        messages[-1]["content"] = turn.rstrip()
    elif turn[-1]["type"] == "text":
        turn[-1]["text"] = turn[-1]["text"].rstrip()
    return messages


def _few_marks(body: dict[str, Any]) -> dict[str, Any]:
    seen = 0
    for content in [body.get("system"), *(m["content"] for m in body["messages"])]:
        for block in content if isinstance(content, list) else []:
            inner = block.get("content")
            for b in [*(inner if isinstance(inner, list) else []), block]:
                if isinstance(b, dict) and b.get("cache_control"):
                    seen += 1
                    if seen > 4:
                        del b["cache_control"]
    return body


@st.composite
def response_input_parts(draw: st.DrawFn) -> dict[str, Any]:
    text = {"type": "input_text", "text": draw(words)}
    url = draw(web | base64_data.map("data:image/jpeg;base64,{}".format))
    options = [
        text,
        text,
        {"type": "input_image", "image_url": url, **sometimes(draw, {"detail": st.just("auto"), "file_id": st.none()})},
        {"type": "input_image", "file_id": draw(tokens), "detail": "low"},
        {"type": "input_file", "filename": draw(words), "file_data": f"data:text/csv;base64,{draw(base64_data)}"},
        {"type": "input_file", "file_url": draw(web), **sometimes(draw, {"filename": words})},
        {"type": "input_file", "file_id": draw(tokens)},
        {"type": "input_audio", "input_audio": {"data": draw(base64_data), "format": "mp3"}},
        {"type": "x_part", "x": draw(json_values)},
    ]
    return {**draw(st.sampled_from(options)), **sometimes(draw, {"prompt_cache_breakpoint": st.just({"mode": "explicit"})})}


item_fields = {"id": tokens, "status": st.just("completed"), "phase": st.just("commentary")}


@st.composite
def response_words(draw: st.DrawFn) -> dict[str, Any]:
    parts = [
        {"type": "output_text", "text": draw(words), **sometimes(draw, {"annotations": st.lists(json_objects, max_size=1), "logprobs": st.just([])})},
        {"type": "refusal", "refusal": draw(words)},
        {"type": "input_text", "text": draw(words)},
        {"type": "x_part", "x": 1},
    ]
    content = draw(words | st.lists(st.sampled_from(parts), min_size=1, max_size=2))
    return {"type": "message", "role": "assistant", "content": content, **sometimes(draw, item_fields)}


@st.composite
def response_reasoning(draw: st.DrawFn) -> dict[str, Any]:
    summary = [{"type": "summary_text", "text": t} for t in draw(st.lists(st.text(letters, max_size=5), max_size=2))]
    more = {"id": tokens, "encrypted_content": tokens | st.none(), "status": st.just("completed"), "content": st.just([{"type": "reasoning_text", "text": "hm"}])}
    return {"type": "reasoning", "summary": summary, **sometimes(draw, more)}


@st.composite
def response_calls(draw: st.DrawFn, used: set[str]) -> dict[str, Any]:
    call_id = fresh_ids(draw, used, "abc|:_-é9", 64)
    if draw(st.integers(0, 3)) == 0:
        return {"type": "custom_tool_call", "call_id": call_id, "name": draw(tokens), "input": draw(st.text(letters, max_size=5)), **sometimes(draw, {"id": tokens})}
    return {"type": "function_call", "call_id": call_id, "name": draw(tokens), "arguments": draw(argument_texts()), **sometimes(draw, item_fields)}


@st.composite
def response_turns(draw: st.DrawFn, used: set[str]) -> list[dict[str, Any]]:
    unknown = st.sampled_from([{"type": "web_search_call", "id": "ws_1", "status": "completed"}, {"type": "item_reference", "id": "msg_9"}, {"id": "msg_8"}])
    items = draw(st.lists(response_reasoning() | response_words() | response_calls(used) | unknown, max_size=4))
    if not items or items[-1]["type" if "type" in items[-1] else "id"] == "reasoning":
        items.append(draw(response_words()))
    calls = [i for i in items if i.get("type") in ("function_call", "custom_tool_call")]
    answers = [
        {
            "type": f"{'custom_tool_call' if c['type'] == 'custom_tool_call' else 'function_call'}_output",
            "call_id": c["call_id"],
            "output": draw(st.text(letters, max_size=5) | st.lists(response_input_parts(), min_size=1, max_size=2)),
            **sometimes(draw, {"id": tokens, "status": st.just("completed")}),
        }
        for c in draw(st.permutations(calls))
    ]
    return [*items, *answers]


@st.composite
def response_bodies(draw: st.DrawFn) -> dict[str, Any]:
    used: set[str] = set()
    items: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(0, 3))):
        role = draw(st.sampled_from(["user", "user", "system", "developer"]))
        parts = response_input_parts() if role == "user" else st.builds(lambda t: {"type": "input_text", "text": t}, words)
        items.append({"type": "message", "role": role, "content": draw(words | st.lists(parts, min_size=1, max_size=2)), **sometimes(draw, {"id": tokens})})
        for _ in range(draw(st.integers(0, 2))):
            items.extend(draw(response_turns(used)))
    return {**sometimes(draw, {"instructions": st.text(letters, max_size=5)}), "input": items}
