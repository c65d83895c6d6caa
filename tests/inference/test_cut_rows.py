"""Rows that cut a tree which is too large: as by the whole one where there is enough memory."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.errors import MemoryLimitError
from consilience.inference import case_sets
from consilience.inference.cases import Cases
from consilience.inference.completion import completed, completions
from consilience.inference.cut_cases import CutCases

SMALL = cs.DAG.parse("[a][b|a][c|a:b][d|b:c][e|c:d][f|d:e]")
DISCRETE = cs.random_network(SMALL, n_states=3, seed=1)


def mixed() -> cs.Network:
    """The same with two continuous nodes, one of them often missing."""
    rng = np.random.default_rng(3)
    x, y = cs.Variable("x"), cs.Variable("y")
    c, f = (DISCRETE.variables[name] for name in "cf")
    return cs.Network.of(
        [
            *DISCRETE.distributions.values(),
            cs.LinearGaussian(
                x, (c, f), rng.normal(size=(3, 3)), np.zeros((3, 3, 0)), np.ones((3, 3))
            ),
            cs.LinearGaussian(y, (f, x), rng.normal(size=3), rng.normal(size=(3, 1)), np.ones(3)),
        ]
    )


def rows_of(net: cs.Network, n_rows: int = 40) -> cs.Table:
    return cs.simulate.with_gaps(net.sample(n_rows, seed=1), cs.simulate.MCAR(0.4), seed=2)


NETS = {"discrete": DISCRETE, "mixed": mixed()}
every_net = pytest.mark.parametrize("net", NETS.values(), ids=NETS)


@pytest.fixture(autouse=True)
def _only_trees(monkeypatch):
    monkeypatch.setattr(case_sets, "MOST_JOINT_STATES", 1)


@pytest.fixture
def scarce(monkeypatch):
    """No tree of a whole network is allowed."""

    def refused(*_arguments, **_choices):
        raise MemoryLimitError("the tree of the network is too large.")

    monkeypatch.setattr("consilience.inference.large_cases.JunctionTree.of", refused)
    monkeypatch.setattr("consilience.inference.completion.compiled", refused)


@every_net
@pytest.mark.parametrize("keeps_barren", [False, True])
def test_expected_statistics_are_those_of_the_whole_tree(net, keeps_barren, request):
    table = rows_of(net)
    whole = Cases.of(net, table, keeps_barren=keeps_barren)
    request.getfixturevalue("scarce")
    cut = Cases.of(net, table, keeps_barren=keeps_barren)
    assert isinstance(cut.large, CutCases)
    one, other = whole.expected(net), cut.expected(net)
    np.testing.assert_allclose(other.counts, one.counts, atol=1e-9)
    assert other.log_likelihood == pytest.approx(one.log_likelihood, rel=1e-12)
    for name, moments in one.moments.items():
        np.testing.assert_allclose(other.moments[name].mean, moments.mean, atol=1e-9)
        np.testing.assert_allclose(other.moments[name].weight, moments.weight, atol=1e-9)


def test_tables_need_not_be_normalised(request):
    table = rows_of(DISCRETE)
    whole = Cases.of(DISCRETE, table)
    theta = whole.layout.flatten({n: 0.7 * one.table for n, one in DISCRETE.tables.items()})
    expected = whole.expect(theta)
    request.getfixturevalue("scarce")
    found = Cases.of(DISCRETE, table).expect(theta)
    np.testing.assert_allclose(found.counts, expected.counts, atol=1e-9)
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-12)


@every_net
def test_draws_have_the_expected_statistics(net, scarce):
    cut = Cases.of(net, rows_of(net, 12))
    theta = cut.layout.flatten({name: local.table for name, local in net.tables.items()})
    rng = np.random.default_rng(1)
    drawn = np.array([cut.draw(theta, rng, net.regressions).counts for _ in range(400)])
    expected = cut.expected(net).counts
    error = np.sqrt((drawn.var(axis=0) + 0.01) / 400)  # what is rare may never be drawn
    assert (np.abs(drawn.mean(axis=0) - expected) / error).max() < 5


@every_net
def test_completions_are_those_of_the_whole_tree(net, request):
    table = rows_of(net)
    best, every = completed(net, table), completions(net, table, 1e-9)
    request.getfixturevalue("scarce")
    again, others = completed(net, table), completions(net, table, 1e-9)
    for name, column in best.items():
        np.testing.assert_allclose(again[name], column, atol=1e-9)
    assert listed(others) == pytest.approx(listed(every), abs=1e-9)


def listed(found):
    codes = np.stack(list(found.codes.values()), axis=1)
    rows = zip(found.rows.tolist(), map(tuple, codes.tolist()), found.shares, strict=True)
    return {(row, code): share for row, code, share in rows}


def test_rows_of_a_large_grid_are_completed_and_counted():
    from test_guards import grid, rows_with_gaps

    net = grid(40)
    _, table = rows_with_gaps(net, 1, 0.7)
    found = cs.expected_counts(net, table)
    assert sum(one.sum() for one in found.values()) == pytest.approx(1600)
    assert sum(cs.impute(net, table).table.missing["all"].values()) == 0
