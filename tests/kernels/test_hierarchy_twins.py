"""The exact hierarchy against sums over all numbers of tables."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hierarchy_oracles import rational, rising, rising_coefficients

from consilience.kernels import hierarchy

TABLES = [np.array([[2, 0, 1], [1, 3, 0]]), np.array([[4, 1]]), np.array([[0, 0], [1, 0], [2, 2]])]


@pytest.mark.parametrize("order", [0, 1, 2])
def test_moments_and_evidence_are_those_of_fractions(order):
    s, alpha = 1.5, Fraction(1, 2)
    plan, at, moment_at = [], 0, 0
    for b, table in enumerate(TABLES):
        plan.append((1, *table.shape, at, b, moment_at))
        at, moment_at = at + table.size, moment_at + table.shape[1]
    flat = np.concatenate([table.ravel() for table in TABLES]).astype(float)
    moments, log_evidence = np.full(moment_at, np.nan), np.empty(3)
    is_exact, strengths, prior = np.zeros(3, bool), np.full(3, s), np.full(3, 0.5)
    rest = (order, 1e9, is_exact, moments, log_evidence)
    hierarchy.solve_all(flat, np.array(plan), strengths, prior, *rest)
    assert is_exact.all()
    for b, table in enumerate(TABLES):
        mean, square, _, evidence = rational(table, Fraction(3, 2), alpha)
        assert log_evidence[b] == pytest.approx(evidence, rel=1e-12)
        if order:
            found = moments[plan[b][5] : plan[b][5] + table.shape[1]]
            np.testing.assert_allclose(found, [mean, square][order - 1], rtol=1e-12)


def test_a_table_is_solved_exactly_if_its_sums_are_short():
    table = np.array([TABLES[0], np.zeros((2, 3), int), [[9, 9, 9], [9, 9, 9]]])
    lengths = [table[b].sum(axis=0)[table[b].any(axis=0)] + 1 for b in range(3)]
    work = [len(k) * (1 + k.sum()) * max(k, default=1) for k in lengths]
    for most in (0.0, work[0] - 1, work[0], work[2] - 1, work[2]):
        found = hierarchy.can_be_exact(table, 2.0, np.ones(3), float(most))
        assert found.tolist() == [one <= most for one in work]


def posterior(table, s, alpha):
    """Probability of each number of tables of all states, as fractions."""
    found = {}
    sums = [[1] for _ in table.T]
    for x, column in enumerate(table.T):
        for n in column:
            sums[x] = np.convolve(np.array(sums[x], object), rising_coefficients(int(n)))
    for m in product(*(range(len(one)) for one in sums)):
        weight = Fraction(1)
        for x, k in enumerate(m):
            weight *= int(sums[x][k]) * s**k * rising(alpha, k)
        found[m] = weight / rising(len(sums) * alpha, sum(m))
    return found


def test_drawn_tables_are_where_the_uniform_number_falls():
    table, s, alpha = TABLES[0], Fraction(3, 2), Fraction(1)
    uniform, drawn = np.random.default_rng(1).random((200, 3)), np.zeros((200, 3), np.int64)
    hierarchy.draw_tables(table, 1.5, np.ones(3), uniform, drawn)
    chances = posterior(table, s, alpha)
    for numbers, out in zip(uniform, drawn.tolist(), strict=True):
        left = chances
        for x in range(3):
            total, target = sum(left.values()), Fraction(0)
            for k in sorted({m[x] for m in left}):
                part = {m: p for m, p in left.items() if m[x] == k}
                target += sum(part.values())
                if target > total * Fraction(numbers[x]):
                    break
            assert out[x] == k
            left = part
