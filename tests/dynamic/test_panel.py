"""Panels: order, times, absent steps, lags, and what is refused."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import consilience as cs
from consilience.errors import DataError, InputError, UnknownNameError

FRAME = pd.DataFrame(
    {
        "who": ["b", "a", "b", "a", "b"],
        "day": [2, 1, 1, 2, 3],
        "x": ["u", "v", "v", None, "u"],
        "y": [1.5, 2.5, 3.5, 4.5, 5.5],
    }
)


def read(frame=FRAME, **choices):
    return cs.dynamic.read_panel(frame, sequence="who", time="day", **choices)


def test_rows_stand_by_sequence_of_first_sight_and_time():
    panel = read()
    assert panel.sequences == ("b", "a")
    assert panel.lengths.tolist() == [3, 2]
    assert panel.times.tolist() == [1, 2, 3, 1, 2]
    assert panel.rows.column("y").tolist() == [3.5, 1.5, 5.5, 2.5, 4.5]


@given(seed=st.integers(0, 1000))
def test_shuffled_rows_give_the_same_sequences(seed):
    shuffled = FRAME.sample(frac=1, random_state=seed)
    panel, other = read(), read(shuffled)
    for name in panel.sequences:
        one, two = panel.take([name]).to_frame(), other.take([name]).to_frame()
        pd.testing.assert_frame_equal(one.astype(str), two.astype(str))


def test_lagged_columns_stay_within_a_sequence():
    lagged = read().lagged(1)
    assert list(lagged.variables) == ["x", "y", "x(t-1)", "y(t-1)"]
    assert lagged.column("y").tolist() == [1.5, 5.5, 4.5]
    assert lagged.column("y(t-1)").tolist() == [3.5, 1.5, 2.5]
    assert read().lagged(2).n_rows == 1
    assert read().lagged(3).n_rows == 0


def test_lagged_rows_keep_source_and_weight():
    frame = FRAME.assign(place=["p", "q", "p", "q", "p"], n=[2, 3, 2, 3, 2])
    lagged = read(frame, source="place", weight="n").lagged(1)
    assert [lagged.sources[code] for code in lagged.source_codes] == ["p", "p", "q"]
    assert lagged.weights.tolist() == [2, 2, 3]


@pytest.mark.parametrize(
    ("times", "kind", "last"),
    [
        ([1871, 1872, 1873], "whole", 1873),
        ([0.5, 0.75, 1.0], "number", 1.0),
        (["1980Q4", "1981Q1", "1981Q2"], "quarter", "1981Q2"),
        (["1980-12", "1981-01", "1981-02"], "month", "1981M02"),
        (["2020-02-28", "2020-02-29", "2020-03-01"], "date", np.datetime64("2020-03-01")),
        (pd.period_range("1980Q4", periods=3, freq="Q"), "quarter", "1981Q2"),
        (pd.date_range("2020-02-28", periods=3), "date", np.datetime64("2020-03-01")),
        (pd.date_range("2020-02-28", periods=3, freq="6h"), "moment", None),
    ],
)
def test_times_of_every_kind(times, kind, last):
    panel = cs.dynamic.read_panel(pd.DataFrame({"t": times, "x": [1.5, 2.5, 3.5]}), time="t")
    assert panel.clock.kind == kind
    assert last is None or panel.times[-1] == last


def test_without_times_rows_are_consecutive_and_the_record_says_so():
    panel = cs.dynamic.read_panel({"x": [1.5, 2.5]})
    assert panel.times.tolist() == [0, 1]
    assert "consecutive" in panel.notes[0]


def test_absent_steps_are_refused_filled_or_split():
    frame = FRAME[FRAME.day != 2].iloc[::-1]
    with pytest.raises(DataError, match="sequence 'b', time '2': the step is absent") as caught:
        read(frame)
    assert caught.value.culprits["sequence"] == "b"
    assert caught.value.culprits["time"] == "2"
    filled = read(frame, absent=cs.dynamic.FillSteps())
    assert filled.lengths.tolist() == [3, 1]
    assert np.isnan(filled.rows.column("y")[1])
    assert filled.times.tolist() == [1, 2, 3, 1]
    split = read(frame, absent=cs.dynamic.SplitSequences())
    assert split.sequences == ("b", "b#2", "a")
    assert read(frame[frame.who == "b"], step=2).lengths.tolist() == [2]
    with pytest.raises(InputError, match="absent must be"):
        read(frame, absent="fill")


def test_two_rows_at_one_time_are_refused():
    frame = pd.concat([FRAME, FRAME[:1]])
    with pytest.raises(DataError, match=r"sequence 'b', time '2': rows 1 and 6"):
        read(frame)


def test_a_time_off_the_grid_is_refused():
    frame = FRAME.assign(day=[2, 1, 1, 2, 3.5])
    with pytest.raises(DataError, match=r"sequence 'b', time '3.5': the time is off the grid"):
        read(frame, step=1)


def test_a_source_that_changes_within_a_sequence_is_refused():
    frame = FRAME.assign(place=["p", "q", "p", "q", "q"])
    with pytest.raises(DataError, match="the source changes from 'p' to 'q'") as caught:
        read(frame, source="place")
    assert caught.value.culprits["sequence"] == "b"


def test_a_weight_that_changes_within_a_sequence_is_refused():
    with pytest.raises(DataError, match="the weight changes"):
        read(FRAME.assign(n=[1, 1, 2, 1, 1]), weight="n")


def test_an_input_without_a_value_is_refused():
    with pytest.raises(DataError, match=r"sequence 'a', time '2': the input 'x' has no value"):
        read(inputs=["x"])
    with pytest.raises(UnknownNameError):
        read(inputs=["dose"])


def test_a_row_without_sequence_or_time_is_refused():
    with pytest.raises(DataError, match="row 2"):
        read(FRAME.assign(who=["b", None, "b", "a", "b"]))


@pytest.mark.parametrize("name", ["y(t-1)", "y(0)"])
def test_a_column_with_the_name_of_another_in_time_is_refused(name):
    with pytest.raises(DataError, match="has the name that column 'y' gets") as caught:
        read(FRAME.assign(**{name: 1.5}))
    assert caught.value.culprits["column"] == name


def test_times_that_mean_nothing_are_refused():
    with pytest.raises(DataError, match="the time 'monday' cannot be placed"):
        cs.dynamic.read_panel({"t": ["monday", "tuesday"], "x": [1.5, 2.5]}, time="t")


def test_before_and_take():
    panel = read()
    assert panel.before(2).lengths.tolist() == [1, 1]
    assert panel.take(["a"]).rows.column("y").tolist() == [2.5, 4.5]
    with pytest.raises(UnknownNameError):
        panel.take(["c"])
    with pytest.raises(DataError, match="no row"):
        panel.before(0)
    with pytest.raises(InputError, match="without times"):
        cs.dynamic.read_panel({"x": [1.5, 2.5]}).before(1)


def test_a_panel_comes_back_from_its_frame():
    panel = read()
    again = cs.dynamic.read_panel(panel.to_frame(), sequence="who", time="day")
    assert again.to_frame().astype(str).equals(panel.to_frame().astype(str))


def test_every_argument_of_read_is_taken():
    panel = read(
        columns=["y", "x"], states={"x": ["u", "v", "w"]}, discretize={"y": cs.Quantiles(2)}
    )
    assert list(panel.rows.variables) == ["y", "x"]
    assert panel.rows.variables["x"].states == ("u", "v", "w")
    again = read(schema=panel.rows.schema)
    assert again.rows.variables == panel.rows.variables
    with pytest.raises(InputError, match="is the time"):
        read(columns=["day", "x"])


def zoned(start, n, freq):
    times = pd.date_range(start, periods=n, freq=freq, tz="Europe/Berlin")
    return cs.dynamic.read_panel(pd.DataFrame({"at": times, "x": list("abab")[:n]}), time="at")


def test_midnights_of_a_time_zone_are_dates_though_one_day_has_23_hours():
    assert zoned("2024-03-30", 4, "D").times.astype(str).tolist() == [
        *("2024-03-30", "2024-03-31", "2024-04-01", "2024-04-02"),
    ]


def test_hours_of_a_time_zone_are_instants_though_a_clock_is_put_back():
    panel = zoned("2024-10-27 01:00", 4, "h")
    assert [str(time)[:13] for time in panel.times] == [
        *("2024-10-26T23", "2024-10-27T00", "2024-10-27T01", "2024-10-27T02"),
    ]


@pytest.mark.parametrize("freq", ["MS", "QS", "YS"])
def test_dates_by_month_quarter_or_year_are_to_be_written_as_periods(freq):
    dates = pd.date_range("2023-01-01", periods=4, freq=freq)
    with pytest.raises(DataError, match="write the times as periods such as '1980M01'"):
        cs.dynamic.read_panel(pd.DataFrame({"at": dates, "x": list("abab")}), time="at")


def test_a_panel_of_single_steps_is_written_so():
    assert repr(cs.dynamic.read_panel({"x": ["a"]})) == "Panel(1 sequence of 1 step, 1 variable)"


def test_a_step_may_be_a_span_of_time():
    dates = pd.to_datetime(["2020-01-01", "2020-01-08"])
    panel = cs.dynamic.read_panel({"t": dates, "x": [1.5, 2.5]}, time="t", step=timedelta(days=7))
    assert panel.lengths.tolist() == [2]
