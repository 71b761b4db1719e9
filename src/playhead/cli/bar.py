"""The token bar: a budget as one line, its parts in the order of the prompt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

FREE = "free"
LOOKS = {
    "raw": ("█", "green"),
    "summary": ("▓", "magenta"),
    "trimmed": ("▒", "yellow"),
    "injection": ("◆", "cyan"),
    FREE: ("·", "dim"),
    "omitted": ("", "red"),
    "not shown": ("", "dim"),
}
"""How each form looks: its sign, which tells the forms apart where there are no colours, and its colour."""

USUAL_WIDTH = 80
WIDEST = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A run of tokens in one form."""

    form: str
    tokens: int


def bar(shares: Iterable[Share], *, room: int, width: int) -> Text:
    """Return a bar of at most `width` columns in which `room` tokens are the whole; what is not used is free.

    Each run that has tokens gets at least one column where there are enough, so that a short one is seen.
    """
    columns = min(width, WIDEST)
    runs = _seen(shares, most=columns // 4)
    runs.append(Share(form=FREE, tokens=max(0, room - sum(s.tokens for s in runs))))
    text = Text()
    for share, size in zip(runs, apportioned([s.tokens for s in runs], columns), strict=True):
        sign, style = LOOKS[share.form]
        text.append(sign * size, style=style)
    return text


def _seen(shares: Iterable[Share], *, most: int) -> list[Share]:
    """Return the shares that have tokens; where they are too many to be told apart, one for each form."""
    runs = [s for s in shares if s.tokens > 0]
    return runs if len(runs) <= most else totals(runs)


def totals(shares: Iterable[Share]) -> list[Share]:
    """Return the tokens of each form, in the order in which the forms come up."""
    sums: dict[str, int] = {}
    for share in shares:
        sums[share.form] = sums.get(share.form, 0) + share.tokens
    return [Share(form=form, tokens=tokens) for form, tokens in sums.items()]


def apportioned(amounts: Sequence[int], columns: int) -> list[int]:
    """Return how many of `columns` each amount gets: at least one where it is not 0 and there are enough, else by size.

    The columns always add up to `columns`, unless all amounts are 0.
    """
    total = sum(amounts)
    if not total:
        return [0] * len(amounts)
    least = 1 if sum(a > 0 for a in amounts) <= columns else 0
    sizes = [max(least, a * columns // total) if a else 0 for a in amounts]
    while spare := columns - sum(sizes):
        widest = max(range(len(sizes)), key=lambda i: (sizes[i], amounts[i]))
        sizes[widest] += 1 if spare > 0 else -1
    return sizes


def legend(shares: Iterable[Share], *, room: int) -> Text:
    """Return what the signs of a bar stand for, with the tokens of each form."""
    text = Text()
    used = 0
    for share in totals(shares):
        used += share.tokens
        _entry(text, share.form, f"{share.form} {share.tokens:,}")
    _entry(text, FREE, f"free {max(0, room - used):,}")
    return text


def _entry(text: Text, form: str, words: str) -> None:
    sign, style = LOOKS[form]
    text.append("   " if cell_len(text.plain) else "")
    text.append(f"{sign} " if sign else "", style=style)
    text.append(words)
