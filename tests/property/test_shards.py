"""Laws of long messages: shards join to the text they were, cuts are where seams are worth most, and a body is one posting."""

import re
from itertools import pairwise

import anyio
from hypothesis import given
from hypothesis import strategies as st

from playhead.entry.entry import TapeEntry
from playhead.entry.message import Media, Text
from playhead.fold.choosing.shards import CHARS_PER_TOKEN, shards
from playhead.prompt.manager.bodies import goes_on
from playhead.prompt.manager.messages import MessageBook
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.bodies import messages

SNIPPETS = ["word ", "x" * 9, "\n", "\n\n", "# One\n", "### Three\n", "```py\n", "```\n", "Done. ", "はい。", "🎞", "\ud83c", "\udf9e", "e\u0301", "\r\n", "  ", "\t", "#", "`"]
texts = st.one_of(st.text(max_size=300), st.lists(st.sampled_from(SNIPPETS), max_size=120).map("".join))
sizes = st.integers(1, 12)


@given(texts, sizes)
def test_shards_join_to_the_text_and_are_neither_empty_nor_too_long(text, tokens):
    found, size = shards(text, tokens=tokens), tokens * CHARS_PER_TOKEN
    assert "".join(found) == text
    assert len(found) == 1 or len(text) > 2 * size
    if len(found) > 1:
        assert all(1 <= len(shard) <= size + size // 4 for shard in found)


@given(texts, sizes)
def test_no_cut_parts_the_halves_of_a_character(text, tokens):
    for one, other in pairwise(shards(text, tokens=tokens)):
        assert not ("\ud800" <= one[-1] <= "\udbff" and "\udc00" <= other[0] <= "\udfff")


def worth(text, at):
    """What a cut at a place of a text without code is worth, looked at by itself."""
    above, line = text[:at], text[at:].split("\n")[0]
    if above.endswith("\n"):
        heading = re.match(r" {0,3}(#{1,6})(\s|$)", line)
        if heading:
            return 100 if len(heading[1]) < 3 else 90
        return 50 if above.split("\n")[-2].strip() else 70
    if re.search(r"[.!?…][\"'”’»)\]]*\s+$", above) and not text[at].isspace() or re.search(r"[。！？]$", above) and not re.match(r"[。！？\s]", text[at]):
        return 30
    return 10 if above[-1].isspace() and not text[at].isspace() else 0


@given(st.lists(st.sampled_from([s for s in SNIPPETS if "`" not in s and not "\ud800" <= s[0] <= "\udfff"]), max_size=120).map("".join), sizes)
def test_every_cut_is_where_a_cut_is_worth_most(text, tokens):
    size, start = tokens * CHARS_PER_TOKEN, 0
    for shard in shards(text, tokens=tokens)[:-1]:
        near = {at: worth(text, at) for at in range(start + 1, start + size + 1)}
        far = {at: worth(text, at) for at in range(start + size + 1, min(len(text) - 1, start + size + size // 4) + 1)}
        if any(near.values()):
            expected = max(near, key=lambda at: (near[at], at))
        elif any(far.values()):
            expected = max(far, key=lambda at: (far[at], -at))
        else:
            expected = start + size
        assert start + len(shard) == expected
        start = expected


@given(st.lists(st.tuples(st.sampled_from(["long " * 30, "other\n" * 30, "short"]), st.booleans()), min_size=1, max_size=8))
def test_every_posting_is_a_body_of_its_own_and_reads_as_one_message_again(posts):
    picture = Media(kind="image", mime="image/png", url="https://example.org/a.png")

    async def main():
        tape = Tape(InMemoryTapeStore(), "t")
        book = MessageBook(tape, agent="Claude", shard_tokens=8)
        posted = [await book.add("User", [picture, Text(text=text)] if pictured else text) for text, pictured in posts]
        entries = await tape.query().all()
        starts = [entry.uid for before, entry in zip([None, *entries], entries, strict=False) if before is None or not goes_on(entry, before)]
        assert starts == [ids[0] for ids in posted]
        shown = list(messages(await tape.read()))
        assert [m.text for m in shown] == [text for text, _ in posts]
        assert [m.sources for m in shown] == posted
        assert [picture in m.parts for m in shown] == [pictured for _, pictured in posts]
        for ids in posted:
            whole = await book.body_places(ids[-1])
            assert [entry.uid for entry in entries if entry.id in whole] == list(ids)
        total = await book.count()
        for offset in range(total):
            page = await book.window(offset, 1, align_to_bodies=True)
            assert next(ids for ids in posted if page.messages[0].id in ids) == tuple(m.id for m in page.messages)
            assert entries[page.start].uid == page.messages[0].id

    anyio.run(main)


people = st.sampled_from(["User", "Alice", "Claude"])
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), people, st.sampled_from(["hello", "a long one " * 12])),
        st.tuples(st.just("edit"), st.integers(0, 40), st.sampled_from(["changed", "again"])),
        st.tuples(st.just("remove"), st.integers(0, 40)),
        st.tuples(st.just("range"), st.integers(0, 40), st.integers(0, 40)),
        st.tuples(st.just("event")),
    ),
    max_size=30,
)


class Model:
    """What the messages of a tape are: a list of (id, posting, participant, text)."""

    def __init__(self):
        self.rows = []

    def whole(self, first, last):
        """The rows from one to another, None where a long message would be cut."""
        inside = self.rows[first : last + 1]
        ends = self.rows[first - 1 : first] + self.rows[last + 1 : last + 2]
        return None if {row[1] for row in ends} & {row[1] for row in inside} else inside

    def edit(self, id, text):
        self.rows = [(row[0], row[1], row[2], text) if row[0] == id else row for row in self.rows]

    def remove(self, rows):
        self.rows = [row for row in self.rows if row not in rows]


async def step(model, book, tape, number, what, *rest):
    """Do one thing to the book and to the model of it."""
    rows = model.rows
    if what == "add":
        name, text = rest
        ids = await book.add(name, text)
        for id in ids:
            model.rows.append((id, number, name, (await book.get(id)).text))
        assert "".join(row[3] for row in model.rows[-len(ids) :]) == text
    elif what == "event":
        await tape.append(TapeEntry.event("noise"))
    elif rows:
        at = sorted(n % len(rows) for n in rest if isinstance(n, int))
        whole = model.whole(at[0], at[-1])
        (first, last) = (rows[at[0]][0], rows[at[-1]][0])
        is_short = sum(row[1] == rows[at[0]][1] for row in rows) == 1
        if what == "edit" and is_short:
            await book.edit(first, rest[1])
            model.edit(first, rest[1])
        elif what == "remove":
            body = [row for row in rows if row[1] == rows[at[0]][1]]
            await (book.remove(first) if is_short else book.remove_body(first))
            model.remove(body)
        elif what == "range" and whole is not None:
            assert await book.remove_range(last, first) == tuple(row[0] for row in whole)
            model.remove(whole)


@given(steps, st.integers(0, 12), st.integers(1, 12))
def test_a_book_reads_like_a_list_that_is_added_to_edited_and_cut(done, offset, limit):
    async def main():
        tape, model = Tape(InMemoryTapeStore(), "t"), Model()
        writer, reader = (MessageBook(tape, agent="Claude", shard_tokens=8) for _ in range(2))
        for number, each in enumerate(done):
            await step(model, writer, tape, number, *each)
            assert await reader.count() == len(model.rows)
        told = [(m.id, m.participant, m.text) for m in [m async for m in reader.all()]]
        assert told == [(id, name, text) for id, _, name, text in model.rows]
        page = await reader.window(offset, limit)
        assert [m.id for m in page.messages] == [row[0] for row in model.rows[offset : offset + limit]]
        assert page.total == len(model.rows)
        found = await reader.query(participant="Alice", limit=limit, reverse=True)
        assert [m.id for m in found.messages] == [row[0] for row in reversed(model.rows) if row[2] == "Alice"][:limit]
        assert found.total == sum(row[2] == "Alice" for row in model.rows)
        assert [m.text for m in messages(await tape.read())] == joined(model.rows)

    anyio.run(main)


def joined(rows):
    """The texts of messages, those of one posting as one."""
    postings = {}
    for _, number, _, text in rows:
        postings[number] = postings.get(number, "") + text
    return list(postings.values())


@given(st.lists(st.sampled_from(["a", "b " * 40]), min_size=1, max_size=6), st.data())
def test_what_a_branch_changes_shows_on_the_branch_alone(said, data):
    async def main():
        tape = Tape(InMemoryTapeStore(), "t")
        book = MessageBook(tape, agent="Claude")
        ids = [(await book.add("User", text))[0] for text in said]
        before = [m.message async for m in book.all()]
        branch = MessageBook(await tape.fork(), agent="Claude")
        chosen = data.draw(st.sampled_from(ids))
        await branch.edit(chosen, "changed")
        await branch.remove(chosen if data.draw(st.booleans()) else ids[0])
        assert [m.message async for m in book.all()] == before
        assert await branch.count() == len(ids) - 1

    anyio.run(main)
