"""Graphs judged by the variational bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import consilience as cs
from consilience.data.table import Table
from consilience.errors import ConsilienceError

BOUND = cs.StructuralEM(em=cs.gaps.VariationalBayes())
TRUE = cs.DAG.parse("[a][b|a][c|b][d]")


def rows_with_gaps(n_rows: int = 400, share: float = 0.2, seed: int = 3) -> Table:
    net = cs.random_network(TRUE, n_states=2, total=0.8, seed=5)
    table, rng = net.sample(n_rows, seed=seed), np.random.default_rng(seed)
    columns = {
        name: np.where(rng.random(n_rows) < share, -1, column).astype(column.dtype)
        for name, column in table.columns.items()
    }
    return Table(table.schema, columns)


@pytest.mark.parametrize("score", [None, cs.BDeu(ess=5), cs.scores.K2()])
def test_the_score_of_a_search_is_the_bound_of_its_graph(score):
    table = rows_with_gaps()
    found = cs.search(table, score=score, gaps=BOUND)
    prior = {None: cs.Dirichlet(ess=1), "K2": cs.Dirichlet(per_cell=1)}
    key = None if score is None else type(score).__name__
    used = prior.get(key, cs.Dirichlet(ess=5))
    assert found.score == pytest.approx(cs.gaps.variational(found.dag, table, used).bound, rel=1e-6)
    assert "variational bound" in found.judged_by


@pytest.mark.parametrize("search", [None, cs.HillClimb(), cs.Exact(), cs.GES()])
def test_every_search_finds_the_class_by_the_bound(search):
    found = cs.learn(rows_with_gaps(1500), search=search, gaps=BOUND)
    assert cs.shd(found, TRUE) == 0


def test_sources_are_pooled_and_their_shares_do_not_count():
    table = rows_with_gaps()
    half = np.arange(table.n_rows) % 2
    frame = table.to_frame().assign(place=np.array(["x", "y"])[half])
    states = {name: v.states for name, v in table.variables.items()}
    two = cs.read(frame, source="place", states=states)
    one = cs.search(table, score=cs.BDeu(), gaps=BOUND)
    both = cs.search(two, score=cs.BDeu(), gaps=BOUND)
    assert both.score == pytest.approx(one.score, rel=1e-6)


def test_scores_without_a_prior_and_continuous_columns_are_refused():
    table = rows_with_gaps(50)
    with pytest.raises(ConsilienceError, match=r"needs the Dirichlet prior of a score, which BIC"):
        cs.learn(table, score=cs.BIC(), gaps=BOUND)
    mixed = cs.read({"x": [1.0, 2.5, None, 3.1], "y": list("abab")})
    with pytest.raises(ConsilienceError, match="'x' is continuous"):
        cs.learn(mixed, gaps=BOUND)
    with pytest.raises(ConsilienceError, match="em must be a choice"):
        replace(BOUND, em="variational")
