from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import consilience as cs
from consilience.data.known import read_known
from consilience.errors import DataError

SEX = cs.Variable("sex", ("F", "M", "other"))
AGE = cs.Variable("age", ("<30", "[30, 50)", ">=50"), ordered=True, cuts=(30.0, 50.0))
VARIABLES = {"sex": SEX, "age": AGE}


def test_known_values_are_read_as_with_a_schema():
    data = {"sex": ["F", None, "M", "?"], "age": [10.0, 30.0, np.nan, 99.0]}
    table, unseen = read_known(data, VARIABLES)
    same = cs.read(data, schema=VARIABLES)
    for name in VARIABLES:
        np.testing.assert_array_equal(table.columns[name], same.columns[name])
    assert unseen == {}


def test_unseen_values_are_missing_and_counted():
    table, unseen = read_known({"sex": ["X", "F", "X", "Y"]}, VARIABLES)
    assert table.columns["sex"].tolist() == [-1, 0, -1, -1]
    assert unseen == {"sex": {"X": 2, "Y": 1}}


def test_a_state_can_stand_in_for_unseen_values():
    table, unseen = read_known({"sex": ["X", None]}, VARIABLES, stand_ins={"sex": "other"})
    assert table.columns["sex"].tolist() == [2, -1]
    assert unseen == {"sex": {"X": 1}}


def test_a_category_that_no_row_has_is_not_unseen():
    frame = pd.DataFrame({"sex": pd.Categorical(["F"], categories=["F", "X"])})
    assert read_known(frame, VARIABLES)[1] == {}


def test_text_among_numbers_to_be_cut_is_unseen():
    table, unseen = read_known({"age": ["31", "old", ">=50"]}, VARIABLES)
    assert table.columns["age"].tolist() == [1, -1, 2]
    assert unseen == {"age": {"old": 1}}


def test_columns_that_the_data_lack_are_missing():
    table, _ = read_known({"age": [1, 2]}, VARIABLES)
    assert table.columns["sex"].tolist() == [-1, -1]


def test_an_infinite_number_is_still_an_error():
    with pytest.raises(DataError, match="must be finite"):
        read_known({"age": [np.inf]}, VARIABLES)


def test_a_state_of_the_variable_is_no_marker():
    table, unseen = read_known({"x": ["?", "a", ""]}, {"x": cs.Variable("x", ("a", "?"))})
    assert table.columns["x"].tolist() == [1, 0, -1]
    assert not unseen
