"""The files of a family's directory, by whose they are: remembered for as long as nobody else makes, renames or removes one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

from playhead import clock
from playhead.store.file.family.steps import Step
from playhead.store.file.members import family_directory, member_in
from playhead.store.file.names import SUFFIX
from playhead.store.file.place import Place

_SPREAD = (1 << 32) - 1


class Roster:
    """Lists the directory once, under the guard of the family, and gives it a date that nobody else gives it.

    Whoever changes the directory changes the date, however soon after. Where a system keeps no such dates it is listed each time.
    """

    def __init__(self, place: Place, stem: str) -> None:
        self._disk = place.disk
        self._path = place.family(stem)
        self._inside = f"{family_directory(stem)}/"
        self._names: dict[str | None, set[str]] = {}
        self._seen: tuple[int, int, int] | None = None

    def files_of(self, part: str | None) -> list[str]:
        """Return the names of the files of a branch and its sidecars, or of the sidecars of the tape itself, given what stands for it in them."""
        if not self._is_current():
            self._list()
        return sorted(self._names.get(part, ()))

    @contextmanager
    def changing(self, names: Iterable[str]) -> Iterator[None]:
        """Keep up with files that are made or removed inside the block, by nobody else as the guard is held."""
        was_current = self._is_current()
        yield
        if not was_current or self._is_current():
            return
        for name in names:
            member = member_in(name)
            if member is not None:
                its = self._names.setdefault(member.branch, set())
                its.add(name) if self._disk.exists(f"{self._path}/{name}") else its.discard(name)
        self._date()

    def named_by(self, steps: Sequence[Step]) -> set[str]:
        """Return the names of the files in the directory that steps of a change make or remove."""
        paths = (path.removeprefix(self._inside) for step in steps for path in step[1:3] if isinstance(path, str) and path.startswith(self._inside))
        return {path if path.endswith(SUFFIX) else f"{path}{SUFFIX}" for path in paths}

    def _list(self) -> None:
        self._date()
        self._names.clear()
        for name in self._disk.names(self._path):
            member = member_in(name)
            if member is not None:
                self._names.setdefault(member.branch, set()).add(name)

    def _is_current(self) -> bool:
        return self._seen is not None and self._seen == self._state()

    def _date(self) -> None:
        """Give the directory a date a little in the past, so that what the system gives it later is another one, and by chance, so that what others do is."""
        self._seen, state = None, self._state()
        if state is None:
            return
        device, number, changed = state
        date = changed - 1 - (UUID(clock.new_uid()).int & _SPREAD)
        try:
            self._disk.date(self._path, date)
        except OSError:
            return
        if self._state() == (device, number, date):
            self._seen = device, number, date

    def _state(self) -> tuple[int, int, int] | None:
        state = self._disk.state(self._path)
        return None if state is None else (state.st_dev, state.st_ino, state.st_mtime_ns)
