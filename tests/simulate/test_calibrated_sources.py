from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from simulated_sources import SOURCES, TARGET, assert_same_tables, pooled, three_sources

import consilience as cs
from consilience.distributions.categorical import Categorical
from consilience.errors import InputError, UnknownNameError
from consilience.network.network import Network
from consilience.simulate.divergence import diverge, realized_divergence
from consilience.simulate.hardness import difficulty, of_source
from consilience.simulate.smooth_divergence import diverge_calibrated

DELTAS = (0.25, 0.5, 0.75, 1.0)


def exact(net, target=TARGET):
    """Information and accuracy of each source by enumeration of all rows of all features."""
    answer = []
    for f in range(len(SOURCES)):
        one = of_source(net, f)
        features = [name for name in one.distributions if name != target]
        states = [range(one.variables[name].n_states) for name in features]
        joint = np.array(
            [
                [
                    probability(one, dict(zip(features, codes, strict=True)) | {target: c})
                    for c in range(one.variables[target].n_states)
                ]
                for codes in product(*states)
            ]
        )  # (rows, classes)
        prior, rows = joint.sum(axis=0), joint.sum(axis=1, keepdims=True)
        ratio = np.divide(joint, rows * prior, out=np.ones_like(joint), where=joint > 0)
        answer.append(((joint * np.log(ratio)).sum(), joint.max(axis=1).sum()))
    return np.array(answer).T


def probability(net, codes):
    return np.prod(
        [
            each.table[tuple(codes[v] for v in (*each.parents, n))]
            for n, each in net.distributions.items()
        ]
    )


def small(arcs=()):
    return three_sources(arcs, n_features=4)


@pytest.mark.parametrize("arcs", [(), (("x0", "x1"), ("x1", "x2"))], ids=["naive Bayes", "tree"])
def test_information_and_accuracy_agree_with_enumeration(arcs):
    net = small(arcs)
    found = difficulty(net, TARGET, n_rows=50_000, seed=1)
    information, accuracy = exact(net)
    assert np.all(np.abs(found.information - information) < 4 * found.information_error)
    assert np.all(np.abs(found.accuracy - accuracy) < 4 * found.accuracy_error)
    assert found.mean_accuracy == pytest.approx(float(net["f"].table @ found.accuracy))
    assert found.mean_information == pytest.approx(float(net["f"].table @ found.information))


def test_the_plain_divergence_makes_the_class_easier_and_easier():
    net = small()
    nets = [net, *(diverge(net, pooled(net), delta, target=TARGET) for delta in DELTAS)]
    information, accuracy = np.array([exact(each) for each in nets]).transpose(1, 0, 2)
    share = net["f"].table
    assert np.all(np.diff(information @ share) > 0)
    assert np.all(np.diff(accuracy @ share) > 0)
    assert (accuracy @ share)[-1] > (accuracy @ share)[0] + 0.1


@pytest.mark.parametrize("arcs", [(), (("x0", "x1"), ("x1", "x2"))], ids=["naive Bayes", "tree"])
@pytest.mark.parametrize("delta", DELTAS)
def test_the_calibrated_divergence_holds_the_information_where_it_had_risen(arcs, delta):
    net = small(arcs)
    found = diverge_calibrated(net, pooled(net), delta, target=TARGET, n_rows=8_000, seed=3)
    before, after = exact(net)[0], exact(found.network)[0]
    diverged = exact(diverge(net, pooled(net), delta, target=TARGET))[0]
    garbling = np.array(list(found.garbling.values()))
    error = difficulty(net, TARGET, n_rows=8_000, seed=3).information_error
    has_risen = diverged > before + 4 * error
    assert has_risen.any()
    assert np.all(garbling[has_risen] > 0)
    assert np.all(garbling[has_risen] < 1)
    # Wanted and reached are measured on 8,000 rows each.
    assert np.all(np.abs(after - before)[has_risen] < 4 * np.sqrt(2) * error[has_risen])
    assert np.all(after <= diverged + 1e-12)


def test_a_feature_that_does_not_depend_on_the_source_is_left_alone():
    net = small()
    alone = [pooled(net)["x0"] if name == "x0" else net[name] for name in net.distributions]
    found = diverge_calibrated(
        Network.of(alone, source="f"), pooled(net), 1.0, target=TARGET, n_rows=1_000, seed=3
    )
    np.testing.assert_array_equal(found.network["x0"].table, pooled(net)["x0"].table)


def test_information_that_no_garbling_can_take_away_is_told():
    f, a, c, x = (cs.Variable(name, ("0", "1")) for name in ("f", "a", "c", "x"))
    net = Network.of(
        [
            Categorical(f, (), [0.5, 0.5]),
            Categorical(a, (f,), [[0.9, 0.1], [0.99, 0.01]]),
            Categorical(c, (a,), [[0.95, 0.05], [0.05, 0.95]]),  # known from its own parent
            Categorical(x, (f, c), [[[0.6, 0.4], [0.4, 0.6]], [[0.5, 0.5], [0.5, 0.5]]]),
        ],
        source="f",
    )
    shared = Network.of(
        [
            Categorical(a, (), [0.95, 0.05]),
            Categorical(c, (a,), net["c"].table),
            Categorical(x, (c,), [[0.55, 0.45], [0.45, 0.55]]),
        ]
    )
    found = diverge_calibrated(net, shared, 0.5, target="c", n_rows=2_000, seed=1)
    assert found.garbling["0"] == 1
    assert found.reached["0"] > found.wanted["0"] + 0.1


def test_the_record_says_what_was_wanted_and_reached():
    net = small()
    found = diverge_calibrated(net, pooled(net), 0.5, target=TARGET, n_rows=2_000, seed=3)
    assert tuple(found.garbling) == tuple(found.wanted) == tuple(found.reached) == SOURCES
    for source in SOURCES:
        if found.garbling[source] > 0:
            assert found.reached[source] == pytest.approx(found.wanted[source], abs=1e-3)
        else:
            assert found.reached[source] <= found.wanted[source]


def test_without_delta_nothing_is_changed():
    net = small()
    found = diverge_calibrated(net, pooled(net), 0.0, target=TARGET, n_rows=500, seed=3)
    assert_same_tables(found.network, net)
    assert set(found.garbling.values()) == {0.0}


def test_sources_still_differ_more_and_more():
    net = small()
    nets = [
        diverge_calibrated(net, pooled(net), delta, target=TARGET, n_rows=1_000, seed=3).network
        for delta in DELTAS
    ]
    found = [realized_divergence(each, target=TARGET) for each in (net, *nets)]
    assert np.all(np.diff(found) > 0)


def test_the_same_seed_gives_the_same_network():
    net = small()
    one, two = (
        diverge_calibrated(net, pooled(net), 0.5, target=TARGET, n_rows=500, seed=3).network
        for _ in range(2)
    )
    assert_same_tables(one, two)


def test_the_class_and_the_source_keep_their_tables():
    net = small()
    found = diverge_calibrated(net, pooled(net), 1.0, target=TARGET, n_rows=500, seed=3).network
    for name in (TARGET, "f"):
        np.testing.assert_array_equal(found[name].table, net[name].table)


def test_wrong_arguments_are_refused():
    net = small()
    with pytest.raises(UnknownNameError, match="unknown node 'k'"):
        diverge_calibrated(net, pooled(net), 0.5, target="k")
    with pytest.raises(InputError, match="diverge_calibrated: n_rows must be a whole number"):
        diverge_calibrated(net, pooled(net), 0.5, target=TARGET, n_rows=1)
    with pytest.raises(InputError, match="difficulty: the network has no source"):
        difficulty(pooled(net), TARGET)
