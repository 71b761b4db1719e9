"""Shards: a long text is cut where its seams are worth most, and joins to what it was."""

import pytest

from playhead.errors import InvalidInput
from playhead.fold.choosing.shards import CHARS_PER_TOKEN, body_id, shards

TOKENS = 10
SIZE = TOKENS * CHARS_PER_TOKEN


def cut(text):
    found = shards(text, tokens=TOKENS)
    assert "".join(found) == text
    return found


def letters(count):
    return "x" * count


def test_a_text_of_up_to_two_shards_stays_whole():
    assert cut(letters(2 * SIZE)) == (letters(2 * SIZE),)
    assert cut(letters(2 * SIZE + 1)) == (letters(SIZE), letters(SIZE), "x")
    assert cut("") == ("",)


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("a\n", "# Title\n### Deeper\n"),
        ("a\n", "## Title\n### Deeper\n"),
        ("a\n", "###### Deeper\n```py\n"),
        ("a\n", "```py\nx\n\ny"),
        ("a\n\n", "b\nc"),
        ("a\n", "b. c"),
        ("a. ", "b c"),
        ("a。", "b c"),
        ('a." ', "b c"),
    ],
)
def test_a_seam_that_is_worth_more_is_taken_also_where_a_later_one_lies_nearer(before, behind):
    assert cut(before + behind + letters(3 * SIZE))[0] == before


def test_of_equal_seams_before_the_length_the_last_one_is_taken():
    assert cut("one\ntwo\nthree\n" + letters(3 * SIZE))[0] == "one\ntwo\nthree\n"


def test_a_seam_at_the_length_itself_still_counts():
    first = letters(SIZE - 1) + "\n"
    assert cut(first + letters(2 * SIZE))[0] == first


def test_without_a_seam_before_the_first_of_the_best_within_a_quarter_more_is_taken():
    over = SIZE + SIZE // 4
    text = letters(SIZE + 2) + " " + "y\n" + letters(2) + "\n" + letters(3 * SIZE)
    assert cut(text)[0] == letters(SIZE + 2) + " y\n"
    assert cut(letters(over - 1) + " " + letters(2 * SIZE))[0] == letters(over - 1) + " "
    assert cut(letters(over) + " " + letters(2 * SIZE))[0] == letters(SIZE)


def test_a_seam_at_the_beginning_does_not_count():
    assert cut("\n" + letters(3 * SIZE))[0] == "\n"
    assert cut("# Title" + letters(3 * SIZE))[0].startswith("# ")
    assert all(cut("\n".join(["", letters(SIZE), letters(3 * SIZE)])))


def test_a_sign_of_a_heading_inside_a_block_of_code_is_none():
    code = "```py\n# a comment\nx = 1\n```\n"
    text = "Look:\n" + code + letters(3 * SIZE)
    assert cut(text)[:2] == ("Look:\n" + code, letters(SIZE))
    quoted = "~~~~\n```\n# not yet\n```\n~~~~\n"
    assert cut(quoted + letters(3 * SIZE))[0] == quoted
    inline = "```x``` is code\n# Title\n"
    assert cut(inline + letters(3 * SIZE))[0] == "```x``` is code\n"


def test_a_character_is_never_cut():
    emoji = "🎞" * (3 * SIZE)
    assert all(shard.encode("utf-8").decode() == shard for shard in cut(emoji))
    halves = "x" + "\ud83c\udf9e" * (2 * SIZE)
    assert not any(shard.endswith("\ud83c") for shard in cut(halves))


def test_a_line_end_of_two_characters_stays_together():
    assert not any(shard.endswith("\r") for shard in cut("word\r\n" * 100))
    assert not any(shard.endswith("\r") for shard in cut("x" * (SIZE - 1) + "\r\n" + "x" * (3 * SIZE)))


def test_one_text_has_one_body_and_another_text_another():
    assert body_id("grün") == body_id("grün")
    assert body_id("grün") != body_id("grau")
    assert body_id("\ud83c").startswith("bg-")
    assert len(body_id("")) == len("bg-") + 16


def test_a_shard_without_a_size_is_refused():
    with pytest.raises(InvalidInput, match="at least one token"):
        shards("text", tokens=0)


def test_a_line_of_nothing_but_a_fence_is_looked_at_once():
    assert len(cut("`" * 300_000 + " `\n" + "~" * 300_000)) > 2
