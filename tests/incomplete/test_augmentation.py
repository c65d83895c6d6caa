from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import betaln

import consilience as cs
from consilience.errors import DataError, InputError, UnknownNameError
from consilience.incomplete.parameter_names import parameter_names

ARC = cs.DAG([("a", "b")])


def gappy(n_rows=60, share=0.3, seed=1):
    net = cs.random_network(ARC, n_states={"a": 2, "b": 3}, seed=seed)
    return cs.simulate.with_gaps(net.sample(n_rows, seed=seed), cs.simulate.MCAR(share), seed=seed)


def exact_mean(table, prior):
    """Posterior mean of P(a = 0) and P(b = 0 | a) by summing over all completions; two states."""
    gaps = [(i, name) for name in "ab" for i in np.flatnonzero(table.columns[name] < 0)]
    a, b = table.columns["a"].astype(int), table.columns["b"].astype(int)
    total, mean = 0.0, np.zeros(3)
    for states in product(range(2), repeat=len(gaps)):
        columns = {"a": a.copy(), "b": b.copy()}
        for (i, name), state in zip(gaps, states, strict=True):
            columns[name][i] = state
        joint = np.zeros((2, 2))
        np.add.at(joint, (columns["a"], columns["b"]), 1)
        rows = np.vstack([joint.sum(axis=1), joint]) + prior
        weight = np.exp(betaln(rows[:, 0], rows[:, 1]).sum())
        total += weight
        mean += weight * rows[:, 0] / rows.sum(axis=1)
    return mean / total


def test_posterior_means_are_those_of_all_completions():
    rows = cs.read(
        {"a": ["x", "x", "y", "y", None, None, "x"], "b": ["u", "u", "v", None, "v", "u", None]}
    )
    story = cs.gaps.augment(ARC, rows, cs.Dirichlet(per_cell=0.7), draws=1500, seed=1)
    found = [story.network["a"].table[0], *story.network["b"].table[:, 0]]
    assert found == pytest.approx(exact_mean(rows, 0.7), abs=0.01)
    drawn = [story.draws["a"][..., 0].mean(), *story.draws["b"][..., 0].mean(axis=(0, 1))]
    assert drawn == pytest.approx(exact_mean(rows, 0.7), abs=0.015)


@pytest.mark.parametrize(
    "estimator",
    [
        cs.Dirichlet(),
        cs.Dirichlet(per_parent_state=3),
        cs.Dirichlet(tables={"a": np.array([1.0, 2.0]), "b": np.arange(1.0, 7).reshape(2, 3)}),
        cs.Dirichlet(ess=5, network=cs.random_network(ARC, n_states={"a": 2, "b": 3}, seed=9)),
        cs.Pooled(cs.Dirichlet(per_cell=1)),
    ],
    ids=["ess", "per_parent_state", "tables", "network", "pooled"],
)
def test_without_gaps_the_means_are_exactly_those_of_the_estimator(estimator):
    rows = gappy(share=0.0)
    story = cs.gaps.augment(ARC, rows, estimator, draws=20, warmup=0, chains=2, seed=1)
    fitted = cs.fit(ARC, rows, estimator)
    for node in "ab":
        assert story.network[node].table == pytest.approx(fitted[node].table)


def test_without_gaps_the_draws_are_independent_draws_of_the_posterior():
    rows = gappy(share=0.0)
    story = cs.gaps.augment(ARC, rows, cs.Dirichlet(per_cell=1), draws=2000, seed=1)
    fitted = cs.fit(ARC, rows, cs.Dirichlet(per_cell=1))
    low, high = cs.estimators.parameter_intervals(fitted, "b", level=0.9)
    found = np.quantile(story.draws["b"], [0.05, 0.95], axis=(0, 1))
    assert found[0] == pytest.approx(low, abs=0.015)
    assert found[1] == pytest.approx(high, abs=0.015)
    assert min(sizes.min() for sizes in story.bulk_size.values()) > 6000
    assert story.has_met


def test_every_draw_is_a_table_and_shapes_are_as_said():
    story = cs.gaps.augment(ARC, gappy(), chains=3, draws=50, thin=2, warmup=5, seed=1)
    assert story.draws["b"].shape == (3, 50, 2, 3)
    assert (story.n_chains, story.n_draws) == (3, 50)
    assert story.draws["b"].sum(axis=-1) == pytest.approx(np.ones((3, 50, 2)))
    assert story.r_hat["b"].shape == story.bulk_size["b"].shape == (2, 3)
    posterior = story.to_arviz()["posterior"]
    assert {name: values.shape for name, values in posterior.items()} == {
        "a": (3, 50, 2),
        "b": (3, 50, 2, 3),
    }


def test_a_seed_gives_the_same_draws_and_another_gives_others():
    first, again, other = (cs.gaps.augment(ARC, gappy(), draws=10, seed=s) for s in (1, 1, 2))
    assert np.array_equal(first.draws["b"], again.draws["b"])
    assert not np.array_equal(first.draws["b"], other.draws["b"])


def test_a_row_of_weight_two_is_two_rows():
    rows = {"a": ["x", "y", None], "b": ["u", "v", "u"]}
    weighted = cs.read({**rows, "n": [2, 1, 3]}, weight="n")
    plain = cs.read({k: [v[0], v[0], v[1], v[2], v[2], v[2]] for k, v in rows.items()})
    one, two = (cs.gaps.augment(ARC, t, draws=800, seed=1).network for t in (weighted, plain))
    assert one["b"].table == pytest.approx(two["b"].table, abs=0.02)


def test_sources_apart_are_the_sources_alone():
    first, second = gappy(seed=1).to_frame(), gappy(seed=2).to_frame()
    rows = cs.read({"p": first, "q": second}, source="F")
    prior = cs.Dirichlet(per_cell=1)
    story = cs.gaps.augment(ARC, rows, cs.Separate(prior), draws=500, seed=1)
    assert story.network["b"].parents == ("F", "a")
    assert "F" not in story.draws
    alone = cs.gaps.augment(ARC, cs.read(second, schema=rows.variables), prior, draws=500, seed=1)
    assert story.network["b"].table[1] == pytest.approx(alone.network["b"].table, abs=0.02)


def test_pooled_sources_are_one_table_beside_a_lonely_source():
    first, second = gappy(seed=1).to_frame(), gappy(seed=2).to_frame()
    rows = cs.read({"p": first, "q": second}, source="F")
    story = cs.gaps.augment(ARC, rows, draws=100, seed=1)
    assert story.network.dag.parents("b") == ("a",)
    assert story.network["F"].table == pytest.approx([0.5, 0.5])


def test_a_graph_that_names_the_source_says_what_depends_on_it():
    rows = cs.read({"p": gappy(seed=1).to_frame(), "q": gappy(seed=2).to_frame()}, source="F")
    story = cs.gaps.augment(cs.DAG([("F", "a"), ("a", "b")]), rows, draws=50, seed=1)
    assert story.network.dag.parents("a") == ("F",)
    assert story.network.dag.parents("b") == ("a",)


def test_a_column_that_one_source_never_measured_is_learned_from_the_other():
    rows = cs.read({"p": gappy(400, seed=1).to_frame(), "q": gappy(400, seed=1).to_frame()})
    cut = cs.simulate.with_gaps(rows, cs.simulate.MCAR(0.0, by_source={"q": {"b": 1.0}}), seed=1)
    story = cs.gaps.augment(ARC, cut, draws=500, seed=1)
    whole = cs.fit(ARC, gappy(400, seed=1))
    assert story.r_hat["b"].max() < 1.05
    assert story.network["b"].table == pytest.approx(whole["b"].table, abs=0.05)


def test_networks_are_draws_that_go_together():
    story = cs.gaps.augment(ARC, gappy(), chains=2, draws=10, seed=1)
    networks = story.networks(20)
    drawn = {tuple(d) for d in story.draws["a"].reshape(-1, 2)}
    assert {tuple(net["a"].table) for net in networks} == drawn
    for net in story.networks(3):
        chain, draw = np.argwhere((story.draws["a"] == net["a"].table).all(axis=-1))[0]
        assert np.array_equal(net["b"].table, story.draws["b"][chain, draw])
    with pytest.raises(InputError, match="only 20 draws"):
        story.networks(21)


@pytest.mark.parametrize("n_networks", [1, 3, 5, 10, 20, 67, 200])
def test_networks_come_from_all_chains_in_turn_and_evenly_from_each(n_networks):
    story = cs.gaps.augment(ARC, gappy(), chains=4, draws=50, warmup=5, seed=1)
    places = [
        tuple(np.argwhere((story.draws["a"] == net["a"].table).all(axis=-1))[0])
        for net in story.networks(n_networks)
    ]
    assert [chain for chain, _ in places] == [i % 4 for i in range(n_networks)]
    assert len(set(places)) == n_networks
    for chain in range(min(4, n_networks)):
        draws = [draw for c, draw in places if c == chain]
        steps = np.diff([-1 - draws[0], *draws, 2 * 50 - draws[-1]])
        assert np.ptp(steps) <= 2  # the ends count as half a step each


def test_the_frame_has_a_line_for_every_parameter():
    story = cs.gaps.augment(ARC, gappy(), draws=50, seed=1)
    frame = story.to_frame()
    assert list(frame["parameter"][:3]) == ["a=0", "a=1", "b=0 | a=0"]
    assert len(frame) == 8
    assert (frame["low"] <= frame["mean"]).all()
    assert "4 chains of 50 draws" in repr(story)


def test_the_record_says_what_was_done():
    record = cs.gaps.augment(ARC, gappy(), draws=50, seed=1).network.record
    assert record.method == "augment(Dirichlet(ess=1.0))"
    assert "4 chains of 50 draws after 200 sweeps" in record.notes[0]
    assert "missing at random" in record.notes[1]
    assert record.n_rows == {"a": 60.0, "b": 60.0}


def test_the_record_says_that_sources_are_pooled_and_how_they_are_not():
    rows = cs.read({name: gappy(seed=1).to_frame() for name in "pqr"}, source="F")
    options = {"draws": 10, "warmup": 10, "seed": 1}
    told = "The tables are pooled over the 3 sources; cs.Separate(...) keeps them apart."
    assert cs.gaps.augment(ARC, rows, **options).network.record.notes[-1] == told
    others = [
        cs.gaps.augment(ARC, rows, cs.Separate(cs.Dirichlet()), **options),
        cs.gaps.augment(cs.DAG([("F", "a"), ("a", "b")]), rows, **options),
        cs.gaps.augment(ARC, gappy(), **options),
    ]
    assert not any("pooled" in note for one in others for note in one.network.record.notes)


def test_the_record_names_what_is_pooled_if_only_some_is():
    dag, rows = regression_rows(0.0)
    both = cs.read({name: rows.to_frame() for name in "pq"}, source="F")
    options = {"draws": 10, "warmup": 10, "seed": 1}
    apart = cs.Separate(cs.estimators.NormalInverseGamma())
    some = cs.gaps.augment(dag, both, cs.Dirichlet(), gaussian=apart, **options)
    assert "The distributions of 'kind' are pooled over the 2" in some.network.record.notes[-1]
    every = cs.gaps.augment(dag, both, **options)
    assert "The distributions are pooled over the 2 sources" in every.network.record.notes[-1]


@pytest.mark.parametrize("arc", [("ill", "cough"), ("cough", "ill")], ids=["as child", "as parent"])
def test_a_column_that_nobody_measured_is_refused_by_name(arc):
    rows = cs.read({"ill": ["yes", "no"] * 20, "cough": [None] * 40})
    with pytest.raises(DataError, match="no row has a value of 'cough'") as caught:
        cs.gaps.augment(cs.DAG([arc]), rows)
    assert caught.value.culprits == {"variable": "cough"}


def test_a_column_measured_in_rows_of_weight_zero_only_is_refused_by_name():
    rows = cs.read({"x": [0.5, None, None], "n": [0, 1, 1]}, weight="n")
    with pytest.raises(DataError, match="no row has a value of 'x'"):
        cs.gaps.augment(cs.DAG(nodes=["x"]), rows)


def test_an_unmeasured_column_whose_states_are_named_has_its_prior():
    rows = cs.read({"cough": [None] * 4}, states={"cough": ["yes", "no"]})
    story = cs.gaps.augment(cs.DAG(nodes=["cough"]), rows, cs.Dirichlet(per_cell=2), seed=1)
    assert story.network["cough"].table == pytest.approx([0.5, 0.5], abs=0.05)


def test_progress_is_told_in_rising_shares():
    told = []
    cs.gaps.augment(ARC, gappy(), draws=50, seed=1, progress=lambda done, what: told.append(done))
    assert told == sorted(told)
    assert 0 <= told[0] < 0.1 < 0.9 < told[-1] <= 1


@pytest.mark.parametrize("estimator", [cs.MLE(), cs.HDMCS(), cs.estimators.Shrinkage()], ids=repr)
def test_estimators_without_dirichlet_tables_are_refused(estimator):
    rows = cs.read({"p": gappy(seed=1).to_frame(), "q": gappy(seed=2).to_frame()})
    with pytest.raises(InputError, match=r"draws tables from Dirichlet.*cs\.Separate"):
        cs.gaps.augment(ARC, rows, estimator)


def test_bad_input_is_named():
    rows = gappy()
    with pytest.raises(UnknownNameError, match="'c'"):
        cs.gaps.augment(cs.DAG([("a", "c")]), rows)
    with pytest.raises(InputError, match="must be a DAG"):
        cs.gaps.augment("[a]", rows)  # type: ignore[arg-type]
    for what in ("x", 3, None):
        with pytest.raises(InputError, match="cannot be read"):
            cs.gaps.augment(ARC, what)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="draws must be a whole number of at least 4"):
        cs.gaps.augment(ARC, rows, draws=3)
    with pytest.raises(InputError, match="estimator must be a choice"):
        cs.gaps.augment(ARC, rows, cs.Dirichlet)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="without rows"):
        cs.gaps.augment(ARC, rows.take([]))
    with pytest.raises(DataError, match="2 rows that all have the weight 0"):
        cs.gaps.augment(ARC, cs.read({"a": ["x", "y"], "b": ["u", "v"], "n": [0, 0]}, weight="n"))
    with pytest.raises(DataError, match=r"row 1 has the weight 0\.5"):
        cs.gaps.augment(ARC, cs.read({"a": ["x"], "b": ["u"], "n": [0.5]}, weight="n"))
    with pytest.raises(MemoryError, match="the draws would need"):
        cs.gaps.augment(ARC, rows, draws=10**9)


def regression_rows(share):
    kind, x, y = cs.Variable("kind", ("a", "b")), cs.Variable("x"), cs.Variable("y")
    net = cs.Network.of(
        [
            cs.Categorical(kind, (), [0.4, 0.6]),
            cs.LinearGaussian(x, (kind,), [0.0, 2.0], np.zeros((2, 0)), [1.0, 1.5]),
            cs.LinearGaussian(y, (x,), 1.0, [0.5], 0.7),
        ]
    )
    return net.dag, cs.simulate.with_gaps(net.sample(150, seed=1), cs.simulate.MCAR(share), seed=2)


def test_mixed_networks_without_gaps_have_the_means_of_their_estimators():
    dag, rows = regression_rows(0.0)
    story = cs.gaps.augment(dag, rows, draws=40, warmup=0, chains=2, seed=1)
    fitted = cs.fit(dag, rows, cs.Dirichlet(), gaussian=cs.estimators.NormalInverseGamma())
    for node in ("kind", "x", "y"):
        assert story.network[node].parameters == pytest.approx(fitted[node].parameters, rel=1e-9)
    assert story.draws["y"].shape == (2, 40, 3)


def test_a_gaussian_gap_in_a_root_tells_nothing_and_one_in_a_child_as_little():
    _, rows = regression_rows(0.0)
    complete = rows.take(slice(0, 100)).select(["y"])
    column = np.append(complete.columns["y"], np.full(60, np.nan))
    cut = cs.Table(complete.schema, {"y": column})
    story = cs.gaps.augment(cs.DAG(nodes=["y"]), cut, draws=150, warmup=20, seed=1)
    fitted = cs.fit(cs.DAG(nodes=["y"]), complete, gaussian=cs.estimators.NormalInverseGamma())
    assert story.network["y"].parameters == pytest.approx(fitted["y"].parameters, abs=0.03)
    spread = story.draws["y"][..., 0].std()
    assert spread == pytest.approx(np.sqrt(fitted["y"].posterior.variance()[0]), rel=0.15)


def test_mixed_gaps_are_filled_from_what_the_rows_know():
    dag, rows = regression_rows(0.25)
    story = cs.gaps.augment(dag, rows, draws=60, warmup=20, seed=1)
    whole = cs.fit(dag, regression_rows(0.0)[1], gaussian=cs.estimators.NormalInverseGamma())
    assert max(float(found.max()) for found in story.r_hat.values()) < 1.1
    assert story.network["y"].parameters == pytest.approx(whole["y"].parameters, abs=0.2)
    assert parameter_names(story.network["x"])[:2] == ["x: intercept | kind=a", "x: sd | kind=a"]


def test_regressions_without_a_conjugate_posterior_and_logistic_nodes_are_refused():
    dag, rows = regression_rows(0.25)
    with pytest.raises(InputError, match="normal-inverse-gamma"):
        cs.gaps.augment(dag, rows, gaussian=cs.MLE())
    with pytest.raises(InputError, match="gaussian must be a choice"):
        cs.gaps.augment(dag, rows, gaussian=cs.Dirichlet())  # type: ignore[arg-type]
    with pytest.raises(InputError, match="'kind' has continuous parents"):
        cs.gaps.augment(cs.DAG([("x", "kind")]), rows)
