"""Families judged pooled, by source, tied, and with intercepts by source."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize
from scipy.special import gammaln
from score_data import STATES, read, rows_of

import consilience as cs
from consilience.kernels.tied import fill_n_log_n, log_likelihoods_by_source
from consilience.statistics.many_regressions import RegressionBatch

close = {"rel": 1e-9, "abs": 1e-9}
GRAPH = cs.DAG.parse("[a][b|a][c|a:b]")
BOTH = cs.scores.BySource(cs.BIC())


def of_family(table, score, child, parents=()):
    counts = cs.count(table, [cs.Family(child, parents)], by_source=score.by_source)
    return float(score.local(counts)[0])


def far_apart(n_rows=300, seed=0):
    """Rows whose sources differ much."""
    rng = np.random.default_rng(seed)
    source = rng.integers(0, 3, n_rows)
    a = (rng.random(n_rows) < np.array([0.1, 0.5, 0.9])[source]).astype(int)
    b = np.where(rng.random(n_rows) < 0.8, (a + source) % 3, rng.integers(0, 3, n_rows))
    c = rng.integers(0, 2, n_rows)
    columns = {"a": a.astype(str), "b": b.astype(str), "c": c.astype(str)}
    return columns | {"source": np.array(["f0", "f1", "f2"])[source]}


def source_as_a_column(rows):
    """The same rows with the source as an ordinary variable."""
    return cs.read(rows, discrete=["source"], states=STATES)


def tied_of(counts):
    """The kernel's log-likelihood of counts (sources, parent states, states); -inf if not asked."""
    known, found = np.empty(64), np.empty((4, 1))
    fill_n_log_n(known)
    shape = np.array([[*counts.shape, 1]])
    log_likelihoods_by_source(np.ascontiguousarray(counts).ravel(), shape, 1.0, known, *found)
    return float(found[2, 0])


def dirichlet_multinomial(counts, log_s, log_base):
    base = np.exp(log_base - log_base.max(axis=1, keepdims=True))
    c = np.exp(log_s) * base / base.sum(axis=1, keepdims=True)  # (parent states, states)
    n, s = counts.sum(axis=2), np.exp(log_s)
    return float((gammaln(s) - gammaln(s + n)).sum() + (gammaln(c + counts) - gammaln(c)).sum())


def largest_tied(counts):
    """The maximum of the Dirichlet-multinomial likelihood by a general optimizer."""
    _, q, r = counts.shape
    found = minimize(
        lambda x: -dirichlet_multinomial(counts, x[0], x[1:].reshape(q, r)),
        np.append(np.log(5.0), np.log(counts.sum(axis=0) + 0.5).ravel()),
        method="L-BFGS-B",
        bounds=[(-4, 13), *[(-12, 12)] * (q * r)],
    )
    return -float(found.fun)


def tied_counts(seed, n_sources=12, q=2, r=3, s=4.0):
    rng = np.random.default_rng(seed)
    base = rng.dirichlet(np.ones(r), q)
    return np.stack(
        [
            [rng.multinomial(30, rng.dirichlet(np.maximum(s * row, 1e-3))) for row in base]
            for _ in range(n_sources)
        ]
    )


@pytest.mark.parametrize("rows", [rows_of(300), far_apart()], ids=["nearly alike", "far apart"])
@pytest.mark.parametrize("parents", [(), ("a",), ("a", "c")], ids=len)
def test_a_family_has_the_best_of_pooled_by_source_and_tied(rows, parents):
    table, apart = read(rows), source_as_a_column(rows)
    pooled = of_family(table, cs.BIC(), "b", parents)
    by_source = of_family(apart, cs.BIC(), "b", (*parents, "source"))
    (counts,) = cs.count(table, [cs.Family("b", parents)], by_source=True)
    n_free = counts.n_parent_states * 2 + 1
    tied = tied_of(counts.table) - 0.5 * np.log(table.n_rows) * n_free
    assert of_family(table, BOTH, "b", parents) == pytest.approx(
        max(pooled, by_source, tied), **close
    )


def test_each_way_is_named():
    alike, apart = rows_of(300), far_apart()
    alike["c"] = np.random.default_rng(1).integers(0, 2, 300).astype(str)
    family = [cs.Family("c", ("b",))]
    assert BOTH.ways(cs.count(read(alike), family, by_source=True)) == ["pooled"]
    family = [cs.Family("b", ("a",)), cs.Family("c")]
    assert BOTH.ways(cs.count(read(apart), family, by_source=True)) == ["by source", "pooled"]


@pytest.mark.parametrize("seed", range(6))
def test_the_tied_likelihood_is_the_largest_there_is(seed):
    counts = tied_counts(seed, s=3.0 ** (seed % 3))
    assert tied_of(counts) == pytest.approx(largest_tied(counts), abs=0.01)


def test_the_tied_likelihood_is_above_the_evidence_for_any_base_prior():
    from consilience.parameters.hierarchy import solve

    counts = tied_counts(1)
    batches = np.swapaxes(counts, 0, 1).astype(float)  # a base for each parent state
    assert tied_of(counts) > max(solve(batches, s, 1.0).log_evidence for s in (1.0, 4.0, 16.0))


def test_the_tied_way_is_asked_only_where_sources_differ_more_than_by_chance():
    rng = np.random.default_rng(0)
    alike = np.stack([[rng.multinomial(30, [0.2, 0.3, 0.5])] for _ in range(12)])
    assert tied_of(alike) == -np.inf
    assert np.isfinite(tied_of(tied_counts(0)))


def test_many_small_sources_that_vary_around_a_base_are_tied():
    counts = tied_counts(3, n_sources=40, q=1)
    rows = {"x": [], "f": []}
    for f, own in enumerate(counts[:, 0]):
        for state, n in enumerate(own):
            rows["x"] += [str(state)] * int(n)
            rows["f"] += [f"f{f}"] * int(n)
    table = cs.read(rows, source="f")
    assert BOTH.ways(cs.count(table, [cs.Family("x")], by_source=True)) == ["tied"]


@pytest.mark.parametrize("inner", [cs.BIC(), cs.AIC(), cs.scores.EBIC(3)], ids=repr)
def test_with_one_source_it_is_the_score_itself(inner):
    everyone = read(rows_of())
    table = everyone.take(everyone.source_codes == 0)
    found = cs.node_scores(GRAPH, table, cs.scores.BySource(inner))
    assert found == cs.node_scores(GRAPH, table, inner)
    alone = source_as_a_column(rows_of())
    assert cs.score(GRAPH, alone, cs.scores.BySource(inner)) == cs.score(GRAPH, alone, inner)


def test_a_source_without_rows_is_no_source():
    is_kept = far_apart()["source"] != "f2"
    some = read(far_apart()).take(is_kept)
    rows = {name: column[is_kept] for name, column in far_apart().items()}
    assert cs.score(GRAPH, some, BOTH) == pytest.approx(cs.score(GRAPH, read(rows), BOTH), **close)


@given(seed=st.integers(0, 1000))
@settings(max_examples=10)
def test_the_order_and_names_of_sources_do_not_matter(seed):
    rows = far_apart(120, seed)
    other = rows | {
        "source": np.array([{"f0": "z", "f1": "y", "f2": "x"}[f] for f in rows["source"]])
    }
    assert cs.score(GRAPH, read(other), BOTH) == pytest.approx(
        cs.score(GRAPH, read(rows), BOTH), rel=1e-6
    )


def test_half_rows_twice_are_whole_rows():
    rows = far_apart(200)
    twice = {name: np.concatenate([column, column]) for name, column in rows.items()}
    halves = read(twice | {"n": np.full(400, 0.5)}, weight="n")
    assert cs.score(GRAPH, halves, BOTH) == pytest.approx(
        cs.score(GRAPH, read(rows), BOTH), **close
    )


def test_fractions_of_a_row_score_finitely():
    rows = far_apart(200)
    light = read(rows | {"n": np.random.default_rng(0).random(200)}, weight="n")
    assert np.isfinite(cs.score(GRAPH, light, BOTH))


def test_the_arcs_of_ebic_are_charged_once():
    table, dag = read(far_apart()), cs.DAG([("a", "b")])
    loss = cs.score(dag, table, BOTH) - cs.score(
        dag, table, cs.scores.BySource(cs.scores.EBIC(3, gamma=1))
    )
    assert loss == pytest.approx(np.log(3), **close)


def test_a_score_without_a_price_for_parameters_is_refused():
    for score in (cs.BDeu(), cs.scores.LogLikelihood(), cs.scores.PerSource(cs.BIC()), "bic"):
        with pytest.raises(ValueError, match=r"BySource: score must be .*cs\.BIC\(\)"):
            cs.scores.BySource(score)


def regressions(n_rows=90, seed=0, *, slopes=(0.8, 0.8, 0.8), shifts=(0.0, 2.0, -2.0)):
    rng = np.random.default_rng(seed)
    source = np.repeat(np.arange(3), n_rows // 3)
    x = rng.normal(size=n_rows) + np.array([1.0, 0.0, -1.0])[source]
    g = rng.integers(0, 2, n_rows)
    y = np.array(shifts)[source] + np.array(slopes)[source] * x + 0.5 * g + rng.normal(size=n_rows)
    columns = {"x": x, "y": y, "g": g.astype(str)}
    return columns | {"source": np.array(["f0", "f1", "f2"])[source]}


def log_likelihood(y, design):
    """Of least squares, with the variance of denominator n - p."""
    left = ((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2).sum()
    n, p = design.shape
    return -0.5 * n * np.log(2 * np.pi * left / (n - p)) - 0.5 * (n - p)


def three_ways(rows, parents):
    """Scores of y by least squares in each way; a discrete parent g splits the rows.

    A column that differs by source when it has no parents is not judged pooled.
    """
    x = rows["x"][:, None] if "x" in parents else np.empty((len(rows["y"]), 0))
    groups = [rows["g"] == g for g in "01"] if "g" in parents else [np.full(len(x), True)]
    dummies = np.stack([rows["source"] == f for f in ("f0", "f1", "f2")], axis=1).astype(float)
    ones, c, q = np.ones((len(x), 1)), x.shape[1], len(groups)
    price = 0.5 * np.log(len(x))
    pooled = sum(log_likelihood(rows["y"][g], np.hstack([ones, x])[g]) for g in groups)
    common = sum(log_likelihood(rows["y"][g], np.hstack([dummies, x])[g]) for g in groups)
    cells = [g & (column == 1) for g in groups for column in dummies.T]
    apart = sum(log_likelihood(rows["y"][g], np.hstack([ones, x])[g]) for g in cells)
    return {
        "pooled": pooled - price * q * (c + 2),
        "intercepts by source": common - price * q * (3 + c + 1),
        "by source": apart - price * 3 * q * (c + 2),
    }


@pytest.mark.parametrize("parents", [(), ("x",), ("g",), ("g", "x")], ids=str)
@pytest.mark.parametrize(
    "kind",
    [{}, {"shifts": (0, 0, 0)}, {"slopes": (3.0, -3.0, 0.0)}],
    ids=["shifts", "alike", "all"],
)
def test_a_continuous_child_has_the_best_of_three_least_squares(parents, kind):
    rows = regressions(**kind)
    table = cs.read(rows, source="source", continuous=["x", "y"])
    moments = cs.moments(table, ["x", "y"], by=[p for p in parents if p == "g"], by_source=True)
    batch = RegressionBatch.of(moments, [cs.Family("y", parents)])
    expected, alone = three_ways(rows, parents), three_ways(rows, ())
    if alone["intercepts by source"] > alone["pooled"]:
        del expected["pooled"]
    assert BOTH.local(batch)[0] == pytest.approx(max(expected.values()), **close)
    assert BOTH.ways(batch) == [max(expected, key=expected.get)]
    assert cs.node_scores(cs.DAG([(p, "y") for p in parents], ["y"]), table, BOTH)["y"] == (
        pytest.approx(max(expected.values()), **close)
    )


def test_a_state_with_few_rows_is_judged_with_the_intercepts_of_all_states():
    rows = regressions(300)
    rows["g"][:] = "0"
    rows["g"][[0, 150, 299]] = "1"
    table = cs.read(rows, source="source", continuous=["x", "y"])
    moments = cs.moments(table, ["x", "y"], by=["g"], by_source=True)
    batch = RegressionBatch.of(moments, [cs.Family("y", ("g", "x"))])
    common, rare = rows["g"] == "0", rows["g"] == "1"
    dummies = np.stack([rows["source"] == f for f in ("f0", "f1", "f2")], axis=1).astype(float)
    design, y = np.hstack([dummies, rows["x"][:, None]]), rows["y"]
    slopes = np.linalg.lstsq(design, y, rcond=None)[0]
    variance = ((y - design @ slopes) ** 2).sum() / (300 - 4)
    misfit = ((y - design @ slopes) ** 2)[rare].sum()
    found = log_likelihood(y[common], design[common])
    found += -1.5 * np.log(2 * np.pi * variance) - 0.5 * misfit / variance
    price = 0.5 * np.log(300) * 2 * 5
    assert BOTH.ways(batch) == ["intercepts by source"]
    assert BOTH.local(batch)[0] == pytest.approx(found - price, **close)


def test_a_source_without_rows_is_no_source_of_regressions():
    rows = regressions()
    everyone = cs.read(rows, source="source", continuous=["x", "y"])
    is_kept = rows["source"] != "f1"
    alone = {name: column[is_kept] for name, column in rows.items()}
    found = cs.score(cs.DAG([("x", "y")]), everyone.take(is_kept), BOTH)
    table = cs.read(alone, source="source", continuous=["x", "y"])
    assert found == pytest.approx(cs.score(cs.DAG([("x", "y")]), table, BOTH), **close)


def test_a_column_that_is_constant_in_each_source_is_judged_pooled():
    rows = regressions()
    rows["y"] = np.array([{"f0": 1.0, "f1": 2.5, "f2": 7.0}[f] for f in rows["source"]])
    table = cs.read(rows, source="source", continuous=["x", "y"])
    found = cs.node_scores(cs.DAG(nodes=["y"]), table, BOTH)
    assert found == cs.node_scores(cs.DAG(nodes=["y"]), table, cs.BIC())


def test_a_logistic_family_may_depend_on_the_source():
    rows = regressions(600)
    turn = np.where(rows["source"] == "f0", 3.0, -3.0)
    share = 1 / (1 + np.exp(-turn * rows["x"]))
    rows["z"] = np.where(np.random.default_rng(0).random(600) < share, "1", "0")
    table = cs.read(rows, source="source", continuous=["x", "y"])
    dag = cs.DAG([("x", "z")])
    assert cs.node_scores(dag, table, BOTH)["z"] > cs.node_scores(dag, table, cs.BIC())["z"] + 50
    found = cs.search(table, require=[("x", "z")], logistic=True, search=cs.HillClimb(restarts=0))
    assert found.by_source["z"] == "by source"


@pytest.mark.parametrize(
    "search",
    [
        cs.GES(),
        cs.Exact(),
        cs.searches.AStar(),
        cs.searches.OrderSearch(),
        cs.searches.BestFirst(),
        cs.HillClimb(),
    ],
    ids=repr,
)
def test_every_search_ends_at_a_graph_whose_score_it_reports(search):
    table = read(far_apart())
    found = cs.search(table, search=search)
    assert found.score == pytest.approx(cs.score(found.dag, table, BOTH), **close)
    assert {("a", "b"), ("b", "a")} & {*found.dag.arcs}


def test_ges_says_what_it_takes_the_score_for():
    found = cs.search(read(far_apart()), search=cs.GES())
    assert any("GES took the score for the same in all graphs of a class" in n for n in found.notes)
    plain = cs.search(read(far_apart()), search=cs.GES(), score=cs.BIC())
    assert not any("GES took" in note for note in plain.notes)
