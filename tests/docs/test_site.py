"""The site of the documentation: whole, in order, and readable without a network."""

from __future__ import annotations

import json
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from scripts import site
from tests.browser.chromium import dom
from tests.docs.pages import PAGES, name_of

LOADED = re.compile(r"<(?:script|img|link|iframe)\b[^>]*?\b(?:src|href)=[\"']?((?:https?:)?//[^\"'> ]+)")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of the site, or skip the test where the tool that builds it is not there."""
    if find_spec("material") is None:
        pytest.skip("mkdocs-material is not installed; `make site` installs it")
    place = tmp_path_factory.mktemp("site")
    site.assemble(place / "pages")
    assert site.build(place / "pages", place / "site") == ""
    return place / "site"


def address(page: Path) -> str:
    name = name_of(page)
    return "index.html" if name == "README.md" else name.replace(".md", ".html")


def test_every_page_is_in_the_site(built: Path):
    assert [name_of(page) for page in PAGES if not (built / address(page)).is_file()] == []


def test_nothing_is_loaded_from_elsewhere(built: Path):
    pages = list(built.rglob("*.html"))
    assert [(page.name, found) for page in pages for found in LOADED.findall(page.read_text(encoding="utf-8"))] == []
    assert not [sheet for sheet in built.rglob("*.css") if re.search(r"url\([\"']?(https?:)?//", sheet.read_text(encoding="utf-8"))]


def test_the_words_of_every_page_can_be_searched(built: Path):
    index = json.loads((built / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = {part["location"].partition("#")[0] for part in index["docs"]}
    assert [name_of(page) for page in PAGES if address(page) not in found] == []


def test_a_browser_searches_it_from_the_disk(built: Path, tmp_path: Path):
    seen = dom(f"{(built / 'index.html').as_uri()}?q=StoreContract", place=tmp_path)
    assert re.search(r"\d+ matching document", seen.text)


def test_a_link_that_leads_nowhere_is_told(built: Path, tmp_path: Path):
    shutil.copytree(built.with_name("pages"), tmp_path / "pages")
    with (tmp_path / "pages" / "docs" / "concepts.md").open("a", encoding="utf-8") as page:
        page.write("\n[nowhere](nowhere.md), [no heading](memory.md#no-such-heading)\n")
    told = site.build(tmp_path / "pages", tmp_path / "site")
    assert "nowhere.md" in told
    assert "no-such-heading" in told


def test_the_menu_has_the_order_of_the_index():
    index = "# playhead\n\n* [Concepts](concepts.md): ideas.\n\n## How to\n\n* [Second](howto/b.md)\n* [First](howto/a.md), also\n"
    first, pages, guide, howto, *last = site.navigation(index)
    assert (first, pages, last) == ({"playhead": "README.md"}, {"All pages": "docs/index.md"}, [{"Contributing": "CONTRIBUTING.md"}, {"Changes": "CHANGELOG.md"}])
    assert guide == {"Guide": [{"Concepts": "docs/concepts.md"}]}
    assert howto == {"How to": [{"Second": "docs/howto/b.md"}, {"First": "docs/howto/a.md"}]}
