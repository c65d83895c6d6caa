from __future__ import annotations

import gc
import itertools
import math
import weakref

import numpy as np
import pytest
from hypothesis import given, strategies as st
from inference_oracles import networks

import consilience as cs
from consilience.errors import ImpossibleEvidenceError, InputError, MemoryLimitError
from consilience.inference.junction import JunctionTree, compiled
from consilience.inference.queries import marginals


def chain(n: int = 3, n_states: int = 3) -> cs.Network:
    names = [f"x{i}" for i in range(n)]
    return cs.random_network(cs.DAG(itertools.pairwise(names)), n_states=n_states, seed=1)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
@given(net=networks(max_nodes=5), data=st.data())
def test_the_unit_of_a_likelihood_does_not_matter(unit, net, data):
    weights = {
        name: data.draw(st.lists(st.integers(1, 9), min_size=v.n_states, max_size=v.n_states))
        for name, v in net.variables.items()
    }
    plain, scaled = (
        {
            name: cs.Likelihood(
                {s: u * x for s, x in zip(net.variables[name].states, one, strict=True)}
            )
            for name, one in weights.items()
        }
        for u in (1.0, unit)
    )
    names = list(net.variables)
    expected = net.query(names, given=plain).values
    np.testing.assert_allclose(net.query(names, given=scaled).values, expected, rtol=1e-9)
    for name, one in net.marginals(given=scaled).items():
        expected = net.query(name, given=plain).values
        np.testing.assert_allclose(one.values, expected, rtol=1e-9, atol=1e-13)
    shift = len(names) * math.log(unit)
    log_plain = cs.log_probability(net, plain)
    assert cs.log_probability(net, scaled) == pytest.approx(log_plain + shift, abs=1e-9)
    assert [one.log_probability for one in cs.most_probable(net, 2, given=scaled)] == pytest.approx(
        [one.log_probability + shift for one in cs.most_probable(net, 2, given=plain)], abs=1e-9
    )


@pytest.mark.parametrize("states", [["0", "2"], ("0", "2"), {"0", "2"}, np.array(["0", "2"])])
def test_any_collection_of_states_is_a_set_of_them(states):
    expected = chain().query("x2", given={"x0": cs.Likelihood({"0": 1, "2": 1})})
    np.testing.assert_allclose(chain().query("x2", given={"x0": states}).values, expected.values)


def test_numbers_stand_for_states():
    np.testing.assert_array_equal(
        chain().query("x2", given={"x0": 1}).values, chain().query("x2", given={"x0": "1"}).values
    )


@pytest.mark.parametrize("kind", [cs.Likelihood, cs.Soft])
@pytest.mark.parametrize("values", [[0.5, 0.5], {"0": "often"}, 0.5])
def test_numbers_that_are_not_given_by_state_are_refused(kind, values):
    with pytest.raises(InputError, match=f"{kind.__name__}: a number for each state is wanted"):
        kind(values)


def test_evidence_that_is_no_mapping_is_refused():
    with pytest.raises(InputError, match=r"given must say something by variable.*got \['x0'\]"):
        chain().query("x1", given=["x0"])


def test_a_tree_does_not_keep_its_network_alive():
    net = chain()
    net.marginals()
    assert compiled(net) is compiled(net)
    kept = weakref.ref(net)
    del net
    gc.collect()
    assert kept() is None


def test_the_cost_of_all_marginals_is_what_the_limit_is_compared_with():
    net = chain(10)
    needed = net.cost().bytes
    assert net.cost(given={"x3": "0"}).bytes == needed
    marginals(net, by=cs.inference.Exact(memory_limit=needed))
    with pytest.raises(MemoryLimitError) as caught:
        JunctionTree.of(net, memory_limit=needed - 1)
    assert caught.value.culprits["needed"] == needed


def test_a_conflict_found_early_ends_the_work():
    # Were the rest multiplied all the same, it would be a table of 2^34 cells.
    names = [f"x{i}" for i in range(60)]
    dag = cs.DAG([(a, b) for i, a in enumerate(names) for b in names[i + 1 : i + 3]])
    net = cs.random_network(dag, seed=1)
    never = cs.Categorical(net.variables["x0"], (), np.array([1.0, 0.0]))
    net = cs.Network({**net.distributions, "x0": never})
    known = {"x0": "1", **{name: cs.Likelihood({"0": 1, "1": 2}) for name in names[1:]}}
    assert cs.log_probability(net, known) == -math.inf
    with pytest.raises(ImpossibleEvidenceError, match="x0=1"):
        net.mpe(given=known)
