from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from influence_truths import GROUPS, influence_truth, rows_of, with_gaps

import consilience as cs
from consilience.errors import ImpossibleEvidenceError, InputError, MemoryLimitError
from consilience.latent.joint import each_posterior, expected_joint, joint_prior
from consilience.latent.soft_labels import hidden_posteriors, observed_with_hidden

ARCS = [("A", "B"), ("A", "C"), ("B", "C")]


@given(sizes=st.lists(st.integers(1, 3), min_size=1, max_size=5), seed=st.integers(0, 10**6))
def test_products_of_matrices_equal_enumeration(sizes, seed):
    rng = np.random.default_rng(seed)
    prior, weights = rng.dirichlet(np.ones(int(np.prod(sizes)))).reshape(sizes), rng.random(4)
    evidence = [rng.random((4, size)) + 0.01 for size in sizes]
    counts, each = np.zeros(sizes), [np.zeros((4, size)) for size in sizes]
    for row in range(4):
        joint = prior.copy()
        for states in product(*map(range, sizes)):
            joint[states] *= np.prod([one[row, k] for one, k in zip(evidence, states, strict=True)])
        joint /= joint.sum()
        counts += weights[row] * joint
        for i in range(len(sizes)):
            each[i][row] = joint.sum(axis=tuple(j for j in range(len(sizes)) if j != i))
    np.testing.assert_allclose(expected_joint(prior, evidence, weights), counts, atol=1e-12)
    for ours, theirs in zip(each_posterior(prior, evidence, 4), each, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("most", [1, 1000])
def test_posteriors_equal_those_of_ordinary_inference(most, monkeypatch):
    monkeypatch.setattr("consilience.latent.soft_labels.MOST_JOINT_STATES", most)
    net = influence_truth(ARCS)
    table = with_gaps(rows_of(net, 300, 1)[0], 0.3, 2)
    wide = observed_with_hidden(net, table, GROUPS)
    for name, ours in hidden_posteriors(net, table, GROUPS).items():
        np.testing.assert_allclose(ours, net.posteriors(wide, name), atol=1e-10)


def test_a_completion_of_depth_one_has_the_expected_counts_of_every_family():
    net = influence_truth(ARCS)
    table = with_gaps(rows_of(net, 300, 1)[0], 0.3, 2)
    [(note, completed)] = cs.latent.SoftCompletion((1,)).complete(net, table, GROUPS)
    expected = cs.expected_counts(net, observed_with_hidden(net, table, GROUPS))
    for name in GROUPS:
        family = cs.Family(name, net.dag.parents(name))
        [counts] = cs.count(completed, family)
        np.testing.assert_allclose(counts.values.reshape(expected[name].shape), expected[name])
    assert note == "depth 1"


def test_deeper_completions_show_more_dependence_than_the_models_alone():
    net = influence_truth([("A", "B")], strength=0.8)
    alone = influence_truth([], strength=0.8)
    table = rows_of(net, 1000, 3)[0]
    arc = cs.DAG([("A", "B")], nodes=list(GROUPS))
    none = cs.DAG(nodes=list(GROUPS))
    gains = [
        cs.score(arc, completed, cs.BIC()) - cs.score(none, completed, cs.BIC())
        for _, completed in cs.latent.SoftCompletion((1, 2, 5)).complete(alone, table, GROUPS)
    ]
    assert gains == sorted(gains)
    assert gains[0] < 0.6 * gains[-1]


def test_hard_completion_labels_each_row_with_its_most_probable_state():
    net = influence_truth(ARCS)
    table, _ = rows_of(net, 200, 1)
    [(_, labels)] = cs.latent.HardCompletion().complete(net, table, GROUPS)
    wide = observed_with_hidden(net, table, GROUPS)
    for name in GROUPS:
        assert labels.column(name).tolist() == net.posteriors(wide, name).argmax(axis=1).tolist()


@pytest.mark.parametrize("depths", [(), (3, 1), (2, 2), (0,), (1.5,)], ids=str)
def test_depths_must_increase(depths):
    with pytest.raises(InputError, match="depths"):
        cs.latent.SoftCompletion(depths)


def test_an_impossible_row_is_named():
    with pytest.raises(ImpossibleEvidenceError, match="row 2"):
        expected_joint(np.array([1.0, 0.0]), [np.array([[0.5, 0.5], [0.0, 1.0]])], np.ones(2))


def test_too_many_joint_states_are_refused():
    with pytest.raises(MemoryLimitError, match="3 hidden nodes"):
        joint_prior(influence_truth(ARCS), list(GROUPS), 100)
