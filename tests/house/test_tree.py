"""What every file of the project keeps to."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from tests.house.tree import ROOT, project_files

LONGEST_FILE = 450
FRAGMENT = re.compile(r"\+?[a-z0-9]+(-[a-z0-9]+)*\.(added|changed|fixed|removed|security)\.md")


def test_no_file_names_a_path_of_the_machine_it_was_written_on():
    commonplace = {Path("/"), Path("/home"), Path("/srv"), Path.home(), Path(tempfile.gettempdir())}
    here = [f"{place}/" for place in (ROOT, ROOT.parent) if place not in commonplace]
    guilty = [str(path.relative_to(ROOT)) for path in project_files() for text in (path.read_bytes(),) if any(place.encode() in text for place in here)]
    assert guilty == []


def test_a_source_file_fits_a_readers_head():
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in project_files() if path.suffix == ".py"}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_every_package_says_what_it_is_for():
    silent = [str(p.relative_to(ROOT)) for p in project_files() if p.name == "__init__.py" and "src" in p.parts and not p.read_text(encoding="utf-8").startswith('"""')]
    assert silent == []


def test_changelog_fragments_are_named_for_their_kind_and_say_something():
    fragments = [path for path in project_files() if path.parent == ROOT / "changelog.d" and path.name != "README.md"]
    assert [p.name for p in fragments if not FRAGMENT.fullmatch(p.name)] == []
    assert [p.name for p in fragments if not p.read_text(encoding="utf-8").strip().endswith(".")] == []
