"""Files that other programs wrote, without checksums: read as they are, appended to, and what is no entry in them is reported."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.errors import NoAnchors, StoreDamaged
from playhead.store.file.findings import Finding
from playhead.store.file.store import FileTapeStore
from playhead.store.file.upkeep.salvage import salvage
from playhead.store.protocol import IDEMPOTENCY_KEY, Head
from playhead.store.query import TapeQuery
from tests.crash.file_stage import Ear

EPOCH = "1970-01-01T00:00:00.000000+00:00"


def note(text: str, **meta: object) -> TapeEntry:
    return TapeEntry.message({"role": "user", "content": text}, **meta)


def older(id: object, text: str = "", **members: object) -> bytes:
    """Return a line as other programs write it."""
    line = {"id": id, "kind": "message", "payload": {"role": "user", "content": text}, "meta": {}, "date": "2025-05-01T10:00:00+00:00", **members}
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"


async def told(store: FileTapeStore, query: TapeQuery | None = None) -> list[tuple[int, object]]:
    return [(entry.id, entry.payload.get("content", entry.payload.get("name"))) for entry in await store.fetch_all(query or TapeQuery(tape="t"))]


def test_lines_with_a_date_a_timestamp_or_neither_are_read(tmp_path: Path):
    lines: list[Mapping[str, object]] = [
        {"id": 1, "kind": "message", "payload": {"content": "ü"}, "meta": {"run_id": "r"}, "date": "2025-05-01T12:00:00+02:00"},
        {"id": 2, "kind": "custom", "payload": {}, "meta": {}, "timestamp": 1_700_000_000.25},
        {"id": 3, "kind": "event", "payload": {"name": "e"}, "meta": "none"},
        {"id": 4, "kind": "event", "payload": {"name": "e"}, "date": "soon"},
        {"id": 5, "kind": "event", "payload": {"name": "e"}, "timestamp": 1e300},
    ]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")

    async def play() -> None:
        async with FileTapeStore(tmp_path) as store:
            entries = await store.fetch_all(TapeQuery(tape="t"))
            assert [entry.date for entry in entries] == ["2025-05-01T10:00:00.000000+00:00", "2023-11-14T22:13:20.250000+00:00", EPOCH, EPOCH, EPOCH]
            assert [entry.kind for entry in entries] == ["message", "custom", "event", "event", "event"]
            assert [entry.meta for entry in entries] == [{"run_id": "r"}, {}, {}, {}, {}]
            assert (await store.head("t"), await store.list_tapes(), store.findings) == (Head(0, 5), ["t"], ())

    anyio.run(play)


BAD = [
    (b"\n", None),
    (b"  \r\n", None),
    (b"no json\n", "it is no JSON"),
    (b'{"id":2,"kind":"message","payload":{"te\n', "it is no JSON"),
    (b'{"id":2,"kind":"message","payload":{"text":"\xff\xfe"}}\n', "it is no JSON"),
    (b'{"id":2,"kind":"message","payload":{"n":NaN}}\n', "it is no JSON"),
    (b"[" * 5_000 + b"\n", "it is no JSON"),
    (b"[1, 2]\n", "it is no JSON object"),
    (b'{"id":"2","kind":"message","payload":{}}\n', "it lacks a whole number"),
    (b'{"id":true,"kind":"message","payload":{}}\n', "it lacks a whole number"),
    (b'{"id":2,"kind":7,"payload":{}}\n', "a text as kind"),
    (b'{"id":2,"kind":"","payload":{}}\n', "non-empty text"),
    (b'{"id":2,"kind":"message","payload":[]}\n', "an object as payload"),
    (b'{"id":2,"kind":"message","payload":' + b'{"a":' * 250 + b"1" + b"}" * 250 + b"}\n", "nested deeper"),
    (b"\0\0\0\0\n", "it is no JSON"),
    ("text in another encoding\n".encode("utf-16"), "it is no JSON"),
]


@pytest.mark.parametrize(("bad", "why"), BAD)
def test_a_line_that_is_no_entry_is_passed_over_and_reported(tmp_path: Path, bad: bytes, why: str | None):
    content = older(1, "one") + bad + older(2, "two")
    (tmp_path / "t.jsonl").write_bytes(content)
    ear = Ear()

    async def play() -> None:
        async with FileTapeStore(tmp_path, on_finding=ear) as store:
            assert await told(store) == [(1, "one"), (2, "two")]
            assert (await store.append("t", note("three"))).id == 3
            assert await told(store) == [(1, "one"), (2, "two"), (3, "three")]

    anyio.run(play)
    assert (tmp_path / "t.jsonl").read_bytes().startswith(content)
    assert [(finding.line, finding.offset) for finding in ear.heard] == ([] if why is None else [(2, len(older(1, "one")))] * len(ear.heard))
    assert all(why in finding.what for finding in ear.heard if why)
    assert bool(ear.heard) == (why is not None)


def test_a_byte_order_mark_and_line_ends_of_another_system_do_no_harm(tmp_path: Path):
    content = b"\xef\xbb\xbf" + older(1, "one").replace(b"\n", b"\r\n") + older(2, "two").replace(b"\n", b"\r\n")
    (tmp_path / "t.jsonl").write_bytes(content)

    async def play() -> None:
        async with FileTapeStore(tmp_path) as store:
            await store.append("t", note("three"))
            assert await told(store) == [(1, "one"), (2, "two"), (3, "three")]
            assert store.findings == ()

    anyio.run(play)


@pytest.mark.parametrize("ids", [(1, 1, 2, 3), (5, 3, 4, 9), (0, 1, 2, 3), (-1, 7, 8, 9)])
def test_entries_whose_ids_do_not_rise_are_counted_and_that_is_reported(tmp_path: Path, ids: tuple[int, ...]):
    (tmp_path / "t.jsonl").write_bytes(b"".join(older(id, f"text {n}") for n, id in enumerate(ids)))

    async def play() -> None:
        async with FileTapeStore(tmp_path, on_finding=Ear()) as store:
            wanted = [(n + 1, f"text {n}") for n in range(4)]
            assert await told(store) == wanted
            await store.append("t", note("new"))
            assert await told(store) == [*wanted, (5, "new")]
            assert await told(store, TapeQuery(tape="t").after(2).limit(2)) == [(3, "text 2"), (4, "text 3")]
            assert ["are counted from 1" in finding.what for finding in store.findings] == [True]

    anyio.run(play)


def test_ids_that_rise_with_gaps_stay_as_they_are(tmp_path: Path):
    (tmp_path / "t.jsonl").write_bytes(older(3, "three") + older(7, "seven") + older(10, "ten"))

    async def play() -> None:
        async with FileTapeStore(tmp_path) as store:
            await store.append_many("t", [note("a"), note("b")])
            query = TapeQuery(tape="t")
            assert await told(store) == [(3, "three"), (7, "seven"), (10, "ten"), (11, "a"), (12, "b")]
            assert await told(store, query.newest_first()) == [(12, "b"), (11, "a"), (10, "ten"), (7, "seven"), (3, "three")]
            assert await told(store, query.after(4).before(11)) == [(7, "seven"), (10, "ten")]
            assert await told(store, query.up_to(9).newest_first()) == [(7, "seven"), (3, "three")]
            assert [await store.count(q) for q in (query, query.after(4), query.up_to(9), query.limit(2))] == [5, 4, 2, 2]
            assert await store.head("t") == Head(0, 12)

    anyio.run(play)


def test_a_torn_last_line_is_cut_off_and_a_whole_one_gets_its_newline(tmp_path: Path):
    one, two = older(1, "one"), older(2, "zwei ü")

    async def play() -> None:
        async with FileTapeStore(tmp_path, on_finding=Ear()) as store:
            for cut in range(len(two)):
                tape, path = f"cut-{cut}", tmp_path / f"cut-{cut}.jsonl"
                path.write_bytes(one + two[:cut])
                query = TapeQuery(tape=tape)
                whole = cut == len(two) - 1
                wanted = [(1, "one"), *([(2, "zwei ü")] if whole else [])]
                assert await told(store, query) == wanted, cut
                assert path.read_bytes() == one + two[:cut], "reading changes nothing"
                await store.append(tape, note("new"))
                assert await told(store, query) == [*wanted, (len(wanted) + 1, "new")], cut

    anyio.run(play)


def test_something_else_without_a_newline_is_not_cut_off(tmp_path: Path):
    content = '{"messages": [1, 2, 3]}'.encode("utf-16")
    (tmp_path / "t.jsonl").write_bytes(content)

    async def play() -> None:
        async with FileTapeStore(tmp_path, on_finding=Ear()) as store:
            assert await told(store) == []
            assert (await store.append("t", note("new"))).id == 1
            assert await told(store) == [(1, "new")]

    anyio.run(play)
    assert (tmp_path / "t.jsonl").read_bytes().startswith(content + b"\n")


def test_anchors_keys_and_uids_of_older_lines_are_found(tmp_path: Path):
    lines = [
        older(1, kind="anchor", payload={"name": "A"}),
        older(2, "behind A", meta={"uid": "u2"}),
        older(3, kind="anchor", payload={"name": "B"}),
        older(4, "keyed", meta={IDEMPOTENCY_KEY: "k", "uid": "u4"}),
    ]
    (tmp_path / "t.jsonl").write_bytes(b"".join(lines))

    async def look(store: FileTapeStore) -> list[object]:
        query = TapeQuery(tape="t")
        found = await store.find("t", keys=["k", "none"], uids=["u2", "none"])
        return [
            [entry.id for entry in await store.fetch_all(query.up_to(4).last_anchor())],
            [entry.id for entry in await store.fetch_all(query.up_to(4).after_anchor("A"))],
            [entry.id for entry in await store.fetch_all(query.between_anchors("A", "B"))],
            [entry.id for entry in await store.fetch_all(query.up_to(2).last_anchor())],
            [entry.id for entry in await store.fetch_all(query.kinds("anchor").up_to(4))],
            {name: entry.id for name, entry in found.items()},
        ]

    async def play() -> None:
        async with FileTapeStore(tmp_path) as store:
            wanted = [[4], [2, 3, 4], [2], [2], [1, 3], {"u2": 2, "k": 4}]
            assert await look(store) == wanted
            assert [e.id for e in await store.append_many("t", [note("keyed", **{IDEMPOTENCY_KEY: "k"}), note("new")])] == [4, 5]
            await store.append("t", TapeEntry.anchor("C"))
            assert await look(store) == wanted
            assert [entry.id for entry in await store.fetch_all(TapeQuery(tape="t").kinds("anchor").newest_first())] == [6, 3, 1]
            assert [entry.id for entry in await store.fetch_all(TapeQuery(tape="t").between_anchors("B", "C"))] == [4, 5]

    anyio.run(play)


def test_an_older_file_without_anchors_has_none(tmp_path: Path):
    (tmp_path / "t.jsonl").write_bytes(older(1, "one"))

    async def play() -> None:
        async with FileTapeStore(tmp_path) as store:
            for _ in range(2):
                with pytest.raises(NoAnchors):
                    await store.fetch_all(TapeQuery(tape="t").last_anchor())
                await store.append("t", note("new"))

    anyio.run(play)


def test_a_reset_of_an_older_file_begins_the_next_generation(tmp_path: Path):
    (tmp_path / "t.jsonl").write_bytes(older(1, "one"))

    async def play() -> None:
        async with FileTapeStore(tmp_path) as store:
            await store.reset("t", entries=[note("new")], expected_head=Head(0, 1))
            assert (await told(store), await store.head("t")) == ([(1, "new")], Head(1, 1))

    anyio.run(play)


def test_damage_behind_older_lines_is_refused_with_its_place_and_salvaged(tmp_path: Path):
    front = older(1, "one") + b"junk\n" + older(2, kind="anchor", payload={"name": "A"})
    path = tmp_path / "t.jsonl"
    path.write_bytes(front)

    async def grow() -> None:
        async with FileTapeStore(tmp_path, on_finding=Ear()) as store:
            for text in ("three", "four", "five"):
                await store.append("t", note(text))

    async def look() -> None:
        async with FileTapeStore(tmp_path, on_finding=Ear()) as store:
            assert await told(store) == [(1, "one"), (2, "A"), (3, "three"), (4, "salvage.lost"), (5, "five")]
            assert [entry.id for entry in await store.fetch_all(TapeQuery(tape="t").last_anchor())] == [3, 4, 5]
            await store.append("t", note("six"))

    async def refused() -> None:
        async with FileTapeStore(tmp_path, on_finding=Ear()) as store:
            await told(store)

    anyio.run(grow)
    content = path.read_bytes()
    place = content.index(b"four")
    for flipped in (content.replace(b"four", b"fair"), content.replace(b',"~c":"', b',"-c":"', 2).replace(b',"-c":"', b',"~c":"', 1)):
        path.write_bytes(flipped)
        with pytest.raises(StoreDamaged) as caught:
            anyio.run(refused)
        assert content[: caught.value.details["offset"]].count(b"\n") == content[:place].count(b"\n")
        report = salvage(path)
        assert report.original is not None
        assert [loss.ids for loss in report.lost] == [(4, 4)]
        assert path.read_bytes().startswith(front)
        anyio.run(look)


def test_a_file_full_of_other_things_is_summed_up(tmp_path: Path):
    (tmp_path / "t.jsonl").write_bytes(b"no entry\n" * 1_000)
    heard: list[Finding] = []

    async def play() -> None:
        async with FileTapeStore(tmp_path, on_finding=heard.append) as store:
            assert await told(store) == []
            assert await store.list_tapes() == []
            await store.append("t", note("new"))
            assert await told(store) == [(1, "new")]

    anyio.run(play)
    assert len(heard) == 21
    assert "980 more lines" in heard[-1].what


def test_a_file_of_the_very_name_is_read_although_it_is_not_the_one_we_give(tmp_path: Path):
    (tmp_path / "MyTape.jsonl").write_bytes(older(1, "one"))

    async def play() -> None:
        async with FileTapeStore(tmp_path) as store:
            assert await store.list_tapes() == ["MyTape"]
            await store.append("MyTape", note("two"))
            assert await told(store, TapeQuery(tape="MyTape")) == [(1, "one"), (2, "two")]
            assert await store.head("mytape") == Head(0, 0)
            await store.append("mytape", note("other"))
            assert await store.list_tapes() == ["MyTape", "mytape"]

    anyio.run(play)
    assert sorted(path.name for path in tmp_path.glob("*.jsonl")) == ["MyTape.jsonl", "mytape.jsonl"]
