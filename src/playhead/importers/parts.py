"""Lines of a store's own file whose payload is kept in parts: the parts are looked for beside the file."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from playhead.entry import codec
from playhead.errors import BlobNotFound, StoreDamaged
from playhead.importers.lines import Fault
from playhead.store.blobs import hex_of, verified
from playhead.store.parting import joined, whole

MEMBER = "~p"
"""The field that says where values of a payload belong that are kept as blobs."""

_BLOBS = Path(".playhead", "blobs")
_ABOVE = 3
"""How far above a file the directory of its store is at most: that of a branch's earlier generation is deepest."""


def with_parts(value: Any, *, path: str) -> Any:
    """Return a line's value with its payload whole, a Fault where a part of it is not there or not as it was written; any other value as it is."""
    if not isinstance(value, Mapping) or MEMBER not in value:
        return value
    try:
        body = joined(codec.encode(value["payload"]), codec.encode(value[MEMBER]))
        return {**{key: field for key, field in value.items() if key != MEMBER}, "payload": whole(body, partial(_blob, path))}
    except (BlobNotFound, StoreDamaged) as exc:
        return Fault(f"a part of its payload is a blob that is not beside the file, or not as it was written: {exc.details.get('digest')}")
    except (ValueError, KeyError, RecursionError) as exc:
        return Fault(f"it does not say where the parts of its payload belong ({exc!r})")


def _blob(path: str, digest: str) -> bytes:
    """Return a blob of the store that a file is in. Raises BlobNotFound, StoreDamaged."""
    digits = hex_of(digest)
    for directory in Path(path).absolute().parents[:_ABOVE]:
        with suppress(FileNotFoundError, NotADirectoryError):
            return verified((directory / _BLOBS / digits[:2] / digits).read_bytes(), digest, path=path)
    raise BlobNotFound(digest)
