"""A read costs what it returns: counted in steps of SQLite's machine, on a short tape and on a long one."""

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from playhead import clock
from playhead.entry.entry import TapeEntry, format_date, stamped
from playhead.store.change import Fork
from playhead.store.family import branch_name, sidecar_name
from playhead.store.query import TapeQuery
from playhead.store.rules.work import Work, Writing
from playhead.store.sqlite import reader, records
from playhead.store.sqlite.tapes import Tapes
from tests.unit.store.test_sql import fresh

START = datetime(2026, 3, 1, tzinfo=UTC)
SHORT, LONG = 1_000, 16_000
UID = "0190a0b0-0000-7000-8000-000000000001"
query = TapeQuery(tape="t")


def entry(i, count):
    when = format_date(START + timedelta(seconds=i - count))
    if i in (count // 2, count - 30):
        return TapeEntry(0, "anchor", {"name": "half" if i == count // 2 else "late"}, {}, when)
    if i == count // 2 + 1:
        return TapeEntry(0, "rare", {}, {"uid": UID, "idempotency_key": "k"}, when)
    return TapeEntry(0, "event" if i % 2 else "note", {"i": i}, {}, when)


def writing(tape, entries):
    kept = [stamped(entry) for entry in entries]
    step = Writing(tape, kept, [e.meta for e in kept])
    step.prepare()
    return step


def filled(entries):
    connection = fresh()
    Tapes(connection).do(Work([writing("t", entries)]))
    return connection


@pytest.fixture(scope="module")
def connections():
    made = [filled(entry(i, count) for i in range(count)) for count in (SHORT, LONG)]
    yield made
    for connection in made:
        connection.close()


def steps(connection, ask):
    taken = 0

    def step():
        nonlocal taken
        taken += 1

    connection.set_progress_handler(step, 1)
    answer = ask(connection)
    connection.set_progress_handler(None, 1)
    return taken, answer


READS = {
    "last 50": lambda c: reader.fetch(c, query.newest_first().limit(50)),
    "first 50": lambda c: reader.fetch(c, query.limit(50)),
    "behind the last anchor": lambda c: reader.fetch(c, query.last_anchor()),
    "behind a named anchor, 20": lambda c: reader.fetch(c, query.after_anchor("half").limit(20)),
    "between anchors, newest 20": lambda c: reader.fetch(c, query.between_anchors("half", "late").newest_first().limit(20)),
    "a rare kind": lambda c: reader.fetch(c, query.kinds("rare")),
    "two kinds, 20": lambda c: reader.fetch(c, query.kinds("rare", "note").limit(20)),
    "an unknown kind": lambda c: reader.fetch(c, query.kinds("none")),
    "the last minute": lambda c: reader.fetch(c, query.between_dates(START - timedelta(seconds=60), START)),
    "20 of most dates": lambda c: reader.fetch(c, query.between_dates(START - timedelta(seconds=900), START).limit(20)),
    "newest 20 of most dates and a kind": lambda c: reader.fetch(c, query.kinds("note").between_dates(START - timedelta(seconds=900), START).newest_first().limit(20)),
    "no date": lambda c: reader.fetch(c, query.between_dates(START + timedelta(days=1), START + timedelta(days=2))),
    "head": lambda c: reader.head(c, "t"),
    "by uid and key": lambda c: reader.find(c, "t", uids=[UID, "unknown"], keys=["k", "none"]),
    "names": records.names,
}


@pytest.mark.parametrize("read", READS)
def test_a_read_costs_the_same_on_a_long_tape(connections, read):
    (short, one), (long, other) = (steps(connection, READS[read]) for connection in connections)
    assert len(one) == len(other)
    assert long <= short * 1.2 + 300, f"{short} steps at {SHORT} entries, {long} at {LONG}"


@pytest.mark.parametrize("at", [None, 900])
def test_a_fork_costs_the_same_on_a_long_tape_and_takes_its_sidecars_along(at):
    taken = []
    for count in (SHORT, LONG):
        with closing(filled(entry(i, count) for i in range(count))) as connection:
            tapes = Tapes(connection)
            tapes.do(Work([writing(sidecar_name("t", "s"), [entry(i, count) for i in range(count)])]))
            number, _ = steps(connection, lambda _, tapes=tapes: tapes.do(Work([Fork(tape=branch_name("t", "try"), parent="t", at=at)])))
            taken.append(number)
            assert reader.head(connection, branch_name("t", "try")).id == (at or count)
    assert taken[1] <= taken[0] * 1.2 + 50, taken


def test_the_end_of_a_branch_costs_the_same_however_deep_it_is():
    with closing(filled(entry(i, SHORT) for i in range(SHORT))) as connection:
        tapes, name, last = Tapes(connection), "t", query.newest_first().limit(50)
        flat, _ = steps(connection, lambda c: reader.fetch(c, last))
        for level in range(100):
            parent, name = name, branch_name("t", str(level))
            tapes.do(Work([Fork(tape=name, parent=parent), writing(name, [entry(0, 2)])]))
        deep, found = steps(connection, lambda c: reader.fetch(c, replace(last, tape=name)))
        assert [e.id for e in found] == list(range(SHORT + 100, SHORT + 50, -1))
        assert deep <= flat * 3, (flat, deep)


def test_a_date_far_ahead_makes_later_reads_by_date_no_dearer(connections):
    ahead = [TapeEntry(0, "note", {"far": "ahead"}, {}, date) for date in ("9999-12-31", format_date(clock.now() + timedelta(days=2)))]
    for plain, count in zip(connections, (SHORT, LONG), strict=True):
        with closing(filled([*ahead, *(entry(i, count) for i in range(count))])) as connection:
            assert connection.execute("SELECT count(*) FROM entries WHERE ts <> peak").fetchone() == (len(ahead),)
            for name in ("the last minute", "20 of most dates", "newest 20 of most dates and a kind", "no date"):
                (taken, found), (usual, wanted) = steps(connection, READS[name]), steps(plain, READS[name])
                assert [e.payload for e in found] == [e.payload for e in wanted]
                assert taken <= usual * 1.2 + 300, name
            (taken, found) = steps(connection, lambda c: reader.fetch(c, query.between_dates("9000-01-01", "9999-12-31")))
            assert [e.id for e in found] == [1]
            assert taken < 2_000


def test_a_date_a_little_ahead_is_the_newest():
    near = format_date(clock.now() + timedelta(hours=23))
    with closing(filled([TapeEntry(0, "note", {}, {}, near), TapeEntry(0, "note", {})])) as connection:
        assert connection.execute("SELECT eid & 0xffffffff FROM entries WHERE ts <> peak").fetchall() == [(2,)]


def test_the_measure_is_not_numb(connections):
    (short, _), (long, _) = (steps(connection, lambda c: reader.fetch(c, query.query("no such text"))) for connection in connections)
    assert long > short * 8


def test_counting_a_whole_tape_takes_no_entry_out_of_it(connections):
    for connection, count in zip(connections, (SHORT, LONG), strict=True):
        taken, number = steps(connection, lambda c: reader.count(c, query))
        assert number == count
        assert taken < 200
    with closing(fresh()) as connection:
        assert reader.count(connection, query) == 0
