from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import hypergeom

import consilience as cs
from consilience.statistics.engines import Memory
from consilience.statistics.family import Family
from consilience.structure.information import (
    _expected_log,
    conditional_information,
    information_within,
)
from consilience.structure.logistic_pairs import logistic_gains
from consilience.structure.pairs import pair_weights
from consilience.structure.trees import best_branching, rooted_tree, spanning_tree


def branchings(n, root):
    """All trees away from a root, as the parents of the other nodes."""
    others = [node for node in range(n) if node != root]
    for parents in product(range(n), repeat=n - 1):
        parent = dict(zip(others, parents, strict=True))
        if all(reaches(parent, node, root) for node in others):
            yield [(parent[node], node) for node in others]


def reaches(parent, node, root):
    for _ in range(len(parent) + 1):
        if node == root:
            return True
        node = parent[node]
    return False


@given(
    weights=hnp.arrays(np.int64, (5, 5), elements=st.integers(-3, 9)),
    barred=hnp.arrays(np.bool_, (5, 5)),
    n=st.integers(1, 5),
)
def test_no_branching_has_a_larger_weight(weights, barred, n):
    weights = np.where(barred, -np.inf, weights)[:n, :n]
    found = best_branching(weights, 0)
    totals = [sum(weights[arc] for arc in tree) for tree in branchings(n, 0)]
    best = max(totals)
    if best > -np.inf:
        assert len(found) == n - 1
        assert sum(weights[arc] for arc in found) == best
    else:  # some nodes cannot be reached: they are roots, and no arc is one that must not be
        assert len(found) < n - 1
        assert all(weights[arc] > -np.inf for arc in found)


def test_ties_go_to_the_first_parent():
    assert best_branching(np.ones((4, 4)), 1) == [(1, 0), (0, 2), (0, 3)]
    assert best_branching(np.zeros((1, 1)), 0) == []


@given(weights=hnp.arrays(np.int64, (5, 5), elements=st.integers(0, 9)))
def test_with_equal_directions_a_branching_is_a_spanning_tree(weights):
    both = (weights + weights.T).astype(float)
    total = sum(both[arc] for arc in best_branching(both, 2))
    assert total == sum(both[edge] for edge in spanning_tree(both))
    assert sum(both[arc] for arc in rooted_tree(both, 2)) == total


@pytest.mark.parametrize(("x", "y", "n"), [(3, 2, 5), (1, 1, 2), (40, 30, 60), (9, 7, 500)])
def test_the_expectation_of_n_log_n_is_that_of_the_hypergeometric(x, y, n):
    values = np.arange(1, n + 1)
    wanted = (hypergeom(n, x, y).pmf(values) * values * np.log(values)).sum()
    found = _expected_log(*(np.array([float(v)]) for v in (x, y, n)))
    assert found[0] == pytest.approx(wanted, rel=1e-9)


def test_large_counts_are_expanded():
    x, y, n = 300, 500, 1000
    values = np.arange(1, n + 1)
    wanted = (hypergeom(n, x, y).pmf(values) * values * np.log(values)).sum()
    found = _expected_log(*(np.array([float(v)]) for v in (x, y, n)))
    assert found[0] == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize(("n_sources", "n_rows"), [(2, 200), (20, 30), (300, 4)])
def test_margins_that_differ_by_source_have_no_information(n_sources, n_rows):
    rng = np.random.default_rng(1)
    found, pooled = [], []
    for _ in range(40):
        counts = np.zeros((n_sources, 3, 4, 1))
        for f in range(n_sources):
            x, y = (rng.choice(k, n_rows, p=rng.dirichlet(np.ones(k))) for k in (3, 4))
            np.add.at(counts, (f, x, y, 0), 1)
        found.append(information_within(counts))
        pooled.append(conditional_information(counts.sum(axis=0)))
    one = np.mean(found)
    assert -0.002 < one < 0.004  # the larger of two numbers whose means are zero
    assert one < np.mean(pooled)


@pytest.mark.parametrize(("n_sources", "n_rows"), [(4, 100), (300, 4)])
def test_what_sources_have_in_common_is_found_even_where_each_is_tiny(n_sources, n_rows):
    rng = np.random.default_rng(1)
    counts = np.zeros((n_sources, 2, 2, 1))
    for f in range(n_sources):
        x = rng.integers(0, 2, n_rows)
        y = np.where(rng.random(n_rows) < 0.9, x, 1 - x)
        np.add.at(counts, (f, x, y, 0), 1)
    assert information_within(counts) > 0.2  # 0.37 with sources so large that margins are known


def test_dependence_that_turns_round_between_sources_is_found():
    counts = np.stack([np.eye(2), np.eye(2)[::-1]])[..., None] * 50
    assert conditional_information(counts.sum(axis=0)) == 0.0
    assert information_within(counts) == pytest.approx(np.log(2), abs=0.02)


def columns(seed, n_sources=5, n_rows=80):
    """Columns whose means and shares differ by source; only a -> b and x -> y within them."""
    rng = np.random.default_rng(seed)
    rows = []
    for f in range(n_sources):
        shift, shares = rng.normal(0, 3, 3), rng.uniform(0.1, 0.9, 3)
        c, a, d = (rng.random((3, n_rows)) < shares[:, None]).astype(int)
        b = np.where(rng.random(n_rows) < 0.8, a, 1 - a)
        x = rng.normal(shift[0], 1, n_rows)
        y = rng.normal(shift[1] + 0.8 * x, 1, n_rows)
        z = rng.normal(shift[2] + 1.5 * b, 1, n_rows)
        rows += [
            (f"s{f}", *map(str, one), *n)
            for *one, n in zip(c, a, b, d, zip(x, y, z, strict=True), strict=True)
        ]
    names = ("f", "c", "a", "b", "d", "x", "y", "z")
    return cs.read(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)), source="f")


def test_columns_that_only_differ_by_source_get_no_weight_of_any_kind():
    names = ["a", "b", "d", "x", "y", "z"]
    weights = np.mean([pair_weights(Memory(columns(s)), names, "c") for s in range(10)], axis=0)
    place = {name: i for i, name in enumerate(names)}
    real = {("a", "b"), ("x", "y"), ("b", "z"), ("a", "z")}
    for i, j in product(names, repeat=2):
        weight = weights[place[i], place[j]]
        if i == j:
            continue
        if i in "xyz" and j in "abd":
            assert weight == -np.inf
        elif {(i, j), (j, i)} & real:
            assert weight > 0.05
        else:
            assert abs(weight) < 0.006


def test_tan_of_several_sources_has_the_arcs_within_them():
    edges = set(map(frozenset, cs.tan(columns(1), "c").arcs))
    assert {frozenset("ab"), frozenset("xy"), frozenset("bz")} <= edges


def test_without_sources_the_gain_of_a_regression_is_that_in_likelihood_but_for_chance():
    rng = np.random.default_rng(1)
    c, z = rng.integers(0, 2, 4000), rng.normal(0, 1, 4000)
    x = rng.normal(0.5 * z * c, 1)
    table = cs.read({"c": c.astype(str).tolist(), "z": z.tolist(), "x": x.tolist()})
    [[_, gain], _] = pair_weights(Memory(table), ["z", "x"], "c")
    with_z, without = (
        cs.fit(cs.DAG(arcs), table, cs.MLE(unbiased=False)).log_likelihood(table).sum()
        for arcs in ([("c", "x"), ("z", "x"), ("c", "z")], [("c", "x"), ("c", "z")])
    )
    assert gain * 4000 == pytest.approx(with_z - without - 1, abs=0.3)  # half a nat a coefficient


def test_a_column_of_many_states_has_no_head_start():
    rng = np.random.default_rng(1)
    gains = []
    for _ in range(60):
        states = rng.integers(0, 30, 120).astype(str).tolist()
        table = cs.read({"d": states, "x": rng.normal(0, 1, 120).tolist()})
        gains.append(pair_weights(Memory(table), ["d", "x"])[0, 1] * 120)
    assert abs(np.mean(gains)) < 3 * np.std(gains) / np.sqrt(60)


def test_constant_columns_and_empty_pairs_weigh_nothing():
    table = cs.read({"d": ["a", "a", "b"], "x": [1.5, 1.5, 1.5], "y": [0.5, 2.5, None]})
    weights = pair_weights(Memory(table), ["d", "x", "y"])
    assert weights[0, 1] == weights[1, 2] == weights[0, 2] == 0.0


def test_directions_that_differ_make_a_branching():
    weights = np.array([[0, 1, 0.1], [1, 0, 0.1], [5, 0.2, 0]])
    assert rooted_tree(weights, 1) == [(2, 0), (1, 2)]


@given(
    weights=hnp.arrays(np.int64, (4, 4), elements=st.integers(-3, 9)),
    barred=hnp.arrays(np.bool_, (4, 4)),
)
def test_without_a_root_no_branching_of_any_root_has_a_larger_weight(weights, barred):
    weights = np.where(barred, -np.inf, weights)
    totals = [
        sum(weights[arc] for arc in tree) for root in range(4) for tree in branchings(4, root)
    ]
    found = rooted_tree(weights)
    if max(totals) > -np.inf:
        assert len(found) == 3
        assert sum(weights[arc] for arc in found) == max(totals)


def fractions(weight):
    """Counts of 60 sources of four rows each whose two columns say nothing of each other."""
    rng = np.random.default_rng(3)
    counts = np.zeros((60, 2, 2, 1))
    for f in range(60):
        np.add.at(counts, (f, rng.integers(0, 2, 4), rng.integers(0, 2, 4), 0), weight)
    return counts


def test_fractional_weights_make_no_information():
    whole = information_within(fractions(1.0))
    assert abs(whole) < 0.04
    for weight in (0.9, 0.5, 0.25, 0.01):
        assert information_within(fractions(weight)) < max(whole, 0.0) + 0.01
    assert information_within(fractions(1 + 1e-7)) == pytest.approx(whole, abs=1e-5)


def test_rows_repeated_are_rows_of_that_weight_and_of_fractions_that_make_it_up():
    columns = {"f": list("aabbbbcc"), "x": list("01011011"), "y": list("01110010")}
    weights = [1.0, 0.5, 2.0, 0.25, 1.0, 3.0, 1.5, 1.0]
    fourfold = [4 * weight for weight in weights]
    repeated = {name: list(np.repeat(column, 4)) for name, column in columns.items()}
    tables = (
        cs.read(columns | {"w": fourfold}, source="f", weight="w"),
        cs.read(repeated | {"w": list(np.repeat(weights, 4))}, source="f", weight="w"),
    )
    one, two = (pair_weights(Memory(table), ["x", "y"]) for table in tables)
    np.testing.assert_allclose(one, two, rtol=1e-12)


def test_a_source_of_one_row_says_nothing_however_it_is_divided():
    counts = np.array([[0.5, 0.0], [0.0, 0.5]])[None, :, :, None]
    other = np.array([[30.0, 10.0], [10.0, 30.0]])[None, :, :, None]
    assert information_within(np.concatenate([counts, counts])) < 1e-12
    with_it = information_within(np.concatenate([other, counts])) * 81
    assert with_it < information_within(np.concatenate([other, 0 * counts])) * 80 + 0.1


@pytest.mark.parametrize("n_states", [2, 3])
def test_logistic_arcs_of_one_source_gain_what_a_fit_gains_but_for_chance(n_states):
    rng = np.random.default_rng(1)
    x = rng.normal(0, 1, 500)
    d = np.digitize(x + rng.logistic(0, 1, 500), np.linspace(-1, 1, n_states + 1)[1:-1])
    table = cs.read({"x": x.tolist(), "d": d.astype(str).tolist()})
    (gain,) = logistic_gains(Memory(table), [Family("d", ("x",))])
    with_x, without = (
        cs.score(cs.DAG(arcs, nodes=["x", "d"]), table, cs.scores.LogLikelihood())
        for arcs in ([("x", "d")], [])
    )
    assert gain * 500 == pytest.approx(with_x - without - (n_states - 1) / 2, abs=0.05)


def test_logistic_arcs_gain_nothing_from_means_and_shares_that_differ_by_source():
    rng = np.random.default_rng(1)
    gains = {"d": [], "e": []}
    for _ in range(20):
        f = np.repeat(np.arange(6), 50)
        x = rng.normal(rng.normal(0, 3, 6)[f], 1)
        d = rng.random(300) < rng.uniform(0.1, 0.9, 6)[f]
        e = rng.random(300) < 1 / (1 + np.exp(-(x - x.mean()) + rng.normal(0, 3, 6)[f]))
        frame = {"x": x.tolist(), "d": d.astype(str).tolist(), "e": e.astype(str).tolist()}
        engine = Memory(cs.read(frame | {"f": [f"s{k}" for k in f]}, source="f"))
        found = logistic_gains(engine, [Family(name, ("x",)) for name in gains])
        for name, gain in zip(gains, found, strict=True):
            gains[name].append(gain)
    assert abs(np.mean(gains["d"])) < 0.002
    assert np.mean(gains["e"]) > 0.02


def edges(dag):
    return set(map(frozenset, dag.arcs))


def renamed_and_turned(table):
    """The columns in the reverse order under names that sort the other way, and their old names."""
    frame = table.to_frame()
    others = {name: f"{chr(219 - ord(name))}" for name in table.variables}
    frame = frame[[*list(table.variables)[::-1], "f"]].rename(columns=others)
    back = {new: old for old, new in others.items()}
    return cs.read(frame, source="f"), back


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_sources", [1, 5])
def test_a_tree_depends_neither_on_names_nor_on_the_order_of_columns(seed, n_sources):
    table = columns(seed, n_sources=n_sources)
    other, back = renamed_and_turned(table)
    for logistic in (False, True):
        one, two = (
            cs.learn(rows, search=cs.searches.ChowLiu(), logistic=logistic)
            for rows in (table, other)
        )
        assert edges(one) == {frozenset(back[end] for end in edge) for edge in edges(two)}
    one, two = cs.tan(table, "c"), cs.tan(other, "x")
    assert edges(one) == {frozenset(back[end] for end in edge) for edge in edges(two)}


def test_continuous_pairs_weigh_the_same_in_both_orders():
    rng = np.random.default_rng(1)
    sd = np.repeat([1.0, 5.0, 0.2], 60)
    x = rng.normal(0, sd)
    y = rng.normal(np.repeat([0.5, -0.5, 2.0], 60) * x, np.repeat([1.0, 0.3, 4.0], 60))
    frame = {"x": x.tolist(), "y": y.tolist(), "f": np.repeat(list("abc"), 60).tolist()}
    engine = Memory(cs.read(frame, source="f"))
    one, two = pair_weights(engine, ["x", "y"]), pair_weights(engine, ["y", "x"])
    assert one[0, 1] == one[1, 0] == pytest.approx(two[0, 1], rel=1e-12)
