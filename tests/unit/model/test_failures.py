"""An SDK's error is told by its status, then by its code, then by its words."""

from __future__ import annotations

from typing import Any

import pytest

import playhead as ph
from playhead.model.failures import ToldFailure, failure_of


class StatusError(Exception):
    """An error as SDKs raise it for an answer that is no success."""

    def __init__(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        super().__init__("the SDK's own words")
        self.status_code = status
        self.body = body
        self.headers = headers or {}


class APIConnectionError(Exception):
    """An error as SDKs raise it where there is no answer."""


def told(status: int, code: object = None, message: str = "No.") -> ph.PlayheadError:
    return failure_of(StatusError(status, {"error": {"code": code, "message": message}}), model="openai:m")


@pytest.mark.parametrize(
    ("status", "code", "message", "kind"),
    [
        (429, "context_length_exceeded", "maximum context length is 8 tokens", ph.ModelUnavailable),
        (413, "rate_limit_exceeded", "Request too large on tokens per minute (TPM): Limit 6000", ph.ModelUnavailable),
        (400, None, "token limit per min", ph.ModelUnavailable),
        (413, None, "Request Entity Too Large", ph.ContextLimitExceeded),
        (413, None, "", ph.ContextLimitExceeded),
        (400, "exceed_context_size_error", "the request exceeds it", ph.ContextLimitExceeded),
        (500, None, "the input length exceeds the context length", ph.ContextLimitExceeded),
        (401, None, "context window exceeded", ph.ModelRejected),
        (402, None, "pay", ph.ModelRejected),
        (429, "insufficient_quota", "quota", ph.ModelRejected),
        (400, "invalid_prompt", "flagged", ph.ModelRefused),
        (408, None, "slow", ph.ModelUnavailable),
        (501, None, "not here", ph.ModelRejected),
        (302, None, "moved", ph.ModelRejected),
        (400, 1261, "Prompt 超长", ph.ContextLimitExceeded),
    ],
)
def test_an_error_is_what_its_status_code_and_words_say(status: int, code: object, message: str, kind: type[ph.PlayheadError]):
    assert type(told(status, code, message)) is kind


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "inner"}}, "inner"),
        ({"message": "outer"}, "outer"),
        ({"error": "a text"}, "a text"),
        ({"detail": "a detail"}, "a detail"),
        ("plain text", "plain text"),
        (None, "the SDK's own words"),
        ([1], "the SDK's own words"),
    ],
    ids=str,
)
def test_the_words_are_found_where_servers_put_them(body: Any, words: str):
    assert words in failure_of(StatusError(400, body), model="openai:m").message


def test_a_wait_is_read_from_headers_else_from_words():
    def wait(words: str, **headers: str) -> float | None:
        error = failure_of(StatusError(429, {"message": words}, {k.replace("_", "-"): v for k, v in headers.items()}), model="m")
        assert isinstance(error, ph.ModelUnavailable)
        return error.retry_after

    assert wait("", retry_after="3") == 3.0
    assert wait("Please try again in 1m12.5s.") == 72.5
    assert wait("Please try again in 350ms.") == pytest.approx(0.35)
    assert wait("Please retry after 20 seconds") == 20.0
    assert wait("", retry_after="nan") is None
    assert wait("", retry_after="-4") == 0.0
    assert wait("") is None


def test_a_broken_connection_is_unavailable_before_the_answer_and_a_bad_reply_in_it():
    before = failure_of(APIConnectionError("no route"), model="openai:m")
    within = failure_of(ConnectionResetError("reset"), model="openai:m", partial="Half", has_begun=True)
    assert (type(before), type(within)) == (ph.ModelUnavailable, ph.BadReply)
    assert isinstance(within, ph.BadReply)
    assert within.partial == "Half"


def test_what_nobody_knows_is_a_bad_reply_with_what_had_come():
    error = failure_of(RuntimeError("what?"), model="openai:m", partial="Half")
    assert isinstance(error, ph.BadReply)
    assert (error.partial, error.model) == ("Half", "openai:m")
    assert "what?" in error.message


def test_an_error_within_a_stream_goes_by_its_code():
    assert type(failure_of(ToldFailure({"type": "overloaded_error", "message": "x"}), model="m")) is ph.ModelUnavailable
    assert type(failure_of(ToldFailure({"type": "invalid_request_error", "message": "x"}), model="m")) is ph.ModelRejected
    assert type(failure_of(ToldFailure({}), model="m")) is ph.BadReply


def test_our_own_errors_stay_and_name_the_model():
    mine = ph.WireError("No round.", where="messages[1]")
    assert failure_of(mine, model="openai:m") is mine
    named = failure_of(ph.BadReply("Empty."), model="openai:m", partial="Half")
    assert isinstance(named, ph.BadReply)
    assert (named.model, named.partial) == ("openai:m", "Half")
