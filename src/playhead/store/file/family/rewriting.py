"""Writing a file anew with another first line."""

from __future__ import annotations

from collections.abc import Iterator

from playhead import clock
from playhead.errors import InvalidInput
from playhead.store.file.blobs import renew
from playhead.store.file.marking import names_of
from playhead.store.file.place import Place
from playhead.store.file.record.header import Header, header_in
from playhead.store.file.record.lines import Body, dump, marks, moved_in
from playhead.store.file.record.snapshot import Snapshot
from playhead.store.file.record.tail import loaded, read_tail


def rewritten(place: Place, stem: str, header: Header | None) -> Iterator[bytes]:
    """Yield the lines of a file behind another first line than the header it has, or none; they stay as they are but for the places they name.

    At the end the blobs that they name count as used, as somebody may be looking for names, and not see the new file.
    Raises StoreDamaged, InvalidInput where another program wrote its front.
    """
    path = place.path(stem)
    fd = place.disk.open_to_read(path)
    try:
        file = Snapshot(disk=place.disk, fd=fd, path=path, size=place.disk.state_of(fd).st_size)
        tail = read_tail(file)
        if tail.older:
            raise InvalidInput(f"'{path}' was begun by another program, so no line can stand before its first; choose a shorter name.")
        first = b"" if header is None else header.of(tail.generation).dump()
        yield first
        shift, named = len(first), set[str]()
        for offset, raw in file.forwards(0, file.size):
            line = loaded(file, offset, raw)
            named |= names_of(place, path, line)
            if not offset and header_in(line) is not None:
                shift -= len(raw) + 1
            elif line.anchor is None:
                yield raw + b"\n"
            else:
                own = marks(batch=line.batch, anchor=line.anchor + shift, generation=line.generation, older=0, mark=line.mark)
                yield dump(Body(kind=line.kind, payload=bytes(line.payload), meta=bytes(line.meta), date=line.date, moved=moved_in(line)), id=line.id, marks=own)
        renew(place, named, at=clock.now())
    finally:
        place.disk.close(fd)
