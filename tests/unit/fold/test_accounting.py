from playhead.fold.choosing import accounting
from playhead.fold.choosing.accounting import account, floor
from playhead.fold.resolvers.protocol import Item, Produce, Step
from tests.unit.fold.choosing import E_TREE, E, items_over


def test_what_is_shown_tiles_the_items_with_running_offsets():
    shown = account(E, ["L2-0", "L1-2"]).shown
    assert [(s.node, s.level, s.tokens, s.offset, s.start, s.stop) for s in shown] == [
        ("L2-0", 2, 50, 0, 0, 4),
        ("L1-2", 1, 40, 50, 4, 6),
        (None, 0, 100, 90, 6, 7),
        (None, 0, 100, 190, 7, 8),
        (None, 0, 100, 290, 8, 9),
        (None, 0, 100, 390, 9, 10),
    ]
    assert account(E, ["L2-0", "L1-2"]).tokens == 490


def test_without_a_choice_everything_costs_what_it_costs_now():
    assert account(E, []).tokens == accounting.total(E) == 1_000


def test_of_two_over_one_item_the_higher_counts_and_the_other_is_named():
    told = account(E, ["L1-0", "L2-0"])
    assert (told.nodes, told.unrealizable) == (("L2-0",), ("L1-0",))


def test_a_summary_over_something_fixed_and_one_over_nothing_cannot_be_shown():
    items = items_over([100] * 10, E_TREE, fixed=(2,))
    told = account(items, ["L2-0", "L1-0", "gone"])
    assert (told.nodes, told.unrealizable) == (("L1-0",), ("L2-0", "gone"))


def test_a_summary_whose_items_do_not_stand_together_cannot_be_shown():
    step = Step(node="n", level=1, tokens=5)
    items = [Item(first=i, last=i, level=0, tokens=10, above=(step,) if i != 2 else ()) for i in (1, 2, 3)]
    assert account(items, ["n"]).unrealizable == ("n",)


def test_the_floor_is_the_deepest_fold_and_what_stays_raw():
    least = floor(E)
    assert (least.tokens, least.nodes, least.protected_tokens) == (260, ("L3-0",), 200)
    assert [item.first for item in least.binding] == [9, 10]
    assert least.missing == ()


def test_the_floor_keeps_the_parts_where_their_summary_costs_as_much():
    items = items_over([20, 20, 20, 20], {"a": (1, 0, 2, 30), "b": (1, 2, 4, 30), "ab": (2, 0, 4, 60)})
    assert floor(items).nodes == ("a", "b")


def test_a_fixed_item_parts_the_summaries_that_the_floor_uses():
    least = floor(items_over([100] * 10, E_TREE, fixed=(2, 8, 9)))
    assert (least.tokens, least.nodes) == (490, ("L1-0", "L2-1"))
    assert [(item.first, item.is_fixed) for item in least.binding] == [(3, True), (4, False), (9, True), (10, True)]


def test_the_certificate_says_what_binds_and_what_would_help():
    items = items_over([100] * 6, {"a": (1, 0, 2, 40)}, fixed=(5,))
    assert floor(items).certificate(300) == {
        "floor_tokens": 440,
        "protected_tokens": 100,
        "required_additional_tokens": 140,
        "binding": [{"first": i, "last": i, "level": 0, "tokens": 100, "fixed": i == 6} for i in (3, 4, 5, 6)],
        "missing_levels": [1],
        "suggestion": "let tick() or drain() write the summaries that are missing (entries 3 to 5 at level 1), or raise max_tokens by 140",
    }


def test_the_certificate_blames_what_is_protected_where_that_alone_is_too_much():
    suggestion = floor(E).certificate(150)["suggestion"]
    assert suggestion == "raise max_tokens by 110, set smaller windows, or unpin: what always stays raw is 200 tokens alone"


def test_the_certificate_names_the_budget_where_nothing_else_would_help():
    assert floor(E).certificate(250)["suggestion"] == "raise max_tokens by 10, or unpin something"
    assert floor(E).certificate(260)["suggestion"] == "it fits, folded as far as it goes"


def test_the_certificate_lists_the_dearest_items_only():
    least = floor(items_over(range(1, 41), {}))
    assert [item["tokens"] for item in least.certificate(0)["binding"]] == list(range(40, 30, -1))


def test_summaries_side_by_side_lack_one_above_them():
    items = items_over([100] * 4, {"a": (1, 0, 2, 40), "b": (1, 2, 4, 40)})
    assert floor(items).missing == (Produce(level=2, first=1, last=4),)
