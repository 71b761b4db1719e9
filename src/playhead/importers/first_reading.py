"""The first reading of a file: what its format must know before the first item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from playhead.errors import UnreadableFile
from playhead.importers.items import STEP
from playhead.importers.lines import Fault, Raw


def first_reading(raws: Iterable[Raw], take: Callable[[Raw, Any], None], *, value_of: Callable[[Raw], Any], path: str, strict: bool) -> Iterator[int]:
    """Give each line or element to `take`, with its value or the Fault that says why it has none; yield now and then how many bytes were read.

    Of one that comes in parts only the first is given. Raises UnreadableFile at the first Fault where it is `strict`.
    """
    due = 0
    for raw in raws:
        if raw.end >= due:
            due = raw.end + STEP
            yield raw.end
        if raw.part:
            continue
        value = value_of(raw)
        if strict and isinstance(value, Fault):
            raise UnreadableFile(path, f"line {raw.line}: {value.why}", line=raw.line)
        take(raw, value)
