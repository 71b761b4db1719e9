"""Where tapes are kept by default, and what of a store's URL is shown."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

import anyio
import pytest

import playhead as ph
from playhead.cli.store_choice import chosen_store, own_file, shown_url
from playhead.errors import ReadOnly


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_DATA_HOME": "/data"}, "/data/playhead/tapes.db"),
        ("linux", {"XDG_DATA_HOME": ""}, "/home/me/.local/share/playhead/tapes.db"),
        ("linux", {"XDG_DATA_HOME": "relative"}, "/home/me/.local/share/playhead/tapes.db"),
        ("darwin", {"XDG_DATA_HOME": "/data"}, "/home/me/Library/Application Support/playhead/tapes.db"),
        ("win32", {"APPDATA": "/roaming"}, "/roaming/playhead/tapes.db"),
        ("win32", {"APPDATA": ""}, "/home/me/AppData/Roaming/playhead/tapes.db"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX paths")
def test_the_own_file_is_where_the_platform_keeps_what_programs_store(monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], expected: str):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("HOME", "/home/me")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert own_file() == Path(expected)


def test_a_password_is_not_shown():
    assert shown_url(Namespace(store="postgresql://me:secret@host/db")) == "postgresql://me:***@host/db"
    assert shown_url(Namespace(store="sqlite:////var/lib/a@b:c.db")) == "sqlite:////var/lib/a@b:c.db"


@pytest.mark.parametrize("form", ["{}/tapes.db", "sqlite:///{}/tapes.db", "sqlite:///{}/tapes.db?timeout=3", "file:{}/tapes", "file:{}/tapes?timeout=3"])
def test_a_store_of_any_form_is_opened_to_be_read_only(tmp_path: Path, form: str):
    async def run() -> None:
        url = form.format(tmp_path)
        for is_read_only in (False, True):
            async with chosen_store(Namespace(store=url, command="ls", read_only=is_read_only)) as store:
                tape = ph.Tape(store, "t")
                if is_read_only:
                    with pytest.raises(ReadOnly):
                        await tape.append(ph.user("x"))
                else:
                    await tape.append(ph.user("x"))
                assert await store.list_tapes() == ["t"]

    anyio.run(run)
