"""The manifest of an export: which tapes it has, each with its file's digest and how far it was read, and which blobs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playhead.entry import codec
from playhead.errors import FileMissing, InvalidInput, UnreadableFile
from playhead.store.blobs import PREFIX, Blob, is_digest
from playhead.store.condition.loss import Loss
from playhead.store.family import kin_of
from playhead.store.file.names import SUFFIX, stem_of
from playhead.store.protocol import Head

FILE = "manifest.json"
TAPES, BLOBS = "tapes", "blobs"
VERSION = 1
OPENING = b'{"playhead":"store"'
"""What a manifest begins with."""

_SHA = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """How far a consumer has read a branch (None: the tape itself), or the sidecar beside it."""

    label: str | None
    sidecar: str | None
    consumer: str
    head: Head


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """A tape of an export, with its branches and sidecars: how many entries its file holds, its size, and its SHA-256 in hex."""

    name: str
    entries: int
    size: int
    sha256: str
    cursors: tuple[Cursor, ...] = ()

    @property
    def file(self) -> str:
        """Where its file is, in the directory of the export."""
        return f"{TAPES}/{stem_of(self.name)}{SUFFIX}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What an export holds: tapes by name, blobs by digest; and what it could not be given of a damaged store."""

    tapes: Mapping[str, Exported]
    blobs: Mapping[str, Blob]
    lost: tuple[Loss, ...] = ()

    def dump(self) -> bytes:
        """Return it as JSON, a tape or blob a line; nothing is said of losses where there are none."""
        tapes = [codec.encode_sorted(_tape_said(self.tapes[name])) for name in sorted(self.tapes)]
        blobs = [codec.encode_sorted({"digest": blob.digest, "size": blob.size, "mime": blob.mime}) for _, blob in sorted(self.blobs.items())]
        lost = b',\n"lost":[%b]' % _listed([codec.encode_sorted(_loss_said(loss)) for loss in self.lost]) if self.lost else b""
        return b'%b,"version":%d,\n"tapes":[%b],\n"blobs":[%b]%b}\n' % (OPENING, VERSION, _listed(tapes), _listed(blobs), lost)


def blob_file(digest: str) -> str:
    """Return where a blob is, in the directory of an export."""
    name = digest.removeprefix(PREFIX)
    return f"{BLOBS}/{name[:2]}/{name}"


def check_regular(path: Path) -> None:
    """Raise UnreadableFile where something else than a file has a name, such as a pipe, which would be waited for."""
    if path.exists() and not path.is_file():
        raise UnreadableFile(str(path), "it is no regular file; export again, or copy the export without it")


def manifest_at(directory: Path) -> Manifest:
    """Return the manifest of an export. Raises FileMissing where there is none, UnreadableFile where it is no manifest of ours, or a newer one."""
    path = directory / FILE
    check_regular(path)
    try:
        body = path.read_bytes()
    except OSError as exc:
        why = "an export has one, which is written last, so this one was not finished, or is none" if directory.is_dir() else "no such directory"
        raise FileMissing(str(path), why) from exc
    try:
        said = codec.decode(body)
        if said["playhead"] != "store" or said["version"] > VERSION:
            raise UnreadableFile(str(path), "a newer version wrote it; upgrade playhead to read it" if said["playhead"] == "store" else "it is the manifest of something else")
        tapes = [_tape_in(tape) for tape in said["tapes"]]
        blobs = [_blob_in(blob) for blob in said["blobs"]]
        lost = tuple(_loss_in(loss) for loss in said.get("lost", ()))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, InvalidInput) as exc:
        raise UnreadableFile(str(path), f"it is no manifest of an export ({type(exc).__name__}: {exc})") from exc
    return Manifest(tapes={tape.name: tape for tape in tapes}, blobs={blob.digest: blob for blob in blobs}, lost=lost)


def _listed(lines: list[bytes]) -> bytes:
    return b"\n%b\n" % b",\n".join(lines) if lines else b""


def _tape_said(tape: Exported) -> dict[str, object]:
    cursors = [{"branch": cursor.label, "sidecar": cursor.sidecar, "consumer": cursor.consumer, "head": [*cursor.head]} for cursor in tape.cursors]
    return {"name": tape.name, "file": tape.file, "entries": tape.entries, "size": tape.size, "sha256": tape.sha256, "cursors": cursors}


def _tape_in(said: Mapping[str, Any]) -> Exported:
    cursors = tuple(Cursor(label=one["branch"], sidecar=one["sidecar"], consumer=one["consumer"], head=Head(*map(int, one["head"]))) for one in said["cursors"])
    tape = Exported(name=said["name"], entries=int(said["entries"]), size=int(said["size"]), sha256=said["sha256"], cursors=cursors)
    if not kin_of(tape.name).is_root or not _SHA.fullmatch(tape.sha256) or said["file"] != tape.file:
        raise ValueError(f"what it says of {tape.name!r} does not fit")
    return tape


def _blob_in(said: Mapping[str, Any]) -> Blob:
    if not is_digest(said["digest"]):
        raise ValueError(f"{said['digest']!r} is no digest")
    mime = said["mime"]
    return Blob(digest=said["digest"], size=int(said["size"]), mime=mime if isinstance(mime, str) else None)


def _loss_said(loss: Loss) -> dict[str, object]:
    first, last = loss.ids or (None, None)
    return {"tape": loss.tape, "first": first, "last": last, "why": loss.why}


def _loss_in(said: Mapping[str, Any]) -> Loss:
    tape = said["tape"]
    if tape is not None:
        kin_of(tape)
    ids = None if said["first"] is None else (int(said["first"]), int(said["last"]))
    return Loss(tape=tape, ids=ids, why=str(said["why"]))
