"""Where a PostgreSQL store is, and how it is spoken to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from playhead.errors import InvalidInput, MissingExtra
from playhead.store.parting import INLINE
from playhead.store.rows.connection import Durability, SearchBy

_PASSWORDS = ("password", "passfile", "sslpassword")
_LEAST_PATIENCE = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A database, the schema and tenant in it, how safe an acknowledged append must be, and for how many seconds it is tried.

    `label` names it without a password, `inline_limit` is how many bytes of JSON a payload may have that is kept in one piece.
    """

    conninfo: str = field(repr=False)
    label: str
    schema: str
    tenant: str
    durability: Durability
    timeout: float
    read_only: bool
    search: SearchBy = "index"
    inline_limit: int | None = INLINE

    @property
    def patience(self) -> float:
        """For how many seconds nothing may come from a server that was asked something."""
        return max(_LEAST_PATIENCE, 2 * self.timeout)


def label_of(conninfo: object) -> str:
    """Return what a database is called in messages. Raises InvalidInput where it is not named, MissingExtra without psycopg."""
    if not isinstance(conninfo, str) or not conninfo:
        raise InvalidInput(f"A PostgreSQL store is named by a text such as 'postgresql://user@host/database', not by {conninfo!r}.")
    psycopg = driver()
    try:
        words = psycopg.conninfo.conninfo_to_dict(conninfo)
    except psycopg.Error as exc:
        why = str(exc).strip() if "option" in str(exc) or "parameter" in str(exc) else "what was given cannot be read"  # else it may quote a password
        raise InvalidInput(f"A PostgreSQL store is named as in 'postgresql://user@host:5432/database' or 'host=... dbname=...': {why}.") from None
    shown = {word: value for word, value in words.items() if word not in _PASSWORDS}
    host, port = shown.get("host") or shown.get("hostaddr") or "", shown.get("port") or ""
    user = f"{shown['user']}@" if shown.get("user") else ""
    return f"postgresql://{user}{host}{f':{port}' if port else ''}/{shown.get('dbname') or ''}"


def driver() -> Any:
    """Return the package that speaks to PostgreSQL. Raises MissingExtra where it is not installed."""
    try:
        import psycopg  # noqa: PLC0415 - an optional package
    except ImportError as exc:
        raise MissingExtra("postgres", "A store in PostgreSQL") from exc
    return psycopg
