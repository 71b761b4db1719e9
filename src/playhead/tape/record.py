"""What one call of a model leaves on a tape: its entries, in the order in which they are read back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from playhead.entry.entry import ANCHOR, EVENT, TapeEntry, event_name
from playhead.entry.frozen import freeze_dict
from playhead.entry.message import Message
from playhead.entry.payload import message_to_entries
from playhead.errors import InvalidInput
from playhead.store.protocol import IDEMPOTENCY_KEY
from playhead.view.pieces import BOOTSTRAP


def chat_entries(
    *,
    run_id: str,
    system_prompt: str | None = None,
    context_error: Exception | None = None,
    new_messages: Iterable[Message | TapeEntry] = (),
    tool_calls: Iterable[Mapping[str, object]] = (),
    tool_results: Iterable[object] | None = None,
    error: Exception | None = None,
    response_text: str | None = None,
    usage: Mapping[str, object] | None = None,
    provider: str | None = None,
    model: str | None = None,
    status: str | None = None,
) -> tuple[TapeEntry, ...]:
    """Return the entries of one model call, all with the same `run_id`.

    In this order: system prompt, context error, new messages, tool calls, tool results, error (where it is not the
    context error), the answer, and an event `run` with status (by default "error" or "ok"), usage, provider and model.
    """
    calls, failed = list(tool_calls), error or context_error
    entries: list[TapeEntry] = []
    if system_prompt:
        entries.append(TapeEntry.system(system_prompt))
    if context_error is not None:
        entries.append(TapeEntry.error(context_error))
    for item in new_messages:
        entries.extend((item,) if isinstance(item, TapeEntry) else message_to_entries(item))
    if calls:
        entries.append(TapeEntry.tool_call(calls))
    if tool_results is not None:
        entries.append(TapeEntry.tool_result(tool_results))
    if error is not None and error is not context_error:
        entries.append(TapeEntry.error(error))
    if response_text is not None:
        entries.append(TapeEntry.message({"role": "assistant", "content": response_text}))
    facts = {"status": status or ("ok" if failed is None else "error"), "usage": usage, "provider": provider, "model": model}
    entries.append(TapeEntry.event("run", {k: v for k, v in facts.items() if v is not None}))
    return tuple(replace(e, meta=freeze_dict({**e.meta, "run_id": run_id}, path="meta")) for e in entries)


def entries_of(item: Message | TapeEntry, meta: Mapping[str, object]) -> tuple[TapeEntry, ...]:
    """Return the entries an item is written as. Raises InvalidInput for anything but a Message or an entry."""
    if isinstance(item, TapeEntry):
        return (replace(item, meta=freeze_dict({**item.meta, **meta}, path="meta")) if meta else item,)
    if not isinstance(item, Message):
        raise InvalidInput(f"A tape keeps messages and entries, not {type(item).__name__}; wrap a mapping with TapeEntry.message(...) or TapeEntry.event(...).")
    entries = message_to_entries(item, **meta)
    if len(entries) > 1 and IDEMPOTENCY_KEY in meta:
        return tuple(replace(e, meta=freeze_dict({**e.meta, IDEMPOTENCY_KEY: f"{meta[IDEMPOTENCY_KEY]}:{i}"}, path="meta")) for i, e in enumerate(entries))
    return entries


def is_bootstrap(entries: Sequence[TapeEntry]) -> bool:
    """Return whether entries are the handoff that a tape begins with, `session/start`: the anchor, and the event that tells of it."""
    if [entry.kind for entry in entries] != [ANCHOR, EVENT] or event_name(entries[0]) != BOOTSTRAP:
        return False
    told = entries[1].payload.get("data")
    return isinstance(told, Mapping) and told.get("name") == BOOTSTRAP


def handoff_entries(name: str, state: Mapping[str, object] | None, meta: Mapping[str, object]) -> tuple[TapeEntry, TapeEntry]:
    """Return the two entries of a handoff: the anchor, and the event that tells of it."""
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"An anchor's name is a non-empty text, not {name!r}.")
    if state is not None and not isinstance(state, Mapping):
        raise InvalidInput(f"An anchor's state is a mapping such as {{'summary': ...}}, not {type(state).__name__}.")
    beside = {**meta, IDEMPOTENCY_KEY: f"{meta[IDEMPOTENCY_KEY]}:handoff"} if IDEMPOTENCY_KEY in meta else meta
    return TapeEntry.anchor(name, state, **meta), TapeEntry.event("handoff", {"name": name, "state": state or {}}, **beside)
