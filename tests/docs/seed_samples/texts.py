"""The texts from which users know tapes and agents, and the code that is printed in them; they are no part of the project."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from tests.data import shared

ANCHORS = "000_d16998f196ba9e64.txt"
"""The text on anchors and filters."""

MEMORY = "001_62c9fb07f7d80a48.txt"
"""The text on agents that remember."""

MANAGER = "004_124d94fb78f4787d.txt"
"""The text on the context manager; its samples are in another language, so they are ported."""

OPENING = re.compile(r"(from|import|async|await|def|class|@)\b|@\w|[a-z_]\w* = |[a-z_.]+\(")
"""How a line of code begins that opens a sample; the words between are in another script, or in sentences."""

HEADING = re.compile(r"[^\W\d_]\w*")
"""One word alone: a heading, though Python takes it for a name."""

LONGEST_GAP = 16
"""How many lines a statement may go on without being whole."""


def samples(text: str) -> tuple[str, ...]:
    """Return the code that is printed in a text, in order, or skip the test where the text is absent."""
    return tuple(_cut(shared("..", "seeds", text).read_text(encoding="utf-8").splitlines()))


def sample(text: str, *, holding: str) -> str:
    """Return the one sample that holds some words."""
    (found,) = [code for code in samples(text) if holding in code]
    return found


def ours(code: str) -> str:
    """Return a sample with its import lines changed, and nothing else."""
    code = re.sub(r"^from (?:bub|republic)(?:\.\w+)* import ", "from playhead import ", code, flags=re.MULTILINE)
    return re.sub(r"^import republic$", "import playhead as republic", code, flags=re.MULTILINE)


def _cut(lines: Sequence[str]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        end = _end(lines, at) if OPENING.match(lines[at]) else at
        if end > at:
            yield "\n".join(lines[at:end]).strip("\n") + "\n"
        at = max(end, at + 1)


def _end(lines: Sequence[str], start: int) -> int:
    """Return where the code ends that begins at a line: the last place up to which it can be read, before the words go on."""
    end = start
    for at in range(start, len(lines)):
        if HEADING.fullmatch(lines[at]) or at - end > LONGEST_GAP:
            break
        if _is_code("\n".join(lines[start : at + 1])):
            end = at + 1
    return end


def _is_code(text: str) -> bool:
    try:
        compile(text, "sample", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST)
    except SyntaxError:
        return False
    return True
