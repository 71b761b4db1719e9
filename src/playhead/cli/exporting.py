"""The command that exports: a tape as lines of JSON, as Markdown, or as a provider's body; whole tapes are another matter."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

from playhead.cli.files import replaced
from playhead.cli.markdown import entry_markdown, title
from playhead.cli.output import Output, counted
from playhead.cli.plain import plain, plain_json
from playhead.cli.store_choice import existing_tape, viewed_tape
from playhead.cli.transferring import export_tapes
from playhead.entry import codec
from playhead.entry.entry import ANCHOR
from playhead.entry.lines import dump_line, entry_to_json
from playhead.store.query import TapeQuery
from playhead.tape.tape import Tape
from playhead.view.bodies import messages
from playhead.view.projection import DEFAULT
from playhead.wire.providers import request_body

JSONL, MARKDOWN = "jsonl", "markdown"
SAID = replace(DEFAULT, name="export", shown=DEFAULT.shown - {ANCHOR})


async def export(args: Namespace, out: Output) -> int:
    """Write a tape, or the part of it that `--anchor` and `--at` read, in the form `--as` names; or whole tapes, where `--to` says where."""
    if args.target is not None:
        return await export_tapes(args, out)
    args = Namespace(**{**vars(args), "tape": args.tapes[0]})
    async with existing_tape(args) as tape:
        viewed = await viewed_tape(tape, args)
        if args.output not in {None, "-"}:
            return await _to_file(viewed, args, out)
        if out.as_json:
            return await _to_json(viewed, args, out)
        safe: Callable[[bytes], bytes] = _plain_text if args.form == MARKDOWN and out.is_terminal else plain_json if args.form != MARKDOWN else bytes
        async for chunk in _chunks(viewed, args):
            out.body(safe(chunk))
    return 0


async def _to_file(tape: Tape, args: Namespace, out: Output) -> int:
    size = 0
    with replaced(args.output) as file:
        async for chunk in _chunks(tape, args):
            file.write(chunk)
            size += len(chunk)
    if out.as_json:
        out.json({"tape": args.tape, "form": args.form, "file": args.output, "bytes": size})
    else:
        out.note(f"wrote {args.output}, {counted(size, 'byte')}")
    return 0


async def _to_json(tape: Tape, args: Namespace, out: Output) -> int:
    told = {"tape": args.tape, "form": args.form}
    if args.form == JSONL:
        await out.json_with_list(told, key="entries", items=(entry_to_json(e) async for e in await _entries(tape, args)))
    elif args.form == MARKDOWN:
        out.json({**told, "markdown": b"".join([chunk async for chunk in _chunks(tape, args)]).decode(errors="surrogatepass")})
    else:
        out.json({**told, "payload": await _payload(tape, args)})
    return 0


async def _chunks(tape: Tape, args: Namespace) -> AsyncIterator[bytes]:
    """Yield the export a piece at a time; only a provider's body is held as a whole."""
    if args.form == JSONL:
        async for entry in await _entries(tape, args):
            yield dump_line(entry)
    elif args.form == MARKDOWN:
        yield title(tape.name).encode()
        async for entry in await _entries(tape, args):
            yield entry_markdown(entry).encode(errors="backslashreplace")
    else:
        yield codec.encode(await _payload(tape, args)) + b"\n"


async def _entries(tape: Tape, args: Namespace) -> TapeQuery:
    query = tape.query()
    if args.anchor == "none":
        return query
    if args.anchor == "last":
        boundary = await tape.boundary()
        return query if boundary is None else query.after(boundary.id)
    return query.after_anchor(args.anchor)


async def _payload(tape: Tape, args: Namespace) -> dict[str, Any]:
    """Return the conversation as a provider's body: what was said, without the marks that anchors leave in a view."""
    said = tape.with_context(replace(tape.context, select=SAID))
    return request_body(args.form, tuple(messages(await said.read())), model=args.model)


def _plain_text(body: bytes) -> bytes:
    return plain(body.decode()).encode()
