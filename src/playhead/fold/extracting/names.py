"""Names in a text that stand for one thing: files, addresses, hashes, ids, codes, and symbols of programs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache

LONGEST = 200
"""A word of more characters is no name."""

_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]{1,15}://[^\s\"'`<>()\[\]{}|\\^,;*]+", re.IGNORECASE)
_WORD = re.compile(r"[\w./\\:~@#%+-]+")
_ESCAPE = re.compile(r"\\(?:[nrtbf\"/]|u[0-9a-fA-F]{4})")
_DRIVE = re.compile(r"\b[A-Za-z]:\\")
_UNSPACED = re.compile("([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+)")
_LINE = re.compile(r":\d+(?:[:-]\d+)?$")
_BACK = re.compile(r"(?:\.{1,2}[/\\]+)+")
_DIFF_SIDE = re.compile(r"^[ab]/(?=[^/]+/)")
_SLASH = re.compile(r"[/\\]+")
_PART = re.compile(r"[\w.@~+%-]+")
_ENDING = re.compile(r".*\.([A-Za-z][A-Za-z0-9_-]{0,15})")
_SEVERAL_WORDS = re.compile(r"_*[A-Za-z][A-Za-z0-9]*(?:_+[A-Za-z0-9]+)+_*|[a-z]+[a-z0-9]*(?:[A-Z]+[a-z0-9]+)+[A-Z]?|(?:[A-Z]+[a-z0-9]+){2,}[A-Z]*|[A-Z]{2,}[a-z]{3,}\w*")
_SYMBOL = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::|#)[A-Za-z_]\w*[?!]?)+")
_JOINT = re.compile(r"\.|::|#")
_HASH = re.compile(r"(?=[0-9a-f]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,64}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_CODE = re.compile(r"#(?!(\d)\1\1(?:\1{3})?$)\d{1,9}|[A-Z][A-Z0-9]*-\d+|(?=[A-Z0-9]*[A-Z])(?=[A-Z0-9]*\d)[A-Z0-9]{4,16}|[A-Z]{2,}\d{2,}\w*|\d{6,20}")
_DASHED = re.compile(r"(?=[^0-9]*\d)[A-Za-z][A-Za-z0-9]*(?:[-.][A-Za-z0-9]+)*-[A-Za-z0-9]+(?:[-.][A-Za-z0-9]+)*")
_HOST = re.compile(r"(?:\d{1,3}\.){3}\d{1,3}(?::\d{2,5})?|localhost:\d{2,5}")
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


KNOWN_ENDINGS = _words("c cc cfg cpp css csv ex exs go h heex html ini java js json jsonl jsx md php py pyi rb rs sh sql toml ts tsx txt xml yaml yml")
"""What names a file at once, whoever reads it."""

ENDINGS = KNOWN_ENDINGS | _words(
    "adb asm astro bash bat bib bin bmp clj cljs cmd conf cs cu cxx dart db diff doc docx dot eex ejs epub erb erl exe fish gif gleam gql gradle graphql gz haml hbs hcl hh hpp hrl hs "
    "htm hxx ico ipynb jar jl jpeg jpg json5 jsonc kt kts leex less lhs lock log lua m4a mdx mjs mk ml mli mov mp3 mp4 nim nix odt ogg org parquet patch pdf pem pkl plist png ppt pptx "
    "prisma properties proto ps1 psd pyc pyx rake rkt rmd rst rtf sass sbt scala scss so sol sqlite sqlite3 svelte svg swift tar tex tf tfvars tgz tif tiff traj tsv ttf vb vim vue wasm "
    "wav webm webp whl xls xlsx xsd xsl zig zip zsh"
)
"""What the name of a file ends with where no folder stands before it."""

PLAIN_FILES = _words("Brewfile Caddyfile Dockerfile Gemfile Jenkinsfile Justfile Makefile Procfile Rakefile Vagrantfile .dockerignore .editorconfig .env .gitattributes .gitignore .npmrc")
"""Files known by a whole name."""


def names_in(text: str) -> Mapping[str, int]:
    """Return the names in a text and how often each stands there, in the order in which they first do."""
    found: Counter[str] = Counter()
    if "://" in text:
        found.update(address for word in _ADDRESS.findall(text) if len(address := word.rstrip(".:!?")) <= LONGEST)
        text = _ADDRESS.sub(" ", text)
    if "\\" in text and not _DRIVE.search(text):
        text = _ESCAPE.sub(" ", text)
    for word, count in Counter(_WORD.findall(text)).items():
        for name in named_by(word) if len(word) <= LONGEST else _unspaced(word):
            found[name] += count
    return found


def is_file(name: str) -> bool:
    """Return whether a name is that of a file, with or without its folders."""
    if "://" in name:
        return False
    *folders, last = steps(name)
    return last in PLAIN_FILES or (_ending(last) is not None if folders else _ending(last) in ENDINGS)


def is_known_file(name: str) -> bool:
    """Return whether a name without folders is at once that of a file."""
    return name in PLAIN_FILES or _ending(name) in KNOWN_ENDINGS


def steps(name: str) -> tuple[str, ...]:
    """Return the steps of a path: its folders and its last name; the first is empty where it starts at the root. Steps back at its beginning are none."""
    return tuple(_SLASH.split(name[back.end() :] if (back := _BACK.match(name)) else name))


@lru_cache(maxsize=16_384)
def named_by(word: str) -> tuple[str, ...]:
    """Return the names that a word between spaces and quotes stands for, mostly one or none."""
    return tuple(_unspaced(word)) if not word.isascii() and _UNSPACED.search(word) else _named(word)


def _unspaced(word: str) -> Iterator[str]:
    """Yield what is named in a word that runs on without spaces; one of ASCII that is too long names nothing."""
    return (name for run in _runs(word) for name in _named(run))


def _named(word: str) -> tuple[str, ...]:
    word = word.strip("-:%+,").rstrip(".@\\") if not word.startswith("..") else word.rstrip(".:")
    if word in PLAIN_FILES:
        return (word,)
    if not 2 < len(word) <= LONGEST or word.isalpha() and (word[1:].islower() or word.isupper()):
        return ()
    return (word,) if _is_whole(word) else tuple(_pieces(word))


def _is_whole(word: str) -> bool:
    return "/" not in word and any(pattern.fullmatch(word) for pattern in (_UUID, _HASH, _CODE, _MAIL, _HOST))


def _pieces(word: str) -> Iterator[str]:
    """Yield what a compound word names: a file with its line or its test, a folder, a symbol, an id."""
    place, _, inside = word.partition("::")
    place = _LINE.sub("", place)
    if _is_path(place):
        yield _DIFF_SIDE.sub("", place.removeprefix("./").rstrip("/"))
        if inside:
            yield from _named(inside)
    elif _SEVERAL_WORDS.fullmatch(word) or _SYMBOL.fullmatch(word):
        if _is_telling(word):
            yield word
    elif _DASHED.fullmatch(word):
        yield word
    else:
        for piece in re.split(r"[/\\:@#%+~]+|\.(?!\w)|(?<!\w)\.|-(?=-)", word):
            if len(piece) < len(word):
                yield from _named(piece)


def _is_path(word: str) -> bool:
    parts = [part for part in _SLASH.split(word) if part]
    if not parts or not all(_PART.fullmatch(part) for part in (parts[1:] if _DRIVE.match(word) else parts)):
        return False
    ending = _ending(word)
    if len(parts) == 1:
        return ending in ENDINGS and parts[0][0] not in "~%+" and (parts[0][0] != "." or parts[0].count(".") > 1)
    if ending is not None:
        return True
    is_rooted = word.startswith(("/", "./", "../", "~/")) and len(parts) > 1
    return (is_rooted or len(parts) > 2) and any(part.isidentifier() for part in parts) and not any(part.isdigit() for part in parts)


def _ending(word: str) -> str | None:
    found = _ENDING.fullmatch(_SLASH.split(word)[-1])
    return found[1].lower() if found else None


def _is_telling(symbol: str) -> bool:
    """Return whether a symbol is no mere `value.field`: a part of it is of several words, or it is of more than two, or of names with capitals."""
    parts = [part for part in _JOINT.split(symbol) if part]
    return any(_SEVERAL_WORDS.fullmatch(part) for part in parts) or len(parts) > 2 and all(len(part) > 1 for part in parts) or all(part[0].isupper() for part in parts)


def _runs(word: str) -> Iterator[str]:
    """Yield the parts of a word of a script without spaces that are not in that script; the name of a file keeps what stands before its ending."""
    runs = _UNSPACED.split(word)
    for before, tail in zip(("", *runs[1::2]), runs[::2], strict=True):
        if not before or tail.isascii() and not tail.startswith("."):
            yield tail
        elif _ending(f"_{tail}") in ENDINGS:
            yield before[-12:] + tail
