"""The first line of a file: whose it is and, for a branch, where it goes on from another; and the last one of a branch that ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from playhead import clock
from playhead.entry import codec
from playhead.entry.entry import format_date
from playhead.store.family import Kin
from playhead.store.file.record.lines import HEADER_KIND, Body, Line, dump, marks
from playhead.store.protocol import Head


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a branch, or a sidecar of one, goes on from: behind the entry `base` of its parent.

    `parent` and `source` are labels of branches, None for the tape itself; that entry stands in the file of `source`, or of the
    sidecar beside it. `place` is where it ended there when the branch was made: a hint, as files are rewritten.
    """

    parent: str | None
    base: Head
    source: str | None
    place: int

    def is_shown_in(self, generation: int) -> bool:
        """Return whether a generation of the branch shows entries of its source: the one it began with, unless it shares none."""
        return self.base.generation == generation and self.base.id > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """Whose a file is, and since when ("": since it is written); a branch or sidecar does not name its root.

    For a branch also where it goes on from, who drives it, and where the sidecars of its parent were cut.
    """

    kin: Kin
    date: str
    generation: int = 0
    uid: str = ""
    owner: str | None = None
    origin: Origin | None = None
    sidecars: Mapping[str, Origin] = field(default_factory=dict)

    def dump(self) -> bytes:
        """Return the line, which has the shape of an entry with id 0."""
        return _dumped(self._said(), self.uid, self.date or format_date(clock.now()), generation=self.generation, shared=self.shared)

    @property
    def shared(self) -> int:
        """How many entries are shown before those of the file."""
        return self.origin.base.id if self.origin is not None and self.origin.is_shown_in(self.generation) else 0

    def shows(self) -> Iterator[tuple[Kin, int]]:
        """Yield which generations of which other members are shown, by kins without a root."""
        if self.origin is not None and self.shared:
            yield Kin("", self.origin.source, self.kin.sidecar), self.generation
        for name, origin in self.sidecars.items():
            if origin.base.id:
                yield Kin("", origin.source, name), origin.base.generation

    def beside(self, name: str) -> Header:
        """Return the first line of the file of one of a branch's sidecars."""
        origin = self.sidecars.get(name)
        return Header(kin=self.kin._replace(sidecar=name), date=self.date, generation=0 if origin is None else origin.base.generation, origin=origin)

    def of(self, generation: int) -> Header:
        """Return the first line of the file of another generation."""
        return replace(self, generation=generation)

    def with_label(self, old: str, new: str) -> Header:
        """Return it for the time when a branch has another label."""
        kin = self.kin._replace(branch=new) if self.kin.branch == old else self.kin
        sidecars = {name: _relabelled(origin, old, new) for name, origin in self.sidecars.items()}
        return replace(self, kin=kin, origin=None if self.origin is None else _relabelled(self.origin, old, new), sidecars=sidecars)

    def names(self, label: str) -> bool:
        """Return whether it says that a branch is the parent or the source of this one."""
        origins = (*self.sidecars.values(), *(() if self.origin is None else (self.origin,)))
        return any(label in (origin.parent, origin.source) for origin in origins)

    def _said(self) -> dict[str, object]:
        kin = self.kin
        if kin.is_root:
            return {"name": kin.root, "generation": self.generation}
        said: dict[str, object] = {} if kin.branch is None else {"branch": kin.branch}
        said |= {} if kin.sidecar is None else {"sidecar": kin.sidecar}
        said["generation"] = self.generation
        said |= {} if self.origin is None else _origin_said(self.origin)
        if kin.branch is not None and kin.sidecar is None:
            said |= {"owner": self.owner, "sidecars": {name: _origin_said(origin) for name, origin in self.sidecars.items()}}
        return said


def dump_end(*, state: str, generation: int, date: str) -> bytes:
    """Return the last line of a branch that ended, which has the shape of an entry with id 0."""
    return _dumped({"state": state, "generation": generation}, "", date, generation=generation, shared=0)


def header_in(line: Line) -> Header | None:
    """Return what the first line of a file says, None where it is no header."""
    if line.id or line.kind != HEADER_KIND:
        return None
    try:
        said, meta = codec.decode(bytes(line.payload)), codec.decode(bytes(line.meta))
        kin = Kin(said.get("name", ""), said.get("branch"), said.get("sidecar"))
        sidecars = {name: _origin_in(found) for name, found in said.get("sidecars", {}).items()}
        origin = _origin_in(said) if "base" in said else None
        return Header(kin=kin, date=line.date, generation=line.generation, uid=meta.get("uid", ""), owner=said.get("owner"), origin=origin, sidecars=sidecars)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _dumped(said: Mapping[str, object], uid: str, date: str, *, generation: int, shared: int) -> bytes:
    body = Body(kind=HEADER_KIND, payload=codec.encode(said), meta=codec.encode({"uid": uid} if uid else {}), date=date)
    return dump(body, id=0, marks=marks(anchor=None, generation=generation, older=0, shared=shared))


def _origin_said(origin: Origin) -> dict[str, object]:
    return {"parent": origin.parent, "base": [*origin.base], "source": origin.source, "place": origin.place}


def _origin_in(said: Any) -> Origin:
    generation, id = said["base"]
    return Origin(parent=said["parent"], base=Head(int(generation), int(id)), source=said["source"], place=int(said["place"]))


def _relabelled(origin: Origin, old: str, new: str) -> Origin:
    return replace(origin, parent=new if origin.parent == old else origin.parent, source=new if origin.source == old else origin.source)
