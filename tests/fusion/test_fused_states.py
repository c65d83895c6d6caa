"""States in another order, states that a source excludes, and what fuse refuses."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.errors import DataError, InputError, ModelError, UnknownNameError
from consilience.fusion.state_order import reordered

ILL, TURNED = cs.Variable("ill", ("yes", "no")), cs.Variable("ill", ("no", "yes"))
BP = cs.Variable("bp")


def coin(*row: float, variable: cs.Variable = ILL) -> cs.Network:
    return cs.Network.of([cs.Categorical(variable, (), row)])


def rows(seed: int, n_rows: int = 60) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n_rows)
    return {"a": a, "b": 2 * a + rng.normal(size=n_rows), "c": rng.normal(size=n_rows)}


def mixed(variable: cs.Variable) -> cs.Network:
    """The same network whichever order the states have."""
    at = [variable.states.index(state) for state in ILL.states]
    shuffle = np.argsort(at)
    risk = cs.Logistic(
        cs.Variable("risk", ("low", "high")),
        (variable, BP),
        np.zeros((2, 2)),
        np.array([[[0.0], [1.0]], [[0.0], [2.0]]])[shuffle],
    )
    return cs.Network.of(
        [
            cs.Categorical(variable, (), np.array([0.3, 0.7])[shuffle]),
            cs.LinearGaussian(
                BP, (variable,), np.array([140.0, 120.0])[shuffle], np.zeros((2, 0)), [10.0, 10.0]
            ),
            risk,
        ]
    )


def test_reordered_states_leave_a_network_what_it_says() -> None:
    turned = reordered(mixed(TURNED), {"ill": ILL})
    for name, local in mixed(ILL).distributions.items():
        assert turned[name].parameters.tolist() == local.parameters.tolist()
    assert turned.variables["ill"] == ILL


def test_networks_with_states_in_another_order_are_fused() -> None:
    fused = cs.fuse([coin(0.1, 0.9), coin(0.8, 0.2, variable=TURNED)])
    assert fused.network.query("ill")["yes"] == pytest.approx(0.15)


def test_networks_with_other_states_are_refused_by_name() -> None:
    other = coin(0.5, 0.5, variable=cs.Variable("ill", ("yes", "maybe")))
    with pytest.raises(DataError, match=r"source 'source 1' has the states .* of 'ill'"):
        cs.fuse([coin(0.5, 0.5), other])


@pytest.mark.parametrize("weights", [{"a": 999, "b": 1}, None], ids=["small weight", "equal"])
def test_a_logarithmic_pool_excludes_what_one_source_excludes(weights) -> None:
    nets = {"a": coin(0.5, 0.5), "b": coin(0.0, 1.0)}
    fused = cs.fuse(nets, weights=weights, parameters=cs.fusion.LogarithmicPool())
    assert fused.network["ill"].table.tolist() == [0.0, 1.0]


def test_a_logarithmic_pool_with_nothing_left_is_refused() -> None:
    with pytest.raises(ModelError, match="every state of 'ill' is excluded"):
        cs.fuse([coin(1.0, 0.0), coin(0.0, 1.0)], parameters=cs.fusion.LogarithmicPool())


def test_classes_of_mixed_networks_vote_for_what_the_networks_can_have() -> None:
    net = cs.Network.of([mixed(ILL)["ill"], mixed(ILL)["bp"]])
    assert cs.fuse([net, net], votes=cs.fusion.ClassVotes()).dag.arcs == (("ill", "bp"),)


def test_fractional_weights_are_no_gaps() -> None:
    table = cs.read(rows(0))
    columns = {name: table.column(name) for name in table.variables}
    for seed in range(20):
        weights = np.random.default_rng(seed).uniform(0.5, 2, 60)
        weighted = cs.Table(table.schema, columns, weights=weights)
        assert np.isfinite(cs.score(cs.DAG([("a", "b")], nodes=["c"]), weighted, cs.BIC()))


def test_misspelt_arcs_equal_names_and_faults_of_a_source_are_named() -> None:
    tables = {name: rows(seed) for seed, name in enumerate("pqr")}
    with pytest.raises(UnknownNameError, match="'typo'"):
        cs.fuse(tables, require=[("a", "typo")])
    with pytest.raises(InputError, match="same name as text"):
        cs.fuse({1: tables["p"], "1": tables["q"]})
    still = cs.fuse({**tables, "z": {**tables["p"], "c": np.full(60, 0.5)}})
    assert "Source 'z': 'c' did not vary in its rows" in " ".join(still.notes)


def test_a_number_of_numpy_is_a_threshold() -> None:
    dags = [cs.DAG.parse("[a][b|a]")] * 2
    assert cs.fuse(dags, threshold=np.int64(2)).threshold == 2.0


def test_given_graphs_are_not_changed_by_constraints_and_it_is_said() -> None:
    dags = [cs.DAG.parse("[a][b|a]")] * 2
    assert "require and forbid change none" in " ".join(cs.fuse(dags, forbid=[("a", "b")]).notes)
