"""What a prompt is made of, in tokens."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Mapping
from dataclasses import dataclass, field

from playhead.entry import codec
from playhead.entry.frozen import freeze
from playhead.errors import InvalidInput
from playhead.view.plan import Plan
from playhead.view.tokens import Counter, text_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """The makeup of a prompt; all numbers are tokens of the compile's counter, but `by_level`, which counts summaries.

    `total` is messages and injections, `raw` what is shown as it was (notes too), `trimmed` what is shown in part,
    `summaries` what summaries tell, `omitted` the price of what was loaded and left out. `request` is what the request sends besides
    the tape's messages (system prompt, tools, injections), None where the caller did not say; `request_total` is all.
    """

    total: int
    raw: int
    trimmed: int
    summaries: int
    injections: int
    omitted: int
    room: int
    by_level: Mapping[int, int] = field(default_factory=dict)
    request: int | None = None
    request_total: int | None = None
    counter: str = ""


def stats_of(plan: Plan, *, injections: int, room: int, counter: Counter, overhead: int | None = None) -> Stats:
    """Return the makeup of a plan's prompt; `injections` and `overhead` are tokens beside it."""
    told = {form: sum(s.tokens or 0 for s in plan.spans if s.form == form) for form in ("raw", "trimmed", "summary", "omitted")}
    return Stats(
        total=plan.tokens + injections,
        raw=told["raw"],
        trimmed=told["trimmed"],
        summaries=told["summary"],
        injections=injections,
        omitted=told["omitted"],
        by_level=Tally(s.level for s in plan.spans if s.form == "summary" and s.level is not None),
        room=room,
        request=None if overhead is None else overhead + injections,
        request_total=None if overhead is None else plan.tokens + injections + overhead,
        counter=counter.name,
    )


def overhead_tokens(overhead: Mapping[str, object] | None, *, counter: Counter) -> int | None:
    """Return the price of what a request sends besides the compiled messages: `{"system": ..., "tools": ...}`.

    Raises InvalidInput where it cannot be written as JSON.
    """
    if overhead is None:
        return None
    unknown = set(overhead) - {"system", "tools"}
    if unknown:
        raise InvalidInput(f"A request's overhead has the keys 'system' and 'tools', not {sorted(unknown)}.")
    frozen = freeze(overhead, path="request_overhead")
    return sum(text_tokens(v if isinstance(v, str) else codec.encode(v).decode(), counter=counter) for v in frozen.values() if v)
