from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from inference_oracles import full_joint, networks

import consilience as cs
from consilience.errors import MemoryLimitError, ModelError
from consilience.inference.queries import joint


@given(net=networks(max_nodes=5), data=st.data())
def test_elimination_equals_the_full_joint(net, data):
    names = data.draw(st.lists(st.sampled_from(list(net.variables)), unique=True))
    everything = full_joint(net)
    axes = list(net.variables)
    others = tuple(i for i, name in enumerate(axes) if name not in names)
    kept = [name for name in axes if name in names]
    expected = everything.sum(axis=others).transpose([kept.index(name) for name in names])
    np.testing.assert_allclose(joint(net, names), expected, atol=1e-14)


@given(net=networks(max_nodes=5))
def test_entropy_equals_that_of_the_full_joint(net):
    p = full_joint(net)
    p = p[p > 0]
    assert cs.entropy(net) == pytest.approx(-(p * np.log(p)).sum(), abs=1e-12)


@given(net=networks(max_nodes=4), seed=st.integers(0, 1000))
def test_divergence_equals_that_of_the_full_joints(net, seed):
    names = list(net.variables)
    n_states = {name: variable.n_states for name, variable in net.variables.items()}
    other = cs.random_network(
        cs.simulate.uniform_dag(names, seed=seed), n_states=n_states, seed=seed
    )
    p, q = full_joint(net), full_joint(other)
    expected = (p[p > 0] * np.log(p[p > 0] / q[p > 0])).sum()
    assert cs.kl_divergence(net, other) == pytest.approx(expected, abs=1e-10)
    assert cs.kl_divergence(net, net) == pytest.approx(0, abs=1e-12)


def test_divergence_is_infinite_where_the_second_excludes_what_the_first_allows():
    coin = cs.Variable("coin", ("heads", "tails"))
    fair = cs.Network.of([cs.Categorical(coin, (), np.array([0.5, 0.5]))])
    stuck = cs.Network.of([cs.Categorical(coin, (), np.array([1.0, 0.0]))])
    assert cs.kl_divergence(fair, stuck) == math.inf
    assert cs.kl_divergence(stuck, fair) == pytest.approx(math.log(2))


def test_the_order_of_states_does_not_matter():
    one = cs.Variable("x", ("a", "b"))
    two = cs.Variable("x", ("b", "a"))
    p = cs.Network.of([cs.Categorical(one, (), np.array([0.3, 0.7]))])
    q = cs.Network.of([cs.Categorical(two, (), np.array([0.7, 0.3]))])
    assert cs.kl_divergence(p, q) == pytest.approx(0, abs=1e-15)


def test_networks_over_other_variables_or_states_are_refused():
    x, y = cs.Variable("x", ("a", "b")), cs.Variable("y", ("a", "b"))
    p, q = (cs.Network.of([cs.Categorical(v, (), np.array([0.3, 0.7]))]) for v in (x, y))
    with pytest.raises(ModelError, match="same variables"):
        cs.kl_divergence(p, q)
    z = cs.Network.of([cs.Categorical(cs.Variable("x", ("a", "c")), (), np.array([0.3, 0.7]))])
    with pytest.raises(ModelError, match="same states"):
        cs.kl_divergence(p, z)


def test_an_elimination_beyond_the_limit_is_refused():
    names = [f"x{i}" for i in range(12)]
    dag = cs.DAG([(a, "y") for a in names])
    net = cs.random_network(dag, seed=0)
    with pytest.raises(MemoryLimitError, match="exact inference would need"):
        joint(net, ["y"], by=cs.inference.Exact(memory_limit=1000))
