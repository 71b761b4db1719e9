"""Tools with which a model looks after its own tape: what is on it, what was said earlier, where a new phase starts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta

from playhead.agent.tools import Tool, ToolContext, tool
from playhead.entry import codec
from playhead.entry.entry import ANCHOR, MESSAGE, TOOL_RESULT, TapeEntry, event_name
from playhead.store.query import TapeQuery
from playhead.store.ranked.places import places
from playhead.store.search import values
from playhead.tape.searching import narrowed
from playhead.view.tokens import text_tokens

PAGE = 3_000
"""How many tokens an answer has at most, so that reading the past never fills the present."""

WHOLE = 1_200
"""How many characters of JSON an entry may have to be shown whole; of a longer one an excerpt is shown."""

EXCERPT = 600
"""How many characters an excerpt has."""

STATE = 400
"""How many characters of an anchor's state are listed."""

MARK = "[tape.search]:"
_OWN = frozenset({"tape.search", "tape_search", "tape.anchors", "tape_anchors", "tape.info", "tape_info"})

_OPAQUE = re.compile(r"[A-Za-z0-9+/=_-]{256,}")

Count = Annotated[int, Meta(ge=1, le=100, description="how many to show at most")]
Before = Annotated[int | None, "go on with what stands before this entry, as an earlier answer says"]


CONTRACT = (
    "Everything that is said and done here is kept on a tape, and your context is a part of it. A context that grows too long can fail. "
    "tape_info tells how much there is. Before a new phase, or when the context has grown long, call tape_handoff with a summary of the goal, what is "
    "done, what was decided, and what is left: you then go on from that summary. What came before stays on the tape: tape_search finds it again."
)
"""What a model is told that has these tools."""


def with_contract(system_prompt: str, tools: Mapping[str, Tool]) -> str:
    """Return a system prompt that says what a tape is for, where a model has the tools to look after it."""
    if not {"tape.info", "tape.handoff", "tape.search"} <= set(tools):
        return system_prompt
    return f"{system_prompt}\n\n{CONTRACT}" if system_prompt else CONTRACT


def tape_tools() -> tuple[Tool, ...]:
    """Return the tools with which a model reads and looks after its tape: tape.info, tape.search, tape.anchors, tape.handoff, tape.reset."""
    named: dict[str, Callable[..., Any]] = {"info": info, "search": search, "anchors": anchors, "handoff": handoff, "reset": reset}
    return tuple(tool(function, name=f"tape.{name}") for name, function in named.items())


async def info(*, context: ToolContext) -> str:
    """Tell how much this conversation's tape holds, and how many tokens the last answer took.

    Use it to see whether the context grows long; a context that is too long fails.
    """
    found = await context.tape.info()
    rate = None if found.last_cache_hit_rate is None else f"{found.last_cache_hit_rate:.0%}"
    facts = {
        "tape": found.name,
        "entries": found.entries,
        "anchors": found.anchors,
        "last_anchor": found.last_anchor,
        "entries_since_last_anchor": found.entries_since_last_anchor,
        "last_token_usage": found.last_token_usage,
        "last_cache_hit_rate": rate,
        "first_date": found.first_date,
        "last_date": found.last_date,
    }
    return "\n".join(f"{name}: {'-' if value is None else value}" for name, value in facts.items())


async def search(
    query: Annotated[str, "the words to look for, in any form and order; an empty text lists all, the newest first"],
    limit: Count = 20,
    start: Annotated[str | None, "an ISO date or datetime: what was written then or later"] = None,
    end: Annotated[str | None, "an ISO date or datetime: what was written then or earlier"] = None,
    kinds: Annotated[Sequence[str], "which kinds of entries to search; an empty list is all"] = (MESSAGE, TOOL_RESULT),
    skip: Annotated[int, Meta(ge=0, description="how many matches to pass over, as an earlier answer says")] = 0,
    *,
    smoothed: Annotated[bool, "find also what was said just before and behind a match"] = False,
    context: ToolContext,
) -> str:
    """Search all of this conversation's tape, also what is no longer in view; what is most about the words comes first."""
    asked = narrowed(context.tape.query(), kinds=kinds or None, after_anchor=None, since=start or None, until=end or None)
    matches = _newest(asked, skip + limit + 1) if not query.strip() else _ranked(context, asked, query, skip + limit + 1, smoothed=smoothed)
    found, filtered = await matches
    lines: list[str] = []
    room = PAGE
    for entry, payload in found[skip : skip + limit]:
        line = _line(entry, payload, "\n".join(values(payload)), query)
        room -= text_tokens(line, counter=context.tape.counter)
        if room < 0 and lines:
            break
        lines.append(line)
    shown = skip + len(lines)
    rest = [f"{MARK} there are more; go on with skip={shown}"] if len(found) > shown else []
    return "\n".join([f"{MARK} {len(lines)} matches ({filtered} filtered)", *lines, *rest])


async def anchors(limit: Count = 20, before: Before = None, *, context: ToolContext) -> str:
    """List the anchors of this conversation's tape, where its phases start, with the state that each left; the newest stand last."""
    query = context.tape.query().kinds(ANCHOR).newest_first()
    found = await (query if before is None else query.before(before)).limit(limit + 1).all()
    lines: list[str] = []
    room = PAGE
    for anchor in found[:limit]:
        line = f"- {event_name(anchor) or '-'} (entry {anchor.id}, {anchor.date}): {_cut(codec.encode(anchor.payload.get('state') or {}).decode(), STATE)}"
        room -= text_tokens(line, counter=context.tape.counter)
        if room < 0 and lines:
            break
        lines.append(line)
    if not lines:
        return "(no anchors)"
    rest = [f"[tape.anchors]: there are earlier ones; go on with before={found[len(lines) - 1].id}"] if len(found) > len(lines) else []
    return "\n".join([*rest, *reversed(lines)])


async def handoff(
    name: Annotated[str, "a short name for what is done"] = "handoff",
    summary: Annotated[str, "what the next phase must know: facts, decisions, open points, the task"] = "",
    *,
    context: ToolContext,
) -> str:
    """Start a new phase with a short context: what came before leaves the view but stays on the tape, where tape.search finds it.

    Use it when a phase of the work is done, or before the context grows too long.
    """
    await context.tape.handoff(name, {"summary": summary} if summary else None, **_run(context))
    return f"anchor added: {name}"


async def reset(*, archive: Annotated[bool, "keep what was there in a file first"] = False, context: ToolContext) -> str:
    """Remove everything from this conversation's tape and start anew. Only at the user's explicit wish: it cannot be undone."""
    return await context.tape.reset(archive=archive)


def _run(context: ToolContext) -> dict[str, str]:
    return {"run_id": context.run_id} if context.run_id else {}


Found = tuple[list[tuple[TapeEntry, Mapping[str, Any]]], int]
"""Entries, each with what is shown of its payload, and how many were left out as they hold but earlier answers of these tools."""


async def _ranked(context: ToolContext, query: TapeQuery, text: str, count: int, *, smoothed: bool) -> Found:
    """Return at least so many of the entries that are most about a text, or all there are."""
    wanted = count
    while True:
        hits = await context.tape.store.search(query.limit(wanted), text, smoothed=smoothed)
        shown = [(hit.entry, payload) for hit in hits if (payload := _without_own(hit.entry, text)) is not None]
        if len(shown) >= count or len(hits) < wanted:
            return shown, len(hits) - len(shown)
        wanted *= 2


async def _newest(query: TapeQuery, count: int) -> Found:
    """Return at least so many of the newest entries, or all there are, of equal ones the newest."""
    shown: dict[str, tuple[TapeEntry, Mapping[str, Any]]] = {}
    filtered = 0
    async for entry in query.newest_first():
        payload = _without_own(entry, "")
        filtered += payload is None
        if payload is not None:
            shown.setdefault("\n".join(values(payload)), (entry, payload))
        if len(shown) >= count:
            break
    return list(shown.values()), filtered


def _without_own(entry: TapeEntry, query: str) -> Mapping[str, Any] | None:
    """Return what an entry holds beside earlier answers of these tools, None where it holds nothing else that was looked for."""
    results = entry.payload.get("results")
    if entry.kind != TOOL_RESULT or not isinstance(results, list):
        return entry.payload
    names = entry.payload.get("names")
    others = [result for i, result in enumerate(results) if not _is_own(result, names[i] if isinstance(names, list) and i < len(names) else None)]
    if len(others) == len(results):
        return entry.payload
    is_wanted = any(places(text, query) for text in values(others)) if query else bool(others)
    return {"results": others} if is_wanted else None


def _is_own(result: object, name: object) -> bool:
    """Return whether a result is an earlier answer of these tools: by the tool's name, where none was kept by how it begins."""
    if isinstance(name, str):
        return name in _OWN
    return isinstance(result, str) and re.match(rf"{re.escape(MARK)} \d+ matches \(\d+ filtered\)", result) is not None


def _line(entry: TapeEntry, payload: Mapping[str, Any], text: str, query: str) -> str:
    where = {"id": entry.id, "date": entry.date, "kind": entry.kind}
    whole = codec.encode({**where, "payload": payload}).decode()
    if len(whole) <= WHOLE:
        return whole
    return codec.encode({**where, "excerpt": _around(text, query), "characters": len(text)}).decode()


def _around(text: str, query: str) -> str:
    """Return the part of a text where the query stands; media in it are only counted."""
    text = _OPAQUE.sub(lambda found: f"[{len(found[0]):,} characters of base64]", text)
    ((at, _), *_) = places(text, query) or [(0, 0)]
    start = max(0, min(at - EXCERPT // 3, len(text) - EXCERPT))
    return f"{'...' if start else ''}{text[start : start + EXCERPT]}{'...' if start + EXCERPT < len(text) else ''}"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}..."
