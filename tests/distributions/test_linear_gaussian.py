"""The noun of continuous nodes: shapes, kinds of parents, and what it refuses."""

import pickle

import numpy as np
import pytest

from consilience import DAG, Network
from consilience.data.variable import Variable
from consilience.distributions import Categorical, LinearGaussian
from consilience.errors import ModelError
from consilience.network.network import discrete_only

DRUG = Variable("drug", ("a", "b", "c"))
SEX = Variable("sex", ("F", "M"))
AGE, DOSE, EFFECT = Variable("age"), Variable("dose"), Variable("effect")


def mixed() -> LinearGaussian:
    intercept = np.arange(6.0).reshape(3, 2)
    slopes = np.arange(12.0).reshape(3, 2, 2)
    return LinearGaussian(EFFECT, (DRUG, AGE, SEX, DOSE), intercept, slopes, np.ones((3, 2)))


def test_parents_of_both_kinds_keep_their_order() -> None:
    local = mixed()
    assert local.parents == ("drug", "age", "sex", "dose")
    assert [v.name for v in local.discrete] == ["drug", "sex"]
    assert [v.name for v in local.continuous] == ["age", "dose"]


def test_means_are_the_regression_of_the_joint_discrete_state() -> None:
    means = mixed().means(np.array([0, 5]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert means.tolist() == [0 + 0 * 1 + 1 * 2, 5 + 10 * 3 + 11 * 4]


def test_every_joint_discrete_state_has_its_own_regression_and_variance() -> None:
    assert mixed().n_parameters == 6 * (1 + 2 + 1)


def test_parameters_go_out_and_come_back() -> None:
    local = mixed()
    again = local.with_parameters(local.parameters)
    assert again.parameters.tolist() == local.parameters.tolist()
    assert again.parents == local.parents


def test_a_copy_by_pickle_cannot_be_written_either() -> None:
    again = pickle.loads(pickle.dumps(mixed()))
    assert not again.sd.flags.writeable


@pytest.mark.parametrize(
    ("intercept", "slopes", "sd", "message"),
    [
        ([0.0], [1.0], 1.0, "intercept of 'effect'.*shape \\(\\)"),
        (0.0, [1.0, 2.0], 1.0, "coefficients of 'effect'"),
        (0.0, [np.nan], 1.0, "coefficients of 'effect' must be finite"),
        (0.0, [1.0], -1.0, "sd of 'effect' must be zero or more, got -1"),
    ],
)
def test_wrong_arrays_are_named(
    intercept: object, slopes: object, sd: object, message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        LinearGaussian(EFFECT, (DOSE,), intercept, slopes, sd)


def test_a_discrete_child_is_refused() -> None:
    with pytest.raises(ModelError, match="'drug' is discrete"):
        LinearGaussian(DRUG, (), 0.0, np.zeros(0), 1.0)


def test_a_network_of_both_kinds_has_a_graph_and_counts_its_parameters() -> None:
    drug = Categorical(DRUG, (), [0.2, 0.3, 0.5])
    dose = LinearGaussian(DOSE, (DRUG,), [1.0, 2.0, 3.0], np.zeros((3, 0)), np.ones(3))
    effect = LinearGaussian(EFFECT, (DOSE,), 1.0, [2.0], 0.5)
    net = Network.of([drug, dose, effect])
    assert net.dag == DAG([("drug", "dose"), ("dose", "effect")], nodes=["drug", "dose", "effect"])
    assert net.n_parameters == 2 + 6 + 3
    assert list(net.tables) == ["drug"]
    assert not net.is_discrete
    with pytest.raises(ModelError, match="entropy: node 'dose' is continuous"):
        discrete_only("entropy", net)
