"""The commands that write: append, handoff, reset."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Coroutine
from typing import Any

from playhead.cli.arguments import UsageError
from playhead.cli.hints import command
from playhead.cli.output import Output, counted
from playhead.cli.store_choice import existing_tape, written_tape
from playhead.entry import codec
from playhead.entry.entry import MESSAGE, TapeEntry
from playhead.entry.lines import entry_from_json, entry_to_json
from playhead.entry.message import Message, assistant, system, user
from playhead.entry.payload import message_from_payload
from playhead.errors import InvalidInput
from playhead.importers.repeats import repeats_in

STDIN = "-"
SPEAKERS = {"user": user, "assistant": assistant, "system": system}


def append(args: Namespace, out: Output) -> Coroutine[object, object, int]:
    """Add one message, event or entry to a tape."""
    return _append(_item(args), args, out)


async def _append(item: Message | TapeEntry, args: Namespace, out: Output) -> int:
    async with written_tape(args) as tape:
        entry = await tape.append(item, key=args.key)
    if out.as_json:
        out.json({"tape": args.tape, "entry": entry_to_json(entry)})
    else:
        out.write(f"entry {entry.id} of tape '{args.tape}'")
    return 0


def _item(args: Namespace) -> Message | TapeEntry:
    """Return what is to be appended: the one thing the arguments describe."""
    if args.entry is not None and args.event is not None:
        raise _misused("--event and --entry say two different things; give one of them")
    if args.text is not None and (args.entry is not None or args.event is not None):
        raise _misused("TEXT is a message; give it alone, without --event or --entry")
    if args.data is not None and args.event is None:
        raise _misused("--data goes with --event NAME")
    if args.role is not None and (args.entry is not None or args.event is not None):
        raise _misused("--role goes with TEXT")
    if args.entry is not None:
        return _sound(entry_from_json(_json(args.entry, "--entry")))
    if args.event is not None:
        return TapeEntry.event(_filled(args.event, "An event's name"), None if args.data is None else _json(args.data, "--data"))
    if args.text is None and sys.stdin is not None and sys.stdin.isatty():
        raise _misused("give TEXT, --event NAME or --entry JSON; TEXT - reads what you type")
    text = stdin_text().removesuffix("\n").removesuffix("\r") if args.text in {None, STDIN} else args.text
    return SPEAKERS[args.role or "user"](_filled(text, "What is said"))


def _sound(entry: TapeEntry) -> TapeEntry:
    """Return the entry. Raises InvalidInput for a message that says nothing, which no view could show."""
    if entry.kind == MESSAGE and (not {"role", "content"} <= set(entry.payload) or message_from_payload(entry.payload) is None):
        raise InvalidInput('The payload of a message has a role (system, user or assistant) and content, such as {"role": "user", "content": "Hello"}; nothing was appended.')
    return entry


def _misused(message: str) -> UsageError:
    return UsageError(message, command="playhead append")


def _filled(text: str, what: str) -> str:
    if not text:
        raise InvalidInput(f"{what} is empty; nothing was appended.")
    return text


def handoff(args: Namespace, out: Output) -> Coroutine[object, object, int]:
    """Leave an anchor, and with it what the next phase inherits."""
    state = None if args.state is None else _json(args.state, "--state")
    if state is not None and not isinstance(state, dict):
        raise InvalidInput(f'--state is a JSON object, not {type(state).__name__}; write it like \'{{"summary": "..."}}\'.')
    return _handoff(state, args, out)


async def _handoff(state: dict[str, object] | None, args: Namespace, out: Output) -> int:
    meta = {} if args.key is None else {"idempotency_key": args.key}
    async with written_tape(args) as tape:
        anchor, event = await tape.handoff(args.name, state, **meta)
    if out.as_json:
        out.json({"tape": args.tape, "anchor": entry_to_json(anchor), "event": entry_to_json(event)})
    else:
        out.write(f"anchor '{args.name}' is entry {anchor.id} of tape '{args.tape}'")
    return 0


async def reset(args: Namespace, out: Output) -> int:
    """Remove the entries of a tape; `--yes` says it is meant."""
    async with existing_tape(args) as tape:
        count = (await tape.head()).id
        if not args.yes:
            raise InvalidInput(f"This removes the {counted(count, 'entry')} of tape '{args.tape}': {command('reset', args, '--yes')} does it, with --archive DIR they are kept in a file.")
        done = await tape.reset(archive=args.archive or False)
    archive = done.removeprefix("Archived: ") if args.archive else None
    if out.as_json:
        out.json({"tape": args.tape, "removed": count, "archive": archive})
    else:
        out.write(f"removed {counted(count, 'entry')} of tape '{args.tape}'" + (f", archived in {archive}" if archive else ""))
    return 0


def _json(text: str, option: str) -> Any:
    body = stdin_text() if text == STDIN else text
    try:
        value = codec.decode(body)
    except RecursionError as exc:
        raise InvalidInput(f"{option} nests too deeply.") from exc
    except ValueError as exc:
        raise InvalidInput(f"{option} is no JSON: {exc}; quote it for the shell, like '{{\"a\": 1}}'.") from exc
    repeats = repeats_in(body.encode(errors="surrogatepass"))
    if repeats:
        raise InvalidInput(f"{option} has the key at {repeats[0].at} twice in one object; leave one of the two.")
    return value


def stdin_text() -> str:
    """Return all of standard input. Raises InvalidInput where it is closed or no UTF-8."""
    if sys.stdin is None:
        raise InvalidInput("Standard input is closed; there is nothing to read.")
    body = sys.stdin.buffer.read()
    try:
        return body.decode()
    except UnicodeDecodeError as exc:
        raise InvalidInput(f"Standard input is no UTF-8 text: byte {exc.start} is {body[exc.start]:#04x}; convert it first.") from exc
