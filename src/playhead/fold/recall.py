"""Recall pairs: how a summary stands in a prompt, as a question and its answer at the place of what it tells."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Self

from playhead.entry.message import Message, Role
from playhead.fold.config import PLACEHOLDER, SPEAKER, AutobiographicalConfig, Envelope
from playhead.fold.node import Node
from playhead.view.tokens import Counter, default_counter, message_tokens

ASKER = "Context Manager"
"""Who asks what a summary answers."""

NAMED = "Named there, newest first: "
"""What leads the list of identifiers below a summary."""

REMEMBERED = 20_000
"""How many prices are remembered; more are worked out again."""

_UNSEEN = r"[\s\u200b-\u200f\u2060\ufeff]*"
_READS = {"id": r"L\d+-\d+", "level": r"\d+", "first": r"\d+", "last": r"\d+", "tools": ".*?"}
_TAG = re.compile(r"<(?=\s*+/?\s*+cm-recall)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallStyle:
    """How summaries are shown: `question` is what each answers and may hold placeholders, `speaker` answers.

    `is_own` where the speaker is the agent whose memory this is: its answers are the assistant's then, else a user's of that name.
    `lists_names` where the identifiers of a summary stand below its words.
    """

    question: str
    speaker: str
    is_own: bool = True
    envelope: Envelope = "none"
    lists_names: bool = True

    @classmethod
    def of(cls, config: AutobiographicalConfig, *, agent: str | None = None) -> Self:
        """Return the style that settings ask for; `agent` is who the assistant is, None for whoever speaks the summaries."""
        return cls(
            question=config.summary_context_label if config.adaptive_resolution else config.recall_header_template,
            speaker=config.summary_participant,
            is_own=agent is None or config.summary_participant in (agent, SPEAKER),
            envelope=config.recall_envelope,
            lists_names=config.identifier_index,
        )


def recall_pair(node: Node, *, style: RecallStyle) -> tuple[Message, Message]:
    """Return the question and the answer that a summary is shown as; neither is ever a system message.

    A line of the summary that reads like the heading of another one is led by a backslash, and with an envelope no text can
    open or close it (specs: context-manager 17.1).
    """
    role: Role = "assistant" if style.is_own else "user"
    question = Message(role="user", name=ASKER, content=_filled(style.question, node), sources=(node.uid,))
    return question, Message(role=role, name=None if style.is_own else style.speaker, content=_answer(node, style), sources=(node.uid,))


class RecallPrices:
    """What recall pairs cost in tokens; each is worked out once."""

    def __init__(self, counter: Counter | None, style: RecallStyle) -> None:
        self._counter = default_counter() if counter is None else counter
        self._style = style
        self._known: dict[tuple[str, str, int, int], int] = {}

    def of(self, node: Node) -> int:
        """Return the price of a summary as it is shown: its question and its answer."""
        key = (node.uid, node.id, node.first, node.last)
        price = self._known.get(key)
        if price is None:
            price = sum(message_tokens(message, counter=self._counter) for message in recall_pair(node, style=self._style))
            if len(self._known) >= REMEMBERED:
                for old in list(self._known)[: REMEMBERED // 2]:
                    del self._known[old]
            self._known[key] = price
        return price


def _filled(template: str, node: Node) -> str:
    """Return a template with what its placeholders stand for; what is filled in is not read as a template again."""
    words = {"id": node.id, "level": str(node.level), "first": str(node.first), "last": str(node.last), "tools": _tools(node)}
    return PLACEHOLDER.sub(lambda found: words.get(found[1], found[0]), template)


def _tools(node: Node) -> str:
    return ", ".join(sorted({_on_one_line(name) for name in node.tools})) or "none"


def _answer(node: Node, style: RecallStyle) -> str:
    text = _without_headings(node.text.strip(), style.question)
    if node.index and style.lists_names:
        text = f"{text}\n\n{NAMED}{', '.join(_on_one_line(name) for name in node.index)}".strip()
    if style.envelope == "none":
        return text
    return f'<cm-recall id="{escape(node.id)}" level="{node.level}" span="{node.first}-{node.last}">\n{_TAG.sub("&lt;", text)}\n</cm-recall>'


def _on_one_line(name: str) -> str:
    return " ".join(name.split())


def _without_headings(text: str, question: str) -> str:
    heading = _heading(question)
    return "".join(f"\\{line}" if heading.match(line) else line for line in text.splitlines(keepends=True))


@cache
def _heading(question: str) -> re.Pattern[str]:
    """Return what a line must not start with: what every question starts with, or its asker's name as some providers are shown it."""
    before, *rest = PLACEHOLDER.split(question)
    start = _literally(before)
    if not start and rest:
        start = _READS.get(rest[0], ".*?") + _literally(rest[1])
    return re.compile(rf"{_UNSEEN}(?:{start}|{_literally(ASKER)}\s*:)", re.IGNORECASE)


def _literally(words: str) -> str:
    """Return the pattern of words, however many spaces part them."""
    return r"\s+".join(map(re.escape, words.split()))
