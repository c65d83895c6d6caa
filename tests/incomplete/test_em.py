"""EM: the closed form without gaps, the law, the maximum, sources, hidden nodes, the record."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from gap_tables import random_case, with_holes
from hypothesis import given, strategies as st
from scipy.optimize import minimize

import consilience as cs
from consilience.errors import DataError, GraphError, ImpossibleEvidenceError, InputError

CHAIN = cs.DAG([("x", "y"), ("y", "z")])
EVEN = cs.EM(tolerance=1e-13, iterations=3000)


def chain_rows(n_rows: int, share: float, seed: int) -> cs.Table:
    net = cs.random_network(CHAIN, n_states=2, seed=seed)
    return with_holes(net.sample(n_rows, seed=seed), share, np.random.default_rng(seed))


@pytest.mark.parametrize("estimator", [cs.MLE(), cs.Dirichlet(ess=3), cs.Dirichlet(per_cell=1)])
def test_without_gaps_em_is_the_closed_form(estimator):
    rows = chain_rows(50, 0.0, 1)
    found = cs.em(CHAIN, rows, estimator).network
    direct = cs.fit(CHAIN, rows, estimator)
    for name in CHAIN.nodes:
        assert np.array_equal(found[name].table, direct[name].table)


@given(seed=st.integers(0, 10**6), accelerate=st.booleans(), bayes=st.booleans())
def test_the_objective_never_falls(seed, accelerate, bayes):
    net, table = random_case(seed, max_nodes=5, n_rows=25)
    rng = np.random.default_rng(seed)
    estimator = cs.Dirichlet(ess=float(rng.uniform(0.1, 10))) if bayes else cs.MLE()
    choice = cs.EM(iterations=25, accelerate=accelerate, tolerance=1e-14)
    story = cs.em(net.dag, table, estimator, choice=choice, hidden=unseen(net, table))
    # Sums over 25 rows in double precision: rounding is below 1e-10.
    assert np.all(np.diff(story.objective) >= -1e-10)


def unseen(net: cs.Network, table: cs.Table) -> dict[str, int]:
    return {n: v.n_states for n, v in net.variables.items() if n not in table.variables}


def test_the_objective_is_the_likelihood_and_the_sum_over_the_prior():
    rows = chain_rows(60, 0.3, 2)
    prior = cs.Dirichlet(per_cell=0.7)
    story = cs.em(CHAIN, rows, prior, choice=EVEN)
    log_likelihood = story.network.log_likelihood(rows).sum()
    log_prior = sum(0.7 * np.log(one.table).sum() for one in story.network.tables.values())
    assert story.log_likelihood == pytest.approx(log_likelihood, rel=1e-12)
    assert story.objective[-1] == pytest.approx(log_likelihood + log_prior, rel=1e-12)


def test_it_ends_at_the_maximum_of_the_likelihood():
    rows = chain_rows(200, 0.25, 3)

    def minus(logits):
        p = 1 / (1 + np.exp(-logits))
        x, y, z = p[0], p[1:3], p[3:5]
        total = 0.0
        for row in zip(*(rows.column(name) for name in "xyz"), strict=True):
            known = [[v] if v >= 0 else [0, 1] for v in row]
            total += np.log(
                sum(
                    (x, 1 - x)[a] * (y[a], 1 - y[a])[b] * (z[b], 1 - z[b])[c]
                    for a, b, c in itertools.product(*known)
                )
            )
        return -total

    best = minimize(minus, np.zeros(5), method="BFGS", options={"gtol": 1e-6})
    story = cs.em(CHAIN, rows, cs.MLE(), choice=EVEN)
    assert story.log_likelihood == pytest.approx(-best.fun, rel=1e-9)


def test_a_missing_child_needs_no_steps_and_equals_the_available_cases():
    """With gaps in the last child only, its family's complete rows have the whole likelihood."""
    rows = cs.read({"x": list("aabb") * 5, "y": ["u", None, "v", "v", "u"] * 4})
    dag = cs.DAG([("x", "y")])
    story = cs.em(dag, rows, cs.MLE())
    available = cs.fit(dag, rows, cs.MLE(), gaps=cs.AvailableCases())
    assert np.allclose(story.network["y"].table, available["y"].table)
    assert story.n_iterations <= 4


def test_acceleration_reaches_the_same_maximum_in_fewer_steps():
    rows = chain_rows(300, 0.5, 4)
    fast = cs.em(CHAIN, rows, cs.MLE(), choice=EVEN)
    plain = cs.em(
        CHAIN, rows, cs.MLE(), choice=cs.EM(tolerance=1e-13, iterations=3000, accelerate=False)
    )
    assert fast.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-5)
    assert fast.n_iterations < plain.n_iterations


def test_fit_says_what_it_did_with_gaps():
    rows = chain_rows(100, 0.2, 5)
    net = cs.fit(CHAIN, rows)
    assert net.record.method == "EM() with HDC()"
    assert any("missing at random" in note for note in net.record.notes)
    complete = np.all([rows.column(name) >= 0 for name in "xy"], axis=0).sum()
    assert net.record.n_rows["y"] == complete
    assert net.record.n_incomplete["y"] == 100 - complete


def test_rows_without_gaps_are_fitted_at_once():
    assert cs.fit(CHAIN, chain_rows(40, 0.0, 6)).record.method == "HDC()"


def test_a_variable_that_one_source_never_measured_is_learned_from_the_others():
    net = cs.random_network(CHAIN, n_states=2, seed=7)
    frame = net.sample(400, seed=7).to_frame()
    frame["hospital"] = ["rome", "oslo"] * 200
    frame["y"] = frame["y"].where(frame["hospital"] == "oslo")
    rows = cs.read(frame, source="hospital", states={k: v.states for k, v in net.variables.items()})
    found = cs.fit(CHAIN, rows)
    assert found.source == "hospital"
    rome, oslo, new = found["z"].table
    # Rome says nothing about its own P(z | y): it has the others' rows, shrunken to their mean.
    assert np.abs(rome - oslo).max() < 0.15
    assert np.abs(new - oslo).max() < 0.15
    pooled = cs.fit(CHAIN, rows, cs.MLE())
    assert pooled.log_likelihood(rows).sum() > -np.inf


@pytest.mark.parametrize(
    "estimator", [cs.HDMCS(s=5), cs.HDMJS(), cs.HDS(), cs.Separate(cs.Dirichlet())], ids=repr
)
def test_any_estimator_is_a_step_and_ends_when_the_parameters_rest(estimator):
    frame = chain_rows(120, 0.2, 8).to_frame()
    frame["place"] = ["a", "b", "c"] * 40
    rows = cs.read(frame, source="place", states=dict.fromkeys("xyz", ("0", "1")))
    story = cs.em(CHAIN, rows, estimator, choice=cs.EM(tolerance=1e-6))
    assert story.stopped_by == "tolerance"
    for name in CHAIN.nodes:
        assert np.allclose(story.network[name].table.sum(axis=-1), 1)


def test_a_hidden_cause_is_found_up_to_the_order_of_its_states():
    dag = cs.DAG([("cause", f"sign{i}") for i in range(5)])
    cause = cs.Variable("cause", ("1", "2"))
    truth = cs.Network.of(
        [
            cs.Categorical(cause, (), [0.7, 0.3]),
            *(
                cs.Categorical(cs.Variable(f"sign{i}", ("no", "yes")), (cause,), table)
                for i, table in enumerate([[[0.9, 0.1], [0.2, 0.8]]] * 5)
            ),
        ]
    )
    rows = truth.sample(4000, seed=1).select([f"sign{i}" for i in range(5)])
    net = cs.fit(dag, rows, hidden={"cause": 2}, seed=3)
    assert np.abs(net["cause"].table - [0.7, 0.3]).max() < 0.05
    assert np.abs(net["sign0"].table - truth["sign0"].table).max() < 0.06
    assert any("Hidden: 'cause'" in note for note in net.record.notes)
    named = cs.fit(dag, rows, hidden={"cause": ["ill", "well"]}, seed=3)
    assert named.variables["cause"].states == ("ill", "well")


def test_the_same_seed_gives_the_same_answer():
    rows = chain_rows(80, 0.3, 9).select(["y", "z"])
    one, two = (cs.em(CHAIN, rows, hidden={"x": 2}, seed=5) for _ in range(2))
    assert np.array_equal(one.objective, two.objective)
    assert len(one.starts) == 10


def test_a_start_is_climbed_from():
    rows = chain_rows(100, 0.3, 10)
    first = cs.em(CHAIN, rows, cs.Dirichlet())
    again = cs.em(CHAIN, rows, cs.Dirichlet(), start=first.network)
    assert again.n_iterations <= 4
    assert again.objective[0] == pytest.approx(first.objective[-1], rel=1e-6)


def test_a_start_may_name_the_states_of_hidden_nodes_otherwise():
    net = cs.random_network(CHAIN, n_states=2, seed=1)
    rows = net.sample(50, seed=1).select(["y", "z"])
    assert cs.em(CHAIN, rows, hidden={"x": ["ill", "well"]}, start=net).network["x"].parents == ()
    with pytest.raises(InputError, match="'x' has the states"):
        cs.em(CHAIN, rows, hidden={"x": 3}, start=net)


def test_an_interrupt_keeps_what_was_reached():
    def interrupt(_, text):
        if "step 4" in text:
            raise KeyboardInterrupt

    rows = chain_rows(100, 0.4, 11)
    story = cs.em(CHAIN, rows, cs.MLE(), choice=EVEN, progress=interrupt)
    assert story.stopped_by == "interrupt"
    assert np.isfinite(story.log_likelihood)


def test_running_out_of_steps_is_said():
    net = cs.em(CHAIN, chain_rows(100, 0.4, 11), choice=cs.EM(iterations=2)).network
    assert any("did not converge in 2 steps" in note for note in net.record.notes)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda r: cs.fit(CHAIN, r, gaps="em"), InputError, "cs.EM"),
        (lambda r: cs.em(CHAIN, r, choice=cs.MLE()), InputError, "choice must be cs.EM"),
        (lambda r: cs.em(CHAIN, r, hidden={"x": 2}), InputError, "'x' is a column"),
        (lambda r: cs.em(CHAIN, r, hidden={"w": 2}), cs.ConsilienceError, "'w'"),
        (lambda r: cs.fit(CHAIN, r, hidden={"x": "ab"}), InputError, "number or a list"),
        (lambda r: cs.em(CHAIN, r.select(["x", "y"])), cs.ConsilienceError, "'z'"),
        (lambda r: cs.fit(CHAIN, r.take([])), DataError, "without rows"),
        (
            lambda r: cs.em(CHAIN, r, start=cs.random_network(cs.DAG([("y", "x")]), n_states=2)),
            GraphError,
            "same families",
        ),
        (
            lambda r: cs.fit(
                CHAIN, r.select(["x", "y"]), hidden={"z": 2}, gaps=cs.AvailableCases()
            ),
            InputError,
            "gaps=cs.EM",
        ),
        (
            lambda r: cs.fit(CHAIN, r, cs.MLE(), gaps=cs.gaps.VariationalBayes()),
            InputError,
            "goes with a prior",
        ),
    ],
)
def test_what_cannot_be_done_is_named(call, error, text):
    with pytest.raises(error, match=text):
        call(chain_rows(20, 0.2, 12))


def test_impossible_settings_are_named():
    for wrong in ({"iterations": 0}, {"tolerance": 0.0}, {"restarts": -1}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            cs.EM(**wrong)


def test_asia_is_fitted_no_worse_than_by_pyagrum(data_dir, tmp_path):
    gum = pytest.importorskip("pyagrum")
    asia = cs.load(data_dir / "networks" / "asia.bif")
    rows = with_holes(asia.sample(100, seed=1), 0.1, np.random.default_rng(2))
    path = tmp_path / "asia.csv"
    rows.to_frame().to_csv(path, index=False, na_rep="?")
    cs.save(asia, tmp_path / "asia.bif")
    learner = gum.BNLearner(str(path), gum.loadBN(str(tmp_path / "asia.bif")), ["?"])
    learner.useEM(1e-4)
    learner.useNoPrior()
    peer = learner.learnParameters(gum.loadBN(str(tmp_path / "asia.bif")))
    gum.saveBN(peer, str(tmp_path / "peer.bif"))
    theirs = cs.load(tmp_path / "peer.bif").log_likelihood(rows).sum()
    ours = cs.em(asia.dag, rows, cs.MLE()).log_likelihood
    assert ours >= theirs - 1e-6 * abs(theirs)


def test_the_order_of_the_states_of_a_start_is_checked_and_that_of_parents_does_not_matter():
    dag = cs.DAG([("x", "z"), ("y", "z")])
    net = cs.random_network(dag, n_states=2, seed=1)
    rows = with_holes(net.sample(60, seed=1), 0.3, np.random.default_rng(1))
    z = net["z"]
    turned = cs.Categorical(z.child, z.given[::-1], z.table.transpose(1, 0, 2))
    other = cs.Network.of([net["x"], net["y"], turned])
    one, two = (cs.em(dag, rows, cs.MLE(), start=start) for start in (net, other))
    assert one.objective[0] == pytest.approx(two.objective[0])
    x = cs.Variable("x", net.variables["x"].states[::-1])
    flipped = cs.Network.of(
        [
            cs.Categorical(x, (), [0.5, 0.5]),
            net["y"],
            cs.Categorical(z.child, (x, z.given[1]), z.table),
        ]
    )
    with pytest.raises(InputError, match="'x' has the states"):
        cs.em(dag, rows, start=flipped)


def test_a_start_of_another_graph_is_refused_in_mixed_networks_too():
    rows = cs.read(
        {"a": ["n", "y", None, "y"] * 2, "w": [0.1, 3.2, 2.9, None, 0.3, 2.5, -0.4, 3.3]}
    )
    start = cs.fit(cs.DAG(nodes=["a", "w"]), rows)
    with pytest.raises(GraphError, match="'w'"):
        cs.em(cs.DAG([("a", "w")]), rows, start=start)


def test_a_start_that_excludes_a_row_names_it():
    x, y = cs.Variable("x", ("n", "y")), cs.Variable("y", ("n", "y"))
    start = cs.Network.of(
        [cs.Categorical(x, (), [0.5, 0.5]), cs.Categorical(y, (x,), [[1, 0], [1, 0]])]
    )
    rows = cs.read({"x": ["n", "y", None], "y": ["n", "n", "y"]}, schema={"x": x, "y": y})
    with pytest.raises(ImpossibleEvidenceError, match="row 3"):
        cs.em(cs.DAG([("x", "y")]), rows, cs.MLE(), start=start)


def test_a_column_without_any_value_is_a_hidden_node():
    dag = cs.DAG([("h", f"x{i}") for i in range(4)])
    truth = cs.random_network(dag, n_states=2, seed=5)
    rows = truth.sample(500, seed=1).select([f"x{i}" for i in range(4)])
    empty = cs.Table(
        cs.Schema({**rows.variables, "h": truth.variables["h"]}),
        {**rows.columns, "h": np.full(500, -1, np.int8)},
    )
    by_column = cs.em(dag, empty, seed=1)
    by_name = cs.em(dag, rows, hidden={"h": 2}, seed=1)
    assert by_column.log_likelihood == pytest.approx(by_name.log_likelihood, rel=1e-5)
    assert any("'h'" in note for note in by_column.network.record.notes)


def test_sources_kept_apart_are_fitted_like_each_alone():
    frame = chain_rows(300, 0.3, 13).to_frame()
    frame["place"] = ["a", "b"] * 150
    states = {n: chain_rows(2, 0, 13).variables[n].states for n in "xyz"}
    both = cs.read(frame, source="place", states=states)
    alone = cs.read(frame[frame["place"] == "a"].drop(columns="place"), states=states)
    apart = cs.em(CHAIN, both, cs.Separate(cs.Dirichlet(per_cell=1)), choice=EVEN)
    own = cs.em(CHAIN, alone, cs.Dirichlet(per_cell=1), choice=EVEN)
    assert np.all(np.diff(apart.objective) >= -1e-9)
    for name in CHAIN.nodes:
        assert np.allclose(apart.network[name].table[0], own.network[name].table, atol=1e-5)


def test_what_a_source_that_is_kept_apart_never_recorded_is_named():
    frame = chain_rows(80, 0.0, 14).to_frame()
    frame["place"] = ["a", "b"] * 40
    frame["y"] = frame["y"].where(frame["place"] == "a")
    states = {n: chain_rows(2, 0, 14).variables[n].states for n in "xyz"}
    rows = cs.read(frame, source="place", states=states)
    net = cs.fit(CHAIN, rows, cs.Separate(cs.Dirichlet()))
    assert any("'y' in 'b'" in note for note in net.record.notes)


def test_separate_regressions_climb_with_variances_over_n():
    rng = np.random.default_rng(1)
    x = rng.normal(size=200)
    y = x + rng.normal(size=200)
    x[rng.random(200) < 0.4] = np.nan
    columns = {"x": x, "y": y, "place": ["a", "b"] * 100}
    dag = cs.DAG([("x", "y")])
    both = cs.read(columns, source="place")
    apart = cs.em(dag, both, gaussian=cs.Separate(cs.MLE()), choice=EVEN).network
    alone = cs.em(dag, cs.read({"x": x[::2], "y": y[::2]}), choice=EVEN).network
    assert np.allclose(apart["y"].parameters[0], alone["y"].parameters, atol=1e-4)


def test_the_log_likelihood_of_a_mixed_network_is_that_of_the_network_returned():
    rng = np.random.default_rng(2)
    x = rng.normal(size=60)
    x[:9] = np.nan
    rows = cs.read({"g": ["a", "b", "a"] * 20, "x": x})
    story = cs.em(cs.DAG([("g", "x")]), rows)
    assert story.log_likelihood == pytest.approx(story.network.log_likelihood(rows).sum())


def test_an_interrupt_in_a_later_start_keeps_the_finished_ones():
    def interrupt(_, text):
        if "start 3" in text:
            raise KeyboardInterrupt

    rows = chain_rows(80, 0.3, 9).select(["y", "z"])
    story = cs.em(CHAIN, rows, hidden={"x": 2}, progress=interrupt)
    assert story.stopped_by == "interrupt"
    assert len(story.starts) == 3


def test_em_ends_before_a_step_that_rounding_makes_fall():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    y = x + 1e-6 * rng.normal(size=300)
    z = np.where(rng.random(300) < 0.05, np.nan, y + rng.normal(size=300))
    story = cs.em(cs.DAG([("x", "y"), ("y", "z")]), cs.read({"x": x, "y": y, "z": z}))
    assert (np.diff(story.objective) >= 0).all()
    assert any("Rounding made the objective of EM fall" in n for n in story.network.record.notes)
