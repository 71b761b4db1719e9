import random
from math import log

import pytest

from playhead.entry.entry import TapeEntry
from playhead.errors import InvalidInput
from playhead.store.query import TapeQuery
from playhead.store.ranked.answering import Question, answer, question_of
from playhead.store.ranked.bm25 import K1, B
from playhead.store.ranked.protocol import Stretch
from playhead.store.ranked.reading import length_code, length_of, read
from playhead.store.ranked.smoothing import GIVERS, SHARES
from playhead.store.ranked.tokens import asked
from playhead.store.ranked.typos import distance
from playhead.store.ranked.words import Words

LETTERS = [f"{one}{two}" for one in "abcdefghij" for two in "klmnop"]


def notes(seed, count):
    """Return texts of words some of which are a hundred times as frequent as others; some texts come more than once."""
    chance = random.Random(seed)
    weights = [1 / (rank + 1) for rank in range(len(LETTERS))]
    texts = [" ".join(chance.choices(LETTERS, weights, k=chance.choice((1, 3, 8, 40)))) for _ in range(count)]
    return [chance.choice(texts) if chance.random() < 0.1 else text for text in texts]


def entries(texts, kinds=("message",)):
    return [TapeEntry(0, kinds[n % len(kinds)], {"content": text}) for n, text in enumerate(texts)]


def words_of(found, before=0):
    words = Words(before=before)
    for entry in found:
        words.add(entry)
    return words


def by_definition(found, text):
    """Return the score of every entry that shares a term with a text, by id: BM25 as it is written down."""
    readings = [read(entry) for entry in found]
    lengths = [length_of(reading.document.length) for reading in readings]
    average = max(1.0, sum(lengths) / len(lengths))
    scores = {}
    for term in asked(text):
        holding = [reading.counts.get(term, 0) for reading in readings]
        frequency = sum(count > 0 for count in holding)
        weight = log(1 + (len(found) - frequency + 0.5) / (frequency + 0.5))
        for id, (count, length) in enumerate(zip(holding, lengths, strict=True), start=1):
            if count:
                scores[id] = scores.get(id, 0) + weight * count * (K1 + 1) / (count + K1 * (1 - B + B * length / average))
    return scores


def wanted(found, text, *, limit, kinds=("message",)):
    """Return the ids of the best entries of some kinds by definition, of equal payloads the first."""
    seen = {}
    scores = by_definition(found, text)
    for id in sorted(scores, key=lambda id: (-round(scores[id], 9), -id)):
        if found[id - 1].kind in kinds:
            seen.setdefault(found[id - 1].payload["content"], id)
    return list(seen.values())[:limit]


@pytest.mark.parametrize("seed", range(6))
def test_the_best_are_those_that_scoring_all_gives(seed):
    found = entries(notes(seed, 400))
    words = words_of(found)
    chance = random.Random(seed)
    for _ in range(25):
        text, limit = " ".join(chance.sample(LETTERS, k=chance.choice((1, 2, 5)))), chance.choice((1, 5, 20, 500))
        ranked = answer([Stretch(words, 1, len(found))], Question(text=text, within=range(1, len(found) + 1), limit=limit))
        assert [hit.id for hit in ranked] == wanted(found, text, limit=limit)
        scores = by_definition(found, text)
        assert all(abs(hit.score - scores[hit.id]) < 1e-9 for hit in ranked)


@pytest.mark.parametrize("smoothed", [False, True])
def test_parts_of_a_view_answer_as_one_index_of_it_does(smoothed):
    found = entries(notes(7, 300), kinds=("message", "event", "tool_result"))
    whole = words_of(found)
    parts = [words_of([*found[:100], *entries(notes(8, 50))]), words_of(found[100:220], before=100), words_of(found[220:], before=220)]
    chance = random.Random(9)
    for _ in range(60):
        end = chance.choice((130, 220, 300))
        stretches = [Stretch(part, part.before + 1, min(stop, end)) for part, stop in zip(parts, (100, 220, 300), strict=True) if part.before < end]
        within = range(chance.choice((1, 90)), end + 1)
        kinds = chance.choice((None, frozenset({"message"}), frozenset({"absent"})))
        question = Question(text=" ".join(chance.sample(LETTERS, k=3)), within=within, kinds=kinds, limit=chance.choice((3, 20)), smoothed=smoothed)
        ranked = answer(stretches, question)
        assert ranked == answer([Stretch(whole, 1, end)], question)
        assert all(hit.id in within and (kinds is None or found[hit.id - 1].kind in kinds) for hit in ranked)


def test_a_filter_leaves_the_scores_and_the_order_of_the_rest():
    found = entries(notes(3, 200), kinds=("message", "event", "note"))
    stretches = [Stretch(words_of(found), 1, 200)]
    scores = by_definition(found, "ak bl")
    for limit in (1, 4, 500):
        ranked = answer(stretches, Question(text="ak bl", within=range(1, 201), kinds=frozenset({"note"}), limit=limit))
        assert [hit.id for hit in ranked] == wanted(found, "ak bl", limit=limit, kinds=("note",))
        assert all(abs(hit.score - scores[hit.id]) < 1e-9 for hit in ranked)


def test_smoothing_adds_shares_of_the_neighbours_and_steps_over_events():
    texts = ["red", "green gate", "blue", "gate", "tick", "white", "black", "grey"]
    found = [TapeEntry(0, "event" if text == "tick" else "message", {"content": text}) for text in texts]
    stretches = [Stretch(words_of(found), 1, len(found))]
    plain = {hit.id: hit.score for hit in answer(stretches, Question(text="gate", within=range(1, 9)))}
    smooth = {hit.id: hit.score for hit in answer(stretches, Question(text="gate", within=range(1, 9), smoothed=True))}
    assert set(plain) == {2, 4} and set(smooth) == {1, 2, 3, 4, 6, 7}
    near, far = SHARES
    assert smooth[2] == plain[2] + far * plain[4] and smooth[4] == plain[4] + far * plain[2]
    assert smooth[3] == pytest.approx(near * (plain[2] + plain[4])) and smooth[1] == near * plain[2]
    assert smooth[6] == near * plain[4] and smooth[7] == far * plain[4]


def test_smoothing_is_the_same_however_many_are_asked_for():
    found = entries(notes(5, 600))
    stretches = [Stretch(words_of(found), 1, 600)]
    longest = answer(stretches, Question(text="ak bl", within=range(1, 601), limit=GIVERS, smoothed=True))
    for limit in (1, 7, 50):
        assert answer(stretches, Question(text="ak bl", within=range(1, 601), limit=limit, smoothed=True)) == longest[:limit]


def test_a_word_that_stands_nowhere_is_looked_for_with_typos():
    found = entries(["the database timed out", "a datum", "gateway gatewax", "Gateway restarted", "ERR_TIMEOUT"])
    stretches = [Stretch(words_of(found), 1, len(found))]

    def ids(text):
        return [hit.id for hit in answer(stretches, Question(text=text, within=range(1, 6)))]

    assert ids("databse") == ids("adtabase") == ids("xdatabase") == [1]
    assert ids("timeot") == [5] and ids("databse timeot") == [5, 1]
    assert ids("gateway") == [4, 3], "a word that stands there is not looked for with typos"
    assert ids("gatewey") == [4, 3] and ids("gatway") == [4, 3]
    assert ids("vpm") == ids("tmdt") == ids("absolutely") == []


def test_a_typo_is_found_wherever_it_stands_in_a_word():
    words = ["justice", "classes", "moving", "gates", "replied"]
    stretches = [Stretch(words_of(entries(words)), 1, len(words))]
    for id, word in enumerate(words, start=1):
        left_out = {word[:place] + word[place + 1 :] for place in range(len(word))}
        swapped = {word[:place] + word[place + 1] + word[place] + word[place + 2 :] for place in range(len(word) - 1)}
        changed = {word[:place] + "x" + word[place + 1 :] for place in range(len(word))}
        added = {word[:place] + "x" + word[place:] for place in range(len(word) + 1)}
        for typo in left_out | swapped | changed | added:
            assert [hit.id for hit in answer(stretches, Question(text=typo, within=range(1, 6)))] == [id], typo


def typos_of(word, letter):
    """Return the words that one typo at each place makes of a word."""
    fronts = range(len(word) + 1)
    left_out = {word[:place] + word[place + 1 :] for place in fronts[:-1]}
    swapped = {word[:place] + word[place + 1] + word[place] + word[place + 2 :] for place in fronts[:-2]}
    changed = {word[:place] + letter + word[place + 1 :] for place in fronts[:-1]}
    return (left_out | swapped | changed | {word[:place] + letter + word[place:] for place in fronts}) - {word}


def found_alone(word, query):
    """Return whether an entry of one word is found by another."""
    return bool(answer([Stretch(words_of(entries([word])), 1, 1)], Question(text=query, within=range(1, 2))))


@pytest.mark.parametrize(
    ("word", "letter"),
    [
        *((word, "q") for word in ("packet", "socket", "ticket", "deadline", "applies", "unblocked", "coffee", "weakness", "Café", "łódź", "strøm")),
        ("Привет", "щ"),
        ("йогурт", "ё"),
        ("καλημέρα", "ψ"),
        ("հայաստան", "ք"),
        ("გამარჯობა", "ჰ"),
        ("شكرا", "ب"),
        ("שלום", "ת"),
        ("नमस्ते", "ख"),
        ("வணக்கம்", "ழ"),
        ("ሰላምታ", "ቀ"),
    ],
)
def test_a_typo_is_found_at_every_place_in_every_script(word, letter):
    missed = [typo for typo in sorted(typos_of(word, letter)) if len(typo) >= 4 and not found_alone(word, typo)]
    assert missed == []


@pytest.mark.parametrize("word", ["filtering", "previously", "challenged", "identities", "remembers", "перезагрузка"])
def test_two_typos_are_found_wherever_they_stand_behind_the_first_letters(word):
    letter = "q" if word.isascii() else "щ"
    twice = [other for once in sorted(typos_of(word, letter))[::7] for other in sorted(typos_of(once, letter))[::7] if len(other) >= 8 and word[0] in other[:2]]
    assert len(twice) > 10 and [typo for typo in twice if distance(typo, word, most=2) <= 2 and not found_alone(word, typo)] == []


def test_a_typo_weighs_less_than_the_word():
    found = entries(["timeout here", "timeouts there", "elsewhere"])
    stretches = [Stretch(words_of(found), 1, 3)]
    exact = answer(stretches, Question(text="timeout", within=range(1, 4)))
    near = answer(stretches, Question(text="timeot", within=range(1, 4)))
    assert [hit.id for hit in near] == [hit.id for hit in exact] and all(one.score * 0.5 == two.score for one, two in zip(exact, near, strict=True))


def test_lengths_are_told_by_a_byte_that_only_grows():
    codes = [length_code(length) for length in range(5_000)]
    assert codes == sorted(codes) and length_code(10**9) == 255
    for length, code in enumerate(codes):
        assert length_of(code) <= length < length_of(code) * 1.07 + 1
        assert length_code(length_of(code)) == code


def test_a_question_is_made_of_a_query():
    query = TapeQuery(tape="t").kinds("message").between_dates("2026-03-01", "2026-03-01").limit(3)
    question = question_of(query, "x", range(1, 5), smoothed=False)
    assert (question.kinds, question.limit) == (frozenset({"message"}), 3) and question.until - question.since == 86_400_000_000 - 1
    with pytest.raises(InvalidInput, match="leave out query"):
        question_of(query.query("x"), "x", range(1, 5), smoothed=False)
