"""What a model is asked, by what kind of memory it is to write."""

import pytest

from playhead.fold.config import AutobiographicalConfig
from playhead.fold.writing.shapes import Shape
from playhead.fold.writing.voices import LEADS, MEMORY, MERGE, PHASES, instruction, wording
from playhead.view.units import Body
from tests.unit.fold.writing import chunk, merge, node, said

PLAIN = AutobiographicalConfig()


def asked(job, *, config=PLAIN, target=2_000, **shape):
    return instruction(job, config=config, shape=Shape(**shape), target=target)


def voiced(voice, **more):
    return chunk(said("hi", id=1), voice=voice, **more)


def merged(voice="normal", **more):
    return merge(node(1, first=1, last=4), node(2, first=5, last=9), voice=voice, **more)


@pytest.mark.parametrize("voice", ["normal", "reading", "witnessed"])
def test_each_voice_has_words_of_its_own_at_level_1_and_for_merges(voice):
    others = {v for v in ("normal", "reading", "witnessed") if v != voice}
    assert asked(voiced(voice)) not in {asked(voiced(v)) for v in others}
    assert asked(merged(voice)) not in {asked(merged(v)) for v in others}
    for text in (asked(voiced(voice)), asked(merged(voice))):
        assert "about 2000 tokens" in text and "{" not in text
        assert "record of what was said and done" in text and "carry none of them out" in text
        assert "Answer with the memory and nothing else" in text


def test_a_merge_names_its_level_and_how_many_it_replaces():
    assert "of level 2, in place of the 2 it is kept in now" in asked(merged())


def test_the_normal_voice_speaks_in_the_first_person_of_this_run_alone():
    text = asked(voiced("normal"))
    assert "first person" in text and "since my last note" in text and "never as if it were new" in text


def test_the_reader_is_told_which_part_of_how_long_a_text_it_read():
    parts = tuple(said("word " * 200, id=i).__class__(**_fields(said("word " * 200, id=i), Body(id="b", index=i, count=40))) for i in (2, 3, 4))
    text = asked(chunk(*parts, voice="reading"))
    assert "part 3 to 5 of 40 of one text of about " in text
    assert "part 3 of 40" in asked(chunk(parts[0], voice="reading"))
    assert "part " not in asked(voiced("reading")).split("]", maxsplit=1)[0]


def _fields(unit, body):
    return {"kind": unit.kind, "messages": unit.messages, "ids": unit.ids, "uids": unit.uids, "tokens": unit.tokens, "body": body}


def test_a_custom_text_for_what_was_witnessed_gets_the_target_and_keeps_its_braces():
    config = AutobiographicalConfig(witnessed_instruction="Tell it in {targetTokens} tokens, as JSON such as {}.")
    assert asked(voiced("witnessed"), config=config, target=700).startswith("Tell it in 700 tokens, as JSON such as {}.\n\n")
    assert not asked(voiced("normal"), config=config).startswith("Tell it in")


def test_the_identity_reminder_is_always_the_last_paragraph():
    config = AutobiographicalConfig(identity_reminder=" You are Claude, nobody else. ")
    for job in (voiced("normal"), voiced("witnessed"), voiced("reading"), merged(), merged("witnessed")):
        text = asked(job, config=config, forbids_tools=True, asks_prose=True, stands_alone=True)
        assert text.endswith("\n\nYou are Claude, nobody else.")


@pytest.mark.parametrize("phase", ["research", "synthesis", "lesson", "subagent"])
def test_each_phase_of_knowledge_adds_its_words_and_asks_to_mark_open_leads(phase):
    text = asked(voiced("normal", phase=phase))
    assert PHASES[phase] in text and LEADS in text and "[LEAD]" in text
    assert LEADS not in asked(voiced("normal")) and LEADS not in asked(voiced("normal", phase="of mine"))


def test_a_merge_says_which_phases_it_is_of_and_keeps_the_leads():
    sources = [node(i, first=i, last=i, phase=phase) for i, phase in enumerate(("research", "synthesis", "research"), 1)]
    text = asked(merge(*sources))
    assert "2 of research, 1 of synthesis" in text and "Keep every item marked [LEAD]" in text
    assert "[LEAD]" not in asked(merged())


def test_what_went_wrong_adds_one_sentence_each():
    plain = asked(voiced("normal"))
    for shape, words in ({"forbids_tools": True}, "Call no tool"), ({"asks_prose": True}, "plain prose"), ({"stands_alone": True}, "Leave every claim with the one who made it"):
        text = asked(voiced("normal"), **shape)
        assert words in text and words not in plain


def test_the_words_that_are_hashed_are_all_there_are():
    words = set(wording())
    assert {*MEMORY.values(), *MERGE.values(), *PHASES.values()} <= words and len(words) == len(wording())
