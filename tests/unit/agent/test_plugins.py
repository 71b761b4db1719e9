"""Plug-ins: what is one, and how installed ones are found."""

import logging
import sys

import pytest

from playhead.agent.hooks import Hooks
from playhead.agent.plugins import load_plugins
from playhead.errors import BadPlugin


class Polite:
    def continue_prompt(self):
        return "Please go on."


@pytest.mark.parametrize("plugin", [object(), "polite", 7, None])
def test_what_has_no_hook_is_no_plugin(plugin):
    with pytest.raises(BadPlugin, match="has no hook method"):
        Hooks([plugin])


def test_a_class_is_no_plugin_but_an_instance_is():
    with pytest.raises(BadPlugin, match="give the agent an instance") as caught:
        Hooks([Polite])
    assert caught.value.plugin == "Polite"
    Hooks([Polite()])


def test_a_hook_that_asks_for_what_there_is_not_is_refused_at_once():
    class Curious:
        def before_llm_call(self, reqest):
            """Misspelt."""

    with pytest.raises(BadPlugin, match=r"asks for 'reqest'.*request, state, run"):
        Hooks([Curious()])

    class Positional:
        def step_start(self, run, /):
            """Cannot be called by name."""

    with pytest.raises(BadPlugin, match="by name"):
        Hooks([Positional()])

    class Greedy:
        def build_tape_context(self, run):
            """There is no run yet."""

    with pytest.raises(BadPlugin, match="for nothing"):
        Hooks([Greedy()])

    class Opaque:
        build_tape_context = dict

    with pytest.raises(BadPlugin, match="Nobody can tell"):
        Hooks([Opaque()])


def test_a_misspelt_hook_is_warned_of(caplog):
    class Misspelt(Polite):
        def before_llm_calls(self, request):
            """Never called."""

        def refresh(self):
            """Nothing like a hook."""

    Hooks([Misspelt()])
    assert [(r.levelno, "is it meant to be 'before_llm_call'" in r.getMessage()) for r in caplog.records] == [(logging.WARNING, True)]


def installed(place, monkeypatch, code, points, *, name):
    """Lay out a package as an installer does, and make it importable."""
    (place / f"{name}.py").write_text(code)
    described = place / f"{name}-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text("[playhead.plugins]\n" + "".join(f"{point} = {name}{where}\n" for point, where in points.items()))
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.delitem(sys.modules, name, raising=False)


CODE = """
class Polite:
    def continue_prompt(self):
        return "Please go on."

polite = Polite()

def make():
    return Polite()

def continue_prompt():
    return "module"

number = 7

def fails():
    raise OSError("no licence")
"""


def test_installed_plugins_are_loaded_sorted_by_name_and_only_when_asked_for(tmp_path, monkeypatch):
    installed(tmp_path, monkeypatch, CODE, {"d-made": ":make", "a-class": ":Polite", "b-object": ":polite", "c-module": ""}, name="polite_plugins")
    assert Hooks().plugins == ()
    assert "polite_plugins" not in sys.modules
    loaded = load_plugins()
    assert [type(plugin).__name__ for plugin in loaded] == ["Polite", "Polite", "module", "Polite"]
    assert loaded[1] is loaded[2].polite
    assert Hooks(loaded).plugins == loaded
    assert load_plugins("playhead.other") == ()


@pytest.mark.parametrize(("where", "why"), [(":absent", "cannot be loaded: AttributeError"), (":fails", "cannot be loaded: OSError: no licence"), (":number", "cannot be used: 7 has no hook")])
def test_an_installed_plugin_that_cannot_be_used_is_a_typed_error_that_names_it(tmp_path, monkeypatch, where, why):
    installed(tmp_path, monkeypatch, CODE, {"broken": where}, name="broken_plugins")
    with pytest.raises(BadPlugin, match=f"'broken' .*{why}") as caught:
        load_plugins()
    assert caught.value.plugin == "broken"
    assert isinstance(caught.value, TypeError)
