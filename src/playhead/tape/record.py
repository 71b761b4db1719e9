"""What one call of a model leaves on a tape: its entries, in the order in which they are read back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from playhead.entry.entry import TapeEntry
from playhead.entry.frozen import freeze_dict
from playhead.entry.message import Message
from playhead.entry.payload import message_to_entries


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
) -> tuple[TapeEntry, ...]:
    """Return the entries of one model call, all with the same `run_id`.

    In this order: system prompt, context error, new messages, tool calls, tool results, error (where it is not the
    context error), the answer, and an event `run` with status, usage, provider and model.
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
    facts = {"status": "ok" if failed is None else "error", "usage": usage, "provider": provider, "model": model}
    entries.append(TapeEntry.event("run", {k: v for k, v in facts.items() if v is not None}))
    return tuple(replace(e, meta=freeze_dict({**e.meta, "run_id": run_id}, path="meta")) for e in entries)
