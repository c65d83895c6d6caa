from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import rankdata

import consilience as cs
from consilience.errors import InputError


def autoregressive(correlation, *, chains=4, draws=2000, seed=1):
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(chains, draws))
    x = noise / np.sqrt(1 - correlation**2)
    for t in range(1, draws):
        x[:, t] = correlation * x[:, t - 1] + noise[:, t]
    return x


def plain_r_hat(draws):
    """Split R-hat by its definition, chain by chain."""
    half = draws.shape[1] // 2
    parts = [c[s] for c in draws for s in (slice(0, half), slice(draws.shape[1] - half, None))]
    within = np.mean([np.var(part, ddof=1) for part in parts])
    between = half * np.var([np.mean(part) for part in parts], ddof=1)
    return np.sqrt(((half - 1) / half * within + between / half) / within)


def plain_size(draws):
    """Geyer's initial monotone sequence by loops."""
    m, n = draws.shape
    off = draws - draws.mean(axis=1, keepdims=True)
    covariance = [np.mean([(o[: n - t] * o[t:]).sum() / n for o in off]) for t in range(n)]
    within = covariance[0] * n / (n - 1)
    total = covariance[0] + draws.mean(axis=1).var(ddof=1)
    rho = [1.0] + [1 - (within - c) / total for c in covariance[1:]]
    pairs, last = [], np.inf
    for t in range(0, n - 1, 2):
        pair = rho[t] + rho[t + 1]
        if pair <= 0:
            break
        last = min(last, pair)
        pairs.append(last)
    return m * n / max(2 * sum(pairs) - 1, 1 / np.log10(m * n))


def scores(draws):
    ranks = rankdata(draws).reshape(draws.shape)
    return ndtri((ranks - 0.375) / (draws.size + 0.25))


def halves(draws):
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def test_r_hat_is_that_of_the_definition():
    draws = autoregressive(0.9, draws=101) + np.arange(4)[:, None] / 5
    split = halves(draws)
    folded = np.abs(split - np.median(split))
    wanted = max(_of_halves(scores(split)), _of_halves(scores(folded)))
    assert cs.gaps.r_hat(draws) == pytest.approx(wanted, rel=1e-12)


def _of_halves(parts):
    n = parts.shape[1]
    within, between = parts.var(axis=1, ddof=1).mean(), parts.mean(axis=1).var(ddof=1)
    return np.sqrt(((n - 1) / n * within + between) / within)


def test_the_plain_r_hat_of_normal_draws_is_near_the_rank_normalised_one():
    draws = autoregressive(0.5)
    assert cs.gaps.r_hat(draws) == pytest.approx(plain_r_hat(draws), abs=0.01)


@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.8])
def test_the_bulk_size_is_that_of_the_definition(correlation):
    draws = autoregressive(correlation, chains=2, draws=120)
    assert cs.gaps.bulk_size(draws) == pytest.approx(plain_size(scores(halves(draws))), rel=1e-9)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_the_bulk_size_of_an_autoregression_is_near_its_theory(correlation):
    draws = autoregressive(correlation, chains=4, draws=20_000)
    theory = draws.size * (1 - correlation) / (1 + correlation)
    assert cs.gaps.bulk_size(draws) == pytest.approx(theory, rel=0.1)


def test_the_tail_size_is_the_smaller_of_both_tails():
    draws = autoregressive(0.6, chains=2, draws=300)
    split = halves(draws)
    points = np.quantile(split, [0.05, 0.95])
    wanted = min(plain_size((split <= point).astype(float)) for point in points)
    assert cs.gaps.tail_size(draws) == pytest.approx(wanted, rel=1e-9)


def test_diagnostics_of_many_parameters_are_those_of_each():
    draws = np.stack([autoregressive(c, draws=200) for c in (0.1, 0.9)], axis=-1)
    for measure in (cs.gaps.r_hat, cs.gaps.bulk_size, cs.gaps.tail_size):
        assert measure(draws) == pytest.approx([float(measure(draws[..., k])) for k in (0, 1)])


def test_a_monotone_change_of_scale_changes_no_rank_measure():
    draws = autoregressive(0.7, draws=400)
    assert cs.gaps.bulk_size(np.exp(3 * draws)) == pytest.approx(cs.gaps.bulk_size(draws))


def test_parameters_that_never_move_have_met_and_count_all_draws():
    still = np.full((4, 50), 0.25)
    assert (cs.gaps.r_hat(still), cs.gaps.bulk_size(still), cs.gaps.tail_size(still)) == (
        1.0,
        200.0,
        200.0,
    )


def test_chains_that_stand_at_different_places_have_not_met():
    assert cs.gaps.r_hat(np.repeat(np.arange(4.0)[:, None], 50, axis=1)) == np.inf


@pytest.mark.parametrize("shape", [(4, 3), (10,), (0, 10)])
def test_too_few_draws_are_refused(shape):
    with pytest.raises(InputError, match="at least 4 draws"):
        cs.gaps.r_hat(np.zeros(shape))
