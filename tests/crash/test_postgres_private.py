"""The server that the tests start for themselves ends with them, whatever ends them."""

from __future__ import annotations

import os
import select
import signal
from pathlib import Path

import psycopg
import pytest

from tests.crash.processes import started
from tests.postgres import Databases, private_server, programs

USES = """
import sys
from tests.postgres import private_server

with private_server() as server:
    print(server.folder, (server.data / "postmaster.pid").read_text().split()[0], flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_server_ends_when_the_process_that_uses_it_is_killed(number: signal.Signals):
    programs.folder()
    user = started(USES, stdin=-1)
    folder, pid = user.stdout.readline().split()
    server = os.pidfd_open(int(pid))
    user.send_signal(number)
    user.communicate()
    assert select.select([server], [], [], 60)[0] == [server]
    os.close(server)
    while Path(folder.decode()).exists():
        pass


def test_a_server_that_was_killed_starts_again_with_what_was_committed():
    with private_server(fsync=True) as server:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 7 AS seven")
        server.kill()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(server.url())
        server.start()
        with psycopg.connect(server.url(), autocommit=True) as connection:
            assert connection.execute("SELECT seven FROM kept").fetchall() == [(7,)]


def test_a_database_is_empty_again_when_it_is_used_again(postgres: Databases):
    names = set()
    for _ in range(3):
        with postgres.database() as url, psycopg.connect(url, autocommit=True) as connection:
            names.add(url)
            assert connection.execute("SELECT count(*) FROM playhead.cursors").fetchone() == (0,)
            connection.execute("INSERT INTO playhead.cursors SELECT gen_random_uuid(), '', '', 0, 0, 0, '' FROM generate_series(1, 5)")
    assert len(names) <= 2
    with postgres.database() as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute("INSERT INTO playhead.cursors SELECT gen_random_uuid(), '', '', 0, 0, 0, '' FROM generate_series(1, 5000)")
    with postgres.database() as other:
        assert other != url
