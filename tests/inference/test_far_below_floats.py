"""Answers that no float holds on the way: products of many small probabilities and densities."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import consilience as cs
from consilience.errors import ImpossibleEvidenceError

N_SIGNS = 400
YES = {f"x{k}": "yes" for k in range(N_SIGNS)}


def coin(name):
    return cs.Variable(name, ("no", "yes"))


@pytest.fixture(scope="module")
def net():
    """Each sign is a thousand times less probable if ill, a cure is impossible if well."""
    ill, cured = coin("ill"), coin("cured")
    signs = [coin(name) for name in YES]
    return cs.Network.of(
        [
            cs.Categorical(ill, (), np.array([0.5, 0.5])),
            cs.Categorical(cured, (ill,), np.array([[1.0, 0.0], [0.5, 0.5]])),
            *(
                cs.Categorical(sign, (ill,), np.array([[0.001, 0.999], [0.999, 0.001]]))
                for sign in signs
            ),
        ]
    )


def rows(net, known):
    return cs.read({name: [state] for name, state in known.items()}, schema=net.variables)


SEEN = {**YES, "cured": "yes"}
LOG = 2 * np.log(0.5) + N_SIGNS * np.log(0.001)


def test_evidence_below_all_floats_is_not_taken_for_impossible(net):
    assert net.query("ill", given=SEEN)["yes"] == 1.0
    assert net.marginals(given=SEEN)["ill"]["yes"] == 1.0
    assert net.mpe(given=SEEN) == {"ill": "yes"}
    assert net.mpe(given=SEEN).log_probability == pytest.approx(LOG, rel=1e-12)
    assert set(net.sample(20, given=SEEN, seed=1)["ill"]) == {"yes"}


def test_rows_below_all_floats_are_not_taken_for_impossible(net):
    for known in (SEEN, dict(reversed(SEEN.items()))):
        np.testing.assert_array_equal(net.posteriors(rows(net, known), "ill"), [[0.0, 1.0]])
        assert net.log_likelihood(rows(net, known)) == pytest.approx([LOG], rel=1e-12)


def test_evidence_that_is_impossible_is_still_refused(net):
    seen = {**SEEN, "ill": "no"}
    with pytest.raises(ImpossibleEvidenceError):
        net.query("x0", given={name: seen[name] for name in seen if name != "x0"})
    assert net.log_likelihood(rows(net, seen)) == [-np.inf]


def test_the_two_sides_of_a_question_may_cancel_far_below_floats():
    ill = coin("ill")
    sides = [[0.001, 0.999]] * 300 + [[0.999, 0.001]] * 299 + [[0.3, 0.6]]
    signs = [coin(f"x{k}") for k in range(len(sides))]
    net = cs.Network.of(
        [
            cs.Categorical(ill, (), np.array([0.5, 0.5])),
            *(
                cs.Categorical(sign, (ill,), np.array([[1 - a, a], [1 - b, b]]))
                for sign, (a, b) in zip(signs, sides, strict=True)
            ),
        ]
    )
    given = {sign.name: "yes" for sign in signs}
    with mpmath.workdps(50):
        no, yes = (mpmath.fprod(mpmath.mpf(side[k]) for side in sides) for k in range(2))
        expected = float(yes / (no + yes))
    assert net.query("ill", given=given)["yes"] == pytest.approx(expected, rel=1e-9)


@pytest.fixture(scope="module")
def narrow():
    """Two classes, each with numbers of its own range, one of which may be missing."""
    c, g, x, y = coin("c"), coin("g"), cs.Variable("x"), cs.Variable("y")
    return cs.Network.of(
        [
            cs.Categorical(c, (), np.array([0.3, 0.7])),
            cs.Categorical(g, (c,), np.array([[0.8, 0.2], [0.4, 0.6]])),
            cs.LinearGaussian(x, (c,), [0.0, 5.0], [[], []], [0.01, 0.02]),
            cs.LinearGaussian(y, (g,), [1.0, 2.0], [[], []], [0.5, 0.6]),
        ]
    )


def expected_logs(x, y):
    """Log posteriors of the class in 50 digits, with the middle node unknown."""
    with mpmath.workdps(50):
        class_, middle = [0.3, 0.7], [[0.8, 0.2], [0.4, 0.6]]

        def density(value, mean, sd):
            z = (mpmath.mpf(value) - mean) / mpmath.mpf(sd)
            return mpmath.exp(-z * z / 2) / mpmath.mpf(sd)

        joint = []
        for k in range(2):
            of_y = sum(
                mpmath.mpf(middle[k][j]) * density(y, (1.0, 2.0)[j], (0.5, 0.6)[j])
                for j in range(2)
            )
            joint.append(mpmath.mpf(class_[k]) * density(x, (0.0, 5.0)[k], (0.01, 0.02)[k]) * of_y)
        return [float(mpmath.log(one / sum(joint))) for one in joint]


def test_the_log_posterior_of_a_state_is_that_of_fifty_digits(narrow):
    x, y = [0.0, 5.0, 2.4, 1.2], [1.5, 1.0, 2.5, 0.0]
    table = cs.read({"x": x, "y": y}, schema=narrow.variables)
    found = narrow.posteriors(table, "c")
    assert (found == 0).any()
    each = [
        cs.inference.log_of_states(narrow, table, "c", np.full(4, k), posteriors=found)
        for k in range(2)
    ]
    expected = np.array([expected_logs(*row) for row in zip(x, y, strict=True)])
    np.testing.assert_allclose(np.transpose(each), expected, rtol=1e-10, atol=1e-10)


def test_the_log_posterior_given_the_whole_blanket_is_that_of_fifty_digits(narrow):
    table = cs.read({"x": [0.0, 5.0], "g": ["yes", "no"], "y": [1.0, 1.0]}, schema=narrow.variables)
    found = narrow.posteriors(table, "c")
    assert found.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    of_other = cs.inference.log_of_states(narrow, table, "c", np.array([1, 0]), posteriors=found)
    with mpmath.workdps(50):
        ratio = mpmath.log(mpmath.mpf("0.7") * mpmath.mpf("0.6") / 2 / mpmath.mpf("0.06"))
        first = float(ratio - mpmath.mpf(250) ** 2 / 2)
        ratio = mpmath.log(mpmath.mpf("0.24") * 2 / mpmath.mpf("0.28"))
        second = float(ratio - mpmath.mpf(500) ** 2 / 2)
    np.testing.assert_allclose(of_other, [first, second], rtol=1e-12)


def test_a_state_of_probability_zero_stays_minus_infinity(narrow):
    a, b = coin("a"), coin("b")
    net = cs.Network.of(
        [
            cs.Categorical(a, (), np.array([0.5, 0.5])),
            cs.Categorical(b, (a,), np.array([[1.0, 0.0], [0.5, 0.5]])),
        ]
    )
    table = cs.read({"b": ["yes"]}, schema=net.variables)
    found = net.posteriors(table, "a")
    assert cs.inference.log_of_states(net, table, "a", np.array([0]), posteriors=found) == [-np.inf]


def test_a_loss_is_infinite_only_where_the_network_says_zero(narrow):
    table = cs.read({"c": ["yes", "no"], "x": [0.0, 0.0], "y": [1.0, 1.0]}, schema=narrow.variables)
    found = cs.classify.evaluate_network(narrow, table, "c").overall
    assert found.n_impossible == 0
    logs = [expected_logs(0.0, 1.0)[k] for k in (1, 0)]
    assert found.log_loss == pytest.approx(-np.mean(logs), rel=1e-10)
