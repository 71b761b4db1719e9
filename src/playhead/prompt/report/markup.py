"""Markup built as a tree, so that every text and attribute of a page is escaped where it is written, and nowhere else."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, tostring

Child = Element | str | None

# C0 but tab and newline, DEL and C1; marks that reorder or hide what stands beside them (CVE-2021-42574); lone surrogates.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
REPLACEMENT = "\ufffd"


def element(tag: str, *children: Child, **attributes: str | int | None) -> Element:
    """Return an element with its attributes (`class_` is class, `data_tip` is data-tip, None is left out) and its children in order."""
    made = Element(tag, {name.strip("_").replace("_", "-"): clean(str(value)) for name, value in attributes.items() if value is not None})
    for child in children:
        if isinstance(child, Element):
            made.append(child)
        elif child:
            _add_text(made, clean(child))
    return made


def _add_text(parent: Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def swatch(form: str) -> Element:
    """Return a form's name behind the sign it is drawn with."""
    return element("span", element("i", class_=f"swatch {form}", aria_hidden="true"), form, class_="form")


def markup(*elements: Element) -> str:
    """Return elements as HTML, one behind the other."""
    return "".join(tostring(e, encoding="unicode", method="html") for e in elements)


def clean(text: str) -> str:
    """Return the text as a page can show it: control characters visible, lone surrogates replaced, nothing that reorders the rest."""
    return _UNSEEN.sub(_seen, text.replace("\r\n", "\n")) if _UNSEEN.search(text) else text


def _seen(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"[U+{code:04X}]" if 0x2000 < code < 0x2100 else REPLACEMENT
