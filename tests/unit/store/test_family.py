import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.errors import InvalidInput
from playhead.store.family import Kin, branch_name, kin_of, sidecar_name

names = st.text("ab_/é", min_size=1, max_size=8)
pieces = st.lists(st.sampled_from(["a", "_", "__", "branch", "sidecar", "__branch__", "__sidecar__"]), min_size=1, max_size=6).map("".join)


@pytest.mark.parametrize(
    ("name", "kin"),
    [
        ("support/42", Kin("support/42")),
        ("support/42__branch__trial", Kin("support/42", "trial")),
        ("support/42__sidecar__spill", Kin("support/42", None, "spill")),
        ("support/42__branch__trial__sidecar__spill", Kin("support/42", "trial", "spill")),
        ("a__b", Kin("a__b")),
        ("demo-user", Kin("demo-user")),
        ("__branch__x", Kin("__branch__x")),
        ("x__sidecar__", Kin("x__sidecar__")),
    ],
)
def test_a_name_says_what_a_tape_is(name, kin):
    assert kin_of(name) == kin and kin.name == name


@given(names | pieces, names | pieces, names | pieces)
def test_a_name_that_is_given_reads_back_or_is_refused(tape, label, name):
    try:
        branch = branch_name(tape, label)
        side = sidecar_name(branch, name)
    except InvalidInput:
        return
    assert kin_of(branch) == Kin(kin_of(tape).root, label)
    assert kin_of(side) == Kin(kin_of(tape).root, label, name)


@pytest.mark.parametrize("tape", ["t__branch", "t__sidecar"])
def test_a_root_whose_branches_would_read_as_anothers_is_refused(tape):
    with pytest.raises(InvalidInput, match="does not end in"):
        (branch_name if "branch" in tape else sidecar_name)(tape, "b")


def test_a_sidecar_has_no_sidecars():
    with pytest.raises(InvalidInput, match="a sidecar itself"):
        sidecar_name("t__sidecar__a", "b")
