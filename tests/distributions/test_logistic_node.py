"""The noun of discrete nodes with continuous parents."""

import numpy as np
import pytest

from consilience.data.variable import Variable
from consilience.distributions import Logistic
from consilience.errors import ModelError

AGE, SEX, ILL = Variable("age"), Variable("sex", ("F", "M")), Variable("ill", ("no", "mild", "bad"))


def node() -> Logistic:
    intercept = np.array([[0.0, 1.0, 2.0], [0.0, -1.0, 0.5]])
    slopes = np.array([[[0.0], [0.1], [0.2]], [[0.0], [0.3], [-0.2]]])
    return Logistic(ILL, (AGE, SEX), intercept, slopes)


def test_probabilities_are_a_softmax_of_the_linear_functions() -> None:
    logs = node().log_probabilities(np.array([1]), np.array([[2.0]]))
    weights = np.exp([0.0, -1 + 0.6, 0.5 - 0.4])
    assert np.exp(logs[0]) == pytest.approx(weights / weights.sum(), rel=1e-14)


def test_far_values_do_not_overflow() -> None:
    logs = node().log_probabilities(np.array([0]), np.array([[1e6]]))
    assert np.isfinite(logs).all()
    assert np.exp(logs).sum() == pytest.approx(1.0)


def test_one_regression_of_the_states_is_not_free() -> None:
    assert node().n_parameters == 2 * (3 - 1) * (1 + 1)


def test_adding_one_function_to_all_states_changes_nothing() -> None:
    moved = node().with_parameters(node().parameters + np.array([3.0, -1.0]))
    rows = (np.array([0, 1]), np.array([[1.5], [-2.0]]))
    assert moved.log_probabilities(*rows) == pytest.approx(node().log_probabilities(*rows))


def test_without_a_continuous_parent_it_is_refused() -> None:
    with pytest.raises(ModelError, match="'ill' given \\['sex'\\] is not of this kind"):
        Logistic(ILL, (SEX,), np.zeros((2, 3)), np.zeros((2, 3, 0)))


def test_wrong_shapes_are_named() -> None:
    with pytest.raises(ModelError, match=r"coefficients of 'ill'.*shape \(2, 3, 1\)"):
        Logistic(ILL, (AGE, SEX), np.zeros((2, 3)), np.zeros((2, 3)))
