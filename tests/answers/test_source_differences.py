from __future__ import annotations

import numpy as np
import pytest
from test_findings import mixed, two_hospitals

import consilience as cs
from consilience.demo.hospitals import REASONS, SOURCE, STATES, make_hospitals
from consilience.demo.story import DAG
from consilience.errors import InputError, UnknownNameError


@pytest.fixture(scope="module")
def hospitals() -> cs.Network:
    return cs.fit(DAG, cs.read(make_hospitals(), source=SOURCE, states=STATES))


def test_the_demo_differs_in_exactly_three_families(hospitals):
    found = cs.differences(hospitals)
    assert set(found.differing) == set(REASONS)
    largest = {one.family: one.source for one in found.families}
    assert largest["chest_pain"] == "city"
    assert largest["troponin"] == "harbor"
    assert all(one.largest >= 0.01 for one in found.families if one.family in REASONS)


def test_size_is_the_divergence_weighted_by_parent_states():
    net = two_hospitals()
    table, p = net["test"].table, net["ill"].table
    joint = np.array([0.4, 0.6])[:, None] * p
    common = (joint[..., None] * table).sum(axis=0) / joint.sum(axis=0)[:, None]
    expected = {
        h: sum(p[f, j] * (table[f, j] * np.log(table[f, j] / common[j])).sum() for j in (0, 1))
        for f, h in enumerate("ab")
    }
    found = {s.source: s.size for s in cs.differences(net).by_source if s.family == "test"}
    assert found == pytest.approx(expected)
    assert next(f for f in cs.differences(net).families if f.family == "test").size == (
        pytest.approx(0.4 * expected["a"] + 0.6 * expected["b"])
    )


def test_the_distance_between_two_sources():
    net = two_hospitals()
    table, p = net["test"].table, net["ill"].table
    expected = sum(
        p[0, j] * (table[0, j] * np.log(table[0, j] / table[1, j])).sum() for j in (0, 1)
    )
    found = cs.differences(net, between=("a", "b"))
    assert next(f.size for f in found.families if f.family == "test") == pytest.approx(expected)
    one = cs.differences(net, "b")
    assert {s.source for s in one.by_source} == {"b"}


def test_rows_say_what_they_can_tell(hospitals):
    by_source = {(s.family, s.source): s for s in cs.differences(hospitals).by_source}
    assert by_source["ecg", "valley"].n_rows == 0  # which never recorded it
    assert by_source["ecg", "valley"].verdict == "too few rows to tell"
    assert by_source["troponin", "harbor"].verdict == "differs"


def test_sources_that_are_alike_are_not_named():
    truth = cs.random_network(cs.random_dag(list("abcd"), p_arc=0.5, seed=3), n_states=3, seed=3)
    named = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        frames = {
            f"s{i}": truth.sample(int(n), seed=rng).to_frame()
            for i, n in enumerate(rng.integers(10, 200, 6))
        }
        states = {name: truth.variables[name].discrete_states for name in "abcd"}
        named += len(cs.differences(cs.fit(truth.dag, cs.read(frames, states=states))).differing)
    assert named <= 1


def regressions(spread: float, seed: int = 1) -> cs.Network:
    rng = np.random.default_rng(seed)
    frames = {}
    for i in range(30):
        z = rng.normal(0, 1, 60)
        y = 2 + z + rng.normal(0, spread) + rng.normal(0, 1.0, 60)
        frames[f"s{i}"] = {"z": z.tolist(), "y": y.tolist()}
    return cs.fit(
        cs.DAG([("z", "y")]), cs.read(frames), gaussian=cs.estimators.HierarchicalGaussian()
    )


def test_variance_components_of_hierarchical_regressions():
    found = cs.differences(regressions(1.0))
    (one,) = [part for part in found.components if part.family == "y"]
    assert one.intraclass_correlation == pytest.approx(0.5, abs=0.15)
    assert one.residual == pytest.approx(1.0, rel=0.1)
    assert one.intercept == pytest.approx(1.0, rel=0.5)
    assert found.differing == ("y",)
    (none,) = [part for part in cs.differences(regressions(0.0)).components if part.family == "y"]
    assert none.intraclass_correlation < 0.03


def test_a_regression_differs_by_the_divergence_of_normals():
    source, y = cs.Variable("source", ("a", "b")), cs.Variable("y")
    net = cs.Network.of(
        [
            cs.Categorical(source, (), [0.5, 0.5]),
            cs.LinearGaussian(y, (source,), [0.0, 1.0], [[], []], [1.0, 2.0]),
        ],
        source="source",
    )
    found = cs.differences(net, between=("a", "b")).families[0]
    assert found.size == pytest.approx(np.log(2) + (1 + 1) / 8 - 0.5)
    assert found.verdict == "not weighed"


def test_mistakes_are_named():
    with pytest.raises(InputError, match="has no source"):
        cs.differences(mixed())
    table = cs.read({"a": {"x": ["u", "v"]}, "b": {"x": ["v", "v"]}})
    with pytest.raises(InputError, match="pooled"):
        cs.differences(cs.fit(cs.DAG(nodes=["x"]), table, cs.Pooled(cs.Dirichlet())))
    with pytest.raises(UnknownNameError):
        cs.differences(two_hospitals(), "c")


def test_variance_components_name_the_states_of_the_parents():
    rng = np.random.default_rng(0)
    rows = {
        source: {"a": ["u", "v"] * 20, "y": (rng.normal(size=40) + i).tolist()}
        for i, source in enumerate("pqr")
    }
    found = cs.differences(cs.fit(cs.DAG([("a", "y")]), cs.read(rows)))
    assert [one.given for one in found.components] == ["a=u", "a=v"]
    assert any("y | a=u:" in note for note in found.notes)
