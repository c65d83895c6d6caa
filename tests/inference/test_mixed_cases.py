"""Expected statistics, draws and completions of mixed rows against enumeration."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, strategies as st
from mixed_oracles import enumerated, log_total, random_mixed, shares
from scipy.stats import multivariate_normal

import consilience as cs
from consilience.errors import (
    DataError,
    ImpossibleEvidenceError,
    InputError,
    MemoryLimitError,
    ModelError,
)
from consilience.inference import case_sets as module
from consilience.inference.cases import Cases
from consilience.inference.completion import completed
from consilience.statistics.gather import count, engine_of
from consilience.statistics.request import MomentRequest

X, Y, Z = (cs.Variable(name) for name in "xyz")
COIN = cs.Variable("coin", ("heads", "tails"))


def with_gaps(table: cs.Table, rng: np.random.Generator, share: float) -> cs.Table:
    columns = {}
    for name, column in table.columns.items():
        gaps = rng.random(table.n_rows) < share
        columns[name] = np.where(gaps, np.nan if column.dtype == float else -1, column).astype(
            column.dtype
        )
    return cs.Table(table.schema, columns, table.source_codes, table.weights)


def rows_of(net: cs.Network, n_rows: int, seed: int, share: float = 0.4) -> cs.Table:
    return with_gaps(net.sample(n_rows, seed=seed), np.random.default_rng(seed), share)


@pytest.fixture(params=["enumerated", "tree"])
def route(request, monkeypatch):
    """All hidden sets are enumerated, or all go through the junction tree."""
    if request.param == "tree":
        monkeypatch.setattr(module, "MOST_JOINT_STATES", 0)
    return request.param


class Found(NamedTuple):
    counts: dict[str, np.ndarray]
    moments: dict[str, cs.Moments]
    log_likelihood: float


def expected(net: cs.Network, table: cs.Table, **options) -> Found:
    """Expected statistics, those of barren values included."""
    cases = Cases.of(net, table, keeps_barren=True, **options)
    return split(cases, cases.expected(net))


def drawn(net: cs.Network, table: cs.Table, rng) -> Found:
    cases = Cases.of(net, table, keeps_barren=True)
    theta = cases.layout.flatten({name: local.table for name, local in net.tables.items()})
    return split(cases, cases.draw(theta, rng, net.regressions))


def split(cases: Cases, found) -> Found:
    return Found(cases.layout.split(found.counts), found.moments, found.log_likelihood)


def known(net: cs.Network, table: cs.Table, row: int) -> dict[str, object]:
    """What a row records, as evidence."""
    found: dict[str, object] = {}
    for name, variable in net.variables.items():
        value = table.column(name)[row]
        if variable.is_continuous and not np.isnan(value):
            found[name] = float(value)
        if not variable.is_continuous and value >= 0:
            found[name] = variable.discrete_states[value]
    return found


def oracle(net: cs.Network, table: cs.Table):
    """Counts, (weight, mean, scatter) by node, and log-likelihood, one completion at a time."""
    counts = {name: np.zeros(local.table.shape) for name, local in net.tables.items()}
    groups: dict[str, dict[int, list[tuple[float, np.ndarray, np.ndarray]]]] = {}
    total = 0.0
    for row in range(table.n_rows):
        weight = 1.0 if table.weights is None else float(table.weights[row])
        found = enumerated(net, known(net, table, row))
        total += weight * log_total(found)
        for p, codes, mean, covariance in zip(
            shares(found), found["states"], found["means"], found["covariances"], strict=True
        ):
            at = dict(zip(found["discrete"], codes, strict=True))
            for name, local in net.tables.items():
                counts[name][tuple(at[n] for n in (*local.parents, name))] += weight * p
            for name in found["continuous"]:
                local = net[name]
                state = 0
                for parent in local.discrete:
                    state = state * parent.n_states + at[parent.name]
                names = [*(v.name for v in local.continuous), name]
                place = [found["continuous"].index(n) for n in names]
                part = weight * p, mean[place], covariance[np.ix_(place, place)]
                groups.setdefault(name, {}).setdefault(state, []).append(part)
    return counts, groups, total


def check_moments(found, parts, *, tolerance=1e-9):
    for state, some in parts.items():
        weight = sum(w for w, _, _ in some)
        if weight < 1e-12:
            continue
        mean = sum(w * x for w, x, _ in some) / weight
        scatter = sum(w * (np.outer(x - mean, x - mean) + v) for w, x, v in some)
        assert found.weight[0, state] == pytest.approx(weight, rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(found.mean[0, state], mean, rtol=1e-8, atol=tolerance)
        np.testing.assert_allclose(found.scatter[0, state], scatter, rtol=1e-8, atol=tolerance)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.usefixtures("route")
def test_expected_statistics_are_those_of_all_completions(seed):
    rng = np.random.default_rng(seed)
    net = random_mixed(rng, int(rng.integers(1, 6)), p_discrete=[0.0, 0.5][seed % 2])
    table = rows_of(net, 8, seed)
    counts, groups, log_likelihood = oracle(net, table)
    found = expected(net, table)
    assert found.log_likelihood == pytest.approx(log_likelihood, rel=1e-9, abs=1e-9)
    assert list(found.counts) == list(counts)
    for name, table_of in counts.items():
        np.testing.assert_allclose(found.counts[name], table_of, rtol=1e-9, atol=1e-12)
    for name, parts in groups.items():
        assert found.moments[name].names == (*(v.name for v in net[name].continuous), name)
        assert found.moments[name].given == net[name].discrete
        check_moments(found.moments[name], parts)
        assert found.moments[name].n_incomplete.tolist() == [0.0]


def test_the_log_likelihood_of_three_nodes_is_that_of_scipy():
    net = cs.Network.of(
        [
            cs.Categorical(COIN, (), [0.3, 0.7]),
            cs.LinearGaussian(X, (COIN,), [0.0, 2.0], np.zeros((2, 0)), [1.0, 0.5]),
            cs.LinearGaussian(Y, (X,), 1.0, [2.0], 3.0),
        ]
    )
    rows = cs.read(
        {"coin": [None, "heads", None], "x": [0.5, None, None], "y": [1.5, 2.5, -4.0]},
        continuous=["x", "y"],
        states={"coin": ["heads", "tails"]},
    )
    joint = [
        multivariate_normal([0.0, 1.0], [[1.0, 2.0], [2.0, 13.0]]),
        multivariate_normal([2.0, 5.0], [[0.25, 0.5], [0.5, 10.0]]),
    ]
    alone = [multivariate_normal(1.0, 13.0), multivariate_normal(5.0, 10.0)]
    by_hand = (
        np.log(0.3 * joint[0].pdf([0.5, 1.5]) + 0.7 * joint[1].pdf([0.5, 1.5]))
        + np.log(0.3 * alone[0].pdf(2.5))
        + np.log(0.3 * alone[0].pdf(-4.0) + 0.7 * alone[1].pdf(-4.0))
    )
    assert expected(net, rows).log_likelihood == pytest.approx(by_hand)


@pytest.mark.parametrize("seed", range(10))
def test_the_log_likelihood_is_that_of_the_network(seed):
    net = random_mixed(np.random.default_rng(seed), 7, p_arc=0.5)
    table = rows_of(net, 60, seed, share=0.3)
    found = expected(net, table).log_likelihood
    assert found == pytest.approx(net.log_likelihood(table).sum(), rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_complete_rows_give_plain_counts_and_moments(seed):
    net = random_mixed(np.random.default_rng(seed), 6)
    table = net.sample(300, seed=seed)
    found = expected(net, table)
    for name, moments in found.moments.items():
        by = tuple(v.name for v in net[name].discrete)
        plain = engine_of(table).gather(MomentRequest(moments.names, by))
        np.testing.assert_allclose(moments.weight, plain.weight, rtol=1e-12)
        np.testing.assert_allclose(moments.mean, plain.mean, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(moments.scatter, plain.scatter, rtol=1e-12, atol=1e-12)
        assert moments.n_rows.tolist() == plain.n_rows.tolist()
    for name, counted in found.counts.items():
        [plain_counts] = count(engine_of(table), [cs.Family(name, net[name].parents)])
        assert counted.ravel().tolist() == plain_counts.to_dense().values.ravel().tolist()


def test_means_of_a_hundred_million_keep_their_digits():
    net = cs.Network.of(
        [cs.LinearGaussian(X, (), 0.0, [], 1.0), cs.LinearGaussian(Y, (X,), 0.5, [1.0], 0.5)]
    )
    far = cs.Network.of(
        [cs.LinearGaussian(X, (), 1e8, [], 1.0), cs.LinearGaussian(Y, (X,), 0.5, [1.0], 0.5)]
    )
    # Multiples of 2^-20, so that adding 1e8 is exact.
    table = rows_of(net, 2_000, 1)
    near = {n: np.round(c * 2**20) / 2**20 for n, c in table.columns.items()}
    moved = {n: c + 1e8 for n, c in near.items()}
    low, high = (
        expected(one, cs.Table(table.schema, columns))
        for one, columns in ((net, near), (far, moved))
    )
    assert high.log_likelihood == pytest.approx(low.log_likelihood, rel=1e-9)
    np.testing.assert_allclose(high.moments["y"].mean - 1e8, low.moments["y"].mean, atol=1e-7)
    np.testing.assert_allclose(high.moments["y"].scatter, low.moments["y"].scatter, rtol=1e-9)


def test_precise_regressions_do_not_spoil_the_others():
    sd = 1e-9
    net = cs.Network.of(
        [
            cs.LinearGaussian(X, (), 0.0, [], 1.0),
            cs.LinearGaussian(Y, (), 0.0, [], 1.0),
            cs.LinearGaussian(Z, (X, Y), 0.0, [1.0, 1.0], sd),
        ]
    )
    rows = cs.read({"x": [None], "y": [None], "z": [2.0]}, continuous=["x", "y", "z"])
    found = expected(net, rows)
    moments = found.moments["z"]
    np.testing.assert_allclose(moments.mean[0, 0], [1.0, 1.0, 2.0], rtol=1e-12)
    # Given x + y = 2 both have the variance 1/2 and the covariance -1/2.
    np.testing.assert_allclose(moments.scatter[0, 0, :2, :2], [[0.5, -0.5], [-0.5, 0.5]], rtol=1e-9)
    assert found.log_likelihood == pytest.approx(
        -0.5 * np.log(2 * np.pi * (2 + sd**2)) - 1.0, rel=1e-12
    )


def same(a, b):
    assert a.log_likelihood == pytest.approx(b.log_likelihood, rel=1e-10)
    for name in a.counts:
        np.testing.assert_allclose(a.counts[name], b.counts[name], rtol=1e-9, atol=1e-9)
    for name, one in a.moments.items():
        other = b.moments[name]
        np.testing.assert_allclose(one.weight, other.weight, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(one.mean, other.mean, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(one.scatter, other.scatter, rtol=1e-7, atol=1e-7)


@given(seed=st.integers(0, 10**6))
def test_weights_are_repeated_rows_in_any_order(seed):
    rng = np.random.default_rng(seed)
    net = random_mixed(rng, 5)
    table = rows_of(net, 12, seed)
    weights = rng.integers(0, 4, 12)
    weighted = cs.Table(table.schema, table.columns, None, weights)
    repeated = table.take(rng.permutation(np.repeat(np.arange(12), weights)))
    same(expected(net, weighted), expected(net, repeated))


@pytest.mark.parametrize("seed", range(8))
def test_the_most_probable_completion_is_the_explanation_of_each_row(seed):
    net = random_mixed(np.random.default_rng(seed), 5)
    table = rows_of(net, 15, seed)
    filled = completed(net, table)
    assert list(filled) == list(net.variables)
    for row in range(table.n_rows):
        evidence = known(net, table, row)
        best = {**evidence, **net.mpe(evidence)}
        for name, variable in net.variables.items():
            if variable.is_continuous:
                assert filled[name][row] == pytest.approx(best[name], rel=1e-8, abs=1e-8)
            else:
                assert variable.discrete_states[filled[name][row]] == best[name]


@pytest.mark.parametrize("is_random", [False, True])
def test_what_a_row_knows_stays_to_the_bit(is_random):
    net = random_mixed(np.random.default_rng(2), 6)
    table = rows_of(net, 100, 2)
    rng = np.random.default_rng(0) if is_random else None
    filled = completed(net, table, rng)
    for name, column in table.columns.items():
        is_known = ~np.isnan(column) if column.dtype == float else column >= 0
        assert (filled[name][is_known] == column[is_known]).all()
        assert np.isfinite(filled[name]).all()
        assert (filled[name] >= 0).all() or net.variables[name].is_continuous


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.usefixtures("route")
def test_draws_have_the_expected_statistics(seed):
    rng = np.random.default_rng(seed)
    net = random_mixed(rng, 5, p_arc=0.6)
    table = rows_of(net, 3, seed, share=0.5)
    weights = np.full(3, 30_000)
    weighted = cs.Table(table.schema, table.columns, None, weights)
    mean, one = expected(net, weighted), drawn(net, weighted, rng)
    for name, counts in mean.counts.items():
        # Six standard deviations of a sum of at most 90,000 zeros and ones.
        np.testing.assert_allclose(one.counts[name], counts, atol=6 * 0.5 * 90_000**0.5)
    for name, moments in mean.moments.items():
        for state in np.flatnonzero(moments.weight[0] > 5_000):
            n = moments.weight[0, state]
            covariance = moments.scatter[0, state] / n
            size = np.sqrt(np.diag(covariance)) + 1e-12
            away = (one.moments[name].mean - moments.mean)[0, state] / size
            assert np.abs(away).max() < 6 / 5_000**0.5
            left = one.moments[name].scatter[0, state] / n - covariance
            assert np.abs(left / np.outer(size, size)).max() < 0.2


def test_random_completions_follow_the_posterior_jointly():
    net = cs.Network.of(
        [
            cs.Categorical(COIN, (), [0.5, 0.5]),
            cs.LinearGaussian(X, (COIN,), [-2.0, 2.0], np.zeros((2, 0)), [1.0, 1.0]),
        ]
    )
    n = 20_000
    rows = cs.Table(
        cs.Schema({"coin": COIN, "x": X}),
        {"coin": np.full(n, -1, np.int8), "x": np.full(n, np.nan)},
    )
    filled = completed(net, rows, np.random.default_rng(1))
    assert filled["coin"].mean() == pytest.approx(0.5, abs=0.02)
    assert filled["x"][filled["coin"] == 1].mean() == pytest.approx(2.0, abs=0.05)
    assert filled["x"][filled["coin"] == 0].std() == pytest.approx(1.0, abs=0.05)


def two_hospitals():
    place = cs.Variable("place", ("rome", "oslo"))
    net = cs.Network.of(
        [
            cs.Categorical(place, (), [0.5, 0.5]),
            cs.Categorical(COIN, (), [0.5, 0.5]),
            cs.LinearGaussian(X, (place, COIN), np.eye(2), np.zeros((2, 2, 0)), np.ones((2, 2))),
            cs.LinearGaussian(Y, (X,), 0.0, [1.0], 1.0),
        ],
        source="place",
    )
    rows = cs.read(
        {
            "place": ["rome", "rome", "oslo"],
            "coin": ["heads", None, "tails"],
            "x": [1.5, None, 2.5],
            "y": [1.0, 2.0, None],
        },
        source="place",
        continuous=["x", "y"],
        states={"coin": ["heads", "tails"]},
    )
    return net, rows


def test_sources_are_an_axis_where_they_are_kept_apart():
    net, rows = two_hospitals()
    pooled = expected(net, rows)
    apart = expected(net, rows, apart=["x"])
    assert pooled.moments["x"].source is None
    assert [v.name for v in pooled.moments["x"].given] == ["place", "coin"]
    source = apart.moments["x"].source
    assert source is not None
    assert source.states == rows.sources
    assert [v.name for v in apart.moments["x"].given] == ["coin"]
    order = [rows.sources.index(name) for name in ("rome", "oslo")]
    for name in ("weight", "mean", "scatter"):
        one, other = getattr(apart.moments["x"], name), getattr(pooled.moments["x"], name)
        np.testing.assert_allclose(one[order].ravel(), other.ravel())
    assert apart.moments["x"].n_rows[order].tolist() == pytest.approx([2, 1])
    assert apart.moments["y"].source is None
    assert pooled.counts["place"].tolist() == [2, 1]


def test_a_node_without_a_column_is_hidden():
    net, rows = two_hospitals()
    without = rows.select(["x", "y"])
    nothing = {**rows.columns, "coin": np.full(3, -1, np.int8)}
    hidden = cs.Table(rows.schema, nothing, rows.source_codes)
    same(expected(net, without), expected(net, hidden))


def test_a_table_without_rows_has_empty_statistics():
    net, rows = two_hospitals()
    found = expected(net, rows.take(slice(0)))
    assert found.log_likelihood == 0.0
    assert found.moments["x"].weight.sum() == found.counts["coin"].sum() == 0


def test_a_logistic_node_is_refused_by_name():
    logistic = cs.Logistic(COIN, (X,), [0.0, 1.0], [[0.0], [1.0]])
    net = cs.Network.of([cs.LinearGaussian(X, (), 0.0, [], 1.0), logistic])
    rows = cs.read({"coin": ["heads", "tails"], "x": [1.5, 2.0]})
    with pytest.raises(ModelError, match="'coin' is discrete and has the continuous parents 'x'"):
        Cases.of(net, rows)


def test_any_number_of_states_may_be_missing():
    coins = [cs.Variable(f"c{i}", ("a", "b")) for i in range(30)]
    first = cs.Categorical(coins[0], (), [0.5, 0.5])
    chain = [
        cs.Categorical(coin, (before,), [[0.9, 0.1], [0.2, 0.8]])
        for before, coin in itertools.pairwise(coins)
    ]
    value = cs.LinearGaussian(X, (coins[-1],), [0.0, 1.0], np.zeros((2, 0)), [1.0, 1.0])
    net = cs.Network.of([first, *chain, value])
    nothing = {coin.name: np.full(2, -1, np.int8) for coin in coins}
    rows = cs.Table(cs.Schema(net.variables), {**nothing, "x": np.array([0.5, 2.0])})
    found = expected(net, rows)
    assert found.log_likelihood == pytest.approx(net.log_likelihood(rows).sum(), abs=1e-10)
    belief = sum(net.query("c29", given={"x": x}).values for x in (0.5, 2.0))
    np.testing.assert_allclose(found.counts["c29"].sum(axis=0), belief, atol=1e-12)
    np.testing.assert_allclose(found.moments["x"].weight[0], belief, atol=1e-12)


@pytest.mark.parametrize(
    ("limit", "what"), [(9_000, "joint states of missing"), (300, "the moments of 'x'")]
)
def test_what_would_be_too_large_is_refused_before_it_is_made(limit, what):
    net, rows = two_hospitals()
    many = rows.take(np.ones(100, int))
    with pytest.raises(MemoryLimitError, match=what):
        Cases.of(net, many, memory_limit=limit)


def test_a_sd_of_zero_is_refused_with_the_joint_state():
    net, rows = two_hospitals()
    local = net["x"]
    sd = np.array([[1.0, 1.0], [0.0, 1.0]])
    bad = cs.LinearGaussian(X, local.given, local.intercept, local.coefficients, sd)
    broken = cs.Network.of([net["place"], net["coin"], bad, net["y"]], source="place")
    with pytest.raises(ModelError, match="'x' given 'place' = 'oslo', 'coin' = 'heads' is zero"):
        Cases.of(net, rows).expected(broken)


def test_another_graph_is_refused():
    net, rows = two_hospitals()
    other = cs.Network.of([net["place"], net["coin"], net["x"], cs.LinearGaussian(Y, (), 0, [], 1)])
    with pytest.raises(InputError, match="the graph that the rows were prepared for"):
        Cases.of(net, rows).expected(other)


def test_sources_cannot_be_kept_apart_without_any():
    net = cs.Network.of([cs.LinearGaussian(X, (), 0.0, [], 1.0)])
    with pytest.raises(DataError, match="'x' cannot be kept apart by source"):
        Cases.of(net, cs.read({"x": [1.5, 2.5]}), apart=["x"])


def test_a_discrete_column_of_a_continuous_node_is_refused():
    net = cs.Network.of([cs.LinearGaussian(X, (), 0.0, [], 1.0)])
    with pytest.raises(DataError, match="column 'x' is discrete"):
        Cases.of(net, cs.read({"x": ["a", "b"]}))


def test_an_impossible_row_makes_the_likelihood_zero():
    net = cs.Network.of(
        [
            cs.Categorical(COIN, (), [1.0, 0.0]),
            cs.Categorical(cs.Variable("dice", ("low", "high")), (COIN,), [[1.0, 0.0], [0.5, 0.5]]),
            cs.LinearGaussian(X, (), 0.0, [], 1.0),
        ]
    )
    rows = cs.read(
        {"coin": ["heads", None], "dice": ["low", "high"], "x": [0.5, None]},
        schema=net.variables,
    )
    found = expected(net, rows)
    assert found.log_likelihood == -np.inf
    assert found.counts["coin"].tolist() == [1.0, 0.0]
    with pytest.raises(ImpossibleEvidenceError):
        drawn(net, rows, np.random.default_rng(0))
    with pytest.raises(ImpossibleEvidenceError, match="row 2"):
        completed(net, rows)
    with pytest.raises(ImpossibleEvidenceError, match="row 2"):
        cs.expected_counts(net, rows)
