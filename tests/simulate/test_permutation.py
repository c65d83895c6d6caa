from __future__ import annotations

import numpy as np
import pytest
from simulated_sources import SOURCES, TARGET, assert_same_tables, pooled, three_sources

import consilience as cs
from consilience.data.variable import Schema
from consilience.errors import DataError, InputError
from consilience.network.network import Network
from consilience.simulate.divergence import realized_divergence
from consilience.simulate.hardness import difficulty
from consilience.simulate.permutation import permute_states

GRAPHS = {"naive Bayes": (), "tree": (("x0", "x1"), ("x1", "x2"), ("x1", "x3"), ("x0", "x4"))}
DELTAS = (0.0, 0.4, 1.0)


@pytest.mark.parametrize("arcs", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize("delta", DELTAS)
def test_relabelled_rows_have_identical_posteriors(arcs, delta):
    net = three_sources(arcs)
    rows = net.sample(2_000, seed=1)
    changed = permute_states(net, delta, target=TARGET, seed=2)
    again = changed.network.posteriors(changed.relabel(rows), TARGET)
    np.testing.assert_array_equal(again, net.posteriors(rows, TARGET))


def test_relabelled_rows_have_the_same_probability_with_gaps_too():
    net = three_sources(GRAPHS["tree"])
    rows = net.sample(500, seed=1)
    gaps = np.random.default_rng(3).random(500) < 0.5
    columns = dict(rows.columns) | {"x1": np.where(gaps, -1, rows.columns["x1"]).astype(np.int8)}
    rows = cs.Table(rows.schema, columns, rows.source_codes)
    changed = permute_states(net, 1.0, target=TARGET, seed=2)
    relabelled = changed.relabel(rows)
    np.testing.assert_array_equal(relabelled.column("x1") < 0, gaps)
    np.testing.assert_allclose(
        changed.network.log_likelihood(relabelled), net.log_likelihood(rows), atol=1e-12
    )


def test_the_best_accuracy_and_the_information_are_constant_in_delta():
    net = three_sources()
    found = [
        difficulty(
            permute_states(net, delta, target=TARGET, seed=2).network, TARGET, seed=delta_seed
        )
        for delta_seed, delta in enumerate(np.linspace(0, 1, 5))
    ]
    # Independent rows each time: the largest of 15 deviations stays within 4 standard errors.
    for each in found[1:]:
        bound = 4 * np.hypot(each.accuracy_error, found[0].accuracy_error)
        assert np.all(np.abs(each.accuracy - found[0].accuracy) < bound)
        bound = 4 * np.hypot(each.information_error, found[0].information_error)
        assert np.all(np.abs(each.information - found[0].information) < bound)


def test_the_sources_have_less_and_less_in_common():
    net = three_sources(n_features=10)
    alike = Network.of([net["f"], *pooled(net).distributions.values()], source="f")
    found = [
        realized_divergence(
            permute_states(alike, delta, target=TARGET, seed=2).network, target=TARGET
        )
        for delta in np.linspace(0, 1, 11)
    ]
    assert found[0] == 0
    assert np.all(np.diff(found) > 0)


def test_relabelled_features_are_nested_in_delta():
    net = three_sources(n_features=10)
    last = {}
    for delta in np.linspace(0, 1, 11):
        shifts = permute_states(net, delta, target=TARGET, seed=2).shifts
        assert len(shifts) == round(10 * delta)
        assert all(np.array_equal(shifts[name], shift) for name, shift in last.items())
        last = shifts


def test_the_first_source_and_the_target_keep_their_tables():
    net = three_sources()
    changed = permute_states(net, 1.0, target=TARGET, seed=2)
    for name in net.distributions:
        if name != "f":
            np.testing.assert_array_equal(changed.network[name].table[0], net[name].table[0])
    np.testing.assert_array_equal(changed.network[TARGET].table, net[TARGET].table)
    for shift in changed.shifts.values():
        assert shift[0] == 0
        assert np.all(shift[1:] % 3 != 0)


def test_states_of_two_are_swapped():
    net = three_sources(n_states=2)
    changed = permute_states(net, 1.0, target=TARGET, seed=2)
    np.testing.assert_array_equal(changed.network["x0"].table[1], net["x0"].table[1][:, ::-1])


def test_sources_that_were_alike_get_the_source_as_first_parent_where_they_differ():
    net = three_sources(GRAPHS["tree"])
    alike = Network.of([net["f"], *pooled(net).distributions.values()], source="f")
    changed = permute_states(alike, 0.2, target=TARGET, seed=2)
    (feature,) = changed.shifts
    touched = {feature, *alike.dag.children(feature)}
    for name in alike.distributions:
        has_source = changed.network[name].parents[:1] == ("f",)
        assert has_source == (name in touched)
    rows = alike.sample(500, seed=1)
    np.testing.assert_array_equal(
        changed.network.posteriors(changed.relabel(rows), TARGET), alike.posteriors(rows, TARGET)
    )


def test_features_of_one_state_are_left_alone():
    net = three_sources(n_states=1)
    assert_same_tables(permute_states(net, 1.0, target=TARGET, seed=1).network, net)


def test_states_of_the_rows_are_matched_by_name():
    net = three_sources()
    changed = permute_states(net, 1.0, target=TARGET, seed=2)
    rows = net.sample(50, seed=1)
    turned = cs.Variable("x0", ("2", "0", "1"))
    columns = dict(rows.columns) | {"x0": np.array([1, 2, 0], np.int8)[rows.columns["x0"]]}
    schema = Schema(dict(rows.variables) | {"x0": turned}, rows.schema.source)
    other = changed.relabel(cs.Table(schema, columns, rows.source_codes))
    np.testing.assert_array_equal(other.column("x0"), changed.relabel(rows).column("x0"))


def test_rows_without_the_source_are_refused():
    changed = permute_states(three_sources(), 1.0, seed=2)
    with pytest.raises(DataError, match="must have the source 'f', got None"):
        changed.relabel(cs.read({"x0": ["0", "1"]}))
    rows = cs.read({"x0": ["0", "1"], "f": ["north", "east"]}, source="f")
    with pytest.raises(DataError, match=r"'east' is not known\."):
        changed.relabel(rows)


def test_wrong_arguments_are_refused():
    net = three_sources()
    with pytest.raises(InputError, match="permute_states: delta must be from 0 to 1, got 2"):
        permute_states(net, 2)
    with pytest.raises(InputError, match="permute_states: the network has no source"):
        permute_states(pooled(net), 0.5)
    assert net.variables["f"].states == SOURCES
