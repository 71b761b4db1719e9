"""The command that collects blobs: what nothing names any more is removed."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from playhead.cli.output import Output, counted
from playhead.cli.plain import one_line
from playhead.cli.store_choice import chosen_store, is_absent, shown_url
from playhead.store.blobs import blobs_of
from playhead.store.sweep import GRACE, BlobReport, gc_blobs, unused_blobs

NAMED = 30
"""How many blobs are printed; --json has all."""


async def collect_blobs(args: Namespace, out: Output) -> int:
    """Remove the blobs that nothing names, or say which these are."""
    sweep = unused_blobs if args.dry_run else gc_blobs
    async with chosen_store(args) as store:
        if is_absent(store) or (keeper := blobs_of(store)) is None:
            report = BlobReport(blobs=0, recent=0, named=0, unused=())
        else:
            with _progress(out) as told:
                report = await sweep(keeper, grace=GRACE if args.grace is None else args.grace, archives=args.archives or (), progress=told)
    if out.as_json:
        found = [{"digest": blob.digest, "size": blob.size, "mime": blob.mime} for blob in report.unused]
        counts = {"blobs": report.blobs, "recent": report.recent, "named": report.named, "bytes": report.size}
        out.json({"store": shown_url(args), **counts, "unused" if args.dry_run else "removed": found})
        return 0
    _tell(report, out, what="would be removed" if args.dry_run else "removed")
    return 0


def _tell(report: BlobReport, out: Output, *, what: str) -> None:
    for blob in report.unused[:NAMED]:
        out.write(one_line(f"{what}: {blob.digest}, {blob.size:,} bytes" + (f", {blob.mime}" if blob.mime else "")))
    if len(report.unused) > NAMED:
        out.note(f"{len(report.unused) - NAMED:,} more; --json has them.")
    out.write(f"{counted(report.blobs, 'blob')}: {report.named:,} named, {report.recent:,} recent, {len(report.unused):,} {what} ({report.size:,} bytes)")


@contextmanager
def _progress(out: Output) -> Iterator[Callable[[int, int], object] | None]:
    """Give what a sweep reports to: a bar on standard error where that is a terminal."""
    console = out.error_console()
    if console is None:
        yield None
        return
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import Progress as Bar  # noqa: PLC0415

    with Bar(TextColumn("looking"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("looking", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
