"""Networks of continuous nodes against their dense joint normal distribution."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from mixed_oracles import LOG_2PI, conditioned, dense, drawn_row, random_evidence, random_mixed
from scipy.stats import norm

import consilience as cs
from consilience.errors import (
    DataError,
    ImpossibleEvidenceError,
    InputError,
    MemoryLimitError,
)
from consilience.inference.queries import query


def gaussian(seed: int, *, p_zero: float = 0.0) -> tuple[cs.Network, np.random.Generator]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    return random_mixed(rng, n, p_discrete=0.0, p_arc=0.4, p_zero=p_zero), rng


def on_support(mean, covariance, seen, values):
    """Dense conditioning for singular covariances, one value after the other."""
    log = 0.0
    for i, value in zip(seen, values, strict=True):
        variance = covariance[i, i]
        if variance > 1e-12:
            log += -0.5 * ((value - mean[i]) ** 2 / variance + math.log(variance) + LOG_2PI)
            gain = covariance[:, i] / variance
            mean = mean + gain * (value - mean[i])
            covariance = covariance - np.outer(gain, covariance[i])
    return log, mean, covariance


@pytest.mark.parametrize("block", range(10))
def test_conditioning_equals_the_dense_joint(block):
    for seed in range(block * 30, block * 30 + 30):
        net, rng = gaussian(seed)
        given = random_evidence(rng, net, drawn_row(net, seed))
        names = list(net.variables)
        seen = [names.index(name) for name in given]
        log, mean, covariance = conditioned(*dense(net, {}), seen, np.array(list(given.values())))
        belief = net.query(names, given)
        np.testing.assert_allclose(np.atleast_1d(belief.mean), mean, atol=1e-8)
        np.testing.assert_allclose(belief.covariance, covariance, atol=1e-8)
        assert cs.log_probability(net, given) == pytest.approx(log, abs=1e-8)
        for name, one in net.marginals(given).items():
            i = names.index(name)
            assert one.mean == pytest.approx(mean[i], abs=1e-8)
            assert one.variance == pytest.approx(covariance[i, i], abs=1e-8)
            alone = net.query(name, given)
            assert (alone.mean, alone.variance) == pytest.approx((one.mean, one.variance), abs=1e-8)


@pytest.mark.parametrize("block", range(5))
def test_nodes_without_variance_are_conditioned_on_as_well(block):
    for seed in range(block * 20, block * 20 + 20):
        net, rng = gaussian(seed, p_zero=0.5)
        given = random_evidence(rng, net, drawn_row(net, seed), share=0.5)
        names = list(net.variables)
        order = [name for name in net.dag.topological_order() if name in given]
        seen = [names.index(name) for name in order]
        values = [given[name] for name in order]
        log, mean, covariance = on_support(*dense(net, {}), seen, values)
        belief = net.query(names, given)
        np.testing.assert_allclose(np.atleast_1d(belief.mean), mean, atol=1e-7)
        np.testing.assert_allclose(belief.covariance, covariance, atol=1e-7)
        assert cs.log_probability(net, given) == pytest.approx(log, abs=1e-6)


def line() -> cs.Network:
    """A dose that is known by chance, two exact functions of it, and a noisy one."""
    dose, double, triple, effect = (cs.Variable(n) for n in ("dose", "double", "triple", "effect"))
    return cs.Network.of(
        [
            cs.LinearGaussian(dose, (), 1.0, [], 2.0),
            cs.LinearGaussian(double, (dose,), 0.0, [2.0], 0.0),
            cs.LinearGaussian(triple, (dose,), 0.0, [3.0], 0.0),
            cs.LinearGaussian(effect, (dose,), 5.0, [-1.0], 1.0),
        ]
    )


def test_an_exact_function_that_is_known_makes_its_parent_certain():
    belief = line().query(["dose", "triple"], given={"double": 5.0})
    np.testing.assert_allclose(belief.mean, [2.5, 7.5], rtol=1e-12)
    np.testing.assert_allclose(belief.covariance, 0.0, atol=1e-20)


def test_a_value_that_is_certain_adds_nothing_to_the_log_density():
    alone = cs.log_probability(line(), {"double": 5.0})
    assert alone == pytest.approx(norm.logpdf(5.0, 2.0, 4.0))
    assert cs.log_probability(line(), {"double": 5.0, "triple": 7.5}) == pytest.approx(alone)


def test_values_that_contradict_each_other_are_named():
    with pytest.raises(ImpossibleEvidenceError, match="double=5, triple=8 has probability zero"):
        line().query("effect", given={"double": 5.0, "triple": 8.0, "effect": 1.0})
    assert cs.log_probability(line(), {"double": 5.0, "triple": 8.0}) == -math.inf


def test_a_conflict_that_is_cut_off_from_the_question_is_found():
    with pytest.raises(ImpossibleEvidenceError, match="dose=1, double=3"):
        line().query("effect", given={"dose": 1.0, "double": 3.0})


def test_small_noise_beside_large_values_is_not_taken_for_none():
    a, b, c = (cs.Variable(n) for n in "abc")
    net = cs.Network.of(
        [
            cs.LinearGaussian(a, (), 0.0, [], 1e6),
            cs.LinearGaussian(b, (a,), 0.0, [1.0], 1e-2),
            cs.LinearGaussian(c, (a,), 0.0, [1.0], 1e-2),
        ]
    )
    belief = net.query("a", given={"b": 10.0, "c": 10.1})
    assert belief.mean == pytest.approx(10.05, rel=1e-6)
    assert belief.sd == pytest.approx(1e-2 / math.sqrt(2), rel=1e-4)


def test_setting_a_node_cuts_it_off_from_its_parents():
    net = line().do({"double": 4.0})
    assert net.query("dose").mean == pytest.approx(1.0)
    assert (net.query("double").mean, net.query("double").sd) == (4.0, 0.0)
    assert line().do({"dose": 4.0}).query("effect").mean == pytest.approx(1.0)


def test_the_most_probable_values_are_the_means():
    net, rng = gaussian(7)
    given = random_evidence(rng, net, drawn_row(net, 7))
    best = net.mpe(given)
    assert set(best) == set(net.variables) - set(given)
    for name, value in best.items():
        assert value == pytest.approx(net.query(name, given).mean)
    everything = cs.log_probability(net, {**given, **best})
    assert best.log_probability == pytest.approx(everything)


def test_rows_with_gaps_have_the_density_of_what_they_record():
    net, rng = gaussian(4)
    table = net.sample(60, seed=2)
    columns = {n: np.where(rng.random(60) < 0.3, np.nan, table.column(n)) for n in net.variables}
    holed = cs.Table(table.schema, columns)
    names = list(net.variables)
    mean, covariance = dense(net, {})
    found = net.log_likelihood(holed)
    target = names[-1]
    moments = net.posteriors(holed, target)
    for row in range(60):
        values = np.array([columns[n][row] for n in names])
        seen = list(np.flatnonzero(~np.isnan(values)))
        assert found[row] == pytest.approx(conditioned(mean, covariance, seen, values[seen])[0])
        seen = [i for i in seen if names[i] != target]
        _, m, c = conditioned(mean, covariance, seen, values[seen])
        assert moments[row] == pytest.approx([m[-1], math.sqrt(c[-1, -1])], abs=1e-9)


def test_draws_given_values_have_the_posterior_moments():
    net, rng = gaussian(11)
    given = random_evidence(rng, net, drawn_row(net, 11))
    names = list(net.variables)
    table = net.sample(40_000, given=given, seed=5)
    drawn = np.stack([table.column(n) for n in names], axis=1)
    belief = net.query(names, given)
    tolerance = 5 * np.sqrt(np.diag(belief.covariance) / 40_000) + 1e-12
    assert (np.abs(drawn.mean(axis=0) - belief.mean) <= tolerance).all()
    spread = np.sqrt(np.outer(np.diag(belief.covariance), np.diag(belief.covariance)))
    assert (np.abs(np.cov(drawn.T) - belief.covariance) <= 8 * spread / 200 + 1e-12).all()


def test_the_joint_distribution_of_gaussian_test_is_the_published_one(data_dir):
    # bnlearn 4.9's gaussian.test; the joint of the network fitted by least squares (n - p).
    table = cs.read(data_dir / "bnlearn" / "gaussian.test.csv.gz")
    dag = cs.DAG.parse("[A][B][E][G][C|A:B][D|B][F|A:D:E:G]")
    net = cs.Network.of([least_squares(table, name, dag.parents(name)) for name in dag.nodes])
    joint = net.query(["C", "F"])
    assert joint.mean[1] == pytest.approx(22.122516670153278, rel=1e-8)
    assert joint.covariance[0, 0] == pytest.approx(41.06693933449841, rel=1e-8)
    assert joint.covariance[0, 1] == pytest.approx(31.7463816234369, rel=1e-8)


def least_squares(table: cs.Table, name: str, parents: tuple[str, ...]) -> cs.LinearGaussian:
    y = table.column(name)
    X = np.stack([np.ones(len(y)), *(table.column(p) for p in parents)], axis=1)
    beta, *_ = np.linalg.lstsq(X, y, rcond=None)
    sd = math.sqrt(((y - X @ beta) ** 2).sum() / (len(y) - X.shape[1]))
    given = tuple(cs.Variable(p) for p in parents)
    return cs.LinearGaussian(cs.Variable(name), given, beta[0], beta[1:], sd)


def test_a_query_in_a_long_chain_leaves_out_what_cannot_matter():
    variables = [cs.Variable(f"x{i}") for i in range(1500)]
    net = cs.Network.of(
        [cs.LinearGaussian(variables[0], (), 0.0, [], 1.0)]
        + [cs.LinearGaussian(b, (a,), 0.0, [0.9], 1.0) for a, b in pairwise(variables)]
    )
    limit = 10_000  # the dense covariance would take 18 MB
    belief = query(net, "x701", given={"x700": 2.0, "x702": 3.0}, by=cs.inference.Exact(limit))
    assert belief.mean == pytest.approx((0.9 * 2 + 0.9 * 3) / (1 + 0.81))


@pytest.mark.parametrize("value", ["high", math.inf, True, cs.Likelihood({"a": 1})])
def test_a_value_that_is_no_number_is_refused(value):
    with pytest.raises(InputError, match="given 'dose': a number is wanted"):
        line().query("effect", given={"dose": value})


def test_an_interval_is_asked_for_and_not_given():
    with pytest.raises(InputError, match="given 'dose': an interval cannot be given"):
        line().query("effect", given={"dose": (1, 2)})


@pytest.mark.parametrize("value", ["high", math.nan, True])
def test_a_node_is_set_to_a_number(value):
    with pytest.raises(InputError, match="do: 'dose' is continuous and is set to a number"):
        line().do({"dose": value})


@pytest.mark.parametrize("event", [3.0, (1, 2, 3), ("a", "b"), (2, 1)])
def test_an_event_about_a_continuous_variable_is_an_interval(event):
    with pytest.raises(InputError, match=r"event 'dose'.*interval"):
        line().probability({"dose": event})


def test_intervals_have_probabilities():
    net = line()
    assert net.probability({"dose": (None, 1.0)}) == pytest.approx(0.5)
    assert net.probability({"dose": (1.0, math.inf)}) == pytest.approx(0.5)
    expected = norm.cdf(6, 4, math.sqrt(5)) - norm.cdf(3, 4, math.sqrt(5))
    assert net.probability({"effect": (3, 6)}) == pytest.approx(expected)
    assert net.probability({"double": (4, 6)}, given={"triple": 7.5}) == 1.0


def test_a_column_of_states_is_refused_where_values_are_wanted():
    net = line()
    table = cs.read({"dose": ["a", "b"]}, schema={"dose": cs.Variable("dose", ("a", "b"))})
    columns = {n: np.array([1.0, 2.0]) for n in net.variables if n != "dose"}
    schema = cs.Schema({**{n: cs.Variable(n) for n in columns}, "dose": table.variables["dose"]})
    mixed = cs.Table(schema, {**columns, "dose": table.column("dose")})
    with pytest.raises(DataError, match="column 'dose' is discrete"):
        net.log_likelihood(mixed)


def test_the_joint_of_a_component_is_refused_before_it_is_formed():
    with pytest.raises(MemoryLimitError, match="the joint distribution of 'dose'"):
        line().query("dose", given={"effect": 1.0}, by=cs.inference.Exact(memory_limit=100))
