"""Fitting networks in time: closed forms, EM, first slices, sources, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from sequences_made_up import panel_of, random_dynamic

import consilience as cs
from consilience.errors import DataError, GraphError, InputError, ModelError

CHAIN = cs.DAG([("x(t-1)", "x")])
dynamic = cs.dynamic


def chain_panel(n=30, length=6, seed=0):
    net = dynamic.from_hmm([0.6, 0.4], [[0.8, 0.2], [0.3, 0.7]], np.eye(2))
    frame = net.sample(n, length, seed=seed).to_frame().drop(columns="z")
    return dynamic.read_panel(frame, sequence="sequence", time="time", discrete=["x"])


@pytest.mark.parametrize("estimator", [cs.MLE(), cs.Dirichlet(ess=3), None])
def test_a_complete_panel_is_fitted_as_its_lagged_table(estimator):
    panel = chain_panel()
    net = dynamic.fit(CHAIN, panel, estimator)
    table = panel.lagged(1)
    static = cs.fit(CHAIN, table, estimator)
    if estimator is not None:  # the default ties tables, and the first slice is one more
        np.testing.assert_allclose(net["x"].table, static["x"].table)
    assert net.record.n_rows["x"] == table.n_rows
    assert net.record.n_rows["x(0)"] == 30
    assert "estimated from 30 sequences" in " ".join(net.record.notes)


def test_a_family_of_a_small_lag_is_counted_from_where_it_exists():
    panel = chain_panel()
    dag = cs.DAG([("x(t-1)", "x")], nodes=["x(t-3)"])
    assert dynamic.fit(dag, panel, cs.MLE()).record.n_rows["x"] == 30 * 5
    given = dynamic.fit(dag, panel, cs.MLE(), initial=dynamic.Conditional())
    assert given.record.n_rows["x"] == 30 * 3


def test_log_likelihood_of_a_conditional_fit_is_that_of_the_lagged_rows():
    panel = chain_panel()
    net = dynamic.fit(CHAIN, panel, cs.MLE(), initial=dynamic.Conditional())
    assert net.conditional == ("x(0)",)
    table = panel.lagged(1)
    by_hand = np.log(net["x"].table)[table.column("x(t-1)"), table.column("x")].sum()
    assert net.log_likelihood(panel).sum() == pytest.approx(by_hand)
    assert net.n_parameters == 2


@given(seed=st.integers(0, 10_000))
@settings(max_examples=8, deadline=None)
def test_the_objective_of_em_never_falls(seed):
    rng = np.random.default_rng(seed)
    kind = ["discrete", "linear", "emissions"][seed % 3]
    hidden = 0 if kind == "linear" else 1
    net = random_dynamic(rng, kind=kind, order=1 + seed % 2, n_nodes=3, n_hidden=hidden)
    panel = panel_of(rng, net, [8] * 12, gaps=0.2)
    sizes = {name: net.variables[name].n_states for name in net.hidden}
    estimator = cs.MLE(unbiased=False) if kind != "discrete" else cs.Dirichlet(ess=2)
    try:
        story = dynamic.em(
            net.dag, panel, estimator, hidden=sizes, choice=cs.EM(iterations=12, restarts=0)
        )
    except DataError:  # fewer rows than coefficients in all states together
        return
    steps = np.diff(story.objective)
    assert (steps >= -1e-9 * (1 + np.abs(story.objective[:-1]))).all()


def test_em_finds_the_states_of_a_hidden_chain():
    truth = dynamic.from_hmm([0.5, 0.5], [[0.95, 0.05], [0.1, 0.9]], [[0.9, 0.1], [0.2, 0.8]])
    frame = truth.sample(60, 40, seed=1).to_frame()
    panel = dynamic.read_panel(
        frame, sequence="sequence", time="time", columns=["x"], discrete=["x"]
    )
    net = dynamic.fit(
        dynamic.hidden_markov(["x"]), panel, cs.MLE(), hidden={"z": 2}, gaps=cs.EM(restarts=2)
    )
    assert net.log_likelihood(panel).sum() >= truth.log_likelihood(panel).sum()
    np.testing.assert_allclose(net["z"].table, truth["z"].table, atol=0.05)
    beliefs = net.smooth(panel).probabilities["z"]
    assert (beliefs.argmax(axis=1) == frame.z.astype(int).to_numpy() - 1).mean() > 0.8


def test_gaps_of_a_vector_autoregression_are_filled():
    rng = np.random.default_rng(3)
    truth = dynamic.from_var(["a", "b"], [1.0, 0.0], [[[0.6, 0.2], [0.0, 0.5]]], np.eye(2))
    frame = truth.sample(20, 40, seed=2).to_frame()
    for name in ("a", "b"):
        frame.loc[rng.random(len(frame)) < 0.2, name] = np.nan
    panel = dynamic.read_panel(frame, sequence="sequence", time="time")
    dag = dynamic.vector_autoregression(["a", "b"])
    net = dynamic.fit(dag, panel, cs.MLE(unbiased=False))
    found = dynamic.to_var(net)
    np.testing.assert_allclose(found.coefficients[0], [[0.6, 0.2], [0.0, 0.5]], atol=0.1)
    rows = dynamic.fit(dag, panel, cs.MLE(unbiased=False), gaps=cs.AvailableCases())
    assert net.log_likelihood(panel).sum() > rows.log_likelihood(panel).sum()
    beliefs = net.smooth(panel)
    recorded = ~np.isnan(panel.rows.column("a"))
    assert (beliefs.sd["a"][recorded] == 0).all()
    assert (beliefs.sd["a"][~recorded] > 0).all()


def test_em_goes_on_from_a_network_and_keeps_its_states():
    start = dynamic.from_hmm([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.3, 0.7], [0.8, 0.2]])
    panel = chain_panel()
    story = dynamic.em(dynamic.hidden_markov(["x"]), panel, cs.MLE(), hidden={"z": 2}, start=start)
    assert story.network["x"].table[0, 1] > 0.5
    assert story.starts == (pytest.approx(story.objective[-1]),)
    with pytest.raises(GraphError, match="same families"):
        dynamic.em(CHAIN, panel, cs.MLE(), start=start)


def test_one_sequence_says_nothing_about_its_start():
    rows = dynamic.read_panel({"x": list("aabbabab")})
    net = dynamic.fit(CHAIN, rows, cs.MLE())
    assert net.conditional == ("x(0)",)
    assert "One sequence says nothing about its own start" in " ".join(net.record.notes)
    level = dynamic.read_panel({"y": [1.5, 2.5, 2.0, 3.5, 3.0, 2.5]})
    with pytest.raises(DataError, match=r"too few to estimate the law of 'y\(0\)'"):
        dynamic.fit(cs.DAG([("y(t-1)", "y")]), level, initial=dynamic.Estimated())


def test_a_first_value_without_a_law_may_not_be_missing():
    panel = dynamic.read_panel({"y": [None, 2.5, 2.0, 3.5, 3.0, 2.5]}, continuous=["y"])
    with pytest.raises(DataError, match=r"time '0': 'y' is missing, and the network has no law"):
        dynamic.fit(cs.DAG([("y(t-1)", "y")]), panel)


def test_the_stationary_law_is_left_as_it_is_by_a_step():
    panel = chain_panel()
    net = dynamic.fit(CHAIN, panel, cs.MLE(), initial=dynamic.Stationary())
    start = net.initial["x(0)"].table
    np.testing.assert_allclose(start @ net["x"].table, start)
    rng = np.random.default_rng(0)
    level = dynamic.read_panel({"y": rng.normal(size=200)})
    dag = cs.DAG([("y(t-1)", "y"), ("y(t-2)", "y")])
    linear = dynamic.fit(dag, level, cs.MLE(), initial=dynamic.Stationary())
    unrolled = linear.unroll(6)
    means = [unrolled.query(f"y({t})").mean for t in range(6)]
    variances = [unrolled.query(f"y({t})").variance for t in range(6)]
    np.testing.assert_allclose(means, means[0], rtol=1e-9)
    np.testing.assert_allclose(variances, variances[0], rtol=1e-9)


def test_a_unit_root_has_no_stationary_law():
    panel = dynamic.read_panel({"y": [1.1**t + 0.01 * (t % 3) for t in range(30)]})
    with pytest.raises(ModelError, match="no stationary law: the largest eigenvalue"):
        dynamic.fit(cs.DAG([("y(t-1)", "y")]), panel, cs.MLE(), initial=dynamic.Stationary())


def test_states_that_are_never_left_have_no_single_stationary_law():
    panel = dynamic.read_panel({"who": list("aaabbb"), "x": list("uuuvvv")}, sequence="who")
    with pytest.raises(ModelError, match="never left"):
        dynamic.fit(CHAIN, panel, cs.MLE(), initial=dynamic.Stationary())


def test_a_network_of_first_slices_is_kept():
    first = cs.Network.of([cs.Categorical(cs.Variable("x(0)", ("1", "2")), (), [0.25, 0.75])])
    net = dynamic.fit(CHAIN, chain_panel(), cs.MLE(), initial=first)
    assert net.initial["x(0)"].table.tolist() == [0.25, 0.75]


def test_an_emission_of_equal_values_is_tied_and_a_constant_one_refused_by_name():
    dag, choice = dynamic.hidden_markov(["y"]), cs.EM(restarts=3)
    values = [1.0, 1.0, 1.0, 1.0, 5.0, 6.5, 7.2, 5.9, 6.1]
    panel = dynamic.read_panel({"y": values}, continuous=["y"])
    net = dynamic.fit(dag, panel, cs.MLE(), hidden={"z": 2}, gaps=choice)
    assert (net["y"].sd > 0.1).all()
    assert any("joined by rows like the average" in note for note in net.record.notes)
    panel = dynamic.read_panel({"y": [1.0] * 9}, continuous=["y"])
    with pytest.raises(DataError, match="'y'") as caught:
        dynamic.fit(dag, panel, cs.MLE(), hidden={"z": 2}, gaps=choice)
    assert caught.value.culprits["variable"] == "y"


def test_missing_values_between_unknown_regimes_are_refused():
    panel = dynamic.read_panel({"y": [1.5, None, 2.5, 1.0, 2.0, 3.5]}, continuous=["y"])
    dag = dynamic.hidden_markov(["y"], autoregressive=["y"])
    with pytest.raises(ModelError, match="Collapse"):
        dynamic.fit(dag, panel, cs.MLE(), hidden={"z": 2})


def test_sources_are_parents_of_every_family_of_a_hierarchical_fit():
    frames = []
    for f, stay in enumerate((0.9, 0.6, 0.75)):
        net = dynamic.from_hmm([0.5, 0.5], [[stay, 1 - stay], [0.3, 0.7]], np.eye(2))
        one = net.sample(20, 8, seed=f).to_frame().drop(columns="z")
        frames.append(one.assign(sequence=one.sequence + f"/{f}", place=f"p{f}"))
    panel = dynamic.read_panel(
        pd.concat(frames), sequence="sequence", time="time", source="place", discrete=["x"]
    )
    net = dynamic.fit(CHAIN, panel, cs.HDMCS())
    assert net.source == "place"
    assert net["x"].parents == ("place", "x(t-1)")
    root = net.initial["place"]
    assert root.child.states == ("p0", "p1", "p2", "new_source")
    np.testing.assert_allclose(root.table, [20 / 61, 20 / 61, 20 / 61, 1 / 61])
    unknown = dynamic.read_panel(
        panel.take(["1/0"]).to_frame().drop(columns="place"),
        sequence="sequence",
        time="time",
        discrete=["x"],
    )
    beliefs = net.smooth(unknown)
    assert beliefs.sources.shape == (1, 4)
    known = [net.log_likelihood(panel.take(["1/0"]))[0], net.log_likelihood(unknown)[0]]
    assert known[1] > known[0]
    pooled = dynamic.fit(CHAIN, panel, cs.MLE())
    assert pooled["x"].parents == ("x(t-1)",)


def test_em_with_sources_and_hidden_nodes():
    frames = []
    for f, stay in enumerate((0.9, 0.8)):
        net = dynamic.from_hmm([0.5, 0.5], [[stay, 1 - stay], [0.2, 0.8]], [[0.9, 0.1], [0.1, 0.9]])
        one = net.sample(15, 8, seed=f).to_frame().drop(columns="z")
        frames.append(one.assign(sequence=one.sequence + f"/{f}", place=f"p{f}"))
    panel = dynamic.read_panel(
        pd.concat(frames), sequence="sequence", time="time", source="place", discrete=["x"]
    )
    net = dynamic.fit(
        dynamic.hidden_markov(["x"]), panel, cs.HDMCS(), hidden={"z": 2}, gaps=cs.EM(restarts=1)
    )
    assert net["z"].table.shape == (3, 2, 2)
    assert np.isfinite(net.log_likelihood(panel)).all()


def test_weights_stand_for_sequences():
    panel = chain_panel(n=4, length=5)
    frame = panel.to_frame()
    twice = pd.concat([frame, frame.assign(sequence=frame.sequence + "x")])
    weighted = dynamic.read_panel(
        frame.assign(n=2), sequence="sequence", time="time", weight="n", discrete=["x"]
    )
    doubled = dynamic.read_panel(twice, sequence="sequence", time="time", discrete=["x"])
    for estimator in (cs.MLE(), cs.Dirichlet(ess=2)):
        one = dynamic.fit(CHAIN, weighted, estimator)["x"].table
        np.testing.assert_allclose(one, dynamic.fit(CHAIN, doubled, estimator)["x"].table)
    graph, sizes = dynamic.hidden_markov(["x"]), {"z": 2}
    start = dynamic.fit(graph, doubled, cs.MLE(), hidden=sizes, gaps=cs.EM(restarts=0))
    ends = [
        dynamic.em(graph, one, cs.MLE(), hidden=sizes, start=start).log_likelihood
        for one in (weighted, doubled)
    ]
    assert ends[0] == pytest.approx(ends[1])


def test_arguments_of_the_wrong_kind_are_refused():
    panel = chain_panel(3, 3)
    with pytest.raises(InputError, match="initial must be"):
        dynamic.fit(CHAIN, panel, initial="estimated")
    with pytest.raises(InputError, match="gaps must be"):
        dynamic.fit(CHAIN, panel, gaps="em")
    with pytest.raises(InputError, match="a Panel is wanted"):
        dynamic.fit(CHAIN, panel.rows)
    with pytest.raises(InputError, match="dag must be a DAG"):
        dynamic.fit([("x(t-1)", "x")], panel)
    with pytest.raises(InputError, match="'x' is a column of the panel"):
        dynamic.fit(CHAIN, panel, hidden={"x": 2})
