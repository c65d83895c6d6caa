"""Junction trees: where cliques hang, and that it changes no answer."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
from hypothesis import given, strategies as st
from inference_oracles import networks

from consilience.inference import triangulation
from consilience.inference.evidence import Evidence
from consilience.inference.junction import JunctionTree
from consilience.inference.triangulation import Held, Triangulation, interaction, triangulate


def assert_is_a_tree(shape: Triangulation) -> None:
    eliminated = []
    for c, (clique, n_shared) in enumerate(zip(shape.cliques, shape.n_shared, strict=True)):
        parent = shape.parent[c]
        assert parent > c or (parent == -1 and n_shared == 0)
        assert set(clique[:n_shared]) <= set(shape.cliques[parent] if parent >= 0 else ())
        eliminated += clique[n_shared:]
    assert sorted(eliminated) == sorted(shape.order)


@given(net=networks(max_nodes=6))
def test_hanging_cliques_under_smaller_parents_changes_no_marginal(net):
    with patch.object(triangulation, "LARGE", 0.0):
        tree = JunctionTree.of(net)
    assert_is_a_tree(tree.shape)
    with tree.propagated(Evidence({}, {}, {})) as beliefs:
        found = beliefs.marginals()
    for name in net.variables:
        np.testing.assert_allclose(found[name], net.query(name).values, atol=1e-12)


@given(data=st.data())
def test_every_clique_holds_what_those_below_it_share(data):
    names = [f"v{i}" for i in range(9)]
    scopes = data.draw(st.lists(st.lists(st.sampled_from(names), min_size=1, max_size=4)))
    n_states = {name: data.draw(st.integers(1, 4)) for name in names}
    with patch.object(triangulation, "LARGE", 0.0):
        assert_is_a_tree(triangulate(interaction(scopes, names), n_states, held=Held()))


def test_a_message_of_few_states_does_not_go_to_the_largest_clique():
    large, middle = [f"a{i}" for i in range(11)], ["a9", "a10", "m"]
    scopes = [large, middle, ["a10", "x"], ["a10", "y"]]
    n_states = dict.fromkeys([*large, "m", "x", "y"], 3)
    shape = triangulate(interaction(scopes), n_states, last=large, held=Held())
    sizes = {frozenset(clique): c for c, clique in enumerate(shape.cliques)}
    above = [shape.parent[sizes[frozenset(scope)]] for scope in (["a10", "x"], ["a10", "y"])]
    assert sizes[frozenset(large)] not in above
    assert_is_a_tree(shape)
