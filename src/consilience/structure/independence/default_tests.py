"""Which test is made if none is chosen.

Discrete variables have Pearson's X², corrected and with adjusted degrees of freedom (its p-values
are nearer to the truth than those of G² where cells have few rows), continuous ones the exact t
test of partial correlations, and where both kinds are among the variables likelihood ratios serve.
Rows of several sources are compared within each source, so that margins or means that differ
between sources make no dependence.
"""

from __future__ import annotations

from consilience.data.table import Table
from consilience.errors import InputError
from consilience.statistics.gather import engine_of
from consilience.statistics.request import Engine
from consilience.structure.independence.contingency import PearsonX2
from consilience.structure.independence.correlation import ExactT
from consilience.structure.independence.likelihood_ratio import LikelihoodRatio
from consilience.structure.independence.several_sources import Stratified
from consilience.structure.independence.statements import IndependenceTest, PartTest
from consilience.structure.pairs import has_several_sources

__all__ = ["check_test", "default_test", "usual_test"]


def usual_test(rows: Table | Engine, *, alpha: float = 0.05) -> IndependenceTest:
    """The test that is made of the variables of these rows if none is chosen."""
    engine = engine_of(rows)
    return default_test(engine, tuple(engine.schema.variables), alpha=alpha)


def default_test(
    engine: Engine, names: tuple[str, ...], *, alpha: float = 0.05
) -> IndependenceTest:
    """The test for these variables of these rows."""
    kinds = {engine.schema[name].is_continuous for name in names}
    each: PartTest
    if kinds == {True}:
        each = ExactT(alpha)
    else:
        tables = PearsonX2(alpha, adjusted=True, corrected=True)
        each = LikelihoodRatio(alpha) if True in kinds else tables
    return Stratified(of=each) if has_several_sources(engine) else each


def check_test(owner: str, parameter: str, test: object) -> None:
    """Refuse what is not a test."""
    if isinstance(test, type) or not (hasattr(test, "judge") and hasattr(test, "alpha")):
        raise InputError(
            f"{owner}: {parameter} must be a test such as cs.independence.GSquare(alpha=0.01), got "
            f"{test!r}.",
            parameter=parameter,
        )
