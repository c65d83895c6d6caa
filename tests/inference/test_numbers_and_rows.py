from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given as generated, strategies as st

import consilience as cs
from consilience.errors import DataError, InputError, UnknownNameError

AGE = cs.Variable("age", ("<30", "[30, 50)", ">=50"), ordered=True, cuts=(30.0, 50.0))
SICK = cs.Variable("sick", ("no", "yes"))
NET = cs.Network.of(
    [
        cs.Categorical(AGE, (), [0.2, 0.5, 0.3]),
        cs.Categorical(SICK, (AGE,), [[0.9, 0.1], [0.7, 0.3], [0.4, 0.6]]),
    ]
)
FRAME = pd.DataFrame({"id": [7, 8], "age": [63.0, None], "sick": [None, "yes"]})


def same(one, other):
    np.testing.assert_array_equal(one.values, other.values)


@generated(st.one_of(st.integers(-100, 200), st.floats(-1e6, 1e6)))
def test_a_number_is_evidence_for_a_column_that_was_cut(number):
    state = AGE.states[sum(cut <= number for cut in AGE.cuts)]
    for given in (number, np.float64(number), str(float(number))):
        same(NET.query("sick", given={"age": given}), NET.query("sick", given={"age": state}))


def test_numbers_are_cut_wherever_something_is_given():
    given, state = {"age": 63}, {"age": ">=50"}
    assert NET.mpe(given) == NET.mpe(state)
    same(NET.marginals(given)["sick"], NET.marginals(state)["sick"])
    assert NET.map(["sick"], given) == NET.map(["sick"], state)
    assert NET.probability({"sick": "yes"}, given) == NET.probability({"sick": "yes"}, state)
    assert NET.probability(given) == NET.probability(state)
    assert cs.log_probability(NET, given) == cs.log_probability(NET, state)
    assert cs.most_probable(NET, 2, given=given) == cs.most_probable(NET, 2, given=state)
    same(NET.do(given).query("sick"), NET.do(state).query("sick"))
    rows = NET.sample(5, given=given, seed=1)
    assert set(rows.to_frame()["age"]) == {">=50"}
    same(NET.query("sick", given={"age": {20, 63}}), NET.query("sick", {"age": {"<30", ">=50"}}))
    likely = cs.Likelihood({20: 0.5, 63: 1.0})
    same(
        NET.query("sick", given={"age": likely}),
        NET.query("sick", {"age": cs.Likelihood({"<30": 0.5, ">=50": 1.0})}),
    )


def test_a_number_that_is_not_finite_is_no_state():
    with pytest.raises(UnknownNameError, match=r"no state 'inf'.*'>=50', or a number"):
        NET.query("sick", given={"age": float("inf")})


@pytest.mark.parametrize(
    "row",
    [
        FRAME.iloc[0],
        FRAME.loc[0, ["age"]],
        next(FRAME.itertuples()),
        pl.DataFrame({"age": [63], "sick": [None]}).row(0, named=True),
        {"age": 63, "sick": None},
        {"age": 63, "sick": float("nan")},
        {"age": 63, "sick": pd.NA},
    ],
)
def test_a_row_of_a_frame_is_evidence_without_its_missing_values(row):
    same(NET.query("sick", given=row), NET.query("sick", given={"age": ">=50"}))
    assert cs.log_probability(NET, row) == pytest.approx(np.log(0.3))
    assert NET.probability({"sick": "yes"}, given=row) == pytest.approx(0.6)


def test_a_column_of_a_row_that_is_likely_misspelt_is_refused():
    net = cs.Network.of([cs.Categorical(cs.Variable("smoker", ("no", "yes")), (), [0.5, 0.5])])
    with pytest.raises(DataError, match=r"the row has a column 'smokre'; is it 'smoker'\?"):
        net.marginals(pd.Series({"smokre": "yes"}))


def test_names_of_a_mapping_must_be_known():
    with pytest.raises(UnknownNameError, match="unknown node 'id'"):
        NET.query("sick", given={"id": 7})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (FRAME, "got a DataFrame. Give one row, frame.iloc[0]; net.posteriors takes them all."),
        ("age", "or be a row of a frame; got 'age'."),
        (next(FRAME.rename(columns={"age": "the age"}).itertuples()), "has lost names"),
    ],
)
def test_what_is_no_row_is_refused(given, told):
    with pytest.raises(InputError, match=re.escape(told)):
        NET.query("sick", given=given)


def test_an_event_says_something():
    with pytest.raises(InputError, match="event 'sick': nothing is said, got None"):
        NET.probability({"sick": None})


@pytest.mark.parametrize("ages", [[20.5, 30.0, 63.0, None], [20, 30, 63, None]])
def test_numbers_of_a_batch_are_cut_by_the_cut_points_of_the_model(ages):
    states = ["<30", "[30, 50)", ">=50", None]
    numbers = cs.read({"age": ages})
    cut = cs.read({"age": states}, schema={"age": AGE})
    np.testing.assert_array_equal(NET.posteriors(numbers, "sick"), NET.posteriors(cut, "sick"))
    both = cs.read({"age": ages, "sick": ["yes", "no", "yes", "no"]})
    expected = NET.log_likelihood(cs.read(both.to_frame(), schema=NET.variables))
    np.testing.assert_array_equal(NET.log_likelihood(both), expected)


def test_cut_points_survive_the_file(tmp_path):
    cs.save(NET, tmp_path / "net.json")
    net = cs.load(tmp_path / "net.json")
    same(net.query("sick", given={"age": 63}), NET.query("sick", given={"age": 63}))


@pytest.mark.parametrize(("state", "meant"), [("YES", "'yes'"), ("yess", "'yes'"), ("ye", "'yes'")])
def test_a_misspelt_state_is_met_with_the_state_that_was_meant(state, meant):
    told = rf"has no state '{state}'\. Did you mean {meant}\? Known states: 'no', 'yes'\."
    with pytest.raises(UnknownNameError, match=told):
        NET.query("age", given={"sick": state})
    with pytest.raises(DataError, match=rf"{state}.*Did you mean {meant}\?"):
        cs.read({"sick": [state]}, schema={"sick": SICK})
    with pytest.raises(DataError, match=rf"{state}.*Did you mean {meant}\?"):
        NET.log_likelihood(cs.read({"sick": [state], "age": [30]}))
