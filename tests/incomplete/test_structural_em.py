"""Structural EM: the graph of rows with gaps, and the law that the observed BIC never falls."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from gap_tables import with_holes
from hypothesis import given, settings, strategies as st

import consilience as cs
from consilience.errors import DataError, InputError, MemoryLimitError
from consilience.incomplete import graph_fitter, structural_em as module
from consilience.statistics.engines import Batches, Memory
from consilience.structure.searches import task

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


@settings(max_examples=15)
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
    [
        cs.BDeu(ess=5),
        cs.AIC(),
        cs.scores.K2(),
        cs.scores.MAP(cs.BIC(), cs.scores.VariableSelection(0.2)),
        cs.scores.PNAL(),
    ],
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


@pytest.mark.parametrize(
    "score",
    [
        cs.BHD(),
        cs.scores.FNML(),
        cs.scores.QNML(),
        cs.scores.CrossValidated(),
        cs.scores.HeldOut(),
        cs.scores.MAP(cs.scores.PerSource(cs.scores.QNML()), cs.scores.UniformPrior()),
    ],
    ids=lambda one: type(one).__name__,
)
def test_scores_of_whole_rows_are_refused_with_the_choices(score):
    words = r"'a' has gaps, which are completed in fractions.*needs whole rows.*"
    with pytest.raises(DataError, match=words + r"cs.scores.PNAL\(\).*cs.BIC\(\) or cs.BDeu\(\)"):
        cs.learn(rows_of(), score=score)
    with pytest.raises(DataError, match="needs whole rows"):
        cs.learn(rows_of(), score=score, gaps=cs.StructuralEM())


@pytest.mark.parametrize(
    "search",
    [
        cs.GES(),
        cs.Exact(),
        cs.searches.K2Search(list("abcd")),
        cs.searches.ChowLiu(),
        cs.searches.TANSearch("a"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_any_search_works_and_the_answer_is_one_that_it_can_find(search):
    found = cs.search(rows_of(800, 0.2), search=search)
    reached = [step.score for step in found.trace[1:]]
    assert reached
    assert all(b >= a for a, b in itertools.pairwise(reached))
    if isinstance(search, cs.searches.ChowLiu):
        assert len(found.dag.arcs) == 3
        assert max(len(found.dag.parents(node)) for node in "abcd") == 1
    if isinstance(search, cs.searches.TANSearch):
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
    found = cs.search(apart, score=cs.scores.PerSource(cs.BIC()))
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


def in_sources(table, sources):
    source = cs.Variable("F", tuple(dict.fromkeys(sources)))
    codes = np.array([source.code(one) for one in sources], np.int8)
    return cs.Table(cs.Schema(table.variables, source), table.columns, codes, table.weights)


def fitter_of(score, table):
    rng = np.random.default_rng(0)
    return graph_fitter.Fitter(table, score, rng, draws=10, climb=cs.EM(), memory_limit=1e9)


def fitted_by(score, dag, table):
    return fitter_of(score, table).fitted(dag)


def test_a_table_of_one_source_gives_what_it_gives_without_it():
    table = rows_of(200)
    plain, one = cs.search(table), cs.search(in_sources(table, ["u"] * 200))
    assert one.dag == plain.dag
    assert one.score == pytest.approx(plain.score, rel=1e-9)
    few = cs.search(in_sources(table, ["u"] * 200), score=cs.scores.PerSource(cs.BIC()))
    assert few.score == pytest.approx(plain.score, rel=1e-6)


def test_the_shares_of_the_sources_are_no_part_of_the_score():
    table = rows_of(200)
    plain, both = cs.search(table), cs.search(in_sources(table, ["u", "v"] * 100))
    assert both.score == pytest.approx(plain.score, rel=1e-9)
    full = in_sources(rows_of(200, 0.0), ["u", "v", "v", "v"] * 50)
    columns = {name: column.copy() for name, column in full.columns.items()}
    columns["d"][0] = -1
    one_gap = cs.Table(full.schema, columns, full.source_codes)
    found = cs.search(one_gap)
    assert found.score == pytest.approx(cs.score(found.dag, full, cs.BIC()), abs=5)


def test_sources_kept_apart_have_the_sum_of_the_bic_of_what_each_observed():
    table = rows_of(400, 0.3)
    first = np.arange(400) < 150
    apart = in_sources(table, ["u" if one else "v" for one in first])
    parts = [table.take(np.flatnonzero(first)), table.take(np.flatnonzero(~first))]
    found = fitted_by(cs.scores.PerSource(cs.BIC()), TRUTH, apart)
    by_hand = sum(observed_bic(TRUTH, one) for one in parts)
    assert found.objective == pytest.approx(by_hand, rel=1e-5)


@pytest.mark.parametrize(
    "score", [cs.BDeu(1.0), cs.scores.K2(), cs.scores.BDJ(), cs.scores.BDs(2.0)], ids=repr
)
def test_sources_kept_apart_come_near_the_evidence_summed_over_all_completions(score):
    rng = np.random.default_rng(3)
    x, is_u = rng.integers(0, 2, 40), np.arange(40) % 2 == 0
    y = np.where(is_u, x, 1 - x)
    gaps = rng.choice(40, 8, replace=False)
    schema = cs.Schema({name: cs.Variable(name, ("0", "1")) for name in "xy"})

    def table_of(column):
        rows = cs.Table(schema, {"x": column.astype(np.int8), "y": y.astype(np.int8)})
        return in_sources(rows, np.where(is_u, "u", "v").tolist())

    def filled(states):
        column = x.copy()
        column[gaps] = states
        return table_of(column)

    apart = cs.scores.PerSource(score)
    for dag in (cs.DAG([("x", "y")]), cs.DAG([("y", "x")])):
        every = [
            cs.score(dag, filled(states), apart) for states in itertools.product((0, 1), repeat=8)
        ]
        exact = np.logaddexp.reduce(every)
        assert fitted_by(apart, dag, filled([-1] * 8)).objective == pytest.approx(exact, abs=1.0)


PRIOR = cs.random_network(TRUTH, n_states=STATES, total=9.0, seed=1)


@pytest.mark.parametrize(
    ("score", "estimator"),
    [
        (cs.scores.K2(), cs.Dirichlet(per_cell=1)),
        (cs.scores.BDJ(), cs.Dirichlet(per_cell=0.5)),
        (cs.BDeu(7), cs.Dirichlet(ess=7)),
        (cs.scores.BDe(PRIOR, 30), cs.Dirichlet(ess=30, network=PRIOR)),
        (cs.scores.MAP(cs.scores.K2(), cs.scores.UniformPrior()), cs.Dirichlet(per_cell=1)),
        (cs.AIC(), cs.MLE()),
    ],
    ids=["K2", "BDJ", "BDeu", "BDe", "MAP", "AIC"],
)
def test_rows_are_completed_under_the_prior_of_the_score(score, estimator):
    table = rows_of(60, 0.3)
    found = fitted_by(score, TRUTH, table).network
    wanted = cs.em(TRUTH, table, estimator).network
    for node in TRUTH.nodes:
        np.testing.assert_allclose(found[node].table, wanted[node].table, atol=1e-12)


def test_the_prior_of_bds_goes_to_the_parent_states_that_a_row_may_have():
    rows = {"x": ["0", "1", "0", None], "y": ["0", "0", None, "0"], "z": ["0", "1", None, "1"]}
    table = cs.read(rows, states={"x": ["0", "1", "2"], "y": ["0", "1"], "z": ["0", "1"]})
    dag = cs.DAG([("x", "z"), ("y", "z")])
    # 0 and 1 of x with y = 0, (0, 1) by the third row, and (2, 0) by the last: 4 of 6.
    prior = fitter_of(cs.scores.BDs(6), table)._estimator(dag).tables
    np.testing.assert_allclose(prior["z"], np.full((3, 2, 2), 6 / (4 * 2)))
    np.testing.assert_allclose(prior["x"], [2, 2, 2])
    apart = in_sources(table, ["u", "u", "u", "v"])
    score = cs.scores.PerSource(cs.scores.BDs(6))
    fitter = fitter_of(score, apart)
    prior = fitter._estimator(fitter._grown(dag, None)).tables
    np.testing.assert_allclose(prior["z"][:, 0, 0, 0], [6 / (3 * 2), 6 / (3 * 2)])
    light = cs.Table(table.schema, table.columns, weights=np.array([1, 1, 1, 0]))
    assert graph_fitter._share_seen(light, ("x", "y")) == pytest.approx(3 / 6)


def test_weights_count_as_rows():
    table = rows_of(200, 0.3)
    twice = table.take(np.tile(np.arange(200), 2))
    heavy = cs.Table(table.schema, table.columns, weights=np.full(200, 2, np.int64))
    one, two = cs.search(twice), cs.search(heavy)
    assert one.score == pytest.approx(two.score, rel=1e-6)
    assert one.dag == two.dag


def test_completions_are_drawn_where_there_would_be_too_many(monkeypatch):
    monkeypatch.setattr(graph_fitter, "SHARE_OF_MEMORY", 0.0)
    table = rows_of(1500, 0.2)
    found = cs.search(table, seed=4)
    assert any("10 random ones stand for each row" in note for note in found.notes)
    assert cs.shd(found.dag, TRUTH) <= 2
    again = cs.search(table, seed=4)
    assert again.dag == found.dag
    assert again.score == found.score


def test_graphs_whose_inference_needs_too_much_memory_are_passed_over(monkeypatch):
    plain = graph_fitter.Fitter._fitted

    def fitted(self, dag, grown, start):
        if len(dag.arcs) > most:
            raise MemoryLimitError("too large")
        return plain(self, dag, grown, start)

    monkeypatch.setattr(graph_fitter.Fitter, "_fitted", fitted)
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


def test_a_budget_or_an_interrupt_keeps_what_was_reached(monkeypatch):
    monkeypatch.setattr(task, "SECONDS_BETWEEN_REPORTS", 0.0)
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


@pytest.mark.parametrize(
    "search",
    [cs.searches.TANSearch("d"), cs.searches.K2Search(list("dcba")), cs.GES()],
    ids=["tan", "k2", "ges"],
)
def test_a_search_without_time_is_told_of_and_gives_its_own_graph(search):
    found = cs.search(rows_of(), search=search, seconds=1e-6)
    assert found.stopped_by == "seconds"
    assert "the graph is what the search had reached when it was stopped." in found.notes[-1]
    if isinstance(search, cs.searches.TANSearch):
        assert set(found.dag.arcs) == {("d", "a"), ("d", "b"), ("d", "c")}
    plain = cs.search(rows_of(), seconds=1e-6)
    words = "No search on completed rows came to its end: the graph is the one that structural EM"
    assert any(words in note for note in plain.notes)
    assert not any(words in note for note in cs.search(rows_of()).notes)


def test_a_first_graph_is_not_the_answer_of_a_search_that_cannot_give_it(monkeypatch):
    table, plain, n_calls = rows_of(800, 0.2), cs.searches.ChowLiu.search, 0

    def search(self, task):
        nonlocal n_calls
        n_calls += 1
        if n_rounds and n_calls > n_rounds:
            raise KeyboardInterrupt
        return plain(self, task)

    monkeypatch.setattr(cs.searches.ChowLiu, "search", search)
    n_rounds = 0
    cs.search(table, search=cs.searches.ChowLiu(), gaps=cs.StructuralEM(starts=1))
    n_rounds, n_calls = n_calls, 0  # the second start is interrupted before its first search
    found = cs.search(table, search=cs.searches.ChowLiu(), gaps=cs.StructuralEM(starts=4))
    assert found.stopped_by == "interrupt"
    assert len(found.dag.arcs) == 3
    assert max(len(found.dag.parents(node)) for node in "abcd") == 1
    n_rounds, n_calls = 1, 1
    found = cs.search(table, search=cs.searches.ChowLiu())
    assert "which the search itself might not give" in found.notes[-1]


def test_a_required_family_without_a_complete_row_is_fitted_by_em():
    table = rows_of(300, 0.0)
    columns = {name: column.copy() for name, column in table.columns.items()}
    columns["a"][:150], columns["d"][150:] = -1, -1
    never = cs.Table(table.schema, columns)
    found = cs.search(never, require=[("a", "d")])
    assert ("a", "d") in found.dag.arcs
    assert found.trace[0].note == "start: 1 arcs"
    assert found.stopped_by == "optimum"
    start = cs.DAG([("a", "d"), ("b", "d")], nodes=list("abcd"))
    found = cs.search(never, gaps=cs.StructuralEM(start=start))
    assert found.trace[0].note == "start: 2 arcs"


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
        ({"starts": 6}, "starts must be at most 5, got 6"),
        ({"start": "[a]"}, "start must be a DAG"),
        ({"em": "em"}, r"em must be a choice such as cs.EM\(\)"),
    ],
    ids=lambda one: next(iter(one)) if isinstance(one, dict) else "",
)
def test_parameters_are_checked(wrong, words):
    with pytest.raises(InputError, match=f"StructuralEM: {words}"):
        cs.StructuralEM(**wrong)


def test_what_cannot_be_completed_is_refused_with_the_choices():
    with pytest.raises(
        InputError, match=r"gaps must be cs.StructuralEM\(\), got 'em'.*cs.scores.PNAL"
    ):
        cs.learn(rows_of(), gaps="em")
    mixed = cs.read({"x": [0.5, 1.5, None, 3.5], "y": ["a", "b", "a", "b"]})
    with pytest.raises(
        DataError, match=r"'x' has gaps.*Leave out logistic=True.*cs.scores.PNAL\(c=1\)"
    ):
        cs.learn(mixed, logistic=True)
    table = rows_of()
    batches = Batches(table.schema, [table])
    with pytest.raises(InputError, match="in memory, and these are not there"):
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
        for seed in range(7)
    ]
    assert np.median(errors) <= 1


def test_a_column_that_is_constant_in_one_source_is_no_hindrance():
    rng = np.random.default_rng(4)
    source = np.repeat(["a", "b", "c"], 60)
    ill = rng.random(180) < 0.4
    dose = np.where(source == "c", 0.0, rng.normal(2.0, 1.0, 180))  # never measured in c
    age = rng.normal(50.0, 9.0, 180) + 12.0 * ill
    age[7] = np.nan
    frame = {"source": source, "ill": np.where(ill, "yes", "no"), "dose": dose, "age": age}
    learned = cs.learn(cs.read(pd.DataFrame(frame), source="source"))
    assert ("ill", "age") in learned.arcs or ("age", "ill") in learned.arcs
