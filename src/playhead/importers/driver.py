"""`import_file` and `import_items`: a conversation kept by another program goes onto a tape."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from io import BytesIO
from itertools import islice
from pathlib import Path

from anyio import to_thread

from playhead.entry import codec
from playhead.entry.entry import TapeEntry, stamped
from playhead.entry.frozen import freeze
from playhead.errors import FileMissing, InvalidInput, KeyConflict, UnreadableFile
from playhead.importers.detect import Opened, checked_format, source_of
from playhead.importers.items import Item, Marks, Source
from playhead.importers.known import Known
from playhead.importers.report import ImportReport, Notes, Progress, Stage
from playhead.importers.writing import BATCH_BYTES, BATCH_ENTRIES, Writing
from playhead.tape.tape import Tape

ATTEMPTS = 5


async def import_file(
    path: str | Path,
    *,
    into: Tape,
    format: str = "auto",
    strict: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> ImportReport:
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
    checked_format(format)
    opened = await to_thread.run_sync(_open, Path(path))
    try:
        return await _Import(opened, into, progress).run(format=format, strict=strict)
    finally:
        opened.file.close()


async def import_items(items: Iterable[Mapping[str, object]], *, into: Tape, format: str = "auto", source: str = "items", strict: bool = False) -> ImportReport:
    """Read a conversation that another library holds onto a tape, item by item, and return what was added.

    The items are JSON objects in one of the formats of `import_file`, such as what a session or a checkpoint of an agent
    library holds, and are read as the lines of a file are. `source` names where they come from, in each entry's
    `meta.import`. Importing them again, with more behind them, adds only what is new. Of no items nothing is written.

    Raises InvalidInput for an unknown format and for what is no JSON object, UnreadableFile where the items are of
    another format or of several.
    """
    checked_format(format)
    body = await to_thread.run_sync(_lines_of, tuple(items))
    if not body:
        return ImportReport(format=format, added=0, known=0, unreadable=(), conversations=0, warnings=())
    opened = Opened(file=BytesIO(body), size=len(body), path=source, name=source)
    return await _Import(opened, into, None).run(format=format, strict=strict)


def _lines_of(items: tuple[object, ...]) -> bytes:
    """Return JSON objects as lines. Raises InvalidInput for anything else."""
    for position, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise InvalidInput(f"An item to import is a JSON object, but that at {position} is a {type(item).__name__}; give each item as a dict.")
    return b"\n".join(codec.encode(freeze(item, path=f"items[{position}]")) for position, item in enumerate(items))


class _Import:
    """One run: its file, its tape, and how far it is."""

    def __init__(self, opened: Opened, tape: Tape, progress: Callable[[Progress], None] | None) -> None:
        self._opened = opened
        self._tape = tape
        self._progress = progress
        self._done = 0
        self._added = 0
        self._known = 0
        self._notes = Notes()

    async def run(self, *, format: str, strict: bool) -> ImportReport:
        source = await to_thread.run_sync(partial(source_of, self._opened, format=format))
        steps = source.index(strict=strict)
        while (done := await to_thread.run_sync(next, steps, None)) is not None:
            self._done = done
            self._tell("reading")
        await self._settle(source)
        notes = self._notes
        return ImportReport(
            format=source.format,
            added=self._added,
            known=self._known,
            unreadable=tuple(notes.unreadable),
            conversations=source.conversations,
            warnings=notes.told(),
        )

    async def _settle(self, source: Source) -> None:
        """Compare and write; where another import of the file wrote other pieces of a turn meanwhile, compare anew."""
        for left in reversed(range(ATTEMPTS)):
            known = await self._compare(source)
            self._notes = Notes()
            try:
                await self._write(source, known)
            except KeyConflict:
                if not left:
                    raise
            else:
                return

    async def _compare(self, source: Source) -> Known:
        """Look up which items are on the tape already."""
        known = Known()
        if not (await self._tape.head()).id:
            return known
        items = source.items(marks=Marks(), notes=Notes(), seen=self._seen)
        while batch := await to_thread.run_sync(_some, items):
            keys = [key for item in batch for key in item.keys]
            uids = [key for item in batch if item.restores for key in item.keys]
            found = await self._tape.store.find(self._tape.name, keys=keys, uids=uids)
            if found:
                await to_thread.run_sync(_compare_all, known, batch, found)
            self._known = max(0, known.entries - self._added)
            self._tell("comparing")
        return known

    async def _write(self, source: Source, known: Known) -> None:
        """Write what is new, a batch at a time."""
        writing = Writing(known, self._notes, format=source.format)
        batches = writing.batches(source.items(marks=known.marks, notes=self._notes, seen=self._seen))
        top = -1
        while batch := await to_thread.run_sync(next, batches, None):
            if top < 0:
                if not source.brings_anchor:
                    await self._tape.bootstrap()
                top = (await self._tape.head()).id
            batch = [stamped(entry) for entry in batch]
            stored = await self._tape.append_many(batch)
            # An entry that stands already has a uid of its own, also one that another import wrote meanwhile.
            added = sum(entry.id > top and entry.uid == ours.uid for ours, entry in zip(batch, stored, strict=True))
            self._added += added
            self._known += len(stored) - added
            top = max(top, *(entry.id for entry in stored))
            self._tell("writing")

    def _seen(self, done: int) -> None:
        self._done = done

    def _tell(self, stage: Stage) -> None:
        if self._progress is not None:
            self._progress(Progress(stage=stage, done=self._done, total=self._opened.size, added=self._added, known=self._known))


def _some(items: Iterator[Item]) -> list[Item]:
    """Return the next items, as many as are looked up at once."""
    some: list[Item] = []
    size = 0
    for item in islice(items, 4 * BATCH_ENTRIES):
        some.append(item)
        size += item.size
        if size > 4 * BATCH_BYTES:
            break
    return some


def _compare_all(known: Known, batch: list[Item], found: Mapping[str, TapeEntry]) -> None:
    for item in batch:
        known.compare(item, found)


def _open(path: Path) -> Opened:
    """Open a regular file. Raises FileMissing or UnreadableFile."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise UnreadableFile(str(path), "it is a directory; name a file in it")
        if not stat.S_ISREG(mode):
            raise UnreadableFile(str(path), "it is no regular file; save it to one first")
        file = path.open("rb")
    except FileNotFoundError as exc:
        raise FileMissing(str(path)) from exc
    except PermissionError as exc:
        raise FileMissing(str(path), "no permission to read it") from exc
    except (OSError, ValueError) as exc:
        raise FileMissing(str(path), str(exc)) from exc
    return Opened(file=file, size=os.fstat(file.fileno()).st_size, path=str(path), name=path.name)
