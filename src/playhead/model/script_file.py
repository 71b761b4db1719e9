"""Scripts in files: the turns of a ScriptedModel as JSON, one list or one turn a line; docs/models.md shows the form."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playhead.entry import codec
from playhead.entry.frozen import freeze_dict
from playhead.entry.message import Part, Thinking, ToolCall
from playhead.entry.payload import part_from_json
from playhead.errors import BadReply, ContextLimitExceeded, FileMissing, InvalidInput, ModelRefused, ModelRejected, ModelUnavailable, UnreadableFile
from playhead.model.protocol import CallReady, Usage
from playhead.model.scripted import Piece, ScriptedModel, Turn

_ERRORS = ("unavailable", "context_limit", "rejected", "refused", "bad_reply")


def load_script(path: str | Path, *, context_limit: int | None = None) -> ScriptedModel:
    """Return the model that follows the script in a file; raises FileMissing, and UnreadableFile with its line."""
    name = f"scripted:{path}"
    turns = tuple(_turn(value, model=name, path=str(path), line=line) for line, value in _values(Path(path)))
    return ScriptedModel(turns, name=name, context_limit=context_limit)


def _values(path: Path) -> list[tuple[int, Any]]:
    """Return the turns as JSON values, each with the line it stands in; of a list all stand in line 1."""
    try:
        content = path.read_text(encoding="utf-8")
    except OSError as exc:
        raise FileMissing(str(path), why=(exc.strerror or "it cannot be read").lower()) from exc
    except UnicodeDecodeError as exc:
        raise UnreadableFile(str(path), "a script is JSON in UTF-8") from exc
    if content.lstrip().startswith("["):
        try:
            return [(1, value) for value in codec.decode(content)]
        except ValueError:
            pass  # a list a line, perhaps
    return [(n, _decoded(text, path=path, line=n)) for n, text in enumerate(content.splitlines(), 1) if text.strip()]


def _decoded(text: str, *, path: Path, line: int) -> Any:
    try:
        return codec.decode(text)
    except ValueError as exc:
        raise UnreadableFile(str(path), f"line {line} is no JSON: {exc}; a script is one list of turns, or one turn a line", line=line) from exc


def _turn(value: object, *, model: str, path: str, line: int) -> Turn:
    try:
        return [_piece(v, model=model) for v in value] if isinstance(value, list) else _piece(value, model=model)
    except (InvalidInput, TypeError) as exc:
        raise UnreadableFile(path, f"line {line}: {getattr(exc, 'message', exc)}", line=line) from exc


def _piece(value: object, *, model: str) -> Piece:
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        raise InvalidInput(f"A piece of a turn is a text or an object, not {type(value).__name__}.")
    match value:
        case {"call": str(name)}:
            return _call(name, value)
        case {"reasoning": str(text)}:
            return Thinking(text=text)
        case {"error": str(kind)}:
            return _error(kind, value, model=model)
        case {"usage": Mapping() as numbers}:
            return Usage(**numbers)
        case {"type": str()}:
            return _part(value)
    raise InvalidInput(f"A piece of a turn has 'call', 'reasoning', 'error', 'usage' or 'type', and this one only {', '.join(map(repr, value)) or 'nothing'}.")


def _call(name: str, value: Mapping[str, Any]) -> ToolCall | CallReady:
    arguments = value.get("arguments", {})
    if isinstance(arguments, str):
        raw = ToolCall(id=str(value.get("id", "")), name=name, arguments={"_unparsed": arguments})
        return CallReady(call=raw, problem="The arguments are no JSON object. Call again with arguments that are one.")
    return ToolCall(id=str(value.get("id", "")), name=name, arguments=freeze_dict(arguments, path="arguments"))


def _part(value: Mapping[str, Any]) -> Part:
    return part_from_json(value)


def _error(kind: str, value: Mapping[str, Any], *, model: str) -> Exception:
    message = str(value.get("message", f"The script says: {kind}."))
    match kind:
        case "unavailable":
            return ModelUnavailable(message, model=model, retry_after=value.get("retry_after"))
        case "context_limit":
            return ContextLimitExceeded(message, model=model, limit=value.get("limit"), needed=value.get("needed"))
        case "rejected":
            return ModelRejected(message, model=model)
        case "refused":
            return ModelRefused(message, model=model)
        case "bad_reply":
            return BadReply(message, model=model)
    raise InvalidInput(f"An error of a script is one of {', '.join(_ERRORS)}, not {kind!r}.")
