"""Structural EM: the graph of rows with gaps, and the law that the observed BIC never falls."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from gap_tables import with_holes
from hypothesis import given, settings
from hypothesis import strategies as st

import consilience as cs
from consilience.errors import DataError, InputError, MemoryLimitError
from consilience.incomplete import structural_em as module
from consilience.statistics.engines import Batches, Memory

TRUTH = cs.DAG.parse("[a][b|a][c|a][d|b:c]")
STATES = {"a": 2, "b": 3, "c": 2, "d": 2}


def rows_of(n_rows=400, share=0.25, seed=0, net_seed=3):
    net = cs.random_network(TRUTH, n_states=STATES, total=1.0, seed=net_seed)
    return with_holes(net.sample(n_rows, seed=seed), share, np.random.default_rng(seed))


def fitted(dag, table):
    return cs.em(dag, table, cs.MLE(), choice=cs.EM(tolerance=1e-12, iterations=5000)).network


def observed_bic(dag, table):
    net = fitted(dag, table)
    return float(net.log_likelihood(table).sum()) - 0.5 * net.n_parameters * np.log(table.n_rows)


def test_without_gaps_it_is_the_search_itself():
    table = rows_of(share=0.0)
    plain, found = cs.search(table), cs.search(table, gaps=cs.StructuralEM())
    assert found.dag == plain.dag
    assert found.judged_by == "BIC()"
    assert found.n_rows == dict.fromkeys("abcd", 400.0)


def test_the_score_is_the_bic_of_what_was_observed():
    table = rows_of()
    found = cs.search(table)
    assert found.score == pytest.approx(observed_bic(found.dag, table), rel=1e-6)
    assert found.judged_by == "BIC(), rows completed by structural EM"
    assert found.n_rows == dict.fromkeys("abcd", 400.0)
    assert "Gaps in 'a', 'b', 'c', 'd': structural EM completed the rows" in found.notes[0]


@settings(deadline=None, max_examples=15)
@given(
    seed=st.integers(0, 10_000),
    share=st.floats(0.05, 0.6),
    n_rows=st.integers(20, 300),
    start=st.sampled_from(["[a][b][c][d]", "[d][c|d][b|c:d][a|b:c:d]", "[a][b|a][c|b][d|c]"]),
)
def test_the_observed_bic_never_falls_between_rounds(seed, share, n_rows, start):
    table = rows_of(n_rows, share, seed, net_seed=seed)
    if any(table.column(name).max() < 0 for name in STATES):
        return
    choice = cs.StructuralEM(start=cs.DAG.parse(start))
    found = cs.search(table, search=cs.HillClimb(restarts=2), gaps=choice)
    reached = [step.score for step in found.trace]
    assert all(b >= a for a, b in itertools.pairwise(reached))
    assert found.score == reached[-1]


def test_one_round_cannot_lower_the_observed_bic_even_without_the_guard(monkeypatch):
    monkeypatch.setattr(module, "_is_rise", lambda before, after: True)
    for seed in range(6):
        table = rows_of(150, 0.4, seed, net_seed=seed)
        choice = cs.StructuralEM(start=cs.DAG(nodes=list("abcd")), iterations=6)
        found = cs.search(table, search=cs.HillClimb(restarts=2), gaps=choice)
        reached = [step.score for step in found.trace]
        assert all(b >= a - 1e-4 for a, b in itertools.pairwise(reached))


def test_the_first_trace_step_is_the_given_start():
    table = rows_of()
    start = cs.DAG.parse("[d][c|d][b|c:d][a|b:c:d]")
    found = cs.search(table, gaps=cs.StructuralEM(start=start))
    assert found.trace[0].note == "start: 6 arcs"
    assert found.trace[0].score == pytest.approx(observed_bic(start, table), rel=1e-6)


def test_more_starts_are_never_worse():
    table = rows_of(300, 0.5, 1)
    ends = [cs.search(table, gaps=cs.StructuralEM(starts=n)).score for n in (1, 4)]
    assert ends[1] >= ends[0]


@pytest.mark.parametrize(
    "score",
    [cs.BDeu(ess=5), cs.AIC(), cs.K2(), cs.MAP(cs.BIC(), cs.VariableSelection(0.2)), cs.PNAL()],
    ids=repr,
)
def test_any_score_of_fractional_counts_works(score):
    table = rows_of(1500, 0.15)
    found = cs.search(table, score=score, gaps=cs.StructuralEM())
    assert cs.shd(found.dag, TRUTH) <= 2
    assert found.judged_by == f"{score!r}, rows completed by structural EM"


def test_without_gaps_the_objective_of_a_bayesian_score_is_the_score():
    table, score = rows_of(share=0.0), cs.BDeu(ess=3)
    one_gap = {name: column.copy() for name, column in table.columns.items()}
    one_gap["d"][0] = -1
    found = cs.search(cs.Table(table.schema, one_gap), score=score)
    assert found.score == pytest.approx(cs.score(found.dag, table, score), abs=3)


def test_scores_of_whole_rows_say_that_they_do_not_bear_fractions():
    with pytest.raises(DataError, match="not whole numbers"):
        cs.learn(rows_of(), score=cs.QNML())


@pytest.mark.parametrize(
    "search",
    [cs.GES(), cs.Exact(), cs.K2Search(list("abcd")), cs.ChowLiu(), cs.TANSearch("a")],
    ids=lambda one: type(one).__name__,
)
def test_any_search_works_and_the_answer_is_one_that_it_can_find(search):
    found = cs.search(rows_of(800, 0.2), search=search)
    reached = [step.score for step in found.trace[1:]]
    assert reached
    assert all(b >= a for a, b in itertools.pairwise(reached))
    if isinstance(search, cs.ChowLiu):
        assert len(found.dag.arcs) == 3
        assert max(len(found.dag.parents(node)) for node in "abcd") == 1
    if isinstance(search, cs.TANSearch):
        assert {("a", "b"), ("a", "c"), ("a", "d")} <= set(found.dag.arcs)


def test_constraints_and_the_number_of_parents_are_honored():
    found = cs.search(
        rows_of(),
        require=[("d", "a")],
        forbid=[("a", "b")],
        search=cs.HillClimb(restarts=2, max_parents=1),
        gaps=cs.StructuralEM(start=cs.DAG.parse("[a][b|a][c|a:b][d|a:b:c]")),
    )
    assert ("d", "a") in found.dag.arcs
    assert ("a", "b") not in found.dag.arcs
    assert max(len(found.dag.parents(node)) for node in "abcd") == 1


def test_sources_are_pooled_and_scores_may_keep_them_apart():
    table = rows_of(600)
    both = {"u": table.take(slice(0, 300)).to_frame(), "v": table.take(slice(300, 600)).to_frame()}
    states = {name: variable.states for name, variable in table.variables.items()}
    apart = cs.read(both, states=states)
    assert cs.learn(apart) == cs.learn(table)
    found = cs.search(apart, score=cs.PerSource(cs.BIC()))
    assert "PerSource" in found.judged_by
    assert set(found.dag.nodes) == set("abcd")


def test_a_variable_that_one_source_never_measured_is_learned_from_the_other():
    table = rows_of(1000, 0.0)
    frames = {
        "u": table.take(slice(0, 500)).to_frame(),
        "v": table.take(slice(500, 1000)).to_frame(),
    }
    frames["v"]["d"] = None
    apart = cs.read(frames, states={n: v.states for n, v in table.variables.items()})
    found = cs.search(apart)
    assert found.n_rows["d"] == 1000
    assert cs.shd(found.dag, TRUTH) <= 3


def test_weights_count_as_rows():
    table = rows_of(200, 0.3)
    twice = table.take(np.tile(np.arange(200), 2))
    heavy = cs.Table(table.schema, table.columns, weights=np.full(200, 2, np.int64))
    one, two = cs.search(twice), cs.search(heavy)
    assert one.score == pytest.approx(two.score, rel=1e-6)
    assert one.dag == two.dag


def test_completions_are_drawn_where_there_would_be_too_many(monkeypatch):
    monkeypatch.setattr(module, "SHARE_OF_MEMORY", 0.0)
    table = rows_of(1500, 0.2)
    found = cs.search(table, seed=4)
    assert any("10 random ones stand for each row" in note for note in found.notes)
    assert cs.shd(found.dag, TRUTH) <= 2
    again = cs.search(table, seed=4)
    assert again.dag == found.dag
    assert again.score == found.score


def test_graphs_whose_inference_needs_too_much_memory_are_passed_over(monkeypatch):
    plain = module._Fitter.fitted

    def fitted(self, dag, start):
        if len(dag.arcs) > most:
            raise MemoryLimitError("too large")
        return plain(self, dag, start)

    monkeypatch.setattr(module._Fitter, "fitted", fitted)
    most = 1
    found = cs.search(rows_of(800, 0.2))
    assert len(found.dag.arcs) <= 1
    assert any("exceeded the memory limit" in note for note in found.notes)
    most = -1
    with pytest.raises(MemoryLimitError, match="too large"):
        cs.search(rows_of())


def test_the_same_seed_gives_the_same_graph_whatever_the_order_of_rows():
    table = rows_of()
    turned = table.take(np.random.default_rng(0).permutation(table.n_rows))
    assert cs.learn(table) == cs.learn(turned)


def test_a_budget_or_an_interrupt_keeps_what_was_reached():
    table = rows_of()
    found = cs.search(table, seconds=1e-6)
    assert found.stopped_by == "seconds"
    assert found.trace

    def interrupt(share, text):
        if text.startswith("structural EM"):
            raise KeyboardInterrupt

    found = cs.search(table, progress=interrupt)
    assert found.stopped_by == "interrupt"
    assert found.score == pytest.approx(observed_bic(found.dag, table), rel=1e-6)


def test_an_interrupt_while_the_first_graph_is_looked_for_keeps_that_graph():
    def interrupt(share, text):
        if text.startswith("score"):
            raise KeyboardInterrupt

    table = rows_of()
    found = cs.search(table, progress=interrupt)
    assert found.stopped_by == "interrupt"
    assert found.score == pytest.approx(observed_bic(found.dag, table), rel=1e-6)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"iterations": 0}, "iterations must be a whole number of at least 1"),
        ({"draws": 0}, "draws must be"),
        ({"starts": 5}, "starts must be at most 4, got 5"),
        ({"start": "[a]"}, "start must be a DAG"),
        ({"em": "em"}, r"em must be a choice such as cs.EM\(\)"),
    ],
    ids=lambda one: next(iter(one)) if isinstance(one, dict) else "",
)
def test_parameters_are_checked(wrong, words):
    with pytest.raises(InputError, match=f"StructuralEM: {words}"):
        cs.StructuralEM(**wrong)


def test_what_cannot_be_completed_is_refused_with_the_choices():
    with pytest.raises(InputError, match=r"gaps must be cs.StructuralEM\(\), got 'em'.*cs.PNAL"):
        cs.learn(rows_of(), gaps="em")
    mixed = cs.read({"x": [0.5, 1.5, None, 3.5], "y": ["a", "b", "a", "b"]})
    with pytest.raises(DataError, match=r"'x' has gaps, and 'x' is continuous.*cs.PNAL\(\)"):
        cs.learn(mixed, score=cs.BIC())
    with pytest.raises(DataError, match="are not completed yet"):
        cs.learn(mixed, gaps=cs.StructuralEM())
    table = rows_of()
    batches = Batches(table.schema, [table])
    with pytest.raises(InputError, match="in memory, which Batches has not"):
        cs.learn(batches, score=cs.BIC())
    assert cs.search(batches).judged_by.startswith("PNAL(")
    assert cs.search(Memory(table)).judged_by.startswith("BIC()")


def test_the_five_arcs_of_learning_test_are_found_with_a_tenth_missing(data_dir):
    table = cs.read(data_dir / "bnlearn" / "learning.test.csv")
    found = cs.search(with_holes(table, 0.1, np.random.default_rng(1)))
    truth = cs.DAG.parse("[A][C][F][B|A][D|A:C][E|B:F]")
    assert cs.shd(found.dag, truth) == 0
    assert {frozenset(arc) for arc in found.dag.arcs} == {frozenset(arc) for arc in truth.arcs}
    assert found.n_rows == dict.fromkeys("ABCDEF", 5000.0)


def test_with_three_tenths_missing_there_is_at_most_one_error_in_the_median(data_dir):
    table = cs.read(data_dir / "bnlearn" / "learning.test.csv")
    truth = cs.DAG.parse("[A][C][F][B|A][D|A:C][E|B:F]")
    errors = [
        cs.shd(cs.learn(with_holes(table, 0.3, np.random.default_rng(seed))), truth)
        for seed in range(20)
    ]
    assert np.median(errors) <= 1
