from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import consilience as cs
from consilience.errors import InputError
from consilience.structure.searches import class_moves, ges


def random_rows(n_nodes, n_rows, seed, p_arc=0.4):
    rng = np.random.default_rng(seed)
    dag = cs.random_dag(n_nodes, p_arc=p_arc, seed=rng)
    return cs.random_network(dag, n_states=2, seed=rng).sample(n_rows, seed=rng)


@pytest.mark.parametrize("seed", [2, 8, 19])
@pytest.mark.parametrize("turning", [True, False])
def test_many_rows_lead_to_the_true_class(seed, turning):
    rng = np.random.default_rng(seed)
    dag = cs.random_dag(8, n_arcs=10, max_parents=3, seed=rng)
    table = cs.random_network(dag, n_states=3, seed=rng).sample(100_000, seed=rng)
    found = cs.search(table, search=cs.GES(turning=turning))
    assert found.cpdag == cs.CPDAG.of(dag)
    assert cs.CPDAG.of(found.dag) == found.cpdag


@given(seed=st.integers(0, 10_000), n_nodes=st.integers(1, 7))
def test_no_climb_from_any_member_gains(seed, n_nodes):
    table = random_rows(n_nodes, 300, seed)
    found = cs.search(table, search=cs.GES())
    assert found.score == pytest.approx(cs.score(found.dag, table, cs.BIC()), rel=1e-12)
    assert found.trace[-1].score == pytest.approx(found.score, rel=1e-9)
    members = [found.dag, found.cpdag.to_dag(), _reordered(found.cpdag).to_dag()]
    for member in members:
        climb = cs.HillClimb(tabu=0, restarts=0, start=member)
        assert cs.search(table, search=climb).score == pytest.approx(found.score, rel=1e-9)


def _reordered(cpdag):
    return cs.CPDAG(cpdag.directed, cpdag.undirected, cpdag.nodes[::-1])


def test_turning_finds_what_insertions_and_deletions_miss():
    scores = {}
    for turning in (False, True):
        tables = (random_rows(8, 1000, seed, p_arc=0.5) for seed in range(20))
        search = cs.GES(turning=turning)
        scores[turning] = np.array([cs.search(table, search=search).score for table in tables])
    assert (scores[True] >= scores[False] - 1e-6).all()
    assert (scores[True] > scores[False] + 1e-6).any()


def test_the_order_of_columns_and_states_does_not_matter():
    frame = random_rows(7, 400, seed=4).to_frame()
    turned = frame.iloc[::-1, ::-1].apply(
        lambda column: column.cat.reorder_categories(column.cat.categories[::-1])
    )
    found, again = (cs.search(cs.read(one), search=cs.GES()) for one in (frame, turned))
    assert found.cpdag == again.cpdag
    assert found.score == pytest.approx(again.score, rel=1e-12)


def test_required_forbidden_and_tiers_are_kept():
    table = random_rows(7, 500, seed=6, p_arc=0.6)
    first = cs.learn(table, search=cs.GES())
    (start, end), (wrong, way) = first.arcs[0], first.arcs[-1]
    early, late = list(first.nodes[::2]), list(first.nodes[1::2])
    forced = cs.learn(table, search=cs.GES(), require=[(end, start)], forbid=[(wrong, way)])
    assert (end, start) in forced.arcs
    assert (wrong, way) not in forced.arcs
    tiered = cs.learn(table, search=cs.GES(), tiers=[early, late])
    assert not {(a, b) for a, b in tiered.arcs if a in late and b in early}


def test_an_order_of_all_variables_leaves_nothing_to_turn():
    table = random_rows(6, 400, seed=9, p_arc=0.6)
    order = [[name] for name in sorted(table.variables, reverse=True)]
    found = cs.search(table, search=cs.GES(), tiers=order)
    climbed = cs.search(table, search=cs.HillClimb(), tiers=order)
    assert found.score == pytest.approx(climbed.score, rel=1e-9)


@pytest.mark.parametrize("max_parents", [0, 1, 2])
def test_no_node_has_more_parents_than_allowed(max_parents):
    table = random_rows(7, 2000, seed=3, p_arc=0.7)
    found = cs.learn(table, search=cs.GES(max_parents=max_parents))
    assert max(len(found.parents(node)) for node in found.nodes) == max_parents


def test_a_budget_of_time_and_an_interrupt_leave_a_graph():
    table = random_rows(7, 500, seed=3)
    rushed = cs.search(table, search=cs.GES(), seconds=1e-9, require=[("X1", "X2")])
    assert rushed.stopped_by == "seconds"
    assert rushed.dag.arcs == (("X1", "X2"),)

    def interrupt(share, text):
        raise KeyboardInterrupt

    stopped = cs.search(table, search=cs.GES(), progress=interrupt)
    assert stopped.stopped_by == "interrupt"
    assert len(stopped.dag.arcs) == 1


def test_a_score_that_differs_within_a_class_is_refused():
    with pytest.raises(InputError, match=r"K2\(\).*HillClimb"):
        cs.learn(random_rows(3, 50, seed=1), score=cs.scores.K2(), search=cs.GES())


def test_equivalent_scores_other_than_bic_work():
    table = random_rows(6, 300, seed=11)
    found = cs.search(table, score=cs.BDeu(ess=10), search=cs.GES())
    assert found.score == pytest.approx(cs.score(found.dag, table, cs.BDeu(ess=10)), rel=1e-12)


@pytest.mark.parametrize(
    ("wrong", "culprit"), [({"max_parents": -1}, "max_parents"), ({"turning": "yes"}, "turning")]
)
def test_wrong_parameters_are_named(wrong, culprit):
    with pytest.raises(InputError, match=culprit):
        cs.GES(**wrong)


@pytest.mark.parametrize(("most", "is_noted"), [(7, True), (8, False)])
def test_sets_of_neighbors_left_out_are_noted(monkeypatch, most, is_noted):
    monkeypatch.setattr(class_moves, "MOST_SETS", most)
    table = random_rows(4, 100, seed=1)
    # Every arc gains, so the class ends as one clique of four: a node has eight sets of neighbors.
    found = cs.search(table, score=cs.scores.LogLikelihood(), search=cs.GES())
    assert len(found.dag.arcs) == 6
    assert bool(found.notes) == is_noted
    for note in found.notes:
        assert "Only the 7 smallest sets" in note
        assert "'X1', 'X2', 'X3', 'X4'" in note


@given(seed=st.integers(0, 2**32 - 1), in_tiers=st.booleans())
@settings(max_examples=15)
def test_moves_that_are_kept_are_those_that_would_be_found_anew(seed, in_tiers):
    table = random_rows(8, 300, seed)
    names = sorted(table.variables)
    wanted = {"tiers": [names[:4], names[4:]]} if in_tiers else {}
    found = cs.search(table, search=cs.GES(), **wanted)
    with pytest.MonkeyPatch.context() as patch:
        all_nodes = dict.fromkeys(("insert", "delete", "turn"), 2**8 - 1)
        patch.setattr(ges, "_changed", lambda *_: all_nodes)
        anew = cs.search(table, search=cs.GES(), **wanted)
    assert found.cpdag == anew.cpdag
    assert [step.note for step in found.trace] == [step.note for step in anew.trace]
