"""Searches over rows whose passes are dear: the plain search, bit for bit, in few passes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import consilience as cs
from consilience.statistics.engines import Batches, Memory

SEARCHES = [
    cs.HillClimb(tabu=0, restarts=0),
    cs.HillClimb(tabu=5, restarts=3),
    cs.HillClimb(max_parents=2, restarts=0, start=cs.searches.TreeStart()),
    cs.GES(),
    cs.searches.Sweep(),
    cs.searches.Sweep(restarts=2, effort=1.0),
    cs.Exact(),
    cs.searches.AStar(max_parents=3),
    cs.searches.BestFirst(),
    cs.searches.OrderSearch(restarts=5),
    cs.searches.SimulatedAnnealing(steps=200),
    cs.searches.Hybrid(cs.PC(), cs.HillClimb(restarts=1)),
    None,
]

SCORES = [cs.BIC(), cs.BDeu(ess=5), cs.BHD(), cs.scores.BySource(cs.BIC()), cs.scores.PNAL()]


def _rows(n_rows: int, n_variables: int = 7, *, sources: int = 1, seed: int = 0) -> cs.Table:
    dag = cs.random_dag(n_variables, n_arcs=n_variables + 2, seed=seed)
    table = cs.random_network(dag, n_states=3, seed=seed).sample(n_rows, seed=seed)
    if sources == 1:
        return table
    frame = table.to_frame()
    frame["hospital"] = np.random.default_rng(seed).choice(
        [f"h{i}" for i in range(sources)], n_rows
    )
    return cs.read(frame, source="hospital")


def _in_parts(table: cs.Table, n_parts: int, sample: int) -> Batches:
    ends = np.linspace(0, table.n_rows, n_parts + 1).astype(int)
    parts = [table.take(slice(a, b)) for a, b in pairwise(ends)]
    return Batches(table.schema, parts, sample=sample)


def _assert_same(found: cs.searches.SearchResult, plain: cs.searches.SearchResult) -> None:
    assert found.dag == plain.dag
    assert found.cpdag == plain.cpdag
    assert found.score == plain.score
    assert (found.n_scored, found.trace) == (plain.n_scored, plain.trace)
    assert (found.stopped_by, found.notes, found.n_rows) == (
        plain.stopped_by,
        plain.notes,
        plain.n_rows,
    )


@pytest.mark.parametrize("search", SEARCHES, ids=repr)
def test_every_search_gives_the_bits_of_the_plain_one(search):
    table = _rows(600)
    found = cs.search(_in_parts(table, 3, sample=60), search=search, seed=1)
    _assert_same(found, cs.search(table, search=search, seed=1))
    assert found.passes > 0


@pytest.mark.parametrize("score", SCORES, ids=repr)
@pytest.mark.parametrize("sources", [1, 3])
def test_every_score_gives_the_bits_of_the_plain_search(score, sources):
    table = _rows(900, sources=sources)
    search = cs.HillClimb(restarts=1)
    found = cs.search(_in_parts(table, 4, sample=100), score=score, search=search)
    _assert_same(found, cs.search(table, score=score, search=search))


@given(sample=st.integers(1, 400), n_parts=st.integers(1, 9), seed=st.integers(0, 5))
@settings(max_examples=12, deadline=None)
def test_the_sample_and_the_partition_change_no_answer(sample, n_parts, seed):
    table = _rows(400, 6, seed=seed)
    _assert_same(
        cs.search(_in_parts(table, n_parts, sample), search=cs.GES()),
        cs.search(table, search=cs.GES()),
    )


def test_a_search_passes_over_the_rows_far_less_often_than_it_asks():
    table = _rows(4000, 12)
    plain = _Counting(table)
    cs.search(plain, search=cs.GES())
    found = cs.search(_in_parts(table, 2, sample=1000), search=cs.GES())
    assert found.passes <= 6 < plain.n_requests
    assert found.plays >= 2
    assert found.n_fetched >= 12 * 12


@pytest.mark.parametrize("seed", [0, 2])
def test_restarts_ask_for_little_more_than_the_plain_search_scores(seed):
    table = _rows(20_000, 12, seed=seed)
    found = cs.search(_in_parts(table, 2, sample=2000), search=cs.HillClimb(restarts=30))
    assert found.n_fetched < 1.5 * found.n_scored
    assert found.passes <= 10


def test_an_exact_search_takes_its_tables_in_one_pass():
    table = _rows(500, 6)
    found = cs.search(_in_parts(table, 2, sample=100), search=cs.Exact())
    assert found.passes == 5  # the sample, each variable alone, no arcs, the tables, the graph


def test_rows_in_memory_are_not_passed_over():
    found = cs.search(_rows(100, 4))
    assert (found.passes, found.plays) == (0, 1)


def test_background_knowledge_and_limits_hold_over_dear_rows():
    table = _rows(500)
    names = sorted(table.variables)
    how = {"require": [(names[0], names[1])], "forbid": [(names[2], names[3])]}
    found = cs.search(_in_parts(table, 3, 50), search=cs.GES(), memory_limit=4000, **how)
    _assert_same(found, cs.search(table, search=cs.GES(), memory_limit=4000, **how))


def test_a_search_that_is_cut_short_has_the_exact_score_of_its_graph():
    table = _rows(500, 8)
    found = cs.search(_in_parts(table, 3, 50), search=cs.HillClimb(), seconds=1e-9)
    assert found.stopped_by == "seconds"
    assert found.score == cs.score(found.dag, table, cs.BIC())
    assert any("guesses" in note for note in found.notes)


def test_discrete_and_continuous_columns_together():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, 500)
    y = (x + rng.integers(0, 2, 500)) % 3
    frame = {
        "x": x.astype(str).tolist(),
        "y": y.astype(str).tolist(),
        "u": x + rng.normal(size=500),
        "v": rng.normal(size=500),
    }
    table = cs.read(frame)
    found = cs.search(_in_parts(table, 1, 100), search=cs.HillClimb(restarts=0))
    _assert_same(found, cs.search(table, search=cs.HillClimb(restarts=0)))


class _Counting:
    """Rows in memory whose requests are counted."""

    def __init__(self, table: cs.Table) -> None:
        self._memory = Memory(table)
        self.schema, self.n_requests = table.schema, 0

    def gather(self, request):
        self.n_requests += 1
        return self._memory.gather(request)
