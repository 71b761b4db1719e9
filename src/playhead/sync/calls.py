"""The functions that take or make something blocking."""

# Written by `python -m scripts.twins` from the table there and from the source of the async names.

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from os import PathLike
from pathlib import Path
from typing import Any

from playhead.agent.media import Recorded
from playhead.agent.media import resolved as async_resolved
from playhead.agent.media import without_media as async_without_media
from playhead.agent.spending import Prices, TapeUsage
from playhead.agent.spending import usage_of as async_usage_of
from playhead.entry.message import Message
from playhead.importers.driver import import_file as async_import_file
from playhead.importers.driver import import_items as async_import_items
from playhead.importers.report import ImportReport, Progress
from playhead.model.registry import get_model as async_get_model
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile as async_compile
from playhead.prompt.injection import Injection
from playhead.prompt.prompt import Prompt
from playhead.prompt.strategy import Strategy
from playhead.store.blobs import BlobStore
from playhead.store.protocol import AsyncTapeStore, TapeStore
from playhead.store.protocol import WholeStore as AsyncWholeStore
from playhead.store.sweep import GRACE, BlobReport, SweepListener
from playhead.store.sweep import gc_blobs as async_gc_blobs
from playhead.store.sweep import unused_blobs as async_unused_blobs
from playhead.store.transfer.moving import Stored
from playhead.store.transfer.moving import copy_store as async_copy_store
from playhead.store.transfer.moving import export_store as async_export_store
from playhead.store.transfer.moving import import_store as async_import_store
from playhead.store.transfer.report import TransferListener, TransferReport
from playhead.store.urls import open_store as async_open_store
from playhead.sync.model import Model
from playhead.sync.portal import given, wait
from playhead.sync.store import WholeStore
from playhead.sync.tape import Tape
from playhead.tape.comparison import TapeDiff
from playhead.tape.tape import copy_tape as async_copy_tape
from playhead.tape.tape import diff as async_diff
from playhead.tape.tape import open_tape as async_open_tape
from playhead.view.context import TapeContext
from playhead.view.tokens import Counter


def open_store(url: str) -> WholeStore:
    """Return the store that a URL names; it opens its file when it is first used.

    `memory:` is a new store in memory; `sqlite:///notes.db` is a file beside the program, `sqlite:////var/lib/notes.db` one
    anywhere, a bare path that ends in .db or .sqlite, too; `file:sessions` and `file:/var/lib/sessions` are directories of tapes.
    A path is taken as it stands, nothing in it is decoded; behind a `?` stand options: durability=disk|process, timeout=SECONDS,
    mode=ro|rw (ro: to be read only), search=index|scan (scan: without an index of words), and for SQLite network=refuse|allow.
    `postgresql://user@host:5432/database` is a database; it takes the same options, schema=, tenant= and connections= besides, and
    hands all others to libpq, such as sslmode=require.
    Raises InvalidInput for anything else, MissingExtra where what speaks to PostgreSQL is not installed.
    """
    return WholeStore(async_open_store(url))


def open_tape(
    store: str | Path | TapeStore | AsyncTapeStore | AsyncWholeStore | WholeStore, name: str, *, context: TapeContext | None = None, counter: Counter | None = None, sidecars: Iterable[object] = ()
) -> Tape:
    """Return a handle for a tape of a store, given as one or by its URL; a store opened by URL is closed with the handle."""
    return Tape.of(async_open_tape(given(store), name, context=context, counter=counter, sidecars=sidecars))


def copy_tape(tape: Tape, name: str, *, store: TapeStore | AsyncTapeStore | AsyncWholeStore | WholeStore | None = None) -> Tape:
    """Copy what a tape shows, and its sidecars, to a tape of its own; see `Tape.copy`."""
    return Tape.of(wait(async_copy_tape, given(tape), name, store=given(store)))


def diff(first: Tape, second: Tape) -> TapeDiff:
    """Return what two tapes share, such as a tape and its branch, and what one alone has; printing it shows the entries."""
    return wait(async_diff, given(first), given(second))


def compile(
    tape: Tape, budget: Budget | None = None, *, strategy: Strategy | None = None, injections: Iterable[Injection] = (), dry_run: bool = False, request_overhead: Mapping[str, object] | None = None
) -> Prompt:
    """Compile what a model should see of a tape: read through the tape's context, told by the strategy within the budget.

    The default strategy shows everything raw, or the newest run that fits. Injections join this prompt only.
    `request_overhead` (`{"system": ..., "tools": ...}`) is counted in the stats and changes nothing else. A dry run
    reports what does not fit in `prompt.over_budget` instead of raising.

    Raises OverBudgetError where what must be shown does not fit, AnchorNotFound for a context's unknown anchor,
    SelectorError where its selector fails, InvalidPlan where a strategy's plan loses something.
    """
    return wait(async_compile, given(tape), budget, strategy=strategy, injections=injections, dry_run=dry_run, request_overhead=request_overhead)


def import_file(path: str | Path, *, into: Tape, format: str = "auto", strict: bool = False, progress: Callable[[Progress], None] | None = None) -> ImportReport:
    """Read a conversation that another program kept onto a tape, and return what was added.

    `format` is one of those in docs/reference/importing.md, or "auto", which looks at the file. A tape without an
    anchor gets its `session/start` first. Importing a file again, also grown or moved, adds only what is new; a crash is mended by
    importing again. A line that cannot be read is listed in the report and kept raw in an event `import.unreadable`;
    with `strict` it raises UnreadableFile instead, before anything is written. Memory stays bounded whatever the
    size of the file; a line above 64 MiB counts as unreadable. The file is read as long as it was at the start.

    Raises InvalidInput for an unknown format, FileMissing where there is no readable file, UnreadableFile where the
    file is empty, of another format or of several, or changed under the reading; then nothing was written, but for the
    last case.
    """
    return wait(async_import_file, path, into=given(into), format=format, strict=strict, progress=progress)


def import_items(items: Iterable[Mapping[str, object]], *, into: Tape, format: str = "auto", source: str = "items", strict: bool = False) -> ImportReport:
    """Read a conversation that another library holds onto a tape, item by item, and return what was added.

    The items are JSON objects in one of the formats of `import_file`, such as what a session or a checkpoint of an agent
    library holds, and are read as the lines of a file are. `source` names where they come from, in each entry's
    `meta.import`. Importing them again, with more behind them, adds only what is new. Of no items nothing is written.

    Raises InvalidInput for an unknown format and for what is no JSON object, UnreadableFile where the items are of
    another format or of several.
    """
    return wait(async_import_items, items, into=given(into), format=format, source=source, strict=strict)


def get_model(spec: str, *, api_key: str | None = None, base_url: str | None = None, context_limit: int | None = None, max_retries: int = 2, timeout: float | None = None, **options: Any) -> Model:
    """Return the model a spec names, as PROVIDER:MODEL; use it with `with`. Nothing is sent before it is asked.

    Providers are `openai` (Chat Completions, also of any other server at `base_url`), `openai-responses`, `anthropic`, `pydantic-ai`
    (with a spec of theirs behind it), `scripted` (with a file behind it) and `echo`. `api_key` and `base_url` are by default those in
    the provider's environment variables. `context_limit` (tokens) wins over what the provider says and over what is listed; `timeout`
    (seconds) is how long to wait for the next piece of an answer; `options` go to the client of the provider's SDK. Raises
    InvalidModelSpec, ProviderNotFoundError, MissingExtra where the SDK is not installed, and InvalidInput for a missing key.
    """
    return Model(async_get_model(spec, api_key=api_key, base_url=base_url, context_limit=context_limit, max_retries=max_retries, timeout=timeout, **options))


def resolved(message: Message, *, blobs: BlobStore | WholeStore | None) -> Message:
    """Return a message with the media that it refers to, for a request; what is not there, or damaged, stays a reference.

    A provider is shown a reference as a line of text.
    """
    return wait(async_resolved, message, blobs=given(blobs))


def without_media(message: Message, *, blobs: BlobStore | WholeStore | None) -> Recorded:
    """Return a message as a tape keeps it: no bytes of media are in it, wherever they stood; the message itself stays as it is.

    Where blobs are kept, each part refers to one by its hash and says type and size; else a line of text says type, size and hash.
    Without blobs, media in the results of tools stays, as nothing else holds it. What is there by URL stays, too.
    """
    return wait(async_without_media, message, blobs=given(blobs))


def usage_of(tape: Tape, *, prices: Prices | None = None) -> TapeUsage:
    """Return what the calls on record of a tape cost: those of its runs, those that came with imported turns, and those that wrote its summaries.

    Reads every event and turn of the tape, so it costs what these are. Each call is priced by itself. `prices` is by default what `genai-prices` lists
    (`playhead[prices]`); without it nothing has a price. What other branches spent and never merged is not in it.
    """
    return wait(async_usage_of, given(tape), prices=prices)


def unused_blobs(
    store: BlobStore | WholeStore, *, grace: timedelta = GRACE, keep: Iterable[str] = (), archives: Iterable[str | PathLike[str]] = (), progress: SweepListener | None = None
) -> BlobReport:
    """Return which blobs `gc_blobs` would remove now; nothing is changed."""
    return wait(async_unused_blobs, given(store), grace=grace, keep=keep, archives=archives, progress=progress)


def gc_blobs(store: BlobStore | WholeStore, *, grace: timedelta = GRACE, keep: Iterable[str] = (), archives: Iterable[str | PathLike[str]] = (), progress: SweepListener | None = None) -> BlobReport:
    """Remove the blobs that nothing names and that were neither put nor named within the grace; return what was found.

    Named is what stands in an entry of any tape, branch, sidecar or generation that can still be read, in `keep`, or in a file of
    `archives` (files, or directories with all below). The grace has to be longer than the longest time between a `put_blob` and the
    append that refers to it. Others may use the store meanwhile; broken off, what was not removed is found by the next call.
    Raises InvalidInput where the store cannot collect blobs, StoreDamaged where nobody knows what a part of it names, FileMissing.
    """
    return wait(async_gc_blobs, given(store), grace=grace, keep=keep, archives=archives, progress=progress)


def export_store(store: Stored | WholeStore, directory: str | PathLike[str], *, tapes: Iterable[str] = (), progress: TransferListener | None = None) -> TransferReport:
    """Write tapes with all that belongs to them to a new directory, or to a new file that ends in .tar, and return what was written.

    The same content gives the same bytes, whichever store it comes from.

    `tapes` are names or patterns such as `support/*`; all where none is given. A tape's branches, sidecars and their marks go with
    it, and so do the blobs its entries name and how far consumers have read; leases do not. Where that is broken off, the same
    call goes on with what is in the directory, after proving it. Memory stays bounded. A tape is taken as it stands when its turn comes.

    What is damaged in the store is passed over, as little as can be, and told in `lost` and in the manifest: an event called
    `salvage.lost` stands for each entry that cannot be read, and a tape of which nothing can be read is left out.

    Raises NameTaken where the directory holds a finished export or other files, TapeNotFound where nothing has such a name, Conflict
    where a tape was reset meanwhile, InvalidInput where its ids have gaps, StoreUnavailable.
    """
    return wait(async_export_store, given(store), directory, tapes=tapes, progress=progress)


def import_store(directory: str | PathLike[str], store: Stored | WholeStore, *, tapes: Iterable[str] = (), progress: TransferListener | None = None) -> TransferReport:
    """Bring the tapes of an export into a store, and return what was written: ids, uids, dates, generations and branches are as they were.

    `tapes` are names or patterns such as `support/*`; all where none is given. First every file is compared with its digest, and
    every tape with what stands in the store under its name. Where that is the same, it is left alone; where it is the front of what
    comes, the rest is appended; else the tape appears whole or not at all. All is proved by reading it back. Where that is broken
    off, the same call goes on with what is there. Memory stays bounded. `lost` tells what the export lacks, as its manifest says.

    Raises FileMissing where there is no export, UnreadableFile where it is not as it was written, TapeNotFound where no tape of it has
    such a name; then nothing was changed. TapeDiffers where another tape has such a name in the store, after all others were moved.
    """
    return wait(async_import_store, directory, given(store), tapes=tapes, progress=progress)


def copy_store(source: Stored | WholeStore, target: Stored | WholeStore, *, tapes: Iterable[str] = (), progress: TransferListener | None = None) -> TransferReport:
    """Bring tapes with all that belongs to them from one store into another, as `export_store` and `import_store` do, without files between.

    What stands in the other store already, entry for entry, is left alone; where a tape went on in the first one, the rest is appended.
    Raises TapeDiffers where another tape has such a name, after all others were moved; TapeNotFound, Conflict, InvalidInput as the
    others do, StoreDamaged where the first store is damaged: what can be read of it is exported.
    """
    return wait(async_copy_store, given(source), given(target), tapes=tapes, progress=progress)
