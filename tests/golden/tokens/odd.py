"""Texts that ordinary ones do not prepare a counter for: rare letters, marks without sense, white space of all kinds, JSON within JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import count

LINES = 240


def odd_texts() -> dict[str, str]:
    """Return every odd text by its name."""
    return {**_letters(), **_marks(), **_blanks(), **_misread()}


def _picks(name: str) -> Iterator[int]:
    """Yield numbers without a pattern, the same ones for a name at all times."""
    for block in count():
        digest = sha256(f"{name} {block}".encode()).digest()
        yield from (int.from_bytes(digest[i : i + 4], "big") for i in range(0, 32, 4))


def _some(letters: Sequence[str], *, name: str, size: int) -> str:
    return "".join(letters[n % len(letters)] for n, _ in zip(_picks(name), range(size), strict=False))


def _range(first: int, last: int) -> list[str]:
    return [chr(code) for code in range(first, last + 1)]


def _in_lines(text: str, *, size: int, joint: str = "\n") -> str:
    return joint.join(text[i : i + size] for i in range(0, len(text), size))


def _letters() -> dict[str, str]:
    hanzi, hangul = _some(_range(0x4E00, 0x9FFF), name="hanzi", size=2 * LINES), _some(_range(0xAC00, 0xD7A3), name="hangul", size=2 * LINES)
    marks = _some(_range(0x0300, 0x036F), name="accents", size=3 * LINES)
    return {
        "rare hanzi": _in_lines(hanzi, size=2),
        "rare hanzi in a run": hanzi,
        "rare hanzi with commas": _in_lines(hanzi, size=1, joint="、"),
        "rare hangul": _in_lines(hangul, size=2, joint=" "),
        "rare hangul in a run": hangul,
        "phonetics": _in_lines(_some(_range(0x0250, 0x02AF), name="ipa", size=2 * LINES), size=4, joint=" "),
        "stacked accents": "".join(f"{'word '[i % 5]}{marks[3 * i : 3 * i + 3]}" for i in range(LINES)),
    }


def _marks() -> dict[str, str]:
    ascii_marks = [c for c in map(chr, range(33, 127)) if not c.isalnum()]
    nested = json.dumps({"path": "/src/a b.py", "command": 'grep -rn "foo" .', "lines": [1, 2, {"said": "x\ny"}]})
    within: dict[str, str] = {}
    for level in (2, 3, 4):
        nested = json.dumps({"data": nested})
        within[f"json nested {level} times"] = nested * (80 >> level)
    stat = "\n".join(f" src/part_{i}/file_{i * 7 % 90}.py | {i * 13 % 200} {'+' * (i * 5 % 37 + 1)}{'-' * (i * 11 % 29)}" for i in range(90))
    bars = "\n".join(f"{'█' * (i % 40 + 1)}{'░' * (40 - i % 40)} {i}%" for i in range(60))
    return {
        **within,
        "mark soup": _some(ascii_marks, name="soup", size=5 * LINES),
        "mark soup in words": _in_lines(_some(ascii_marks, name="words", size=4 * LINES), size=4, joint=" "),
        "boxes without sense": _some("─│┌┐└┘├┤┬┴┼═║╔╗╚╝╠╣╦╩╬", name="boxes", size=3 * LINES),
        "diffstat": stat,
        "progress": bars,
    }


def _blanks() -> dict[str, str]:
    return {
        "blank lines with spaces": "\n".join(" " * (n % 20) for n, _ in zip(_picks("blank"), range(LINES), strict=False)),
        "blank Windows lines": "\r\n".join(("", " ", "  ", "a")[n % 4] for n, _ in zip(_picks("windows"), range(LINES), strict=False)),
        "hard spaces": "\xa0".join(["word", "the", "of", "alpha"] * 50),
        "hard indents": "\n".join("\xa0" * (n % 11 + 1) + "x" for n, _ in zip(_picks("hard"), range(LINES), strict=False)),
        "thin spaces": "\u2009".join(["a", "1\u2009000"] * 60),
        "all kinds": _some(" \t\n\xa0\u2003\u3000\r", name="kinds", size=4 * LINES),
    }


def _misread() -> dict[str, str]:
    """Return UTF-8 that was read as another encoding."""
    said = {"western": "Déjà vu – “naïve” café, señor Ñandú über Ærø… ", "chinese": "我们明天早上去图书馆看书 ", "russian": "Привет мир, как дела сегодня "}
    return {f"misread {name}": text.encode().decode("cp1252" if name == "western" else "latin-1", "replace") * 30 for name, text in said.items()}
