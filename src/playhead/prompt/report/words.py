"""How a page words numbers, entries and the beginnings of texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from playhead.entry import codec
from playhead.entry.message import Media, Message, Part, ProviderItem, Text, Thinking, ToolCall, ToolResult
from playhead.view.units import Unit

OPENING = 200
"""How many characters of a text its line in a list shows at most."""

NAME_MOST = 300
"""How many characters of a name are shown."""

NAMES_SHOWN = 40
"""How many ids, uids or names are listed before the rest is only counted."""


def counted(count: int, thing: str) -> str:
    """Return a number with the thing it counts: `1 entry`, `2 entries`."""
    plural = f"{thing[:-1]}ies" if thing.endswith("y") else f"{thing}s"
    return f"{count:,} {thing if count == 1 else plural}"


def percent(part: int, whole: int) -> str:
    """Return a part of a whole in words: `0 %`, `<1 %`, `42 %`, `>99 %` of what is not quite full."""
    if 0 < part * 100 < whole:
        return "<1 %"
    if 99 * whole < part * 100 < 100 * whole:
        return ">99 %"
    return f"{part * 100 / whole:.0f} %" if whole else "0 %"


def price(tokens: int | None) -> str:
    """Return how many tokens a stretch takes, where that is known."""
    return "not read" if tokens is None else counted(tokens, "token")


def between(first: int, last: int) -> str:
    """Return entries from one id to another: `7`, `7–12`, "" where there are none."""
    return "" if not first else str(first) if first == last else f"{first}–{last}"


def entries(first: int, last: int) -> str:
    """Return which entries these are: `entry 7`, `entries 7–12`, "" where there are none."""
    return "" if not first else f"entry {first}" if first == last else f"entries {first}–{last}"


def listed(names: Sequence[str]) -> str:
    """Return names with commas between them; of very many the first, and how many more there are."""
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def runs(ids: Iterable[int]) -> str:
    """Return rising ids as runs: `3–5, 9`."""
    found: list[tuple[int, int]] = []
    for id in ids:
        if found and found[-1][1] == id - 1:
            found[-1] = (found[-1][0], id)
        else:
            found.append((id, id))
    return listed([between(first, last) for first, last in found])


def speaker(unit: Unit) -> str:
    """Return who or what speaks in a unit: a role with its participant, or the tools a round calls."""
    message = unit.messages[0]
    if unit.kind == "round":
        names = [c.name for c in message.calls]
        return listed([brief(name) if (count := names.count(name)) == 1 else f"{brief(name)} × {count}" for name in dict.fromkeys(names)])
    return unit.kind if unit.kind in {"note", "anchor"} else role_of(message)


def role_of(message: Message) -> str:
    """Return a message's role with its participant's name, where it has one."""
    return f"{message.role} {brief(message.name)}" if message.name else message.role


def brief(name: str) -> str:
    """Return a name, or a reason with one in it; of a very long one the beginning."""
    return name if len(name) <= NAME_MOST else f"{name[:NAME_MOST]}… ({len(name) - NAME_MOST:,} more characters)"


def opening(messages: Sequence[Message]) -> str:
    """Return the first words of messages: what is said, else the first call's arguments, else what kind of part it is."""
    parts = [p for m in messages for p in m.parts]
    texts = [p for p in parts if isinstance(p, Text) and p.text.strip()]
    first = texts[0] if texts else parts[0] if parts else None
    return "" if first is None else " ".join(said(first)[: 4 * OPENING].split())[:OPENING]


def said(part: Part) -> str:
    """Return what a part says as text; a call says its arguments, media where they are."""
    match part:
        case Text() | Thinking():
            return part.text
        case ToolCall():
            return codec.encode(part.arguments).decode(errors="surrogatepass")
        case ToolResult():
            return part.content if isinstance(part.content, str) else "\n".join(map(said, part.content))
        case Media():
            size = f"{len(part.data) * 3 // 4:,} bytes" if part.data else None
            return ", ".join(fact for fact in (part.kind, part.name, part.mime, part.url, part.ref, size) if fact)
        case ProviderItem():
            return codec.encode(part.value).decode(errors="surrogatepass")
