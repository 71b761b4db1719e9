"""Network file systems are told by the system's own table, and refused."""

import sys

import pytest

from playhead.errors import InvalidInput, StoreUnavailable
from playhead.store.rows.connection import Place, connect, disconnect
from playhead.store.rows.mounts import network_file_system
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.store.urls import open_store

TABLE = """\
/dev/root / ext4 rw 0 0
server:/home {place}/home nfs4 rw 0 0
/dev/sdb {place}/home/local xfs rw 0 0
//server/share {place}/a\\040b cifs rw 0 0
me@host: {place}/ssh fuse.sshfs rw 0 0
portal {place}/doc fuse.portal rw 0 0
server:/over {place}/twice ext4 rw 0 0
server:/over {place}/twice nfs rw 0 0
"""


@pytest.fixture
def mounts(tmp_path):
    table = tmp_path / "mounts"
    table.write_text(TABLE.format(place=tmp_path.resolve()))
    return str(table)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("home/me/tapes.db", "nfs4"),
        ("home/local/tapes.db", None),
        ("homes/tapes.db", None),
        ("a b/tapes.db", "cifs"),
        ("ssh/tapes.db", "fuse.sshfs"),
        ("doc/tapes.db", None),
        ("twice/tapes.db", "nfs"),
        ("tapes.db", None),
        ("link/tapes.db", "nfs4"),
    ],
)
def test_the_mount_that_holds_a_path_tells_its_kind(tmp_path, mounts, path, kind):
    (tmp_path / "link").symlink_to(tmp_path / "home" / "me")
    assert network_file_system(str(tmp_path / path), mounts=mounts) == kind


def test_a_system_that_does_not_say_is_trusted(tmp_path):
    assert network_file_system(str(tmp_path), mounts=str(tmp_path / "none")) is None


@pytest.mark.skipif(sys.platform != "linux", reason="the table of mounts of Linux")
def test_the_table_of_this_machine_is_read():
    assert network_file_system("/proc") is None


def test_a_network_file_system_is_refused_unless_it_is_allowed(tmp_path, mounts):
    place = Place(path=str(tmp_path / "home" / "tapes.db"), durability="disk", timeout=1, mounts=mounts)
    with pytest.raises(StoreUnavailable, match=r"network file system \(nfs4\).*local disk.*network='allow'"):
        connect(place, lock=place.lock())
    assert not (tmp_path / "home").exists()
    place = Place(path=place.path, durability="disk", timeout=1, mounts=mounts, network="allow")
    (tmp_path / "home").mkdir()
    lock = place.lock()
    disconnect(connect(place, lock=lock), lock=lock)


def test_it_is_allowed_by_the_store_and_by_its_url():
    with pytest.raises(InvalidInput, match="'refuse' or to 'allow'"):
        SQLiteTapeStore("x.db", network="yes")
    with pytest.raises(InvalidInput, match="'refuse' or to 'allow'"):
        open_store("sqlite:///x.db?network=yes")
    with pytest.raises(InvalidInput, match="no store knows"):
        open_store("file:x?network=allow")
    assert repr(open_store("sqlite:///x.db?network=allow")).startswith("SQLiteTapeStore(")
