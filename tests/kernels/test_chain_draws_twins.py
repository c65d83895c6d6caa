"""Gibbs sweeps against the posterior by a sum over all numbers of tables.

A strength whose prior allows one value leaves a hierarchy of one level, whose means are fractions.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hierarchy_oracles import rational

from consilience.kernels import chain, chain_draws
from consilience.parameters import backoff

COUNTS = np.array([[2.0, 0.0, 1.0], [1.0, 3.0, 0.0], [0.0, 0.0, 0.0]])
STRENGTH = 1.5
N_DRAWS = 4000
ROOM = 0.02
"""Six standard errors of the mean of so many draws of sd 0.2."""


def begun():
    """Rows of one level above the counts, as sweeps take them."""
    way = backoff.way_of((3,), [backoff.OTHER_PARENT], (0,), 0.0)
    customers, totals = np.zeros((4, 3)), np.zeros(4)
    seen, ends = chain.place(COUNTS, way.up, way.start, customers, totals)
    shapes, rates = np.array([1.0, 1e8]), np.array([1.0, 1e8 / STRENGTH])
    phi, s = np.full((4, 3), 1 / 3), np.array([0.0, STRENGTH])
    state = np.array([7], np.uint64)
    return way, (customers, totals, phi, np.ones(4), s, shapes, rates, way.up), seen, ends, state


def test_sweeps_draw_the_base_from_its_posterior():
    _, rows, seen, ends, state = begun()
    drawn = []
    for _ in range(N_DRAWS):
        chain_draws.sweep(*rows, seen, ends, state, 1)
        drawn.append(rows[2][0].copy())
    mean, square, _, _ = rational(COUNTS.astype(int), Fraction(3, 2), Fraction(1))
    np.testing.assert_allclose(np.mean(drawn, axis=0), mean, atol=ROOM)
    np.testing.assert_allclose(np.mean(np.square(drawn), axis=0), square, atol=ROOM)
    assert abs(rows[4][1] - STRENGTH) < 0.01


def test_drawn_tables_have_the_means_of_the_posterior():
    way, rows, seen, ends, state = begun()
    out = np.empty((N_DRAWS, 3, 3))
    spare = np.zeros((4, 3)), np.zeros(4), np.zeros(1, bool), 0.0
    chain_draws.draw_tables(*rows, way.start, seen, ends, *spare, state, 1, out)
    np.testing.assert_allclose(out.sum(axis=2), 1.0, rtol=1e-12)
    _, _, theta, _ = rational(COUNTS.astype(int), Fraction(3, 2), Fraction(1))
    np.testing.assert_allclose(out.mean(axis=0), theta, atol=ROOM)
