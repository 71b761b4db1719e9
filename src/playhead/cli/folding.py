"""The command that folds: summaries that are due are written, each told on a line of its own."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter as Tally
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.text import Text

from playhead.cli.bar import LOOKS
from playhead.cli.fold_arguments import EXTRACTIVE
from playhead.cli.hints import command
from playhead.cli.layout import prose
from playhead.cli.output import Output, counted, listed
from playhead.cli.parser import CARRIED, MEMORY, SETTINGS
from playhead.cli.plain import one_line
from playhead.cli.steps import Step, Steps, WrittenSteps, nothing_due
from playhead.cli.store_choice import contextual_tape, existing_tape
from playhead.cli.strategy_choice import folding_of
from playhead.fold.choosing.quarantine import quarantined
from playhead.fold.forest import Outcome
from playhead.fold.ticker import Did, Waiting
from playhead.prompt.manager.manager import ContextManager
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.tape.tape import Tape

THINGS: dict[Did, str] = {"summary": "summary", "merge": "merge", "note": "fixed note"}
NAMED = 5
"""How many runs that cannot be summarised are named."""

WAITS = ("paused", "deferred", "lost")
"""How a tick ends that leaves what is due for later."""


@dataclass(slots=True)
class Done:
    """What the command did so far, and how it ended."""

    steps: list[Step] = field(default_factory=list)
    ended: str = "interrupted"
    why: str = ""
    stuck: tuple[Outcome, ...] = ()
    due: Waiting | None = None

    @property
    def wrote(self) -> list[Step]:
        """The steps that wrote a summary."""
        return [step for step in self.steps if step.node is not None]

    @property
    def failed(self) -> list[Step]:
        """The steps that came to nothing."""
        return [step for step in self.steps if step.ticked.did == "failed"]

    def take(self, step: Step) -> None:
        """Count a step; what waits ends the command, unless another step comes behind it."""
        self.steps.append(step)
        self.ended, self.why = (step.ticked.did, step.ticked.why) if step.ticked.did in WAITS else ("interrupted", "")


async def fold(args: Namespace, out: Output) -> int:
    """Write the summaries that are due, until none is or they must wait; `--once` writes one."""
    strategy = folding_of(args)
    done = Done()
    async with existing_tape(args) as tape:
        viewed = contextual_tape(tape, args)
        if args.dry_run:
            from playhead.cli.rehearsing import rehearse  # noqa: PLC0415 - only an estimate needs it

            return await rehearse(viewed, strategy, args, out)
        if args.retry:
            await _let_go(tape, args, out)
        try:
            await _written(viewed, strategy, args, out, done)
        finally:
            if out.as_json and (done.steps or done.due is not None):
                out.json(_json(done, args))
    if not out.as_json:
        _tell(done, strategy, args, out)
    return int(bool(done.failed or done.ended in WAITS))


async def _written(tape: Tape, strategy: AutobiographicalStrategy, args: Namespace, out: Output, done: Done) -> None:
    digits = len(str((await tape.head()).id))
    if args.summarizer != EXTRACTIVE and not out.as_json:
        out.note(f"asking {args.summarizer}; each summary is told when it is kept")
    async with WrittenSteps(tape, strategy) as steps:
        async for step in steps:
            done.take(step)
            if not out.as_json and (step.node is not None or step.ticked.did == "failed"):
                out.lines(*step_lines(step, digits=digits, width=out.width))
                out.flush()
            if args.once:
                break
        await _left(steps, done)
    if done.ended == "interrupted":
        done.ended = "once" if args.once and done.steps else "done"


async def _left(steps: Steps, done: Done) -> None:
    done.due = await steps.ticker.waiting()
    done.stuck = quarantined(done.due.forest)


def step_lines(step: Step, *, digits: int, width: int | None) -> list[Text]:
    """Return the lines that tell of a step; ids of entries have up to `digits` digits."""
    node, ticked = step.node, step.ticked
    if node is None:
        run = "" if step.failed is None else f" L{step.failed.level} of {entries_told(step.failed.first, step.failed.last)}"
        return list(prose(f"failed{run}: {ticked.why}", width=width, style="red"))
    entries = f"{node.first}-{node.last}"
    of = counted(len(node.children), "summary") if node.children else counted(node.units, "unit")
    left = f"{step.left:,} due" if step.left else "none due"
    noted = ", a fixed note" if ticked.did == "note" else ""
    line = Text.assemble((f"{node.id:<7}", LOOKS["summary"][1]), f" entries {entries:<{2 * digits + 1}}  {of:<12} {node.raw_tokens:>9,} → {step.tokens or 0:>5,} tokens  ", (left + noted, "dim"))
    return [line] if width is None or cell_len(line.plain) <= width else list(prose(line.plain, width=width))


def entries_told(first: int, last: int) -> str:
    """Return a run of entries in words."""
    return f"entry {first}" if first == last else f"entries {first}-{last}"


def counts_told(steps: list[Step]) -> str:
    """Return how many summaries of each sort were written: `12 summaries, 2 merges`."""
    tally = Tally(step.ticked.did for step in steps if step.node is not None)
    return listed([counted(tally[did], thing) for did, thing in THINGS.items() if tally[did]] or ["no summary"])


def _tell(done: Done, strategy: AutobiographicalStrategy, args: Namespace, out: Output) -> None:
    out.flush()
    if done.wrote:
        shown = command("compile", args, carries=CARRIED)
        out.note(f"wrote {counts_told(done.steps)} with {args.summarizer}; {command('tree', args, carries=MEMORY)} shows them, {shown} what a model should see")
    elif not done.failed and done.ended == "done":
        out.note(nothing_due(strategy, args))
    if done.ended in WAITS:
        out.warn(one_line(f"{done.ended}: {done.why.rstrip('.')}. {_advice(done, args)}"))
    if done.ended == "once" and done.due is not None and (left := len(done.due.chunks) + done.due.merges):
        out.note(f"{left:,} more {'is' if left == 1 else 'are'} due; the same command without --once writes them")
    if done.stuck and done.ended != "once":
        again = command("fold", args, "--summarizer", args.summarizer, "--retry", carries=SETTINGS)
        out.warn(one_line(f"{stuck_told(done.stuck)} Another --summarizer, or --set ladder=..., tries anew; {again} asks the same once more."))


def _advice(done: Done, args: Namespace) -> str:
    """Return what to do where what is due must wait."""
    again = command("fold", args, "--summarizer", args.summarizer, carries=SETTINGS)
    if done.ended == "paused":
        return f"What is written is kept and the rest stays raw; {again} goes on."
    if done.ended == "lost":
        return f"Another program writes here too; {again} goes on."
    return f"What waits stays raw; another --summarizer may write it, {again} tries again."


def stuck_told(stuck: tuple[Outcome, ...]) -> str:
    """Return which runs could not be summarised, and why, in a sentence."""
    named = [f"{entries_told(o.first, o.last)} (L{o.level}, {o.outcome})" for o in stuck[:NAMED]]
    more = len(stuck) - NAMED
    told = listed([*named, f"{more:,} more"] if more > 0 else named)
    return f"{'One run was given up and stays as it is' if len(stuck) == 1 else f'{len(stuck):,} runs were given up and stay as they are'}: {told}."


async def _let_go(tape: Tape, args: Namespace, out: Output) -> None:
    async with ContextManager.open(store=tape.store, tape=tape.name, namespace=args.namespace) as manager:
        count = await manager.clear_quarantine()
    if not out.as_json:
        out.note(f"{counted(count, 'run')} that {'was' if count == 1 else 'were'} given up may be tried again")


def _json(done: Done, args: Namespace) -> dict[str, object]:
    return {
        "tape": args.tape,
        "strategy": args.strategy,
        "namespace": args.namespace,
        "summarizer": args.summarizer,
        "wrote": [_facts(step) for step in done.wrote],
        "failed": [{"level": o.level, "first": o.first, "last": o.last, "why": step.ticked.why} for step in done.failed if (o := step.failed)],
        "given_up": [outcome_facts(outcome) for outcome in done.stuck],
        "due": None if done.due is None else {"chunks": len(done.due.chunks), "merges": done.due.merges},
        "ended": done.ended,
        "why": done.why or None,
        "estimate": None,
    }


def _facts(step: Step) -> dict[str, object]:
    node = step.node
    assert node is not None  # noqa: S101 - for type checkers
    return {"did": step.ticked.did, "id": node.id, "level": node.level, "first": node.first, "last": node.last, "units": node.units, "raw_tokens": node.raw_tokens, "tokens": step.tokens}


def outcome_facts(outcome: Outcome) -> dict[str, object]:
    """Return what is known of a run that was given up, as JSON tells it."""
    return {"level": outcome.level, "first": outcome.first, "last": outcome.last, "rung": outcome.rung, "outcome": outcome.outcome, "model": outcome.model}
