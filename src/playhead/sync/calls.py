"""The functions that take or make a blocking tape."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from pathlib import Path

from playhead.importers import driver
from playhead.importers.report import ImportReport, Progress
from playhead.prompt import compile as compiler
from playhead.prompt.budget import Budget
from playhead.prompt.injection import Injection
from playhead.prompt.prompt import Prompt
from playhead.prompt.strategy import Strategy
from playhead.store import sweep
from playhead.store.protocol import AsyncTapeStore, TapeStore, WholeStore
from playhead.store.sweep import GRACE, BlobReport
from playhead.store.sweep import Told as Swept
from playhead.store.transfer import moving
from playhead.store.transfer.moving import Stored
from playhead.store.transfer.report import Told, TransferReport
from playhead.sync.portal import wait
from playhead.sync.tape import Tape
from playhead.tape import tape as tapes
from playhead.tape.comparison import TapeDiff
from playhead.view.context import TapeContext
from playhead.view.tokens import Counter


def open_tape(
    store: str | Path | TapeStore | AsyncTapeStore | WholeStore,
    name: str,
    *,
    context: TapeContext | None = None,
    counter: Counter | None = None,
    sidecars: Iterable[object] = (),
) -> Tape:
    """Return a handle for a tape of a store, given as one or by its URL; a store opened by URL is closed with the handle."""
    return Tape.of(tapes.open_tape(store, name, context=context, counter=counter, sidecars=sidecars))


def diff(first: Tape, second: Tape) -> TapeDiff:
    """Return what two tapes share, and what one alone has, as `playhead.diff` does."""
    return wait(tapes.diff, first.asynchronous, second.asynchronous)


def copy_tape(tape: Tape, name: str, *, store: TapeStore | AsyncTapeStore | WholeStore | None = None) -> Tape:
    """Copy what a tape shows, and its sidecars, to a tape of its own, as `playhead.copy_tape` does."""
    return Tape.of(wait(tapes.copy_tape, tape.asynchronous, name, store=store))


def compile(
    tape: Tape,
    budget: Budget | None = None,
    *,
    strategy: Strategy | None = None,
    injections: Iterable[Injection] = (),
    dry_run: bool = False,
    request_overhead: Mapping[str, object] | None = None,
) -> Prompt:
    """Compile what a model should see of a tape, as `playhead.compile` does."""
    return wait(compiler.compile, tape.asynchronous, budget, strategy=strategy, injections=injections, dry_run=dry_run, request_overhead=request_overhead)


def import_file(
    path: str | Path,
    *,
    into: Tape,
    format: str = "auto",
    strict: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> ImportReport:
    """Read a conversation that another program kept onto a tape, as `playhead.import_file` does."""
    return wait(driver.import_file, path, into=into.asynchronous, format=format, strict=strict, progress=progress)


def unused_blobs(store: object, *, grace: timedelta = GRACE, keep: Iterable[str] = (), archives: Iterable[str | os.PathLike[str]] = (), progress: Swept | None = None) -> BlobReport:
    """Return which blobs `gc_blobs` would remove now; nothing is changed."""
    return wait(sweep.unused_blobs, store, grace=grace, keep=keep, archives=archives, progress=progress)


def gc_blobs(store: object, *, grace: timedelta = GRACE, keep: Iterable[str] = (), archives: Iterable[str | os.PathLike[str]] = (), progress: Swept | None = None) -> BlobReport:
    """Remove the blobs that nothing names and that were neither put nor named within the grace; return what was found."""
    return wait(sweep.gc_blobs, store, grace=grace, keep=keep, archives=archives, progress=progress)


def export_store(store: Stored, directory: str | os.PathLike[str], *, tapes: Iterable[str] = (), progress: Told | None = None) -> TransferReport:
    """Write tapes with all that belongs to them to a new directory, or to a new file that ends in .tar, and return what was written."""
    return wait(moving.export_store, store, directory, tapes=tapes, progress=progress)


def import_store(directory: str | os.PathLike[str], store: Stored, *, tapes: Iterable[str] = (), progress: Told | None = None) -> TransferReport:
    """Bring the tapes of an export into a store, and return what was written: ids, uids, dates, generations and branches are as they were."""
    return wait(moving.import_store, directory, store, tapes=tapes, progress=progress)


def copy_store(
    source: Stored,
    target: Stored,
    *,
    tapes: Iterable[str] = (),
    progress: Told | None = None,
) -> TransferReport:
    """Bring tapes with all that belongs to them from one store into another, as `export_store` and `import_store` do, without files between."""
    return wait(moving.copy_store, source, target, tapes=tapes, progress=progress)
