"""Rows of evidence for networks in which the source is a node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from inference_oracles import full_joint, margin

import consilience as cs
from consilience.errors import DataError
from consilience.inference.expectation import expected_counts

STATES = {"a": ("0", "1", "2"), "b": ("0", "1"), "c": ("0", "1", "2")}
SOURCES = ("north", "south", "east")
GAP = None


def network(model: str, seed: int = 1) -> cs.Network:
    """A random network whose source is ``place``, with the sources' own names."""
    n_states = {name: len(states) for name, states in STATES.items()} | {"place": len(SOURCES)}
    drawn = cs.random_network(cs.DAG.parse(model), n_states=n_states, seed=seed)
    states = STATES | {"place": SOURCES}
    variables = {name: cs.Variable(name, states[name]) for name in drawn.variables}
    local = [
        cs.Categorical(variables[name], tuple(variables[p] for p in one.parents), one.table)
        for name, one in drawn.distributions.items()
    ]
    return cs.Network.of(local, source="place")


def hierarchical() -> cs.Network:
    """A network of two sources and the reserved one."""
    north = {"a": list("0012"), "b": list("0110")}
    south = {"a": list("2210"), "b": list("1111")}
    states = {"a": STATES["a"], "b": STATES["b"]}
    table = cs.read({"north": north, "south": south}, source="place", states=states)
    return cs.fit(cs.DAG([("a", "b")]), table, cs.HDMCS())


MODELS = (
    "[place][a][b|a][c|a:b]",  # pooled
    "[place][a|place][b|place:a][c|place:a:b]",  # every family by source
    "[place][a][b|place:a][c|b]",  # some of each
)
rows = st.lists(
    st.tuples(
        st.sampled_from((GAP, *SOURCES)),
        *(st.sampled_from((GAP, *states)) for states in STATES.values()),
    ),
    min_size=1,
    max_size=8,
)


def columns_of(rows: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
    return dict(zip(("place", *STATES), map(list, zip(*rows, strict=True)), strict=True))


def check(net: cs.Network, table: cs.Table, known: list[dict[str, Any]]) -> None:
    """Every batch answer about the rows is that of the full joint given what is known."""
    joints = [full_joint(net, one) for one in known]
    log_likelihood = [np.log(p.sum()) for p in joints]
    np.testing.assert_allclose(net.log_likelihood(table), log_likelihood, atol=1e-12)
    for target in net.variables:
        found = net.posteriors(table, target)
        for row, one in enumerate(known):
            joint = full_joint(net, {name: s for name, s in one.items() if name != target})
            expected = margin(net, joint / joint.sum(), [target])
            np.testing.assert_allclose(found[row], expected, atol=1e-12)
    counts = expected_counts(net, table)
    for name, local in net.distributions.items():
        family = [*local.parents, name]
        expected = sum(margin(net, p / p.sum(), family) for p in joints)
        np.testing.assert_allclose(counts[name], expected, atol=1e-10)


@pytest.mark.parametrize("model", MODELS)
@given(rows=rows, seed=st.integers(0, 99))
@settings(max_examples=12)
def test_rows_whose_source_is_known_or_missing(model, rows, seed):
    net = network(model, seed)
    table = cs.read(columns_of(rows), schema=net.variables)  # the source as a column like any other
    known = [
        {n: s for n, s in zip(("place", *STATES), row, strict=True) if s is not GAP} for row in rows
    ]
    check(net, table, known)


@pytest.mark.parametrize("model", MODELS)
@given(rows=rows, seed=st.integers(0, 99))
@settings(max_examples=12)
def test_rows_of_a_table_that_has_sources(model, rows, seed):
    net = network(model, seed)
    rows = [(place or "east", *values) for place, *values in rows]
    table = cs.read(columns_of(rows), source="place", schema=net.variables)
    assert table.source == "place"
    known = [
        {n: s for n, s in zip(("place", *STATES), row, strict=True) if s is not GAP} for row in rows
    ]
    check(net, table, known)


@pytest.mark.parametrize("model", MODELS)
@given(rows=rows, seed=st.integers(0, 99))
@settings(max_examples=12)
def test_the_source_is_summed_out_of_a_table_without_one(model, rows, seed):
    net = network(model, seed)
    columns = columns_of(rows)
    del columns["place"]
    table = cs.read(columns, states=STATES)
    assert "place" not in table.schema
    known = [
        {n: s for n, s in zip(STATES, values, strict=True) if s is not GAP} for _, *values in rows
    ]
    check(net, table, known)


def test_sources_are_matched_by_name_whatever_their_order():
    net = network(MODELS[1])
    columns = {"a": ["0", "1"], "b": ["1", "1"]}
    turned = cs.read({"south": columns, "north": columns}, source="place", states={"a": ["1", "0"]})
    assert turned.sources == ("south", "north")
    found = net.posteriors(turned, "c")
    for row, (place, a) in enumerate([("south", 0), ("south", 1), ("north", 0), ("north", 1)]):
        expected = net.query("c", given={"place": place, "a": a, "b": 1}).values
        np.testing.assert_allclose(found[row], expected, atol=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_a_source_that_the_network_does_not_know_is_summed_out(model):
    net = network(model)
    rows = {"a": ["0", "2"], "b": ["0", "1"], "c": ["0", None]}
    table = cs.read({"mars": rows, "north": rows}, source="place", states=STATES)
    known = [
        {n: s for n, s in zip("abc", one, strict=True) if s} for one in ("000", ("2", "1", ""))
    ]
    check(net, table, known + [one | {"place": "north"} for one in known])


@pytest.mark.parametrize("as_column", [False, True])
def test_a_source_that_a_hierarchical_network_does_not_know_is_its_new_source(as_column):
    net = hierarchical()
    columns = {"place": ["mars", "north", "venus"], "a": ["0", "1", None], "b": ["1", "1", "0"]}
    states = {"a": STATES["a"], "b": STATES["b"]}
    if as_column:
        table = cs.read(columns | {"place": ["mars", "north", "mars"]}, states=states)
    else:
        table = cs.read(columns, source="place", states=states)
    known = [
        {"place": "new_source", "a": "0", "b": "1"},
        {"place": "north", "a": "1", "b": "1"},
        {"place": "new_source", "b": "0"},
    ]
    check(net, table, known)


def test_a_column_of_sources_may_have_gaps_beside_sources_never_seen():
    net = network(MODELS[1])
    columns = {"place": ["mars", None, "south"], "a": ["0"] * 3, "b": ["1"] * 3, "c": [None] * 3}
    table = cs.read(columns, states=STATES)
    found = net.posteriors(table, "b")
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_allclose(found[2], net.query("b", given={"place": "south", "a": "0"}).values)


def test_an_unknown_state_of_any_other_variable_is_refused():
    rows = {"a": ["0", "9"], "b": ["0", "0"], "c": ["0", "0"]}
    table = cs.read({"mars": rows}, source="place")
    for net in (network(MODELS[1]), cs.Network(network("[a][b|a][c|a:b][place]").distributions)):
        with pytest.raises(DataError, match="is not known"):
            net.log_likelihood(table)
        with pytest.raises(DataError, match="is not known"):
            net.posteriors(table, "c")


def test_the_reserved_source_is_named_in_one_place():
    modules = Path(cs.__file__).parent.rglob("*.py")
    found = [one.name for one in modules if "NEW_SOURCE = " in one.read_text(encoding="utf-8")]
    assert found == ["variable.py"]


def test_a_source_of_another_name_is_not_the_source_of_the_network():
    net = network(MODELS[1])
    columns = {"a": ["0"], "b": ["1"]}
    other = cs.read({"mars": columns}, source="planet")
    np.testing.assert_array_equal(
        net.posteriors(other, "c"), net.posteriors(cs.read(columns, schema=net.variables), "c")
    )


def test_expected_counts_of_complete_rows_by_source_are_counts():
    net = network(MODELS[1])
    table = net.sample(500, seed=3)
    counted = cs.count(table, [cs.Family("c", ("a", "b"))], by_source=True)
    np.testing.assert_allclose(
        expected_counts(net, table)["c"].ravel(), counted[0].table.ravel(), atol=1e-8
    )


def test_rows_weigh_in_expected_counts():
    net = network(MODELS[2])
    columns = {"place": ["north", None], "b": ["0", "1"], "n": [3, 1]}
    weighted = cs.read(columns, schema=net.variables, weight="n")
    long = cs.read({"place": ["north"] * 3 + [None], "b": list("0001")}, schema=net.variables)
    for name, counts in expected_counts(net, weighted).items():
        np.testing.assert_allclose(counts, expected_counts(net, long)[name], atol=1e-12)
