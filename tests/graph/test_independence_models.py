from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import consilience as cs
from consilience.errors import ConsilienceError
from consilience.fusion import common_independences, united_independences
from consilience.graph import CPDAG, DAG, all_dags, random_dag
from consilience.graph.separation import boundary

NAMES = tuple("abcd")
ALL = list(all_dags(NAMES))
SOURCES = st.lists(st.integers(0, len(ALL) - 1), min_size=1, max_size=3)


def statements(dag: DAG, nodes=None):
    """All separations of two nodes given a set, among some nodes."""
    nodes = dag.nodes if nodes is None else nodes
    found = set()
    for one, two in combinations(sorted(nodes), 2):
        rest = [n for n in nodes if n not in (one, two)]
        for size in range(len(rest) + 1):
            for by in combinations(rest, size):
                if dag.is_separated(one, two, given=by):
                    found.add((frozenset((one, two)), frozenset(by)))
    return found


def graphoid(claims):
    """Everything that follows: symmetric, decomposed, contracted, intersected."""
    known = set(claims)
    while True:
        new = set()
        for a, b, c in permutations(NAMES, 3):
            rest = [n for n in NAMES if n not in (a, b, c)]
            for by in [frozenset(s) for k in range(len(rest) + 1) for s in combinations(rest, k)]:
                ab, ac = frozenset((a, b)), frozenset((a, c))
                first = {(ab, by), (ac, by | {b})}
                second = {(ac, by), (ab, by | {c})}
                crossed = {(ab, by | {c}), (ac, by | {b})}
                if any(each <= known for each in (first, second, crossed)):
                    new |= first | second
        if new <= known:
            return known
        known |= new


@given(SOURCES)
def test_common_independences_are_those_of_every_source_and_no_arc_is_too_many(picked):
    dags = [ALL[i] for i in picked]
    shared = set.intersection(*map(statements, dags))
    found = common_independences(dags).dag
    assert statements(found) <= shared
    for arc in found.arcs:
        less = DAG([a for a in found.arcs if a != arc], NAMES)
        assert not statements(less) <= shared


@given(SOURCES)
def test_no_order_has_a_smaller_graph_of_common_independences(picked):
    dags = [ALL[i] for i in picked]
    sizes = [len(common_independences(dags, order=o).dag.arcs) for o in permutations(NAMES)]
    assert len(common_independences(dags).dag.arcs) == min(sizes)


@given(SOURCES)
def test_united_independences_follow_from_those_of_the_sources(picked):
    dags = [ALL[i] for i in picked]
    union = set.union(*map(statements, dags))
    found = united_independences(dags)
    assert statements(found.dag) <= graphoid(union)
    kept = {f"{k}": statements(dag) <= statements(found.dag) for k, dag in enumerate(dags, 1)}
    assert kept == dict(found.keeps)


@given(SOURCES)
def test_where_an_order_suits_all_sources_every_independence_of_theirs_is_kept(picked):
    dags = [DAG([a for a in ALL[i].arcs if a[0] < a[1]], NAMES) for i in picked]
    found = united_independences(dags)
    assert set.union(*map(statements, dags)) <= statements(found.dag)
    assert all(found.keeps.values())


def test_a_class_is_combined_as_any_of_its_members():
    one, other = DAG.parse("[a][b|a][c|b]"), DAG.parse("[c][b|c][a|b]")
    for verb in (common_independences, united_independences):
        assert verb([CPDAG.of(one), other]).cpdag == CPDAG.of(one)


@pytest.mark.parametrize("seed", range(5))
def test_the_answer_claims_nothing_that_a_source_denies_about_the_variables_it_has(seed):
    rng = np.random.default_rng(seed)
    sources = [
        random_dag([str(n) for n in rng.permutation(list("abcdef"))[:4]], n_arcs=3, seed=rng)
        for _ in range(3)
    ]
    found = common_independences(sources).dag
    for dag in sources:
        assert statements(found, dag.nodes) <= statements(dag)


def test_a_source_that_lacks_a_variable_does_not_leave_out_its_arcs():
    found = united_independences([DAG.parse("[a][b|a]"), DAG.parse("[b][c|b]")])
    assert set(found.cpdag.undirected) == {("a", "b"), ("b", "c")}


def test_the_boundary_is_what_single_separations_say():
    for seed in range(40):
        dag = random_dag(list("abcdefg"), n_arcs=9, seed=seed)
        before = list("abcde")
        wanted = {
            p for p in before if not dag.is_separated("g", p, given=[n for n in before if n != p])
        }
        found = boundary("g", before, parents=dag.parents, children=dag.children)
        assert found == wanted


def test_graphs_of_many_variables_are_combined_by_exchanging_neighbors():
    names = [f"v{i}" for i in range(25)]
    dags = [random_dag(names, n_arcs=30, seed=seed) for seed in range(3)]
    found = common_independences(dags)
    assert max(len(dag.arcs) for dag in dags) <= len(found.dag.arcs) < 300
    for dag in dags:  # every source's local independences of the answer hold in it
        for i, node in enumerate(found.order):
            rest = [n for n in found.order[:i] if n not in found.dag.parents(node)]
            assert not rest or dag.is_separated(node, rest, given=found.dag.parents(node))


def test_wrong_graphs_and_orders_are_refused_by_name():
    dag = DAG.parse("[a][b|a]")
    with pytest.raises(ConsilienceError, match="source '2' must be a DAG or a CPDAG, got a str"):
        common_independences([dag, "[a][b]"])
    with pytest.raises(ConsilienceError, match="lacks 'b'"):
        united_independences([dag], order=["a"])
    with pytest.raises(ConsilienceError, match="once"):
        united_independences([dag], order=["a", "b", "a"])
    with pytest.raises(ConsilienceError, match="at least one graph"):
        cs.fusion.common_independences([])
