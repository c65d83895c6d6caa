from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.errors import ModelError

SMOKE, COUGH = cs.Variable("smoke", ("yes", "no")), cs.Variable("cough", ("yes", "no", "a bit"))


def test_parents_are_the_axes_and_the_child_is_last():
    local = cs.Categorical(COUGH, (SMOKE,), np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]))
    assert local.parents == ("smoke",)
    assert local.table.shape == (2, 3)
    assert local.n_parameters == 4


def test_the_table_is_a_copy_that_cannot_be_written():
    table = np.array([0.5, 0.5])
    local = cs.Categorical(SMOKE, (), table)
    table[0] = 9
    assert local.table[0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        local.table[0] = 1


@pytest.mark.parametrize("row", [[0.5, 0.6], [-0.1, 1.1], [np.nan, 1.0], [0.0, 0.0], [np.inf, 0]])
def test_a_row_that_is_no_distribution_is_refused_by_name(row):
    table = np.array([row, [0.5, 0.5]])
    child = cs.Variable("fever", ("yes", "no"))
    with pytest.raises(ModelError, match="table of 'fever' is not a distribution given smoke=yes"):
        cs.Categorical(child, (SMOKE,), table)


def test_a_table_of_another_shape_is_refused():
    with pytest.raises(ModelError, match=r"must have shape \(2, 3\), got \(2, 2\)"):
        cs.Categorical(COUGH, (SMOKE,), np.full((2, 2), 0.5))


def test_a_variable_cannot_be_its_own_parent():
    with pytest.raises(ModelError, match="names a variable twice"):
        cs.Categorical(SMOKE, (SMOKE,), np.full((2, 2), 0.5))
