"""A real Chromium without a window: what it makes of a page, and what a page does in it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.prompt.report.reading import Node, read

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FRAME = """\
<!doctype html>
<meta charset="utf-8">
<style>body { margin: 0 } iframe { border: 0 }</style>
<pre id="said">nothing</pre>
<iframe width="%(width)d" height="900"></iframe>
<script>
const frame = document.querySelector("iframe");
const soon = () => new Promise((done) => setTimeout(done, 400));
frame.onload = async () => {
  const page = frame.contentDocument;
  const see = (query) => [...page.querySelectorAll(query)];
  const look = (one) => frame.contentWindow.getComputedStyle(one);
  let said;
  try { said = await (async () => { %(script)s })(); } catch (failure) { said = { failure: String(failure) }; }
  document.getElementById("said").textContent = JSON.stringify(said);
};
frame.src = %(address)s;
</script>
"""


def browser() -> str:
    """Return the browser to run, or skip the test where none is installed."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("no Chromium is installed; `apt-get install chromium` (or any Chrome on the PATH) lets the browser tests run")
    return found


def dom(address: str, *, place: Path) -> Node:
    """Return the page as it stands when it has been loaded and its script has run; `place` is an empty directory."""
    command = [
        browser(),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--allow-file-access-from-files",
        "--virtual-time-budget=5000",
        "--window-size=1600,1000",
        f"--user-data-dir={place / 'profile'}",
        "--dump-dom",
        address,
    ]
    done = subprocess.run(command, capture_output=True, timeout=120, check=True)
    return read(done.stdout.decode())


def answer(page: Path, script: str, *, width: int = 1200, fragment: str = "") -> object:
    """Return what a script says that looks at the page in a frame of some width.

    The script may await; it has `page`, `see(query)`, `look(element)` and `soon()`.
    """
    frame = page.with_name("frame.html")
    frame.write_text(FRAME % {"width": width, "script": script, "address": json.dumps(page.as_uri() + fragment)}, encoding="utf-8")
    return json.loads(dom(frame.as_uri(), place=page.parent).one("pre", id="said").text)
