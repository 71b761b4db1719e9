"""Words of English grammar: they say how a question is put, not what it is about."""

from __future__ import annotations

_ARTICLES = "a an the"
_PRONOUNS = "i me my mine myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it its itself they them their theirs themselves"
_POINTERS = "this that these those here there such"
_QUESTIONS = "who whom whose which what when where why how"
_AUXILIARIES = "am is are was were be been being do does did done doing have has had having will would shall should can could might must"
_PREPOSITIONS = "of in on at by for with from to into onto about between through during before after above below over under"
_CONJUNCTIONS = "and or but nor so if because as than then while until although though"
_QUANTITIES = "any some all both each few more most other another only own same very too also just not no"
_CUT_OFF = "ain aren couldn didn doesn don hadn hasn haven isn mustn shan shouldn wasn weren won wouldn ll ve re"

_CLASSES = (_ARTICLES, _PRONOUNS, _POINTERS, _QUESTIONS, _AUXILIARIES, _PREPOSITIONS, _CONJUNCTIONS, _QUANTITIES, _CUT_OFF)
GRAMMAR = frozenset(word for words in _CLASSES for word in words.split())
"""Words that a query leaves out where it has others, in small letters."""


def is_grammar(word: str) -> bool:
    """Return whether a word, as it is written, is one of grammar; in capital letters, such as US and IT, it is a name."""
    return word.lower() in GRAMMAR and not (len(word) > 1 and word.isupper())
