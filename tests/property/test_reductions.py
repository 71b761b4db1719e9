"""What several wrote reduces to a valid state, however it is interleaved."""

import anyio
from hypothesis import given
from hypothesis import strategies as st

from playhead.entry.entry import TapeEntry
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.reduction import Ignored, Reduction, reduce
from playhead.tape.tape import Tape


def claim(state, entry):
    """One owner per span: what claims a span that is taken is left out."""
    span, owner = entry.payload["data"]
    if span in state:
        raise Ignored("the span is taken")
    return {**state, span: owner}


spans = st.lists(st.tuples(st.integers(0, 5), st.sampled_from("abc")), max_size=30)


@given(st.lists(spans, max_size=4), st.randoms())
def test_any_interleaving_of_what_several_wrote_reduces_to_a_valid_state(writers, chance):
    waiting, merged = [list(w) for w in writers], []
    while any(waiting):
        merged.append(chance.choice([w for w in waiting if w]).pop(0))
    found = reduce([TapeEntry.event("claim", list(item)) for item in merged], claim, {})
    assert set(found.state) == {span for span, _ in merged}
    assert all((span, owner) in merged for span, owner in found.state.items())
    assert found.entries == len(merged) == len(found.state) + found.ignored.get("the span is taken", 0)


@given(st.lists(spans, max_size=4))
def test_a_reduction_that_is_kept_up_to_date_equals_one_from_the_start(batches):
    async def go():
        tape = Tape(InMemoryTapeStore(), "t")
        kept = Reduction(tape.store, "t", claim, dict)
        for batch in batches:
            await tape.append_many([TapeEntry.event("claim", list(item)) for item in batch])
            assert await kept.look() == reduce(await tape.query().all(), claim, {})

    anyio.run(go)
