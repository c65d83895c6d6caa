"""Cut points and the states between them."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from table_equality import assert_same, labels_of

from consilience.data.discretize import (
    MDLP,
    Cuts,
    EqualWidth,
    Quantiles,
    discretize,
    interval_labels,
)
from consilience.data.mdlp import mdl_cut_points
from consilience.data.read import read
from consilience.data.variable import Variable
from consilience.errors import DataError, InputError, UnknownNameError


def cuts_of(choice, values, weights=None, target=None):
    values = np.array(values, dtype=np.float64)
    weights = np.ones(len(values)) if weights is None else np.array(weights, dtype=np.float64)
    return choice.cut_points(values, weights, target)


def test_equal_width_cuts_at_equal_distances():
    assert cuts_of(EqualWidth(4), [0, 1, 8]) == (2, 4, 6)


def test_quantiles_split_the_rows_evenly():
    assert cuts_of(Quantiles(4), range(100)) == (25, 50, 75)


def test_quantiles_of_many_equal_values_are_merged():
    assert cuts_of(Quantiles(4), [0] * 80 + [1] * 10 + [2] * 10) == (1,)
    assert cuts_of(Quantiles(3), [0, 0, 0, 5, 5, 5]) == (5,)


def test_quantiles_count_weights_as_rows():
    assert cuts_of(Quantiles(2), [1, 2, 3, 4], [9, 1, 1, 1]) == (2,)


@pytest.mark.parametrize("choice", [EqualWidth(3), Quantiles(3)])
@pytest.mark.parametrize("values", [[], [2.5], [2.5, 2.5]])
def test_without_two_values_there_is_nothing_to_cut(choice, values):
    assert cuts_of(choice, values) == ()


numbers = st.lists(st.one_of(st.floats(-1e308, 1e308), st.integers(-5, 5)), min_size=1, max_size=30)


@given(numbers, st.integers(2, 6))
def test_cut_points_increase_and_leave_no_empty_end(values, bins):
    for choice in (EqualWidth(bins), Quantiles(bins)):
        cuts = cuts_of(choice, values)
        assert len(cuts) < bins
        assert all(a < b for a, b in pairwise(cuts))
        assert all(min(values) < cut <= max(values) for cut in cuts)
        labels = interval_labels(cuts)
        assert len(set(labels)) == len(cuts) + 1


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(2, 4))
def test_no_quantile_interval_is_empty_and_each_cut_is_nearest_to_its_share(values, bins):
    cuts = cuts_of(Quantiles(bins), values)
    codes = np.searchsorted(cuts, values, side="right")
    assert set(codes) == set(range(len(cuts) + 1))
    below = {v: np.mean(np.array(values) < v) for v in sorted(set(values))[1:]}
    nearest = {
        share: min(abs(b - share) for b in below.values()) if below else None
        for share in (k / bins for k in range(1, bins))
    }
    for share, distance in nearest.items():
        assert distance is None or any(abs(below[c] - share) <= distance + 1e-12 for c in cuts)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 3), st.integers(0, 2)), min_size=1))
def test_a_weight_of_two_equals_two_rows(rows):
    values, weights, target = map(np.array, zip(*rows, strict=True))
    again = [np.repeat(column, weights) for column in (values, target)]
    for choice in (EqualWidth(3), Quantiles(3), MDLP("t")):
        weighted = cuts_of(choice, values, weights, target)
        assert weighted == cuts_of(choice, again[0], None, again[1])


@pytest.mark.parametrize(
    ("cuts", "labels"),
    [
        ((), ("any",)),
        ((120.0,), ("<120", ">=120")),
        ((120.0, 140.0), ("<120", "[120, 140)", ">=140")),
        ((0.1 + 0.2, 0.7), ("<0.3", "[0.3, 0.7)", ">=0.7")),
        ((1234567.0,), ("<1234567", ">=1234567")),
        ((1 / 3,), ("<0.333333", ">=0.333333")),
        ((1.0000001, 1.0000002), ("<1.0000001", "[1.0000001, 1.0000002)", ">=1.0000002")),
        (
            (0.1, 0.10000000000000002),
            ("<0.1", "[0.1, 0.10000000000000002)", ">=0.10000000000000002"),
        ),
        ((-0.5, 0.0), ("<-0.5", "[-0.5, 0)", ">=0")),
    ],
)
def test_labels_are_short_and_tell_the_intervals_apart(cuts, labels):
    assert interval_labels(cuts) == labels


def test_intervals_are_closed_on_the_left():
    table = read({"x": [119.9, 120, 140, None]}, discretize={"x": Cuts([120, 140])})
    assert labels_of(table, "x") == ["<120", "[120, 140)", ">=140", None]
    assert table.variables["x"].cuts == (120, 140)
    assert table.variables["x"].ordered
    assert table.origins["x"] == "discretised by Cuts(120, 140)"


def test_cut_points_are_pooled_over_sources():
    table = read({"p": {"x": [1, 2]}, "q": {"x": [3, 4]}}, discretize={"x": Quantiles(2)})
    assert table.variables["x"].cuts == (3,)
    assert table.columns["x"].tolist() == [0, 0, 1, 1]
    assert table.origins["x"] == "discretised by Quantiles(2)"


def test_cut_points_can_be_used_on_other_data():
    one = read({"x": [1, 2, 3, 4.5]}, discretize={"x": Quantiles(2)})
    other = read({"x": [2.9, 3]}, discretize={"x": Cuts(one.variables["x"].cuts)})
    assert other.variables["x"] == one.variables["x"]
    assert other.columns["x"].tolist() == [0, 1]
    assert Cuts.from_variable(one.variables["x"]).labels == one.variables["x"].states


def test_cuts_may_name_the_states():
    choice = Cuts([10], labels=["low", "high"])
    assert labels_of(read({"x": [3, 30]}, discretize={"x": choice}), "x") == ["low", "high"]


@pytest.mark.parametrize(
    ("points", "labels"),
    [([2, 1], None), ([math.nan], None), ([1], ["a"]), ([1], ["0", "1"]), ([1, 1], None)],
)
def test_cuts_that_make_no_sense_are_refused(points, labels):
    with pytest.raises(InputError, match="Cuts: ") as caught:
        Cuts(points, labels)
    assert caught.value.culprits["parameter"] in ("points", "labels")


def test_a_variable_without_cut_points_gives_none():
    with pytest.raises(InputError, match="'x' has no cut points"):
        Cuts.from_variable(Variable("x"))


@pytest.mark.parametrize("choice", [EqualWidth, Quantiles])
@pytest.mark.parametrize("bins", [1, 2.5, True, "3"])
def test_bins_are_whole_numbers_from_two(choice, bins):
    with pytest.raises(InputError, match="bins must be a whole number of at least 2"):
        choice(bins)


@pytest.mark.parametrize("choice", [(1.0, 2.0), 3, "quantiles", Quantiles])
def test_only_choices_discretise(choice):
    with pytest.raises(InputError, match=r"'x' needs EqualWidth.*Wrap known cut points as Cuts"):
        read({"x": [1, 2]}, discretize={"x": choice})


def test_text_cannot_be_discretised():
    with pytest.raises(DataError, match="row 1: 'a' is not a number"):
        read({"x": ["a", "b"]}, discretize={"x": Quantiles(2)})
    with pytest.raises(DataError, match=r"'x' cannot be discretised.*'a', 'b'") as caught:
        discretize(read({"x": ["a", "b"]}), {"x": Quantiles(2)})
    assert caught.value.culprits["column"] == "x"


def test_a_table_can_be_discretised_after_reading():
    data = {
        "f": ["p", "q", "q", "q"],
        "x": [0.5, 1.5, 2.5, None],
        "k": [1, 2, 3, 1],
        "n": [1, 2, 1, 1],
    }
    choices = {"x": Quantiles(2), "k": EqualWidth(2)}
    table = read(data, source="f", weight="n")
    assert_same(discretize(table, choices), read(data, source="f", weight="n", discretize=choices))
    with pytest.raises(UnknownNameError, match="'z'"):
        discretize(table, {"z": Quantiles(2)})


def test_a_constant_column_gets_one_state():
    table = read({"x": [2.5, 2.5, None]}, discretize={"x": Quantiles(5)})
    assert table.variables["x"].states == ("any",)
    assert table.columns["x"].tolist() == [0, 0, -1]


def test_mdlp_cuts_where_the_target_changes():
    data = {"x": [1, 2, 3, 10, 11, 12] * 5, "t": ["a", "a", "a", "b", "b", "b"] * 5}
    table = read(data, discretize={"x": MDLP("t")})
    assert table.variables["x"].cuts == (6.5,)
    assert table.origins["x"] == "discretised by MDLP('t')"


def test_mdlp_leaves_noise_alone():
    rng = np.random.default_rng(1)
    target = rng.integers(0, 2, 500)
    assert cuts_of(MDLP("t"), rng.normal(size=500), target=target) == ()


def test_mdlp_ignores_rows_without_a_target():
    data = {"x": [1.5, 2, 3, 10, 11, 12, 50] * 5, "t": [*"aaabbb", None] * 5}
    assert read(data, discretize={"x": MDLP("t")}).variables["x"].cuts == (6.5,)
    assert (
        read({"x": [1.5], "t": [None]}, states={"t": ["a"]}, discretize={"x": MDLP("t")})
        .variables["x"]
        .cuts
        == ()
    )


def test_the_target_of_mdlp_may_be_discretised_in_the_same_breath():
    data = {"x": [1, 2, 3, 10, 11, 12] * 5, "t": [0.1, 0.2, 0.3, 1.1, 1.2, 1.3] * 5}
    table = read(data, discretize={"x": MDLP("t"), "t": Cuts([1])})
    assert table.variables["x"].cuts == (6.5,)


@pytest.mark.parametrize("target", ["y", "x"])
def test_the_target_of_mdlp_must_be_discrete(target):
    data = {"x": [0.5, 1.5], "y": [0.5, 1.5]}
    with pytest.raises(DataError, match=f"the target '{target}' must be discrete") as caught:
        read(data, discretize={"x": MDLP(target)})
    assert caught.value.culprits["target"] == target
    with pytest.raises(UnknownNameError, match="'z'"):
        read(data, discretize={"x": MDLP("z")})


def entropy(states):
    shares = np.bincount(states) / len(states)
    return -sum(p * math.log2(p) for p in shares if p > 0)


def brute_force_mdlp(rows):
    """Fayyad and Irani's rule over every cut between different values, straight from the paper."""
    rows = sorted(rows)
    states = [s for _, s in rows]
    cuts = [k for k in range(1, len(rows)) if rows[k - 1][0] < rows[k][0]]
    if not cuts:
        return []
    n, h = len(rows), entropy(states)
    gains = {k: h - k / n * entropy(states[:k]) - (n - k) / n * entropy(states[k:]) for k in cuts}
    best = max(cuts, key=lambda k: (round(gains[k], 12), -k))
    parts = [(len(set(part)), entropy(part)) for part in (states, states[:best], states[best:])]
    (k, h), (k1, h1), (k2, h2) = parts
    delta = math.log2(3**k - 2) - (k * h - k1 * h1 - k2 * h2)
    if gains[best] <= (math.log2(n - 1) + delta) / n:
        return []
    middle = (rows[best - 1][0] + rows[best][0]) / 2
    return [*brute_force_mdlp(rows[:best]), middle, *brute_force_mdlp(rows[best:])]


@pytest.mark.parametrize("seed", range(30))
def test_mdlp_agrees_with_brute_force(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 25, 120)
    target = np.where(rng.random(120) < 0.85, values // 9, rng.integers(0, 3, 120))
    expected = brute_force_mdlp(list(zip(values.tolist(), target.tolist(), strict=True)))
    found = mdl_cut_points(values.astype(float), np.ones(120), target.astype(np.int8))
    assert list(found) == expected


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), min_size=1), st.randoms())
def test_mdlp_does_not_depend_on_the_order_of_rows_or_the_names_of_states(rows, random):
    values, target = map(np.array, zip(*rows, strict=True))
    order = np.array(random.sample(range(len(rows)), len(rows)))
    cuts = cuts_of(MDLP("t"), values, target=target)
    assert cuts_of(MDLP("t"), values[order], target=target[order]) == cuts
    assert len(cuts_of(MDLP("t"), values, target=2 - target)) == len(cuts)


def test_a_cut_lies_between_neighbouring_floats():
    low = 1.0
    high = np.nextafter(low, 2)
    (found,) = mdl_cut_points(
        np.array([low] * 20 + [high] * 20), np.ones(40), np.repeat([0, 1], 20).astype(np.int8)
    )
    assert low < found <= high


@pytest.mark.parametrize("seed", range(5))
def test_pure_blocks_are_never_split(seed):
    target = np.repeat(np.random.default_rng(seed).integers(0, 2, 6), 8).astype(np.int8)
    for cut in mdl_cut_points(np.arange(48.0), np.ones(48), target):
        at = math.ceil(cut)
        assert target[at - 1] != target[at]


@pytest.mark.parametrize("choice", [EqualWidth(2), Quantiles(3), MDLP("y")])
def test_rows_of_weight_zero_count_as_no_rows(choice):
    x = [*(k + 0.5 for k in range(12)), 100.5, 3.9, 5.9, 7.9]
    y = [*("a" * 6 + "b" * 6), "a", "a", "b", "b"]
    data = {"x": x, "y": y, "n": [1] * 12 + [0] * 4}
    table = read(data, weight="n", discretize={"x": choice})
    alone = read({k: v[:12] for k, v in data.items()}, weight="n", discretize={"x": choice})
    assert table.variables["x"].cuts == alone.variables["x"].cuts
    assert len(table.variables["x"].cuts) > 0


@pytest.mark.parametrize(
    ("points", "labels"),
    [
        (["a"], None),
        (5, None),
        ("12", None),
        ([10**400], None),
        ([None], None),
        ([1], [1, 2]),
        ([1], "ab"),
        ([1], 5),
    ],
)
def test_cuts_that_are_no_numbers_or_labels_that_are_no_text_are_refused(points, labels):
    with pytest.raises(InputError, match=r"^Cuts: ") as caught:
        Cuts(points, labels)
    assert caught.value.culprits["parameter"] == ("points" if labels is None else "labels")
