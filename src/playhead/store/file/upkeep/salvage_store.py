"""Salvaging a directory of tapes: each damaged file of each family, so that what branches go on from is there again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from playhead.errors import FileMissing, StoreError
from playhead.store.condition.failures import typed
from playhead.store.condition.loss import SalvageReport
from playhead.store.family import Kin
from playhead.store.file.family.guard import Guard
from playhead.store.file.members import HIDDEN, STATES, branch_stem, kept_stem, member_stem
from playhead.store.file.place import Place
from playhead.store.file.record.stretch import header_at, opened
from playhead.store.file.upkeep.beginning import kin_in
from playhead.store.file.upkeep.salvage import place_to_salvage, salvage_file
from playhead.store.file.upkeep.verify import family_stems, root_name, root_stems
from playhead.store.protocol import EMPTY, Head


def salvage_store(directory: str) -> SalvageReport:
    """Salvage every damaged file of a store; see `salvage`. Nobody writes to a family while it is looked at. Blocks.

    Raises FileMissing, StoreBusy, StoreUnavailable.
    """
    if not os.path.isdir(directory):
        raise FileMissing(directory, "no such directory")
    place = place_to_salvage(directory)
    reports: list[SalvageReport] = []
    try:
        for root in root_stems(place):
            with closing(Guard(place, root)) as guard, guard:
                reports += _salvaged_family(place, root)
    except OSError as exc:
        raise typed(exc, path=directory) from exc
    lost = tuple(loss for report in reports for loss in report.lost)
    files = tuple(report for report in reports if report.original is not None)
    return SalvageReport(path=Path(directory), kept=sum(report.kept for report in reports), lost=lost, original=None, files=files)


def _salvaged_family(place: Place, root: str) -> list[SalvageReport]:
    """Salvage the files of a family; how far each must reach the first lines of branches say, also those that were lost and made anew."""
    stems, name = family_stems(place, root), root_name(place, root) or root
    least = _needed(place, root, stems)
    reports = {stem: salvage_file(place, root, stem, tape=_called(place, stem, name), least=least.get(stem, EMPTY)) for stem in stems}
    for stem, head in _needed(place, root, stems).items():
        if head > least.get(stem, EMPTY):
            again = salvage_file(place, root, stem, tape=_called(place, stem, name), least=head)
            reports[stem] = _joined(reports[stem], again)
    return list(reports.values())


def _needed(place: Place, root: str, stems: list[str]) -> dict[str, Head]:
    """Return where others say that files end at least, by their stems: branches that go on from them, and the marks of sidecars."""
    least: dict[str, Head] = {}
    for header in filter(None, (header_at(place, stem) for stem in stems)):
        origins = [(header.kin.sidecar, header.origin)] if header.origin is not None and header.shared else []
        for sidecar, origin in [*origins, *header.sidecars.items()]:
            stem = _source(root, stems, Kin("", origin.source, sidecar), origin.base.generation)
            if stem is not None and origin.base.id:
                least[stem] = max(least.get(stem, EMPTY), origin.base)
    for stem, mark in _marked(place, root, stems):
        least[stem] = max(least.get(stem, EMPTY), mark)
    return least


def _marked(place: Place, root: str, stems: list[str]) -> Iterator[tuple[str, Head]]:
    """Yield for the main tape of each sidecar where it ended when the sidecar was last written to."""
    for stem in stems:
        kin = kin_in(stem)
        if kin is None or kin.sidecar is None or stem.startswith(HIDDEN):
            continue
        main = _current(root, stems, kin._replace(sidecar=None))
        with suppress(StoreError, OSError), opened(place, stem) as sidecar:
            if sidecar is None or main is None or not sidecar.recording.tail.id:
                continue
            for _, last in sidecar.recording.backwards(sidecar.recording.tail.id, sidecar.recording.tail.id):
                if last.mark is not None:
                    yield main, Head(*last.mark)


def _source(root: str, stems: list[str], kin: Kin, generation: int) -> str | None:
    """Return the stem of the file that holds a generation of a member, None where there is none."""
    kept = kept_stem(root, kin, generation)
    return kept if kept in stems else _current(root, stems, kin)


def _current(root: str, stems: list[str], kin: Kin) -> str | None:
    """Return the stem of the file that a member has now, None where there is none."""
    names = [member_stem(root, kin)] if kin.branch is None or kin.sidecar is not None else [branch_stem(root, kin.branch, state) for state in STATES]
    return next((name for name in names if name in stems), None)


def _called(place: Place, stem: str, root: str) -> str:
    header = header_at(place, stem)
    kin = kin_in(stem) if header is None else header.kin
    return root if kin is None else kin._replace(root=root).name


def _joined(one: SalvageReport, again: SalvageReport) -> SalvageReport:
    """Return the report of two looks at a file, the second of which found it too short."""
    return SalvageReport(path=one.path, kept=one.kept or again.kept, lost=(*one.lost, *again.lost), original=one.original or again.original)
