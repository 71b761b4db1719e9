"""What a command says of damage: what was lost, and the whole command that keeps the rest, which depends on the store."""

from __future__ import annotations

import re
from argparse import Namespace
from typing import Any

from playhead.cli.hints import command
from playhead.cli.store_choice import SERVERS, named_url
from playhead.store.condition.loss import Loss

_SALVAGE = re.compile(r"playhead\.salvage\((?:'[^']*'|\"[^\"]*\")?\)(?:, of a PostgreSQL store with playhead\.export_store\(\))?|playhead\.export_store\(\)")
_AROUND = re.compile(r"read what stands around (?:it|the gap) with before\(\d+\) and after\(\d+\)")
_AGAIN = re.compile(r"restore a backup, or put the same bytes again with put_blob\(\)|put the same bytes again to mend it, or restore a backup")
_EXPORT = re.compile(r"`playhead export --to DIR`")


def rescue(args: Namespace) -> str:
    """Return the command that keeps what can be read of a command's store, in backticks: a server's tapes are exported, any other store is salvaged."""
    read = _read(args)
    return _export(read) if named_url(read).startswith(SERVERS) else command("salvage", Namespace(store=read.store))


def with_commands(message: str, args: Namespace) -> str:
    """Return what an error says of damage, with commands in place of what a program would do."""
    keep = f"keep what can be read with {rescue(args)}"
    message = _EXPORT.sub(lambda _: _export(_read(args)), _AGAIN.sub(lambda _: f"restore a backup, or {keep}", message))
    return _AROUND.sub(lambda _: keep, _SALVAGE.sub(lambda _: rescue(args), message))


def loss_facts(loss: Loss) -> dict[str, Any]:
    """Return a loss as JSON."""
    first, last = loss.ids or (None, None)
    return {"tape": loss.tape, "first": first, "last": last, "why": loss.why}


def loss_line(loss: Loss) -> str:
    """Return a loss as one says it."""
    return f"lost: {_where(loss)}{loss.why}"


def _where(loss: Loss) -> str:
    tape = "" if loss.tape is None else f"tape '{loss.tape}'"
    if loss.ids is None:
        return f"{tape}: " if tape else ""
    entries = f"entry {loss.ids[0]}" if loss.ids[0] == loss.ids[1] else f"entries {loss.ids[0]} to {loss.ids[1]}"
    return f"{tape or 'a tape'}, {entries}: "


def _read(args: Namespace) -> Namespace:
    """Return the arguments with the store that a command reads: that of --from, where it takes whole tapes from one, else that of --store."""
    source = getattr(args, "source", None) if getattr(args, "command", None) in {"export", "copy"} else None
    return Namespace(store=source or getattr(args, "store", None))


def _export(read: Namespace) -> str:
    return command("export", read, "--to", "exported")
