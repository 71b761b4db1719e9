from datetime import UTC, datetime

import pytest

from playhead.entry.message import Media, Message, Thinking, ToolCall, assistant, tool_result_message, user
from playhead.fold.extracting.identifiers import SEPARATOR, identifiers, index_within, merged_index
from playhead.fold.extracting.names import named_by, names_in
from playhead.fold.node import Node
from playhead.view.tokens import default_counter
from playhead.view.units import Unit

COUNTER = default_counter()
WHEN = datetime(2026, 3, 1, tzinfo=UTC)


def units(*turns: Message | str | tuple[Message, ...]) -> tuple[Unit, ...]:
    told = [(user(turn),) if isinstance(turn, str) else turn if isinstance(turn, tuple) else (turn,) for turn in turns]
    return tuple(Unit(kind="round" if len(t) > 1 else "message", messages=t, ids=(n,), uids=(f"u{n}",), tokens=10) for n, t in enumerate(told, start=1))


def called(tool: str, answer: str, **arguments: object) -> tuple[Message, ...]:
    return assistant(calls=[ToolCall(id="c", name=tool, arguments=arguments)]), tool_result_message("c", answer, name=tool)


def node(text: str = "", *index: str) -> Node:
    return Node(uid="n", id="L1-1", level=1, first=1, last=1, first_uid="u1", last_uid="u1", units=1, raw_tokens=1, text=text, index=index, since=WHEN, until=WHEN, created=WHEN)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("open src/app/main.py, please", ["src/app/main.py"]),
        ("see (lib/a_b/live.ex:42:7).", ["lib/a_b/live.ex"]),
        ("run tests/test_a.py::TestLogin::test_expired_token", ["tests/test_a.py", "TestLogin::test_expired_token"]),
        ("+++ b/pkg/store.go", ["pkg/store.go"]),
        (r"C:\work\notes\plan.docx", [r"C:\work\notes\plan.docx"]),
        ("~/.config/tool/settings.toml and ../shared/x.rs", ["~/.config/tool/settings.toml", "../shared/x.rs"]),
        ("the Makefile, .gitignore and README.md", ["Makefile", ".gitignore", "README.md"]),
        ("GET https://api.example.com/v1/orders?id=7.", ["https://api.example.com/v1/orders?id=7"]),
        ("mail ana.lima@example.org", ["ana.lima@example.org"]),
        ("at 10.0.0.12:8080 or localhost:4000", ["10.0.0.12:8080", "localhost:4000"]),
        ("commit 4f9d2c1b, then f47ac10b-58cc-4372-a567-0e02b2c3d479", ["4f9d2c1b", "f47ac10b-58cc-4372-a567-0e02b2c3d479"]),
        ("PROJ-123 broke with E0308 (#77), order W2199A, gpt-4o", ["PROJ-123", "E0308", "#77", "W2199A", "gpt-4o"]),
        ("call parse_header, readLine, HTTPServer and MAX_SIZE", ["parse_header", "readLine", "HTTPServer", "MAX_SIZE"]),
        ("Billing.Invoice.total/2 uses os.path.join", ["Billing.Invoice.total", "os.path.join"]),
        ('{"path": "a\\nsrc/x.py\\tfoo_bar"}', ["src/x.py", "foo_bar"]),
        ("请打开src/主页.py和report_2.csv，谢谢", ["report_2.csv"]),
        ("打开报告.docx。", ["打开报告.docx"]),
    ],
)
def test_what_stands_for_one_thing_is_named(text, named):
    found = list(names_in(text))
    assert [name for name in named if name not in found] == []


@pytest.mark.parametrize(
    "text",
    ["and/or", "I/O", "24/7", "1/2", "2024/05/01", "application/json", "e.g.", "end.Then", "v1.2.3", "state-of-the-art", "Hello, World!", "</div>", "#666", "don't", "...", "x = y.z", "3.14", "🎉"],
)
def test_what_only_looks_like_a_name_is_none(text):
    assert dict(names_in(text)) == {}


def test_a_name_is_counted_as_often_as_it_stands_there():
    assert names_in("a.py b.py a.py") == {"a.py": 2, "b.py": 1}


@pytest.mark.parametrize("word", ["/", "//", ".", "..", "-", "::", "a" * 500, "a/" * 300, "_", "__", "\\", "@", "\ud800", "é.", "报告"])
def test_odd_words_name_nothing(word):
    assert named_by(word) == ()


def test_what_was_named_last_comes_first():
    assert identifiers(units("old.py", "middle.py", "new.py")) == ("new.py", "middle.py", "old.py")


def test_what_was_named_often_comes_before_what_was_named_once_a_little_later():
    assert identifiers(units("often.py", "often.py", "often.py", "often.py", "once.py", "often.py", "-"))[0] == "often.py"


def test_files_come_before_other_names_of_their_age():
    assert identifiers(units("parse_header parse_body store.py")) == ("store.py", "parse_body", "parse_header")


def test_what_a_tool_is_given_comes_before_what_a_long_output_lists():
    listing = "\n".join(f"src/part_{n}/file_{n}.py" for n in range(400))
    assert identifiers(units(called("read", listing, path="src/used.py")))[0] == "src/used.py"


def test_the_names_of_a_tools_inputs_are_the_tools_and_not_named():
    assert identifiers(units(called("edit", "", file_path="a.py", old_string="x"))) == ("a.py",)


def test_the_inner_values_of_inputs_are_named():
    assert set(identifiers(units(called("shell", "", command=["cat", "a.py"], env={"deep": ["b.py"]})))) == {"a.py", "b.py"}


def test_media_are_named_and_reasoning_is_not():
    message = assistant((Thinking(text="look at secret.py"), Media(kind="document", name="plan.pdf"), Media(kind="image", url="https://img.example.com/x.png")))
    assert set(identifiers(units(message))) == {"plan.pdf", "https://img.example.com/x.png"}


def test_a_file_named_with_fewer_folders_is_there_once_with_most_of_them():
    assert identifiers(units("main.py", "app/main.py", "/home/ana/shop/app/main.py", "../app/main.py")) == ("/home/ana/shop/app/main.py",)


def test_a_name_without_folders_counts_for_the_file_that_is_needed_most():
    found = identifiers(units("a/main.py", "b/main.py", "main.py"))
    assert set(found) == {"a/main.py", "b/main.py"}


def test_nothing_is_named_by_nothing():
    assert identifiers(()) == ()
    assert merged_index(()) == ()
    assert index_within((), tokens=100, counter=COUNTER) == ()


def test_what_fits_is_named_in_full():
    names = ("/home/ana/shop/app/main.py", "parse_header")
    assert index_within(names, tokens=100, counter=COUNTER) == names


def test_where_not_all_fits_files_go_by_their_own_name():
    names = tuple(f"/home/ana/shop/app/parts/part_{n}.py" for n in range(40))
    found = index_within(names, tokens=200, counter=COUNTER)
    assert found == tuple(f"part_{n}.py" for n in range(len(found)))
    assert len(found) > 20


def test_files_of_one_name_are_told_apart_by_a_folder():
    names = ("/home/ana/shop/app/index.ts", "/home/ana/shop/api/index.ts", "/home/ana/one/deep/er/x.ts", "/home/ana/two/deep/er/x.ts", *(f"/home/ana/long/name_{n}.ts" for n in range(60)))
    assert index_within(names, tokens=60, counter=COUNTER)[:4] == ("app/index.ts", "api/index.ts", "one/…/x.ts", "two/…/x.ts")


def test_a_file_that_few_know_by_its_ending_keeps_a_folder():
    names = ("/home/ana/deps/otel/span.erl", *(f"/home/ana/long/name_{n}.ts" for n in range(60)))
    assert index_within(names, tokens=40, counter=COUNTER)[0] == "otel/span.erl"


@pytest.mark.parametrize("tokens", [0, 1, 2, 7, 50, 400])
def test_a_list_never_costs_more_than_it_may(tokens):
    names = tuple(f"src/part_{n}/Some{n}Thing.py" for n in range(200))
    found = index_within(names, tokens=tokens, counter=COUNTER)
    assert COUNTER.count(SEPARATOR.join(found)) <= tokens
    assert bool(found) == (tokens >= 7)


def test_lists_are_merged_newest_first_each_name_once():
    assert merged_index((node("", "old.py", "app/both.py"), node("", "both.py", "new.py"))) == ("app/both.py", "new.py", "old.py")


def test_what_only_the_words_of_a_summary_name_is_merged_too():
    assert merged_index((node("User: keep config.toml as it is", "a.py"),)) == ("a.py", "config.toml")
