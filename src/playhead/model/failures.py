"""What goes wrong at a provider, told in our errors, whichever SDK raised it.

An error of an SDK is judged by the status of the answer, then by the code the provider gives, then by its words. No SDK is
imported for it: errors are known by their attributes and the names of their classes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from playhead import clock
from playhead.errors import BadReply, ContextLimitExceeded, ModelRefused, ModelRejected, ModelUnavailable, PlayheadError
from playhead.model.overflow import is_overflow, is_rate_limit, numbers_in
from playhead.model.replies import mapping, text

_RATE_CODES = frozenset({"rate_limit_exceeded", "rate_limit_error", "rate_limited", "too_many_requests", "resource_exhausted", "throttlingexception", "tokens", "requests"})
_BILLING_CODES = frozenset({"insufficient_quota", "billing_error", "billing_not_active", "billing_hard_limit_reached", "insufficient_balance", "payment_required"})
_OVERFLOW_CODES = frozenset(
    {"context_length_exceeded", "context_window_exceeded", "exceed_context_size_error", "request_too_large", "model_context_window_exceeded", "input_too_long", "prompt_too_long"}
)
_REFUSAL_CODES = frozenset({"content_filter", "content_policy_violation", "responsibleaipolicyviolation", "invalid_prompt", "cyber_policy_violation", "prohibited_content", "safety"})
_BUSY_CODES = frozenset(
    {"overloaded_error", "api_error", "server_error", "internal_server_error", "internal_error", "timeout_error", "service_unavailable", "engine_overloaded", "unavailable", "internal"}
)
_WRONG_CODES = frozenset({"invalid_request_error", "authentication_error", "permission_error", "not_found_error", "invalid_api_key", "model_not_found", "invalid_argument"})
_BUSY_STATUSES = frozenset({408, 409, 425, 498, 499})
_CONNECTION = frozenset(
    {"APIConnectionError", "TransportError", "TimeoutException", "StreamError", "ModelConnectionError", "ModelRequestTimeout", "TimeoutError", "ConnectionError", "OSError", "ConnectError"}
)
_OVERFLOW_CLASSES = frozenset({"ModelContextWindowExceededError"})
_WAIT = re.compile(r"(?:try again|retry(?:ing)?) (?:in|after) (?:(?P<hours>\d+)h)?(?:(?P<minutes>\d+)m(?!s))?(?:(?P<seconds>\d+(?:\.\d+)?) ?s)?(?:(?P<thousandths>\d+(?:\.\d+)?) ?ms)?", re.IGNORECASE)
_LONGEST_TEXT = 2_000
_LONGEST_PAGE = 300
"""How much is told of an answer that is no JSON: mostly a proxy's page."""


class ToldFailure(Exception):
    """A failure that a provider tells inside its stream, where no SDK raises it; `body` is what it says."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.body = body
        super().__init__(text(body.get("message")) or "the provider reports a failure without a message")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """What an error says: the status of the answer (None inside a stream), the provider's codes, its words, its numbers."""

    status: int | None
    codes: frozenset[str]
    words: str
    body: Mapping[str, Any]
    retry_after: float | None


def failure_of(error: Exception, *, model: str, partial: str = "", has_begun: bool = False) -> PlayheadError:
    """Return the error that tells what an SDK's error means.

    `has_begun` says that something of the answer had come, `partial` its words: a connection that breaks then is a BadReply.
    """
    if isinstance(error, PlayheadError):
        return _named(error, model=model, partial=partial)
    names = {c.__name__ for c in type(error).__mro__}
    facts = _facts_of(error)
    if facts.status is None and not facts.codes and names & _CONNECTION:
        return _broken(error, model=model, partial=partial, has_begun=has_begun)
    if names & _OVERFLOW_CLASSES:
        return _too_long(facts, model=model)
    return _told(facts, model=model) or BadReply(f"What {model} answered cannot be read: {facts.words or type(error).__name__}. Try again.", model=model, partial=partial)


def _named(error: PlayheadError, *, model: str, partial: str) -> PlayheadError:
    """Return an error of ours with the model in it, where it was raised by a part that does not know it."""
    if isinstance(error, BadReply) and not error.model:
        return BadReply(error.message, model=model, partial=error.partial or partial)
    if isinstance(error, ModelRefused) and not error.model:
        return ModelRefused(error.message, model=model)
    return error


def _broken(error: Exception, *, model: str, partial: str, has_begun: bool) -> PlayheadError:
    why = f"{type(error).__name__}: {error}".rstrip(": .")
    cause = error.__cause__
    why = f"{why} ({cause})" if cause is not None and str(cause) else why
    if has_begun:
        return BadReply(f"The answer of {model} broke off: {why}. What had come is in `partial`; ask again.", model=model, partial=partial)
    return ModelUnavailable(f"{model} cannot be reached: {why}. Check the network and base_url, or try again later.", model=model)


def _told(facts: _Facts, *, model: str) -> PlayheadError | None:
    """Return what a provider's own words and codes mean; None where it gave neither."""
    status, codes = facts.status, facts.codes
    said = f"{model} says{f' (status {status})' if status else ''}: {facts.words or 'nothing more'}"
    if codes & _BILLING_CODES or status == 402:
        return ModelRejected(f"{said}. Check the account's plan and billing.", model=model, status=status)
    if status == 429 or codes & _RATE_CODES or (not codes & _OVERFLOW_CODES and is_rate_limit(facts.words)):
        return ModelUnavailable(f"{said}. It is a rate limit: try again later, or ask less often.", model=model, retry_after=facts.retry_after, status=status)
    if status not in (401, 403, 404) and (status == 413 or codes & _OVERFLOW_CODES or is_overflow(facts.words)):
        return _too_long(facts, model=model)
    if codes & _REFUSAL_CODES:
        return ModelRefused(f"{said}. Ask otherwise, or ask another model.", model=model)
    if codes & _BUSY_CODES and status in (None, 200) or status is not None and (status in _BUSY_STATUSES or (status >= 500 and status != 501)):
        return ModelUnavailable(f"{said}. Try again later.", model=model, retry_after=facts.retry_after, status=status)
    if codes & _WRONG_CODES and status in (None, 200) or status is not None and status >= 300:
        return ModelRejected(f"{said}. {_advice(status)}", model=model, status=status)
    return None


def _advice(status: int | None) -> str:
    match status:
        case 401 | 403:
            return "Check the key, and whether it may use this model."
        case 404:
            return "Check the name of the model, and base_url."
    return "Mend the request."


def _too_long(facts: _Facts, *, model: str) -> ContextLimitExceeded:
    limit, needed = numbers_in(facts.words, facts.body)
    return ContextLimitExceeded(
        f"The request is longer than the context of {model}: {facts.words or 'the provider does not say how long that is'}. Send less.", model=model, limit=limit, needed=needed
    )


def _facts_of(error: Exception) -> _Facts:
    body = getattr(error, "body", None)
    outer = mapping(body)
    inner = outer.get("error") if isinstance(outer.get("error"), Mapping) else outer
    more = mapping(inner)
    status = getattr(error, "status_code", None)
    codes = [more.get("code"), more.get("type"), more.get("status"), getattr(error, "provider_error_code", None), mapping(more.get("innererror")).get("code")]
    words = text(more.get("message")) or text(outer.get("message")) or text(outer.get("error")) or text(outer.get("detail")) or text(body)[:_LONGEST_PAGE] or _spoken(error)
    headers = getattr(getattr(error, "response", None), "headers", None) or getattr(error, "headers", None)
    told = getattr(error, "retry_after", None)
    waits = told if isinstance(told, (int, float)) else _wait(mapping(headers), words)
    return _Facts(
        status=status if isinstance(status, int) and status != 200 else None,
        codes=frozenset(code.lower() for code in codes if isinstance(code, str)),
        words=" ".join(words[:_LONGEST_TEXT].split()).rstrip("."),
        body=more,
        retry_after=waits,
    )


def _spoken(error: Exception) -> str:
    return text(getattr(error, "message", None)) or str(error)


def _wait(headers: Mapping[str, Any], words: str) -> float | None:
    """Return how many seconds a provider asks to wait, by its headers, else by its words."""
    after = headers.get("retry-after")
    for seconds in (_seconds(headers.get("retry-after-ms"), per=1_000), _seconds(after, per=1), _until(after)):
        if seconds is not None:
            return max(0.0, seconds)
    found = _WAIT.search(words)
    if found is None or not any(found.groups()):
        return None
    return sum(float(found[name] or 0) * seconds for name, seconds in (("hours", 3600), ("minutes", 60), ("seconds", 1), ("thousandths", 0.001)))


def _seconds(value: object, *, per: int) -> float | None:
    try:
        seconds = float(str(value)) / per
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) else None


def _until(value: object) -> float | None:
    """Return the seconds until a date in the form of HTTP."""
    try:
        return (parsedate_to_datetime(str(value)) - clock.now()).total_seconds()
    except (ValueError, TypeError):
        return None
