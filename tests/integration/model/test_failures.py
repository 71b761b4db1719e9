"""What goes wrong on the wire is one of our errors, with what had come, whatever SDK was in between."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import anyio
import pytest

import playhead as ph
from playhead.model import limits
from tests.integration.model.asking import asked, events_of, request, words
from tests.integration.model.server import Answer, ProviderServer, told
from tests.integration.model.wires import ALL, CHAT, MESSAGES, OURS, RESPONSES, Turn, Wire, name_of, sse

WHOLE = Turn(words=("The first ", "half. ", "The second ", "half."))
SHORT = Turn(words=("It is up.",))
ALL_WIRES = pytest.mark.parametrize("wire", ALL, ids=name_of)
OUR_WIRES = pytest.mark.parametrize("wire", OURS, ids=name_of)


def failure(wire: Wire, *answers: Answer, **options: Any) -> tuple[ph.PlayheadError, list[Any], int]:
    """Return the error that the answers end in, the events before it, and how many requests there were."""

    async def act(model: ph.Model, server: ProviderServer) -> tuple[ph.PlayheadError, list[Any], int]:
        events: list[Any] = []
        with pytest.raises(ph.PlayheadError) as caught:
            await events_of(model, into=events)
        return caught.value, events, len(server.requests)

    return asked(wire, answers, act, **options)


def half(wire: Wire, *more: bytes, **how: Any) -> Answer:
    """Return an answer that holds its first words, and then something else."""
    pieces = tuple(wire.events(WHOLE))
    at = next(i for i, piece in enumerate(pieces) if b"The " in piece)
    return Answer(pieces=(*pieces[: at + 1], *more), **how)


@ALL_WIRES
@pytest.mark.parametrize(
    ("status", "code", "message", "kind"),
    [
        (400, "invalid_request_error", "temperature: unexpected", ph.ModelRejected),
        (401, "authentication_error", "invalid x-api-key", ph.ModelRejected),
        (403, "permission_error", "not for you", ph.ModelRejected),
        (404, "not_found_error", "no such model", ph.ModelRejected),
        (422, "unprocessable", "no", ph.ModelRejected),
        (400, "invalid_request_error", "prompt is too long: 211234 tokens > 200000 maximum", ph.ContextLimitExceeded),
        (413, "request_too_large", "Request exceeds the maximum size", ph.ContextLimitExceeded),
        (500, "api_error", "Internal server error", ph.ModelUnavailable),
        (503, "overloaded", "busy", ph.ModelUnavailable),
        (529, "overloaded_error", "Overloaded", ph.ModelUnavailable),
        (429, "rate_limit_error", "would exceed your rate limit of 50,000 input tokens per minute", ph.ModelUnavailable),
        (400, "context_length_exceeded", "too much", ph.ContextLimitExceeded),
        (400, "content_filter", "flagged", ph.ModelRefused),
    ],
)
def test_a_refused_request_says_why(wire: Wire, status: int, code: str, message: str, kind: type[ph.PlayheadError]):
    error, events, requests = failure(wire, wire.told(status=status, code=code, message=message))
    assert type(error) is kind
    assert isinstance(error, ph.ModelError)
    assert error.model == wire.spec
    assert message.rstrip(".") in error.message
    assert (events, requests) == ([], 1)
    assert "Traceback" not in error.message


@ALL_WIRES
def test_the_numbers_of_a_context_limit_are_taken_and_learned(wire: Wire, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "_learned", {})

    async def act(model: ph.Model, server: ProviderServer) -> tuple[Any, ...]:
        before = model.context_limit
        with pytest.raises(ph.ContextLimitExceeded) as caught:
            await model.complete(request())
        return before, caught.value.limit, caught.value.needed, model.context_limit

    answer = wire.told(status=400, code="invalid_request_error", message="prompt is too long: 33000 tokens > 32768 maximum")
    before, limit, needed, after = asked(wire, [answer], act)
    assert before != 32_768
    assert (limit, needed, after) == (32_768, 33_000, 32_768)
    assert asked(wire, [answer], act, context_limit=16_000)[3] == 16_000


@ALL_WIRES
def test_a_rate_limit_says_how_long_to_wait_and_is_no_context_limit(wire: Wire):
    error, _, _ = failure(wire, wire.told(status=429, code="rate_limit_error", message="token limit per min exceeded", Retry_After="7"))
    assert isinstance(error, ph.ModelUnavailable)
    assert (error.retry_after, error.status) == (7.0, 429)


@OUR_WIRES
@pytest.mark.parametrize(("headers", "seconds"), [({"Retry_After_Ms": "1500", "Retry_After": "9"}, 1.5), ({"Retry_After": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0), ({"Retry_After": "soon"}, None)])
def test_every_way_to_say_how_long_is_read(wire: Wire, headers: dict[str, str], seconds: float | None):
    error, _, _ = failure(wire, wire.told(status=529, code="overloaded_error", message="Overloaded", **headers))
    assert isinstance(error, ph.ModelUnavailable)
    assert error.retry_after == seconds


@pytest.mark.parametrize("text", ["输入长度超过模型最大上下文长度", "Input is too long for requested model."])
@OUR_WIRES
def test_a_context_limit_is_told_in_many_words(wire: Wire, text: str):
    assert type(failure(wire, wire.told(status=400, code="bad", message=text))[0]) is ph.ContextLimitExceeded


def test_a_quota_that_is_used_up_is_not_asked_again():
    error, _, requests = failure(CHAT, *[CHAT.told(status=429, code="insufficient_quota", message="You exceeded your current quota")] * 3, max_retries=2)
    assert type(error) is ph.ModelRejected
    assert requests == 1


@ALL_WIRES
def test_a_connection_that_drops_in_the_answer_keeps_what_had_come(wire: Wire):
    error, events, requests = failure(wire, half(wire, drops=True), wire.answer(SHORT), max_retries=2)
    assert type(error) is ph.BadReply
    assert error.partial.startswith("The ")
    assert words(events, ph.TextDelta) == error.partial
    assert requests == 1


@ALL_WIRES
def test_a_connection_that_drops_before_the_answer_is_asked_again(wire: Wire):
    error, events, requests = failure(wire, *[Answer(drops=True)] * 2, max_retries=1)
    assert isinstance(error, (ph.ModelUnavailable, ph.BadReply))
    assert (events, requests) == ([], 2)


@ALL_WIRES
def test_an_answer_that_ends_in_the_middle_is_a_bad_reply(wire: Wire):
    error, events, _ = failure(wire, half(wire))
    assert type(error) is ph.BadReply
    assert error.partial == words(events, ph.TextDelta) != ""


@ALL_WIRES
def test_an_overload_within_the_answer_is_told_and_not_asked_again(wire: Wire):
    error, events, requests = failure(wire, half(wire, wire.broken(code="overloaded_error", message="Overloaded")), wire.answer(SHORT), max_retries=2)
    assert type(error) is ph.ModelUnavailable
    assert (words(events, ph.TextDelta)[:4], requests) == ("The ", 1)


@OUR_WIRES
def test_a_context_limit_within_the_answer_is_one(wire: Wire):
    error, _, _ = failure(wire, Answer(pieces=(wire.broken(code="context_length_exceeded", message="Your input exceeds the context window of this model."),)))
    assert type(error) is ph.ContextLimitExceeded


def test_a_response_that_failed_says_why():
    failed = {"type": "response.failed", "sequence_number": 1, "response": {"id": "r", "status": "failed", "error": {"code": "server_error", "message": "Broken"}, "output": []}}
    assert type(failure(RESPONSES, Answer(pieces=(sse(failed, event="response.failed"),)))[0]) is ph.ModelUnavailable


GARBAGE = {
    "no JSON": sse("{what?", event="message_start"),
    "a list": sse([1, 2], event="message_start"),
    "a number": sse("17", event="message_start"),
    "null": sse("null", event="message_start"),
    "no event": b"\xff\xfe\x00garbage\n\n",
    "odd members": sse({"type": "message_start", "choices": 3, "message": "no", "id": 4}, event="message_start"),
    "nothing": b"",
    "comments": b": keep-alive\n\n: keep-alive\n\n",
}


@ALL_WIRES
@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_a_bad_reply(wire: Wire, garbage: bytes):
    error, events, requests = failure(wire, Answer(pieces=(garbage,) if garbage else ()))
    assert type(error) is ph.BadReply
    assert (events, requests) == ([], 1)
    assert "again" in error.message


def test_a_call_without_a_name_is_a_bad_reply():
    delta = {"tool_calls": [{"index": 0, "id": "c", "function": {"arguments": "{}"}}]}
    assert type(failure(CHAT, Answer(pieces=(sse({"choices": [{"delta": delta, "finish_reason": "stop"}]}),)))[0]) is ph.BadReply


@ALL_WIRES
def test_garbage_behind_words_keeps_the_words(wire: Wire):
    error, events, _ = failure(wire, half(wire, sse("{what?", event="content_block_delta")))
    assert type(error) is ph.BadReply
    assert error.partial == words(events, ph.TextDelta) != ""


@OUR_WIRES
def test_a_page_where_a_stream_belongs_is_told_as_one(wire: Wire):
    error, _, _ = failure(wire, Answer(pieces=(b"<html>Log in</html>",), content_type="text/html"))
    assert type(error) is ph.BadReply
    assert "text/html" in error.message
    assert "base_url" in error.message


@ALL_WIRES
def test_a_proxys_error_page_is_told_in_short(wire: Wire):
    error, _, _ = failure(wire, Answer(pieces=(b"<html>" + b"Bad gateway " * 9_000 + b"</html>",), status=502, content_type="text/html"))
    assert type(error) is ph.ModelUnavailable
    assert len(error.message) < 2_500


@ALL_WIRES
def test_a_stream_that_stands_still_is_left_after_the_timeout(wire: Wire):
    pieces = tuple(wire.events(WHOLE))
    at = next(i for i, piece in enumerate(pieces) if b"The " in piece)
    answer = Answer(pieces=(b"".join(pieces[: at + 1]), *pieces[at + 1 :]), waits=threading.Event())
    error, events, _ = failure(wire, answer, timeout=0.3)
    assert type(error) is ph.BadReply
    assert error.partial == words(events, ph.TextDelta) != ""


@ALL_WIRES
def test_nobody_at_the_address_is_unavailable(wire: Wire):
    with ProviderServer() as server:
        gone = server.url + wire.prefix
    error, _, _ = failure(wire, base_url=gone)
    assert type(error) is ph.ModelUnavailable


@ALL_WIRES
def test_busy_is_asked_again_and_then_answered(wire: Wire):
    async def act(model: ph.Model, server: ProviderServer) -> tuple[str, int]:
        return (await model.complete(request())).text, len(server.requests)

    busy = wire.told(status=529, code="overloaded_error", message="Overloaded", Retry_After="0")
    assert asked(wire, [busy, busy, wire.answer(SHORT)], act, max_retries=2) == ("It is up.", 3)


@OUR_WIRES
def test_a_bad_reply_before_the_first_word_is_asked_again(wire: Wire):
    async def act(model: ph.Model, server: ProviderServer) -> tuple[str, int]:
        return (await model.complete(request())).text, len(server.requests)

    assert asked(wire, [Answer(), wire.answer(SHORT)], act, max_retries=1) == ("It is up.", 2)


async def left(model: ph.Model, server: ProviderServer) -> bool:
    async with model.stream(request()) as stream:
        async for event in stream:
            if isinstance(event, ph.TextDelta):
                break
    return await anyio.to_thread.run_sync(server.hung_up.wait, 10)


async def cancelled(model: ph.Model, server: ProviderServer) -> bool:
    with anyio.CancelScope() as scope:
        async with model.stream(request()) as stream:
            async for event in stream:
                if isinstance(event, ph.TextDelta):
                    scope.cancel()
    return await anyio.to_thread.run_sync(server.hung_up.wait, 10)


@ALL_WIRES
@pytest.mark.parametrize("act", [left, cancelled])
def test_leaving_the_stream_hangs_up(wire: Wire, act: Callable[..., Any]):
    pieces = tuple(wire.events(WHOLE))
    at = next(i for i, piece in enumerate(pieces) if b"The " in piece)
    assert asked(wire, [Answer(pieces=(b"".join(pieces[: at + 1]), *pieces[at + 1 :]), waits=threading.Event())], act)


@OUR_WIRES
def test_a_closed_model_says_that_it_is_closed(wire: Wire):
    async def act(model: ph.Model, server: ProviderServer) -> int:
        await model.aclose()
        await model.aclose()
        with pytest.raises(ph.InvalidInput, match="closed"):
            await model.complete(request())
        return len(server.requests)

    assert asked(wire, [], act) == 0


@OUR_WIRES
def test_a_conversation_no_provider_takes_is_refused_before_the_network(wire: Wire):
    async def act(model: ph.Model, server: ProviderServer) -> int:
        with pytest.raises(ph.WireError):
            await model.complete(request(ph.assistant("", calls=[ph.ToolCall(id="c", name="look")])))
        return len(server.requests)

    assert asked(wire, [], act, max_retries=2) == 0


def test_a_refusal_is_an_answer_and_says_so():
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "gpt-5-mini"}
    pieces = (
        sse({**chunk, "choices": [{"index": 0, "delta": {"role": "assistant", "refusal": "I will not."}, "finish_reason": None}]}),
        sse({**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        sse("[DONE]"),
    )

    async def act(model: ph.Model, server: ProviderServer) -> ph.Reply:
        return await model.complete(request())

    reply = asked(CHAT, [Answer(pieces=pieces)], act)
    assert (reply.stop, reply.text) == ("refusal", "I will not.")


def test_a_refusal_without_a_word_is_an_error():
    error, _, _ = failure(MESSAGES, MESSAGES.answer(Turn(stop="refusal")))
    assert type(error) is ph.ModelRefused


def test_an_error_of_json_where_a_stream_was_asked_is_read():
    error, _, _ = failure(CHAT, told({"detail": "The prompt is too long for this server"}, status=400))
    assert type(error) is ph.ContextLimitExceeded
