"""Whether a store is well: after a failure of unknown outcome it is not, until it is opened anew."""

from __future__ import annotations

from dataclasses import dataclass

from playhead.errors import AppendOutcomeUnknown


@dataclass(slots=True)
class Health:
    """What is wrong with a store until it is opened anew, None while it is well."""

    doubt: str | None = None

    def check(self) -> None:
        """Raise AppendOutcomeUnknown while there is a doubt."""
        if self.doubt is not None:
            raise AppendOutcomeUnknown(f"{self.doubt}; close the store, open it again, and ask by idempotency key what was kept.")
