from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

import consilience as cs
from consilience.errors import DataError, InputError, UnknownNameError
from consilience.statistics.engines import Batches
from consilience.structure.information import conditional_information
from consilience.structure.tan import note_on_gaps, tan
from consilience.structure.trees import arcs_from_root, spanning_tree

FEATURES = tuple(f"x{i}" for i in range(5))


def table_of(seed, n_rows=60, n_features=5):
    """Rows of a network in which the features depend on each other and on the class."""
    names = ("c", *FEATURES[:n_features])
    dag = cs.DAG(combinations(names, 2))
    sizes = {name: 2 + k % 2 for k, name in enumerate(names)}
    return cs.random_network(dag, n_states=sizes, seed=seed).sample(n_rows, seed=seed)


def spanning_trees(n):
    """All spanning trees on n nodes, from their Pruefer codes: n^(n-2) of them."""
    for code in product(range(n), repeat=n - 2):
        degree = [1 + code.count(node) for node in range(n)]
        edges = []
        for node in code:
            leaf = degree.index(1)
            edges.append((min(leaf, node), max(leaf, node)))
            degree[leaf] = 0
            degree[node] -= 1
        edges.append(tuple(k for k in range(n) if degree[k] == 1))
        yield edges


def log_likelihood(dag, table):
    return float(cs.fit(dag, table, cs.MLE()).log_likelihood(table).sum())


def with_tree(edges):
    arcs = [(FEATURES[a], FEATURES[b]) for a, b in arcs_from_root(edges, 0)]
    return cs.DAG([*(("c", x) for x in FEATURES), *arcs], nodes=["c", *FEATURES])


@pytest.mark.parametrize("seed", range(3))
def test_no_tree_has_a_larger_likelihood(seed):
    table = table_of(seed)
    trees = list(spanning_trees(5))
    assert len({tuple(sorted(tree)) for tree in trees}) == 5**3
    best = max(log_likelihood(with_tree(tree), table) for tree in trees)
    assert log_likelihood(tan(table, "c"), table) == pytest.approx(best, abs=1e-8)


@given(weights=hnp.arrays(np.int64, (5, 5), elements=st.integers(0, 6)))
def test_a_spanning_tree_has_the_largest_weight_of_all(weights):
    weights = np.triu(weights, 1) + np.triu(weights, 1).T.astype(float)
    total = max(sum(weights[edge] for edge in tree) for tree in spanning_trees(5))
    assert sum(weights[edge] for edge in spanning_tree(weights)) == total


def test_ties_break_by_order_and_rounding_makes_no_difference():
    weights = np.full((4, 4), 0.1)
    assert spanning_tree(weights) == [(0, 1), (0, 2), (0, 3)]
    noise = 1e-12 * np.random.default_rng(1).random((4, 4))
    assert spanning_tree(weights + noise) == [(0, 1), (0, 2), (0, 3)]
    assert spanning_tree(np.zeros((0, 0))) == spanning_tree(np.zeros((1, 1))) == []


@given(counts=hnp.arrays(np.int64, (3, 2, 2), elements=st.integers(0, 9)))
def test_information_is_a_difference_of_entropies(counts):
    def entropy(*axes):
        others = tuple(k for k in range(3) if k not in axes)
        share = counts.sum(axis=others) / max(counts.sum(), 1)
        return -sum(p * np.log(p) for p in np.ravel(share) if p > 0)

    wanted = entropy(0, 2) + entropy(1, 2) - entropy(0, 1, 2) - entropy(2)
    assert conditional_information(counts.astype(float)) == pytest.approx(wanted, abs=1e-12)


@given(seed=st.integers(0, 20), order=st.permutations(range(60)))
def test_the_order_of_the_rows_does_not_matter(seed, order):
    table = table_of(seed)
    assert tan(table.take(np.array(order)), "c") == tan(table, "c")


def test_weights_count_as_rows_and_parts_make_the_whole():
    table = table_of(1)
    parts = Batches(table.schema, [table.take(slice(0, 7)), table.take(slice(7, None))])
    assert tan(table.distinct(), "c").arcs == tan(parts, "c").arcs == tan(table, "c").arcs


def test_the_target_is_the_first_parent_and_the_first_feature_the_root():
    dag = tan(table_of(1), "c")
    assert dag.nodes == ("c", *FEATURES)
    assert dag.parents("x0") == ("c",)
    assert all(dag.parents(x)[0] == "c" and len(dag.parents(x)) == 2 for x in FEATURES[1:])


def test_another_root_turns_arcs_and_keeps_the_tree():
    table = table_of(1)
    one, two = tan(table, "c"), tan(table, "c", root="x3")
    assert two.parents("x3") == ("c",)
    assert {frozenset(arc) for arc in one.arcs} == {frozenset(arc) for arc in two.arcs}
    assert log_likelihood(one, table) == pytest.approx(log_likelihood(two, table), abs=1e-9)


def test_rows_with_gaps_count_for_the_pairs_they_show():
    frame = {
        "c": ["u", "v"] * 6,
        "x": ["0", "0", "1", "1"] * 3,
        "y": ["0", "0", "1", None] * 3,
        "z": [None, None, None, "1", "0", "1", "0", "0", "1", "1", "0", "1"],
    }
    assert ("x", "y") in tan(cs.read(frame), "c").arcs


def test_the_source_is_no_feature():
    frame = {
        "h": ["a", "b"] * 4,
        "c": ["u", "u", "v", "v"] * 2,
        "x": ["0", "1"] * 4,
        "y": ["0", "1"] * 4,
    }
    dag = tan(cs.read(frame, source="h"), "c")
    assert dag.arcs == (("c", "x"), ("c", "y"), ("x", "y"))


def test_one_feature_or_none_need_no_tree():
    assert tan(cs.read({"c": ["u", "v"], "x": ["0", "1"]}), "c").arcs == (("c", "x"),)
    assert tan(cs.read({"c": ["u", "v"]}), "c").nodes == ("c",)


def test_constant_features_hang_on_the_first():
    frame = {"c": ["u", "v"] * 4, "x": ["0", "1", "1", "0"] * 2, "k": ["0"] * 8, "l": ["1"] * 8}
    assert tan(cs.read(frame), "c").arcs == (
        ("c", "x"),
        ("c", "k"),
        ("x", "k"),
        ("c", "l"),
        ("x", "l"),
    )


def test_with_one_class_the_tree_is_that_of_chow_and_liu():
    table = table_of(2)
    plain = cs.Table(table.schema, dict(table.columns) | {"c": np.zeros(table.n_rows, np.int8)})
    pairs = list(combinations(range(5), 2))
    weights = np.zeros((5, 5))
    for i, j in pairs:
        joint = np.zeros((3, 3, 1))
        np.add.at(joint, (table.column(FEATURES[i]), table.column(FEATURES[j]), 0), 1)
        weights[i, j] = weights[j, i] = conditional_information(joint)
    wanted = {frozenset((FEATURES[i], FEATURES[j])) for i, j in spanning_tree(weights)}
    assert {frozenset(arc) for arc in tan(plain, "c").arcs if "c" not in arc} == wanted


def test_wrong_input_is_refused():
    table = table_of(1)
    with pytest.raises(UnknownNameError, match="unknown variable 'class'"):
        tan(table, "class")
    with pytest.raises(UnknownNameError, match="unknown feature 'c'") as caught:
        tan(table, "c", root="c")
    assert caught.value.culprits == {"kind": "feature", "name": "c"}
    with pytest.raises(DataError, match="without rows"):
        tan(table.take(slice(0, 0)), "c")
    mixed = cs.read({"c": ["u", "v"], "age": [1.5, 2.5], "x": ["0", "1"]})
    with pytest.raises(InputError, match="the target 'age' is continuous"):
        tan(mixed, "age")
    with pytest.raises(InputError, match="the root 'age' is continuous and cannot have") as caught:
        tan(mixed, "c", root="age")
    assert caught.value.culprits == {"variable": "age"}
    numbers = cs.read({"c": ["u", "v"], "age": [1.5, 2.5], "dose": [2.5, 1.5]})
    with pytest.raises(DataError, match="without rows"):
        tan(numbers.take(slice(0, 0)), "c")


def test_the_tree_of_rows_with_gaps_is_told_and_the_search_completes_them():
    table = cs.read({"c": list("0011"), "x": ["0", None, "0", "1"], "y": list("0101")})
    assert note_on_gaps(table) is not None
    assert "'x'" in note_on_gaps(table)
    assert note_on_gaps(table.take([0, 2, 3])) is None
    assert len(cs.tan(table, "c").arcs) == 3
    found = cs.search(table, search=cs.searches.TANSearch("c"))
    assert len(found.dag.arcs) == 3
    assert "structural EM" in found.judged_by
