"""explain --html: the real program writes a page."""

from __future__ import annotations

from tests.integration.program import Program
from tests.unit.prompt.report.reading import read


def filled(playhead: Program) -> Program:
    playhead.json("append", "--tape", "support/42", "My VPN drops every hour.")
    playhead.json("append", "--tape", "support/42", "--role", "assistant", "Since when?")
    return playhead


def test_explain_writes_a_page_instead_of_a_table(playhead: Program):
    ran = filled(playhead).run("explain", "--tape", "support/42", "--max-tokens", "8000", "--html", "report.html")
    assert (ran.code, ran.out, ran.err) == (0, "", "wrote report.html\n")
    page = read((playhead.place / "report.html").read_bytes().decode())
    assert page.one("h1").text == "support/42"
    assert "My VPN drops every hour." in page.one("section", id="contents").text
    assert "Compiled" in page.one("div", within="facts").text


def test_the_page_of_what_does_not_fit_says_why_and_the_program_fails(playhead: Program):
    playhead.json("append", "--tape", "t", "word " * 2_000)
    ran = playhead.run("explain", "--tape", "t", "--max-tokens", "500", "--reserve", "100", "--html", "report.html")
    assert ran.code == 1
    assert "budget" in read((playhead.place / "report.html").read_text()).one("p", within="refusal").text


def test_json_names_the_page(playhead: Program):
    told = filled(playhead).json("explain", "--tape", "support/42", "--html", "report.html")
    assert told["html"] == "report.html" and told["rows"]
    assert (playhead.place / "report.html").is_file()


def test_a_page_that_cannot_be_written_is_one_line_and_leaves_nothing(playhead: Program):
    ran = filled(playhead).run("explain", "--tape", "support/42", "--html", "nowhere/report.html")
    assert ran.code == 1 and "nowhere/report.html" in ran.error
    (playhead.place / "old.html").write_text("old")
    assert playhead.run("explain", "--tape", "nobody", "--html", "old.html").code == 1
    assert (playhead.place / "old.html").read_text() == "old"
    assert [p.name for p in playhead.place.iterdir() if p.name.endswith(".part")] == []
