"""What entries say may be kept in another form; everything else about a tape stays as it is."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.errors import StoreError
from playhead.store.file.store import FileTapeStore
from playhead.store.protocol import IDEMPOTENCY_KEY
from playhead.store.query import TapeQuery
from playhead.testing import StoreContract


class Packed:
    """Compresses."""

    def encode(self, said: bytes, /) -> str:
        return base64.b85encode(zlib.compress(said)).decode()

    def decode(self, text: str, /) -> bytes:
        return zlib.decompress(base64.b85decode(text))


class Shifted:
    """Hides what is said from a casual look, newlines and all."""

    def encode(self, said: bytes, /) -> str:
        return bytes(byte ^ 0x0A for byte in said).decode("latin-1")

    def decode(self, text: str, /) -> bytes:
        return bytes(byte ^ 0x0A for byte in text.encode("latin-1"))


class TestFileTapeStoreWithACodec(StoreContract):
    def open_store(self, place: Path) -> FileTapeStore:
        return FileTapeStore(place, durability="process", codec=Shifted())


def test_the_line_stays_json_and_says_nothing_of_what_was_said(tmp_path: Path):
    async def play() -> None:
        async with FileTapeStore(tmp_path, codec=Packed()) as store:
            await store.append_many("t", [TapeEntry.message({"role": "user", "content": "the secret\n"}, **{IDEMPOTENCY_KEY: "k"}), TapeEntry.anchor("a")])

    anyio.run(play)
    content = (tmp_path / "t.jsonl").read_bytes()
    assert b"secret" not in content
    found = [json.loads(line) for line in content.splitlines()]
    assert [(line["id"], line["kind"]) for line in found] == [(1, "message"), (2, "anchor")]
    assert all(isinstance(line["payload"], str) and isinstance(line["meta"], str) for line in found)


@pytest.mark.parametrize(("one", "other"), [(Packed(), None), (None, Packed()), (Packed(), Shifted())])
def test_the_wrong_codec_is_said_to_be_wrong(tmp_path: Path, one: Packed | None, other: Packed | None):
    async def play() -> None:
        async with FileTapeStore(tmp_path, codec=one) as store:
            await store.append("t", TapeEntry.event("e"))
        async with FileTapeStore(tmp_path, codec=other) as store:
            with pytest.raises(StoreError, match="the one it was written with"):
                await store.fetch_all(TapeQuery(tape="t"))

    anyio.run(play)


def test_lines_of_another_program_are_read_beside_encoded_ones(tmp_path: Path):
    (tmp_path / "t.jsonl").write_text('{"id":1,"kind":"event","payload":{"name":"old"},"meta":{}}\n')

    async def play() -> None:
        async with FileTapeStore(tmp_path, codec=Packed()) as store:
            await store.append("t", TapeEntry.event("new"))
            assert [entry.payload["name"] for entry in await store.fetch_all(TapeQuery(tape="t"))] == ["old", "new"]

    anyio.run(play)
