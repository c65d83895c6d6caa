"""Logistic nodes: exact where their parents are known, else estimates beside numeric integrals."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

import consilience as cs
from consilience.errors import ImpossibleEvidenceError, InputError
from consilience.inference import open_logistic
from consilience.inference.ways import Exact

AGE, ILL, DRUG, PAIN = (
    cs.Variable("age"),
    cs.Variable("ill", ("no", "yes")),
    cs.Variable("drug", ("none", "some")),
    cs.Variable("pain"),
)


def clinic() -> cs.Network:
    """Age makes ill (logistic), illness makes pain and calls for the drug."""
    return cs.Network.of(
        [
            cs.LinearGaussian(AGE, (), 50.0, [], 15.0),
            cs.Logistic(ILL, (AGE,), [0.0, -6.0], [[0.0], [0.1]]),
            cs.Categorical(DRUG, (ILL,), [[0.8, 0.2], [0.3, 0.7]]),
            cs.LinearGaussian(PAIN, (ILL, AGE), [1.0, 4.0], [[0.01], [0.02]], [1.0, 1.5]),
        ]
    )


def p_ill(age: float) -> float:
    return float(expit(0.1 * age - 6.0))


def pain(x: float, age: float, ill: int) -> float:
    return float(norm.pdf(x, (1.0, 4.0)[ill] + (0.01, 0.02)[ill] * age, (1.0, 1.5)[ill]))


def integral(f) -> float:
    return quad(lambda age: f(age) * norm.pdf(age, 50, 15), -70, 170, epsabs=1e-12, limit=200)[0]


def within(found: float, expected: float, error: float, scale: float = 4.5) -> bool:
    return abs(found - expected) <= scale * error


@pytest.fixture
def draws(monkeypatch):
    """Leaves no grid, so that a single unknown parent is drawn too."""
    monkeypatch.setattr(open_logistic, "MOST_POINTS", 0)


def test_a_logistic_node_whose_parents_are_known_is_exact():
    belief = clinic().query("ill", given={"age": 70.0})
    assert belief.standard_errors is None
    assert belief["yes"] == pytest.approx(p_ill(70.0), rel=1e-12)
    weights = [(1 - p_ill(70)) * pain(5, 70, 0) * 0.2, p_ill(70) * pain(5, 70, 1) * 0.7]
    given = {"age": 70.0, "pain": 5.0, "drug": "some"}
    assert clinic().query("ill", given)["yes"] == pytest.approx(weights[1] / sum(weights))
    expected = math.log(sum(weights)) + norm.logpdf(70, 50, 15)
    assert cs.log_probability(clinic(), given) == pytest.approx(expected)


def test_a_logistic_node_that_cannot_matter_is_left_out():
    belief = clinic().query("age")
    assert (belief.mean, belief.sd, belief.effective_size) == (50.0, 15.0, None)


def test_a_node_set_to_a_number_makes_its_logistic_children_exact():
    belief = clinic().do({"age": 70.0}).query("ill")
    assert belief.standard_errors is None
    assert belief["yes"] == pytest.approx(p_ill(70.0))


def test_the_margin_of_a_logistic_node_with_one_parent_is_exact():
    belief = clinic().query("ill")
    assert belief.standard_errors is None
    assert belief["yes"] == pytest.approx(integral(p_ill), rel=1e-9)


@pytest.mark.parametrize("slope", [0.5, 3.0])
def test_steep_logistic_nodes_equal_the_integral(slope):
    steep = cs.Logistic(ILL, (AGE,), [0.0, -55 * slope], [[0.0], [slope]])
    belief = cs.Network({**clinic().distributions, "ill": steep}).query("ill")
    ends = (-70, 53, 55, 57, 170)
    expected = sum(
        quad(lambda age: expit(slope * (age - 55)) * norm.pdf(age, 50, 15), a, b, limit=200)[0]
        for a, b in pairwise(ends)
    )
    assert belief["yes"] == pytest.approx(expected, rel=1e-8)


def test_logistic_evidence_from_far_out_is_integrated_where_it_lies():
    slope, threshold = 0.5, 50 + 10 * 15.0  # ten standard deviations away
    rare = cs.Logistic(ILL, (AGE,), [0.0, -threshold * slope], [[0.0], [slope]])
    net = cs.Network({**clinic().distributions, "ill": rare})

    def weight(age: float) -> float:
        log = -0.5 * ((age - 50) / 15) ** 2 - np.logaddexp(0, slope * (threshold - age)) + 30
        return math.exp(log)

    total = quad(weight, 50, 300, limit=500, points=[150, threshold])[0]
    mean = (
        quad(lambda age: age * weight(age), 50, 300, limit=500, points=[150, threshold])[0] / total
    )
    assert net.query("age", {"ill": "yes"}).mean == pytest.approx(mean, rel=1e-7)
    log = math.log(total) - 30 - math.log(15 * math.sqrt(2 * math.pi))
    assert cs.log_probability(net, {"ill": "yes"}) == pytest.approx(log, rel=1e-7)


def test_a_nearly_exact_threshold_is_estimated():
    steep = cs.Logistic(ILL, (AGE,), [0.0, -5500.0], [[0.0], [100.0]])
    belief = cs.Network({**clinic().distributions, "ill": steep}).query("ill")
    assert within(belief["yes"], norm.sf(55, 50, 15), belief.standard_errors[1])


@pytest.mark.parametrize("seed", range(5))
def test_draws_of_a_logistic_node_equal_the_integral(seed, draws):
    belief = clinic().query("ill", by=Exact(seed=seed))
    assert within(belief["yes"], integral(p_ill), belief.standard_errors[1])
    assert 0 < belief.standard_errors[1] < 0.005
    assert belief.effective_size == pytest.approx(20_000)


def posterior_of_age() -> tuple[float, float, float, float]:
    """Mean, sd, probability of more than 60 and density at 60 of the age of the ill."""
    total = integral(p_ill)
    mean = integral(lambda age: age * p_ill(age)) / total
    variance = integral(lambda age: (age - mean) ** 2 * p_ill(age)) / total
    older = quad(lambda age: p_ill(age) * norm.pdf(age, 50, 15), 60, 170)[0] / total
    return mean, math.sqrt(variance), older, p_ill(60) * norm.pdf(60, 50, 15) / total


def test_the_posterior_of_a_single_parent_equals_the_integral():
    belief = clinic().query("age", given={"ill": "yes", "drug": "some"})
    mean, sd, older, density = posterior_of_age()
    assert belief.standard_errors is None
    assert belief.mean == pytest.approx(mean, rel=1e-9)
    assert belief.sd == pytest.approx(sd, rel=1e-9)
    assert belief.probability(60, None) == pytest.approx(older, abs=1e-7)
    assert belief.quantile(1 - older) == pytest.approx(60, abs=1e-4)
    assert belief.density(60.0) == pytest.approx(density, rel=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_draws_of_a_parent_equal_the_integral(seed, draws):
    belief = clinic().query("age", given={"ill": "yes", "drug": "some"}, by=Exact(seed=seed))
    mean, sd, older, density = posterior_of_age()
    assert within(belief.mean, mean, belief.standard_errors[0])
    assert belief.sd == pytest.approx(sd, rel=0.05)
    assert 1000 < belief.effective_size < 20_000
    assert belief.probability(60, None) == pytest.approx(older, abs=0.02)
    assert belief.density(60.0) == pytest.approx(density, rel=0.1)


GIVEN = {"pain": 6.0, "drug": "some"}


def weights_given(f=lambda age: 1.0) -> list[float]:
    """Integrals of a function of age over what is given, without and with the illness."""
    return [
        integral(lambda age: f(age) * (1 - p_ill(age)) * pain(6, age, 0) * 0.2),
        integral(lambda age: f(age) * p_ill(age) * pain(6, age, 1) * 0.7),
    ]


def test_evidence_below_and_above_a_logistic_node_is_combined():
    weights = weights_given()
    belief = clinic().query("ill", GIVEN)
    assert belief["yes"] == pytest.approx(weights[1] / sum(weights), rel=1e-9)
    log = cs.log_probability(clinic(), GIVEN)
    assert log == pytest.approx(math.log(sum(weights)), abs=1e-9)
    mean = sum(weights_given(lambda age: age)) / sum(weights)
    assert clinic().query("age", GIVEN).mean == pytest.approx(mean, rel=1e-9)


def test_draws_given_evidence_below_and_above_equal_the_integral(draws):
    weights = weights_given()
    belief, older = clinic().query("ill", GIVEN), clinic().query("age", GIVEN)
    assert within(belief["yes"], weights[1] / sum(weights), belief.standard_errors[1])
    mean = sum(weights_given(lambda age: age)) / sum(weights)
    assert within(older.mean, mean, older.standard_errors[0])
    log = cs.log_probability(clinic(), GIVEN)
    assert log == pytest.approx(math.log(sum(weights)), abs=0.05)


def pain_of_the_ill() -> float:
    return integral(lambda age: p_ill(age) * (4 + 0.02 * age)) / integral(p_ill)


def test_a_joint_question_of_both_kinds_equals_the_integral():
    belief = clinic().query(["ill", "pain"])
    assert belief["yes"].mean == pytest.approx(pain_of_the_ill(), rel=1e-9)
    assert belief.discrete["yes"] == pytest.approx(integral(p_ill), rel=1e-9)


def test_draws_for_a_joint_question_equal_the_integral(draws):
    belief = clinic().query(["ill", "pain", "age"])
    error = belief["yes"].standard_errors[0]
    assert within(belief["yes"].mean[0], pain_of_the_ill(), error)
    assert within(belief.discrete["yes"], integral(p_ill), belief.discrete.standard_errors[1])


def test_probabilities_of_states_and_intervals_equal_the_integral():
    p = clinic().probability({"ill": "yes", "pain": (5, None)})
    expected = integral(lambda age: p_ill(age) * norm.sf(5, 4 + 0.02 * age, 1.5))
    assert p == pytest.approx(expected, rel=1e-8)
    p = clinic().probability({"ill": "yes", "age": (60, None)})
    assert p == pytest.approx(posterior_of_age()[2] * integral(p_ill), abs=1e-4)


def test_two_parents_and_a_chain_of_logistic_nodes_equal_the_integral():
    a, b = cs.Variable("a"), cs.Variable("b")
    low, high = cs.Variable("low", ("0", "1")), cs.Variable("high", ("0", "1", "2"))
    net = cs.Network.of(
        [
            cs.LinearGaussian(a, (), 0.0, [], 1.0),
            cs.Logistic(low, (a,), [0.0, 0.5], [[0.0], [1.0]]),
            cs.LinearGaussian(b, (low, a), [-1.0, 1.0], [[0.5], [0.2]], [1.0, 0.5]),
            cs.Logistic(high, (b, low), np.zeros((2, 3)), [[[0.0], [1.0], [2.0]]] * 2),
        ]
    )

    x, y = np.meshgrid(np.linspace(-8, 8, 801), np.linspace(-10, 10, 1001))
    lean = expit(0.5 + x)
    density = (1 - lean) * norm.pdf(y, -1 + 0.5 * x, 1) + lean * norm.pdf(y, 1 + 0.2 * x, 0.5)
    weight = norm.pdf(x) * density * np.exp(2 * y) / (1 + np.exp(y) + np.exp(2 * y))
    expected = weight.sum() * 0.02 * 0.02  # the trapezoid rule; the ends are far out
    belief = net.query("high")
    assert within(belief["2"], expected, belief.standard_errors[2])
    posterior = net.query("a", given={"high": "2"})
    mean = (x * weight).sum() / weight.sum()
    assert within(posterior.mean, mean, posterior.standard_errors[0])


def test_answers_repeat_and_more_draws_have_smaller_errors(draws):
    net, given = clinic(), {"ill": "yes"}
    assert net.query("age", given).mean == net.query("age", given).mean
    assert net.query("age", given).mean != net.query("age", given, by=Exact(seed=1)).mean
    few, many = (
        net.query("age", given, by=Exact(draws=n)).standard_errors[0] for n in (500, 50_000)
    )
    assert few / many == pytest.approx(10, rel=0.2)


def test_standard_errors_tell_how_far_answers_are_off(draws):
    mean, *_ = posterior_of_age()
    beliefs = [
        clinic().query("age", {"ill": "yes"}, by=Exact(draws=800, seed=s)) for s in range(60)
    ]
    z = np.array([(belief.mean - mean) / belief.standard_errors[0] for belief in beliefs])
    assert 0.75 < z.std() < 1.3
    assert abs(z.mean()) < 0.5


@pytest.mark.parametrize("draws", [1, 2.5, "many"])
def test_a_number_of_draws_that_is_none_is_refused(draws):
    with pytest.raises(InputError, match="Exact: draws must be a whole number of at least 2"):
        clinic().query("ill", by=Exact(draws=draws))


def test_explanations_need_the_parents_of_logistic_nodes():
    with pytest.raises(InputError, match="'ill' is a logistic node whose parents 'age'"):
        clinic().mpe(given={"pain": 3.0})
    best = clinic().mpe(given={"age": 75.0, "pain": 6.0})
    assert (best["ill"], best["drug"]) == ("yes", "some")
    expected = cs.log_probability(clinic(), {"age": 75.0, "pain": 6.0, **best})
    assert best.log_probability == pytest.approx(expected)


def test_impossible_evidence_beside_a_logistic_node_is_refused():
    exact = cs.LinearGaussian(PAIN, (ILL, AGE), [1.0, 4.0], [[0.0], [0.0]], [0.0, 0.0])
    net = cs.Network({**clinic().distributions, "pain": exact})
    with pytest.raises(ImpossibleEvidenceError, match="pain=2"):
        net.query("age", given={"pain": 2.0})
    assert net.query("ill", given={"pain": 4.0})["yes"] == 1.0
    assert cs.log_probability(net, {"pain": 2.0}) == -math.inf


def test_rows_of_a_network_with_logistic_nodes():
    rows = clinic().sample(60_000, seed=1)
    age, ill = rows.column("age"), rows.column("ill")
    p = integral(p_ill)
    assert abs(ill.mean() - p) < 5 * math.sqrt(p * (1 - p) / 60_000)
    old = age > 65
    assert ill[old].mean() == pytest.approx(expit(0.1 * age[old] - 6).mean(), abs=0.02)


def test_rows_given_a_logistic_node_are_accepted_exactly():
    given = {"ill": "yes", "pain": 5.0}
    rows = clinic().sample(20_000, given=given, seed=2)
    assert rows.n_rows == 20_000
    assert set(rows.column("ill")) == {1}
    total = integral(lambda age: p_ill(age) * pain(5, age, 1))
    mean = integral(lambda age: age * p_ill(age) * pain(5, age, 1)) / total
    column = rows.column("age")
    assert abs(column.mean() - mean) < 5 * column.std() / math.sqrt(20_000)
    assert rows.column("drug").mean() == pytest.approx(0.7, abs=0.02)


def test_rows_of_what_hardly_happens_are_refused():
    never = cs.Logistic(ILL, (AGE,), [0.0, -40.0], [[0.0], [0.1]])
    net = cs.Network({**clinic().distributions, "ill": never})
    with pytest.raises(InputError, match="too improbable to draw rows of it"):
        net.sample(10, given={"ill": "yes"}, seed=1)


def test_rows_of_a_table_with_gaps_are_estimated():
    schema = cs.Schema(dict(clinic().variables))
    columns = {
        "age": np.array([70.0, np.nan, np.nan]),
        "ill": np.array([-1, -1, 1], np.int8),
        "drug": np.array([1, 1, -1], np.int8),
        "pain": np.array([5.0, 6.0, np.nan]),
    }
    table = cs.Table(schema, columns)
    posteriors = clinic().posteriors(table, "ill")
    weights = [(1 - p_ill(70)) * pain(5, 70, 0) * 0.2, p_ill(70) * pain(5, 70, 1) * 0.7]
    assert posteriors[0, 1] == pytest.approx(weights[1] / sum(weights))
    weights = [
        integral(lambda age: (1 - p_ill(age)) * pain(6, age, 0) * 0.2),
        integral(lambda age: p_ill(age) * pain(6, age, 1) * 0.7),
    ]
    assert posteriors[1, 1] == pytest.approx(weights[1] / sum(weights), rel=1e-8)
    log = clinic().log_likelihood(table)
    assert log[1] == pytest.approx(math.log(sum(weights)), abs=1e-8)
    assert log[2] == pytest.approx(math.log(integral(p_ill)), abs=1e-8)
    assert clinic().posteriors(table, "age")[2] == pytest.approx(posterior_of_age()[:2], rel=1e-4)


def test_soft_evidence_beside_an_open_logistic_node_is_refused():
    given = {"drug": cs.Soft({"none": 0.5, "some": 0.5})}
    with pytest.raises(InputError, match="soft evidence about 'drug' needs exact posteriors"):
        clinic().query("ill", given)
    belief = clinic().query("drug", {**given, "age": 60.0})
    assert belief["some"] == pytest.approx(0.5)


def test_an_estimate_that_rests_on_a_single_draw_is_refused(draws):
    steep = cs.Network.of(
        [
            cs.LinearGaussian(AGE, (), 50.0, [], 15.0),
            cs.Logistic(ILL, (AGE,), [0.0, -1200.0], [[0.0], [10.0]]),
        ]
    )
    with pytest.raises(InputError, match=r"20,000 of them are worth 1.*more draws"):
        steep.query("age", {"ill": cs.Likelihood({"no": 0.0, "yes": 1.0})})


def test_the_spread_of_a_single_parent_and_its_child_equals_the_integral():
    weight = cs.LinearGaussian(cs.Variable("weight"), (AGE,), 20.0, [1.2], 8.0)
    net = cs.Network.of([*clinic().distributions.values(), weight])
    variance = posterior_of_age()[1] ** 2
    found = net.query(["age", "weight"], {"ill": "yes", "drug": "some"})
    expected = [[variance, 1.2 * variance], [1.2 * variance, 1.44 * variance + 64]]
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-9)
