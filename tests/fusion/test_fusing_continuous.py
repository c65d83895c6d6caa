from __future__ import annotations

import numpy as np
import pytest
from fusion_cases import TRUE, gaussian_rows, slices

import consilience as cs
from consilience.data.table import Table
from consilience.data.variable import Variable
from consilience.fusion.choosing import choose
from consilience.fusion.united_tables import pooled_table

NORMAL = cs.DAG.parse("[x][y|x][z|x:y]")
POOLS = [
    cs.fusion.LinearPool(),
    cs.fusion.LogarithmicPool(),
    cs.fusion.DemocraticPool(),
    cs.fusion.InverseVariance(),
]


def normal_network(seed=1):
    rng = np.random.default_rng(seed)
    x, y, z = (Variable(name) for name in "xyz")
    return cs.Network.of(
        [
            cs.LinearGaussian(x, (), 3.0, np.zeros(0), 1.0),
            cs.LinearGaussian(y, (x,), 1.0, [0.8 + 0.01 * rng.normal()], 0.5),
            cs.LinearGaussian(z, (x, y), 0.0, [1.0, -0.7 + 0.01 * rng.normal()], 0.6),
        ]
    )


def gaussian_test(data_dir):
    return cs.fit(TRUE, cs.read(data_dir / "bnlearn" / "gaussian.test.csv.gz"))


@pytest.fixture(scope="module")
def distances(data_dir):
    """Over 40 seeds, SHD of a single source (mean of eight), and of the vote in both orders."""
    net = gaussian_test(data_dir)
    climb = cs.HillClimb(tabu=0, restarts=0)
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        tables = {f"s{k}": net.sample(50, seed=rng) for k in range(8)}
        fused = cs.fuse(tables, search=climb)
        rows = pooled_table(tables)
        papers = best_of(fused.votes, cs.fusion.RowByRow(), rows)
        single = np.mean([cs.shd(dag, TRUE) for dag in fused.sources.values()])
        found.append([single, cs.shd(fused.dag, TRUE), cs.shd(papers, TRUE)])
    return np.array(found).T


def best_of(votes, order, rows):
    """The graph of the best threshold in an order."""
    level = cs.fusion.BestScore().threshold(votes, lambda t: choose(votes, t, order)[0], rows)
    return choose(votes, level, order)[0]


def mean_and_error(values):
    return np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values))


@pytest.mark.data
def test_the_vote_at_the_automatic_threshold_is_nearer_to_the_truth_than_a_source(distances):
    single, vote, _ = distances
    mean, error = mean_and_error(vote - single)
    assert mean < -2 * error
    assert np.mean(vote) < 0.6


@pytest.mark.data
def test_the_strongest_first_are_no_worse_than_the_papers_order(distances):
    _, strongest, papers = distances
    mean, error = mean_and_error(strongest - papers)
    assert mean <= 2 * error


@pytest.mark.data
def test_matrices_give_the_pooled_fit_of_the_fused_graph(data_dir):
    net = gaussian_test(data_dir)
    tables = {f"s{k}": net.sample(50, seed=k) for k in range(8)}
    merged, matrices = (
        cs.fuse(tables, parameters=choice)
        for choice in (cs.fusion.Merged(), cs.fusion.PrecisionMatrices())
    )
    assert merged.dag == matrices.dag
    for node in merged.dag.nodes:
        one, two = merged.network[node], matrices.network[node]
        np.testing.assert_allclose(two.parameters, one.parameters, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("pool", [*POOLS, cs.fusion.PrecisionMatrices()], ids=repr)
def test_mixed_tables_are_fused(pool):
    table = gaussian_rows(9000, np.random.default_rng(2))
    parts = slices(table, [3000] * 3)
    fused = cs.fuse(parts, parameters=pool)
    pooled = cs.fit(fused.dag, table)
    assert not any(end == "w" for _, end in fused.dag.arcs)
    for node in fused.dag.nodes:
        one, two = fused.network[node], pooled[node]
        np.testing.assert_allclose(one.parameters, two.parameters, atol=0.1)


def test_classes_do_not_vote_for_discrete_children_of_continuous_parents():
    parts = slices(gaussian_rows(3000, np.random.default_rng(2)), [1000] * 3)
    fused = cs.fuse(parts, votes=cs.fusion.ClassVotes(), threshold=1)
    assert not any(end == "w" for _, end in fused.votes.by_arc)


@pytest.mark.parametrize("pool", POOLS, ids=repr)
def test_normal_networks_that_agree_keep_their_regressions(pool):
    net = normal_network()
    fused = cs.fuse([net, net, net], parameters=pool)
    assert fused.dag == net.dag
    for node in net.dag.nodes:
        np.testing.assert_allclose(fused.network[node].parameters, net[node].parameters, rtol=1e-9)


def test_a_normal_network_with_another_family_is_asked_for_the_regression():
    net = normal_network()
    rows = net.sample(200, seed=3)
    turned = cs.fit(cs.DAG.parse("[z][y|z][x|y:z]"), rows)
    fused = cs.fuse({"a": net, "b": net, "c": turned}, parameters=cs.fusion.LinearPool())
    mean, spread = (getattr(turned.query(["x", "y", "z"]), name) for name in ("mean", "covariance"))
    slopes = np.linalg.solve(spread[:2, :2], spread[:2, 2])
    expected = (2 * net["z"].coefficients + slopes) / 3
    np.testing.assert_allclose(fused.network["z"].coefficients, expected, rtol=1e-8)
    line = (2 * net["z"].intercept + mean[2] - slopes @ mean[:2]) / 3
    np.testing.assert_allclose(fused.network["z"].intercept, line, rtol=1e-8)


def test_continuous_networks_come_from_files(tmp_path):
    paths = []
    for seed in range(3):
        paths.append(tmp_path / f"net{seed}.json")
        cs.save(normal_network(seed), paths[-1])
    fused = cs.fuse(paths)
    mean = np.mean([normal_network(seed)["z"].coefficients for seed in range(3)], axis=0)
    np.testing.assert_allclose(fused.network["z"].coefficients, mean)


def test_continuous_columns_with_gaps_are_noted():
    parts = slices(gaussian_rows(600, np.random.default_rng(2)), [200] * 3)
    columns = dict(parts["s1"].columns)
    columns["x"] = np.where(np.arange(200) < 20, np.nan, columns["x"])
    parts["s1"] = Table(parts["s1"].schema, columns)
    fused = cs.fuse(parts)
    assert any("Source 's1': 20 of 200 rows have gaps" in note for note in fused.notes)
    assert fused.network.record.n_incomplete["x"] == 20


@pytest.mark.parametrize("pool", [None, *POOLS], ids=repr)
def test_a_regression_that_no_source_has_is_pooled_from_what_each_knows(pool):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 400))
    z = x + y + rng.normal(size=400)
    fused = cs.fuse(
        [cs.read({"x": x, "z": z}), cs.read({"y": y, "z": z})],
        parameters=pool,
        forbid=[("z", "x"), ("z", "y")],
    )
    assert fused.dag.parents("z") == ("x", "y")
    slopes = [
        cs.fit(cs.DAG([(name, "z")]), cs.read({name: values, "z": z}))["z"].coefficients[0] / 2
        for name, values in (("x", x), ("y", y))
    ]
    np.testing.assert_allclose(fused.network["z"].coefficients, slopes)
    assert any("No source has all variables" in note for note in fused.notes)


def test_held_out_weights_see_a_continuous_source_that_diverges():
    rng = np.random.default_rng(5)
    parts = slices(gaussian_rows(600, rng), [200] * 3)
    odd = dict(parts["s2"].columns)
    odd["z"] = -odd["z"]
    parts["s2"] = Table(parts["s2"].schema, odd)
    weights = cs.fuse(parts, weights=cs.fusion.HeldOutWeights()).weights
    assert weights["s2"] < 0.5 * min(weights["s0"], weights["s1"])


ILL = cs.DAG.parse("[dose][sex][ill|sex:dose]")


def logistic_rows(n_rows, seed):
    """Whether somebody is ill depends on sex and, by a logistic curve, on the dose."""
    rng = np.random.default_rng(seed)
    dose, sex = rng.normal(size=n_rows), rng.integers(0, 2, n_rows)
    chance = 1 / (1 + np.exp(-(0.5 * sex + 1.5 * dose)))
    ill = rng.random(n_rows) < chance
    return cs.read(
        {
            "dose": dose,
            "sex": np.where(sex, "f", "m").tolist(),
            "ill": np.where(ill, "yes", "no").tolist(),
        },
        states={"sex": ["m", "f"], "ill": ["no", "yes"]},
    )


@pytest.mark.parametrize("pool", [None, *POOLS, cs.fusion.PrecisionMatrices()], ids=repr)
def test_logistic_nodes_are_fused(pool):
    tables = {f"s{k}": logistic_rows(2000, k) for k in range(3)}
    fused = cs.fuse(
        tables, logistic=True, require=ILL.arcs, parameters=pool, search=cs.HillClimb(0, 0)
    )
    assert fused.dag == ILL
    local = fused.network["ill"]
    slopes = local.coefficients[..., 1, 0] - local.coefficients[..., 0, 0]
    np.testing.assert_allclose(slopes, 1.5, atol=0.3)


def test_networks_with_logistic_nodes_are_fused_if_they_have_the_same_families():
    nets = [cs.fit(ILL, logistic_rows(500, k)) for k in range(3)]
    fused = cs.fuse(nets)
    expected = np.mean([net["ill"].coefficients for net in nets], axis=0)
    np.testing.assert_allclose(fused.network["ill"].coefficients, expected)
    other = cs.fit(cs.DAG.parse("[dose][sex][ill|dose]"), logistic_rows(500, 7))
    with pytest.raises(ValueError, match="'t': its network has no logistic node 'ill'"):
        cs.fuse({"s": nets[0], "t": other, "u": nets[1]})


def test_mixed_networks_are_asked_for_families_that_they_lack():
    table = gaussian_rows(4000, np.random.default_rng(2))
    full, less = cs.DAG.parse("[w][x][y|x][z|w:x:y]"), cs.DAG.parse("[w][x][y|x][z|w:x]")
    nets = {"s": cs.fit(full, table), "t": cs.fit(full, table), "u": cs.fit(less, table)}
    fused = cs.fuse(nets)
    assert fused.dag == full
    own = cs.fit(less, table)["z"]
    expected = (2 * nets["s"]["z"].coefficients[:, 0] + own.coefficients[:, 0]) / 3
    np.testing.assert_allclose(fused.network["z"].coefficients[:, 0], expected, rtol=1e-6)
    np.testing.assert_allclose(
        fused.network["z"].coefficients[:, 1], 2 * nets["s"]["z"].coefficients[:, 1] / 3, rtol=1e-6
    )


def test_a_source_in_which_a_number_does_not_vary_abstains_on_its_arcs():
    x = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    y = [0.1, 0.9, 2.1, 2.9, 4.2, 4.8]
    still = {"x": x, "y": [7.0] * 6}
    rows = {"rome": {"x": x, "y": y}, "oslo": {"x": x, "y": y}, "bonn": still}
    fused = cs.fuse(cs.read(rows, continuous=["x", "y"]))
    assert fused.votes.out_of(("x", "y")) == 2.0
    assert len(fused.dag.arcs) == 1
    assert sum("'bonn': 'y' did not vary" in note for note in fused.notes) == 1
    assert np.isfinite(fused.network.query("y").mean)
