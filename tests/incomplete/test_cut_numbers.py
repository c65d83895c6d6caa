"""Gaps among numbers that a network has cut into intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import consilience as cs
from consilience.incomplete.cut_numbers import fill_numbers

AGE = cs.Variable("age", ("<30", "[30, 50)", ">=50"), ordered=True, cuts=(30.0, 50.0))
SICK = cs.Variable("sick", ("no", "yes"))
NET = cs.Network.of(
    [
        cs.Categorical(AGE, (), [0.2, 0.5, 0.3]),
        cs.Categorical(SICK, (AGE,), [[0.9, 0.1], [0.3, 0.7], [0.4, 0.6]]),
    ]
)


@pytest.mark.parametrize("ages", [[63.0, None, 35.5, 33.0, 41.0], [63, None, 35, 33, 41]])
def test_recorded_numbers_stay_and_a_gap_gets_the_middle_one_of_its_interval(ages):
    rows = cs.read({"id": list("abcde"), "age": ages, "sick": ["yes"] * 5})
    found = cs.impute(NET, rows)  # P(age | sick) is largest between 30 and 50
    assert list(found.table.variables) == ["id", "age", "sick"]
    filled = found.table.to_frame()
    assert filled["age"].tolist() == [63.0, ages[2], ages[2], 33.0, 41.0]
    assert filled["id"].tolist() == list("abcde")
    assert dict(found.n_filled) == {"age": 1, "sick": 0}
    assert "'age'" in found.notes[-1]
    assert "the middle one" in found.notes[-1]


def test_states_of_a_cut_column_are_filled_with_states():
    rows = cs.read({"age": ["<30", None], "sick": ["no", "yes"]}, schema=NET.variables)
    assert cs.impute(NET, rows).table.to_frame()["age"].tolist() == ["<30", "[30, 50)"]


def test_a_column_without_any_number_is_filled_with_states():
    rows = cs.read({"age": [None, None], "sick": ["no", "yes"]})
    assert set(cs.impute(NET, rows).table.to_frame()["age"]) <= set(AGE.states)


def test_a_source_with_gaps_is_left_as_it_is():
    place = cs.Variable("place", ("rome", "oslo"))
    net = cs.Network.of(
        [
            cs.Categorical(place, (), [0.5, 0.5]),
            cs.Categorical(SICK, (place,), [[0.9, 0.1], [0.2, 0.8]]),
        ],
        source="place",
    )
    found = cs.impute(net, cs.read({"place": ["rome", None], "sick": [None, "yes"]}))
    assert (dict(found.n_filled), dict(found.n_left)) == ({"sick": 1}, {"place": 1})
    assert found.table.columns["place"].tolist() == [0, -1]


@given(
    st.lists(st.one_of(st.none(), st.floats(-100, 100)), min_size=1, max_size=12),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_what_is_filled_lies_in_its_interval_and_what_is_recorded_stays(ages, seed, at_random):
    rng = np.random.default_rng(seed)
    numbers = np.array([np.nan if age is None else age for age in ages])
    codes = np.searchsorted(AGE.cuts, numbers, side="right")
    codes[np.isnan(numbers)] = rng.integers(0, 3, int(np.isnan(numbers).sum()))
    filled = fill_numbers(numbers, codes, AGE, rng if at_random else None)
    known = ~np.isnan(numbers)
    np.testing.assert_array_equal(filled[known], numbers[known])
    np.testing.assert_array_equal(np.searchsorted(AGE.cuts, filled, side="right"), codes)
    for code in np.unique(codes[~known]):
        recorded = numbers[known & (codes == code)]
        if recorded.size:
            assert set(filled[~known & (codes == code)]) <= set(recorded)


def test_draws_take_numbers_at_random():
    ages = np.array([*np.arange(30.0, 50.0), *[np.nan] * 2000])
    filled = fill_numbers(ages, np.ones(len(ages), int), AGE, np.random.default_rng(1))
    assert set(filled[20:]) == set(np.arange(30.0, 50.0))
    assert filled[20:].mean() == pytest.approx(39.5, abs=0.5)
