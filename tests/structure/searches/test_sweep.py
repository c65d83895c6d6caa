"""Sweeps, and which search is used when none is chosen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import consilience as cs
from consilience.errors import GraphError, InputError
from consilience.structure.searches.default_search import is_soon_exact
from consilience.structure.searches.task import Clock

SWEEP = cs.searches.Sweep()


def random_rows(n_nodes, n_rows, seed, n_states=2):
    rng = np.random.default_rng(seed)
    dag = cs.random_dag(n_nodes, p_arc=0.4, seed=rng)
    return cs.random_network(dag, n_states=n_states, seed=rng).sample(n_rows, seed=rng)


def noise(n_columns, n_rows, seed=0, **sources):
    rng = np.random.default_rng(seed)
    columns = {f"v{i:02}": rng.choice(list("ab"), n_rows) for i in range(n_columns)}
    return cs.read(columns | {k: rng.integers(0, n, n_rows) for k, n in sources.items()})


@given(seed=st.integers(0, 10_000), n_nodes=st.integers(1, 8))
def test_sweeps_only_help_and_end_where_no_single_arc_gains(seed, n_nodes):
    table = random_rows(n_nodes, 200, seed)
    found = cs.search(table, search=SWEEP)
    classes = cs.search(table, search=cs.GES())
    assert found.score >= classes.score - 1e-6
    climbed = cs.search(table, search=cs.HillClimb(tabu=0, restarts=0, start=found.dag))
    assert climbed.score == pytest.approx(found.score, rel=1e-9)


def test_sweeps_find_what_classes_miss():
    gains = []
    for seed in range(20):
        table = random_rows(10, 150, seed)
        classes, found = (cs.search(table, search=one).score for one in (cs.GES(), SWEEP))
        gains.append(found - classes)
    assert min(gains) > -1e-6
    assert sum(gain > 1e-6 for gain in gains) >= 3


def test_without_effort_there_are_no_sweeps():
    table = random_rows(10, 150, seed=3)
    found = cs.search(table, search=cs.searches.Sweep(effort=0))
    assert found.stopped_by == "effort"
    assert found.score == pytest.approx(cs.search(table, search=cs.GES()).score, rel=1e-12)


def test_a_score_that_differs_within_a_class_begins_with_a_climb():
    table = random_rows(8, 300, seed=4)
    found = cs.search(table, score=cs.scores.K2(), search=SWEEP)
    climbed = cs.search(table, score=cs.scores.K2(), search=cs.HillClimb(restarts=0))
    assert found.trace[0].note == "hill climbing"
    assert found.score >= climbed.score - 1e-9


def test_restarts_after_the_sweeps_only_help():
    table = random_rows(10, 100, seed=8)
    plain, patient = (cs.search(table, search=cs.searches.Sweep(restarts=n)) for n in (0, 30))
    assert patient.score >= plain.score - 1e-9


@pytest.mark.parametrize(
    ("wrong", "culprit"), [({"effort": -1}, "effort"), ({"restarts": -1}, "restarts")]
)
def test_wrong_parameters_are_named(wrong, culprit):
    with pytest.raises(InputError, match=culprit):
        cs.searches.Sweep(**wrong)


def test_an_interrupt_keeps_the_best_graph():
    calls = 0

    def interrupt(share, text):
        nonlocal calls
        calls += 1
        if calls > 1:
            raise KeyboardInterrupt

    table = random_rows(20, 2000, seed=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("consilience.structure.searches.task.SECONDS_BETWEEN_REPORTS", 0.0)
        found = cs.search(table, search=SWEEP, progress=interrupt)
    assert found.stopped_by == "interrupt"
    assert found.score == pytest.approx(cs.score(found.dag, table, cs.BIC()), rel=1e-12)
    assert found.dag.arcs


@pytest.mark.parametrize("score", [cs.AIC(), cs.BIC(), cs.BDeu(ess=1)], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_few_columns_are_searched_exactly(seed, score):
    table = random_rows(12, 40, seed, n_states=3)
    found = cs.search(table, score=score)
    exact = cs.search(table, score=score, search=cs.Exact())
    assert found.searched_by == "Exact(max_parents=None)"
    assert found.score == pytest.approx(exact.score, rel=1e-12)


def test_many_columns_are_swept_and_a_chosen_search_is_never_replaced():
    table = noise(15, 50)
    assert cs.search(table).searched_by.startswith("Sweep(effort=4.0, restarts=0")
    patient = cs.search(table, seconds=0.5).searched_by
    assert patient.startswith("Sweep(effort=4.0, restarts=1000")
    few = noise(3, 50)
    assert cs.search(few, search=cs.GES()).searched_by == repr(cs.GES())
    assert cs.search(few, search=SWEEP).searched_by == repr(SWEEP)


class Asked:
    """A search that keeps its task."""

    def search(self, task):
        self.task = task
        return cs.HillClimb(tabu=0, restarts=0).search(task)


def is_exact(table, **asked):
    search = Asked()
    cs.search(table, search=search, **asked)
    return is_soon_exact(search.task)


def test_the_work_of_an_exact_search_decides():
    many = {"score": cs.BDeu(ess=1)}
    assert is_exact(noise(14, 50))
    assert not is_exact(noise(15, 50))
    wide = random_rows(12, 3000, seed=1, n_states=8)  # 9 ** 12 cells, or 2 ** 12 times the rows
    assert is_exact(wide, **many)
    assert not is_exact(random_rows(12, 20_000, seed=1, n_states=8), **many)
    assert not is_exact(noise(8, 50), memory_limit=1000)
    assert not is_exact(noise(3, 50), score=cs.BHD(s=1))  # it may refuse a family


def test_sources_that_are_kept_apart_are_more_work():
    def table(n_columns, n_sources):
        rows = noise(n_columns, 500, where=n_sources).to_frame()
        return cs.read(rows.astype({"where": str}), source="where")

    assert is_exact(table(8, 3))
    assert not is_exact(table(11, 3))
    assert is_exact(table(11, 3), score=cs.BIC())
    assert not is_exact(table(6, 400))


def test_regressions_and_mixed_tables_are_exact_while_few():
    rng = np.random.default_rng(1)
    columns = {f"x{i}": rng.normal(size=60) for i in range(14)}
    letters = {f"s{i}": rng.choice(list("abc"), 60) for i in range(4)}
    assert is_exact(cs.read({name: columns[name] for name in list(columns)[:12]}))
    assert not is_exact(cs.read(columns))
    assert is_exact(cs.read({"x0": columns["x0"], "x1": columns["x1"], **letters}))
    mixed = {name: columns[name] for name in list(columns)[:4]} | letters
    assert not is_exact(cs.read(mixed))
    few = {"x0": columns["x0"], "s0": letters["s0"]}
    assert not is_exact(cs.read(few), logistic=True)


def hard_tables():
    """Tables that a default must bear."""
    rng = np.random.default_rng(5)
    n = 20
    yield "one column", cs.read({"a": rng.choice(list("xy"), n)})
    yield "one number", cs.read({"a": rng.normal(size=n)})
    yield "two columns", cs.read({"a": rng.choice(list("xy"), n), "b": rng.choice(list("xy"), n)})
    columns = {f"v{i:02}": rng.choice(list("xyz"), n) for i in range(18)}
    yield "few rows", cs.read(columns)
    states = {f"v{i:02}": ["x", "y"] for i in range(16)}
    yield "constant", cs.read({name: ["x"] * n for name in states})
    yield "constant with states", cs.read({name: ["x"] * n for name in states}, states=states)
    yield "numbers", cs.read({f"v{i:02}": rng.normal(size=60) for i in range(16)})
    mixed = {f"x{i}": rng.normal(size=90) for i in range(6)}
    mixed |= {f"s{i}": rng.choice(list("ab"), 90) for i in range(9)}
    yield "mixed", cs.read(mixed)
    where = np.repeat([f"s{i:03}" for i in range(500)], 4)
    many = {f"v{i:02}": rng.choice(list("ab"), 2000) for i in range(5)}
    yield "500 sources", cs.read({"where": where, **many}, source="where")


@pytest.mark.parametrize("name", [name for name, _ in hard_tables()])
def test_hard_tables_have_a_graph(name):
    table = dict(hard_tables())[name]
    found = cs.search(table)
    assert set(found.dag.nodes) == set(table.variables)
    assert np.isfinite(found.score)
    assert found.stopped_by == "optimum"
    again = cs.search(table, seed=9)
    assert again.dag == found.dag


@pytest.mark.parametrize("n", [5, 16])
def test_the_default_honors_constraints_and_names_a_contradiction(n):
    table = noise(n, 200)
    wanted = {"require": [("v00", "v01")], "forbid": [("v02", "v03"), ("v03", "v02")]}
    found = cs.learn(table, **wanted, tiers=[["v00", "v01"], ["v02"]])
    assert ("v00", "v01") in found.arcs
    assert not {("v02", "v03"), ("v03", "v02"), ("v02", "v00")} & set(found.arcs)
    with pytest.raises(GraphError, match="forbidden as well"):
        cs.learn(table, require=[("v00", "v01")], forbid=[("v00", "v01")])


def test_no_time_leaves_the_required_arcs():
    table = noise(16, 200)
    found = cs.search(table, seconds=1e-9, require=[("v00", "v01")])
    assert found.stopped_by == "seconds"
    assert found.dag.arcs == (("v00", "v01"),)


@pytest.mark.parametrize("search", [SWEEP, cs.HillClimb(tabu=5, restarts=3)], ids=repr)
def test_a_search_that_the_clock_ends_tells_the_score_of_its_graph(search, monkeypatch):
    table = random_rows(9, 400, 3, n_states=3)
    for n_looks in range(3, 120, 9):
        looks = iter(range(n_looks))
        monkeypatch.setattr(Clock, "is_over", lambda _, looks=looks: next(looks, None) is None)
        found = cs.search(table, search=search, seconds=1e6)
        assert found.score == pytest.approx(cs.score(found.dag, table, cs.BIC()), rel=1e-12)
        assert found.trace[-1].score == pytest.approx(found.score, rel=1e-12)
