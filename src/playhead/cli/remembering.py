"""What commands that compile do with memory that folds: have it written first, and say what of a prompt it tells."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import nullcontext

from rich.text import Text

from playhead.cli.fold_arguments import EXTRACTIVE
from playhead.cli.folding import WAITS, counts_told
from playhead.cli.hints import command
from playhead.cli.layout import prose
from playhead.cli.output import Output, counted, listed
from playhead.cli.parser import SETTINGS
from playhead.cli.plain import one_line, plain
from playhead.cli.steps import Step, Steps, WrittenSteps
from playhead.cli.transcript import indented, shortened
from playhead.fold.ledger.memory import LABEL, FoldMemory
from playhead.fold.node import Node
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.prompt.folding.state import FoldState
from playhead.prompt.prompt import Prompt
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.tape.tape import Tape

MOST_ROUNDS = 4
"""How often summaries are written that a compile was refused for, each time of a higher level."""


async def write_due(tape: Tape, strategy: AutobiographicalStrategy, budget: Budget, out: Output) -> tuple[Step, ...]:
    """Write the summaries that are due, then those that a compile within the budget lacks; return what each came to."""
    taken: list[Step] = []
    console = None if out.as_json else out.error_console()
    async with WrittenSteps(tape, strategy) as steps:
        with nullcontext() if console is None else console.status("writing summaries") as status:
            for _ in range(MOST_ROUNDS):
                before = len(taken)
                async for step in steps:
                    taken.append(step)
                    if status is not None:
                        status.update(f"writing summaries: {counts_told(taken)}, {step.left:,} due")
                if (before and before == len(taken)) or not await _lacks(steps, tape, strategy, budget):
                    break
    return tuple(taken)


async def _lacks(steps: Steps, tape: Tape, strategy: AutobiographicalStrategy, budget: Budget) -> bool:
    refused = (await compile(tape, budget, strategy=strategy, dry_run=True)).over_budget
    return refused is not None and steps.demand(refused.diagnostics.get("wanted"))


def tell_written(taken: Sequence[Step], args: Namespace, out: Output) -> None:
    """Say what was written before a compile, and what could not be."""
    if any(step.node is not None for step in taken):
        out.note(f"wrote {counts_told(list(taken))} with {args.summarizer}")
    failed = sum(step.ticked.did == "failed" for step in taken)
    last = taken[-1].ticked if taken else None
    waits = f"{last.did}: {last.why.rstrip('.')}" if last is not None and last.did in WAITS else ""
    if failed or waits:
        what = [f"{counted(failed, 'request')} for summaries came to nothing"] if failed else []
        out.warn(
            one_line(f"{'; '.join([*what, *filter(None, [waits])])}. What is not summarised stays as it is; {command('fold', args, '--summarizer', args.summarizer, carries=SETTINGS)} says more.")
        )


def written_facts(taken: Sequence[Step] | None) -> dict[str, object] | None:
    """Return what was written, as JSON tells it; None where nothing was asked for."""
    if taken is None:
        return None
    counts = {key: sum(step.ticked.did == did for step in taken) for key, did in (("summaries", "summary"), ("merges", "merge"), ("notes", "note"), ("failed", "failed"))}
    last = taken[-1].ticked if taken else None
    return {**counts, "waits": last.why if last is not None and last.did in WAITS else None}


async def tellers(memory: FoldMemory, entry: int) -> tuple[Node, ...]:
    """Return the summaries that tell an entry, the nearest to it first; none where none does."""
    found: list[Node] = []
    node = (await memory.look()).root_at(entry)
    while node is not None:
        found.append(node)
        node = next((child for child in await memory.children(node) if child.covers(entry)), None)
    return tuple(reversed(found))


def tellers_lines(found: Sequence[Node], prompt: Prompt, *, width: int | None) -> Iterator[Text]:
    """Yield which summaries tell an entry, and the words of the one that is shown, else of the nearest."""
    if not found:
        yield from prose("no summary tells it", width=width)
        return
    shown = shown_ids(prompt)
    chain = ", part of ".join(f"{node.id} (entries {node.first}-{node.last}{', shown' if node.id in shown else ''})" for node in found)
    yield from prose(f"told by {chain}", width=width)
    node = next((node for node in found if node.id in shown), found[0])
    said, left = shortened(plain(node.text))
    yield Text(f"{node.id}, written by {one_line(node.model or 'a fixed rule')}", style="magenta")
    yield from indented(said, width)
    if left:
        yield Text(f"    … {left:,} more characters", style="dim")


def tellers_facts(found: Sequence[Node], prompt: Prompt) -> list[dict[str, object]]:
    """Return the summaries that tell an entry, as JSON tells it."""
    shown = shown_ids(prompt)
    return [{"id": n.id, "level": n.level, "first": n.first, "last": n.last, "units": n.units, "raw_tokens": n.raw_tokens, "is_shown": n.id in shown, "text": n.text} for n in found]


def shown_ids(prompt: Prompt) -> frozenset[str]:
    """Return the summaries that a prompt shows."""
    return frozenset(span.node for span in prompt.plan.spans if span.node is not None)


def told_line(prompt: Prompt) -> str:
    """Return what the summaries of a prompt tell, and what that saves; "" where there is none."""
    state, shown = prompt.plan.state, shown_ids(prompt)
    nodes = [node for node in state.shown if node.id in shown] if isinstance(state, FoldState) else []
    if not nodes:
        return ""
    levels = listed(f"{count:,} of level {level}" for level, count in sorted(prompt.stats.by_level.items(), reverse=True))
    raw = sum(node.raw_tokens for node in nodes)
    return f"{counted(len(nodes), 'summary')} ({levels}) tell{'s' if len(nodes) == 1 else ''} {counted(sum(n.units for n in nodes), 'unit')}: {raw:,} → {prompt.stats.summaries:,} tokens"


async def no_memory(tape: Tape, args: Namespace) -> str:
    """Say that a tape has no summaries, where there are some all the same, and how they come to be."""
    whose = "" if args.namespace is None else f" under {args.namespace}"
    if getattr(args, "at", None) or getattr(args, "until", None):
        return one_line(f"Tape '{args.tape}' had no summaries{whose} then.")
    fold = command("fold", args, "--summarizer", getattr(args, "summarizer", None) or EXTRACTIVE, carries=SETTINGS)
    return one_line(f"Tape '{args.tape}' has no summaries{whose} yet{await _elsewhere(tape, args)}; {fold} writes those that are due.")


async def _elsewhere(tape: Tape, args: Namespace) -> str:
    """Say where else a tape has memory, "" where it has none."""
    labels = [label for label in await tape.store.sidecars(tape.name) if label == LABEL or label.startswith(f"{LABEL}.")]
    named = sorted(label.removeprefix(f"{LABEL}.") for label in labels if label != LABEL)
    others = [f"--namespace {name} has some" for name in named if name != args.namespace]
    others += ["it has some without --namespace"] if LABEL in labels and args.namespace is not None else []
    return f", but {listed(others)}" if others else ""
