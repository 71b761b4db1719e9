"""Commands: prompts that start with a comma run a tool themselves, without a model."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import Any

from playhead import clock
from playhead.agent.answers import result_of
from playhead.agent.media import without_media
from playhead.agent.toolbox import Toolbox
from playhead.agent.tools import Tool, ToolContext
from playhead.entry import codec
from playhead.entry.entry import TapeEntry, format_date
from playhead.entry.frozen import freeze
from playhead.entry.message import Media, Message, Part, ProviderItem, Text, ToolCall
from playhead.entry.payload import part_to_json
from playhead.errors import InvalidInput, NotFound, PlayheadError

MARK = ","
COMMAND, COMMAND_START = "command", "command.start"
SHELLS = ("bash", "shell")
"""The tools that take a line which names no tool, where an agent has one of them."""

_NAMED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


def is_command(prompt: str) -> bool:
    """Return whether a prompt is a command."""
    return prompt.lstrip().startswith(MARK)


async def command(raw: str, *, toolbox: Toolbox, context: ToolContext) -> TapeEntry:
    """Run a command and return the event that records it: `,tape.search vpn limit=5` runs the tool with these arguments.

    Words without a name are, joined, the first argument that is not named. A line that names no tool is given as it is to a tool
    called `bash` or `shell`, where there is one. A failure is recorded too, as status "error".
    """
    began = clock.now()
    line = raw.strip().removeprefix(MARK).strip()
    name, status = line.split(maxsplit=1)[0] if line else "", "ok"
    try:
        tool, arguments = _meant(line, toolbox)
        name = tool.name
        value = await tool.run(arguments, context=replace(context, name=name))
        result = result_of(value, call=ToolCall(id="", name=name))
        output, status = await _words(result.content), "error" if result.is_error else "ok"
    except PlayheadError as exc:
        output, status = _told(exc), "error"
    elapsed_ms = round((clock.now() - began).total_seconds() * 1000)
    return _recorded(raw, context=context, name=name, status=status, elapsed_ms=elapsed_ms, output=output)


def begun(raw: str, *, context: ToolContext) -> TapeEntry:
    """Return the event that says that a command begins, so that one whose process dies is not forgotten."""
    return TapeEntry.event(COMMAND_START, {"raw": raw}, **({"run_id": context.run_id} if context.run_id else {}))


def cut_short(raw: str, *, context: ToolContext) -> TapeEntry:
    """Return the event that records a command which was cancelled while its tool ran."""
    line = raw.strip().removeprefix(MARK).strip()
    name = line.split(maxsplit=1)[0] if line else ""
    return _recorded(raw, context=context, name=name, status="cancelled", output="The command was cancelled; what its tool had begun may have happened.")


def _recorded(raw: str, *, context: ToolContext, **facts: Any) -> TapeEntry:
    told = {"raw": raw, **facts, "date": format_date(clock.now())}
    return TapeEntry.event(COMMAND, told, **({"run_id": context.run_id} if context.run_id else {}))


def _meant(line: str, toolbox: Toolbox) -> tuple[Tool, dict[str, Any]]:
    """Return the tool a line means, and its arguments as written."""
    if not line:
        raise InvalidInput(f"A command names a tool, such as {MARK}tape.info; there are {', '.join(toolbox) or 'none'}.")
    name, *rest = line.split(maxsplit=1)
    try:
        tool = toolbox.find(name)
    except NotFound:
        shell = next((toolbox[name] for name in SHELLS if name in toolbox), None)
        if shell is None or not shell.signature.parameters:
            raise
        return shell, {shell.signature.parameters[0].name: line}
    return tool, _arguments(" ".join(rest), tool)


def _arguments(rest: str, tool: Tool) -> dict[str, Any]:
    try:
        words = shlex.split(rest)
    except ValueError as exc:
        raise InvalidInput(f"The arguments of '{tool.name}' cannot be read ({exc}); close the quotes, as in name='some words'.") from exc
    matches = [_NAMED.fullmatch(word) for word in words]
    named = {match[1]: match[2] for match in matches if match}
    bare = " ".join(word for word, match in zip(words, matches, strict=True) if not match)
    if not bare:
        return named
    free = next((p.name for p in tool.signature.parameters if p.name not in named), None)
    if free is None:
        raise InvalidInput(f"Tool '{tool.name}' has no argument left for '{bare}'; name the arguments, as in name='some words'.")
    return {**named, free: bare}


async def _words(content: str | tuple[Text | Media | ProviderItem, ...]) -> str:
    """Return an answer as words; of media, what they are and how to know them again."""
    if isinstance(content, str):
        return content
    recorded = await without_media(Message(role="user", content=content), blobs=None)
    return "\n".join(map(_word, recorded.message.parts))


def _word(part: Part) -> str:
    if isinstance(part, Text):
        return part.text
    return f"[{part.kind} {part.url or part.ref}]" if isinstance(part, Media) else codec.encode(part_to_json(part)).decode()


def _told(error: PlayheadError) -> str:
    return f"{error} {codec.encode(freeze(error.details)).decode()}" if error.details else str(error)
