"""Node-average scores: means over the rows complete for a family, whatever asks for them."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest

import consilience as cs
from consilience.errors import DataError, InputError, ModelError
from consilience.statistics.engines import Batches, Memory
from consilience.structure.family_scores import strata_of
from consilience.structure.searches.judge import Grounds
from consilience.structure.searches.regression_judge import RegressionJudge

NAMES = "abcd"
STATES = {"a": ["0", "1"], "b": ["0", "1", "2"], "c": ["0", "1"], "d": ["0", "1", "2"]}


def frame_of(n_rows=300, share=0.25, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 2, n_rows)
    b = np.where(rng.random(n_rows) < 0.7, a + 1, rng.integers(0, 3, n_rows))
    c = (rng.random(n_rows) < np.where(b == 2, 0.9, 0.2)).astype(int)
    d = np.where(rng.random(n_rows) < 0.6, a + c, rng.integers(0, 3, n_rows))
    full = pd.DataFrame({"a": a, "b": b, "c": c, "d": d}).astype(str)
    return full.mask(rng.random(full.shape) < share)


def read(frame, **options):
    return cs.read(frame, states=STATES, **options)


def mean_log_likelihood(frame, child, parents, weights=None):
    """By hand: the mean of the log shares over the rows that have all of the family."""
    rows = frame.assign(w=1.0 if weights is None else weights).dropna(subset=[child, *parents])
    total = 0.0
    for _, group in rows.groupby(list(parents)) if parents else [((), rows)]:
        shares = group.groupby(child)["w"].sum() / group["w"].sum()
        total += (group["w"] * np.log(group[child].map(shares).astype(float))).sum()
    return total / rows["w"].sum()


def n_parameters(child, parents):
    return (len(STATES[child]) - 1) * int(np.prod([len(STATES[p]) for p in parents]))


def pnal(frame, child, parents, c=0.25, alpha=0.45):
    n = len(frame)
    mean = mean_log_likelihood(frame, child, parents)
    return n * (mean - c * n**-alpha * n_parameters(child, parents))


def all_dags():
    pairs = [(x, y) for i, x in enumerate(NAMES) for y in NAMES[i + 1 :]]
    for directions in product((None, 0, 1), repeat=len(pairs)):
        arcs = [
            p if one == 0 else p[::-1]
            for p, one in zip(pairs, directions, strict=True)
            if one is not None
        ]
        try:
            yield cs.DAG(arcs, nodes=list(NAMES))
        except cs.ConsilienceError:
            continue


@pytest.mark.parametrize("parents", [(), ("a",), ("a", "c"), ("a", "b", "c")], ids=len)
def test_a_family_has_the_mean_over_its_complete_rows(parents):
    frame = frame_of()
    dag = cs.DAG([(p, "d") for p in parents], nodes=["d"])
    found = cs.node_scores(dag, read(frame), cs.scores.NAL())["d"]
    assert found == pytest.approx(len(frame) * mean_log_likelihood(frame, "d", parents), rel=1e-12)
    found = cs.node_scores(dag, read(frame), cs.scores.PNAL(c=0.3, alpha=0.4))["d"]
    assert found == pytest.approx(pnal(frame, "d", parents, 0.3, 0.4), rel=1e-12)


def test_without_gaps_it_is_the_likelihood_and_bic_with_another_price():
    table = read(frame_of(share=0.0))
    dag = cs.DAG.parse("[a][b|a][c|b][d|a:c]")
    likelihood = cs.score(dag, table, cs.scores.LogLikelihood())
    assert cs.score(dag, table, cs.scores.NAL()) == pytest.approx(likelihood, rel=1e-13)
    d = (likelihood - cs.score(dag, table, cs.BIC())) / (np.log(300) / 2)
    price = 0.25 * 300**0.55
    assert cs.score(dag, table, cs.scores.PNAL()) == pytest.approx(
        likelihood - price * d, rel=1e-13
    )


def test_weights_count_as_rows():
    frame, weights = frame_of(60), np.arange(60) % 3 + 1
    table = read(frame.assign(w=weights), weight="w")
    dag = cs.DAG([("a", "b")])
    mean = mean_log_likelihood(frame, "b", ("a",), weights)
    assert cs.node_scores(dag, table, cs.scores.NAL())["b"] == pytest.approx(weights.sum() * mean)


def test_equivalent_graphs_differ_once_there_are_gaps():
    table = read(frame_of())
    one, other = (
        cs.score(cs.DAG.parse(s), table, cs.scores.NAL()) for s in ("[a][b|a]", "[b][a|b]")
    )
    assert one != pytest.approx(other, abs=0.1)
    with pytest.raises(InputError, match=r"PNAL\(c=0.25, alpha=0.45\) differs between the graphs"):
        cs.learn(table, score=cs.scores.PNAL(), search=cs.GES())


SEARCHES = [
    cs.HillClimb(restarts=10),
    cs.searches.BestFirst(frontier=20, patience=20),
    cs.searches.SimulatedAnnealing(steps=300),
    cs.searches.OrderSearch(restarts=10),
    cs.Exact(),
    cs.searches.AStar(),
    cs.searches.K2Search(list(NAMES)),
    cs.searches.ChowLiu(),
    cs.searches.TANSearch("a"),
]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda one: type(one).__name__)
def test_every_search_judges_families_by_their_own_rows(search):
    frame = frame_of()
    found = cs.search(read(frame), score=cs.scores.PNAL(), search=search)
    by_hand = sum(pnal(frame, node, found.dag.parents(node)) for node in NAMES)
    assert found.score == pytest.approx(by_hand, rel=1e-12)
    for node in NAMES:
        family = [node, *found.dag.parents(node)]
        assert found.n_rows[node] == len(frame.dropna(subset=family))


@pytest.mark.parametrize("seed", range(3))
def test_exact_searches_find_the_best_of_all_graphs(seed):
    frame = frame_of(120, 0.4, seed)
    value = cache(lambda node, parents: pnal(frame, node, parents))
    best = max(
        sum(value(node, tuple(sorted(dag.parents(node)))) for node in NAMES) for dag in all_dags()
    )
    for search in (cs.Exact(), cs.searches.AStar()):
        found = cs.search(read(frame), score=cs.scores.PNAL(), search=search)
        assert found.score == pytest.approx(best, rel=1e-12)


def test_batches_of_rows_give_the_same_as_rows_in_memory():
    table = read(frame_of())
    parts = [table.take(slice(i, i + 70)) for i in range(0, 300, 70)]
    found = cs.search(Batches(table.schema, parts), score=cs.scores.PNAL())
    assert found.dag == cs.learn(table, score=cs.scores.PNAL())
    assert "complete for it" in found.judged_by


def test_a_family_without_a_complete_row_is_left_out_and_in_a_given_graph_refused():
    table = cs.read({"x": [*"0101", *[None] * 4], "y": [*[None] * 4, *"0011"], "z": list("01") * 4})
    dag = cs.DAG([("x", "y")])
    with pytest.raises(ModelError, match=r"PNAL: no row has values of all of 'x', 'y'"):
        cs.score(dag, table, cs.scores.PNAL())
    words = r"if all variables are discrete, learn from completed rows: .*cs.StructuralEM\(\)"
    with pytest.raises(ModelError, match=words):
        cs.learn(table, score=cs.scores.PNAL(), require=[("x", "y")])
    assert ("x", "y") in cs.learn(table, require=[("x", "y")]).arcs
    with pytest.raises(ModelError, match=r"NAL: no row has values"):
        cs.score(dag, table, cs.scores.PerSource(cs.scores.NAL()))
    story = cs.search(table, score=cs.scores.PNAL(c=0.01))
    assert {"x", "y"} not in [set(arc) for arc in story.dag.arcs]
    assert any("could not be judged" in note for note in story.notes)


def test_parameters_are_checked():
    with pytest.raises(InputError, match="PNAL: c must be positive, got 0"):
        cs.scores.PNAL(c=0)
    with pytest.raises(InputError, match=r"alpha must be below 1, .* got 1.5"):
        cs.scores.PNAL(alpha=1.5)


def mixed_frame(n_rows=400, share=0.2, seed=1):
    rng = np.random.default_rng(seed)
    g = rng.choice(["u", "v"], n_rows)
    x = rng.normal(size=n_rows)
    y = np.where(g == "u", 1.0, -1.0) * x + rng.normal(size=n_rows)
    z = 0.7 * y + rng.normal(size=n_rows)
    frame = pd.DataFrame({"g": g, "x": x, "y": y, "z": z, "k": rng.normal(size=n_rows)})
    gaps = rng.random(frame.shape) < share
    gaps[:, 4] = False  # a column without gaps
    return frame.mask(gaps)


def regression(frame, child, parents, states=()):
    """Log-likelihood by hand, of a regression for each joint state, and the rows it has."""
    rows = frame.dropna(subset=[child, *parents, *states])
    total = 0.0
    for _, group in rows.groupby(list(states)) if states else [((), rows)]:
        design = np.column_stack([np.ones(len(group)), group[list(parents)]])
        left = group[child] - design @ np.linalg.lstsq(design, group[child], rcond=None)[0]
        free = len(group) - design.shape[1]
        variance = (left**2).sum() / free
        total += -len(group) / 2 * np.log(2 * np.pi * variance) - free / 2
    return total, len(rows)


@pytest.mark.parametrize(
    ("parents", "states"),
    [((), ()), (("x",), ()), (("k", "x"), ()), ((), ("g",)), (("x", "k"), ("g",))],
    ids=str,
)
def test_regressions_are_over_the_rows_complete_for_the_family(parents, states):
    frame = mixed_frame()
    dag = cs.DAG([(p, "y") for p in (*states, *parents)], nodes=["y"])
    total, n_rows = regression(frame, "y", parents, states)
    found = cs.node_scores(dag, cs.read(frame), cs.scores.NAL())["y"]
    assert found == pytest.approx(400 * total / n_rows, rel=1e-10)


def test_families_of_mixed_rows_with_gaps_have_their_own_rows():
    frame = mixed_frame(2000, 0.1)
    story = cs.search(cs.read(frame), score=cs.scores.PNAL(c=1), forbid=[("g", "x")])
    assert {frozenset(arc) for arc in story.dag.arcs} == {
        frozenset(pair) for pair in ("gy", "xy", "yz")
    }
    assert story.judged_by.startswith("PNAL(")
    for node in frame:
        assert story.n_rows[node] == len(frame.dropna(subset=[node, *story.dag.parents(node)]))


@pytest.mark.parametrize("search", [cs.HillClimb(restarts=3), cs.Exact()], ids=["climb", "exact"])
def test_searches_over_mixed_rows_report_the_score_of_the_graph(search):
    table = cs.read(mixed_frame())
    found = cs.search(table, score=cs.scores.PNAL(), search=search)
    assert found.score == pytest.approx(cs.score(found.dag, table, cs.scores.PNAL()), rel=1e-10)


def test_neighbors_of_a_regression_are_what_they_are_one_by_one():
    table = cs.read(mixed_frame())
    engine, names = Memory(table), tuple(table.variables)
    strata = strata_of(engine, names, 1e9)
    judge = RegressionJudge(Grounds(engine, strata, cs.scores.PNAL(), names, 1e9))
    neighbors = judge.neighbors(2, 0b00001, [1, 3, 4])
    sets = [0b00000, 0b00011, 0b00001, 0b01001, 0b10001]
    np.testing.assert_array_equal(neighbors, judge.several([(2, one) for one in sets]))
    parts = list(judge.scored_sets(2, [0, 1])(np.arange(4)))
    np.testing.assert_array_equal(parts[0], judge.several([(2, one) for one in range(4)]))


def test_logistic_families_have_their_own_rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    ill = np.where(rng.random(400) < 1 / (1 + np.exp(-2 * x)), "yes", "no").astype(object)
    x[:50], ill[350:] = np.nan, None
    dag, table = cs.DAG([("x", "ill")]), cs.read({"x": x, "ill": ill})
    rows = cs.read({"x": x[50:350], "ill": ill[50:350]})
    alone = cs.node_scores(dag, rows, cs.scores.LogLikelihood())["ill"]
    assert cs.node_scores(dag, table, cs.scores.NAL())["ill"] == pytest.approx(400 / 300 * alone)
    found = cs.search(table, score=cs.scores.PNAL(c=1), logistic=True)
    assert found.dag.arcs in ((("x", "ill"),), (("ill", "x"),))


def test_columns_without_values_and_without_spread_are_named():
    frame = mixed_frame()
    with pytest.raises(DataError, match="'w' has no value in any row"):
        cs.learn(cs.read(frame.assign(w=np.nan), continuous=["w"]))
    with pytest.raises(DataError, match="'w' is constant"):
        cs.learn(cs.read(frame.assign(w=1.5).mask(frame["x"].isna()), continuous=["w"]))


def test_a_regression_with_too_few_rows_of_its_own_is_refused_with_their_number():
    frame = mixed_frame(30, 0.0)
    frame.loc[3:, "x"] = np.nan
    with pytest.raises(DataError, match=r"3 rows are too few for the regression of 'y'"):
        cs.score(cs.DAG.parse("[x][z][k][y|x:z:k]"), cs.read(frame), cs.scores.PNAL())


def test_other_scores_of_a_graph_refuse_gaps_and_name_the_choice():
    with pytest.raises(DataError, match=r"have no value of 'a'.*cs.scores.PNAL\(\)"):
        cs.score(cs.DAG(nodes=["a"]), read(frame_of()), cs.BIC())
