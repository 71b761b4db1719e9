"""The page itself: one HTML file without anything from outside, the same bytes for the same prompt."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template

from playhead.prompt.prompt import Prompt
from playhead.prompt.report.bars import bars
from playhead.prompt.report.contents import contents, limits_of
from playhead.prompt.report.markup import clean, element, markup
from playhead.prompt.report.sizes import sizes
from playhead.prompt.report.stretches import dropped, stretches
from playhead.prompt.report.tables import facts, fallen, figures, makeup, size_table, unseen

CONTENTS = "<!-- contents -->"
"""Where in the skeleton the stretches stand."""


def report_html(prompt: Prompt, *, compiled: datetime | None = None) -> str:
    """Return a page that shows what the model saw of a tape and why: one HTML text, ready to be written as UTF-8.

    It loads nothing and sends nothing. Long texts are cut with a note, very long records listed at both ends, so
    that a page stays below about 20 MB. The same prompt gives the same text; `compiled` is told where it is given.
    """
    return "".join(report_chunks(prompt, compiled=compiled))


def report_chunks(prompt: Prompt, *, compiled: datetime | None = None) -> Iterator[str]:
    """Yield the page of `report_html` a piece at a time."""
    parts = stretches(prompt)
    before, behind = _skeleton().split(CONTENTS)
    yield Template(before).substitute(
        policy=_policy(),
        style=_shipped("page.css"),
        tape=escape(clean(prompt.provenance.tape)),
        figures=markup(figures(prompt, parts)),
        facts=markup(facts(prompt, compiled=compiled)),
        refusal="" if prompt.over_budget is None else markup(element("p", prompt.over_budget.message, class_="refusal", role="note")),
        bars=markup(bars(parts, room=prompt.budget.room)),
        fallen=markup(fallen(parts, dropped(prompt))),
        unseen=markup(unseen(prompt)),
    )
    for part in contents(parts, limits_of(parts)):
        yield markup(part) + "\n"
    found = sizes(parts, counter=prompt.counter)
    yield Template(behind).substitute(
        tools=markup(size_table(found.tools, things="Calls", whole=prompt.stats.total, empty="No tool was called.")),
        roles=markup(size_table(found.roles, things="Messages", whole=prompt.stats.total, empty="Nobody speaks.")),
        makeup=markup(makeup(prompt)),
        script=_shipped("page.js"),
    )


@cache
def _shipped(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _skeleton() -> str:
    return _shipped("page.html")


@cache
def _policy() -> str:
    """Return what the page may do: run and look as shipped, and nothing else, whatever a text of the tape holds."""
    style, script = (b64encode(sha256(_shipped(name).encode()).digest()).decode() for name in ("page.css", "page.js"))
    return f"default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; style-src-attr 'unsafe-inline'; base-uri 'none'; form-action 'none'"
