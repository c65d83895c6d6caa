"""Graphs of panels: arcs forward in time only, orders on the same rows."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.errors import DataError, InputError

dynamic = cs.dynamic


def panel_of_three(n=40, length=20, seed=0):
    rng = np.random.default_rng(seed)
    rows = {"s": [], "a": [], "b": [], "c": []}
    for s in range(n):
        a, b, c = 0, 0, 0
        for _ in range(length):
            a, b = int(rng.random() < (0.85 if a else 0.2)), a if rng.random() < 0.9 else 1 - a
            c = b if rng.random() < 0.85 else 1 - b
            rows["s"].append(s)
            for name, value in zip("abc", (a, b, c), strict=True):
                rows[name].append(str(value))
    return dynamic.read_panel(rows, sequence="s")


@pytest.mark.parametrize("score", [None, cs.BIC(), cs.BDeu(ess=1), cs.AIC()])
def test_arcs_lead_into_the_present(score):
    found = dynamic.search(panel_of_three(), 2, score=score)
    assert all("(t-" not in end for _, end in found.dag.arcs)
    assert {("a(t-1)", "a"), ("a(t-1)", "b")} <= set(found.dag.arcs)
    assert ("b", "c") in found.dag.arcs or ("c", "b") in found.dag.arcs


def test_lagged_nodes_never_score():
    panel = panel_of_three()
    found = dynamic.search(panel, 1, score=cs.BIC())
    parts = cs.node_scores(found.dag, panel.lagged(1), cs.BIC())
    own = sum(one for node, one in parts.items() if "(t-" not in node)
    assert found.score == pytest.approx(own)
    assert dynamic.score(found.dag, panel, cs.BIC()) == pytest.approx(own)


def test_arcs_inside_the_slice_can_be_left_out():
    dag = dynamic.learn(panel_of_three(), instantaneous=False)
    assert all("(t-" in start for start, _ in dag.arcs)
    with pytest.raises(InputError, match="stays inside"):
        dynamic.learn(panel_of_three(), instantaneous=False, require=[("b", "c")])


def test_constraints_hold():
    panel = panel_of_three()
    dag = dynamic.learn(
        panel, require=[("c(t-1)", "a")], forbid=[("a(t-1)", "b")], tiers=[["c"], ["b", "a"]]
    )
    assert ("c(t-1)", "a") in dag.arcs
    assert ("a(t-1)", "b") not in dag.arcs
    assert ("b", "c") not in dag.arcs


def test_inputs_are_roots():
    panel = panel_of_three()
    given = dynamic.read_panel(
        panel.to_frame(), sequence="s", time="time", inputs=["a"], discrete=["a", "b", "c"]
    )
    dag = dynamic.learn(given)
    assert dag.parents("a") == ()
    net = dynamic.fit(dag, given)
    assert net.inputs == ("a",)
    assert set(net.transition) == {"b", "c"}


def test_sources_are_weighed_as_for_tables():
    panel = panel_of_three(8)
    place = np.where(panel.sequence_codes % 2 == 0, "p", "q")
    both = dynamic.read_panel(
        panel.to_frame().assign(place=place),
        sequence="s",
        time="time",
        source="place",
        discrete=["a", "b", "c"],
    )
    found = dynamic.search(both)
    assert "place" not in found.dag.nodes
    assert set(found.by_source) == {"a", "b", "c"}


def test_orders_are_compared_on_the_same_rows():
    rng = np.random.default_rng(1)
    y = [0.0, 0.0]
    for _ in range(300):
        y.append(0.3 * y[-1] + 0.5 * y[-2] + rng.normal())
    choice = dynamic.choose_order(dynamic.read_panel({"y": y}), range(1, 5))
    assert choice.order == max(choice.scores, key=choice.scores.__getitem__) > 1
    assert choice.n_rows == 302 - 4
    n = choice.n_rows
    target = np.array(y[4:])
    design = np.stack([np.ones(n), y[3:-1]], axis=1)
    left = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
    log = -n / 2 * (np.log(2 * np.pi * (left @ left) / n) + 1)
    assert choice.scores[1] == pytest.approx(log - 1.5 * np.log(n))
    discrete = dynamic.choose_order(panel_of_three(), [1, 2])
    assert discrete.order == 1


def test_sequences_that_are_too_short_are_refused():
    panel = dynamic.read_panel({"x": list("ab")})
    with pytest.raises(DataError, match="an order of 2 cannot be learned"):
        dynamic.learn(panel, 2)
    with pytest.raises(DataError, match="no sequence has 3 steps"):
        dynamic.choose_order(panel, [1, 2])
    with pytest.raises(InputError, match="at least one order"):
        dynamic.choose_order(panel, [])
