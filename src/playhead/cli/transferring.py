"""The commands that move whole tapes, with all that belongs to them: export --to, import --from, copy."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import BinaryIO

from anyio import to_thread

from playhead.cli.damage import loss_facts, loss_line, with_commands
from playhead.cli.output import Output, counted, listed
from playhead.cli.plain import one_line
from playhead.cli.store_choice import chosen_store, is_absent, shown_url, written_store
from playhead.errors import StoreUnavailable
from playhead.store.protocol import WholeStore
from playhead.store.transfer.manifest import FILE, OPENING
from playhead.store.transfer.moving import copy_store, export_store, import_store
from playhead.store.transfer.report import TransferProgress, TransferReport

STREAM = "-"
NAMED, LOST = 5, 30
"""How many tapes, and how many losses, are named one by one."""


async def export_tapes(args: Namespace, out: Output) -> int:
    """Write whole tapes to a new directory, a new .tar, or as a tar to standard output; the exit code is 1 where something of them cannot be read."""
    async with _source(args, out) as (store, told):
        if args.target != STREAM:
            report = await export_store(store, args.target, tapes=args.tapes, progress=told)
            _tell(report, args, out, done="exported", place=args.target)
            return int(bool(report.lost))
        with TemporaryDirectory(prefix="playhead-") as aside:
            report = await export_store(store, Path(aside, "export.tar"), tapes=args.tapes, progress=told)
            await to_thread.run_sync(_print, Path(aside, "export.tar"), out)
    out.note(one_line(_said(report, done="exported", place="standard output")))
    _tell_lost(report, args, out)
    return int(bool(report.lost))


async def import_tapes(args: Namespace, out: Output) -> int:
    """Take in the whole tapes of an export."""
    with _entered(args.source) as source:
        async with written_store(_of(args, args.target)) as store:
            with _progress(out) as told:
                report = await import_store(source, store, tapes=args.tapes, progress=told)
    _tell(report, args, out, done="imported", place=shown_url(_of(args, args.target)))
    return 0


def is_export(place: str) -> bool:
    """Return whether a directory is an export of whole tapes."""
    try:
        if not Path(place, FILE).is_file():
            return False
        with Path(place, FILE).open("rb") as manifest:
            return manifest.read(len(OPENING)) == OPENING
    except (OSError, ValueError):
        return False


async def copy_tapes(args: Namespace, out: Output) -> int:
    """Bring whole tapes from one store into another."""
    async with _source(args, out) as (source, told), written_store(_of(args, args.to)) as target:
        report = await copy_store(source, target, tapes=args.tapes, progress=told)
    _tell(report, args, out, done="copied", place=shown_url(_of(args, args.to)))
    return 0


@asynccontextmanager
async def _source(args: Namespace, out: Output) -> AsyncIterator[tuple[WholeStore, Callable[[TransferProgress], None] | None]]:
    """Open the store that tapes are taken from, and give what hears how far that is."""
    named = _of(args, args.source)
    async with chosen_store(named) as store:
        if is_absent(store):
            raise StoreUnavailable(f"There is no store at {shown_url(named)}; name another one with --from.")
        with _progress(out) as told:
            yield store, told


def _of(args: Namespace, url: str | None) -> Namespace:
    """Return the arguments with the store that a URL names, that of --store where there is none."""
    return args if url is None else Namespace(**{**vars(args), "store": url})


@contextmanager
def _entered(source: str) -> Iterator[str]:
    """Give the place of an export; what comes by standard input is kept in a file meanwhile."""
    if source != STREAM:
        yield source
        return
    with TemporaryDirectory(prefix="playhead-") as aside:
        path = Path(aside, "export.tar")
        stdin: BinaryIO | None = getattr(sys.stdin, "buffer", None)
        if stdin is None:
            raise StoreUnavailable("Standard input is closed; name a directory or a .tar with --from.")
        with path.open("wb") as file:
            copyfileobj(stdin, file)
        yield str(path)


def _print(path: Path, out: Output) -> None:
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            out.body(block)


def _tell(report: TransferReport, args: Namespace, out: Output, *, done: str, place: str) -> None:
    if out.as_json:
        counts = {"entries": report.entries, "blobs": report.blobs, "missing": list(report.missing), "lost": [loss_facts(loss) for loss in report.lost]}
        out.json({"from": _from(args), "to": place, "tapes": list(report.tapes), "known": list(report.known), **counts})
        return
    out.write(one_line(_said(report, done=done, place=place)))
    for name in report.tapes[:NAMED]:
        out.write(one_line(name))
    if len(report.tapes) > NAMED:
        out.write(f"and {counted(len(report.tapes) - NAMED, 'more tape')}")
    _tell_lost(report, args, out)
    if report.missing:
        out.warn(
            one_line(f"{counted(len(report.missing), 'blob')} that entries refer to {'is' if len(report.missing) == 1 else 'are'} not kept where they come from: {listed(report.missing[:NAMED])}")
        )


def _tell_lost(report: TransferReport, args: Namespace, out: Output) -> None:
    for loss in report.lost[:LOST]:
        out.warn(one_line(with_commands(loss_line(loss), args)))
    if len(report.lost) > LOST:
        out.warn(f"{counted(len(report.lost) - LOST, 'more part')} lost; --json and manifest.json have all.")


def _from(args: Namespace) -> str:
    """Return where the tapes come from, as it may be shown."""
    return str(args.source) if args.command == "import" else shown_url(_of(args, args.source))


def _said(report: TransferReport, *, done: str, place: str) -> str:
    known = f"; {counted(len(report.known), 'tape')} stood there already" if report.known else ""
    blobs = f", {counted(report.blobs, 'blob')}" if report.blobs else ""
    return f"{done} {counted(len(report.tapes), 'tape')} to {place}: {counted(report.entries, 'entry')}{blobs}{known}"


@contextmanager
def _progress(out: Output) -> Iterator[Callable[[TransferProgress], None] | None]:
    """Give what a transfer reports to: a bar on standard error where that is a terminal."""
    console = out.error_console()
    if console is None:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415 - only a terminal needs it

    with Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        at: list[tuple[str, str]] = []

        def tell(progress: TransferProgress) -> None:
            if at != [(progress.stage, progress.tape)]:
                at[:] = [(progress.stage, progress.tape)]
                bar.reset(task, description=one_line(f"{progress.stage} {progress.number}/{progress.tapes} {progress.tape}")[:60])
            bar.update(task, completed=progress.done, total=progress.total)

        yield tell
