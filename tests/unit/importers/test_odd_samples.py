"""Whatever JSON stands anywhere in a file of any format, reading it ends, and every line is on the tape or told."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.importers.sample import Sample
from tests.unit.importers.samples import SAMPLES
from tests.unit.importers.sessions import read
from tests.unit.importers.test_odd_records import places

ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8) | st.sampled_from(["user", "assistant", "text", "message", "c1", "tool", "ai", "request", "$set"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "content", "id", "text", "role", "name", "parts", "payload", "$rewindTo", "messages", "kind", "functionCall", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
@settings(deadline=None, max_examples=60)
@given(changes=st.lists(st.tuples(st.integers(0, 10_000), ODD), min_size=1, max_size=4), as_document=st.booleans())
def test_a_file_with_odd_values_anywhere_is_read(sample: Sample, changes: list[tuple[int, Any]], as_document: bool) -> None:
    first, *others = json.loads(json.dumps(sample.records))
    for place, odd in changes:
        found = places(others)
        found[place % len(found)](odd)
    records = [first, *others]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(sample.body(records) if as_document else b"\n".join(json.dumps(r).encode() for r in records))
        entries, notes = read(path, format=sample.format)
    assert len({e.meta["idempotency_key"] for e in entries}) == len(entries)
    if not as_document:
        told = {line for e in entries for line in e.meta["import"].get("lines", (e.meta["import"]["line"],))}
        told |= {line for line, _ in notes.unreadable}
        assert len(told) + notes.repeated + notes.rewritten >= len(records)
