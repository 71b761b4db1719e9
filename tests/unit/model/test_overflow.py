"""A request that is too long is told apart from everything else that is too much."""

from __future__ import annotations

import pytest

from playhead.model.overflow import is_overflow, is_rate_limit, numbers_in

TOO_LONG = (
    ("This model's maximum context length is 128000 tokens. However, your messages resulted in 130142 tokens. Please reduce the length of the messages.", 128_000, 130_142),
    ("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (1000 in the messages, 8000 in the completion).", 8_192, 9_000),
    ("Your input exceeds the context window of this model. Please adjust your input and try again.", None, None),
    ("prompt is too long: 211234 tokens > 200000 maximum", 200_000, 211_234),
    ("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again", 200_000, 210_000),
    ("Input is too long for requested model.", None, None),
    ("Input is too long", None, None),
    ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576, 1_200_000),
    ("Request exceeds the maximum number of tokens", None, None),
    ("The request exceeds the available context size. Try increasing the context size or enable context shift.", None, None),
    ("request (10132 tokens) exceeds the available context size (8192 tokens), try increasing it", 8_192, 10_132),
    ("'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 4096 tokens and your request has 812 input tokens", 4_096, None),
    ("Please reduce the length of the messages or completion. Current length is 9050 while limit is 8192: context_length_exceeded", 8_192, None),
    ("Your request exceeded model token limit: 8192", 8_192, None),
    ("Invalid request: Your request exceeded model token limit: 262144 (requested: 270000)", 262_144, 270_000),
    ("Range of input length should be [1, 30720]", 30_720, None),
    ("Prompt contains 34000 tokens and 0 draft tokens, too large for model with 32768 maximum context length", None, 34_000),
    ("too many tokens: size limit exceeded by 2203 tokens. Try using shorter or fewer inputs. The limit for this model is 4081 tokens.", None, None),
    ("The prompt is too long: 40961, model maximum context length: 40960", 40_960, None),
    ("Request Entity Too Large", None, None),
    ("This endpoint's maximum context length is 262,144 tokens. However, you requested about 272,001 tokens.", 262_144, 272_001),
    ("The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 4_096, None),
    ("exceed context limit", None, None),
    ("输入长度超过模型最大上下文长度", None, None),
    ("上下文长度超过限制，最大上下文长度为 8192", 8_192, None),
    ("Prompt 超长", None, None),
    ("tokens 数量超出模型上限", None, None),
    ("輸入內容過長：提示詞長度超過上限", None, None),
    ("入力がモデルのコンテキスト長を超えています", None, None),
    ("입력 토큰 수가 최대 컨텍스트 길이를 초과했습니다", None, None),
    ("Die Eingabe ist zu lang für dieses Modell", None, None),
    ("La requête dépasse la fenêtre de contexte", None, None),
    ("La entrada excede la ventana de contexto del modelo", None, None),
    ("Запрос превышает максимальную длину контекста", None, None),
)

RATES = (
    "Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 4000.",
    "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000. The input or output tokens must be reduced.",
    "token limit per min exceeded",
    "This request would exceed your organization's rate limit of 50,000 input tokens per minute.",
    "Too many tokens, please wait before trying again.",
    "Too many requests",
    "You exceeded your current quota, please check your plan and billing details.",
    "Token 每分钟请求量超过限制",
    "請求頻率過高，已觸發速率限制",
)

OTHER = (
    "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens",
    "max_tokens is too large: 50000. This model supports at most 16384 completion tokens, whereas you provided 50000.",
    "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum",
    "The image in the request is too large",
    "图片大小超过限制，请求中的输入图片过大",
    "Invalid 'messages[0].name': string too long.",
    "Unsupported value: 'temperature' does not support 0.2 with this model.",
    "The model `gpt-17` does not exist or you do not have access to it.",
    "messages: roles must alternate between user and assistant",
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
    "",
)


@pytest.mark.parametrize("text", [text for text, _, _ in TOO_LONG])
def test_a_request_that_is_too_long_is_recognised(text: str):
    assert is_overflow(text)


@pytest.mark.parametrize("text", [*RATES, *OTHER])
def test_nothing_else_is_taken_for_one(text: str):
    assert not is_overflow(text)


@pytest.mark.parametrize("text", RATES)
def test_a_rate_limit_is_recognised(text: str):
    assert is_rate_limit(text)


@pytest.mark.parametrize("text", [*(text for text, _, _ in TOO_LONG), *OTHER])
def test_nothing_else_is_taken_for_a_rate_limit(text: str):
    assert not is_rate_limit(text)


@pytest.mark.parametrize(("text", "limit", "needed"), [row for row in TOO_LONG if row[1] is not None])
def test_the_numbers_are_taken_from_the_text(text: str, limit: int, needed: int | None):
    found = numbers_in(text, {})
    assert found[0] == limit
    assert needed is None or found[1] == needed


def test_a_need_that_is_no_more_than_the_limit_is_none():
    assert numbers_in("maximum context length is 8192 tokens and your request has 812 input tokens", {}) == (8_192, None)


def test_the_numbers_a_local_server_puts_beside_its_text_are_taken():
    assert numbers_in("the request exceeds the available context size", {"n_ctx": 4_096, "n_prompt_tokens": 5_000}) == (4_096, 5_000)
