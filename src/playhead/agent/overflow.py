"""A view that starts anew in the middle of a turn: what the turn has done so far is taken along, so that nothing is done again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import anyio

from playhead import clock
from playhead.entry.entry import ANCHOR, MESSAGE, TOOL_CALL, TOOL_RESULT, TapeEntry
from playhead.entry.frozen import freeze_dict, thaw
from playhead.tape.record import handoff_entries
from playhead.tape.tape import Tape
from playhead.view.context import LAST_ANCHOR

CONTEXT_OVERFLOW = "auto_handoff/context_overflow"
"""The anchor that a run leaves where the model's context was too short."""

KEPT = 4_000
"""How many characters of each tool result of the turn go along, half from its front and half from its end."""


def is_shortened_by_handoff(tape: Tape) -> bool:
    """Return whether a handoff makes the view of a tape shorter: one that reads behind its newest anchor."""
    return tape.context.anchor is LAST_ANCHOR


async def hand_off(tape: Tape, error: Exception, *, after: int, run_id: str) -> Mapping[str, str]:
    """Leave an anchor, and behind it this turn's messages and finished tool work; return the uid of each by the one that it had.

    The turn is what stands behind the entry `after`, or behind an anchor that the turn itself has left; its state goes along. Long
    results go along shortened; whole they stand where they were.
    """
    anchors = await tape.query().kinds(ANCHOR).after(after).newest_first().limit(1).all()
    state: dict[str, Any] = {"reason": "context_length_exceeded", "error": str(error)}
    for anchor in anchors:
        after = anchor.id
        if anchor.payload.get("state"):
            state["before"] = {str(anchor.payload.get("name")): anchor.payload["state"]}
    turn = [entry async for entry in tape.query().kinds(MESSAGE, TOOL_CALL, TOOL_RESULT).after(after)]
    copies = {entry.uid: _again(tape, _shortened_results(entry)) for entry in _whole_rounds(turn) if entry.meta.get("partial") is not True}
    await tape.append_many([*handoff_entries(CONTEXT_OVERFLOW, state, {"run_id": run_id}), *copies.values()])
    return {uid: copy.uid for uid, copy in copies.items()}


async def rejoin(tape: Tape, tool_round: Sequence[TapeEntry], *, asked: Sequence[TapeEntry] = ()) -> None:
    """Say a tool round again where an anchor has come between its calls and its results, as a handoff in it leaves one.

    Otherwise the view, which starts behind the anchor, would show none of what the tools beside it did. Where the anchor says nothing
    of what is being done, what was asked in this turn is said again, too.
    """
    if not is_shortened_by_handoff(tape):
        return
    with anyio.CancelScope(shield=True):
        anchors = await tape.query().kinds(ANCHOR).after(tool_round[0].id).newest_first().limit(1).all()
        if anchors:
            again = tool_round if anchors[0].payload.get("state") else [*asked, *tool_round]
            await tape.append_many([_again(tape, entry) for entry in again])


def _whole_rounds(turn: Iterable[TapeEntry]) -> Iterable[TapeEntry]:
    """Leave out results whose call does not go along."""
    called: set[object] = set()
    for entry in turn:
        if entry.kind == TOOL_CALL:
            called |= {call.get("id") for call in entry.payload.get("calls", ()) if isinstance(call, Mapping)}
        if entry.kind != TOOL_RESULT or called.issuperset(entry.payload.get("call_ids", ())):
            yield entry


def _again(tape: Tape, entry: TapeEntry) -> TapeEntry:
    meta = {key: value for key, value in entry.meta.items() if key not in ("uid", "idempotency_key")}
    return TapeEntry(0, entry.kind, entry.payload, freeze_dict({**meta, "uid": clock.new_uid(), "origin": {"tape": tape.name, "id": entry.id}}, path="meta"), entry.date)


def _shortened_results(entry: TapeEntry) -> TapeEntry:
    if entry.kind != TOOL_RESULT:
        return entry
    payload = thaw(entry.payload)
    payload["results"] = [_shortened(result) for result in payload.get("results", [])]
    return TapeEntry(entry.id, entry.kind, freeze_dict(payload), entry.meta, entry.date)


def _shortened(result: Any) -> Any:
    if isinstance(result, str) and len(result) > KEPT:
        left_out = len(result) - KEPT
        return f"{result[: KEPT // 2]}\n[... {left_out:,} characters left out ...]\n{result[-(KEPT // 2) :]}"
    if isinstance(result, list):
        return [{**part, "text": _shortened(part["text"])} if isinstance(part, Mapping) and isinstance(part.get("text"), str) else part for part in result]
    return result
