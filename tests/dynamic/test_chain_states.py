"""The number of states of a hidden node in time."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.dynamic.dynamic_fit import bounded
from consilience.errors import ConsilienceError

GRAPH = cs.dynamic.hidden_markov(["x"])


def panel(n: int = 8, length: int = 40, seed: int = 1) -> cs.dynamic.Panel:
    """Sequences of a chain of two states that stays with 0.95 and shows its state with 0.95."""
    rng = np.random.default_rng(seed)
    moves = (rng.random((n, length)) < 0.05).cumsum(axis=1) + rng.integers(0, 2, (n, 1))
    shown = (moves + (rng.random((n, length)) < 0.05)) % 2
    rows = {"who": np.repeat(np.arange(n), length).astype(str).tolist()}
    return cs.dynamic.read_panel(
        {**rows, "x": np.array(["u", "v"])[shown].ravel().tolist()}, sequence="who"
    )


@pytest.mark.parametrize(
    "criterion",
    [
        None,
        cs.scores.AIC(),
        cs.gaps.VariationalBayes(restarts=2),
        cs.scores.CrossValidated(folds=3),
    ],
    ids=lambda one: type(one).__name__,
)
def test_every_criterion_sees_that_one_state_is_too_few(criterion):
    found = cs.dynamic.hidden_states(
        GRAPH, panel(), "z", range(1, 4), criterion=criterion, choice=cs.EM(restarts=2)
    )
    values = {one.n_states: one.value for one in found.tried}
    assert values[2] > values[1] + 50
    assert found.n_states == max(values, key=values.__getitem__)
    if criterion is None or isinstance(criterion, cs.gaps.VariationalBayes):
        assert found.n_states == 2
    assert found.network.transition["x"].table.shape == (found.n_states, 2)


def test_bic_is_the_likelihood_less_half_the_logarithm_of_steps_for_each_parameter():
    found = cs.dynamic.hidden_states(GRAPH, panel(), "z", 2, choice=cs.EM(restarts=1))
    [one] = found.tried
    price = 0.5 * np.log(8 * 40) * one.network.n_parameters
    assert one.value == pytest.approx(one.log_likelihood - price)
    assert one.log_likelihood == pytest.approx(one.network.log_likelihood(panel()).sum())


def test_with_one_state_the_bound_is_the_evidence():
    rows = panel(3, 10)
    found = bounded(
        GRAPH, rows, cs.Dirichlet(ess=1), choice=cs.gaps.VariationalBayes(), hidden={"z": 1}
    )
    table = rows.rows.select(["x"])
    alone = cs.score(cs.DAG(nodes=["x"]), table, cs.BDeu(ess=1))
    assert found.objective[-1] == pytest.approx(alone)


def test_the_bound_never_falls_and_stays_below_the_likelihood():
    found = bounded(
        GRAPH,
        panel(),
        cs.Dirichlet(ess=1),
        choice=cs.gaps.VariationalBayes(restarts=0),
        hidden={"z": 3},
    )
    steps = np.diff(found.objective)
    assert (steps > -1e-7 * abs(found.objective[-1])).all()
    assert found.objective[-1] < found.log_likelihood


def test_what_is_found_is_shown_as_a_table_and_a_picture():
    found = cs.dynamic.hidden_states(GRAPH, panel(), "z", [1, 2], choice=cs.EM(restarts=1))
    assert "2 (chosen)" in found._repr_html_()
    assert cs.plot(found).get_xlabel() == "states of z"
    assert repr(found).startswith("ChainStates('z' with 2 states; 1: ")


def test_wrong_questions_are_refused_by_name():
    with pytest.raises(ConsilienceError, match="'x' is a column of the panel"):
        cs.dynamic.hidden_states(GRAPH, panel(), "x", 2)
    with pytest.raises(ConsilienceError, match="8 sequences cannot be split into 9 folds"):
        cs.dynamic.hidden_states(
            GRAPH, panel(), "z", 1, criterion=cs.scores.CrossValidated(folds=9)
        )
    with pytest.raises(ConsilienceError, match="criterion must be"):
        cs.dynamic.hidden_states(GRAPH, panel(), "z", 1, criterion="bic")
    numbers = cs.dynamic.read_panel({"x": [0.1, 2.0, 3.5, 1.0]})
    with pytest.raises(ConsilienceError, match="'x' is continuous"):
        cs.dynamic.hidden_states(GRAPH, numbers, "z", 1, criterion=cs.gaps.VariationalBayes())
