"""What holds for every search. A new one joins by a line in ``CASES``."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest

import consilience as cs
from consilience import searches
from consilience.errors import InputError
from consilience.statistics.engines import Memory
from consilience.structure.searches.task import Step

CASES = {
    "AStar": lambda names: cs.searches.AStar(),
    "BestFirst": lambda names: cs.searches.BestFirst(frontier=20, patience=20),
    "ChowLiu": lambda names: cs.searches.ChowLiu(),
    "Exact": lambda names: cs.Exact(),
    "GES": lambda names: cs.GES(),
    "GrowShrink": lambda names: cs.searches.GrowShrink(),
    "HillClimb": lambda names: cs.HillClimb(restarts=5),
    "Hybrid": lambda names: cs.searches.Hybrid(cs.PC(), cs.GES()),
    "IAMB": lambda names: cs.searches.IAMB(),
    "InterIAMB": lambda names: cs.searches.InterIAMB(),
    "K2Search": lambda names: cs.searches.K2Search(sorted(names)),
    "MMHC": lambda names: cs.searches.MMHC(),
    "MMPC": lambda names: cs.searches.MMPC(),
    "OrderSearch": lambda names: cs.searches.OrderSearch(restarts=5),
    "PC": lambda names: cs.PC(),
    "SimulatedAnnealing": lambda names: cs.searches.SimulatedAnnealing(steps=300),
    "Sweep": lambda names: cs.searches.Sweep(),
    "TANSearch": lambda names: cs.searches.TANSearch(min(names)),
}
"""A search for variables of these names, small enough for a test."""

TREES = ("ChowLiu", "TANSearch")
"""Searches that refuse constraints."""

NEEDS_EQUIVALENCE = ("GES", "Hybrid")
"""Searches that refuse scores which differ between equivalent graphs."""

HONOR = sorted(set(CASES) - set(TREES))

BY_TESTS = ("GrowShrink", "IAMB", "InterIAMB", "MMPC", "PC")
"""Searches that find a class by tests, which have no bound on the number of parents."""

SCORES = (cs.BIC(), cs.BDeu(ess=5), cs.scores.K2())

NET = cs.random_network(
    cs.DAG.parse("[a][b|a][c|a:b][d|c][e|b:d][f]"),
    n_states={"a": 2, "b": 3, "c": 2, "d": 3, "e": 2, "f": 2},
    total=0.8,
    seed=5,
)
TABLE = NET.sample(400, seed=1)
NAMES = tuple(TABLE.variables)


def run(name, table=TABLE, **asked):
    return cs.search(table, search=CASES[name](table.variables), seed=3, **asked)


def shuffled(table, seed):
    """The table with its rows, columns and the states of each column in another order."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(table.n_rows)
    variables, columns = {}, {}
    for name in rng.permutation(list(table.variables)).tolist():
        states = table.variables[name].states
        new = rng.permutation(len(states))  # old state k has the new code new[k]
        renamed = tuple(states[int(k)] for k in np.argsort(new))
        variables[name] = cs.Variable(name, renamed)
        columns[name] = new[table.column(name)][rows].astype(np.int8)
    return cs.Table(cs.Schema(variables), columns)


def test_every_public_search_is_held_to_the_contract():
    public = {name for name in searches.__all__ if hasattr(getattr(searches, name), "search")}
    assert set(CASES) == public


@pytest.mark.parametrize("score", SCORES, ids=repr)
@pytest.mark.parametrize("name", CASES)
def test_the_record_is_complete_and_true(name, score):
    if name in NEEDS_EQUIVALENCE and not score.score_equivalent:
        with pytest.raises(InputError, match="Use a score that does not"):
            run(name, score=score)
        return
    found = run(name, score=score)
    assert set(found.dag.nodes) == set(NAMES)
    assert found.score == pytest.approx(cs.score(found.dag, TABLE, score), rel=1e-12)
    assert found.cpdag == cs.CPDAG.of(found.dag)
    assert found.stopped_by == "optimum"
    assert found.n_scored > 0
    assert found.seconds > 0
    assert found.notes == ()
    assert found.trace
    assert all(isinstance(step, Step) and step.note for step in found.trace)
    assert found.trace[-1].score == pytest.approx(found.score, rel=1e-9)
    assert found.trace[-1].n_scored <= found.n_scored


@pytest.mark.parametrize("name", CASES)
def test_the_same_seed_gives_the_same_graph(name):
    assert run(name).dag == run(name).dag


@pytest.mark.parametrize("name", CASES)
def test_the_order_of_rows_columns_and_states_does_not_matter(name):
    found = run(name).dag
    for seed in range(2):
        assert run(name, shuffled(TABLE, seed)).dag == found


@pytest.mark.parametrize("name", HONOR)
def test_constraints_are_honored(name):
    found = run(
        name,
        require=[("a", "f"), ("b", "f")],
        forbid=[("a", "b"), ("c", "d")],
        tiers=[["a", "b", "c"], ["d", "e", "f"]],
    ).dag
    assert {("a", "f"), ("b", "f")} <= set(found.arcs)
    assert not {("a", "b"), ("c", "d")} & set(found.arcs)
    assert not any(start in "def" and end in "abc" for start, end in found.arcs)


@pytest.mark.parametrize("name", sorted({*HONOR} - {*BY_TESTS, "Hybrid"}))
def test_required_parents_are_there_however_few_are_allowed(name):
    search = CASES[name](NAMES)
    fields = {one.name: getattr(search, one.name) for one in dataclasses.fields(search)}
    limited = type(search)(**(fields | {"max_parents": 1}))
    must = [("d", "f"), ("e", "f")]
    found = cs.search(TABLE, search=limited, require=must, seed=3).dag
    assert set(must) <= set(found.arcs)
    assert all(len(found.parents(node)) <= 1 for node in "abcde")


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize(
    "asked", [{"require": [("a", "b")]}, {"forbid": [("a", "b")]}, {"tiers": [["a"], ["b"]]}]
)
def test_trees_refuse_constraints(name, asked):
    with pytest.raises(InputError, match=f"{name} .* takes no require=, forbid= or tiers="):
        run(name, **asked)


@pytest.mark.parametrize("name", CASES)
def test_an_interrupt_keeps_the_best_graph(name):
    def interrupt(share, text):
        assert share is None or 0 <= share <= 1
        assert text
        raise KeyboardInterrupt

    asked = {} if name in TREES else {"require": [("a", "f")]}
    found = run(name, progress=interrupt, **asked)
    assert found.stopped_by == "interrupt"
    assert name in TREES or ("a", "f") in found.dag.arcs
    assert found.score == pytest.approx(cs.score(found.dag, TABLE, cs.BIC()), rel=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_a_budget_ends_the_search_with_a_legal_graph(name):
    names = [f"x{i:02d}" for i in range(14)]
    dag = cs.random_dag(names, n_arcs=25, seed=1)
    engine = Memory(cs.random_network(dag, seed=1).sample(500, seed=1))
    asked = {} if name in TREES else {"require": [("x01", "x03")]}
    search = CASES[name](names)
    cs.search(engine, search=search, seconds=1e-6, **asked)  # may have to compile
    start = time.process_time()
    found = cs.search(engine, search=search, seconds=1e-6, **asked)
    assert time.process_time() - start < 1
    assert found.stopped_by == "seconds"
    assert set(found.dag.nodes) == set(names)
    assert name in TREES or ("x01", "x03") in found.dag.arcs


@pytest.mark.parametrize("name", CASES)
def test_one_variable_has_one_graph(name):
    found = run(name, cs.read({"x": ["0", "1", "1"]}))
    assert found.dag == cs.DAG(nodes=["x"])
    assert found.score == pytest.approx(cs.score(found.dag, cs.read({"x": list("011")}), cs.BIC()))


@pytest.mark.parametrize("name", CASES)
def test_two_variables_that_are_copies_are_joined(name):
    found = run(name, cs.read({"x": list("0011") * 5, "y": list("0011") * 5}))
    assert found.dag.arcs in ((("x", "y"),), (("y", "x"),))


@pytest.mark.parametrize("name", sorted(set(CASES) - {"ChowLiu", "TANSearch"}))
def test_a_variable_with_one_state_stays_alone(name):
    table = cs.read({"x": list("0011") * 5, "y": list("0011") * 5, "k": ["0"] * 20})
    found = run(name, table).dag
    assert {"x", "y"} in map(set, found.arcs)
    assert "k" not in {node for arc in found.arcs for node in arc}


@pytest.mark.parametrize("name", ["ChowLiu", "TANSearch"])
def test_trees_take_variables_with_one_state(name):
    table = cs.read({"x": list("0011") * 5, "y": list("0011") * 5, "k": ["0"] * 20})
    assert len(run(name, table).dag.arcs) >= 2


@pytest.mark.parametrize("name", CASES)
def test_scores_that_keep_the_sources_apart_work(name):
    table = cs.read(
        {"u": TABLE.take(slice(0, 200)).to_frame(), "v": TABLE.take(slice(200, 400)).to_frame()}
    )
    score = cs.scores.PerSource(cs.BDeu())
    found = run(name, table, score=score)
    assert found.score == pytest.approx(cs.score(found.dag, table, score), rel=1e-12)
