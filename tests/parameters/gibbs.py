r"""A collapsed Gibbs sampler of the hierarchy: a judge that shares no formula with the exact pass.

.. math:: m_{xj} \sim \mathrm{CRT}(N_{xj}, s a_x), \qquad a \sim \mathrm{Dirichlet}(\alpha_0 + m)

where CRT(n, c) is the number of successes of Bernoulli variables :math:`c / (c + i)`, i < n. Means
are Rao-Blackwellised: each sweep adds :math:`E[a \mid m]`. Many chains run side by side, and the
spread of their means gives the standard error.
"""

from __future__ import annotations

import numpy as np


def gibbs(table, s, alpha0, *, n_sweeps=200_000, n_chains=400, burn_in=50, seed=0):
    """Mean of a and its standard error from ``n_sweeps`` sweeps in all, after burn-in."""
    table, rng = np.asarray(table), np.random.default_rng(seed)
    state, customer = _customers(table)
    r = table.shape[1]
    a = rng.dirichlet(np.full(r, alpha0), size=n_chains)
    total = np.zeros((n_chains, r))
    for sweep in range(burn_in + n_sweeps // n_chains):
        c = s * a[:, state]
        opens = rng.random(c.shape) * (c + customer) < c
        size = np.full((n_chains, r), float(alpha0))
        for x in range(r):
            size[:, x] += opens[:, state == x].sum(axis=1)
        if sweep >= burn_in:
            total += size / size.sum(axis=1, keepdims=True)
        a = rng.standard_gamma(size)
        a = np.maximum(a / a.sum(axis=1, keepdims=True), 1e-300)
    means = total / (n_sweeps // n_chains)
    return means.mean(axis=0), means.std(axis=0, ddof=1) / np.sqrt(n_chains)


def _customers(table):
    """State of each row of the data, and how many of its group came before it with that state."""
    state, customer = [], []
    for row in table:
        for x, n in enumerate(row):
            state += [x] * n
            customer += range(n)
    return np.array(state, int), np.array(customer)
