from __future__ import annotations

import re

import pytest

from playhead.wire import anthropic, openai_chat, openai_responses
from playhead.wire.ids import IdRule, fitting_id, fitting_name

ANTHROPIC = re.compile("[a-zA-Z0-9_-]+")


@pytest.mark.parametrize("call_id", ["toolu_01A", "call_abc-1", "0"])
@pytest.mark.parametrize("rule", [anthropic.IDS, openai_chat.IDS, openai_responses.IDS])
def test_an_id_that_fits_stays(call_id: str, rule: IdRule):
    assert fitting_id(call_id, taken=(), room=0, rule=rule) == call_id


@pytest.mark.parametrize("call_id", ["", "call_x|fc_y", "functions.f:0", "é", "x" * 300, "\ud800", "a b"])
def test_any_other_id_becomes_one_that_anthropic_takes(call_id: str):
    made = fitting_id(call_id, taken=(), room=0, rule=anthropic.IDS)
    assert ANTHROPIC.fullmatch(made)
    assert len(made) <= 64
    assert made == fitting_id(call_id, taken=(), room=0, rule=anthropic.IDS)


def test_ids_that_look_alike_when_made_to_fit_stay_apart():
    made = {fitting_id(i, taken=(), room=0, rule=anthropic.IDS) for i in ("a|b", "a:b", "a.b", "a_b")}
    assert len(made) == 4


def test_a_taken_id_is_never_given_twice():
    taken: set[str] = set()
    for _ in range(200):
        taken.add(fitting_id("call_1", taken=taken, room=len(taken), rule=anthropic.IDS))
    assert len(taken) == 200


def test_openai_chat_takes_no_id_longer_than_forty_characters():
    assert fitting_id("x" * 40, taken=(), room=0, rule=openai_chat.IDS) == "x" * 40
    assert len(fitting_id("x" * 41, taken=(), room=0, rule=openai_chat.IDS)) <= 40


def test_the_names_other_models_give_their_tools_are_made_to_fit():
    assert fitting_name("mcp.files/read", longest=64) == "mcp_files_read"
    assert fitting_name("x" * 70, longest=64) == "x" * 64
    assert fitting_name("", longest=64) == "unnamed"
    assert fitting_name("mcp__files__read-1", longest=64) == "mcp__files__read-1"
