"""What is to be written to the file of one tape when a family is changed."""

from __future__ import annotations

from dataclasses import dataclass, field

from playhead.store.family import Kin
from playhead.store.file.names import is_cut
from playhead.store.file.record.draft import Draft, Standing
from playhead.store.file.record.header import Header, dump_end
from playhead.store.file.record.tail import Tail


@dataclass(slots=True, kw_only=True)
class Sheet:
    """The draft of a tape whose file ends at `tail`; `stem` is that of an open branch.

    `pasts` are the drafts of earlier generations, the first of which goes on from the file. `is_new` says that the tape is a
    branch that is only made now, `is_named` that the file has to be there if only to say its tape's name; `beside` tells which
    entries of the sidecars of a new branch have a key, `ended` how and when the branch was closed.
    """

    kin: Kin
    stem: str
    header: Header
    draft: Draft
    tail: Tail
    is_new: bool = False
    is_named: bool = False
    pasts: list[Draft] = field(default_factory=list)
    ended: tuple[str, str] | None = None
    beside: dict[str, Standing] = field(default_factory=dict)

    @property
    def is_begun(self) -> bool:
        """Whether there is anything that a reset would end."""
        return self.tail.begun or self.header.origin is not None or bool(self.pasts) or self.draft.count > 0

    @property
    def is_changed(self) -> bool:
        """Whether there is anything to write."""
        return self.is_new or self.is_named or bool(self.pasts) or self.ended is not None or self.draft.count > 0

    @property
    def only_grows(self) -> bool:
        """Whether all there is to write are lines at the end of the file."""
        return not (self.is_new or self.pasts or self.ended)

    def turn_over(self, fresh: Draft) -> None:
        """Go on with the next generation."""
        self.pasts.append(self.draft)
        self.draft = fresh

    def file(self) -> list[bytes]:
        """Return all lines of the file, where it is written anew."""
        header = self.header.of(self.draft.head.generation)
        needed = is_cut(self.stem) or header.origin is not None or not self.draft.count
        return [*self.draft.file(header if needed else None), *self.end()]

    def end(self) -> list[bytes]:
        """Return the last line, where the branch is closed."""
        return [] if self.ended is None else [dump_end(state=self.ended[0], generation=self.draft.head.generation, date=self.ended[1])]
