import pytest

from playhead.errors import InvalidInput
from playhead.prompt.budget import Budget


def test_a_budget_leaves_its_maximum_less_the_reserve():
    assert Budget(max_tokens=200_000, reserve_for_response=8_000).room == 192_000
    assert Budget().room == 96_000


@pytest.mark.parametrize("values", [{"max_tokens": 10, "reserve_for_response": 10}, {"max_tokens": 0}, {"max_tokens": -1}, {"max_tokens": 1.5}, {"max_tokens": True}, {"reserve_for_response": -1}])
def test_a_budget_without_room_or_of_another_type_is_refused(values):
    with pytest.raises(InvalidInput, match="budget"):
        Budget(**values)
