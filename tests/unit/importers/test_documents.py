import json
from io import BytesIO
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.importers.documents import DocumentReader
from playhead.importers.lines import Raw

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def read(body: bytes, **sizes: int) -> list[Raw]:
    return list(DocumentReader(BytesIO(body), size=len(body), lists={"messages"}, **sizes))


@settings(deadline=None)
@given(st.lists(VALUES, max_size=6), st.sampled_from([None, 0, 2]), st.booleans(), st.integers(1, 30))
def test_the_elements_of_a_list_are_read_whatever_its_spelling(values: list[Any], indent: int | None, ascii: bool, chunk: int) -> None:
    found = read(json.dumps(values, indent=indent, ensure_ascii=ascii).encode(), chunk=chunk)
    assert [json.loads(r.body) for r in found] == values
    assert [r.position for r in found] == list(range(len(values)))


@settings(deadline=None)
@given(VALUES, st.lists(VALUES, max_size=4), VALUES, st.integers(1, 30))
def test_members_beside_the_list_come_with_their_key(before: Any, values: list[Any], after: Any, chunk: int) -> None:
    found = read(json.dumps({"a": before, "messages": values, "b": after}).encode(), chunk=chunk)
    assert [(r.member, json.loads(r.body)) for r in found] == [("a", before), *((None, v) for v in values), ("b", after)]


@settings(deadline=None)
@given(st.lists(VALUES, min_size=1, max_size=5), st.data())
def test_of_a_broken_document_nothing_is_lost(values: list[Any], data: st.DataObject) -> None:
    body = bytearray(json.dumps({"a": values[0], "messages": values}).encode())
    place = data.draw(st.integers(0, len(body) - 1))
    body[place : place + 1] = data.draw(st.sampled_from([b"", b'"', b"[", b"}", b"\\", b",", b"\0"]))
    found = read(bytes(body), chunk=data.draw(st.integers(1, 30)), limit=data.draw(st.integers(5, 200)))
    structure = sum(body.count(mark) for mark in (b"[", b"]", b"{", b"}", b",", b":", b" ")) + len(b'"messages""a"')
    keys = sum(12 * len(r.member) + 2 for r in found if r.member)
    assert sum(len(r.body) for r in found) + structure + keys >= len(body)


def test_an_element_says_on_which_line_it_starts() -> None:
    assert [(r.line, r.body) for r in read(b'[\n  {"a": "x\\n"},\n\n  {\n  "b": 2}\n]', chunk=3)] == [(2, b'{"a": "x\\n"}'), (4, b'{\n  "b": 2}')]


def test_an_element_above_the_limit_comes_in_parts_and_its_neighbours_whole() -> None:
    found = read(b'["a", "' + b"x" * 100 + b'", "b"]', limit=30, chunk=8)
    assert [r.body for r in found if not r.fault] == [b'"a"', b'"b"']
    assert b"".join(r.body for r in found if r.fault) == b'"' + b"x" * 100 + b'"'


def test_a_document_that_is_cut_off_says_so() -> None:
    for body in (b'[{"a": 1}', b'[{"a": 1},', b'{"messages": [{"a": 1}]', b'{"messages": [{"a": 1}'):
        found = read(body)
        assert [r.body for r in found if r.fault is None] == [b'{"a": 1}'], body
        assert [r.fault for r in found if r.fault] == ["the document ends before its list does"], body


def test_text_behind_a_document_is_kept() -> None:
    found = read(b"[1] and more")
    assert [(r.body, r.fault) for r in found] == [(b"1", None), (b"and more", "no JSON document from here on")]
