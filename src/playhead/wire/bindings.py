"""What binds thinking to the model that made it."""

from __future__ import annotations

import re

from playhead.entry.message import Thinking
from playhead.wire.encodable import is_encodable

_SNAPSHOT = re.compile(r"[-@](?:\d{8}|\d{4}-\d{2}-\d{2})$|-latest$")


def is_bound_to(thinking: Thinking, *, provider: str, model: str | None) -> bool:
    """Tell whether thinking may go to a provider's model: only to the very one that made it, word for word."""
    if model is None or thinking.model is None or thinking.provider != provider:
        return False
    return is_same_model(thinking.model, model) and all(map(is_encodable, (thinking.text, thinking.signature or "", thinking.redacted or "")))


def is_same_model(one: str, other: str) -> bool:
    """Tell whether two names are of one model; a name without date is the alias of its dated snapshots.

    Providers answer with the dated name where the alias was asked.
    """
    if one == other:
        return True
    stems = _SNAPSHOT.sub("", one), _SNAPSHOT.sub("", other)
    return stems[0] == stems[1] and (one == stems[0] or other == stems[1])
