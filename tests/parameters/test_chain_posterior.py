"""The posterior of a chain: against the exact hierarchy, weighted draws of the prior, and laws."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import consilience as cs
from consilience.errors import InputError, MemoryLimitError
from consilience.kernels.chain import settle
from consilience.parameters import backoff, chain_posterior
from consilience.parameters.chain_posterior import ChainPosterior, WeightedWay


def posterior(
    counts,
    order,
    *,
    parents=(1.0, 0.1),
    sources=(1.0, 0.02),
    has_source=False,
    rho=0.0,
    pooled_share=0.0,
):
    """The posterior of one way, with equal row weights unless told otherwise."""
    sizes, r = counts.shape[:-1], counts.shape[-1]
    kinds = [backoff.SOURCE if has_source and not i else backoff.OTHER_PARENT for i in range(2)]
    way = backoff.way_of(sizes, kinds, order, rho)
    prior = np.array([sources if kind == backoff.SOURCE else parents for kind in way.kinds])
    n_sources = sizes[0] if has_source else 0
    shape = (sizes[0] + has_source, *sizes[1:], r)
    s = np.full(len(way.kinds), 5.0)
    share_unseen = float(way.drops_source_first)
    one = WeightedWay(way, 1.0, share_unseen, s, prior[:, 0].copy(), prior[:, 1].copy())
    rows = counts.reshape(-1, r).astype(float)
    return ChainPosterior(rows, n_sources, (one,), shape, pooled_share)


def begun(posterior):
    """The sweeps of the only way, after the first draw."""
    sweeps = chain_posterior._Sweeps(posterior, posterior.ways[0])
    sweeps.draw(1, np.random.default_rng(0))
    return sweeps


def drawn(posterior, n, seed=1):
    tables = posterior.draws(np.random.default_rng(seed))
    return np.array([next(tables) for _ in range(n)])


def dirichlet(rng, concentration):
    log = np.log(rng.standard_gamma(concentration + 1))
    log += np.log(rng.random(concentration.shape)) / np.maximum(concentration, 1e-300)
    cells = np.exp(log - log.max(axis=-1, keepdims=True))
    return cells / cells.sum(axis=-1, keepdims=True)


def test_two_levels_agree_with_weighted_draws_of_the_prior():
    counts = np.array([[[3, 0], [1, 2]], [[0, 1], [4, 1]], [[0, 0], [0, 2]]])  # (a, b, x)
    rng, n = np.random.default_rng(0), 400_000
    s = [rng.gamma(1.0, 10.0, (n, 1, 1, 1)) for _ in range(2)]
    top = dirichlet(rng, np.ones((n, 1, 1, 2)))
    middle = dirichlet(rng, np.broadcast_to(s[0] * top, (n, 1, 2, 2)))
    rows = dirichlet(rng, np.broadcast_to(s[1] * middle, (n, 3, 2, 2)))
    log_likelihood = (counts * np.log(np.maximum(rows, 1e-300))).sum(axis=(1, 2, 3))
    weights = np.exp(log_likelihood - log_likelihood.max())
    weights /= weights.sum()
    mean = np.tensordot(weights, rows, axes=1)
    square = np.tensordot(weights, rows**2, axes=1)
    found = drawn(posterior(counts, (0, 1)), 6000)  # a is dropped first
    # The standard error of either side is below 0.004.
    np.testing.assert_allclose(found.mean(axis=0), mean, atol=0.012)
    np.testing.assert_allclose(found.var(axis=0), square - mean**2, atol=0.006)


@pytest.mark.parametrize(
    "rows",
    [
        [[3, 1], [0, 4], [2, 2]],
        [[30, 10], [25, 20], [18, 40], [3, 0]],
        [[4000, 1000], [3900, 1200], [4100, 800]],
        [[400_000, 100_000], [399_000, 101_000]],
    ],
    ids=["few", "dozens", "thousands", "millions"],
)
def test_one_level_agrees_with_the_exact_hierarchy(rows):
    counts = np.array(rows)
    names = [f"h{i}" for i in range(len(rows))]
    frame = {"f": np.repeat(names, 2), "x": ["a", "b"] * len(rows), "n": counts.ravel()}
    table = cs.read(frame, source="f", weight="n", states={"x": ["a", "b"]})
    exact = cs.fit(cs.DAG(nodes=["x"]), table, cs.HDMCS(s=cs.Gamma(1, 0.02)))["x"]
    found = drawn(posterior(counts, (0,), has_source=True), 4000)
    error = np.sqrt(exact.posterior.variance() / 4000)
    assert np.all(np.abs(found.mean(axis=0) - exact.table) < 6 * error)
    sd, wanted = found.std(axis=0), np.sqrt(exact.posterior.variance())
    # Draws of a new source have heavy tails where there are few sources.
    np.testing.assert_allclose(sd, wanted, rtol=0.12)


def test_fractions_of_rows_count_as_fractions():
    whole = drawn(posterior(np.array([[12, 3], [10, 6]]), (0,)), 3000)
    parts = drawn(posterior(np.array([[12.4, 2.6], [9.5, 6.5]]), (0,)), 3000)
    np.testing.assert_allclose(parts.mean(axis=0), whole.mean(axis=0), atol=0.03)


def test_without_rows_draws_are_those_of_the_prior():
    found = drawn(posterior(np.zeros((3, 2)), (0,)), 4000)[..., 0]
    assert found.mean() == pytest.approx(0.5, abs=0.02)
    # Var = E[phi (1 - phi) / (s + 1)] + Var phi with phi uniform, s ~ Gamma(1, 0.1).
    s = np.random.default_rng(0).gamma(1.0, 10.0, 100_000)
    assert found.var() == pytest.approx(1 / 12 + (1 / (s + 1)).mean() / 6, abs=0.008)


def test_equal_sizes_have_one_posterior_whatever_the_exponent():
    counts = np.array([[[30, 10], [12, 28]], [[24, 16], [8, 32]]])  # 40 rows of each (f, c)
    plain, weighted = (
        drawn(posterior(counts, (0, 1), has_source=True, rho=rho), 6000) for rho in (0.0, 1.0)
    )
    np.testing.assert_allclose(plain.mean(axis=0), weighted.mean(axis=0), atol=0.02)
    np.testing.assert_allclose(plain.std(axis=0), weighted.std(axis=0), rtol=0.1)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_draws_have_the_row_weights_of_the_fit_and_median_ones_for_a_new_source(order):
    counts = np.array([[[300, 100], [120, 280]], [[4, 6], [8, 2]], [[5, 5], [0, 0]]])
    one = posterior(counts, order, has_source=True, rho=1.0)
    way = one.ways[0].way
    *_, wanted, _ = settle(one.rows, way.up, way.start, way.rho, one.ways[0].s, 500, 1e-6)
    found = begun(one)._weight
    cells = counts.reshape(6, 2).sum(axis=1)
    seen, last = np.flatnonzero(cells), way.start[-2]
    np.testing.assert_allclose(found[: way.start[1]], wanted[: way.start[1]])
    np.testing.assert_allclose(found[-8:-2][seen], wanted[last:][seen])
    np.testing.assert_allclose(found[-3:], np.median(wanted[last:][seen]))


def test_a_new_source_is_like_a_source_or_like_a_row():
    counts = np.array([[18_000, 2000], *[[200, 800]] * 4])
    base, mixed, together = (
        drawn(posterior(counts, (0,), has_source=True, pooled_share=share), 6000)[:, -1, 0]
        for share in (0.0, 0.25, 1.0)
    )
    assert together.mean() == pytest.approx(counts[:, 0].sum() / counts.sum(), abs=0.02)
    apart = together.mean() - base.mean()
    assert mixed.mean() == pytest.approx(base.mean() + 0.25 * apart, abs=0.02)
    within = 0.75 * base.var() + 0.25 * together.var()
    assert mixed.var() == pytest.approx(within + 0.75 * 0.25 * apart**2, rel=0.06)


def test_all_rows_together_say_no_more_than_the_sources_that_gave_them():
    alike, apart = np.array([[30, 70]] * 5), np.array([[600, 1400], *[[6, 14]] * 4])
    few, many = (
        posterior(counts, (0,), has_source=True, pooled_share=1.0) for counts in (apart, alike)
    )
    found = [begun(one)._n_alike[0] for one in (few, many)]
    np.testing.assert_allclose(found, [2080**2 / (2000**2 + 4 * 20**2), 5.0])


def test_intervals_of_a_new_source_are_wide_where_sizes_differ():
    # Coverage of 90 % intervals over 60 data sets; the exact hierarchy has about 0.8 here.
    rng, sizes, covered = np.random.default_rng(8), np.array([2000, 20, 20, 20, 20]), 0
    for _ in range(60):
        p = rng.beta(0.9, 2.1, size=6)
        yes = rng.binomial(sizes, p[:-1])
        rows = np.stack([sizes - yes, yes], axis=1)
        frame = {"f": np.repeat([*"abcde"], 2), "x": ["n", "y"] * 5, "n": rows.ravel()}
        table = cs.read(frame, source="f", weight="n", states={"x": ["n", "y"]})
        low, high = cs.estimators.parameter_intervals(
            cs.fit(cs.DAG(nodes=["x"]), table), "x", level=0.9
        )
        covered += low[-1, 1] <= p[-1] <= high[-1, 1]
    assert covered / 60 > 0.65


FRAME = {
    "f": ["u", "u", "v", "v", "w", "w"] * 10,
    "c": ["p", "q"] * 30,
    "x": ["1", "2", "1", "1", "2", "2", "1", "2", "1", "2"] * 6,
}
DAG = cs.DAG([("c", "x")])


@pytest.fixture
def net():
    return cs.fit(DAG, cs.read(FRAME, source="f"))


def test_draws_are_tables_with_the_new_source_last(net):
    one = next(cs.draws(net, 1, seed=1))
    assert one["x"].table.shape == net["x"].table.shape == (4, 2, 2)
    np.testing.assert_allclose(one["x"].table.sum(axis=-1), 1.0)
    assert np.all(one["x"].table >= 0)


def test_the_same_seed_gives_the_same_draws(net):
    first, again, other = ([d["x"].table for d in cs.draws(net, 3, seed=s)] for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_intervals_hold_the_fitted_table_and_are_widest_for_a_new_source(net):
    low, high = cs.estimators.parameter_intervals(net, "x", level=0.9)
    assert np.all((low < net["x"].table) & (net["x"].table < high))
    assert (high - low)[-1].mean() > (high - low)[:-1].mean(axis=(1, 2)).max()


def test_few_sources_say_less_of_a_new_one_than_many():
    def width(n_sources):
        rng = np.random.default_rng(3)
        frames = {
            f"h{i}": {"x": rng.choice(["a", "b"], 200, p=[0.3, 0.7])} for i in range(n_sources)
        }
        low, high = cs.estimators.parameter_intervals(
            cs.fit(cs.DAG(nodes=["x"]), cs.read(frames)), "x", level=0.9
        )
        return (high - low)[-1, 0]

    assert width(2) > 1.5 * width(8) > 1.5 * width(30)


def test_a_model_file_keeps_the_posterior(net, tmp_path):
    cs.save(net, tmp_path / "net.json")
    again = cs.load(tmp_path / "net.json")
    for one, two in zip(cs.draws(net, 3, seed=5), cs.draws(again, 3, seed=5), strict=True):
        np.testing.assert_array_equal(one["x"].table, two["x"].table)


def test_draws_behind_an_interval_are_kept_but_not_in_pickles(net):
    one = net["x"].posterior
    first = one.interval(0.9)
    assert one._drawn() is one._drawn()
    again = pickle.loads(pickle.dumps(one))
    assert not again._kept
    np.testing.assert_array_equal(first, again.interval(0.9))


def test_draws_of_large_tables_are_not_kept(net, monkeypatch):
    monkeypatch.setattr(chain_posterior, "MOST_KEPT", 100)
    net["x"].posterior.interval(0.9)
    assert not net["x"].posterior._kept


@pytest.mark.parametrize("prior", [cs.Gamma(1e-50, 1e50), cs.Gamma(1e50, 1e-50)], ids=repr)
def test_the_most_extreme_priors_come_back_from_a_file(prior, tmp_path):
    frame = {name: cells * 4 for name, cells in FRAME.items()}
    net = cs.fit(DAG, cs.read(frame, source="f"), cs.HDC(parents=prior, sources=prior))
    cs.save(net, tmp_path / "net.json")
    again = cs.load(tmp_path / "net.json")
    np.testing.assert_array_equal(again["x"].table, net["x"].table)


@pytest.mark.parametrize(("shape", "rate"), [(1e-300, 1.0), (1.0, 1e300), (1.0, 1e-60)])
def test_priors_that_no_file_could_keep_are_refused(shape, rate):
    name, value = ("rate", rate) if shape == 1.0 else ("shape", shape)
    with pytest.raises(InputError, match=f"Gamma: {name} must lie between 1e-50 and 1e.50") as told:
        cs.Gamma(shape, rate)
    assert told.value.culprits["parameter"] == name
    assert repr(value) in str(told.value)


@pytest.mark.parametrize("level", [0.0, 1.0, 1.5])
def test_the_level_of_an_interval_lies_between_zero_and_one(net, level):
    with pytest.raises(InputError, match="level must lie between 0 and 1"):
        cs.estimators.parameter_intervals(net, "x", level=level)


def test_draws_that_do_not_fit_in_memory_are_refused(net, monkeypatch):
    monkeypatch.setattr(chain_posterior, "MEMORY_LIMIT", 100)
    with pytest.raises(MemoryLimitError, match=r"2000 draws of a table of shape \(4, 2, 2\)"):
        cs.estimators.parameter_intervals(net, "x")
