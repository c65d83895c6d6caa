"""Scores of continuous families: least squares as the judge, laws, and bad columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import consilience as cs
from consilience.errors import DataError, InputError
from consilience.graph import all_dags
from consilience.statistics.engines import Batches

SCORES = [
    cs.scores.LogLikelihood(),
    cs.AIC(),
    cs.BIC(),
    cs.scores.EBIC(4),
    cs.scores.BGe(),
    cs.scores.BGe(3.0, 4.0),
]
DAGS = tuple(all_dags(("A", "B", "C")))
every_score = pytest.mark.parametrize("score", SCORES, ids=repr)
some_rows = given(seed=st.integers(0, 10_000), n_rows=st.integers(7, 60))
a_few = settings(max_examples=10)


def rows_of(n_rows=40, seed=0, names="ABCD"):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_rows, len(names))) @ rng.normal(size=(len(names), len(names)))
    return {name: values[:, i] + 10 * i for i, name in enumerate(names)}


def log_likelihood(rows, child, parents):
    """By least squares, the variance with denominator n - p."""
    y = rows[child]
    design = np.column_stack([np.ones(len(y)), *(rows[p] for p in parents)])
    left = ((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2).sum()
    variance = left / (len(y) - design.shape[1])
    return -len(y) / 2 * np.log(2 * np.pi * variance) - left / 2 / variance


GRAPH = cs.DAG.parse("[A][B|A][C][D|A:B:C]")


@some_rows
@a_few
def test_the_likelihood_is_that_of_least_squares(seed, n_rows):
    rows = rows_of(n_rows, seed)
    expected = {node: log_likelihood(rows, node, GRAPH.parents(node)) for node in GRAPH.nodes}
    table = cs.read(rows)
    assert cs.node_scores(GRAPH, table, cs.scores.LogLikelihood()) == pytest.approx(
        expected, rel=1e-9
    )
    total, d = sum(expected.values()), 2 + 3 + 2 + 5
    assert cs.score(GRAPH, table, cs.AIC()) == pytest.approx(total - d, rel=1e-9)
    assert cs.score(GRAPH, table, cs.BIC()) == pytest.approx(total - d / 2 * np.log(n_rows))
    extra = 0.5 * 4 * np.log(4)
    assert cs.score(GRAPH, table, cs.scores.EBIC(4)) == pytest.approx(
        cs.score(GRAPH, table, cs.BIC()) - extra, rel=1e-9
    )


@every_score
@some_rows
@a_few
def test_equivalent_graphs_have_equal_scores(score, seed, n_rows):
    table = cs.read(rows_of(n_rows, seed, "ABC"))
    by_class = {}
    for dag in DAGS:
        by_class.setdefault(cs.CPDAG.of(dag), []).append(cs.score(dag, table, score))
    for found in by_class.values():
        assert found == pytest.approx([found[0]] * len(found), rel=1e-9, abs=1e-9)


@every_score
def test_the_order_of_rows_and_columns_does_not_matter(score):
    rows = rows_of()
    order = np.random.default_rng(1).permutation(40)
    turned = {name: rows[name][order] for name in "CADB"}
    other = cs.DAG.parse("[D|C:B:A][C][B|A][A]")
    assert cs.score(other, cs.read(turned), score) == pytest.approx(
        cs.score(GRAPH, cs.read(rows), score), rel=1e-10
    )


@every_score
def test_a_row_of_weight_two_is_two_rows(score):
    rows = rows_of()
    twice = {name: np.concatenate([column, column[:10]]) for name, column in rows.items()}
    weighted = cs.read(rows | {"n": np.array([2] * 10 + [1] * 30)}, weight="n")
    assert cs.score(GRAPH, weighted, score) == pytest.approx(
        cs.score(GRAPH, cs.read(twice), score), rel=1e-10
    )


@every_score
def test_rows_in_batches_score_like_rows_in_memory(score):
    table = cs.read(rows_of())
    parts = Batches(table.schema, [table.take(slice(0, 15)), table.take(slice(15, 40))])
    assert cs.score(GRAPH, parts, score) == pytest.approx(cs.score(GRAPH, table, score), rel=1e-10)


@pytest.mark.parametrize("score", [cs.BIC(), cs.scores.LogLikelihood()], ids=repr)
def test_a_far_mean_does_not_matter(score):
    rng = np.random.default_rng(0)
    rows = rows_of(200)
    far = {name: column + 1e8 * rng.integers(1, 3) for name, column in rows.items()}
    assert cs.score(GRAPH, cs.read(far), score) == pytest.approx(
        cs.score(GRAPH, cs.read(rows), score), rel=1e-6
    )


def test_a_collinear_parent_never_helps_and_never_gives_nan():
    rows = rows_of()
    rows["copy"] = 2 * rows["A"] + 3
    table = cs.read(rows)
    for score in (cs.scores.LogLikelihood(), cs.BIC(), cs.AIC()):
        one = cs.node_scores(cs.DAG.parse("[A][copy][D|A]"), table, score)["D"]
        both = cs.node_scores(cs.DAG.parse("[A][copy][D|A:copy]"), table, score)["D"]
        assert np.isfinite(both)
        assert both <= one + 1e-9


def test_a_constant_column_is_named():
    table = cs.read(rows_of() | {"k": np.full(40, 0.1)}, continuous=["k"])
    with pytest.raises(
        DataError, match=r"column 'k' is constant up to rounding \(0.1 in every row\)"
    ):
        cs.learn(table)
    with pytest.raises(DataError, match="'k' is constant"):
        cs.score(cs.DAG.parse("[A][k|A]"), table, cs.BIC())


def test_columns_that_are_functions_of_each_other_are_named():
    rows = rows_of()
    rows["sum"] = rows["A"] + rows["C"]
    table = cs.read(rows)
    with pytest.raises(DataError, match="column 'sum' is a linear function of 'A', 'C' in every"):
        cs.learn(table)
    with pytest.raises(DataError, match="'sum' is a linear function of 'A', 'C'"):
        cs.score(cs.DAG.parse("[A][C][sum|A:C]"), table, cs.BIC())


def test_bge_bears_columns_that_are_functions_of_each_other():
    rows = rows_of()
    rows["copy"] = rows["A"].copy()
    found = cs.learn(cs.read(rows), score=cs.scores.BGe())
    assert {"A", "copy"} in map(set, found.arcs)


def test_too_few_rows_are_refused_by_name():
    table = cs.read(rows_of(5, names="ABCDEF"))
    with pytest.raises(DataError, match="5 rows are too few for the regression of 'F' on"):
        cs.score(cs.DAG.parse("[A][B][C][D][E][F|A:B:C:D:E]"), table, cs.BIC())


def test_a_search_leaves_out_families_with_too_few_rows_and_says_so():
    table = cs.read(rows_of(6, names="ABCDEFGH"))
    found = cs.search(table, score=cs.scores.LogLikelihood(), search=cs.HillClimb(restarts=3))
    assert np.isfinite(found.score)
    assert any("had more coefficients than rows" in note for note in found.notes)


def test_gaps_in_continuous_columns_are_named():
    rows = rows_of()
    rows["B"][3:5] = np.nan
    table = cs.read(rows)
    with pytest.raises(DataError, match=r"2 rows have no value of 'B' \(gaps in 'B'\)"):
        cs.score(GRAPH, table, cs.BIC())
    assert cs.learn(table, score=cs.BIC()) == cs.learn(table)
    assert cs.search(table).n_rows.keys() == table.variables.keys()
    assert np.isfinite(cs.score(cs.DAG.parse("[A][C|A]"), table, cs.BIC()))


def test_a_table_without_rows_is_refused():
    table = cs.read(rows_of()).take(slice(0, 0))
    with pytest.raises(DataError, match="without rows"):
        cs.learn(table)
    with pytest.raises(DataError, match="without rows"):
        cs.score(GRAPH, table, cs.BIC())


@pytest.mark.parametrize(
    "score",
    [
        *[
            cs.scores.K2(),
            cs.scores.BDJ(),
            cs.BDeu(),
            cs.scores.BDs(),
            cs.scores.FNML(),
            cs.scores.QNML(),
            cs.scores.HeldOut(),
        ],
        *[cs.scores.CrossValidated(), cs.BHD(), cs.scores.PerSource(cs.BDeu())],
        cs.scores.MAP(cs.scores.K2(), cs.scores.UniformPrior()),
    ],
    ids=repr,
)
def test_scores_of_tables_refuse_continuous_families(score):
    table = cs.read(rows_of())
    with pytest.raises(InputError, match=r"judges families of discrete variables; .* 'A' .*BIC"):
        cs.learn(table, score=score)
    with pytest.raises(InputError, match=r"cs.scores.BGe\(\)"):
        cs.score(GRAPH, table, score)


def test_a_score_of_counts_refuses_continuous_families():
    score = cs.scores.CustomScore(lambda counts: 0.0, name="mine")
    with pytest.raises(InputError, match="the score 'mine' judges families of discrete"):
        cs.learn(cs.read(rows_of()), score=score)


def sources_of(shift=5.0):
    """Two columns that are independent in each source and far apart between them."""
    rng = np.random.default_rng(0)
    return {
        name: {"x": rng.normal(k * shift, 1, 60), "y": rng.normal(k * shift, 1, 60)}
        for k, name in enumerate(["f", "g"])
    }


def test_separate_regressions_are_the_sum_over_the_sources():
    rows = sources_of()
    dag = cs.DAG([("x", "y")])
    alone = sum(cs.score(dag, cs.read(one), cs.BIC()) for one in rows.values())
    assert cs.score(dag, cs.read(rows), cs.scores.PerSource(cs.BIC())) == pytest.approx(
        alone, rel=1e-10
    )


def test_separate_regressions_are_not_misled_by_sources_that_differ():
    table = cs.read(sources_of())
    assert len(cs.learn(table, score=cs.BIC()).arcs) == 1
    assert cs.learn(table, score=cs.scores.PerSource(cs.BIC())).arcs == ()


def test_a_column_that_is_constant_in_a_source_is_named():
    rows = sources_of()
    rows["g"]["y"] = np.full(60, 4.5)
    with pytest.raises(DataError, match="source 'g': column 'y' is constant there"):
        cs.learn(cs.read(rows), score=cs.scores.PerSource(cs.BIC()))


def test_a_prior_over_graphs_adds_its_log_odds():
    table = cs.read(rows_of())
    score = cs.scores.MAP(cs.BIC(), cs.scores.VariableSelection(0.25))
    expected = cs.score(GRAPH, table, cs.BIC()) + 4 * np.log(1 / 3)
    assert cs.score(GRAPH, table, score) == pytest.approx(expected, rel=1e-12)
