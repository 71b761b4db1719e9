"""The command that imports: recorded conversations from files and folders onto tapes."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from playhead.cli.failures import spoken
from playhead.cli.hints import command
from playhead.cli.output import Output, counted, listed
from playhead.cli.plain import one_line
from playhead.cli.store_choice import written_store
from playhead.cli.transferring import import_tapes, is_export
from playhead.errors import FileMissing, InvalidInput, StoreError, UnreadableFile
from playhead.importers.detect import checked_format
from playhead.importers.driver import import_file
from playhead.importers.folder import files_below, places_of
from playhead.importers.report import ImportReport, Progress
from playhead.store.protocol import WholeStore
from playhead.tape.handle import tape_name
from playhead.tape.tape import Tape

NAMED = 5
"""How many warnings are printed, and how many unreadable lines or skipped files one of them names."""

CONVERSATION = "conversation/"
"""How the anchors of a file's conversations are called."""

BEGINNING = 2
"""How many entries a tape begins with: the anchor and its event. Of more, another import has written some meanwhile."""

LONG = 8 << 20
"""From which size, in bytes, a file's import shows a progress bar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A file that is to be imported, onto which tape; one found in a folder may be no conversation at all."""

    file: str
    tape: str
    in_folder: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """One file, what its import did, and how many entries its tape had before and has now."""

    file: str
    tape: str
    report: ImportReport
    before: int
    entries: int


@dataclass(slots=True)
class Done:
    """What the command did so far."""

    imported: list[Imported] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)


async def import_files(args: Namespace, out: Output) -> int:
    """Add recorded conversations to tapes, one file after the other; or take in whole tapes, where `--from` says whence."""
    if args.source is not None:
        return await import_tapes(args, out)
    args = Namespace(**{**vars(args), "tape": args.tapes[0] if args.tapes else None})
    checked_format(args.format)
    done = Done()
    try:
        async with written_store(args) as store:
            for wanted in _wanted(args):
                await _import(wanted, args, store, done, out)
    finally:
        if out.as_json and (done.imported or done.skipped):
            out.json(_json(args.tape, done))
        elif not out.as_json:
            _tell_skipped(done, out)
    if not done.imported:
        raise UnreadableFile(listed([*args.files, *(args.tools or ())]), "no file in it is a conversation of a known format")
    return 0


def _wanted(args: Namespace) -> Iterator[Wanted]:
    """Yield the files in order: those named, those in the folders named, and those in the places of tools."""
    for file in args.files:
        if is_export(file):
            raise InvalidInput(f"'{file}' is an export of whole tapes, not a folder of conversations; take it in with `playhead import --from {file}`.")
        if Path(file).is_dir():
            yield from _in_folder(Path(file), tape_name(Path(file).resolve().name or "/" if args.tape is None else args.tape))
        else:
            yield Wanted(file=file, tape=tape_name(args.tape))
    for tool in dict.fromkeys(args.tools or ()):
        for place in places_of(tool, environment=os.environ, home=Path("~").expanduser()):
            yield from _in_folder(place, tool if args.tape is None else args.tape)


def _in_folder(folder: Path, prefix: str) -> Iterator[Wanted]:
    yield from (Wanted(file=str(found.path), tape=f"{prefix}/{found.name}", in_folder=True) for found in files_below(folder))


async def _import(wanted: Wanted, args: Namespace, store: WholeStore, done: Done, out: Output) -> None:
    tape = Tape(store, wanted.tape)
    before = (await tape.head()).id
    with _progress(wanted.file, out) as told:
        try:
            report = await import_file(wanted.file, into=tape, format=args.format, strict=args.strict, progress=told)
        except (UnreadableFile, FileMissing) as exc:
            if not wanted.in_folder or getattr(exc, "line", None) is not None:
                raise
            done.skipped.append((wanted.file, spoken(exc.why, kind=UnreadableFile)))
            return
        except StoreError:
            await _tell_rest(wanted, tape, before, out)
            raise
    done.imported.append(Imported(file=wanted.file, tape=wanted.tape, report=report, before=before, entries=(await tape.head()).id))
    _tell(done.imported[-1], out)
    if report.conversations > 1 and not out.as_json:
        out.note(one_line(await _in_view(tape, done.imported[-1], args)))


def _tell(imported: Imported, out: Output) -> None:
    report, file = imported.report, imported.file
    if not out.as_json:
        known = f", {report.known:,} known already" if report.known else ""
        out.write(one_line(f"{file}: {counted(report.added, 'entry')} added to tape '{imported.tape}'{known} ({report.format}){_beginning(imported)}; it has {imported.entries:,} now"))
    for warning in report.warnings[:NAMED]:
        out.warn(one_line(f"{file}: {warning}"))
    if len(report.warnings) > NAMED:
        out.warn(f"{file}: {counted(len(report.warnings) - NAMED, 'more warning')}; --json lists them all")
    if report.unreadable:
        lines = _few([f"line {line} ({why})" for line, why in report.unreadable])
        out.warn(one_line(f"{file}: {lines} could not be read and {'is' if len(report.unreadable) == 1 else 'are'} kept raw"))


async def _tell_rest(wanted: Wanted, tape: Tape, before: int, out: Output) -> None:
    """Say what an import that the store ended has left on the tape."""
    with suppress(StoreError):
        written = (await tape.head()).id - before
        if written > 0 and not out.as_json:
            out.note(one_line(f"{wanted.file}: {counted(written, 'entry')} stand on tape '{wanted.tape}' by now; importing the file again adds the rest"))


def _beginning(imported: Imported) -> str:
    """Return what an import left on an empty tape besides the file's entries."""
    more = imported.entries - imported.before - imported.report.added
    return f", behind the anchor it starts with ({counted(more, 'entry')})" if not imported.before and 0 < more <= BEGINNING else ""


async def _in_view(tape: Tape, imported: Imported, args: Namespace) -> str:
    """Say which of a file's conversations is in view, and how another one is read."""
    count = imported.report.conversations
    anchors = [a.name for a in await tape.anchors(count) if a.name.startswith(CONVERSATION)]
    told = f"{imported.file} holds {counted(count, 'conversation')}"
    if len(anchors) < 2:
        return f"{told}."
    there = Namespace(tape=tape.name, store=args.store)
    return f"{told}, each behind an anchor; in view is the last, {anchors[-1]}. {command('compile', there, '--anchor', anchors[-2], '--until', anchors[-1])} reads the one before."


def _tell_skipped(done: Done, out: Output) -> None:
    """Warn of the files of folders that were left alone, by reason."""
    for why in dict.fromkeys(why for _, why in done.skipped):
        files = [file for file, reason in done.skipped if reason == why]
        out.warn(one_line(f"{counted(len(files), 'file')} skipped, for {why}: {_few(files)}"))


def _few(things: list[str]) -> str:
    """Return the first few of some things, and how many more there are."""
    more = len(things) - NAMED
    return listed([*things[:NAMED], f"{more:,} more"] if more > 0 else things)


def _json(tape: str | None, done: Done) -> dict[str, object]:
    return {
        "tape": tape,
        "added": sum(d.report.added for d in done.imported),
        "known": sum(d.report.known for d in done.imported),
        "unreadable": [{"file": d.file, "line": line, "why": why} for d in done.imported for line, why in d.report.unreadable],
        "warnings": [{"file": d.file, "warning": w} for d in done.imported for w in d.report.warnings],
        "skipped": [{"file": file, "why": why} for file, why in done.skipped],
        "files": [_file(d) for d in done.imported],
    }


def _file(done: Imported) -> dict[str, object]:
    report = done.report
    counts = {"added": report.added, "known": report.known, "entries": done.entries}
    return {"file": done.file, "tape": done.tape, "format": report.format, "conversations": report.conversations, **counts}


@contextmanager
def _progress(file: str, out: Output) -> Iterator[Callable[[Progress], None] | None]:
    """Give what an import reports to: a bar on standard error where that is a terminal and the file is long."""
    console = out.error_console() if _size(file) >= LONG else None
    if console is None:
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import Progress as Bar  # noqa: PLC0415

    columns = (TextColumn("{task.description:<9}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        task, stages = bar.add_task("reading", total=None), {"reading"}

        def tell(progress: Progress) -> None:
            if progress.stage not in stages:
                stages.add(progress.stage)
                bar.reset(task, description=progress.stage)
            bar.update(task, completed=progress.done, total=progress.total)

        yield tell


def _size(file: str) -> int:
    with suppress(OSError, ValueError):
        return Path(file).stat().st_size
    return 0
