from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.errors import DataError, UnknownNameError


def smoke_net() -> cs.Network:
    smoke = cs.Variable("smoke", ("yes", "no"))
    cough = cs.Variable("cough", ("yes", "no"))
    return cs.Network.of(
        [
            cs.Categorical(smoke, (), np.array([0.25, 0.75])),
            cs.Categorical(cough, (smoke,), np.array([[0.5, 0.5], [0.0, 1.0]])),
        ]
    )


def test_the_log_likelihood_of_a_row_is_the_sum_over_families():
    table = cs.read({"cough": ["yes", "no"], "smoke": ["yes", "no"]})
    np.testing.assert_allclose(smoke_net().log_likelihood(table), np.log([0.125, 0.75]))


def test_an_impossible_row_has_minus_infinity():
    table = cs.read({"cough": ["yes", "no"], "smoke": ["no", "no"]})
    assert smoke_net().log_likelihood(table)[0] == -np.inf


def test_a_gap_is_refused_with_its_place():
    table = cs.read({"cough": ["yes", None, "no"], "smoke": ["no", "yes", "no"]})
    with pytest.raises(DataError, match="column 'cough', row 2: a value is missing"):
        smoke_net().log_likelihood(table)


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(UnknownNameError, match="unknown variable 'smoke'"):
        smoke_net().log_likelihood(cs.read({"cough": ["yes", "no"]}))


def test_a_state_that_the_network_lacks_is_named_with_its_place():
    table = cs.read({"cough": ["yes", "maybe"], "smoke": ["no", "no"]})
    with pytest.raises(DataError, match="column 'cough', row 2: the state 'maybe' is not known"):
        smoke_net().log_likelihood(table)
