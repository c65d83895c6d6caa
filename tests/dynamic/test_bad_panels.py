"""What is refused of panels and networks in time: the class, the culprit and the value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import consilience as cs
from consilience.errors import DataError, GraphError, ModelError

dynamic = cs.dynamic
FRAME = pd.DataFrame(
    {
        "who": ["b", "a", "b", "a", "b"],
        "day": [2, 1, 1, 2, 3],
        "x": ["u", "v", "v", None, "u"],
        "y": [1.5, 2.5, 3.5, 4.5, 5.5],
    }
)
LEVEL = cs.DAG([("y(t-1)", "y")])


def read(frame=FRAME, **choices):
    return dynamic.read_panel(frame, sequence="who", time="day", **choices)


def chain():
    return dynamic.read_panel({"who": list("aaaabbbb"), "x": list("uuvvuvvv")}, sequence="who")


def series(values):
    return dynamic.read_panel({"y": values}, continuous=["y"])


PANELS = {
    "an absent step": (
        lambda: read(FRAME[FRAME.day != 2]),
        {"sequence": "b", "time": "2", "column": "day"},
        "FillSteps",
    ),
    "two rows at one time": (
        lambda: read(pd.concat([FRAME, FRAME[:1]])),
        {"sequence": "b", "time": "2", "column": "day"},
        "rows 1 and 6",
    ),
    "a time off the grid": (
        lambda: read(FRAME.assign(day=[2, 1, 1, 2, 3.5]), step=1),
        {"sequence": "b", "time": "3.5", "column": "day"},
        "steps of 1",
    ),
    "a source that changes": (
        lambda: read(FRAME.assign(place=list("pqpqq")), source="place"),
        {"sequence": "b", "time": "3", "source": "q"},
        "from 'p' to 'q'",
    ),
    "a weight that changes": (
        lambda: read(FRAME.assign(n=[1, 1, 2, 1, 1]), weight="n"),
        {"sequence": "b", "time": "2", "weight": "1"},
        "from '2' to '1'",
    ),
    "an input without a value": (
        lambda: read(inputs=["x"]),
        {"sequence": "a", "time": "2", "column": "x"},
        "read it as a variable",
    ),
    "a time that means nothing": (
        lambda: dynamic.read_panel({"t": ["monday", "friday"], "x": [1.5, 2.5]}, time="t"),
        {"column": "t", "time": "monday"},
        "1980Q1",
    ),
    "a name in time": (
        lambda: read(FRAME.assign(**{"y(t-1)": 1.5})),
        {"column": "y(t-1)"},
        "column 'y'",
    ),
    "an unknown state": (
        lambda: dynamic.fit(cs.DAG([("x(t-1)", "x")]), chain()).smooth(
            dynamic.read_panel({"x": list("uvw")})
        ),
        {"column": "x", "row": 3, "state": "w"},
        "Known states: 'u', 'v'",
    ),
    "a first value without a law": (
        lambda: dynamic.fit(LEVEL, series([None, 2.5, 2.0, 3.5, 3.0, 2.5])),
        {"sequence": "1", "time": "0", "column": "y"},
        "Estimated",
    ),
    "a collapsing emission": (
        lambda: dynamic.fit(
            dynamic.hidden_markov(["y"]), series([1.0] * 9), cs.MLE(), hidden={"z": 2}
        ),
        {"variable": "y"},
        "is 0",
    ),
    "too few steps": (lambda: dynamic.learn(chain(), 9), {"order": 9}, "Lower the order"),
}

GRAPHS = {
    "a cycle inside the slice": (
        lambda: dynamic.fit(cs.DAG([("x", "y"), ("y", "x")]), read()),
        {"cycle": ("x", "y", "x")},
        "'x' -> 'y' -> 'x'",
    ),
    "an arc backward in time": (
        lambda: dynamic.fit(cs.DAG([("x", "x(t-1)")]), chain()),
        {"arc": ("x", "x(t-1)")},
        "current slice",
    ),
    "a required arc backward in time": (
        lambda: dynamic.learn(chain(), require=[("x", "x(t-1)")]),
        {"arc": ("x", "x(t-1)")},
        "current slice",
    ),
    "a lag beyond the order": (
        lambda: dynamic.learn(chain(), 1, require=[("x(t-2)", "x")]),
        {"node": "x(t-2)"},
        "the order is 1",
    ),
}


@pytest.mark.parametrize(("refused", "culprits", "word"), PANELS.values(), ids=list(PANELS))
def test_rows_that_cannot_be_are_named(refused, culprits, word):
    with pytest.raises(DataError, match=word) as caught:
        refused()
    assert caught.value.culprits == culprits


@pytest.mark.parametrize(("refused", "culprits", "word"), GRAPHS.values(), ids=list(GRAPHS))
def test_graphs_that_cannot_be_in_time_are_named(refused, culprits, word):
    with pytest.raises(GraphError, match=word) as caught:
        refused()
    assert caught.value.culprits == culprits


def test_a_unit_root_is_told_with_its_size():
    panel = series([1.1**t + 0.01 * (t % 3) for t in range(30)])
    with pytest.raises(ModelError, match="Conditional") as caught:
        dynamic.fit(LEVEL, panel, cs.MLE(), initial=dynamic.Stationary())
    assert caught.value.culprits["variables"] == ("y",)
    assert caught.value.culprits["eigenvalue"] == pytest.approx(1.1, abs=0.01)


def test_a_family_before_the_first_step_needs_a_law():
    x, first = cs.Variable("x", ("u", "v")), cs.Variable("x(0)", ("u", "v"))
    past = cs.Variable("x(t-2)", ("u", "v"))
    with pytest.raises(ModelError, match="conditional=") as caught:
        dynamic.DynamicNetwork(
            cs.Network.of([cs.Categorical(first, (), [0.5, 0.5])]),
            [cs.Categorical(x, (past,), np.eye(2))],
        )
    assert caught.value.culprits == {"variable": "x(1)"}
