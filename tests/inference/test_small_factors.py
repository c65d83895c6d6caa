"""Factors of a clique that are tiny, in turn or together, keep their digits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import consilience as cs

TINY = st.sampled_from([0.5, 1e-5, 1e-60, 1e-130, 1e-250, 1e-300])
RATIO = st.sampled_from([1.0, 0.5, 1e-10])
Chances = st.lists(
    st.tuples(TINY, RATIO, st.booleans()).map(
        lambda one: (one[0], one[0] * one[1])[:: 1 if one[2] else -1]
    ),
    min_size=1,
    max_size=20,
)
"""Any smallness together; that of one state beside the other stays within the floats."""


def star(chances):
    """A root and a child for each pair: the probability of its first state by state of the root."""
    root = cs.Variable("root", ("a", "b"))
    family = [cs.Categorical(root, (), np.array([0.25, 0.75]))]
    for k, pair in enumerate(chances):
        table = np.array([[p, 1.0 - p] for p in pair])
        family.append(cs.Categorical(cs.Variable(f"x{k}", ("yes", "no")), (root,), table))
    return cs.Network.of(family)


def log_joint(chances):
    """Log probability of each state of the root and of all children in their first state."""
    return np.log([0.25, 0.75]) + np.log(np.array(chances)).sum(axis=0)


@given(chances=Chances)
def test_evidence_of_any_smallness_has_its_logarithm(chances):
    net = star(chances)
    log = log_joint(chances)
    total = np.logaddexp(*log)
    columns = {f"x{k}": ["yes", None] for k in range(len(chances))}
    rows = cs.read(columns, schema=net.variables, partial=True)
    found = net.log_likelihood(rows)
    assert found == pytest.approx([total, 0.0], rel=1e-12, abs=1e-12)
    posterior = net.posteriors(rows, "root")[0]
    assert posterior == pytest.approx(np.exp(log - total), rel=1e-9, abs=1e-15)


@given(chances=Chances)
def test_marginals_under_such_evidence_are_those_of_the_logarithms(chances):
    net = star([*chances, (0.2, 0.6)])
    log = log_joint(chances)
    root = np.exp(log - np.logaddexp(*log))
    found = net.marginals(given={f"x{k}": "yes" for k in range(len(chances))})
    assert found["root"].values == pytest.approx(root, rel=1e-9, abs=1e-15)
    last = found[f"x{len(chances)}"]["yes"]
    assert last == pytest.approx(root @ [0.2, 0.6], rel=1e-9)
