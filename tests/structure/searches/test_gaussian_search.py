"""Searches on continuous and mixed tables: brute force, laws, and what is refused."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from search_oracles import FOUR

import consilience as cs
from consilience.errors import GraphError, InputError
from consilience.graph.moral import moral_graph
from consilience.statistics.engines import Batches

SEARCHES = {
    "AStar": cs.searches.AStar(),
    "BestFirst": cs.searches.BestFirst(frontier=20, patience=20),
    "ChowLiu": cs.searches.ChowLiu(),
    "Exact": cs.Exact(),
    "GES": cs.GES(),
    "HillClimb": cs.HillClimb(restarts=5),
    "K2Search": cs.searches.K2Search(list("ABCD")),
    "OrderSearch": cs.searches.OrderSearch(restarts=5),
    "SimulatedAnnealing": cs.searches.SimulatedAnnealing(steps=300),
}
KINDS = {"continuous": "", "mixed": "AC"}
SCORES = {"continuous": [cs.BIC(), cs.scores.BGe(), cs.AIC()], "mixed": [cs.BIC(), cs.AIC()]}


def rows_of(discrete="", n_rows=150, seed=0):
    """Four variables in a chain of effects, some of them with two or three states."""
    rng = np.random.default_rng(seed)
    rows = {}
    for k, name in enumerate("ABCD"):
        known = [np.unique(one, return_inverse=True)[1] for one in rows.values()]
        effect = sum((rng.normal(0, 0.7) * one for one in known), np.zeros(n_rows))
        value = effect + rng.normal(size=n_rows)
        if name in discrete:
            cuts = np.quantile(value, [0.4, 0.7] if k % 4 else [0.5])
            rows[name] = np.searchsorted(cuts, value).astype(str)
        else:
            rows[name] = value
    return rows


def table_of(kind, **options):
    continuous = [name for name in "ABCD" if name not in KINDS[kind]]
    return cs.read(rows_of(KINDS[kind], **options), continuous=continuous)


def is_legal(dag, discrete):
    return not any(start not in discrete and end in discrete for start, end in dag.arcs)


def best_of_all(table, score, dags):
    """The largest sum over families, each scored alone."""
    used = {(node, dag.parents(node)) for dag in dags for node in dag.nodes}
    values = {}
    for node, parents in used:
        family = cs.DAG([(parent, node) for parent in parents], nodes=list("ABCD"))
        values[node, parents] = cs.node_scores(family, table, score)[node]
    return max(sum(values[node, dag.parents(node)] for node in dag.nodes) for dag in dags)


@pytest.mark.parametrize("search", ["Exact", "AStar"])
@pytest.mark.parametrize(("kind", "score"), [(k, s) for k in KINDS for s in SCORES[k]], ids=str)
def test_exact_searches_find_the_best_of_all_graphs(kind, score, search):
    table = table_of(kind, seed=2)
    legal = [dag for dag in FOUR if is_legal(dag, KINDS[kind])]
    found = cs.search(table, score=score, search=SEARCHES[search])
    assert found.score == pytest.approx(best_of_all(table, score, legal), rel=1e-10)


def test_an_exact_search_with_logistic_nodes_finds_the_best_of_all_graphs():
    rows = rows_of("AC", n_rows=80, seed=5)
    table = cs.read({name: rows[name] for name in "ABC"})
    dags = [dag.without("D") for dag in FOUR if not dag.parents("D") and not dag.children("D")]
    best = max(cs.score(dag, table, cs.BIC()) for dag in dags)
    for search in (cs.Exact(), cs.searches.AStar(), cs.searches.BestFirst()):
        found = cs.search(table, search=search, logistic=True)
        assert found.score == pytest.approx(best, rel=1e-10)
        assert not any("logistic=True" in note for note in found.notes)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SEARCHES)
def test_the_record_is_true_and_the_graph_legal(name, kind):
    table = table_of(kind)
    found = cs.search(table, search=SEARCHES[name], seed=3)
    assert found.stopped_by == "optimum"
    assert found.score == pytest.approx(cs.score(found.dag, table, cs.BIC()), rel=1e-11)
    assert is_legal(found.dag, KINDS[kind])
    if name != "ChowLiu":
        assert found.score >= cs.score(cs.DAG(nodes=list("ABCD")), table, cs.BIC())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SEARCHES)
def test_the_order_of_rows_and_columns_does_not_matter(name, kind):
    table = table_of(kind, seed=4)
    order = np.random.default_rng(0).permutation(table.n_rows)
    turned = table.take(order).select(["D", "B", "A", "C"])
    one, two = (cs.search(rows, search=SEARCHES[name], seed=3) for rows in (table, turned))
    assert set(one.dag.arcs) == set(two.dag.arcs)


@pytest.mark.parametrize("name", sorted(set(SEARCHES) - {"ChowLiu"}))
@pytest.mark.parametrize("kind", KINDS)
def test_constraints_are_honored(name, kind):
    known = {"require": [("A", "D")], "forbid": [("A", "B")]}
    dag = cs.learn(table_of(kind), search=SEARCHES[name], **known)
    assert ("A", "D") in dag.arcs
    assert ("A", "B") not in dag.arcs


@pytest.mark.parametrize("kind", KINDS)
def test_rows_in_batches_give_the_same_graph(kind):
    table = table_of(kind)
    parts = Batches(table.schema, [table.take(slice(0, 70)), table.take(slice(70, 150))])
    assert cs.learn(parts) == cs.learn(table)


def test_greedy_searches_agree_on_the_class_of_a_clear_network():
    table, dag = gaussian_network(n_variables=10, seed=1)
    for search in (cs.HillClimb(), cs.GES(), cs.searches.OrderSearch(max_parents=4)):
        assert cs.shd(cs.learn(table, search=search), dag) == 0


def test_the_best_tree_is_that_of_the_largest_correlations():
    table, _ = gaussian_network(n_variables=6, seed=3)
    values = np.column_stack([table.column(name) for name in table.variables])
    names = list(table.variables)
    weights = -np.log1p(-(np.corrcoef(values.T) ** 2) * (1 - np.eye(6)))
    best, largest = None, -np.inf
    edges = list(combinations(range(6), 2))
    for tree in combinations(edges, 5):
        total = sum(weights[edge] for edge in tree)
        if total > largest and len({i for edge in tree for i in edge}) == 6 and is_tree(tree):
            best, largest = {frozenset((names[i], names[j])) for i, j in tree}, total
    assert set(map(frozenset, cs.learn(table, search=cs.searches.ChowLiu()).arcs)) == best


def is_tree(edges):
    reached = {0}
    for _ in edges:
        reached |= {j for edge in edges for j in edge if reached & set(edge)}
    return len(reached) == 6


def gaussian_network(n_variables, seed, n_rows=4000):
    """Rows of a random linear Gaussian network whose effects are not small."""
    rng = np.random.default_rng(seed)
    names = [f"v{i:02d}" for i in range(n_variables)]
    dag = cs.random_dag(names, n_arcs=int(1.3 * n_variables), max_parents=3, seed=rng)
    rows = {}
    for node in dag.topological_order():
        slopes = rng.uniform(0.5, 1.0, len(dag.parents(node))) * rng.choice([-1, 1])
        effect = sum((b * rows[p] for b, p in zip(slopes, dag.parents(node), strict=True)), 0.0)
        rows[node] = effect + rng.normal(0, rng.uniform(0.5, 1.5), n_rows)
    return cs.read({name: rows[name] for name in names}), dag


@pytest.mark.parametrize("seed", range(5))
def test_zeros_of_the_precision_matrix_are_the_non_edges_of_the_moral_graph(seed):
    table, _ = gaussian_network(8, seed)
    dag = cs.learn(table)
    net = cs.fit(dag, table)
    names = list(table.variables)
    slopes = np.zeros((8, 8))
    for i, node in enumerate(names):
        slopes[i, [names.index(parent) for parent in net[node].parents]] = net[node].coefficients
    scaled = (np.eye(8) - slopes) / np.array([[float(net[node].sd)] for node in names])
    precision = scaled.T @ scaled
    neighbors = moral_graph(dag)
    for i, j in combinations(range(8), 2):
        assert (abs(precision[i, j]) > 1e-12) == (names[j] in neighbors[names[i]])


def test_arcs_from_continuous_to_discrete_variables_need_a_word():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    rows = {"x": x, "y": x + rng.normal(size=300)}
    rows["ill"] = np.where(x + 0.3 * rng.normal(size=300) > 0, "yes", "no")
    table = cs.read(rows)
    with pytest.raises(GraphError, match=r"'x' -> 'ill' leads from a continuous .*logistic=True"):
        cs.learn(table, require=[("x", "ill")])
    plain = cs.search(table)
    assert "('x', 'y')" in plain.notes[0]
    assert "logistic=True" in plain.notes[0]
    assert ("x", "ill") in cs.learn(table, require=[("x", "ill")], logistic=True).arcs
    assert cs.search(table, logistic=True).score >= plain.score


def test_a_search_over_classes_refuses_logistic_nodes():
    table = table_of("mixed")
    with pytest.raises(InputError, match=r"GES .*logistic regressions differ.*logistic=True"):
        cs.learn(table, search=cs.GES(), logistic=True)


def test_a_tree_of_both_kinds_has_a_discrete_root_and_needs_logistic_nodes_for_more():
    table = table_of("mixed")
    found = cs.learn(table, search=cs.searches.ChowLiu())
    assert is_legal(found, KINDS["mixed"])
    assert len(found.arcs) == 3
    with pytest.raises(InputError, match="the root 'B' is continuous and leads to no discrete"):
        cs.learn(table, search=cs.searches.ChowLiu(root="B"))
    turned = cs.learn(table, search=cs.searches.ChowLiu(root="B"), logistic=True)
    assert turned.parents("B") == ()
    assert len(turned.arcs) == 3


def test_tan_takes_continuous_features_and_refuses_a_continuous_class():
    table = table_of("mixed")
    assert cs.learn(table, search=cs.searches.TANSearch("A")) == cs.tan(table, "A")
    with pytest.raises(InputError, match="the target 'B' is continuous; a class has states"):
        cs.learn(table, search=cs.searches.TANSearch("B"))


def test_families_beyond_the_memory_limit_are_left_out_and_noted():
    found = cs.search(table_of("mixed"), memory_limit=400, search=cs.HillClimb(restarts=2))
    assert any("would have exceeded the memory limit" in note for note in found.notes)


def test_one_continuous_variable_has_one_graph():
    table = cs.read({"x": [0.5, 1.5, 4.0]}, continuous=["x"])
    for search in (cs.HillClimb(), cs.Exact(), cs.GES(), cs.searches.ChowLiu()):
        assert cs.learn(table, search=search) == cs.DAG(nodes=["x"])
