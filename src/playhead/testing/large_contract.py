"""Payloads that are too large for a row or a line, as tests that every store passes: nobody can tell how they are kept."""

from __future__ import annotations

from pathlib import Path

import anyio

from playhead.entry.entry import TapeEntry
from playhead.errors import KeyConflict
from playhead.store.blobs import digest_of
from playhead.store.change import MERGED, Append, Close, Fork, Reset
from playhead.store.family import branch_name, sidecar_name
from playhead.store.protocol import IDEMPOTENCY_KEY, WholeStore
from playhead.store.query import TapeQuery
from playhead.testing.stage import StoreStage, entry_of, equal, keyed, note, raising, whole

LARGE = 'Grüße, 日本語, 🙂 \\ "\n' * 15_000
"""More bytes than any store keeps in one piece where nothing else is said."""

TRIAL = branch_name("t", "trial")


def _payloads() -> list[dict[str, object]]:
    many = [{"n": number, "s": f"{number}" * 40, "f": number / 7, "ref": digest_of(b"%d" % number)} for number in range(1_900)]
    return [
        {"z": 1, "text": LARGE, "a": None},
        {"role": "user", "content": [{"type": "text", "text": LARGE}, {"type": "text", "text": "small"}, {"type": "image", "data": LARGE[::-1]}]},
        {"name": "many", "data": {"small": True, "many": many, "0": [[LARGE]], "half \ud83d": "\ud83d alone" * 40_000}},
        {f"field {number}": "x" * 300 for number in range(1_200)},
        {"text": "", "[1 bytes kept as nothing]": [[], {}, 10**40, -2.5e-10, 2**64]},
    ]


def _entries() -> list[TapeEntry]:
    return [entry_of("anchor" if payload.get("name") else "note", payload, meta={"uid": f"uid {number}"}) for number, payload in enumerate(_payloads())]


class LargeContract(StoreStage):
    """What is promised of any entry holds for one of any size."""

    def test_a_large_payload_is_read_back_as_it_was_appended(self, tmp_path: Path) -> None:
        """Value by value, and in the order of its keys."""

        async def scenario(store: WholeStore) -> None:
            entries = _entries()
            stored = [*await store.append_many("t", entries[:1]), *await store.append_many("t", entries[1:])]
            for kept in (stored, await whole(store, "t")):
                equal([entry.payload == made.payload for entry, made in zip(kept, entries, strict=True)], [True] * len(entries))
                equal([list(entry.payload) == list(made.payload) for entry, made in zip(kept, entries, strict=True)], [True] * len(entries))
                equal([(entry.id, entry.kind, entry.uid) for entry in kept], [(id, made.kind, made.uid) for id, made in enumerate(entries, 1)])
            (last,) = await store.fetch_all(TapeQuery(tape="t").newest_first().kinds("anchor").limit(1))
            equal(last.payload["data"]["many"][7] == entries[2].payload["data"]["many"][7], wanted=True)

        self.play(tmp_path, scenario)

    def test_a_large_entry_is_found_like_any_other(self, tmp_path: Path) -> None:
        """By kind, uid, anchor, and by what its payload says."""

        async def scenario(store: WholeStore) -> None:
            await store.append_many("t", [*_entries(), note(f"{LARGE} and the needle"), note("small")])
            query = TapeQuery(tape="t")
            equal([entry.id for entry in await store.fetch_all(query.query("the NEEDLE"))], [6])
            equal([entry.id for entry in await store.fetch_all(query.query("bytes kept as"))], [])
            equal([entry.id for entry in await store.fetch_all(query.after_anchor("many"))], [4, 5, 6, 7])
            equal({uid: entry.id for uid, entry in (await store.find("t", uids=["uid 1", "uid 3"])).items()}, {"uid 1": 2, "uid 3": 4})
            equal([await store.count(query), await store.count(query.query("alone"))], [7, 1])
            equal([hit.entry.id for hit in await store.search(query, "needle")], [6])

        self.play(tmp_path, scenario)

    def test_a_large_entry_with_a_key_is_kept_once(self, tmp_path: Path) -> None:
        """In one batch, at the same time, and later."""

        async def scenario(store: WholeStore) -> None:
            first = await store.append_many("t", [keyed(LARGE, "k"), keyed(LARGE, "k")])
            equal([entry.id for entry in first], [1, 1])
            async with anyio.create_task_group() as tasks:
                for _ in range(5):
                    tasks.start_soon(store.append_many, "t", [keyed(LARGE, "k"), keyed(LARGE + "2", "k2")])
            again = await store.append_many("t", [keyed(LARGE + "2", "k2"), keyed(LARGE, "k")])
            equal([entry.id for entry in again], [2, 1])
            equal([entry.payload["text"] == text for entry, text in zip(again, (LARGE + "2", LARGE), strict=True)], [True, True])
            with raising(KeyConflict):
                await store.append_many("t", [keyed(LARGE + "3", "k")])
            equal(len(await whole(store, "t")), 2)
            equal((await store.find("t", keys=["k"]))["k"].payload["text"] == LARGE, wanted=True)

        self.play(tmp_path, scenario)

    def test_large_entries_go_with_their_family(self, tmp_path: Path) -> None:
        """Through forks, merges, resets and other names."""

        async def scenario(store: WholeStore) -> None:
            side = sidecar_name("t", "s")
            await store.append_many("t", [note(LARGE)])
            await store.append_many(side, [note(LARGE + "side")])
            added = note(LARGE + "added", **{IDEMPOTENCY_KEY: "k"})
            await store.apply([Fork(tape=TRIAL, parent="t"), Append(tape=TRIAL, entries=[added, note("small")])])
            await store.apply([Append(tape="t", entries=(await whole(store, TRIAL))[1:]), Close(tape=TRIAL, outcome=MERGED)])
            await store.rename("t", "r")
            trial, side = branch_name("r", "trial"), sidecar_name("r", "s")
            for name, texts in (("r", ["", "added"]), (trial, ["", "added"]), (side, ["side"])):
                equal([entry.payload["text"].removeprefix(LARGE) for entry in await whole(store, name)][: len(texts)], texts, name)
            await store.apply([Reset(tape="r", entries=[note(LARGE + "new")])])
            equal([entry.payload["text"].removeprefix(LARGE) for entry in await whole(store, "r")], ["new"])
            equal([entry.payload["text"].removeprefix(LARGE) for entry in await whole(store, trial)], ["", "added", "small"])

        self.play(tmp_path, scenario)

    def test_large_payloads_are_there_when_the_store_is_opened_again(self, tmp_path: Path) -> None:
        """D1; an entry outlives the store that returned it."""
        seen: list[TapeEntry] = []

        async def before(store: WholeStore) -> None:
            await store.append_many("t", _entries())
            seen.extend(await whole(store, "t"))

        async def after(store: WholeStore) -> None:
            equal([entry.payload == made.payload for entry, made in zip(await whole(store, "t"), _entries(), strict=True)], [True] * len(seen))
            equal([entry.payload == made.payload for entry, made in zip(seen, _entries(), strict=True)], [True] * len(seen))

        self.play_again(tmp_path, before, after)
