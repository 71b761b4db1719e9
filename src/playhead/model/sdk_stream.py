"""What the streams of the OpenAI and Anthropic SDKs carry, as plain JSON objects."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from playhead.errors import BadReply

_STREAMS = ("text/event-stream", "application/octet-stream", "application/x-ndjson")


async def objects(stream: Any, *, asked: str) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the objects of an SDK's stream with exactly the members that were sent, and close it in the end.

    Raises BadReply for an answer that is no stream, or holds what is no object, or nothing at all.
    """
    is_empty = True
    try:
        _require_stream(stream, asked=asked)
        async for item in stream:
            is_empty = False
            if not hasattr(item, "to_dict"):
                raise BadReply(f"The answer holds {type(item).__name__} where an object belongs; ask again.")
            yield item.to_dict(warnings=False)
    finally:
        await stream.close()
    if is_empty:
        raise BadReply("The answer is empty; ask again.")


def _require_stream(stream: Any, *, asked: str) -> None:
    form = stream.response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if form and form not in _STREAMS:
        raise BadReply(f"The server answered with {form} where the stream of {asked} belongs; check that base_url is an API of this kind.")
