"""Parting: whatever a payload holds, its parts make it again, and say what they are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.entry import codec
from playhead.entry.frozen import FrozenDict, freeze_dict
from playhead.errors import BlobNotFound, InvalidInput, StoreDamaged
from playhead.store.blobs import digest_of, names_in
from playhead.store.parting import INLINE, LEAST, Parted, Whole, apart, checked_limit, is_parted, no_blob, parted, whole

LIMIT = 40
texts = st.text(st.characters(codec=None), max_size=60) | st.sampled_from(["x" * 41, "ä" * 21, "\ud83d" * 14, digest_of(b"x"), f"see {digest_of(b'y')}!"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=20,
)
payloads = st.dictionaries(texts | st.just("name"), values, max_size=5).map(freeze_dict)


def loader(parts: Parted) -> Any:
    kept = {piece.blob.digest: piece.data for piece in parts.pieces}
    return kept.__getitem__


def in_order(value: Any) -> Any:
    """Return a value in which the order of keys, and the types of numbers, count."""
    if isinstance(value, dict):
        return [(key, in_order(item)) for key, item in value.items()]
    return [in_order(item) for item in value] if isinstance(value, list) else (type(value), value)


def measured(value: Any) -> int:
    return len(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else len(codec.encode(value))


@given(payloads, st.integers(10, 200))
def test_parts_make_the_payload_again(payload: FrozenDict, limit: int):
    parts = parted(payload, limit=limit)
    assert is_parted(parts.body)
    assert in_order(whole(parts.body, loader(parts))) == in_order(payload)
    assert Whole(loader(parts), "it")(parts.body) == payload
    assert apart(parts.body) == (codec.decode(parts.payload), [piece.blob.digest for piece in parts.pieces])


@given(payloads)
def test_a_part_is_what_its_blob_says(payload: FrozenDict):
    for piece in parted(payload, limit=LIMIT).pieces:
        assert piece.blob.digest == digest_of(piece.data) and piece.blob.size == len(piece.data)
        assert piece.blob.mime in ("text/plain; charset=utf-8", "application/json")


@given(payloads)
def test_what_a_part_names_stands_beside_it(payload: FrozenDict):
    parts = parted(payload, limit=LIMIT)
    assert names_in(codec.encode(payload)) <= names_in(parts.body)
    assert names_in(parts.body) == names_in(codec.encode(payload)) | {piece.blob.digest for piece in parts.pieces}


@given(payloads)
def test_no_text_over_the_limit_stays_but_a_name(payload: FrozenDict):
    rest, _ = apart(parted(payload, limit=LIMIT).body)

    def check(value: Any, path: tuple[Any, ...]) -> None:
        if isinstance(value, str):
            assert measured(value) <= LIMIT or " bytes kept as sha256:" in value or path == ("name",)
        elif isinstance(value, (dict, list)):
            for key, item in value.items() if isinstance(value, dict) else enumerate(value):
                check(item, (*path, key))

    check(rest, ())


def test_a_payload_of_small_values_stays_in_one_piece():
    payload = freeze_dict({f"key {number}": "short" for number in range(50)})
    assert not parted(payload, limit=LIMIT).pieces


def test_texts_are_parted_by_themselves_and_lists_where_they_are_too_long_without_them():
    payload = freeze_dict({"a": ["x" * 41, "y"], "b": list(range(90)), "c": {"d": {"e": "z" * 50}}, "name": "n" * 90})
    rest, digests = apart(parted(payload, limit=300).body)
    assert (rest, digests) == (payload, [])
    parts = parted(payload, limit=LIMIT)
    assert [piece.data for piece in parts.pieces] == [codec.encode(payload["a"]), codec.encode(payload["b"]), codec.encode(payload["c"])]
    texts = parted(payload, limit=200)
    assert [piece.data for piece in texts.pieces] == [codec.encode(payload["b"])]
    long = parted(freeze_dict({"a": [{"text": "x" * 3_000}, "y"]}), limit=2_000)
    assert [piece.data for piece in long.pieces] == [b"x" * 3_000]
    assert codec.decode(long.payload) == {"a": [{"text": f"[3,000 bytes kept as {digest_of(b'x' * 3_000)}]"}, "y"]}
    assert codec.decode(long.moved) == [{"at": ["a", 0, "text"], "blob": digest_of(b"x" * 3_000), "as": "text"}]


def test_what_is_missing_or_damaged_is_told_with_the_entry():
    parts = parted(freeze_dict({"text": "x" * 41}), limit=LIMIT)
    with pytest.raises(StoreDamaged, match=r"part of entry 7 is kept as the blob sha256:[0-9a-f]{64}, which is not there; restore a backup") as caught:
        Whole(no_blob, "entry 7")(parts.body)
    assert caught.value.details["digest"] == parts.pieces[0].blob.digest
    assert isinstance(caught.value.__cause__, BlobNotFound)

    def damaged(digest: str) -> bytes:
        raise StoreDamaged("no", digest=digest)

    with pytest.raises(StoreDamaged, match="which is not as it was written"):
        Whole(damaged, "entry 7")(parts.body)


@pytest.mark.parametrize("body", [b"[]", b"[1,2,3]", b'[{"a":1},[{}]]', b'[{"a":1},[{"at":["b","c"],"blob":"x","as":"text"}]]', b'[{"a":1},5]', b"[{}"])
def test_a_body_that_says_nothing_of_its_parts_is_none(body: bytes):
    with pytest.raises(ValueError):
        whole(body, lambda _: b"x")


def test_a_limit_is_a_number_that_leaves_room_or_none():
    assert [checked_limit(limit) for limit in (None, LEAST, INLINE)] == [None, LEAST, INLINE]
    for limit in (0, LEAST - 1, -1, 1e6, "1000", True):
        with pytest.raises(InvalidInput, match="inline_limit"):
            checked_limit(limit)  # type: ignore[arg-type]
