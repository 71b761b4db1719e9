"""Which store a command uses, and the tape it opens in it."""

from __future__ import annotations

import difflib
import os
import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from playhead.cli.fold_arguments import FOLDING
from playhead.cli.hints import command, masked
from playhead.entry.entry import ANCHOR, event_name
from playhead.errors import AnchorNotFound, InvalidInput, StoreUnavailable, TapeNotFound
from playhead.store.protocol import EMPTY, WholeStore
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.store.transfer.draft import without_drafts
from playhead.store.urls import open_store
from playhead.tape.handle import tape_name
from playhead.tape.tape import Tape
from playhead.view.context import LAST_ANCHOR, AnchorChoice, default_tape_context
from playhead.view.tokens import Counter

VARIABLE = "PLAYHEAD_STORE"
MEMORY, SQLITE, FILES = "memory:", "sqlite:", "file:"
SERVERS = ("postgresql:", "postgres:")
FILE = "tapes.db"
ANCHOR_WORDS: Mapping[str, AnchorChoice] = {"last": LAST_ANCHOR, "none": None}


def named_url(args: Namespace) -> str:
    """Return the URL of the store that the command or PLAYHEAD_STORE names, "" where neither does."""
    return args.store or os.environ.get(VARIABLE, "")


def shown_url(args: Namespace) -> str:
    """Return the URL of the command's store as it may be shown: without a password."""
    return masked(named_url(args) or f"sqlite:///{own_file().as_posix()}")


def own_file() -> Path:
    """Return the file in which a user's tapes are kept by default, where the platform keeps what programs store for a user.

    Windows: %APPDATA%, macOS: ~/Library/Application Support, else $XDG_DATA_HOME or ~/.local/share.
    """
    if sys.platform == "win32":
        place = os.environ.get("APPDATA", "")
        default = ("AppData", "Roaming")
    elif sys.platform == "darwin":
        place, default = "", ("Library", "Application Support")
    else:
        place, default = os.environ.get("XDG_DATA_HOME", ""), (".local", "share")
    if Path(place).is_absolute():
        return Path(place, "playhead", FILE)
    try:
        return Path.home().joinpath(*default, "playhead", FILE)
    except RuntimeError as exc:
        raise StoreUnavailable(f"There is no home directory to keep tapes in; name a store with --store or ${VARIABLE}.") from exc


def is_absent(store: WholeStore) -> bool:
    """Return whether a store's file is not there yet; looking does not make one."""
    return isinstance(path := getattr(store, "path", None), Path) and not path.exists()


@asynccontextmanager
async def chosen_store(args: Namespace) -> AsyncIterator[WholeStore]:
    """Open the command's store."""
    url, is_read_only = named_url(args), getattr(args, "read_only", False)
    if url:
        _check_url(url, asked=args.command)
    store = open_store(_to_read(url) if is_read_only else url) if url else SQLiteTapeStore(own_file(), read_only=is_read_only)
    try:
        yield store
    finally:
        await store.aclose()


def _to_read(url: str) -> str:
    """Return the URL that opens a store to be read only; a bare path is one of a SQLite file."""
    whole = url if url.startswith((SQLITE, FILES, *SERVERS)) else f"{SQLITE}///{url}"
    return f"{whole}{'&' if '?' in whole else '?'}mode=ro"


def _check_url(url: str, *, asked: str) -> None:
    """Refuse what would be no store, or one that nobody finds again."""
    if url.startswith(SQLITE) and not url.startswith(f"{SQLITE}///"):
        raise InvalidInput(f"{masked(url)!r} has too few slashes: write sqlite:///relative.db or sqlite:////absolute.db.")
    if url == MEMORY and asked != "demo":
        raise InvalidInput(f"A store in memory ends with the command, so `{asked}` would find nothing in it and leave nothing; name a file, such as --store sqlite:///tapes.db.")


@asynccontextmanager
async def written_store(args: Namespace) -> AsyncIterator[WholeStore]:
    """Open the command's store to write to."""
    if not named_url(args):
        _make_place(own_file().parent)
    async with chosen_store(args) as store:
        yield store


@asynccontextmanager
async def written_tape(args: Namespace) -> AsyncIterator[Tape]:
    """Open the tape that `--tape` names, to write to; there need be none of that name yet."""
    tape_name(args.tape)
    async with written_store(args) as store:
        yield Tape(store, args.tape)


def _make_place(directory: Path) -> None:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as exc:
        raise StoreUnavailable(f"Cannot make {directory} to keep tapes in: {exc.strerror}; name another store with --store or ${VARIABLE}.") from exc


@asynccontextmanager
async def existing_tape(args: Namespace, *, counter: Counter | None = None) -> AsyncIterator[Tape]:
    """Open the tape that `--tape` names, its tokens counted by `counter`. Raises TapeNotFound, with names like it, where there is none."""
    tape_name(args.tape)
    async with chosen_store(args) as store:
        if is_absent(store):
            raise TapeNotFound(args.tape, hint=f"; there is no store at {shown_url(args)} yet: import or append something, or name another one with --store")
        tape = Tape(store, args.tape, counter=counter)
        if await tape.head() == EMPTY:
            raise TapeNotFound(args.tape, hint=_hint(args, await without_drafts(store, await store.list_tapes())))
        yield tape


def _hint(args: Namespace, names: list[str]) -> str:
    if not names:
        return f"; {shown_url(args)} has no tapes yet: import or append something, or name another store with --store"
    folded = {n.casefold(): n for n in names}
    near = [folded[n] for n in difflib.get_close_matches(args.tape.casefold(), folded, n=3)]
    return f"; perhaps you mean {' or '.join(repr(n) for n in near)}" if near else f"; {command('ls', Namespace(store=args.store))} lists those there are"


async def viewed_tape(tape: Tape, args: Namespace) -> Tape:
    """Return the tape as `--anchor`, `--until` and `--at` read it. Raises InvalidInput for an entry that is not on the tape."""
    return await tape_until(await tape_at(contextual_tape(tape, args), args.at), args.until)


async def tape_at(tape: Tape, at: int | None) -> Tape:
    """Return the tape as it was when an entry was its last, as it is where none is named. Raises InvalidInput for an entry that is not on the tape."""
    if at is None:
        return tape
    end = (await tape.head()).id
    if at > end:
        raise InvalidInput(f"Tape '{tape.name}' ends at entry {end}, so it cannot be read as it was at entry {at}.")
    return tape.at(at)


def contextual_tape(tape: Tape, args: Namespace) -> Tape:
    """Return the tape as `--anchor` reads it; where nothing says otherwise behind its newest anchor, whole with a strategy that folds."""
    named = args.anchor if args.anchor is not None else "none" if args.strategy in FOLDING else "last"
    if not named:
        raise InvalidInput("An anchor's name is a non-empty text; --anchor none reads the whole tape.")
    return tape.with_context(default_tape_context(anchor=ANCHOR_WORDS.get(named, named)))


async def tape_until(tape: Tape, name: str | None) -> Tape:
    """Return the tape as it was before the newest anchor of a name, as it is where none is named. Raises AnchorNotFound."""
    if name is None:
        return tape
    async for anchor in tape.query().kinds(ANCHOR).newest_first():
        if event_name(anchor) == name and anchor.id > 1:
            return tape.at(anchor.id - 1)
        if event_name(anchor) == name:
            raise InvalidInput(f"Anchor '{name}' is the first entry of tape '{tape.name}'; nothing stands before it.")
    raise AnchorNotFound(name)
