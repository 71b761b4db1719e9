from io import BytesIO

from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.importers.lines import DEEPEST, Fault, LineReader, Raw, read_value


def lines(body: bytes, **sizes: int) -> list[Raw]:
    return list(LineReader(BytesIO(body), size=len(body), **sizes))


def test_a_line_is_numbered_as_an_editor_numbers_it() -> None:
    found = lines(b"\n one \n\r\n\ttwo\r\n")
    assert [(r.line, r.position, r.body) for r in found] == [(2, 0, b"one"), (4, 1, b"two")]


def test_a_byte_order_mark_is_no_part_of_the_first_line() -> None:
    assert [r.body for r in lines(b"\xef\xbb\xbf{}\n\xef\xbb\xbf{}")] == [b"{}", b"\xef\xbb\xbf{}"]


def test_the_last_line_needs_no_line_end() -> None:
    assert [r.body for r in lines(b"a\nb")] == [b"a", b"b"]


def test_only_the_bytes_that_were_there_at_the_start_are_read() -> None:
    assert [r.body for r in LineReader(BytesIO(b"a\nbcd\n"), size=4)] == [b"a", b"bc"]


def test_a_line_above_the_limit_comes_in_parts_and_its_neighbours_whole() -> None:
    found = lines(b"before\n" + b"x" * 100 + b"\nafter\n", limit=40, chunk=16)
    long = [r for r in found if r.fault]
    assert [(r.line, r.body) for r in found if not r.fault] == [(1, b"before"), (3, b"after")]
    assert b"".join(r.body for r in long) == b"x" * 100
    assert [r.part for r in long] == list(range(len(long)))
    assert [r.ends for r in long] == [False] * (len(long) - 1) + [True]
    assert {r.fault for r in long} == {"longer than 40 bytes"}


def test_parts_tear_no_character() -> None:
    body = "añ€😀".encode() * 30
    for chunk in range(4, 12):
        assert "".join(r.body.decode() for r in lines(body, limit=20, chunk=chunk)) == "añ€😀" * 30


@settings(deadline=None)
@given(st.lists(st.binary(max_size=60)), st.integers(1, 20), st.integers(1, 50))
def test_no_byte_but_white_space_is_lost(rows: list[bytes], chunk: int, limit: int) -> None:
    body = b"\n".join(rows)
    found = lines(body, chunk=chunk, limit=limit)
    kept = b"".join(r.body for r in found)
    assert kept.translate(None, b" \t\r\n") == body.removeprefix(b"\xef\xbb\xbf").translate(None, b" \t\r\n")


def test_what_is_no_json_value_is_a_fault_with_its_cause() -> None:
    deep = b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1)
    causes = {
        b'{"a": }': "no valid JSON",
        b'{"a": "\0"}': "a NUL byte",
        b'{"a": "\xff"}': "no valid UTF-8 at byte 7",
        b'{"a": "\xed\xa0\x80"}': "no valid UTF-8",
        b'{"a": NaN}': "NaN is no JSON number",
        b'{"a": -Infinity}': "-Infinity is no JSON number",
        b'{"a": 1e999}': "inf is no JSON number",
        deep: "nested deeper than",
        b"[" * 100_000: "nested deeper than",
        b"": "no valid JSON",
    }
    for body, cause in causes.items():
        value = read_value(body)
        assert isinstance(value, Fault), body[:40]
        assert cause in value.why


def test_values_at_the_edge_of_json_are_read() -> None:
    assert read_value(b"[" * DEEPEST + b"]" * DEEPEST) is not None
    assert not isinstance(read_value(b"[" * DEEPEST + b"]" * DEEPEST), Fault)
    assert read_value(b'{"a": "\\ud83d\\ude00 \\ud800"}') == {"a": "\U0001f600 \ud800"}
    assert read_value(b'{"a": 123456789012345678901234567890}') == {"a": 123456789012345678901234567890}


def test_values_are_frozen() -> None:
    value = read_value(b'{"a": [{"b": 1}]}')
    assert type(value).__name__ == "FrozenDict"
    assert type(value["a"][0]).__name__ == "FrozenDict"
