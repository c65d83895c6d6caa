"""Numbers of the R package bnlearn for its continuous and mixed data sets."""

from __future__ import annotations

import pytest

import consilience as cs

pytestmark = pytest.mark.data

GAUSSIAN_TEST = cs.DAG.parse("[A][B][E][G][C|A:B][D|B][F|A:D:E:G]")
CLGAUSSIAN_TEST = cs.DAG.parse("[A][B][C][H][D|A:H][F|B:C][E|B:D][G|A:D:E:F]")
KNOWN = {
    ("gaussian.test", cs.scores.LogLikelihood()): -53131.91725991893,
    ("gaussian.test", cs.AIC()): -53152.91725991893,
    ("gaussian.test", cs.BIC()): -53221.347788428815,
    ("gaussian.test", cs.scores.BGe()): -53258.94161814046,
    ("clgaussian.test", cs.scores.LogLikelihood()): -20074.13346093722,
    ("clgaussian.test", cs.AIC()): -20125.13346093722,
    ("clgaussian.test", cs.BIC()): -20291.321887318336,
}
GRAPHS = {"gaussian.test": GAUSSIAN_TEST, "clgaussian.test": CLGAUSSIAN_TEST}


@pytest.mark.parametrize(("name", "score"), KNOWN, ids=str)
def test_scores_of_known_graphs(data_dir, name, score):
    table = cs.read(data_dir / "bnlearn" / f"{name}.csv.gz")
    found = cs.score(GRAPHS[name], table, score)
    assert found == pytest.approx(KNOWN[name, score], rel=1e-12)


@pytest.mark.parametrize("score", [cs.BIC(), cs.scores.BGe()], ids=repr)
@pytest.mark.parametrize(
    "search", [cs.HillClimb(), cs.HillClimb(tabu=0, restarts=0), cs.GES()], ids=repr
)
def test_searches_find_the_class_of_the_gaussian_network(data_dir, search, score):
    table = cs.read(data_dir / "bnlearn" / "gaussian.test.csv.gz")
    assert cs.shd(cs.learn(table, search=search, score=score), GAUSSIAN_TEST) == 0


@pytest.mark.parametrize("search", [cs.HillClimb(), cs.GES(), cs.Exact()], ids=repr)
def test_searches_find_the_mixed_network(data_dir, search):
    table = cs.read(data_dir / "bnlearn" / "clgaussian.test.csv.gz")
    found = cs.search(table, search=search)
    assert cs.shd(found.dag, CLGAUSSIAN_TEST) == 0
    assert "logistic=True" in found.notes[0]
