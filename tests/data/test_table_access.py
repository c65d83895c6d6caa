"""Rows and columns of a table by the signs that Python has for them."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.errors import InputError, UnknownNameError

TABLE = cs.read(
    {"f": ["a", "b"] * 10, "sex": ["F", None] * 10, "age": [k + 0.5 for k in range(20)]}, source="f"
)


def test_a_name_gives_the_values():
    assert TABLE["sex"].tolist() == ["F", None] * 10
    assert TABLE["age"].tolist() == [k + 0.5 for k in range(20)]
    assert TABLE["f"].tolist() == ["a", "b"] * 10
    with pytest.raises(UnknownNameError, match="Did you mean 'age'"):
        TABLE["agee"]


def test_a_slice_gives_rows():
    part = TABLE[10:13]
    assert isinstance(part, cs.Table)
    assert part["age"].tolist() == [10.5, 11.5, 12.5]
    assert part["f"].tolist() == ["a", "b", "a"]
    assert len(TABLE[::-2]) == 10
    assert len(TABLE[50:]) == 0


def test_the_head_is_the_first_rows_and_the_length_their_number():
    assert TABLE.head()["age"].tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]
    assert len(TABLE.head(2)) == 2
    assert len(TABLE.head(100)) == len(TABLE) == 20
    with pytest.raises(InputError, match="n_rows must be a whole number of at least 0"):
        TABLE.head(-1)


@pytest.mark.parametrize("key", [3, ["sex"], None, np.array([True] * 20)])
def test_other_keys_are_refused_and_told_what_to_use(key):
    with pytest.raises(InputError, match=r"table\[10:20\].*table\.select.*table\.take"):
        TABLE[key]


def test_rows_are_not_walked_through():
    with pytest.raises(TypeError, match="not iterable"):
        iter(TABLE)
