"""Build the documentation as a site that needs no network: `python -m scripts.site`, from the root of the project.

README and docs become pages under the same links that they have in the repository; docs/index.md says their order.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
LOOK = ROOT / "scripts" / "look"
"""The style sheet and the script that the pages have beside the theme's own."""

FRONT = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "changelog.d/README.md", "benchmarks/README.md")
"""Pages outside of docs."""

LINK = re.compile(r"^\* \[([^\]]+)\]\(([^)#]+\.md)\)", re.MULTILINE)
QUIET = {"NO_MKDOCS_2_WARNING": "1"}
"""The theme's news about a later version of its tool; it says nothing of these pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading of docs/index.md and the pages below it, each with its title."""

    title: str
    pages: tuple[tuple[str, str], ...]


def sections(index: str) -> tuple[Section, ...]:
    """Return the sections of docs/index.md in their order; what stands before the first heading is the guide."""
    guide, *others = re.split(r"^## (.+)\n", index, flags=re.MULTILINE)
    texts = [("Guide", guide), *zip(others[::2], others[1::2], strict=True)]
    return tuple(Section(title=title, pages=tuple((name, f"docs/{path}") for name, path in LINK.findall(text))) for title, text in texts)


def navigation(index: str) -> list[dict[str, Any]]:
    """Return what the site's menu holds: the README, then the sections of docs/index.md."""
    found = [{section.title: [{title: path} for title, path in section.pages]} for section in sections(index)]
    return [{"playhead": "README.md"}, {"All pages": "docs/index.md"}, *found, {"Contributing": "CONTRIBUTING.md"}, {"Changes": "CHANGELOG.md"}]


def assemble(pages: Path) -> None:
    """Copy what the site is made of, each file where its links expect it."""
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(ROOT / "docs", pages / "docs")
    for name in FRONT:
        (pages / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, pages / name)
    shutil.copytree(LOOK, pages / "look")


def settings(pages: Path, site: Path) -> dict[str, Any]:
    """Return the settings of the tool that builds the pages."""
    return {
        "site_name": "playhead",
        "site_description": "The context engine for LLM agents",
        "docs_dir": str(pages),
        "site_dir": str(site),
        "theme": {
            "name": "material",
            "font": False,
            "features": ["navigation.top", "navigation.indexes", "navigation.footer", "content.code.copy", "search.suggest", "search.highlight"],
            "palette": [_palette("light", "default", toggle="night"), _palette("dark", "slate", toggle="sunny")],
        },
        "plugins": {"search": {}, "offline": {}},
        "extra": {"generator": False, "polyfills": ["look/iframe-worker.js"]},
        "extra_css": ["look/site.css"],
        "markdown_extensions": ["tables", "sane_lists", {"toc": {"permalink": True, "toc_depth": 3}}, "pymdownx.superfences", "pymdownx.highlight"],
        "validation": {"nav": {"omitted_files": "info"}, "links": {"not_found": "warn", "anchors": "warn", "absolute_links": "warn", "unrecognized_links": "warn"}},
        "nav": navigation((ROOT / "docs" / "index.md").read_text(encoding="utf-8")),
    }


def _palette(wish: str, scheme: str, *, toggle: str) -> dict[str, Any]:
    button = {"icon": f"material/weather-{toggle}", "name": "Switch between light and dark"}
    return {"media": f"(prefers-color-scheme: {wish})", "scheme": scheme, "primary": "teal", "accent": "teal", "toggle": button}


def build(pages: Path, site: Path) -> str:
    """Build the site from what was assembled, and return what the tool complains of: "" where all is well."""
    config = site.with_name(f"{site.name}.json")
    config.write_text(json.dumps(settings(pages, site)), encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(config)]
    done = subprocess.run(command, env={**os.environ, **QUIET}, capture_output=True, text=True, check=False)  # noqa: S603 - our own command
    return "" if done.returncode == 0 else done.stdout + done.stderr


def main() -> None:
    """Build into build/site. Exits with what is wrong where a link leads nowhere, or anything else is warned of."""
    pages = BUILD / "pages"
    assemble(pages)
    if complaints := build(pages, BUILD / "site"):
        sys.exit(complaints)
    print(BUILD / "site" / "index.html")  # noqa: T201 - what the command is asked for


if __name__ == "__main__":
    main()
