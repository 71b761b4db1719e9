"""From what was written to the node that is kept."""

from __future__ import annotations

from playhead.entry.frozen import freeze_dict
from playhead.fold.config import AutobiographicalConfig
from playhead.fold.extracting.identifiers import identifiers, index_within, merged_index
from playhead.fold.node import NodeDraft
from playhead.fold.writing.job import Job, Written
from playhead.view.tokens import Counter


def draft_of(job: Job, written: Written, *, config: AutobiographicalConfig, counter: Counter, model: str) -> NodeDraft:
    """Return the node of a job as it was written, with the list of what is named in its run."""
    return NodeDraft(
        level=job.level,
        first_uid=job.first_uid,
        last_uid=job.last_uid,
        entries=job.last - job.first + 1,
        units=sum(node.units for node in job.sources) if job.is_merge else len(job.units),
        raw_tokens=sum(node.raw_tokens for node in job.sources) if job.is_merge else sum(unit.tokens for unit in job.units),
        text=written.text,
        index=written.index if written.index is not None else _index(job, config=config, counter=counter),
        tools=written.tools or job.tools,
        voice=job.voice,
        phase=job.phase,
        children=tuple(node.uid for node in job.sources),
        since=job.since,
        until=job.until,
        model=model,
        how=freeze_dict(written.how),
    )


def _index(job: Job, *, config: AutobiographicalConfig, counter: Counter) -> tuple[str, ...]:
    if not config.identifier_index:
        return ()
    names = identifiers(job.units) if job.units else merged_index(job.sources)
    return index_within(names, tokens=config.identifier_index_tokens, counter=counter)
