"""The command that imports: recorded conversations from files onto a tape."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from playhead.cli.output import Output, counted, listed
from playhead.cli.plain import one_line
from playhead.cli.store_choice import written_tape
from playhead.importers.driver import import_file
from playhead.importers.report import ImportReport, Progress

NAMED = 5
"""How many warnings are printed, and how many unreadable lines one of them names."""

LONG = 8 << 20
"""From which size, in bytes, a file's import shows a progress bar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """One file and what its import did."""

    file: str
    report: ImportReport


async def import_files(args: Namespace, out: Output) -> int:
    """Add recorded conversations to a tape, one file after the other."""
    done: list[Imported] = []
    try:
        async with written_tape(args) as tape:
            for file in args.files:
                with _progress(file, out) as told:
                    report = await import_file(file, into=tape, format=args.format, strict=args.strict, progress=told)
                done.append(Imported(file=file, report=report))
                _tell(done[-1], args, out)
    finally:
        if out.as_json and done:
            out.json(_json(args.tape, done))
    return 0


def _tell(imported: Imported, args: Namespace, out: Output) -> None:
    report, file = imported.report, imported.file
    if not out.as_json:
        known = f", {report.known:,} known already" if report.known else ""
        out.write(one_line(f"{file}: {counted(report.added, 'entry')} added to tape '{args.tape}'{known} ({report.format})"))
    for warning in report.warnings[:NAMED]:
        out.warn(one_line(f"{file}: {warning}"))
    if len(report.warnings) > NAMED:
        out.warn(f"{file}: {counted(len(report.warnings) - NAMED, 'more warning')}; --json lists them all")
    if report.unreadable:
        out.warn(one_line(f"{file}: {_lines(report)} could not be read and {'is' if len(report.unreadable) == 1 else 'are'} kept raw"))


def _lines(report: ImportReport) -> str:
    """Return which lines were not read and why, the first few by number."""
    named = [f"line {line} ({why})" for line, why in report.unreadable[:NAMED]]
    more = len(report.unreadable) - len(named)
    return listed([*named, f"{more:,} more"] if more > 0 else named)


def _json(tape: str, done: Sequence[Imported]) -> dict[str, object]:
    return {
        "tape": tape,
        "added": sum(d.report.added for d in done),
        "known": sum(d.report.known for d in done),
        "unreadable": [{"file": d.file, "line": line, "why": why} for d in done for line, why in d.report.unreadable],
        "warnings": [{"file": d.file, "warning": w} for d in done for w in d.report.warnings],
        "files": [{"file": d.file, "format": d.report.format, "conversations": d.report.conversations, "added": d.report.added, "known": d.report.known} for d in done],
    }


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
