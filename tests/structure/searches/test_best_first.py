from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import consilience as cs
from consilience.errors import InputError
from consilience.graph import all_dags


def random_rows(n_nodes, n_rows, seed, p_arc=0.5):
    rng = np.random.default_rng(seed)
    dag = cs.random_dag(n_nodes, p_arc=p_arc, seed=rng)
    return cs.random_network(dag, n_states=2, seed=rng).sample(n_rows, seed=rng)


def best_of_all(table):
    """The best BIC of all graphs."""
    names = sorted(table.variables)
    families = [
        cs.Family(child, parents)
        for child in names
        for k in range(len(names))
        for parents in combinations([name for name in names if name != child], k)
    ]
    local = dict(zip(families, cs.BIC().local(cs.count(table, families)), strict=True))
    return max(
        sum(local[cs.Family(node, tuple(sorted(dag.parents(node))))] for node in names)
        for dag in all_dags(names)
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_patience_and_room_for_all_graphs_find_the_best_of_all(seed):
    table = random_rows(4, 100, seed)
    found = cs.search(table, search=cs.searches.BestFirst(frontier=600, patience=600))
    assert found.score == pytest.approx(best_of_all(table), rel=1e-9)
    assert found.score == pytest.approx(cs.score(found.dag, table, cs.BIC()), rel=1e-12)
    assert found.stopped_by == "optimum"


def test_it_goes_on_where_climbing_stops():
    tables = [random_rows(8, 1000, seed) for seed in range(5)]
    first = [cs.search(one, search=cs.HillClimb(tabu=0, restarts=0)).score for one in tables]
    found = [cs.search(one, search=cs.searches.BestFirst(patience=100)).score for one in tables]
    assert (np.array(found) >= np.array(first) - 1e-6).all()
    assert sum(np.array(found) > np.array(first) + 1e-6) >= 2


def test_a_frontier_of_one_climbs():
    table = random_rows(7, 500, seed=5)
    climbed = cs.search(table, search=cs.HillClimb(tabu=0, restarts=0))
    found = cs.search(table, search=cs.searches.BestFirst(frontier=1, patience=1))
    assert found.score == pytest.approx(climbed.score, rel=1e-9)


def test_frontier_and_patience_change_what_is_found():
    tables = [random_rows(8, 1000, seed) for seed in range(3)]

    def reached(**parameters):
        return [
            cs.search(one, search=cs.searches.BestFirst(**parameters)).n_scored for one in tables
        ]

    usual = reached(frontier=50, patience=50)
    assert reached(frontier=2, patience=50) != usual
    assert reached(frontier=50, patience=5) != usual


def test_the_order_of_columns_does_not_matter():
    frame = random_rows(7, 400, seed=4).to_frame()
    found = cs.search(cs.read(frame), search=cs.searches.BestFirst(patience=50))
    turned = cs.search(cs.read(frame.iloc[:, ::-1]), search=cs.searches.BestFirst(patience=50))
    assert set(found.dag.arcs) == set(turned.dag.arcs)


def test_constraints_and_the_number_of_parents_are_kept():
    table = random_rows(7, 500, seed=6)
    order = sorted(table.variables, reverse=True)
    required, forbidden = (order[0], order[1]), (order[2], order[3])
    wanted = {"require": [required], "forbid": [forbidden], "tiers": [order[:4], order[4:]]}
    found = cs.learn(table, search=cs.searches.BestFirst(max_parents=2, patience=20), **wanted)
    assert required in found.arcs
    assert forbidden not in found.arcs
    assert not {(a, b) for a, b in found.arcs if a in order[4:] and b in order[:4]}
    assert max(len(found.parents(node)) for node in found.nodes) == 2


def test_a_budget_of_time_and_an_interrupt_leave_the_best_graph_so_far():
    table = random_rows(7, 500, seed=3)
    rushed = cs.search(table, search=cs.searches.BestFirst(), seconds=1e-9, require=[("X1", "X2")])
    assert rushed.stopped_by == "seconds"
    assert rushed.dag.arcs == (("X1", "X2"),)

    def interrupt(share, text):
        raise KeyboardInterrupt

    assert (
        cs.search(table, search=cs.searches.BestFirst(), progress=interrupt).stopped_by
        == "interrupt"
    )


def test_one_variable_has_one_graph():
    found = cs.search(cs.read({"x": ["a", "b", "a"]}), search=cs.searches.BestFirst())
    assert found.dag == cs.DAG(nodes=["x"])


@pytest.mark.parametrize(
    ("wrong", "culprit"),
    [
        ({"frontier": 0}, "frontier"),
        ({"patience": 0}, "patience"),
        ({"max_parents": -1}, "max_parents"),
    ],
)
def test_wrong_parameters_are_named(wrong, culprit):
    with pytest.raises(InputError, match=culprit):
        cs.searches.BestFirst(**wrong)
