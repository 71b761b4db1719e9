"""The page of a prompt in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from playhead.cli.demo import demo_messages
from playhead.entry.message import user
from playhead.prompt.budget import Budget
from playhead.prompt.injection import Injection
from playhead.prompt.report.page import report_html
from tests.browser.chromium import answer, dom
from tests.unit.prompt.report.prompts import AllForms, a_round, compiled, talk
from tests.unit.prompt.report.reading import Node, read
from tests.unit.prompt.report.test_page import HOSTILE, everywhere

OVERFLOW = """
for (const one of see('details')) one.open = true;
const found = [];
for (const width of [320, 400, 700, 1120, 1600]) {
  frame.width = width;
  await soon();
  found.push(page.documentElement.scrollWidth - page.documentElement.clientWidth);
}
return found;
"""
"""How far the page, with all in it open, reaches beyond windows of some widths."""


@pytest.fixture
def written(tmp_path: Path):
    def write(prompt, *, change=lambda text: text) -> Path:
        page = tmp_path / "page.html"
        page.write_text(change(report_html(prompt)), encoding="utf-8")
        return page

    return write


def demo(**how):
    injections = [Injection(namespace="clock", position="before_user", content="It is noon.")]
    return compiled(list(demo_messages()), name="demo/two days of VPN gateways", injections=injections, **how)


def test_a_browser_reads_the_page_as_it_was_written(written, tmp_path: Path):
    prompt = demo(budget=Budget(max_tokens=20_000))
    page = written(prompt)
    seen, meant = dom(page.as_uri(), place=tmp_path), read(report_html(prompt))
    assert [n.tag for n in seen.one("main").all()] == [n.tag for n in meant.one("main").all()]
    assert [n.text for n in seen.all("div", within="message")] == [n.text for n in meant.all("div", within="message")]


def outline(seen: Node) -> list[tuple[str, tuple[str, ...]]]:
    return [(n.tag, tuple(n.attributes)) for n in seen.all()]


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory):
    place = tmp_path_factory.mktemp("harmless")
    (place / "page.html").write_text(report_html(everywhere("harmless")), encoding="utf-8")
    return outline(dom((place / "page.html").as_uri(), place=place))


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_what_a_tape_holds_does_nothing_in_a_browser(written, harmless, tmp_path: Path, number: int):
    seen = dom(written(everywhere(HOSTILE[number])).as_uri(), place=tmp_path)
    assert outline(seen) == harmless
    assert seen.one("title").text.endswith(": what the model saw")


def test_a_script_that_got_into_the_page_would_not_run(written, tmp_path: Path):
    foreign = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\"><p id=added></p></body>"
    seen = dom(written(compiled(talk(3)), change=lambda text: text.replace("</body>", foreign)).as_uri(), place=tmp_path)
    assert seen.all("p", id="added") and seen.one("title").text == "support/42: what the model saw"
    assert "hidden" not in seen.one("button", id="theme").attributes


@pytest.mark.parametrize("text", ["harmless", "W" * 300, HOSTILE[4]], ids=["words", "one long word", "markup"])
def test_nothing_sticks_out_at_any_width(written, text: str):
    assert answer(written(everywhere(text)), OVERFLOW) == [0] * 5


def test_a_long_conversation_fits_narrow_and_wide_screens(written):
    assert answer(written(demo(budget=Budget(max_tokens=20_000))), OVERFLOW) == [0] * 5


def test_the_line_of_a_unit_is_one_line_however_long_its_ids_are(written):
    """A round's line is as high as that of a single message."""
    heights = "return [...new Set(see('.unit > summary').map(one => Math.round(one.getBoundingClientRect().height)))]"
    said = [*talk(1_000, words=1), *a_round(1)]
    assert len(answer(written(compiled(said, budget=Budget(max_tokens=6_000))), f"for (const one of see('.stretch')) one.open = true; {heights}")) == 1


def test_a_part_of_the_bar_leads_to_its_messages(written):
    script = """
    const before = see('#part-1')[0].open;
    see('a.part[href="#part-1"]')[0].click();
    await soon();
    return [before, see('#part-1')[0].open, page.activeElement === see('#part-1 > summary')[0]];
    """
    assert answer(written(compiled(talk(40), budget=Budget(max_tokens=700, reserve_for_response=0))), script) == [False, True, True]


def test_an_address_with_a_part_opens_it(written):
    page = written(compiled(talk(40)))
    assert answer(page, "await soon(); return see('#part-0')[0].open", fragment="#part-0") is True
    assert answer(page, "await soon(); return see('#part-0')[0].open") is False


def test_the_reason_shows_on_focus_and_all_is_reached_by_keyboard(written):
    script = """
    const part = see('a.part')[0];
    part.focus({ focusVisible: true });
    const stops = see('a[href], button, input, summary').filter((one) => one.tabIndex === 0 && !one.hidden);
    return [look(part, '::after').content !== '', frame.contentWindow.getComputedStyle(part, '::after').content, stops.length];
    """
    shown, tip, stops = answer(written(compiled(talk(8), strategy=AllForms())), script)
    assert shown and tip.startswith('"summary: folded; L1-0001; entries 1–2')
    assert stops >= 4 + 3 + 4 + 1 + 3


def test_forms_differ_by_more_than_their_colour(written):
    injections = [Injection(namespace="rules", content="Never guess.")]
    script = """
    const forms = ['raw', 'summary', 'trimmed', 'omitted', 'injection'];
    return forms.map((form) => look(see(`.part.${form}`)[0]).backgroundImage);
    """
    patterns = answer(written(compiled(talk(8), strategy=AllForms(), injections=injections)), script)
    assert len(set(patterns)) == 5


CONTRAST = """
const read = (colour) => {
  const dot = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d');
  dot.fillStyle = colour; dot.fillRect(0, 0, 1, 1);
  return [...dot.getImageData(0, 0, 1, 1).data].slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
};
const light = (colour) => { const [r, g, b] = read(colour); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const contrast = (a, b) => { const [low, high] = [light(a), light(b)].sort((x, y) => x - y); return (high + 0.05) / (low + 0.05); };
const measured = () => {
  const ground = look(page.body).backgroundColor;
  const texts = ['h1', '.kicker', 'dt', 'dd', '.legend li > :last-child', 'thead th', '.stretch .where', '.unit .words', '.provenance'];
  const forms = ['raw', 'summary', 'trimmed', 'injection'];
  return [
    Math.min(...texts.map((query) => contrast(look(see(query)[0]).color, ground))),
    Math.min(...forms.map((form) => contrast(look(see(`.part.${form}`)[0]).backgroundColor, ground))),
    light(ground),
  ];
};
"""


def test_both_themes_can_be_read_and_the_button_changes_them(written):
    script = CONTRAST + "const first = measured(); see('#theme')[0].click(); await soon(); return [first, measured(), see('#theme')[0].textContent]"
    injections = [Injection(namespace="rules", content="Never guess.")]
    one, two, name = answer(written(compiled(talk(8), strategy=AllForms(), injections=injections)), script)
    assert min(one[0], two[0]) >= 4.5, "texts (WCAG 2.2, 1.4.3)"
    assert min(one[1], two[1]) >= 3, "graphics (WCAG 2.2, 1.4.11)"
    assert abs(one[2] - two[2]) > 0.5 and name in {"Light", "Dark"}


def test_finding_shows_only_what_holds_the_words(written):
    script = """
    const find = see('#find')[0];
    const visible = () => see('.unit').filter((one) => !one.hidden && !one.closest('.stretch').hidden).length;
    const search = async (words) => { find.value = words; find.dispatchEvent(new Event('input')); await soon(); };
    const all = visible();
    await search('QUESTION 20 ');
    const found = [visible(), see('.stretch')[0].open, see('#found')[0].textContent];
    await search('');
    return [all, ...found, visible(), see('.stretch')[0].open, see('#found')[0].textContent];
    """
    assert answer(written(compiled(talk(41))), script) == [41, 1, True, "1 found", 41, False, ""]


def test_all_spans_open_and_close_together(written):
    script = "see('#all')[0].click(); await soon(); const open = see('.stretch[open]').length; see('#all')[0].click(); await soon(); return [open, see('.stretch[open]').length]"
    prompt = compiled(talk(40), budget=Budget(max_tokens=700, reserve_for_response=0))
    assert answer(written(prompt), script) == [len(prompt.plan.spans), 0]


def test_thousands_of_units_are_there_at_once(written):
    script = "see('.stretch')[0].open = true; const units = see('.unit'); return [units.length, units.at(-1).getBoundingClientRect().height > 0]"
    assert answer(written(compiled([user(f"message {i}") for i in range(5000)], budget=Budget(max_tokens=10**6))), script) == [5000, True]
