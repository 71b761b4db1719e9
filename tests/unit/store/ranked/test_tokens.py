import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.store.ranked.grammar import GRAMMAR, is_grammar
from playhead.store.ranked.places import places
from playhead.store.ranked.stemming import LONGEST_ENDING, forms, stem
from playhead.store.ranked.tokens import LONGEST, OPAQUE, asked, terms


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("My VPN drops!", ["my", "vpn", "drop"]),
        ("ERR_TIMEOUT-42 at src/store.py:17", ["err", "timeout", "42", "at", "src", "stor", "py", "17"]),
        ("getUserName", ["getusernam", "get", "user", "nam"]),
        ("XML iPhone OAuth URLs", ["xml", "iphon", "phon", "oauth", "url"]),
        ("Melanie's isn’t l'eau", ["melani", "isn", "l", "eau"]),
        ("Café Ünïcode ЁЖ Straße", ["caf", "unicod", "еж", "strass"]),
        ("你好 世", ["你", "好", "你好", "世"]),
        ("用Python编程", ["用", "python", "编", "程", "编程"]),
        ("한국어", ["한", "국", "어", "한국", "국어"]),
        ("ＡＢＣ①", ["abc1"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("\ud800x🎉 --- \n", ["x"]),
        ("", []),
    ],
)
def test_a_text_is_found_by_its_words(text, found):
    assert list(terms(text)) == found


def test_encoded_bytes_are_no_words_and_long_words_count_by_their_beginning():
    assert list(terms(f"before {'iVBORw0+' * (OPAQUE // 8)} after")) == ["befor", "after"]
    assert list(terms("a" * 100)) == list(terms("a" * LONGEST)) == ["a" * LONGEST]
    assert all(len(term) <= LONGEST for term in terms("é" * 300))


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("What did Melanie paint?", ["melani", "paint"]),
        ("What is it?", ["what", "is", "it"]),
        ("the US market", ["us", "market"]),
        ("WHAT IS IT", ["what", "is", "it"]),
        ("paint painting Paints", ["paint"]),
        ("你好", ["你好"]),
        ("猫", ["猫"]),
        ("!?", []),
    ],
)
def test_a_query_asks_for_what_it_is_about(query, wanted):
    assert list(asked(query)) == wanted


def test_what_a_query_asks_for_is_found_by_the_text_itself():
    for text in ("getUserName", "Straße 你好", "ＡＢＣ", "Melanie's", "ひらがなカタカナ", "สวัสดี"):
        assert set(asked(text)) <= set(terms(text))


@pytest.mark.parametrize(
    "family",
    [
        ("make", "makes", "making"),
        ("stop", "stops", "stopped", "stopping"),
        ("class", "classes"),
        ("city", "cities"),
        ("try", "tries", "tried", "trying"),
        ("database", "databases"),
        ("agree", "agrees", "agreed", "agreeing"),
        ("quick", "quickly"),
        ("status",),
        ("box", "boxes", "boxed"),
    ],
)
def test_forms_of_a_word_share_their_stem(family):
    assert len({stem(word) for word in family}) == 1, [stem(word) for word in family]


@given(st.text("aeglsy", min_size=1, max_size=5), st.sampled_from(["", "ed", "ing", "ly", "edly", "ingly", "ied", "d"]), st.sampled_from(["", "s", "es", "ies"]))
def test_every_word_is_among_the_forms_of_its_stem(front, suffix, plural):
    word = front + suffix + plural
    assert word in set(forms(stem(word), range(len(word), len(word) + 1)))
    assert len(word) - len(stem(word)) <= LONGEST_ENDING


def test_other_words_keep_stems_of_their_own():
    words = ["thing", "bring", "sing", "bed", "red", "need", "this", "bus", "gas", "analysis", "process", "ping", "us", "is"]
    assert len({stem(word) for word in words}) == len(words)


def test_words_of_grammar_are_small_and_each_is_left_out():
    assert all(word == word.lower() and word.isascii() for word in GRAMMAR)
    assert is_grammar("The") and not is_grammar("IT") and is_grammar("I")


@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        ("The gateways were restarted", "restart gateway", ["gateways", "restarted"]),
        ("黑猫警长", "警长", ["警长"]),
        ("The database timed out", "databse", ["database"]),
        ("Nothing of it", "gateway", []),
        ("see getUserName()", "name", ["getUserName"]),
        ("Café", "cafe", ["Café"]),
        ("My Café, my ticket", "caffé picket", ["Café", "ticket"]),
        ("They were filtering", "filtreigng", ["filtering"]),
        ("Всем привет", "ривет", ["привет"]),
    ],
)
def test_places_are_where_the_words_stand(text, query, found):
    assert [text[start:stop] for start, stop in places(text, query)] == found
