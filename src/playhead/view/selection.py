"""Running a selector: what it gets, what it may return, and what became of every entry it was given."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from playhead.entry.entry import AMEND, MESSAGE, TOOL_CALL, TOOL_RESULT, TapeEntry
from playhead.entry.message import Message
from playhead.entry.payload import message_from_payload, results_from_payload, turn_from_payload
from playhead.errors import PlayheadError, SelectorError
from playhead.view.amends import Amends
from playhead.view.context import Picked, Select, TapeContext, pipe_of
from playhead.view.pairing import Built, Pairing
from playhead.view.pieces import Piece, body_of, message_piece, priced, read_piece
from playhead.view.projection import MINIMAL, Projection
from playhead.view.tokens import Counter, default_counter
from playhead.view.units import Hidden

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator

_running: ContextVar[tuple[Select, ...]] = ContextVar("playhead_running_selectors", default=())


def visible(entries: Iterable[TapeEntry]) -> tuple[TapeEntry, ...]:
    """Return the entries a selector may see: those whose meta `context` is not False."""
    return tuple(e for e in entries if e.meta.get("context") is not False)


def build_messages(entries: Iterable[TapeEntry], context: TapeContext) -> Any:
    """Return the messages of entries as a context reads them: a list, or an awaitable of one where its selector is async.

    Entries that others among them change or remove read as these say. Inside a selector pass a fresh `default_tape_context()`;
    passing the running one on raises SelectorError.
    """
    whole = tuple(entries)
    seen = visible(Amends.among(whole).applied(whole, end=whole[-1].id if whole else 0, counter=default_counter())[0])
    select = pipe_of(context) or context.select
    if select is None:
        return MINIMAL(seen)
    picked = run_selector(select, seen, context)
    return _awaited(picked, select) if inspect.isawaitable(picked) else [_as_message(p) for p in listed(picked, select)]


async def _awaited(picked: Awaitable[Any], select: Select) -> list[Any]:
    return [_as_message(p) for p in listed(await picked, select)]


def _as_message(item: Any) -> Any:
    return item if isinstance(item, Message) or not isinstance(item, Mapping) else message_from_payload(item) or item


def run_selector(select: Select, entries: Sequence[TapeEntry], context: TapeContext) -> Picked | Awaitable[Picked]:
    """Call a selector on the entries of a view; what it raises becomes a SelectorError with its name."""
    if select in _running.get():
        raise SelectorError(selector_name(select), "calls build_messages with the context it runs in; pass a fresh default_tape_context() instead")
    if not callable(select):
        raise SelectorError(selector_name(select), "is neither a function nor a ready-made selector")
    with _naming(select):
        picked: Picked | Awaitable[Picked] = select(entries, context)
    return picked


async def pick(select: Select, entries: Sequence[TapeEntry], context: TapeContext) -> list[object]:
    """Run a selector, sync or async, and return what it picked. Raises SelectorError with its name."""
    picked = run_selector(select, entries, context)
    if inspect.isawaitable(picked):
        with _naming(select):
            picked = await picked
    return listed(picked, select)


def listed(picked: object, select: Select) -> list[object]:
    """Return what a selector picked as a list. Raises SelectorError where it is none."""
    if isinstance(picked, (str, bytes, Mapping)) or not isinstance(picked, Iterable):
        raise SelectorError(selector_name(select), f"returned {type(picked).__name__}, not a list of messages")
    with _naming(select):
        return list(picked)


@contextmanager
def _naming(select: Select) -> Iterator[None]:
    token = _running.set((*_running.get(), select))
    try:
        yield
    except PlayheadError:
        raise
    except Exception as exc:
        raise SelectorError(selector_name(select), f"failed with {type(exc).__name__}: {exc}") from exc
    finally:
        _running.reset(token)


def selector_name(select: Select) -> str:
    """Return what a selector is called in reasons and errors."""
    if isinstance(select, Projection):
        return select.name
    name = getattr(select, "__qualname__", None) or type(select).__qualname__
    return str(name).rsplit("<locals>.", 1)[-1]


def selected_units(picked: Sequence[object], entries: Sequence[TapeEntry], *, selector: str, counter: Counter) -> Built:
    """Return the units of what a selector picked from `entries`; entries it left out are hidden, with its name.

    A Message or a mapping in chat form is a message; one of the tape's own payloads stands for its entry; any other
    mapping is left out with that reason.
    """
    by_payload = {id(e.payload): e for e in entries}
    by_uid = {e.uid: e for e in entries if e.uid}
    pairing = Pairing(counter=counter)
    used: set[int] = set()
    for index, item in enumerate(picked):
        entry, piece = _picked(item, by_payload, by_uid, index, counter)
        more = () if entry is None else _joined(item, entry, by_uid)
        used.update(e.id for e in (entry, *more) if e)
        if entry is not None and entry.kind == MESSAGE and not more and not piece.results:
            piece = replace(piece, body=body_of(entry))
        pairing.add(piece, id=entry.id if entry else 0, uid=entry.uid if entry else "", kind=entry.kind if entry else "selected", more=more)
    built = pairing.built(not_shown=_results_on_tape(entries, pairing.unanswered, counter), origin=selector)
    left = (Hidden(id=e.id, kind=e.kind, reason=f"left out by selector {selector}") for e in entries if e.id not in used)
    return Built(units=built.units, hidden=tuple(sorted((*built.hidden, *left), key=lambda h: h.id)))


def _joined(item: object, entry: TapeEntry, by_uid: Mapping[str, TapeEntry]) -> tuple[TapeEntry, ...]:
    """Return the entries behind the first that a message was joined from, such as the shards of one body."""
    further = item.sources[1:] if isinstance(item, Message) and not item.calls and not item.results else ()
    found: list[TapeEntry] = []
    for other in (by_uid[uid] for uid in further if uid in by_uid):
        if other.kind != AMEND and other.id > (found or [entry])[-1].id:
            found.append(other)
    return tuple(found)


def _picked(item: object, by_payload: Mapping[int, TapeEntry], by_uid: Mapping[str, TapeEntry], index: int, counter: Counter) -> tuple[TapeEntry | None, Piece]:
    if isinstance(item, Message):
        return by_uid.get(item.sources[0]) if item.sources else None, priced(message_piece(item, salt=f"selected{index}"), counter=counter)
    if not isinstance(item, Mapping):
        return None, Piece(hidden=f"the selector returned {type(item).__name__}, which is no message")
    entry = by_payload.get(id(item))
    if entry is not None and entry.kind in (TOOL_CALL, TOOL_RESULT):
        return entry, read_piece(entry, counter=counter)
    return entry, priced(_mapping_piece(item, index), counter=counter)


def _mapping_piece(item: Mapping[str, Any], index: int) -> Piece:
    if "role" in item:
        return message_piece(message_from_payload(item), salt=f"selected{index}")
    if item.get("calls"):
        return message_piece(turn_from_payload(item), salt=f"selected{index}")
    results = results_from_payload(item)
    return Piece(results=results) if results else Piece(hidden="the selector returned a mapping that is no message")


def _results_on_tape(entries: Iterable[TapeEntry], calls: frozenset[str], counter: Counter) -> dict[str, tuple[int, int]]:
    """Return the entry and the price of every result among the entries that answers one of the calls."""
    if not calls:
        return {}
    answering = (e for e in entries if e.kind in (TOOL_RESULT, MESSAGE))
    pieces = ((e.id, read_piece(e, counter=counter)) for e in answering if _answers(e, calls))
    return {r.call_id: (id, tokens) for id, piece in pieces for r, tokens in zip(piece.results, piece.result_tokens, strict=True) if r.call_id in calls}


def _answers(entry: TapeEntry, calls: frozenset[str]) -> bool:
    named = entry.payload.get("call_ids")
    return not isinstance(named, list) or any(c in calls for c in named if isinstance(c, str))
