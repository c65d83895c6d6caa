from __future__ import annotations

import numpy as np
import pytest
from causal_catalogue import graph, network
from hypothesis import given, strategies as st

import consilience as cs
from consilience.causal.response import bounds_of
from consilience.errors import ModelError

INSTRUMENT = graph("zx xy", "xy")


def trial(without, with_it):
    """A network of an instrument z with P(x, y | z) in the order 00, 01, 10, 11."""
    z, x, y = (cs.Variable(name, ("0", "1")) for name in "zxy")
    joint = np.reshape([without, with_it], (2, 2, 2))
    of_x = joint.sum(axis=2)
    of_y = np.full((2, 2, 2), 0.5)
    np.divide(joint, of_x[..., None], out=of_y, where=of_x[..., None] > 0)
    return cs.Network.of(
        [
            cs.Categorical(z, (), [0.5, 0.5]),
            cs.Categorical(x, (z,), of_x),
            cs.Categorical(y, (z, x), of_y),
        ]
    )


def contrast(admg, net):
    found = cs.causal.identify(admg, "y", do="x")
    ends = bounds_of(found, net, {"x": "1"}, against={"x": "0"}, memory_limit=2**31)
    assert ends.is_sharp
    return ends["1"]


def test_bounds_of_the_bow():
    found = cs.causal.identify(graph("xy", "xy"), "y", do="x")
    net = network(found.graph)
    assert found.bounds(net, {"x": "1"})["1"] == pytest.approx((0.187037037037, 0.553703703704))
    assert found.bounds(net, {"x": "0"})["1"] == pytest.approx((0.066666666667, 0.7))


@pytest.mark.parametrize(
    ("net", "ends"),
    [
        (trial([0.0064, 0.9936, 0, 0], [0.0028, 0.1972, 0.001, 0.799]), (-0.1946, 0.0054)),
        (trial([0.919, 0.081, 0, 0], [0.315, 0.073, 0.139, 0.473]), (0.392, 0.780)),
        (network(INSTRUMENT), (-0.459876543210, 0.336419753086)),
    ],
    ids=["vitamin A", "cholestyramine", "catalogue"],
)
def test_bounds_of_a_contrast_with_an_instrument(net, ends):
    assert contrast(INSTRUMENT, net) == pytest.approx(ends, abs=1e-10)


def test_bounds_of_what_is_identified_are_a_point():
    found = cs.causal.identify(graph("xm my", "xy"), "y", do="x")
    assert found.bounds(network(found.graph), {"x": "1"})["1"] == pytest.approx(
        (0.344444444444,) * 2
    )


def test_data_that_contradict_the_graph_are_an_answer_of_their_own():
    impossible = trial([0, 1, 0, 0], [1, 0, 0, 0])  # y changes with z although x does not
    found = cs.causal.identify(INSTRUMENT, "y", do="x").bounds(impossible, {"x": "0"})
    assert not found.is_consistent
    with pytest.raises(ModelError, match="the data contradict this graph"):
        found["1"]


GRAPHS = ["xy;xy", "zx xy;xy", "xm my;mx", "xm my;xy my", "az zb by ay;yz by", "xm my;xm xy my"]


@given(seed=st.integers(0, 2**32), which=st.sampled_from(GRAPHS))
def test_the_truth_lies_in_the_bounds(seed, which):
    rng = np.random.default_rng(seed)
    admg = graph(*which.split(";"))
    net = network(admg, lambda shape: rng.dirichlet([1, 1], size=shape))
    do = {"a": "1", "b": "0"} if "a" in admg.nodes else {"x": "1"}
    low, high = cs.causal.identify(admg, "y", do=list(do)).bounds(net, do)["1"]
    assert low - 1e-9 <= net.do(do).query("y")["1"] <= high + 1e-9


def test_bounds_under_a_condition_hold():
    rng = np.random.default_rng(3)
    admg = graph("xy", "mx my")
    found = cs.causal.identify(admg, "y", do="x", given="m")
    for _ in range(10):
        net = network(admg, lambda shape: rng.dirichlet([1, 1], size=shape))
        low, high = found.bounds(net, {"x": "1"}, {"m": "1"})["1"]
        truth = net.do({"x": "1"}).query("y", given={"m": "1"})["1"]
        assert low - 1e-9 <= truth <= high + 1e-9
        assert high - low < 1
