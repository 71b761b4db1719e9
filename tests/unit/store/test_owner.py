"""Who drives a branch is told from others by its machine, container, process and piece of work."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from playhead.store.concurrency import room
from playhead.store.concurrency.owner import Owner, is_gone, let_go, new_owner

DRIVER = """
import sys
from playhead.store.concurrency.owner import new_owner
work = Work = type("Work", (), {})()
print(new_owner(work), flush=True)
sys.stdin.readline()
"""

linux = pytest.mark.skipif(sys.platform != "linux", reason="processes as Linux tells of them")


class Work:
    """Drives a branch."""


@contextmanager
def driver(*around: str) -> Iterator[str]:
    """Start a process that drives something, inside another program, and end it."""
    with subprocess.Popen([*around, sys.executable, "-W", "error", "-c", DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        yield process.stdout.readline().strip()


def can_unshare(*options: str) -> bool:
    tool = shutil.which("unshare")
    return tool is not None and subprocess.run([tool, *options, "true"], capture_output=True, check=False).returncode == 0


def altered(owner: Owner, **parts: str) -> str:
    return str(owner._replace(**parts))


def test_work_of_this_process_is_gone_when_it_is_let_go_or_forgotten():
    work, other = Work(), Work()
    first, second = new_owner(work), new_owner(other)
    assert [is_gone(str(first)), is_gone(str(second))] == [False, False]
    let_go(first)
    del other
    assert [is_gone(str(first)), is_gone(str(second))] == [True, True]


@linux
def test_a_process_is_gone_once_it_has_ended():
    with driver() as owner:
        assert not is_gone(owner)
    assert is_gone(owner)


@linux
def test_a_number_that_another_process_has_since_is_not_taken_for_the_same():
    work = Work()
    owner = new_owner(work)
    assert is_gone(altered(owner, started="1"))
    assert is_gone(altered(owner, pid="1", started="1" + owner.started))
    assert is_gone(altered(owner, boot="an earlier one"))
    assert not is_gone(altered(owner, pid="1", started="-"))


@linux
@pytest.mark.parametrize("part", ["machine", "pid"])
def test_what_cannot_be_told_from_here_is_not_gone(part):
    work = Work()
    assert not is_gone(altered(new_owner(work), **{part: "another"}))
    assert not is_gone(None) and not is_gone("a program") and not is_gone("a:b:c:d:e:f")


@linux
@pytest.mark.skipif(not can_unshare("-pf", "--mount-proc"), reason="needs the right to make a container")
def test_a_container_of_the_same_name_is_asked_for_its_sign():
    """Its first process is number 1, as ours is; only the sign tells that it is another one, and there."""
    with driver("unshare", "-pf", "--mount-proc") as owner:
        assert owner.split(":")[3] == "1"
        assert not is_gone(owner)
    assert is_gone(owner)


@linux
@pytest.mark.skipif(not can_unshare("-pfn", "--mount-proc"), reason="needs the right to make a container")
def test_a_container_with_a_network_of_its_own_is_not_taken_for_dead():
    with driver("unshare", "-pfn", "--mount-proc") as owner:
        assert not is_gone(owner)


@linux
def test_a_container_that_was_started_again_has_left_nobody_behind(monkeypatch: pytest.MonkeyPatch, tmp_path):
    table = tmp_path / "mountinfo"
    table.write_text("22 27 0:21 / /proc rw - proc proc rw\n29 1 0:50 / / rw - overlay overlay rw,lowerdir=/l,upperdir=/var/lib/x/1/diff,workdir=/w\n")
    monkeypatch.setattr(room, "_MOUNTS", str(table))
    work = Work()
    owner = new_owner(work)
    before = room.read(owner.room)
    assert before.disk != room.UNKNOWN
    earlier = before._replace(processes="1", network="1")
    assert is_gone(altered(owner, room=str(earlier), pid="1"))
    assert not is_gone(altered(owner, room=str(earlier._replace(disk="another")), pid="1"))


@linux
def test_a_process_that_was_forked_off_shows_no_sign_of_its_parents():
    work = Work()
    owner = new_owner(work)
    assert not room.has_left(room.here(), owner.sign)
    child = os.fork()
    if child == 0:
        os._exit(len(room._shown))
    assert os.waitpid(child, 0)[1] == 0
    assert not room.has_left(room.here(), owner.sign)
