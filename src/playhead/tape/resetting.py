"""Resetting a tape, its sidecars with it, after keeping what they held in files where that is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from playhead import clock
from playhead.entry.entry import TapeEntry, stamped
from playhead.errors import AppendOutcomeUnknown, Conflict, InvalidInput, PlayheadError, StoreBusy, StoreUnavailable
from playhead.store.change import Append, Reset
from playhead.store.family import kin_of, sidecar_name
from playhead.store.protocol import Head, WholeStore
from playhead.store.query import TapeQuery
from playhead.tape.archive import write_archive
from playhead.tape.record import handoff_entries
from playhead.tape.sidecar import sidecar_event
from playhead.view.pieces import BOOTSTRAP, OWNER

ARCHIVE_ATTEMPTS = 5
"""How often a reset writes its archives anew because a tape grew meanwhile, before it gives up."""

_NOT_THE_SIDECARS = (StoreBusy, StoreUnavailable, AppendOutcomeUnknown)


@dataclass(slots=True)
class _Archives:
    """The files that one try of a reset has written, by sidecar (None: the tape itself), up to which heads, and what befell the sidecars that failed."""

    paths: dict[str | None, Path] = field(default_factory=dict)
    heads: dict[str | None, Head] = field(default_factory=dict)
    events: list[TapeEntry] = field(default_factory=list)

    def remove(self) -> None:
        for path in self.paths.values():
            with suppress(OSError):
                path.unlink()


async def reset(store: WholeStore, tape: str, *, directory: Path | None) -> Path | None:
    """Remove all entries of a tape and of its sidecars, start anew with `session/start`, and return where the archive is.

    With a directory, all are kept there first, under one time; a sidecar whose archive fails is not reset, and an event says so.
    Trouble with a sidecar never keeps the tape from being reset. Raises Conflict where a tape never stops growing.
    """
    sidecars = [] if kin_of(tape).sidecar is not None else await store.sidecars(tape)
    for _ in range(ARCHIVE_ATTEMPTS):
        archives = _Archives() if directory is None else await _archived(store, tape, sidecars, directory=directory)
        kept = archives.paths.get(None)
        first = handoff_entries(BOOTSTRAP, OWNER if kept is None else {**OWNER, "archived": str(kept)}, {})
        able = sidecars if directory is None else [name for name in sidecars if name in archives.paths]
        try:
            await _emptied(store, tape, able, entries=[*first, *archives.events], heads=archives.heads)
        except Conflict:
            archives.remove()
            if directory is None:
                raise
        else:
            return kept
    raise Conflict(expected="an end", found="more entries", message=f"Tape '{tape}' kept growing while its archive was written; stop those who append, then reset.")


async def archive_sidecar(store: WholeStore, tape: str, name: str, *, directory: Path | None, reason: str) -> TapeEntry:
    """Keep what a sidecar holds in a file, record that on the tape, or why it failed, and return that event. Raises InvalidInput without a directory."""
    if directory is None:
        raise InvalidInput("Name the directory to archive to, or make the handle with archives=DIRECTORY.")
    try:
        path = await _archive(store, sidecar_name(tape, name), directory, at=clock.now())
        event = sidecar_event("archive", name, reason=reason, archive=str(path))
    except PlayheadError as exc:
        event = sidecar_event("archive", name, reason=reason, error=exc)
    return (await store.append_many(tape, [stamped(event)]))[0]


async def reset_sidecar(store: WholeStore, tape: str, name: str, *, directory: Path | None, reason: str) -> tuple[TapeEntry, ...]:
    """Empty a sidecar, after keeping it in a file where a directory is given, and return the events that were recorded on the tape.

    Where the archive fails nothing is removed.
    """
    side = sidecar_name(tape, name)
    noted: tuple[TapeEntry, ...] = ()
    for _ in range(ARCHIVE_ATTEMPTS):
        head = await store.head(side)
        if directory is not None:
            noted = (await archive_sidecar(store, tape, name, directory=directory, reason=reason),)
            if noted[0].payload["data"]["status"] != "ok":
                return (*noted, await _noted(store, tape, sidecar_event("reset", name, reason=reason, cause="archive_failed")))
        try:
            done = stamped(sidecar_event("reset", name, reason=reason))
            made = await store.apply([Reset(tape=side, expected_head=head), Append(tape=tape, entries=[done])])
        except Conflict:
            continue
        except PlayheadError as exc:
            return (*noted, await _noted(store, tape, sidecar_event("reset", name, reason=reason, error=exc)))
        return (*noted, *(made[1] if made else ()))
    stopped = Conflict(expected="an end", found="more entries", message=f"Sidecar '{name}' kept growing while it was archived; stop those who append, then reset.")
    return (*noted, await _noted(store, tape, sidecar_event("reset", name, reason=reason, error=stopped)))


async def _emptied(store: WholeStore, tape: str, sidecars: Sequence[str], *, entries: Sequence[TapeEntry], heads: Mapping[str | None, Head]) -> None:
    """Reset a tape and sidecars at once; where that fails for a sidecar, the tape, then each sidecar by itself."""
    main = Reset(tape=tape, entries=[stamped(e) for e in entries], expected_head=heads.get(None))
    sides = {name: Reset(tape=sidecar_name(tape, name), expected_head=heads.get(name)) for name in sidecars}
    if not sides:
        await store.reset(tape, entries=main.entries, expected_head=main.expected_head)
        return
    try:
        await store.apply([main, *sides.values()])
    except PlayheadError as exc:
        if isinstance(exc, (Conflict, *_NOT_THE_SIDECARS)):
            raise
        await store.reset(tape, entries=main.entries, expected_head=main.expected_head)
        for name, side in sides.items():
            try:
                await store.reset(side.tape, expected_head=side.expected_head)
            except PlayheadError as its:
                await _noted(store, tape, sidecar_event("reset", name, reason="reset", error=its))


async def _archived(store: WholeStore, tape: str, sidecars: Sequence[str], *, directory: Path) -> _Archives:
    """Write a tape's archive and those of its sidecars, all under one time."""
    at, archives = clock.now(), _Archives()
    head = archives.heads[None] = await store.head(tape)
    archives.paths[None] = await _archive(store, tape, directory, at=at, upto=head.id)
    for name in sidecars:
        try:
            head = archives.heads[name] = await store.head(sidecar_name(tape, name))
            archives.paths[name] = await _archive(store, sidecar_name(tape, name), directory, at=at, upto=head.id)
        except PlayheadError as exc:
            archives.events += [sidecar_event("archive", name, reason="reset", error=exc), sidecar_event("reset", name, reason="reset", cause="archive_failed")]
    return archives


async def _archive(store: WholeStore, tape: str, directory: Path, *, at: datetime, upto: int | None = None) -> Path:
    query = TapeQuery(tape=tape, store=store)
    return await write_archive(aiter(query if upto is None else query.up_to(upto)), tape=tape, directory=directory, at=at)


async def _noted(store: WholeStore, tape: str, event: TapeEntry) -> TapeEntry:
    return (await store.append_many(tape, [stamped(event)]))[0]
