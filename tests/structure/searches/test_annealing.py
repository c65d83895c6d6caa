from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import consilience as cs
from consilience.errors import InputError
from consilience.kernels.annealing import NUMBERS_PER_STEP, walk

SHORT = cs.searches.SimulatedAnnealing(start_temperature=20, steps=2000)


def random_rows(n_nodes, n_rows, seed, p_arc=0.5):
    rng = np.random.default_rng(seed)
    dag = cs.random_dag(n_nodes, p_arc=p_arc, seed=rng)
    return cs.random_network(dag, n_states=2, seed=rng).sample(n_rows, seed=rng)


def plain_step(dag, gains, temperature, numbers):
    """The definition of one step: what it makes of a graph with nodes in the order of the gains."""
    names, (which, way, luck) = dag.nodes, numbers
    pairs = [(i, j) for j in range(len(names)) for i in range(len(names)) if i != j]
    i, j = pairs[int(which * len(pairs))]
    start, end = names[i], names[j]
    if (start, end) in dag.arcs:
        is_turned = way < 0.5
        gain = gains[j, i] + (gains[i, j] if is_turned else 0.0)
        without = dag.remove(start, end)
        if is_turned and start in without.ancestors(end):
            return dag
        other = without.add(end, start) if is_turned else without
    elif end in dag.ancestors(start):
        return dag
    else:
        gain, other = gains[j, i], dag.add(start, end)
    return other if gain >= 0 or luck < math.exp(gain / temperature) else dag


@given(seed=st.integers(0, 10_000), n=st.integers(2, 6))
def test_the_walk_is_that_of_the_plain_steps(seed, n):
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(n)]
    dag = cs.random_dag(names, p_arc=0.4, seed=rng)
    arcs = np.ascontiguousarray(dag.to_adjacency().T.astype(np.uint8))
    n_parents = arcs.sum(axis=1).astype(np.int64)
    parents = np.zeros((n, n), np.int64)
    for j in range(n):
        parents[j, : n_parents[j]] = np.flatnonzero(arcs[j])
    gains = rng.normal(size=(n, n))
    numbers = rng.random(NUMBERS_PER_STEP * 40)
    steps, move, done = numbers.reshape(-1, NUMBERS_PER_STEP), np.zeros(3, np.int64), 0
    while done < len(steps):
        begin = done
        done = walk(arcs, parents, n_parents, gains, 0.5, numbers, begin, move)
        for step in steps[begin : done - 1]:
            assert plain_step(dag, gains, 0.5, step) == dag
        dag = plain_step(dag, gains, 0.5, steps[done - 1])
        assert dag == cs.DAG.from_adjacency(arcs.T, names)
        for j in range(n):
            assert sorted(parents[j, : n_parents[j]]) == np.flatnonzero(arcs[j]).tolist()


@given(seed=st.integers(0, 10_000), n_nodes=st.integers(1, 6))
@settings(max_examples=10)
def test_the_end_is_an_optimum_no_worse_than_the_first(seed, n_nodes):
    table = random_rows(n_nodes, 200, seed)
    found = cs.search(table, search=SHORT, seed=seed)
    assert found.score == pytest.approx(cs.score(found.dag, table, cs.BIC()), rel=1e-12)
    first = cs.search(table, search=cs.HillClimb(tabu=0, restarts=0))
    assert found.score >= first.score - 1e-6
    again = cs.search(table, search=cs.HillClimb(tabu=0, restarts=0, start=found.dag))
    assert again.score == pytest.approx(found.score, rel=1e-9)


def test_the_walk_leaves_first_optima():
    tables = [random_rows(8, 1000, seed) for seed in range(5)]
    first = [cs.search(one, search=cs.HillClimb(tabu=0, restarts=0)).score for one in tables]
    found = [
        cs.search(one, search=cs.searches.SimulatedAnnealing(steps=5000)).score for one in tables
    ]
    assert sum(np.array(found) > np.array(first) + 1e-6) >= 2


def test_the_same_seed_gives_the_same_graph():
    table = random_rows(8, 300, seed=2)
    found = [cs.search(table, search=SHORT, seed=seed) for seed in (0, 0, 1, 2, 3)]
    assert found[0].dag == found[1].dag
    assert found[0].n_scored == found[1].n_scored
    assert len({one.n_scored for one in found}) > 1


@pytest.mark.parametrize(
    "other",
    [
        cs.searches.SimulatedAnnealing(start_temperature=0.01, steps=2000),
        cs.searches.SimulatedAnnealing(start_temperature=20, steps=2000, cooling=0.5),
        cs.searches.SimulatedAnnealing(start_temperature=20, steps=200),
        cs.searches.SimulatedAnnealing(start_temperature=20, steps=2000, max_parents=1),
    ],
)
def test_every_parameter_changes_the_walk(other):
    table = random_rows(8, 300, seed=2)
    assert cs.search(table, search=other).n_scored != cs.search(table, search=SHORT).n_scored


def test_constraints_and_the_number_of_parents_are_kept():
    table = random_rows(7, 500, seed=6)
    order = sorted(table.variables, reverse=True)
    required, forbidden = (order[0], order[1]), (order[2], order[3])
    hot = cs.searches.SimulatedAnnealing(
        start_temperature=1000, cooling=1.0, steps=3000, max_parents=2
    )
    wanted = {"require": [required], "forbid": [forbidden], "tiers": [order[:4], order[4:]]}
    found = cs.learn(table, search=hot, **wanted)
    assert required in found.arcs
    assert forbidden not in found.arcs
    assert not {(a, b) for a, b in found.arcs if a in order[4:] and b in order[:4]}
    assert max(len(found.parents(node)) for node in found.nodes) <= 2


def test_fast_cooling_ends_in_a_climb():
    table = random_rows(5, 200, seed=4)
    found = cs.search(table, search=cs.searches.SimulatedAnnealing(cooling=1e-4, steps=1000))
    assert found.score >= cs.search(table, search=cs.HillClimb(tabu=0, restarts=0)).score - 1e-6


def test_the_walk_leaves_variables_of_one_state_alone():
    frame = random_rows(4, 200, seed=5).to_frame().assign(same="x")
    hot = cs.searches.SimulatedAnnealing(start_temperature=1000, cooling=1.0, steps=1000)
    found = cs.learn(cs.read(frame), search=hot)
    assert not [arc for arc in found.arcs if "same" in arc]


def test_a_budget_of_time_and_an_interrupt_leave_the_best_graph_so_far():
    table = random_rows(7, 500, seed=3)
    assert cs.search(table, search=SHORT, seconds=1e-9).stopped_by == "seconds"
    endless = cs.searches.SimulatedAnnealing(steps=10**9, cooling=1.0)
    assert cs.search(table, search=endless, seconds=0.2).stopped_by == "seconds"

    def interrupt(share, text):
        if share is not None:  # the walk knows how far it is, the climb does not
            raise KeyboardInterrupt

    stopped = cs.search(
        table, search=cs.searches.SimulatedAnnealing(steps=10**6), progress=interrupt
    )
    assert stopped.stopped_by == "interrupt"
    assert stopped.score >= cs.search(table, search=cs.HillClimb(tabu=0, restarts=0)).score - 1e-6


@pytest.mark.parametrize(
    ("wrong", "culprit"),
    [
        ({"start_temperature": 0}, "start_temperature"),
        ({"cooling": 1.5}, "cooling"),
        ({"cooling": 0.0}, "cooling"),
        ({"steps": -1}, "steps"),
        ({"max_parents": -1}, "max_parents"),
    ],
)
def test_wrong_parameters_are_named(wrong, culprit):
    with pytest.raises(InputError, match=culprit):
        cs.searches.SimulatedAnnealing(**wrong)
