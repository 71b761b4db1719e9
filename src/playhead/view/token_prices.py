"""Pieces of text and their prices: a text falls apart as the o200k vocabulary splits it, and each piece is priced by what it is made of."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from itertools import groupby
from math import isqrt

from playhead.view import token_rates as rates

_SPACES = "\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_MARKS = (
    "\u0080-\u0084\u0086-\u009f\u00a1-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u00d7\u00f7\u02c2-\u02c5\u02d2-\u02df\u037e\u0387\u055a-\u055f"
    "\u0589\u058a\u05be\u05c0\u05c3\u05f3\u05f4\u0600-\u060f\u061b-\u061f\u0660-\u066d\u06d4\u06f0-\u06f9\u0964-\u0970\u09e6-\u09ef\u0a66-\u0a6f\u0ae6-\u0aef"
    "\u0be6-\u0bef\u0c66-\u0c6f\u0ce6-\u0cef\u0d66-\u0d6f\u0e3f\u0e4f-\u0e5b\u104a-\u104f\u10fb\u1360-\u1368\u17d4-\u17db\u1800-\u180f\u200b-\u2027"
    "\u202a-\u202e\u2030-\u205e\u2060-\u2bff\u2e00-\u2e2e\u2e30-\u2fff\u3001-\u3004\u3007-\u3020\u3030\u303d-\u303f\u30a0\u30fb\u3200-\u33ff\u4dc0-\u4dff"
    "\ud800-\uf8ff\ufd3e\ufd3f\ufdfc-\ufdff\ufe10-\ufe1f\ufe30-\ufe6f\ufeff-\uff20\uff3b-\uff40\uff5b-\uff65\uffe0-\uffff\U0001f000-\U0001fbff"
)
"""Characters beyond ASCII that are no letters, as ranges of a character class; written out, for `unicodedata` differs between versions of Python."""

_SMALL = f"[^\x00-`{{-\x7f{_SPACES}{_MARKS}]"
_LETTER = f"[^\x00-@\\[-`{{-\x7f{_SPACES}{_MARKS}]"
_ENDING = "'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])"
_LATIN = "A-Za-z\u00aa-\u024f\u1e00-\u1eff"

BLOCK = 1 << 16
"""How many characters are split at once; it bounds the memory of a count."""


@cache
def _splitter(*, is_ascii: bool) -> re.Pattern[str]:
    small, spaces, marks = ("[a-z]", "", "") if is_ascii else (_SMALL, _SPACES, _MARKS)
    hung_on = f"[\x00-\t\x0b\x0c\x0e-/:-@\\[-`{{-\x7f{spaces}{marks}]"
    mark = f"[\x00-\x08\x0e-\x1b!-/:-@\\[-`{{-\x7f{marks}]"
    return re.compile(rf"{hung_on}?(?:[A-Z]*{small}+|[A-Z]+)(?:{_ENDING})?|[0-9]{{1,3}}| ?{mark}+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


@cache
def _word() -> re.Pattern[str]:
    return re.compile(rf"(?s)((?!{_LETTER}).)?({_LETTER}+)({_ENDING})?")


@cache
def _latin_word() -> re.Pattern[str]:
    return re.compile(f"[{_LATIN}]+")


@cache
def _repeats() -> re.Pattern[str]:
    return re.compile(rf"([a-z])\1{{{rates.ALIKE - 1},}}")


@cache
def _beyond_ascii() -> re.Pattern[str]:
    return re.compile("[\u0080-\u024f]{3,}")


@cache
def _behind_breaks() -> re.Pattern[str]:
    """Match the place between line breaks and slashes behind them, as where a comment begins: they are tokens of their own."""
    return re.compile(r"(?<=[\r\n])(?=/)")


def split(text: str) -> Iterator[list[str]]:
    """Yield the pieces of a text, block by block; joined they are the text."""
    pieces = _splitter(is_ascii=text.isascii())
    return (pieces.findall(text, start, end) for start, end in _blocks(text))


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the bounds of runs of at most BLOCK characters, which begin at a pause where there is one."""
    start = 0
    while len(text) - start > BLOCK:
        end = start + BLOCK
        pause = max(text.rfind(" ", start + 1, end), text.rfind("\n", start + 1, end))
        end = pause if pause > start else end
        yield start, end
        start = end
    yield start, len(text)


class Prices(dict[str, int]):
    """The prices of pieces, worked out when first asked for; a bounded number is remembered.

    What a piece costs depends on the piece alone, so it does not matter what is remembered.
    """

    ROOM = 8_192
    LONGEST = 32

    def of(self, text: str) -> int:
        """Return what a text costs, in thousandths of a token."""
        return sum(sum(map(self.__getitem__, pieces)) for pieces in split(text))

    def __missing__(self, piece: str) -> int:
        size = len(piece) if piece.isascii() else len(piece.encode("utf-8", "surrogatepass"))
        cost = min(price(piece), rates.TOKEN * size)
        if len(piece) <= self.LONGEST:
            if len(self) >= self.ROOM:
                self.clear()
            self[piece] = cost
        return cost


def price(piece: str) -> int:
    """Return what one piece costs, in thousandths of a token."""
    if piece.isascii():
        return _ascii(piece)
    found = _word().fullmatch(piece)
    if found is None:
        return _gap(piece) if piece.isspace() else _marks(piece)
    joint, letters = found[1] or "", found[2]
    if _latin_word().fullmatch(letters):
        return rates.TOKEN + _latin(joint, letters, is_clipped=found[3] is not None)
    script = _cyrillic if any("\u0400" <= c <= "\u052f" for c in letters) else _lettered
    return rates.TOKEN + script(joint, letters)


def _ascii(piece: str) -> int:
    """Price a piece by its last character alone, as only words end with a letter: much faster than matching it."""
    if piece[-1].isalpha():
        joint, word = ("", piece) if piece[0].isalpha() else (piece[0], piece[1:])
        letters, apostrophe, _ = word.partition("'")
        return rates.TOKEN + _latin(joint, letters, is_clipped=bool(apostrophe))
    if piece[-1].isdecimal():
        return rates.TOKEN
    return _gap(piece) if piece.isspace() else _marks(piece)


class _Pairs:
    """Scores words by their neighbouring letters."""

    def __init__(self, letters: str, rows: str, *, spelled: dict[int, str]) -> None:
        self._spelling = _Spelling({ord(c): c for c in letters} | spelled)
        self._rows = {a: {b: (int(digit, 36) - 12) * 100 for b, digit in zip(letters, row, strict=True)} for a, row in zip(letters, rows.split(), strict=True)}

    def score(self, word: str) -> int:
        rows = self._rows
        row, total = rows[" "], 0
        for letter in word if word.isascii() else word.translate(self._spelling):
            total += row[letter]
            row = rows[letter]
        return total + row[" "]


class _Spelling(dict[int, str]):
    """How letters are spelled in a table; `~` is any other."""

    def __missing__(self, code: int) -> str:
        return "~"


@cache
def _latin_pairs() -> _Pairs:
    return _Pairs(rates.LATIN_LETTERS, rates.LATIN_PAIRS, spelled=dict.fromkeys(range(0x1EA0, 0x1F00), "^"))


@cache
def _cyrillic_pairs() -> _Pairs:
    return _Pairs(rates.CYRILLIC_LETTERS, rates.CYRILLIC_PAIRS, spelled={})


@cache
def _common_words() -> frozenset[str]:
    """Return the words of English and of programs that are one token each, written small or with a capital."""
    return frozenset(files("playhead.view").joinpath("common_words.txt").read_text("ascii").split())


def _latin(joint: str, word: str, *, is_clipped: bool) -> int:
    low, how = word.lower(), _case(word)
    to_rare, to_common, to_letter = _joint(joint)
    if how in ("lower", "capital") and low in _common_words():
        return to_common + to_letter * max(0, len(low) - 4) + is_clipped * rates.CLIPPED[1]
    brief = _repeats().sub(r"\1", low) if len(low) > rates.ALIKE else low
    repeated = rates.TOKEN * (len(low) - len(brief)) // rates.ALIKE
    return repeated + _bent(rates.LATIN_CASES[how] + to_rare + is_clipped * rates.CLIPPED[0] + _latin_pairs().score(brief)) + (0 if brief.isascii() else _odd_letters(brief))


def _odd_letters(word: str) -> int:
    """Price what makes a Latin word odd: letters that few languages have, and more than two beyond ASCII in a row, as misread bytes are."""
    rare = sum("\u0100" <= c <= "\u02ff" and c not in rates.COMMON_LATIN for c in word)
    misread = sum(len(run) - 2 for run in _beyond_ascii().findall(word))
    return rare * rates.RARE_LATIN + misread * rates.MISREAD


def _cyrillic(joint: str, word: str) -> int:
    return _bent(rates.CYRILLIC_CASES[_case(word)] + _joint(joint)[0] + _cyrillic_pairs().score(word.lower()))


def _lettered(joint: str, word: str) -> int:
    hung_on = 0 if joint in ("", " ") else rates.JOINT_OF_LETTERS if joint.isascii() else _mark(joint) - rates.TOKEN // 2
    return _bent(hung_on + _script(word[0])[0] + sum(map(_letter, word)))


def _case(word: str) -> str:
    if word.islower():
        return "lower"
    if len(word) == 1 or word[1:].islower():
        return "capital"
    return "upper" if word.isupper() else "mixed"


def _joint(joint: str) -> tuple[int, int, int]:
    if joint in rates.JOINTS:
        return rates.JOINTS[joint]
    to_rare, to_common, to_letter = rates.OTHER_JOINT
    more = 0 if joint.isascii() else _mark(joint) - rates.TOKEN
    return to_rare + more, to_common + more, to_letter


def _bent(score: int) -> int:
    return (score + isqrt(score * score + rates.BEND)) // 2


@cache
def _script_ends() -> tuple[int, ...]:
    return tuple(last for _, last, _, _ in rates.SCRIPTS)


def _script(letter: str) -> tuple[int, int]:
    """Return what the score of a word that begins so starts from, and what a letter of the script adds."""
    code = ord(letter)
    at = bisect_left(_script_ends(), code)
    if at < len(rates.SCRIPTS) and rates.SCRIPTS[at][0] <= code:
        return rates.SCRIPTS[at][2:]
    return rates.OTHER_SCRIPT if code <= 0xFFFF else rates.ASTRAL_SCRIPT


@lru_cache(maxsize=4_096)
def _letter(letter: str) -> int:
    if letter.isascii():
        return rates.ASCII_LETTER
    if letter in rates.PERSIAN:
        return rates.PERSIAN_LETTER
    if letter in rates.TRADITIONAL:
        return rates.TRADITIONAL_LETTER
    for first, last, cost in rates.RARE:
        if first <= letter <= last and letter not in _common_letters():
            return cost
    return _script(letter)[1]


@cache
def _common_letters() -> frozenset[str]:
    """Return the Chinese and Korean characters, and the accents, that are one token each."""
    return frozenset(files("playhead.view").joinpath("common_letters.txt").read_text("utf-8") + rates.ACCENTS + rates.COMMON_LATIN)


def _marks(piece: str) -> int:
    """Price punctuation, symbols and pictures; the space before and the line breaks behind mostly come with them."""
    parts = _behind_breaks().split(piece)
    if len(parts) > 1:
        return sum(map(price, parts))
    body = piece.strip(" \r\n")
    runs = [(mark, len(list(same))) for mark, same in groupby(body)]
    if not body.isascii():
        return sum(_run(mark, count) for mark, count in runs) + _apart(piece, body)
    if body in _common_marks():
        return rates.TOKEN
    signals = sum(mark < " " for mark in body)
    further = max(0, len(runs) - 3)
    changes = min(further, rates.FEW) * rates.CHANGE + max(0, further - rates.FEW) * rates.SOUP + (len(runs) > 2) * rates.FIRST_CHANGE
    if len(runs) > 1:
        changes += rates.BESIDE * sum(count >= rates.LONG_RUN for _, count in runs) + rates.LONER * min(2, sum(mark in rates.LONERS for mark, _ in runs))
    return rates.TOKEN * (signals + (signals < len(body))) + changes + sum(_repeated(mark, count) for mark, count in runs if count > 1)


def _repeated(mark: str, count: int) -> int:
    """Price the repetitions of an ASCII mark."""
    together = rates.ASCII_TOGETHER.get(mark)
    if together is None or count <= together:
        return rates.REPEAT * (count - 1)
    return rates.TOKEN * (-(-count // together) - 1)


def _run(mark: str, count: int) -> int:
    if mark.isascii():
        return rates.TOKEN // 2 + rates.REPEAT * count
    return _mark(mark) * -(-count // rates.TOGETHER.get(mark, 1))


def _apart(piece: str, body: str) -> int:
    """Price the white space around drawn marks that stands apart from them."""
    before = piece[0] == " " and body[0] in rates.CORNERS
    behind = piece[-1] in "\r\n" and rates.DRAWN[0] <= ord(body[-1]) <= rates.DRAWN[1]
    return rates.TOKEN * (before + behind)


@cache
def _common_marks() -> frozenset[str]:
    return frozenset(rates.COMMON_MARKS.split())


@lru_cache(maxsize=4_096)
def _mark(mark: str) -> int:
    if mark in rates.SINGLE_MARKS:
        return rates.TOKEN
    return next(cost for last, cost in rates.MARKS if ord(mark) <= last)


def _gap(piece: str) -> int:
    """Price white space: a kind of it in a row is few tokens, and each change of kind about half a one."""
    runs = [(kind, len(list(same))) for kind, same in groupby(piece.replace("\r\n", rates.WINDOWS_BREAK))]
    if len(runs) == 1:
        return max(rates.TOKEN, _blank(*runs[0]))
    return max(rates.TOKEN, sum(_blank(kind, count) - (rates.TOKEN // 2 if kind in rates.USUAL_BLANKS else 0) for kind, count in runs))


def _blank(kind: str, count: int) -> int:
    return rates.BLANKS.get(kind, rates.TOKEN) * -(-count // rates.BLANKS_TOGETHER.get(kind, 1))
