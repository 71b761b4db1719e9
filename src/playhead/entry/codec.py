"""JSON bytes: one canonical form, the same in every process, lossless also where fast encoders are not."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

_encoder = msgspec.json.Encoder()
_sorted_encoder = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder()
_LONE = re.compile("[\ud800-\udfff]")


def encode(value: object) -> bytes:
    """Return compact UTF-8 JSON in the value's own key order.

    Non-ASCII text stays as it is; lone surrogates are written as escapes; whole numbers keep all their digits.
    """
    try:
        return _encoder.encode(value)
    except (UnicodeEncodeError, OverflowError):
        return _escaped(value, sort_keys=False)


def encode_sorted(value: object) -> bytes:
    """Return compact UTF-8 JSON with sorted keys, for digests."""
    try:
        return _sorted_encoder.encode(value)
    except (UnicodeEncodeError, OverflowError):
        return _escaped(value, sort_keys=True)


def _escaped(value: object, *, sort_keys: bool) -> bytes:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=sort_keys)
    return _LONE.sub(lambda m: f"\\u{ord(m[0]):04x}", text).encode()


def decode(body: bytes | str) -> Any:
    """Return the plain value of JSON bytes; raises ValueError (or RecursionError for absurd nesting) on anything else."""
    try:
        return _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return json.loads(body, parse_constant=_no_constant)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")
