"""Continuous and logistic nodes in the library's own format, and what other formats say of them."""

import json
import random
import re
from functools import cache

import numpy as np
import pytest
from test_fuzz import BUDGET, spoil

import consilience as cs
from consilience.data.variable import Variable
from consilience.distributions import Categorical, LinearGaussian, Logistic
from consilience.errors import ConsilienceError, FormatError, ModelError
from consilience.files.native import parse, write
from consilience.files.registry import FORMATS
from consilience.network.network import Network

DRUG = Variable("drug", ("a", "b", "c"))
ILL = Variable("ill", ("no", "yes"))
AGE, DOSE = Variable("age"), Variable("dose")


def mixed() -> Network:
    return Network.of(
        [
            Categorical(DRUG, (), [0.2, 0.3, 0.5]),
            LinearGaussian(AGE, (), 50.0, np.zeros(0), 1 / 3),
            LinearGaussian(DOSE, (AGE, DRUG), [1.0, 2, 3], [[0.1], [0.2], [0.3]], [1.0, 0.0, 2.0]),
            Logistic(ILL, (DRUG, DOSE), np.zeros((3, 2)), np.arange(6.0).reshape(3, 2, 1) / 7),
        ]
    )


def test_everything_comes_back_with_all_digits() -> None:
    net, again = mixed(), parse(write(mixed()), "net.json")
    assert again.variables == net.variables
    for name, local in net.distributions.items():
        assert type(again[name]) is type(local)
        assert again[name].parents == local.parents
        assert again[name].parameters.tolist() == local.parameters.tolist()
    assert write(again) == write(net)


@pytest.mark.parametrize(
    ("node", "field", "value", "message"),
    [
        (2, "sd", [1.0], "node 3: 'sd' needs 3 numbers, found 1"),
        (2, "sd", [1.0, -1.0, 1.0], "node 3: the sd of 'dose' must be zero or more"),
        (2, "coefficients", None, "node 3: 'coefficients' must be of type list"),
        (2, "parents", ["age", "drag"], "node 3: unknown parent 'drag'; known: 'drug'"),
        (3, "intercept", [0.0], "node 4: 'intercept' needs 6 numbers, found 1"),
        (1, "ordered", None, "node 2: 'ordered' must be of type bool"),
    ],
)
def test_a_mistake_in_a_continuous_node_is_named(
    node: int, field: str, value: object, message: str
) -> None:
    data = json.loads(write(mixed()))
    data["nodes"][node][field] = value
    with pytest.raises(FormatError, match=f"^net.json: {message}"):
        parse(json.dumps(data), "net.json")


@pytest.mark.parametrize("extension", [".bif", ".xmlbif", ".net"])
def test_formats_of_tables_refuse_continuous_nodes_by_name(extension: str) -> None:
    with pytest.raises(ModelError, match="node 'age' is continuous"):
        FORMATS[extension].write(mixed())


def rows(n_rows: int = 60, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    clinic, drug = rng.integers(0, 3, n_rows), rng.integers(0, 2, n_rows)
    age = rng.normal(1e3, 10, n_rows)
    dose = clinic + drug * age / 10 + rng.normal(0, 1, n_rows)
    ill = rng.integers(0, 3, n_rows)
    return {
        "clinic": np.array(["n", "s", "e"])[clinic],
        "drug": np.array(["a", "b"])[drug],
        "age": age,
        "dose": dose + ill,
        "ill": np.array(["no", "yes", "very"])[ill],
    }


GRAPH = cs.DAG.parse("[drug][age][dose|age:drug][ill|dose:drug]")
WAYS = {
    "conjugate": {"estimator": cs.Dirichlet(), "gaussian": cs.estimators.NormalInverseGamma()},
    "conjugate by source": {
        "estimator": cs.Separate(cs.Dirichlet()),
        "gaussian": cs.Separate(cs.estimators.NormalInverseGamma(precision=2.0)),
    },
    "tied": {
        "gaussian": cs.estimators.HierarchicalGaussian(),
        "logistic": cs.estimators.HierarchicalLogistic(),
    },
    "logistic": {"logistic": cs.estimators.LogisticRegression()},
    "logistic by source": {
        "estimator": cs.Separate(cs.MLE()),
        "logistic": cs.Separate(cs.estimators.LogisticRegression()),
    },
    "usual": {},
}


@cache
def fitted(way: str, source: str | None = "clinic", graph: cs.DAG = GRAPH) -> Network:
    columns = {name: c for name, c in rows().items() if source is not None or name != "clinic"}
    return cs.fit(graph, cs.read(columns, source=source), **WAYS[way])


def assert_equal_posteriors(one: Network, other: Network) -> None:
    for name, local in one.distributions.items():
        kept, expected = other[name].posterior, local.posterior
        assert type(kept) is type(expected)
        if kept is None or expected is None:
            continue
        assert kept.variance().tolist() == expected.variance().tolist()
        for end, known in zip(kept.interval(0.9), expected.interval(0.9), strict=True):
            assert end.tolist() == known.tolist()
        drawn, known = (each.draw(np.random.default_rng(3)) for each in (kept, expected))
        assert drawn.tolist() == known.tolist()


@pytest.mark.parametrize(
    ("way", "source"),
    [
        *((way, "clinic") for way in WAYS),
        *((way, None) for way in WAYS if "by source" not in way),
    ],
)
def test_posteriors_come_back_bit_for_bit(way: str, source: str | None) -> None:
    net = fitted(way, source)
    again = parse(write(net), "net.json")
    assert_equal_posteriors(net, again)
    assert write(again) == write(net)


def test_a_family_without_the_source_keeps_its_tied_posterior() -> None:
    graph = cs.DAG.parse("[clinic][drug][age|clinic][dose|age:drug][ill|dose:drug:clinic]")
    net = fitted("tied", graph=graph)
    assert "clinic" not in net["dose"].parents
    assert_equal_posteriors(net, parse(write(net), "net.json"))


def test_posteriors_of_collinear_parents_can_be_read_again() -> None:
    columns = rows() | {"twice": 2 * rows()["age"], "one": np.full(60, 1.5)}
    table = cs.read(columns, source="clinic", continuous=["one"])
    graph = cs.DAG.parse("[age][twice][one][drug][dose|age:twice:one:drug][ill|age:twice:one]")
    for gaussian in (
        cs.estimators.HierarchicalGaussian(),
        cs.estimators.NormalInverseGamma(precision=1e-13),
    ):
        for logistic in (
            cs.estimators.LogisticRegression(0.0),
            cs.estimators.HierarchicalLogistic(0.0),
        ):
            net = cs.fit(graph, table, gaussian=gaussian, logistic=logistic)
            assert_equal_posteriors(net, parse(write(net), "net.json"))


@pytest.mark.parametrize(
    ("way", "node", "field", "value", "message"),
    [
        ("conjugate", "dose", "kind", "dirichlet", "unknown kind of posterior 'dirichlet'; known:"),
        ("conjugate", "drug", "kind", "laplace", "unknown kind of posterior 'laplace'; known: 'd"),
        ("conjugate", "dose", "mean", [1.0], "'mean' needs 4 numbers, found 1"),
        ("conjugate", "dose", "unit", [0.0], "'unit' must lie between 1e-100 and 1e+100"),
        ("conjugate", "dose", "shape", [1.0, -1.0], "'shape' must lie between 1e-100 and 1e"),
        ("conjugate", "dose", "rate", [1.0, -1.0], "'rate' must lie between 0 and 1e"),
        ("conjugate", "dose", "scale", [1, 2, 0, 1] * 2, "'scale' must hold covariances: symm"),
        ("conjugate", "dose", "scale", [-1, 0, 0, 1] * 2, "'scale' must hold covariances: symm"),
        ("conjugate", "dose", "scale", [1e200] * 8, "'scale' holds a number that is too large"),
        ("conjugate", "dose", "center", ["x"], "'center' must be a list of numbers"),
        ("conjugate by source", "dose", "parts", [1], "'parts' must be a list of 3 posteriors"),
        ("tied", "dose", "n_sources", 2, "'n_sources' must be 1 or 4, found 2"),
        ("tied", "dose", "n_sources", 1, "'common_scale' needs 32 numbers, found 8"),
        ("tied", "dose", "keep", None, "'keep' must be of type list, found nothing"),
        ("tied", "dose", "center", [1e300], "the numbers of the posterior are too large, or"),
        ("tied", "ill", "common", None, "'common' must be of type list, found nothing"),
        ("logistic", "ill", "covariance", [0.0], "'covariance' needs 32 numbers, found 1"),
    ],
)
def test_a_mistake_in_a_posterior_is_named(
    way: str, node: str, field: str, value: object, message: str
) -> None:
    data = json.loads(write(fitted(way, None if way == "conjugate" else "clinic")))
    [content] = [each for each in data["nodes"] if each["name"] == node]
    content["posterior"][field] = value
    with pytest.raises(FormatError, match=f"^net.json: node [0-9]: {re.escape(message)}"):
        parse(json.dumps(data), "net.json")


def test_broken_values_give_only_our_errors() -> None:
    rng = random.Random(5)
    texts = [write(fitted(way)) for way in WAYS]
    for _ in range(BUDGET):
        content = json.loads(rng.choice(texts))
        for _ in range(rng.randint(1, 3)):
            spoil(content["nodes"], rng)
        try:
            net = parse(json.dumps(content), "broken")
        except ConsilienceError:
            continue
        parse(write(net), "again")
        for local in net.distributions.values():
            if local.posterior is not None:
                assert not np.isnan(local.posterior.variance()).any()
