"""A tape's file opened to be read: what was left half done is finished first, and what looks damaged is looked at again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import TypeVar

from playhead.errors import StoreDamaged, StoreError
from playhead.store.file.findings import Finding
from playhead.store.file.held import HeldTape
from playhead.store.file.place import Place
from playhead.store.file.recording import Recording
from playhead.store.file.snapshot import Snapshot
from playhead.store.file.tail import Tail, read_tail

Result = TypeVar("Result")


def answered(place: Place, *, tape: str, question: Callable[[Recording], Result]) -> Result:
    """Return the answer that a tape's file gives to a question, as it is at that moment.

    Raises what the question raises, StoreDamaged, OSError.
    """
    stem = place.stem(tape)
    if place.disk.exists(place.redo(stem)):
        _tend(place, tape)
    try:
        with opened(place, stem) as recording:
            if not _lacks_only_a_newline(recording):
                return question(recording)
        _complete(place, tape, recording)
        with opened(place, stem) as recording:
            return question(recording)
    except StoreDamaged as damage:
        return _asked_alone(place, tape, question, damage)


@contextmanager
def opened(place: Place, stem: str) -> Iterator[Recording]:
    """Open a tape's file inside the block; where there is none, a tape that was never begun."""
    path, disk = place.path(stem), place.disk
    try:
        fd = disk.open_to_read(path)
    except FileNotFoundError:
        yield Recording(Snapshot(disk=disk, fd=-1, path=path, size=0), Tail(), codec=place.codec)
        return
    try:
        file = Snapshot(disk=disk, fd=fd, path=path, size=disk.state_of(fd).st_size)
        tail = read_tail(file)
        for finding in tail.part.findings if tail.part else ():
            place.findings.report(finding)
        yield Recording(file, tail, codec=place.codec)
    finally:
        disk.close(fd)


def _lacks_only_a_newline(recording: Recording) -> bool:
    return recording.tail.newline is not None and recording.tail.part is None


def _complete(place: Place, tape: str, recording: Recording) -> None:
    """Have a whole line's newline added; where that cannot be, the line is left out, and that is reported."""
    try:
        _tend(place, tape)
    except (OSError, StoreError) as exc:
        what = f"its last line lacks its newline, which could not be added ({exc}), so that line is left out"
        place.findings.report(Finding(path=recording.file.path, what=what, offset=recording.tail.end, size=recording.tail.size - recording.tail.end))


def _tend(place: Place, tape: str) -> None:
    """Finish what was begun on a tape, and mend its end."""
    with closing(HeldTape(place, tape)) as held, held:
        held.look()


def _asked_alone(place: Place, tape: str, question: Callable[[Recording], Result], damage: StoreDamaged) -> Result:
    """Ask once more while nobody writes: a writer that cuts off a torn end while it is read makes a file look damaged."""
    with ExitStack() as stack:
        try:
            held = stack.enter_context(closing(HeldTape(place, tape)))
            stack.enter_context(held)
        except (OSError, StoreError):
            raise damage from None
        return question(stack.enter_context(opened(place, held.stem)))
