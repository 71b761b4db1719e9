"""The entries of a fold sidecar: what each kind is called, and how one is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from playhead.entry.entry import TapeEntry, format_date
from playhead.entry.frozen import freeze_dict
from playhead.fold.forest import Cut, PinKind
from playhead.fold.node import NodeDraft

NODE: Final = "fold.node"
CUT: Final = "fold.cut"
PIN: Final = "fold.pin"
UNPIN: Final = "fold.unpin"
LOCK: Final = "fold.lock"
UNLOCK: Final = "fold.unlock"
OUTCOME: Final = "fold.outcome"
CLEARED: Final = "fold.cleared"
FORGOTTEN: Final = "fold.forgotten"
CALIBRATION: Final = "fold.calibration"
CHECKPOINT: Final = "forest.checkpoint"


def node_entry(draft: NodeDraft, *, id: str) -> TapeEntry:
    """Return the entry of a summary; `id` is `L<level>-<number>`, the number one more than the forest's counter."""
    payload = {
        "id": id,
        "level": draft.level,
        "first": draft.first_uid,
        "last": draft.last_uid,
        "entries": draft.entries,
        "units": draft.units,
        "raw_tokens": draft.raw_tokens,
        "text": draft.text,
        "index": list(draft.index),
        "tools": list(draft.tools),
        "voice": draft.voice,
        "phase": draft.phase,
        "children": list(draft.children),
        "since": format_date(draft.since),
        "until": format_date(draft.until),
        "model": draft.model,
        "how": draft.how,
    }
    return _entry(NODE, payload)


def cut_entry(cut: Cut) -> TapeEntry:
    """Return the entry of a cut that was shown."""
    return _entry(CUT, {"nodes": list(cut.nodes), "room": cut.room, "resolver": cut.resolver})


def pin_entry(id: str, *, first_uid: str, last_uid: str, name: str | None = None, kind: PinKind = "range", level: int | None = None, max_level: int | None = None) -> TapeEntry:
    """Return the entry of a pin over what lies between two entries of the tape, in either order; `id` is `pin-<number>`."""
    return _entry(PIN, {"id": id, "first": first_uid, "last": last_uid, "name": name, "kind": kind, "level": level, "max_level": max_level})


def unpin_entry(id: str, *, uid: str | None = None) -> TapeEntry:
    """Return the entry that takes a pin away: by its `uid`, which stays the same whatever is merged, else by its id alone."""
    return _entry(UNPIN, {"id": id} if uid is None else {"id": id, "uid": uid})


def lock_entry(uid: str) -> TapeEntry:
    """Return the entry that keeps what is shown of an entry of the tape as it is."""
    return _entry(LOCK, {"target": uid})


def unlock_entry(uid: str) -> TapeEntry:
    """Return the entry that takes a lock away."""
    return _entry(UNLOCK, {"target": uid})


def outcome_entry(
    *, first_uid: str, last_uid: str, entries: int, level: int, regime: str, rung: str, shape: str, outcome: str, model: str, children: Sequence[str] = (), is_stuck: bool = False
) -> TapeEntry:
    """Return the entry of what a rung came to for a span, which for a merge is that of its `children`; the last one says `is_stuck`."""
    payload = {
        "span": {"first": first_uid, "last": last_uid, "entries": entries},
        "children": list(children),
        "level": level,
        "regime": regime,
        "rung": rung,
        "shape": shape,
        "outcome": outcome,
        "model": model,
        "stuck": is_stuck,
    }
    return _entry(OUTCOME, payload)


def cleared_entry(first_uid: str, level: int) -> TapeEntry:
    """Return the entry that lifts what failed at a level for the span that begins with an entry of the tape."""
    return _entry(CLEARED, {"first": first_uid, "level": level})


def forgotten_entry(node_uid: str, reason: str) -> TapeEntry:
    """Return the entry that takes a summary away, and with it those it is part of."""
    return _entry(FORGOTTEN, {"node": node_uid, "reason": reason})


def calibration_entry(factor: float, epoch: str) -> TapeEntry:
    """Return the entry of a calibration: how many tokens a provider counts for one of ours, under the prices of an epoch."""
    return _entry(CALIBRATION, {"factor": factor, "epoch": epoch})


def _entry(kind: str, payload: Mapping[str, object]) -> TapeEntry:
    return TapeEntry(0, kind, freeze_dict(payload))
