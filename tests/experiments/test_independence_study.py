"""The simulations of p-values, in small."""

from __future__ import annotations

import numpy as np
import pytest
from independence import Case, p_values, studies

import consilience as cs


@pytest.mark.parametrize(
    ("case", "test"),
    [
        (Case(2, 3, 2, 500), cs.independence.PearsonX2()),
        (Case(2, 2, 1, 400, 4), cs.independence.Stratified()),
        (Case(2, 0, 2, 200), cs.independence.LikelihoodRatio()),
        (Case(0, 0, 1, 100, given_number=True), cs.independence.ExactT()),
    ],
    ids=str,
)
def test_p_values_are_numbers_between_zero_and_one_and_differ(case, test):
    found = p_values(case, test, 30, seed=1)
    assert len(found) == 30
    assert ((found >= 0) & (found <= 1)).all()
    assert len(np.unique(found)) > 20


def test_drawn_tables_and_drawn_rows_are_tested_alike():
    assert np.mean(
        p_values(Case(3, 3, 1, 2000), cs.independence.PearsonX2(), 400, 1)
    ) == pytest.approx(0.5, abs=0.06)


def test_every_study_has_cases_with_rows_enough():
    for name, _, cases in studies(9):
        assert any(case.uneven is not None for case in cases), name
