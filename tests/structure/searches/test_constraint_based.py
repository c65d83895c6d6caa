"""PC, Grow-Shrink, IAMB, Inter-IAMB and MMPC: what they find if every test is right, and laws."""

from __future__ import annotations

import numpy as np
import pytest
from separation_oracle import Oracle, any_rows, every_dag

import consilience as cs
from consilience.errors import InputError
from consilience.graph.meek import orient
from consilience.statistics.engines.batches import Batches

ind, searches = cs.independence, cs.searches

CHOICES = (
    cs.PC,
    searches.GrowShrink,
    searches.IAMB,
    searches.InterIAMB,
    searches.MMPC,
)
RULES = ("standard", "conservative", "majority")

NAMES = tuple("abcd")
FOUR = list(every_dag(NAMES))
ROWS = any_rows(NAMES)

NET = cs.random_network(
    cs.DAG.parse("[a][b|a][c|a:b][d|c][e|b:d][f]"),
    n_states={"a": 2, "b": 3, "c": 2, "d": 3, "e": 2, "f": 2},
    total=0.8,
    seed=5,
)


def skeleton(graph):
    if isinstance(graph, cs.DAG):
        return {frozenset(arc) for arc in graph.arcs}
    return {frozenset(pair) for pair in (*graph.directed, *graph.undirected)}


def test_there_are_543_graphs_of_four_nodes():
    assert len(FOUR) == 543


@pytest.mark.parametrize("rule", RULES)
def test_pc_with_an_oracle_finds_the_class_of_every_graph_of_four_nodes(rule):
    for dag in FOUR if rule == "standard" else FOUR[::4]:
        found = cs.search(ROWS, search=cs.PC(test=Oracle(dag), orientation=rule))
        assert found.cpdag == cs.CPDAG.of(dag)
        assert cs.CPDAG.of(found.dag) == found.cpdag
        assert found.notes == ()


@pytest.mark.parametrize("choice", CHOICES[1:], ids=lambda c: c.__name__)
def test_blankets_with_an_oracle_find_the_class_of_graphs_of_four_nodes(choice):
    for dag in FOUR[::5]:
        found = cs.search(ROWS, search=choice(test=Oracle(dag)))
        assert found.cpdag == cs.CPDAG.of(dag), dag.arcs


@pytest.mark.parametrize("choice", CHOICES, ids=lambda c: c.__name__)
def test_with_an_oracle_the_class_of_random_graphs_of_ten_nodes_is_found(choice):
    names = [f"x{i}" for i in range(10)]
    rows = any_rows(names)
    for seed in range(120 if choice is cs.PC else 12):
        dag = cs.random_dag(names, n_arcs=8 + seed % 8, seed=seed)
        found = cs.search(rows, search=choice(test=Oracle(dag)))
        assert found.cpdag == cs.CPDAG.of(dag), seed


def test_knowledge_leaves_of_a_class_what_meeks_rules_say():
    rng = np.random.default_rng(1)
    for dag in FOUR[::5]:
        whole = cs.CPDAG.of(dag)
        free = [arc for arc in dag.arcs if arc not in whole.directed]
        if not free:
            continue
        known = free[rng.integers(len(free))]
        search = cs.PC(test=Oracle(dag))
        required = cs.search(ROWS, search=search, require=[known])
        forbidden = cs.search(ROWS, search=search, forbid=[known[::-1]])
        assert required.cpdag == forbidden.cpdag == orient(whole, [known])


def test_tiers_direct_edges_and_spare_tests_given_later_variables():
    for dag in FOUR[::7]:
        order = dag.topological_order()
        free = cs.search(ROWS, search=cs.PC(test=Oracle(dag)))
        found = cs.search(ROWS, search=cs.PC(test=Oracle(dag)), tiers=[[node] for node in order])
        assert set(found.cpdag.directed) == set(dag.arcs)
        assert not found.cpdag.undirected
        assert found.tests.n_tests <= free.tests.n_tests


@pytest.mark.parametrize("choice", CHOICES, ids=lambda c: c.__name__)
def test_the_order_of_rows_and_columns_does_not_matter(choice):
    rng = np.random.default_rng(3)
    for seed, rule in enumerate(RULES):
        rows = NET.sample(300, seed=seed)
        found = cs.search(rows, search=choice(orientation=rule))
        for _ in range(3):
            frame = rows.to_frame()
            columns = rng.permutation(frame.columns).tolist()
            other = cs.read(frame[columns].sample(frac=1, random_state=int(rng.integers(99))))
            again = cs.search(other, search=choice(orientation=rule))
            assert again.cpdag == found.cpdag
            assert again.dag == found.dag
            assert again.tests.separating_sets == found.tests.separating_sets
            assert again.tests.conflicts == found.tests.conflicts


@pytest.mark.parametrize("choice", CHOICES, ids=lambda c: c.__name__)
def test_rows_in_batches_give_the_same_graph_and_p_values(choice):
    rows = NET.sample(500, seed=2)
    parts = [rows.take(slice(a, a + 170)) for a in range(0, 500, 170)]
    one = cs.search(rows, search=choice())
    two = cs.search(Batches(rows.schema, parts), search=choice())
    assert one.cpdag == two.cpdag
    for mine, other in zip(one.tests.removed, two.tests.removed, strict=True):
        assert (mine.x, mine.y, mine.given) == (other.x, other.y, other.given)
        assert mine.p_value == pytest.approx(other.p_value, rel=1e-9)


def test_of_sets_of_one_size_the_one_with_the_largest_p_value_is_kept():
    rows = NET.sample(2000, seed=4)
    test = ind.GSquare(alpha=0.05, adjusted=True)
    found = cs.search(rows, search=cs.PC(test=test))
    for one in found.tests.removed:
        if len(one.given) != 1:
            continue
        others = [name for name in NET.variables if name not in (one.x, one.y)]
        p = {g: ind.test(rows, one.x, one.y, [g], by=test).p_value for g in others}
        assert one.p_value == pytest.approx(p[one.given[0]])
        assert one.p_value > test.alpha
        # it was among the neighbors at that time; no other single neighbor did better
        assert one.p_value <= max(p.values()) + 1e-12


def test_the_record_says_which_test_removed_which_edge():
    rows = NET.sample(2000, seed=4)
    test = ind.GSquare(alpha=0.01)
    tests = cs.search(rows, search=cs.PC(test=test)).tests
    assert tests.test == test
    assert len(tests.removed) + len(tests.kept) == 15
    for one in tests.removed:
        again = ind.test(rows, one.x, one.y, one.given, by=test)
        assert (one.statistic, one.df) == pytest.approx((again.statistic, again.df))
        assert one.p_value == pytest.approx(again.p_value)
        assert one.p_value > 0.01
        assert one.n_rows == 2000
    assert all(one.p_value <= 0.01 for one in tests.kept)


def test_pairs_forbidden_both_ways_are_not_tested_and_triples_around_them_are_open():
    dag = cs.DAG.parse("[a][b][c|a:b]")
    found = cs.search(
        any_rows("abc"), search=cs.PC(test=Oracle(dag)), forbid=[("a", "b"), ("b", "a")]
    )
    assert ("a", "b") not in found.tests.separating_sets
    assert found.tests.ambiguous == (("a", "c", "b"),)
    assert skeleton(found.cpdag) == skeleton(dag)


@pytest.mark.parametrize("choice", CHOICES, ids=lambda c: c.__name__)
def test_max_given_limits_the_sets(choice):
    rows = NET.sample(2000, seed=4)
    tests = cs.search(rows, search=choice(max_given=1)).tests
    if choice in (cs.PC, searches.MMPC):
        assert all(len(one.given) <= 1 for one in (*tests.removed, *tests.kept))


def test_false_discoveries_are_held_down():
    rng = np.random.default_rng(1)
    n_plain = n_held = 0
    for _ in range(8):
        rows = cs.read({f"x{i:02d}": rng.integers(0, 2, 200).astype(str) for i in range(14)})
        test = ind.GSquare(alpha=0.05)
        n_plain += len(cs.learn(rows, search=cs.PC(test=test, max_given=0)).arcs)
        held = cs.PC(test=ind.BenjaminiHochberg(of=test), max_given=0)
        n_held += len(cs.learn(rows, search=held).arcs)
    assert n_plain > 15
    assert n_held <= 2


def test_a_rate_of_false_discoveries_keeps_what_is_clear():
    rows = NET.sample(3000, seed=1)
    test = ind.GSquare(alpha=0.01, adjusted=True)
    plain = cs.search(rows, search=cs.PC(test=test))
    held = cs.search(rows, search=cs.PC(test=ind.BenjaminiHochberg(of=test)))
    assert skeleton(held.cpdag) <= skeleton(plain.cpdag)
    assert skeleton(held.cpdag)


def test_what_is_found_is_scored_and_told():
    rows = NET.sample(500, seed=1)
    found = cs.search(rows, search=cs.PC(), score=cs.BDeu())
    assert found.score == pytest.approx(cs.score(found.dag, rows, cs.BDeu()))
    assert found.trace[-1].note == f"{found.tests.n_tests:,} tests"
    assert "tests" in found._repr_html_()


@pytest.mark.parametrize("choice", CHOICES, ids=lambda c: c.__name__)
@pytest.mark.parametrize(
    ("asked", "parameter"),
    [
        ({"test": "g2"}, "test"),
        ({"test": ind.GSquare}, "test"),
        ({"orientation": "best"}, "orientation"),
        ({"max_given": -1}, "max_given"),
    ],
)
def test_a_wrong_choice_is_refused(choice, asked, parameter):
    with pytest.raises(InputError, match=parameter) as caught:
        choice(**asked)
    assert caught.value.culprits["parameter"] == parameter


def test_a_test_of_the_wrong_kind_is_refused_by_name():
    rows = cs.read({"x": [1.0, 2.5, 3.0, 4.5], "k": list("abab")})
    with pytest.raises(InputError, match="'x' is continuous"):
        cs.learn(rows, search=cs.PC(test=ind.GSquare()))
    with pytest.raises(InputError, match="'k' is discrete"):
        cs.learn(rows, search=cs.PC(test=ind.ExactT()))


def test_knowledge_that_leaves_only_a_cycle_takes_the_weakest_edge_out():
    dag = cs.DAG.parse("[a][b|a][c|a:b]")
    forbid = [("b", "a"), ("c", "b"), ("a", "c")]
    found = cs.search(any_rows("abc"), search=cs.PC(test=Oracle(dag)), forbid=forbid)
    assert len(found.dag.arcs) == 2
    assert "closes a cycle" in found.tests.conflicts[0].why


def test_rows_with_gaps_are_tested_where_they_are_complete():
    rows = cs.simulate.with_gaps(NET.sample(1500, seed=1), cs.simulate.MCAR(0.1), seed=1)
    found = cs.search(rows, search=cs.PC())
    assert all(one.n_rows < 1500 for one in (*found.tests.removed, *found.tests.kept))
    one = found.tests.removed[0]
    assert one.n_rows == ind.test(rows, one.x, one.y, one.given).n_rows
    assert "each family was judged by the rows complete for it" in found.notes[0]


def test_rows_with_gaps_can_be_completed_by_a_network():
    rows = cs.simulate.with_gaps(NET.sample(400, seed=1), cs.simulate.MCAR(0.1), seed=1)
    net = cs.fit(NET.dag, rows, cs.Dirichlet(ess=1))
    found = cs.search(rows, search=cs.PC(test=ind.Completed(net)))
    assert all(one.n_rows == pytest.approx(400) for one in found.tests.removed)


def test_a_hybrid_joins_only_pairs_that_the_tests_leave():
    rows = NET.sample(600, seed=3)
    for restrict in (cs.PC(), searches.MMPC(), searches.IAMB()):
        left = skeleton(cs.search(rows, search=restrict).cpdag)
        for search in (cs.HillClimb(restarts=2), cs.Exact(), cs.GES()):
            found = cs.search(rows, search=searches.Hybrid(restrict, search=search))
            assert skeleton(found.dag) <= left
            assert found.tests.n_tests > 0
    both = searches.Hybrid(searches.MMPC(), cs.HillClimb())
    assert cs.learn(rows, search=searches.MMHC()) == cs.learn(rows, search=both)


def test_a_hybrid_of_wrong_parts_is_refused():
    with pytest.raises(InputError, match="restrict must be a search by tests"):
        searches.Hybrid(cs.GES(), cs.GES())
    with pytest.raises(InputError, match="search must be a choice"):
        searches.Hybrid(cs.PC(), "hc")


@pytest.mark.data
def test_learning_test_has_the_graph_that_bnlearn_finds(data_dir):
    rows = cs.read(data_dir / "bnlearn" / "learning.test.csv")
    known = cs.CPDAG([("A", "D"), ("C", "D"), ("B", "E"), ("F", "E")], [("A", "B")])
    for choice in CHOICES:
        assert cs.search(rows, search=choice(test=ind.GSquare(alpha=0.05))).cpdag == known


@pytest.mark.data
def test_gaussian_test_has_the_class_of_its_graph(data_dir):
    rows = cs.read(data_dir / "bnlearn" / "gaussian.test.csv.gz")
    truth = cs.DAG.parse("[A][B][E][G][C|A:B][D|B][F|A:D:E:G]")
    found = cs.search(rows, search=cs.PC(test=ind.ExactT()))
    assert found.cpdag == cs.CPDAG.of(truth)


@pytest.mark.data
@pytest.mark.parametrize("rule", RULES)
def test_clgaussian_test_has_its_skeleton_and_the_rules_differ_at_one_triple(data_dir, rule):
    rows = cs.read(data_dir / "bnlearn" / "clgaussian.test.csv.gz")
    truth = cs.DAG.parse("[A][B][C][H][D|A:H][F|B:C][E|B:D][G|A:D:E:F]")
    found = cs.search(rows, search=cs.PC(test=ind.LikelihoodRatio(), orientation=rule))
    assert skeleton(found.cpdag) == skeleton(truth)
    assert found.dag == truth
    of_h = {(one.x, one.y): one for one in found.tests.removed}["E", "H"]
    assert (of_h.given, round(of_h.p_value, 2)) == ((), 0.20)
    is_conflict = ("D", "E") in {one.edge for one in found.tests.conflicts}
    assert is_conflict == (rule == "standard")
    assert (("E", "D", "H") in found.tests.ambiguous) == (rule != "majority")
