"""Scores of families with both kinds of variables: a regression for each joint discrete state."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import consilience as cs
from consilience.errors import DataError, InputError, MemoryLimitError
from consilience.statistics.engines import Batches

GRAPH = cs.DAG.parse("[g][h|g][x][y|g:h:x][z|x:y:h]")
every_score = pytest.mark.parametrize(
    "score", [cs.scores.LogLikelihood(), cs.AIC(), cs.BIC()], ids=repr
)


def rows_of(n_rows=120, seed=0):
    rng = np.random.default_rng(seed)
    g, h = rng.integers(0, 2, n_rows), rng.integers(0, 3, n_rows)
    x = rng.normal(size=n_rows)
    y = g * x + h + rng.normal(0, 1 + g, n_rows)
    z = x - (h == 2) * y + rng.normal(size=n_rows)
    return {"g": g.astype(str), "h": h.astype(str), "x": x, "y": y, "z": z}


def regression(y, columns):
    design = np.column_stack([np.ones(len(y)), *columns])
    line = np.linalg.lstsq(design, y, rcond=None)[0]
    left = ((y - design @ line) ** 2).sum()
    return design, line, left / (len(y) - design.shape[1]) if len(y) > design.shape[1] else 0.0


def log_density(y, design, line, variance):
    gaps = y - design @ line
    return -len(y) / 2 * np.log(2 * np.pi * variance) - (gaps**2).sum() / 2 / variance


def log_likelihood(rows, child, parents):
    """By least squares in each joint state; by that of all states where rows do not suffice."""
    inside = [rows[p] for p in parents if rows[p].dtype.kind == "f"]
    states = [rows[p] for p in parents if rows[p].dtype.kind != "f"]
    code = np.array(["".join(state) for state in zip(*states, strict=True)] or [""] * 0)
    if not states:
        return log_density(rows[child], *regression(rows[child], inside))
    _, line, variance = regression(rows[child], inside)
    total = 0.0
    for state in np.unique(code):
        mine = code == state
        own = regression(rows[child][mine], [column[mine] for column in inside])
        if mine.sum() > len(inside) + 1 and own[2] > 1e-12 * rows[child][mine].var():
            total += log_density(rows[child][mine], *own)
        else:
            total += log_density(rows[child][mine], own[0], line, variance)
    return total


@pytest.mark.parametrize("n_rows", [120, 25, 12])
def test_the_likelihood_is_that_of_a_regression_for_each_state(n_rows):
    rows = rows_of(n_rows, seed=3)
    table = cs.read(rows, states={"h": ["0", "1", "2"]})
    found = cs.node_scores(GRAPH, table, cs.scores.LogLikelihood())
    for node in "xyz":
        expected = log_likelihood(rows, node, GRAPH.parents(node))
        assert found[node] == pytest.approx(expected, rel=1e-9)


def test_where_every_state_has_rows_the_likelihood_is_that_of_the_fitted_network():
    table = cs.read(rows_of(120, seed=3), states={"h": ["0", "1", "2"]})
    net = cs.fit(GRAPH, table, cs.MLE())
    found = cs.score(GRAPH, table, cs.scores.LogLikelihood())
    assert found == pytest.approx(net.log_likelihood(table).sum(), rel=1e-10)


def test_penalties_count_every_joint_state():
    table = cs.read(rows_of())
    likelihood = cs.node_scores(GRAPH, table, cs.scores.LogLikelihood())
    n_parameters = {"g": 1, "h": 4, "x": 2, "y": 6 * 3, "z": 3 * 4}
    found = cs.node_scores(GRAPH, table, cs.BIC())
    expected = {node: likelihood[node] - d / 2 * np.log(120) for node, d in n_parameters.items()}
    assert found == pytest.approx(expected, rel=1e-12)


def test_discrete_families_score_as_in_a_table_without_continuous_columns():
    table = cs.read(rows_of())
    alone = cs.node_scores(cs.DAG.parse("[g][h|g]"), table.select(["g", "h"]), cs.BIC())
    assert {node: cs.node_scores(GRAPH, table, cs.BIC())[node] for node in "gh"} == alone


@every_score
def test_the_order_of_rows_columns_and_states_does_not_matter(score):
    rows = rows_of()
    order = np.random.default_rng(1).permutation(120)
    turned = {name: rows[name][order] for name in "zhygx"}
    other = cs.read(turned, states={"h": ["2", "0", "1"], "g": ["1", "0"]})
    graph = cs.DAG.parse("[z|h:y:x][y|x:h:g][x][h|g][g]")
    assert cs.score(graph, other, score) == pytest.approx(
        cs.score(GRAPH, cs.read(rows), score), rel=1e-10
    )


@every_score
def test_rows_in_batches_score_like_rows_in_memory(score):
    table = cs.read(rows_of())
    parts = Batches(table.schema, [table.take(slice(0, 50)), table.take(slice(50, 120))])
    assert cs.score(GRAPH, parts, score) == pytest.approx(cs.score(GRAPH, table, score), rel=1e-10)


def test_equivalent_graphs_without_arcs_to_discrete_nodes_have_equal_scores():
    table = cs.read(rows_of())
    graphs = ["[g][h][x|g][y|g:x]", "[h][g][y|g][x|g:y]"]
    found = [cs.score(cs.DAG.parse(graph), table, cs.BIC()) for graph in graphs]
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_a_state_whose_rows_lie_on_a_line_does_not_win():
    rng = np.random.default_rng(0)
    smokes = rng.integers(0, 2, 200)
    a_day = np.where(smokes == 1, rng.normal(15, 5, 200), 0.0)
    noise = rng.integers(0, 2, 200).astype(str)
    table = cs.read({"smokes": smokes.astype(str), "a_day": a_day, "noise": noise})
    found = cs.search(table)
    assert np.isfinite(found.score)
    assert "noise" not in {name for arc in found.dag.arcs for name in arc}


def test_a_state_without_a_variance_of_its_own_is_judged_by_the_regression_over_all_states():
    rng = np.random.default_rng(2)
    g = np.array(["many"] * 40 + ["two"] * 2 + ["line"] * 12)
    x, noise = rng.normal(size=54), rng.normal(size=54)
    y = x + np.where(g == "line", 0.0, noise)
    found = cs.node_scores(
        cs.DAG.parse("[g][x][y|g:x]"), cs.read({"g": g, "x": x, "y": y}), cs.scores.LogLikelihood()
    )

    def left(rows, beta):
        return y[rows] - np.column_stack([np.ones(rows.sum()), x[rows]]) @ beta

    def regression(rows):
        design = np.column_stack([np.ones(rows.sum()), x[rows]])
        beta = np.linalg.lstsq(design, y[rows], rcond=None)[0]
        return beta, np.sqrt((left(rows, beta) ** 2).sum() / (rows.sum() - 2))

    own, every = regression(g == "many"), regression(np.ones(54, bool))
    judged = {"many": own, "two": every, "line": every}
    expected = sum(
        stats.norm(0, sd).logpdf(left(g == state, beta)).sum()
        for state, (beta, sd) in judged.items()
    )
    assert found["y"] == pytest.approx(expected, rel=1e-10)


def test_joint_states_without_rows_add_nothing_but_their_price():
    rows = rows_of()
    table = cs.read(rows, states={"h": ["0", "1", "2", "never"], "g": ["0", "1"]})
    plain = cs.read(rows)
    one, two = (
        cs.node_scores(GRAPH, rows, cs.scores.LogLikelihood())["y"] for rows in (table, plain)
    )
    assert one == pytest.approx(two, rel=1e-12)
    price = (
        cs.node_scores(GRAPH, plain, cs.AIC())["y"] - cs.node_scores(GRAPH, table, cs.AIC())["y"]
    )
    assert price == pytest.approx(2 * 3)


def test_separate_regressions_by_source_are_a_sum():
    rows = rows_of()
    halves = {
        "f": {name: column[:60] for name, column in rows.items()},
        "g2": {name: column[60:] for name, column in rows.items()},
    }
    states = {"g": ["0", "1"], "h": ["0", "1", "2"]}
    alone = sum(
        cs.node_scores(GRAPH, cs.read(half, states=states), cs.BIC())["y"]
        for half in halves.values()
    )
    both = cs.read(halves, states=states)
    assert cs.node_scores(GRAPH, both, cs.scores.PerSource(cs.BIC()))["y"] == pytest.approx(alone)


def test_scores_of_tables_refuse_mixed_graphs_by_name():
    with pytest.raises(InputError, match=r"BDeu judges families of discrete variables; .* 'x'"):
        cs.score(GRAPH, cs.read(rows_of()), cs.BDeu())


def test_a_family_that_exceeds_the_memory_limit_is_named():
    table = cs.read(rows_of())
    with pytest.raises(MemoryLimitError, match="'y'"):
        cs.score(cs.DAG.parse("[g][h][y|g:h]"), table, cs.BIC(), memory_limit=100)


def test_gaps_of_discrete_parents_are_named():
    rows = rows_of()
    rows["h"] = np.where(np.arange(120) < 3, None, rows["h"])
    with pytest.raises(DataError, match="3 rows have no value of 'h'"):
        cs.score(cs.DAG.parse("[x][h][y|x:h]"), cs.read(rows), cs.BIC())


def test_logistic_families_are_judged_by_their_likelihood_and_parameters():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    ill = np.where(rng.random(400) < 1 / (1 + np.exp(-2 * x)), "yes", "no")
    table = cs.read({"x": x, "ill": ill})
    dag = cs.DAG([("x", "ill")])
    found = cs.node_scores(dag, table, cs.scores.LogLikelihood())["ill"]
    net = cs.fit(dag, table)
    rows = net["ill"].log_probabilities(np.zeros(400, int), x[:, None])
    codes = table.column("ill").astype(int)
    assert found == pytest.approx(rows[np.arange(400), codes].sum(), rel=1e-6)
    assert cs.node_scores(dag, table, cs.AIC())["ill"] == pytest.approx(found - 2)


def test_logistic_families_are_not_judged_by_source():
    rows = {"x": np.arange(10.0) + 0.5, "ill": list("ab") * 5}
    table = cs.read({"f": rows, "g": rows})
    with pytest.raises(InputError, match="PerSource: 'ill' is discrete and has continuous parents"):
        cs.score(cs.DAG([("x", "ill")]), table, cs.scores.PerSource(cs.BIC()))
