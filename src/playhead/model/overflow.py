"""What providers say when a request is too long: told apart from rate limits, with the numbers in it.

Each pattern is of a text that a provider or a server of open models sends; tests/unit/model/test_overflow.py has them whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_RATE = re.compile(
    r"rate.?limit|too many requests|tokens?.{0,15}per.{0,3}(?:min|minute|day|hour|second)|\b[tr]p[md]\b|throttl|quota|please wait|too many concurrent|requests? per (?:min|day|second)"
    r"|每分钟|每天|速率|限流|频率|频繁|並發|并发|レート|分あたり|速度制限|분당|요청 한도|débit|limite de velocidad",
    re.IGNORECASE,
)

_OF_MEDIA = re.compile(r"\b(?:image|photo|picture|pdf|file|attachment|audio|video|tool name|header|uri|url|string)s?\b|图片|图像|文件|音频|视频|画像|이미지", re.IGNORECASE)
"""What is too large there is one thing in the request, not the request."""

_OF_ANSWER = re.compile(
    r"max(?:imum)?[ _](?:completion[ _]|output[ _])?tokens?\b.{0,40}(?:too large|must be|at most|should be)"
    r"|(?:output|completion) tokens?.{0,40}(?:maximum|at most|limit)|tokens? > \d+, which",
    re.IGNORECASE,
)
"""What is too large there is the answer that was asked for."""

_OF_CONTEXT = re.compile(
    r"context[ _-]?(?:length|window|size|limit)|maximum context|max(?:imum)?[ _-]?(?:model|sequence|position)[ _-]?len|input length and .?max_tokens.? exceed",
    re.IGNORECASE,
)
_EXCEEDS = re.compile(r"exceed|too (?:long|large|big|small|many)|longer|larger|greater|more than|over|maximum|reduce|shorten|\d+ ?[>+]|超|exhaust|ran out|full|fit", re.IGNORECASE)

_TOO_LONG = re.compile(
    r"(?:prompt|input|request|query|messages?|conversation|transcript|history|text)s?\b.{0,60}\btoo (?:long|large|big)\b"
    r"|request (?:entity|body|payload) too large|payload too large|content too large"
    r"|too many (?:input |prompt |total )?tokens"
    r"|(?:prompt|input|sequence|total)[ _]?(?:token)?[ _]?(?:length|count|size)?.{0,60}(?:exceed|greater than|longer than|larger than)"
    r"|exceed.{0,60}(?:token limit|(?:maximum|max)[ _](?:number of )?(?:input |prompt |sequence |model )?(?:tokens|length)|input limit)"
    r"|tokens?.{0,30}exceed|\d[ _]?tokens? ?> ?\d|input length should be \["
    r"|token (?:limit|count) (?:was |is |has been )?exceeded",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"(?:上下文|输入|輸入|提示词?|提示詞|prompt|文本|tokens?|令牌|消息|訊息|对话|對話).{0,30}(?:超过|超過|超出|超长|超長|过长|過長|太长|太長|超限)|超(?:过|過|出).{0,20}(?:上下文|最大长度|最大長度|tokens?)"
    r"|(?:コンテキスト|入力|プロンプト|トークン).{0,40}(?:超え|超過|長すぎ|上限)"
    r"|(?:컨텍스트|입력|프롬프트|토큰).{0,40}(?:초과|너무 [깁길긴많])"
    r"|(?:kontext|eingabe|anfrage|prompt).{0,60}(?:überschr|zu lang|zu groß)"
    r"|(?:contexte|entrée|requête|invite|prompt).{0,60}(?:dépass|trop long)"
    r"|(?:contexto|entrada|solicitud|mensaje|prompt|contesto|richiesta).{0,60}(?:excede|supera|sobrepasa|demasiado larg|muito long|excessivamente long|troppo lung)"
    r"|(?:контекст|запрос|ввод|промпт|токен).{0,60}(?:превы|слишком длин|слишком больш)",
    re.IGNORECASE,
)

_GROUPED = re.compile(r"(?<=\d)[,_](?=\d{3}(?!\d))")
_NUMBERS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?P<part>\d+) ?\+ ?(?P<rest>\d+) ?> ?(?P<limit>\d+)",
        r"(?P<needed>\d+) ?tokens? ?> ?(?P<limit>\d+)",
        r"too long: (?P<needed>\d+)\D.{0,40}length: (?P<limit>\d+)",
        r"token count \(?(?P<needed>\d+)\)? exceeds .{0,60}?\(?(?P<limit>\d+)\)?(?:\D|$)",
        r"\(?(?P<needed>\d+) ?tokens?\)? (?:exceeds?|is (?:longer|larger|greater) than) .{0,60}?\(?(?P<limit>\d+)",
        r"(?:context|window|sequence|position|model.?len|token|input|prompt|最大|上下文)\w*.{0,40}?[^\d]{0,20}?(?:is|of|to|:|为|為|=|\() ?(?P<limit>\d+)",
        r"length should be \[\d+, ?(?P<limit>\d+)\]",
        r"(?:limit|maximum)[^\d]{0,30}(?P<limit>\d+) ?(?:tokens|$)",
        r"(?:limit|maximum)[^\d]{0,20}\b(?P<limit>\d{3,})",
    )
)
_NEEDED = re.compile(
    r"(?:requested(?: about)?|resulted in|contains?(?: at least)?|has|have|got|sent|you (?:passed|provided)|prompt is|input is|actual|当前|實際|实际)"
    r"[^\d]{0,30}(?P<needed>\d+)",
    re.IGNORECASE,
)


def is_rate_limit(text: str) -> bool:
    """Tell whether a text is of a rate limit: too much at once, or in a minute; sending less of the context would not help."""
    return _RATE.search(text) is not None


def is_overflow(text: str) -> bool:
    """Tell whether a text says that a request is longer than the model's context; never of a rate limit."""
    if is_rate_limit(text):
        return False
    if _OF_CONTEXT.search(text) and _EXCEEDS.search(text):
        return True
    return (_TOO_LONG.search(text) is not None or _ELSEWHERE.search(text) is not None) and not _OF_MEDIA.search(text) and not _OF_ANSWER.search(text)


def numbers_in(text: str, body: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the limit and what the request needed, in tokens, None where an error does not say."""
    limit, needed = _number(body.get("n_ctx")), _number(body.get("n_prompt_tokens"))
    plain = _GROUPED.sub("", text)
    for pattern in _NUMBERS:
        found = pattern.search(plain)
        if found is None:
            continue
        told = {name: int(value) for name, value in found.groupdict().items()}
        limit = limit or told["limit"]
        needed = needed or told.get("needed") or (told["part"] + told["rest"] if "part" in told else None)
        break
    if needed is None and (found := _NEEDED.search(plain)):
        needed = int(found["needed"])
    return limit or None, needed if needed is not None and needed > (limit or 0) else None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
