"""The pages of the documentation and the blocks of code in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
LANGUAGES = ("python", "bash", "text", "json", "toml", "sql")
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[^\n`]*)\n(?P<code>.*?)^(?P=indent)```[ ]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block: its language, its code, and the line of the page where the code starts."""

    page: Path
    line: int
    language: str
    code: str

    @property
    def runs(self) -> bool:
        """Whether the block is code to run: `python` and `bash` are, all other languages only show something."""
        return self.language in ("python", "bash")


def blocks(page: Path) -> tuple[Block, ...]:
    """Return the fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return tuple(Block(page=page, line=text.count("\n", 0, m.start("code")) + 1, language=m["language"].strip(), code=m["code"]) for m in FENCE.finditer(text))


def name_of(page: Path) -> str:
    """Return how a page is called in test ids."""
    return str(page.relative_to(ROOT))
