from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.errors import GraphError, InputError, ModelError, UnknownNameError

ODD = cs.Variable("a <b>", ("x y", "z", "0"))
FLAG, SITE = cs.Variable("flag", ("no", "yes")), cs.Variable("site", ("north", "south"))
DOSE, EFFECT = cs.Variable("dose"), cs.Variable("effect")


def discrete():
    rng = np.random.default_rng(1)
    return cs.Network.of(
        [
            cs.Categorical(SITE, (), [0.25, 0.75]),
            cs.Categorical(ODD, (SITE,), rng.dirichlet(np.ones(3), 2)),
            cs.Categorical(FLAG, (ODD, SITE), rng.dirichlet(np.ones(2), (3, 2))),
        ],
        source="site",
    )


def gaussian():
    return cs.Network.of(
        [
            cs.LinearGaussian(DOSE, (), 1.0, [], 2.0),
            cs.LinearGaussian(EFFECT, (DOSE,), 0.5, [-1.5], 0.25),
        ]
    )


def mixed():
    return cs.Network.of(
        [
            cs.Categorical(FLAG, (), [0.5, 0.5]),
            cs.LinearGaussian(DOSE, (FLAG,), [1.0, 2.0], np.zeros((2, 0)), [1.0, 3.0]),
            cs.Logistic(ODD, (DOSE,), [0.0, 1.0, 2.0], [[0.0], [0.5], [1.0]]),
        ]
    )


def assert_same(found, net):
    assert found.dag == net.dag
    assert found.source == net.source
    for name, local in net.distributions.items():
        assert found.variables[name].states == local.child.states
        order = [found[name].parents.index(parent) for parent in local.parents]
        if isinstance(local, cs.Categorical):
            table = found[name].table.transpose([*order, len(order)])
            np.testing.assert_allclose(table, local.table, rtol=1e-12)
        else:
            np.testing.assert_allclose(found[name].parameters, local.parameters, rtol=1e-12)


@pytest.mark.parametrize("make", [discrete, gaussian, mixed])
def test_a_network_comes_back_from_networkx(make):
    pytest.importorskip("networkx", reason="networkx is not installed")
    assert_same(cs.files.from_networkx(cs.files.to_networkx(make())), make())


def test_a_graph_comes_back_from_networkx():
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    dag = cs.DAG([("a", "b"), ("c", "b")], nodes=["d"])
    assert cs.files.from_networkx(cs.files.to_networkx(dag)) == dag
    assert isinstance(cs.files.to_networkx(dag), networkx.DiGraph)


def test_graphs_of_networkx_that_are_no_networks_are_refused():
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    with pytest.raises(InputError, match="a directed graph"):
        cs.files.from_networkx(networkx.Graph([("a", "b")]))
    with pytest.raises(GraphError, match="cycle"):
        cs.files.from_networkx(networkx.DiGraph([("a", "b"), ("b", "a")]))
    half = cs.files.to_networkx(discrete())
    half.add_node("more")
    with pytest.raises(InputError, match="'more' has no 'states'"):
        cs.files.from_networkx(half)
    del half.nodes["flag"]["table"]
    half.remove_node("more")
    with pytest.raises(InputError, match="'flag' has no 'table'"):
        cs.files.from_networkx(half)
    with pytest.raises(InputError, match="a DAG or a Network is needed, got a CPDAG"):
        cs.files.to_networkx(cs.CPDAG.of(discrete().dag))


def test_a_network_comes_back_from_pyagrum():
    pytest.importorskip("pyagrum", reason="pyagrum is not installed")
    assert_same(cs.files.from_pyagrum(cs.files.to_pyagrum(discrete())), discrete())


def test_pyagrum_answers_as_the_network_does():
    gum = pytest.importorskip("pyagrum", reason="pyagrum is not installed")
    engine = gum.LazyPropagation(cs.files.to_pyagrum(discrete()))
    engine.setEvidence({"flag": "yes"})
    expected = discrete().query(ODD.name, {"flag": "yes"}).values
    np.testing.assert_allclose(engine.posterior(ODD.name).toarray(), expected, rtol=1e-9)


def test_the_source_of_a_network_of_pyagrum_can_be_named():
    gum = pytest.importorskip("pyagrum", reason="pyagrum is not installed")
    model = gum.fastBN("a[3]->b->c;a->c")
    assert cs.files.from_pyagrum(model, source="a").source == "a"
    with pytest.raises(UnknownNameError, match="'z'"):
        cs.files.from_pyagrum(model, source="z")


@pytest.mark.parametrize("make", [gaussian, mixed])
def test_continuous_networks_are_refused_for_pyagrum(make):
    pytest.importorskip("pyagrum", reason="pyagrum is not installed")
    with pytest.raises(ModelError, match="'dose' is continuous; a BayesNet of pyAgrum has tables"):
        cs.files.to_pyagrum(make())


@pytest.mark.parametrize("make", [discrete, gaussian])
def test_a_network_comes_back_from_pgmpy(make):
    pytest.importorskip("pgmpy", reason="pgmpy is not installed")
    assert_same(cs.files.from_pgmpy(cs.files.to_pgmpy(make())), make())


def test_pgmpy_finds_the_model_valid():
    pytest.importorskip("pgmpy", reason="pgmpy is not installed")
    assert cs.files.to_pgmpy(discrete()).check_model()


def test_networks_of_both_kinds_are_refused_for_pgmpy():
    pytest.importorskip("pgmpy", reason="pgmpy is not installed")
    with pytest.raises(ModelError, match="all discrete or all linear Gaussian"):
        cs.files.to_pgmpy(mixed())
