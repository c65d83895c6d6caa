from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from search_oracles import FOUR, random_rows, scores_of_all

import consilience as cs
from consilience.errors import GraphError, InputError, UnknownNameError
from consilience.structure.searches import order_search
from consilience.structure.searches.interruption import TimeIsUp


def follows(dag, order):
    place = {name: k for k, name in enumerate(order)}
    return all(place[start] < place[end] for start, end in dag.arcs)


@pytest.mark.parametrize("seed", range(4))
def test_search_over_orders_finds_the_best_of_few_variables(seed):
    table = random_rows("ABCD", seed)
    best = scores_of_all(FOUR, table, cs.BIC()).max()
    found = cs.search(table, search=cs.searches.OrderSearch(restarts=20, max_parents=None))
    assert found.score == pytest.approx(best, rel=1e-9)


def test_search_over_orders_reaches_the_exact_optimum_of_ten_variables():
    table = random_rows([f"x{i}" for i in range(10)], 3, n_rows=500)
    best = cs.search(table, search=cs.Exact(max_parents=3)).score
    found = cs.search(table, search=cs.searches.OrderSearch(max_parents=3), seed=1)
    assert found.score == pytest.approx(best, rel=1e-9)
    assert all(a.score < b.score for a, b in zip(found.trace, found.trace[1:], strict=False))


def test_every_parameter_of_the_search_over_orders_matters():
    table = random_rows([f"x{i}" for i in range(12)], 5, n_rows=800)

    def score(**parameters):
        return cs.search(table, search=cs.searches.OrderSearch(**parameters), seed=1).score

    usual = score(restarts=30)
    assert score(restarts=0) < usual
    assert score(restarts=30, max_parents=1) < usual
    assert score(restarts=30, candidates=1) < usual


def test_search_over_orders_takes_more_variables_than_a_word_has_bits():
    rng = np.random.default_rng(1)
    frame = {f"x{i:03d}": rng.integers(0, 2, 200) for i in range(70)}
    frame["x069"] = frame["x000"]
    frame["x068"] = frame["x001"]
    table = cs.read({name: column.astype(str).tolist() for name, column in frame.items()})
    search = cs.searches.OrderSearch(restarts=1, max_parents=2, candidates=3)
    found = cs.search(table, search=search, require=[("x067", "x066")])
    pairs = set(map(frozenset, found.dag.arcs))
    assert {frozenset(("x000", "x069")), frozenset(("x001", "x068"))} <= pairs
    assert ("x067", "x066") in found.dag.arcs


def test_search_over_orders_out_of_time_has_climbed(monkeypatch):
    def cut(*_):
        raise TimeIsUp

    monkeypatch.setattr(order_search, "pruning_of", cut)
    table = random_rows("ABCD", 1)
    found = cs.search(table, search=cs.searches.OrderSearch())
    first = cs.search(table, search=cs.HillClimb(tabu=0, restarts=0))
    assert found.stopped_by == "seconds"
    assert found.dag.arcs
    assert found.score == pytest.approx(first.score)


@pytest.mark.parametrize(
    "search", [cs.searches.OrderSearch(restarts=2), cs.searches.AStar(), cs.Exact()], ids=repr
)
def test_variables_of_one_state_cost_no_more_than_themselves(search):
    frame = random_rows("ABCD", 2).to_frame()
    table = cs.read(frame.assign(x="0", y="0"))
    few = cs.search(table, search=search)
    many = cs.search(cs.read(frame.assign(u="0", v="0", w="0", x="0", y="0")), search=search)
    assert many.dag.arcs == few.dag.arcs == cs.learn(cs.read(frame), search=search).arcs
    assert many.n_scored <= few.n_scored + 3 * 4
    forced = cs.learn(table, search=search, require=[("x", "A"), ("B", "y")])
    assert {("x", "A"), ("B", "y")} <= set(forced.arcs)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("order", list(permutations("ABCD"))[::5])
def test_k2_follows_the_order_and_takes_the_best_parent_each_time(order, seed):
    table = random_rows("ABCD", seed)
    score = cs.scores.K2()
    wanted = []
    for k, child in enumerate(order):
        parents = ()
        now = score.local(cs.count(table, cs.Family(child)))[0]
        while others := [name for name in sorted(order[:k]) if name not in parents]:
            families = [cs.Family(child, (*parents, other)) for other in others]
            values = score.local(cs.count(table, families))
            if values.max() <= now + 1e-6:
                break
            now, parents = values.max(), (*parents, others[int(values.argmax())])
        wanted += [(parent, child) for parent in parents]
    found = cs.search(table, score=score, search=cs.searches.K2Search(order)).dag
    assert follows(found, order)
    assert set(found.arcs) == set(wanted)


def test_k2_finds_the_graph_when_it_knows_the_order():
    net = cs.random_network(
        cs.DAG.parse("[a][b|a][c|a][d|b:c][e|d]"), n_states=3, total=0.5, seed=8
    )
    table = net.sample(5000, seed=1)
    order = net.dag.topological_order()
    assert cs.learn(table, search=cs.searches.K2Search(order), score=cs.scores.K2()) == net.dag


def test_k2_keeps_to_the_number_of_parents():
    table = random_rows("ABCD", 1, n_rows=1000)
    found = cs.learn(table, search=cs.searches.K2Search(["D", "C", "B", "A"], max_parents=1))
    assert found.arcs
    assert max(len(found.parents(node)) for node in found.nodes) == 1


def test_wrong_orders_are_refused():
    table = random_rows("ABCD", 1)
    with pytest.raises(InputError, match="order must be a list of names, got the text 'ABCD'"):
        cs.searches.K2Search("ABCD")
    with pytest.raises(InputError, match="'A' stands twice in the order") as told:
        cs.searches.K2Search(["A", "B", "A"])
    assert told.value.culprits == {"variable": "A"}
    with pytest.raises(InputError, match="must name all variables; 'C', 'D' are missing"):
        cs.learn(table, search=cs.searches.K2Search(["A", "B"]))
    with pytest.raises(UnknownNameError, match="unknown variable of the order 'E'"):
        cs.learn(table, search=cs.searches.K2Search(["A", "B", "C", "D", "E"]))
    with pytest.raises(GraphError, match="'D' -> 'A' leads back in the order") as told:
        cs.learn(table, search=cs.searches.K2Search(["A", "B", "C", "D"]), require=[("D", "A")])
    assert told.value.culprits == {"arc": ("D", "A")}


@pytest.mark.parametrize(
    ("search", "parameter"),
    [
        (lambda: cs.searches.OrderSearch(restarts=-1), "restarts"),
        (lambda: cs.searches.OrderSearch(max_parents=1.5), "max_parents"),
        (lambda: cs.searches.OrderSearch(candidates=0), "candidates"),
        (lambda: cs.searches.K2Search(["a"], max_parents=-1), "max_parents"),
    ],
)
def test_wrong_parameters_are_refused(search, parameter):
    with pytest.raises(InputError) as told:
        search()
    assert told.value.culprits == {"parameter": parameter}
