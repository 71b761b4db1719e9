from playhead.entry.message import assistant, system, user
from playhead.prompt.injection import Injection
from playhead.prompt.report.stretches import dropped, stretches
from tests.unit.prompt.report.prompts import AllForms, compiled, talk

INJECTIONS = (
    Injection(namespace="rules", content="Never guess."),
    Injection(namespace="clock", position="before_user", content="It is noon."),
    Injection(namespace="recall", position="after_user", content="You met before."),
)


def order(prompt):
    return [p.name if p.form == "injection" else f"{p.first}-{p.last}" for p in stretches(prompt)]


def test_stretches_are_the_spans_where_nothing_is_injected():
    prompt = compiled(talk(6), strategy=AllForms())
    assert [(p.form, p.reason, p.tokens, p.units) for p in stretches(prompt)] == [(s.form, s.reason, s.tokens, s.units) for s in prompt.plan.spans]


def test_injections_part_a_span_where_the_prompt_has_them():
    prompt = compiled([system("Be brief."), *talk(6)], injections=INJECTIONS)
    assert order(prompt) == ["1-1", "rules", "2-5", "clock", "6-6", "recall", "7-7"]
    sent = [m.text for p in stretches(prompt) if p.is_shown and p.name != "rules" for m in p.spoken]
    assert sent == [m.text for m in prompt.messages]


def test_the_parts_of_a_span_cost_what_it_costs():
    prompt = compiled(talk(7), injections=INJECTIONS)
    parts = stretches(prompt)
    assert sum(p.tokens for p in parts if p.form == "raw") == prompt.plan.tokens
    assert sum(p.tokens for p in parts) == prompt.stats.total
    assert [p.is_rest for p in parts if p.form == "raw"] == [False, True]


def test_a_span_told_shorter_is_never_parted():
    prompt = compiled([*talk(4), assistant("Done.")], strategy=AllForms(), injections=INJECTIONS)
    assert [(p.form, p.name) for p in stretches(prompt)] == [
        ("summary", "L1-0001"),
        ("injection", "rules"),
        ("injection", "clock"),
        ("trimmed", "head and tail"),
        ("injection", "recall"),
        ("omitted", None),
        ("raw", None),
    ]


def test_without_a_user_message_an_injection_before_it_is_dropped_and_said_so():
    prompt = compiled([assistant("alone")], injections=INJECTIONS)
    assert order(prompt) == ["rules", "1-1", "recall"]
    assert [i.namespace for i in dropped(prompt)] == ["clock"]
    assert dropped(compiled([user("hi")], injections=INJECTIONS)) == ()


def test_an_empty_tape_has_only_what_is_injected():
    assert order(compiled([], injections=INJECTIONS)) == ["rules", "recall"]
    assert stretches(compiled([])) == ()
