from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.importers.tree import ABANDONED, MAIN, SIDECHAIN, Sort, Tree


def tree(*records: tuple[Any, ...]) -> Tree:
    made = Tree()
    for sort, key, parent, *more in records:
        fields = more[0] if more else {}
        made.add(sort=sort, key=key, parent=parent, **fields)
    return made


def branches(*records: tuple[Any, ...]) -> list[int]:
    return list(tree(*records).branches())


P, T, R, N, L = Sort.PROMPT, Sort.TURN, Sort.RESULT, Sort.NOTE, Sort.LINK


def test_a_straight_conversation_is_all_main() -> None:
    assert branches((P, 1, 0), (T, 2, 1), (P, 3, 2), (T, 4, 3)) == [MAIN] * 4


def test_a_rewound_prompt_is_abandoned_with_all_that_followed_it() -> None:
    assert branches((P, 1, 0), (T, 2, 1), (P, 3, 2), (T, 4, 3), (P, 5, 2), (T, 6, 5)) == [MAIN, MAIN, ABANDONED, ABANDONED, MAIN, MAIN]


def test_links_between_messages_are_followed_and_never_abandoned() -> None:
    assert branches((L, 1, 0), (P, 2, 1), (L, 3, 2), (T, 4, 3), (L, 5, 4)) == [MAIN] * 5


def test_a_late_progress_record_does_not_move_the_main_line() -> None:
    assert branches((P, 1, 0), (T, 2, 1), (P, 3, 2), (L, 4, 1)) == [MAIN] * 4


def test_results_beside_the_path_belong_to_the_turn_that_called() -> None:
    turn = {"group": 7}
    found = branches((P, 1, 0), (T, 2, 1, turn), (T, 3, 2, turn), (R, 4, 2, turn), (R, 5, 3, turn), (T, 6, 4))
    assert found == [MAIN] * 6


def test_an_abandoned_turn_takes_its_results_along() -> None:
    old, new = {"group": 7}, {"group": 8}
    found = branches((P, 1, 0), (T, 2, 1, old), (R, 3, 2, old), (P, 4, 0, {"session": 1}), (P, 5, 1), (T, 6, 5, new), (R, 7, 6, new))
    assert found == [MAIN, ABANDONED, ABANDONED, ABANDONED, MAIN, MAIN, MAIN]


def test_notes_that_hang_on_such_results_stay_with_them() -> None:
    turn = {"group": 7}
    assert branches((P, 1, 0), (T, 2, 1, turn), (T, 3, 2, turn), (R, 4, 2, turn), (N, 5, 4), (R, 6, 3, turn), (T, 7, 6)) == [MAIN] * 7


def test_notes_behind_the_newest_record_are_shown() -> None:
    assert branches((P, 1, 0), (T, 2, 1), (N, 3, 2), (N, 4, 3)) == [MAIN] * 4


def test_a_sidechain_stands_apart() -> None:
    side = {"side": True}
    assert branches((P, 1, 0), (T, 2, 1), (P, 3, 0, side), (T, 4, 3, side), (R, 5, 2)) == [MAIN, MAIN, SIDECHAIN, SIDECHAIN, MAIN]


def test_a_file_with_a_sidechain_alone_shows_it() -> None:
    side = {"side": True}
    assert branches((P, 1, 0, side), (L, 2, 1, side), (T, 3, 2, side)) == [MAIN] * 3


def test_a_lost_parent_does_not_cut_the_conversation() -> None:
    assert branches((P, 1, 0), (T, 2, 1), (P, 3, 99), (T, 4, 3)) == [MAIN] * 4


def test_records_that_link_nothing_are_one_conversation() -> None:
    assert branches((P, 1, 0), (T, 2, 0), (P, 3, 0)) == [MAIN] * 3


def test_a_rewind_to_the_first_prompt_abandons_all_before() -> None:
    session = {"session": 5}
    assert branches((P, 1, 0, session), (T, 2, 1, session), (P, 3, 0, session)) == [ABANDONED, ABANDONED, MAIN]


def test_a_session_that_was_joined_to_another_abandons_nothing() -> None:
    assert branches((P, 1, 0, {"session": 5}), (T, 2, 1, {"session": 5}), (P, 3, 0, {"session": 6})) == [MAIN] * 3


def test_a_compaction_is_a_step_of_the_main_line() -> None:
    summed = {"group": 3}
    assert branches((P, 1, 0), (T, 2, 1), (Sort.BOUNDARY, 3, 0, summed), (Sort.SUMMARY, 4, 3, summed), (P, 5, 4)) == [MAIN] * 5


def test_a_circle_of_parents_ends() -> None:
    assert branches((P, 1, 2), (T, 2, 1), (P, 3, 3)) == [MAIN] * 3


def test_a_parent_that_comes_later_is_found() -> None:
    assert branches((T, 2, 1), (P, 1, 0), (P, 4, 2), (P, 3, 2)) == [MAIN, MAIN, ABANDONED, MAIN]


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from([P, T, R, N, L]), st.integers(0, 12), st.integers(0, 12), st.integers(0, 3), st.booleans()), min_size=1, max_size=25))
def test_any_records_have_a_place_each_and_the_newest_step_is_shown(rows: list[tuple[Sort, int, int, int, bool]]) -> None:
    made = tree(*((sort, key, parent, {"group": group, "side": side}) for sort, key, parent, group, side in rows))
    found = list(made.branches())
    assert len(found) == len(rows)
    steps = [i for i, (sort, *_, side) in enumerate(rows) if sort > N and (made.shown_side or not side)]
    assert not steps or found[steps[-1]] == MAIN
    assert all((found[i] == SIDECHAIN) == (row[4] and not made.shown_side) for i, row in enumerate(rows))


@settings(deadline=None)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=40))
def test_the_main_line_is_the_path_of_parents(up: list[int]) -> None:
    parents = [min(u, i) for i, u in enumerate(up)]
    made = tree(*((P, i + 1, parent) for i, parent in enumerate(parents)))
    path, place = set[int](), len(parents)
    while place:
        path.add(place)
        place = parents[place - 1]
    root = min(path)
    linked = root > 1 and parents[root - 2] != 0
    found = list(made.branches())
    assert {i + 1 for i, b in enumerate(found) if b == MAIN and i + 1 >= root} == path
    assert not linked or all(b == ABANDONED for b in found[: root - 1])
