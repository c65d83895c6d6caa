r"""Simulation-based calibration of the hierarchy's posterior.

If parameters are drawn from the prior, rows from the parameters and draws from the posterior given
the rows, then the rank of a parameter (or of any function of parameters and rows) among its draws
is uniform (Talts, Betancourt, Simpson, Vehtari and Gelman 2018). The log-likelihood is ranked too:
it notices what single parameters do not (Modrák and others 2023).
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy
from scipy.stats import chisquare

from consilience.parameters.hierarchical import VIEWS, HierarchicalPosterior
from consilience.parameters.hierarchy import solve
from consilience.parameters.strength import Gamma

N_REPLICATIONS = 1000
N_DRAWS = 99
N_BINS = 20


def simulated(rng, s, *, n_batches, n_groups, n_states, n_rows):
    """Theta and counts of shape (batches, groups, states); the last group has no rows."""
    size = rng.gamma(s.shape, 1 / s.rate) if isinstance(s, Gamma) else s
    base = rng.dirichlet(np.ones(n_states), size=n_batches)
    theta = rng.standard_gamma(
        np.maximum(size * base, 1e-12)[:, None], (n_batches, n_groups, n_states)
    )
    theta /= theta.sum(axis=-1, keepdims=True)
    rows = rng.integers(0, n_rows, (n_batches, n_groups))
    rows[:, -1] = 0
    return theta, rng.multinomial(rows, theta).astype(float), size


def ranks(s, view, shape, seed, n_replications=N_REPLICATIONS, **sizes):
    """Rank of every entry of the table, of the log-likelihood and of s, one row a replication."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n_replications):
        theta, counts, size = simulated(rng, s, **sizes)
        posterior = HierarchicalPosterior(view, solve(counts, s, 1.0), shape)
        which = posterior.hierarchy.draw_strengths(rng, N_DRAWS)
        draws = np.stack(
            [posterior.hierarchy.draw_batch(rng, b, which) for b in range(len(counts))], axis=1
        )
        entries = VIEWS[view](theta, shape)
        drawn = np.stack([VIEWS[view](draw, shape) for draw in draws])
        found.append(
            [
                *(drawn < entries).sum(axis=0).ravel(),
                (xlogy(counts, draws).sum(axis=(1, 2, 3)) < xlogy(counts, theta).sum()).sum(),
                (posterior.hierarchy.s[which] < size).sum(),
            ]
        )
    return np.array(found)


def p_values(found):
    """Of the chi-square test of uniform ranks, for each quantity."""
    width = (N_DRAWS + 1) // N_BINS
    return np.array(
        [chisquare(np.bincount(column // width, minlength=N_BINS)).pvalue for column in found.T]
    )


def test_conditional_states_are_calibrated():
    sizes = {"n_batches": 2, "n_groups": 4, "n_states": 3, "n_rows": 9}
    found = ranks(3.0, "sources as groups", (4, 2, 3), 1, **sizes)
    p = p_values(found[:, :-1])
    assert (p > 0.01).mean() >= 0.95


def test_joint_states_are_calibrated():
    sizes = {"n_batches": 1, "n_groups": 4, "n_states": 6, "n_rows": 15}
    found = ranks(6.0, "joint states", (4, 2, 3), 2, **sizes)
    p = p_values(found[:, :-1])
    assert (p > 0.01).mean() >= 0.95


def test_a_learned_strength_is_calibrated():
    sizes = {"n_batches": 1, "n_groups": 4, "n_states": 3, "n_rows": 12}
    found = ranks(Gamma(2.0, 0.5), "sources as groups", (4, 1, 3), 3, **sizes)
    assert (p_values(found[:, :-1]) > 0.01).mean() >= 0.95
    # s lies between the nodes of the quadrature: its rank is right to a node, not to a draw.
    below = found[:, -1] / N_DRAWS
    np.testing.assert_allclose(np.quantile(below, [0.25, 0.5, 0.75]), [0.25, 0.5, 0.75], atol=0.08)


def test_the_check_notices_a_posterior_that_is_too_narrow():
    sizes = {"n_batches": 1, "n_groups": 4, "n_states": 3, "n_rows": 9}
    rng = np.random.default_rng(4)
    found = []
    for _ in range(N_REPLICATIONS):
        theta, counts, _ = simulated(rng, 3.0, **sizes)
        draws = solve(counts + 1, 3.0, 1.0).draw(rng, N_DRAWS)
        found.append((draws < theta).sum(axis=0).ravel())
    assert (p_values(np.array(found)) > 0.01).mean() < 0.5
