"""Known answers about asia and alarm, and two exact methods against each other on larger networks.

The probabilities are those of pyAgrum 3.3.1 (LazyPropagation) for the same files, written with
seven digits and held to half a unit of the last one. Whole sets of marginals are compared with
pyAgrum by ``benchmarks/inference.py``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import consilience as cs

pytestmark = pytest.mark.data

HALF_PER_DIGIT = 5e-8
MOST_QUERIES = 30

NETWORKS = (
    "asia",
    "cancer",
    "earthquake",
    "survey",
    "sachs",
    "alarm",
    "insurance",
    "hailfinder",
    "water",
    "mildew",
    "andes",
    "pigs",
    "diabetes",
    "link",
)


def load(data_dir: Path, name: str) -> cs.Network:
    (path,) = (data_dir / "networks").glob(f"{name}.bif*")
    return cs.load(path)


@pytest.mark.parametrize(
    ("file", "event", "given", "probability"),
    [
        ("asia", {"dysp": "yes"}, {}, 0.4359706),
        ("asia", {"tub": "yes"}, {"asia": "yes", "xray": "yes"}, 0.3377156),
        ("asia", {"lung": "yes"}, {"smoke": "yes", "dysp": "yes"}, 0.1483336),
        ("asia", {"bronc": "yes"}, {"dysp": "yes", "xray": "no"}, 0.8633920),
        ("asia", {"either": "yes"}, {"asia": "yes", "smoke": "no", "dysp": "yes"}, 0.1342736),
        ("alarm", {"HYPOVOLEMIA": "TRUE"}, {"HRBP": "HIGH", "CVP": "HIGH"}, 0.7768044),
        ("alarm", {"LVFAILURE": "TRUE"}, {"BP": "LOW", "PCWP": "HIGH"}, 0.0067436),
        ("alarm", {"KINKEDTUBE": "TRUE"}, {"PRESS": "HIGH", "MINVOL": "LOW"}, 0.0213706),
    ],
)
def test_known_posteriors(data_dir, file, event, given, probability):
    net = load(data_dir, file)
    ((name, state),) = event.items()
    answers = (
        net.query(name, given=given)[state],
        net.marginals(given=given)[name][state],
        net.probability(event, given=given),
    )
    assert answers == pytest.approx((probability,) * 3, abs=HALF_PER_DIGIT)


def test_the_known_explanation_of_asia(data_dir):
    best = load(data_dir, "asia").mpe(given={"dysp": "yes", "xray": "yes"})
    assert best == {
        "asia": "no", "tub": "no", "smoke": "yes", "lung": "yes", "bronc": "yes", "either": "yes"
    }  # fmt: skip


def finding(net: cs.Network) -> dict[str, str]:
    """A tenth of the nodes in the states of a row that was drawn from the network."""
    names = list(net.variables)
    chosen = np.random.default_rng(1).choice(names, max(1, len(names) // 10), replace=False)
    row = net.sample(1, seed=2)
    return {str(name): net.variables[name].states[row.column(name)[0]] for name in chosen}


@pytest.mark.parametrize("name", NETWORKS)
def test_elimination_and_the_junction_tree_agree(data_dir, name):
    net = load(data_dir, name)
    given = finding(net)
    marginals = net.marginals(given=given)
    free = list(marginals)
    for asked in free[:: -(-len(free) // MOST_QUERIES)]:
        one = net.query(asked, given=given)
        np.testing.assert_allclose(one.values, marginals[asked].values, atol=1e-12)
    row = net.log_likelihood(as_row(net, given))[0]
    assert cs.log_probability(net, given) == pytest.approx(row, abs=1e-9)


def as_row(net: cs.Network, given: dict[str, str]) -> cs.Table:
    return cs.read({name: [state] for name, state in given.items()}, schema=net.variables)
