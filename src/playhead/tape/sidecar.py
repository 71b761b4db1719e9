"""Sidecars: abilities mounted beside a tape, each with a tape of its own that branches, merges and resets with it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from playhead.entry.entry import TapeEntry
from playhead.errors import InvalidInput
from playhead.store.family import sidecar_name

OnCommit = Callable[[object, Sequence[TapeEntry]], object]
"""What an ability does with a handle and the entries that were stored on its tape; what it returns is awaited where it can be."""


class TapeSidecar:
    """An ability mounted beside a tape, such as spilled results or summaries; it keeps what it needs on the sidecar's own tape.

    `tape.sidecar(NAME)` is the handle of that tape; its entries never enter the context of the main one. Anything with a `name`
    can be mounted; this class is there to inherit from. One that has a method `on_commit(tape, entries)`, async or not, is given the
    handle and the entries of every append through a handle it is mounted on, once they are stored, and of every merge, on the tape
    they came back to. It is told at least once, cannot refuse, and keeps what it makes of them on its own tape.
    """

    name: str

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class Mounts(Mapping[str, object]):
    """The abilities that are mounted beside a tape, by name; of two with one name the first counts."""

    def __init__(self, sidecars: Iterable[object] = ()) -> None:
        self._mounted: dict[str, object] = {}
        for sidecar in sidecars:
            self._mounted.setdefault(_name_of(sidecar), sidecar)
        self.listening = self._listening()

    def __getitem__(self, name: str) -> object:
        return self._mounted[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._mounted)

    def __len__(self) -> int:
        return len(self._mounted)

    def __repr__(self) -> str:
        return f"Mounts({', '.join(self._mounted)})"

    def tape_name(self, tape: str, name: str) -> str:
        """Return the name of the tape behind a mounted sidecar. Raises KeyError where none of that name is mounted."""
        if name not in self._mounted:
            raise KeyError(f"tape sidecar '{name}' is not mounted")
        return sidecar_name(tape, name)

    def mount(self, sidecar: object) -> None:
        """Mount one more. Raises InvalidInput where one of that name is mounted."""
        name = _name_of(sidecar)
        if name in self._mounted:
            raise InvalidInput(f"A sidecar called '{name}' is mounted already; unmount it first, or call yours otherwise.")
        self._mounted[name] = sidecar
        self.listening = self._listening()

    def unmount(self, name: str) -> None:
        """Take one away; what its tape holds stays."""
        self._mounted.pop(name, None)
        self.listening = self._listening()

    async def tell(self, tape: object, entries: Sequence[TapeEntry]) -> tuple[TapeEntry, ...]:
        """Give entries that were stored to the abilities that listen; return for each that fails the event that says so."""
        failed = []
        for name, on_commit in self.listening:
            try:
                outcome = on_commit(tape, entries)
                if inspect.isawaitable(outcome):
                    await outcome
            except Exception as exc:  # noqa: BLE001 - an ability of the user's raises whatever it likes
                failed.append(sidecar_event("commit", name, reason="on_commit", error=exc))
        return tuple(failed)

    def _listening(self) -> tuple[tuple[str, OnCommit], ...]:
        found = ((name, getattr(sidecar, "on_commit", None)) for name, sidecar in self._mounted.items())
        return tuple((name, on_commit) for name, on_commit in found if callable(on_commit))


def sidecar_event(what: str, name: str, *, reason: str, archive: str | None = None, error: Exception | None = None, cause: str | None = None) -> TapeEntry:
    """Return an event that says what befell a sidecar: an error where there is one, skipped where there is a cause, else ok."""
    status = "error" if error is not None else "skipped" if cause is not None else "ok"
    facts = {"sidecar": name, "status": status, "reason": reason, "archive": archive, "error": None if error is None else str(error), "cause": cause}
    return TapeEntry.event(f"sidecar.{what}", {key: value for key, value in facts.items() if value is not None}, context=False)


def _name_of(sidecar: object) -> str:
    name = getattr(sidecar, "name", None)
    if not isinstance(name, str):
        raise InvalidInput(f"A sidecar has a name, a text, unlike {sidecar!r}; mount TapeSidecar(NAME) or an object with one.")
    sidecar_name("tape", name)
    return name
