from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from simulated_sources import (
    TARGET,
    assert_same_tables,
    one_node,
    one_pooled,
    pooled,
    three_sources,
)

import consilience as cs
from consilience.errors import InputError, ModelError, UnknownNameError
from consilience.network.network import Network
from consilience.simulate.divergence import diverge, realized_divergence


@st.composite
def columns(draw):
    """Rows (sources, states) and a pooled row; zeros and ones occur."""
    n_sources, n_states = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    counts = draw(hnp.arrays(np.int64, (n_sources + 1, n_states), elements=st.integers(0, 5)))
    rows = np.where(counts.sum(axis=1, keepdims=True) > 0, counts, 1).astype(float)
    rows /= rows.sum(axis=1, keepdims=True)
    return rows[:-1], rows[-1]


def moved(rows, shared, delta):
    return diverge(one_node(rows), one_pooled(shared), delta)["x"].table


def by_the_book(rows, shared, delta):
    """The rule as a loop over sources, with the ratio (1 - t) / (1 - t0)."""
    deviation = np.abs(rows - shared).max(axis=0)
    star = next(k for k in range(len(shared)) if deviation[k] >= deviation.max() - 1e-12)
    answer = rows.copy()
    for f, row in enumerate(rows):
        side, t0 = row[star] - shared[star], row[star]
        if abs(side) < 1e-12 or t0 == 1:
            continue
        t = t0 + (1 - t0) * delta if side > 0 else t0 * (1 - delta)
        answer[f] = row * (1 - t) / (1 - t0)
        answer[f, star] = t
    return answer


def test_three_sources_move_to_their_own_sides():
    found = moved([(0.2, 0.3, 0.5), (0.5, 0.3, 0.2), (0.6, 0.1, 0.3)], (0.45, 0.2, 0.35), 0.4)
    wanted = [(0.12, 0.33, 0.55), (0.70, 0.18, 0.12), (0.76, 0.06, 0.18)]
    np.testing.assert_allclose(found, wanted, atol=1e-15)


def test_a_certain_state_stays_certain():
    found = moved([(1, 0, 0), (0.5, 0.3, 0.2)], (0.7, 0.2, 0.1), 0.5)
    np.testing.assert_allclose(found, [(1, 0, 0), (0.25, 0.45, 0.30)], atol=1e-15)


def test_an_impossible_state_rises_if_it_lies_above_and_stays_if_it_lies_below():
    # The best state is s0; source f0 has it at 0, below the pooled table.
    found = moved([(0, 0.5, 0.5), (0.9, 0.05, 0.05)], (0.45, 0.275, 0.275), 0.5)
    np.testing.assert_allclose(found, [(0, 0.5, 0.5), (0.95, 0.025, 0.025)], atol=1e-15)


def test_equal_sources_stay_as_they_are():
    rows = np.array([[0.2, 0.3, 0.5]] * 2)
    np.testing.assert_array_equal(moved(rows, rows[0], 0.7), rows)


def test_rounding_is_no_deviation():
    rows = np.array([[0.2, 0.3, 0.5], [0.2 + 3e-17, 0.3, 0.5]])
    np.testing.assert_array_equal(moved(rows, [0.2 - 5e-17, 0.3, 0.5], 1.0), rows)


def test_a_source_without_rows_does_not_steer_the_others_and_gets_the_pooled_table():
    rows, shared = [(0.2, 0.3, 0.5), (0.5, 0.3, 0.2)], (0.35, 0.3, 0.35)
    three = one_node([*rows, (0.0, 1.0, 0.0)])  # it would make the second state the best one
    source = cs.Categorical(three["f"].child, (), [0.6, 0.4, 0.0])
    found = diverge(Network.of([source, three["x"]], source="f"), one_pooled(shared), 0.5)
    np.testing.assert_array_equal(found["x"].table[:2], moved(rows, shared, 0.5))
    np.testing.assert_array_equal(found["x"].table[2], shared)


@given(case=columns(), delta=st.floats(0, 1))
def test_the_rule_is_that_of_the_book(case, delta):
    rows, shared = case
    np.testing.assert_allclose(
        moved(rows, shared, delta), by_the_book(rows, shared, delta), atol=1e-12
    )


@given(case=columns(), delta=st.floats(0, 1))
def test_the_order_of_the_sources_does_not_matter(case, delta):
    rows, shared = case
    np.testing.assert_array_equal(
        moved(rows[::-1], shared, delta), moved(rows, shared, delta)[::-1]
    )


@given(case=columns(), low=st.floats(0, 1), high=st.floats(0, 1))
def test_the_best_state_moves_away_from_the_pooled_table(case, low, high):
    rows, shared = case
    star = np.argmax(np.abs(rows - shared).max(axis=0) >= np.abs(rows - shared).max() - 1e-12)
    near, far = (
        np.abs(moved(rows, shared, delta)[:, star] - shared[star]) for delta in sorted((low, high))
    )
    assert np.all(far >= near - 1e-12)


def test_without_delta_nothing_changes_and_with_all_of_it_the_best_state_is_certain_or_impossible():
    net = three_sources()
    assert_same_tables(diverge(net, pooled(net), 0.0), net)
    table = diverge(net, pooled(net), 1.0)["x0"].table
    assert np.all(np.any(np.isclose(table, 0) | np.isclose(table, 1), axis=-1))


def test_the_target_and_the_source_keep_their_tables():
    net = three_sources()
    found = diverge(net, pooled(net), 0.5, target=TARGET)
    for name in (TARGET, "f"):
        np.testing.assert_array_equal(found[name].table, net[name].table)
    assert not np.array_equal(found["x0"].table, net["x0"].table)
    assert found.record.method == "diverge(delta=0.5)"


def test_neither_the_order_of_pooled_parents_nor_the_place_of_the_source_matters():
    net = three_sources([("x0", "x1")])
    wanted = diverge(net, pooled(net), 0.5)["x1"].table  # (f, c, x0, x1)
    local = net["x1"]
    turned = cs.Categorical(
        local.child,
        (local.given[2], local.given[0], local.given[1]),
        local.table.transpose(2, 0, 1, 3),
    )
    other = Network.of([*(net[n] for n in net.distributions if n != "x1"), turned], source="f")
    np.testing.assert_array_equal(
        diverge(other, pooled(net), 0.5)["x1"].table, wanted.transpose(2, 0, 1, 3)
    )


def test_a_node_that_does_not_depend_on_the_source_stays():
    net = three_sources()
    alone = Network.of(
        [*(net[n] for n in net.distributions if n != "x0"), pooled(net)["x0"]], source="f"
    )
    np.testing.assert_array_equal(
        diverge(alone, pooled(net), 1.0)["x0"].table, pooled(net)["x0"].table
    )


@given(case=columns())
def test_the_realized_divergence_is_the_mean_over_all_pairs(case):
    rows, _ = case
    pairs = [np.abs(a - b).sum() / 2 for a, b in combinations(rows, 2)]
    wanted = np.mean(pairs) if pairs else 0.0
    assert realized_divergence(one_node(rows)) == pytest.approx(wanted, abs=1e-12)


def test_the_realized_divergence_grows_with_delta_and_leaves_out_the_target():
    net = three_sources()
    found = [
        realized_divergence(diverge(net, pooled(net), delta, target=TARGET), target=TARGET)
        for delta in (0, 0.25, 0.5, 0.75, 1)
    ]
    assert np.all(np.diff(found) > 0)
    assert realized_divergence(net, target=TARGET) != realized_divergence(net)


def test_identical_sources_have_no_divergence():
    assert realized_divergence(one_node([[0.1, 0.2, 0.7]] * 3)) == 0


@pytest.mark.parametrize("delta", [-0.1, 1.1, np.nan, "0.5", True])
def test_a_delta_outside_its_range_is_refused(delta):
    net = three_sources()
    with pytest.raises(InputError, match="diverge: delta must be from 0 to 1") as caught:
        diverge(net, pooled(net), delta)
    assert caught.value.culprits["parameter"] == "delta"


def test_networks_that_do_not_fit_are_refused():
    net = three_sources()
    with pytest.raises(InputError, match="the network has no source"):
        diverge(pooled(net), pooled(net), 0.5)
    with pytest.raises(ModelError, match=r"'c' must have the parents none .* got the parents 'f'"):
        diverge(net, net, 0.5)
    with pytest.raises(UnknownNameError, match="unknown node 'class'"):
        diverge(net, pooled(net), 0.5, target="class")
    with pytest.raises(InputError, match="target cannot be the source 'f'"):
        diverge(net, pooled(net), 0.5, target="f")
