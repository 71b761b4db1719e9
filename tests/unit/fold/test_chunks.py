import pytest

from playhead.entry.message import Media, Text, Thinking, ToolResult, user
from playhead.fold.choosing.chunks import chunk_of, chunks, text_size
from playhead.view.tokens import default_counter, message_tokens
from playhead.view.units import Unit
from tests.unit.fold.choosing import called, said, shard


def spans(units, **options):
    closed, rest = chunks(units, **{"after": 0, "target": 3_000} | options)
    return [(c.first, c.last) for c in closed], [u.first for u in rest]


def test_a_chunk_closes_at_its_size_and_four_messages():
    units = [said(i, tokens=900) for i in range(1, 7)]
    assert spans(units[:3]) == ([], [1, 2, 3])
    assert spans(units[:4]) == ([(1, 4)], [])
    assert spans(units) == ([(1, 4)], [5, 6])


def test_one_large_message_waits_until_there_are_four():
    units = [said(1, tokens=5_000), *(said(i, tokens=10) for i in range(2, 7))]
    assert spans(units[:3]) == ([], [1, 2, 3])
    assert spans(units) == ([(1, 4)], [5, 6])


def test_a_round_counts_all_its_messages_and_is_never_parted():
    units = [said(1, tokens=900), said(2, tokens=900), said(3, tokens=900), called(4, 5, tokens=900), said(6)]
    assert spans(units) == ([(1, 5)], [6])
    assert spans([called(1, 2, tokens=1_500), called(3, 4, tokens=1_500)]) == ([(1, 4)], [])


def test_a_chunk_owns_what_shows_nothing_before_and_between_its_units():
    units = [said(i, tokens=900) for i in (3, 5, 7, 9, 12, 13, 14, 15)]
    closed, _ = chunks(units, after=0, target=3_000)
    assert [(c.first, c.last, c.first_uid, c.last_uid) for c in closed] == [(1, 9, "", "u9"), (10, 15, "", "u15")]


def test_a_chunk_knows_the_lasting_names_of_its_ends_its_price_and_its_words():
    (chunk,), _ = chunks([said(i, tokens=900, text=" ab\nc ") for i in range(1, 5)], after=0, target=3_000)
    assert (chunk.first_uid, chunk.last_uid, chunk.tokens, chunk.chars, chunk.messages) == ("u1", "u4", 3_600, 12, 4)


def test_no_chunk_ends_between_a_call_and_an_answer_that_came_later():
    units = [said(1, tokens=900), called(2, 6, tokens=900), *(said(i, tokens=900) for i in (3, 4, 5, 7))]
    assert spans(units) == ([(1, 6)], [7])


def test_a_run_that_reaches_into_what_follows_it_waits():
    units = [said(1, tokens=900), called(2, 50, tokens=3_000), said(3, tokens=900), said(4, tokens=900)]
    assert spans(units) == ([(1, 50)], [])
    assert spans(units, before=5) == ([], [1, 2, 3, 4])
    assert spans(units, before=5, closes_at_end=True) == ([], [1, 2, 3, 4])


def test_a_call_without_its_result_waits_and_what_follows_it_too():
    units = [said(1, tokens=900), called(2, tokens=900, is_open=True), *(said(i, tokens=900) for i in (3, 4, 5))]
    assert spans(units) == ([], [1, 2, 3, 4, 5])


def test_a_call_that_nobody_ever_answered_stops_nothing():
    units = [said(1, tokens=900), called(2, tokens=900, is_open=True), *(said(i, tokens=900) for i in (3, 4, 5, 6))]
    assert spans(units) == ([(1, 4)], [5, 6])
    units = [*(said(i, tokens=900) for i in range(1, 5)), called(5, tokens=900, is_open=True), said(6, tokens=900)]
    assert spans(units) == ([(1, 4)], [5, 6])


def test_what_cannot_grow_is_a_chunk_however_thin():
    units = [said(i, tokens=900) for i in range(1, 6)]
    assert spans(units, closes_at_end=True) == ([(1, 4), (5, 5)], [])
    assert spans([called(7, tokens=5, is_open=True)], after=6, closes_at_end=True) == ([(7, 7)], [])
    assert spans([], closes_at_end=True) == ([], [])


def test_a_long_message_may_be_cut_between_its_parts():
    units = [shard(i, "b", i - 1, count=8, tokens=900) for i in range(1, 9)]
    assert spans(units) == ([(1, 4), (5, 8)], [])


def test_a_boundary_closes_a_chunk_early_once_it_has_four_messages():
    units = [said(i, tokens=10, text="new" if i in (3, 6) else "same") for i in range(1, 9)]

    def begins(before, unit, run):
        assert run[-1] is before
        return unit.messages[0].text == "new"

    assert spans(units, boundary_hint=begins) == ([(1, 5)], [6, 7, 8])


def test_more_units_never_change_the_chunks_that_are_closed():
    units = [said(i, tokens=300 + 70 * (i % 5)) for i in range(1, 60)]
    whole = spans(units)[0]
    for upto in range(len(units)):
        part = spans(units[:upto])[0]
        assert part == whole[: len(part)]


def test_pictures_do_not_count_where_a_chunk_is_measured():
    picture = Media(kind="image", url="https://example.org/a.png")
    message = user([Text(text="look"), picture])
    words = user([Text(text="look")])
    tokens = message_tokens(message, counter=default_counter())
    seen = Unit(kind="message", messages=(message,), ids=(1,), uids=("u1",), tokens=tokens)
    assert tokens > 1_000
    assert 0 < text_size(seen, attachments_ignore_size=True) <= 2 * message_tokens(words, counter=default_counter()) + tokens // 20
    assert text_size(seen, attachments_ignore_size=False) == tokens
    units = [seen, *(said(i, tokens=10) for i in (2, 3, 4))]
    assert spans(units, target=1_000) == ([], [1, 2, 3, 4])
    assert spans(units, target=1_000, attachments_ignore_size=False) == ([(1, 4)], [])


def test_pictures_in_a_tools_answer_do_not_count_either_and_nothing_counts_less_than_nothing():
    answered = called(1, 2, tokens=50)
    result = ToolResult(call_id="c", content=(Media(kind="image", url="https://example.org/a.png"),))
    unit = Unit(kind="round", messages=(answered.messages[0], type(answered.messages[1])(role="tool", content=(result,))), ids=(1, 2), uids=("u1", "u2"), tokens=50)
    assert text_size(unit, attachments_ignore_size=True) == 0


@pytest.mark.parametrize("uids", [(), ("only",)])
def test_a_store_that_gives_no_lasting_names_leaves_the_ends_unnamed(uids):
    unit = Unit(kind="message", messages=said(1).messages, ids=(1, 2), uids=uids, tokens=5)
    chunk = chunk_of([unit], after=0)
    assert (chunk.first, chunk.last, chunk.first_uid, chunk.last_uid) == (1, 2, "", "")


def test_reasoning_is_no_part_of_the_words():
    thought = Unit(kind="message", messages=(user([Thinking(text="hmm"), Text(text="ok")]),), ids=(1,), uids=("u1",), tokens=5)
    assert chunk_of([thought], after=0).chars == 2
