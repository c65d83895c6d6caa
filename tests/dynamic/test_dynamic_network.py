"""The noun: ties, first slices, unrolling, and what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import consilience as cs
from consilience.errors import (
    GraphError,
    ImpossibleEvidenceError,
    MemoryLimitError,
    ModelError,
    UnknownNameError,
)

AB = ("a", "b")
Z, Z_BEFORE, X = cs.Variable("z", AB), cs.Variable("z(t-1)", AB), cs.Variable("x", AB)
MOVES = cs.Categorical(Z, (Z_BEFORE,), [[0.9, 0.1], [0.2, 0.8]])
SHOWN = cs.Categorical(X, (Z,), [[0.7, 0.3], [0.4, 0.6]])
START = cs.Categorical(cs.Variable("z(0)", AB), (), [0.5, 0.5])


def hmm(**choices):
    return cs.dynamic.DynamicNetwork(
        cs.Network.of([START]), [MOVES, SHOWN], hidden=("z",), **choices
    )


def test_families_that_the_transition_says_are_put_into_the_first_slice():
    net = hmm()
    assert net.order == 1
    assert net.initial["x(0)"].table.tolist() == SHOWN.table.tolist()
    assert net.n_parameters == 1 + 2 + 2
    assert net.dag.arcs == (("z(t-1)", "z"), ("z", "x"))


def test_an_early_family_that_differs_from_the_transition_is_refused():
    other = cs.Categorical(cs.Variable("x(0)", AB), (START.child,), [[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(ModelError, match=r"gives 'x\(0\)' another distribution"):
        cs.dynamic.DynamicNetwork(cs.Network.of([START, other]), [MOVES, SHOWN])


def test_a_first_slice_without_a_law_is_refused():
    with pytest.raises(ModelError, match=r"no node 'z\(0\)'"):
        cs.dynamic.DynamicNetwork(None, [MOVES, SHOWN])


def test_an_arc_into_the_past_is_refused():
    past = cs.Categorical(Z_BEFORE, (X,), [[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(GraphError, match=r"'z\(t-1\)', which lies in the past"):
        cs.dynamic.DynamicNetwork(cs.Network.of([START]), [MOVES, SHOWN, past])
    panel = cs.dynamic.read_panel({"x": list("abab"), "y": list("abba")})
    with pytest.raises(GraphError, match=r"'x' -> 'y\(t-1\)' leads into the past"):
        cs.dynamic.fit(cs.DAG([("x", "y(t-1)")]), panel)


def test_an_arc_of_the_first_slices_backward_in_time_is_refused():
    x = [cs.Variable(f"x({k})", AB) for k in range(2)]
    even = [[0.5, 0.5], [0.5, 0.5]]
    first = cs.Network.of(
        [cs.Categorical(x[1], (), [0.5, 0.5]), cs.Categorical(x[0], (x[1],), even)]
    )
    move = cs.Categorical(X, (cs.Variable("x(t-2)", AB),), even)
    with pytest.raises(GraphError, match="leads backward in time") as caught:
        cs.dynamic.DynamicNetwork(first, [move])
    assert caught.value.culprits["arc"] == ("x(1)", "x(0)")


def test_a_cycle_inside_a_slice_is_refused():
    one = cs.Categorical(Z, (X,), [[0.9, 0.1], [0.2, 0.8]])
    with pytest.raises(GraphError, match="cycle"):
        cs.dynamic.DynamicNetwork(None, [one, SHOWN])


def test_a_lag_beyond_the_order_is_refused():
    panel = cs.dynamic.read_panel({"x": list("abab") * 5, "y": list("abba") * 5})
    with pytest.raises(GraphError, match=r"'x\(t-2\)' lies 2 steps back, but the order is 1"):
        cs.dynamic.learn(panel, order=1, require=[("x(t-2)", "y")])


def test_unknown_nodes_and_inputs_are_refused():
    with pytest.raises(UnknownNameError):
        cs.dynamic.DynamicNetwork(cs.Network.of([START]), [MOVES])["y"]
    with pytest.raises(UnknownNameError):
        cs.dynamic.DynamicNetwork(None, [SHOWN])
    with pytest.raises(ModelError, match="is an input"):
        cs.dynamic.DynamicNetwork(cs.Network.of([START]), [MOVES, SHOWN], inputs=("x",))


def test_an_unknown_state_of_a_panel_is_refused():
    panel = cs.dynamic.read_panel({"x": ["a", "c"]})
    with pytest.raises(cs.ConsilienceError, match="the state 'c' is not known") as caught:
        hmm().log_likelihood(panel)
    assert caught.value.culprits["state"] == "c"


def test_an_impossible_sequence_has_no_beliefs():
    sure = cs.dynamic.from_hmm([1, 0], [[1, 0], [0, 1]], [[1, 0], [0, 1]])
    panel = cs.dynamic.read_panel({"x": ["1", "2"]}, states={"x": ["1", "2"]})
    assert sure.log_likelihood(panel).tolist() == [-np.inf]
    with pytest.raises(ImpossibleEvidenceError, match="sequence '1'"):
        sure.smooth(panel)
    with pytest.raises(ImpossibleEvidenceError):
        sure.mpe(panel)


def test_messages_that_are_too_large_are_refused_before_they_are_made():
    panel = cs.dynamic.read_panel({"x": ["a", "b"] * 50})
    with pytest.raises(MemoryLimitError, match="messages of 100 rows"):
        hmm().smooth(panel, memory_limit=1000)


def test_a_network_is_its_own_copy():
    net = pickle.loads(pickle.dumps(hmm()))
    assert net.hidden == ("z",)
    assert net["z"].table.tolist() == MOVES.table.tolist()


def test_unrolled_networks_of_any_length_begin_alike():
    net = hmm()
    assert set(net.unroll(1).variables) == {"z(0)", "x(0)"}
    assert net.unroll(3).dag.parents("z(2)") == ("z(1)",)


def test_samples_follow_the_network():
    panel = hmm().sample(4000, 3, seed=1)
    states = panel.rows.column("z").reshape(-1, 3)
    assert states[:, 0].mean() == pytest.approx(0.5, abs=0.03)
    moved = states[states[:, 1] == 0, 2].mean()
    assert moved == pytest.approx(0.1, abs=0.02)
    again = hmm().sample(4000, 3, seed=1)
    assert (again.rows.column("x") == panel.rows.column("x")).all()
