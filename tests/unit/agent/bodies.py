"""What is wrong with the body of a request, judged by the rules of its provider and by nothing of ours."""


def faults(provider, body):
    """Return what the provider would refuse in a body."""
    match provider:
        case "openai":
            return list(_chat(body["messages"]))
        case "openai-responses":
            return list(_responses(body["input"]))
    return list(_anthropic(body["messages"]))


def _chat(messages):
    waiting = []
    for place, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                yield f"{place}: a result without its call"
            waiting = [id for id in waiting if id != message["tool_call_id"]]
            continue
        if waiting:
            yield f"{place}: {waiting} are unanswered"
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        if len(set(waiting)) < len(waiting) or "" in waiting:
            yield f"{place}: the ids {waiting}"
        if message["role"] not in ("system", "developer", "user", "assistant"):
            yield f"{place}: role {message['role']}"
        if not message.get("content") and not waiting:
            yield f"{place}: empty"
    if waiting:
        yield f"{waiting} are unanswered at the end"


def _responses(items):
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    if len(set(calls)) < len(calls) or "" in calls:
        yield f"the ids {calls}"
    open_calls = set()
    for place, item in enumerate(items):
        match item.get("type", "message"):
            case "function_call":
                open_calls.add(item["call_id"])
            case "function_call_output":
                if item["call_id"] not in open_calls:
                    yield f"{place}: a result without its call"
                open_calls.discard(item["call_id"])
            case "message":
                if not item.get("content"):
                    yield f"{place}: empty"
    if open_calls:
        yield f"{open_calls} are unanswered at the end"


def _anthropic(messages):
    if messages and messages[0]["role"] != "user":
        yield "the first is not the user's"
    waiting = []
    for place, message in enumerate(messages):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not blocks:
            yield f"{place}: empty"
        if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            yield f"{place}: a block without words"
        if any(block["type"] == "thinking" and not block.get("signature") for block in blocks):
            yield f"{place}: thinking without signature"
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(answered) != sorted(waiting):
            yield f"{place}: answers {answered} for {waiting}"
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if len(set(waiting)) < len(waiting):
            yield f"{place}: the ids {waiting}"
        if message["role"] not in ("user", "assistant") or (waiting and message["role"] != "assistant") or (answered and message["role"] != "user"):
            yield f"{place}: role {message['role']}"
    if waiting:
        yield f"{waiting} are unanswered at the end"
