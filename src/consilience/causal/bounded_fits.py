r"""Predictors fitted under a bound on what they share with a protected attribute.

They are regressions on the other columns, fitted to the target or to the truth value of its
positive state, and stand in an audit as comparisons: a bound on a correlation is a property of
groups, and says nothing about what the attribute causes.

:class:`BoundedCorrelation`. With the attribute :math:`s` (indicators of its states, centred) and
the residuals :math:`\hat u = x - B^\top s` of the features given it,

.. math:: \hat y = \bar y + \alpha^\top s + \beta^\top \hat u, \qquad
    \frac{\mathrm{var}(\alpha^\top s)}{\mathrm{var}(\alpha^\top s) + \mathrm{var}(\beta^\top
    \hat u)} \le r .

The two parts are uncorrelated, so that with :math:`a, b` the sds of the parts of the least squares
fit the best constrained one is the projection of :math:`(a, b)` on the half plane :math:`a' \le
\sqrt{r / (1 - r)}\, b'`, each part scaled by what that gives: the global optimum in closed form.

:class:`BoundedCovariance`. Logistic regression (least squares for a continuous target) on the
features without the attribute, of the highest likelihood under

.. math:: \Bigl| \frac1n \sum_i (s_i - \bar s)\, \theta^\top x_i \Bigr| \le c ,

for each indicator of the attribute: a bound on the covariance with the decision function, in the
units of its logits. It is a convex problem.

References
----------
J. Komiyama, A. Takeda, J. Honda, H. Shimao (2018). Nonconvex optimization for regression with
fairness constraints. ICML.
M. B. Zafar, I. Valera, M. Gomez-Rodriguez, K. P. Gummadi (2019). Fairness constraints: a flexible
approach for fair classification. Journal of Machine Learning Research 20.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import LinearConstraint, minimize
from scipy.special import expit

from consilience import _check, _freeze
from consilience._typing import Bools, Floats, Seed
from consilience.causal.effect_question import check_state
from consilience.data.align import aligned_codes
from consilience.data.door import Rows, as_rows_of, as_table
from consilience.data.table import Table
from consilience.data.variable import Variable
from consilience.errors import DataError, InputError

__all__ = [
    "BoundedCorrelation",
    "BoundedCovariance",
    "FairFit",
    "FairWay",
    "fair_fit",
    "is_complete_for",
    "left_out_scores",
]

FOLDS = 5

RIDGE = 1e-6
"""Of the logistic loss per row: separable rows have no finite optimum."""

SMALLEST = 1e-9
"""An sd, of columns of unit sd, below which there is nothing but rounding."""


@dataclass(frozen=True, slots=True)
class BoundedCorrelation:
    """At most this share of the variance of the predictions is explained by the attribute.

    Parameters
    ----------
    most
        r, between 0 and 1.
    """

    most: float = 0.05

    def __post_init__(self) -> None:
        _check.non_negative("BoundedCorrelation", most=self.most)
        if self.most > 1:
            raise InputError(
                f"BoundedCorrelation: most must be at most 1, got {self.most!r}.", parameter="most"
            )


@dataclass(frozen=True, slots=True)
class BoundedCovariance:
    """The decision function has at most this covariance with each indicator of the attribute.

    Parameters
    ----------
    most
        c, in logits for a discrete target and in its own units for a continuous one.
    """

    most: float = 0.0

    def __post_init__(self) -> None:
        _check.non_negative("BoundedCovariance", most=self.most)


FairWay: TypeAlias = BoundedCorrelation | BoundedCovariance


@dataclass(frozen=True, slots=True, eq=False)
class FairFit:
    """A regression under a bound: a function of a table, one number for each row.

    Attributes
    ----------
    by
        The bound.
    target, positive, protected
        What is predicted, its state that counts, and the attribute.
    intercept, of_attribute, of_features
        The coefficients; those of the features are of their residuals given the attribute for
        :class:`BoundedCorrelation`, and of the features themselves otherwise.
    reached
        What the bound is on, in the rows that were fitted.
    """

    by: FairWay
    target: Variable
    positive: Any
    protected: Variable
    features: tuple[Variable, ...]
    intercept: float
    of_attribute: Floats
    of_features: Floats
    attribute_center: Floats
    feature_center: Floats
    given_attribute: Floats
    reached: float

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the prediction may depend on."""
        names = frozenset(variable.name for variable in self.features)
        is_used = isinstance(self.by, BoundedCorrelation)
        return names | {self.protected.name} if is_used else names

    def __call__(self, rows: Rows) -> Floats:
        """The score of each row: a probability for a discrete target, else the value itself."""
        known = {v.name: v for v in (*self.features, self.protected) if v.name in self.columns}
        table = as_rows_of(known, None, rows)
        _refuse_gaps(table, list(known))
        x = _indicators(table, self.features) - self.feature_center
        found = self.intercept + x @ self.of_features
        if isinstance(self.by, BoundedCorrelation):
            s = _indicators(table, [self.protected]) - self.attribute_center
            found = found + s @ (self.of_attribute - self.given_attribute @ self.of_features)
            return found if self.target.is_continuous else np.clip(found, 0.0, 1.0)
        return found if self.target.is_continuous else np.asarray(expit(found))


def fair_fit(
    rows: Rows,
    *,
    target: str,
    protected: str,
    positive: Any = None,
    by: FairWay | None = None,
    features: Sequence[str] | None = None,
) -> FairFit:
    """A regression of the target fitted under a bound, to be compared in :func:`fairness`.

    Parameters
    ----------
    rows
        The rows to fit; none of the columns used may have a gap.
    target, positive
        What is predicted, and its state that counts as selected; None for a continuous target.
    protected
        The attribute.
    by
        ``BoundedCorrelation()`` if not given, or ``BoundedCovariance()``.
    features
        The columns to go by; all others if not given.

    Examples
    --------
    >>> import consilience as cs
    >>> columns = {"sex": "fm" * 20, "test": "ffmm" * 10, "hired": "nnyy" * 10}
    >>> rows = cs.read({name: list(text) for name, text in columns.items()})
    >>> fit = fair_fit(rows, target="hired", protected="sex", positive="y")
    >>> fit(rows)[:4].round(2).tolist()
    [0.0, 0.0, 1.0, 1.0]
    """
    table = as_table(rows)
    way = BoundedCorrelation() if by is None else by
    if not isinstance(way, FairWay):
        raise InputError(
            "fair_fit: by must be cs.causal.BoundedCorrelation() or cs.causal.BoundedCovariance(), "
            f"got {way!r}.",
            parameter="by",
        )
    _check.known("variable", [target, protected], table.variables)
    names = [n for n in table.variables if n not in (target, protected)]
    names = names if features is None else list(features)
    _check.known("variable", names, table.variables)
    if target in names or protected in names or target == protected:
        raise InputError(
            f"fair_fit: {target!r} is predicted and {protected!r} protected; features are other "
            "columns.",
            parameter="features",
        )
    check_state("fair_fit", table.variables[target], positive, parameter="positive")
    _refuse_gaps(table, [target, protected, *names])
    if table.n_rows < 2:
        raise DataError(f"fair_fit: at least two rows are needed, got {table.n_rows}.")
    problem = _Problem.of(table, target, positive, protected, names=names)
    if isinstance(way, BoundedCorrelation):
        return problem.bounded_correlation(way)
    return problem.bounded_covariance(way)


def left_out_scores(
    table: Table, *, target: str, protected: str, positive: Any, by: FairWay, seed: Seed
) -> Floats:
    """The score of each row by a fit to the other folds of rows, which have no gaps."""
    fold = _check.generator(seed).permutation(table.n_rows) % FOLDS
    scores = np.empty(table.n_rows)
    for i in range(FOLDS):
        others = table.take(fold != i)
        fitted = fair_fit(others, target=target, protected=protected, positive=positive, by=by)
        scores[fold == i] = fitted(table.take(fold == i))
    return scores


def is_complete_for(table: Table, names: Sequence[str]) -> Bools:
    """The rows without a gap in these columns."""
    complete = np.ones(table.n_rows, bool)
    for name in names:
        column = np.asarray(table.column(name))
        complete &= ~np.isnan(column) if column.dtype.kind == "f" else column >= 0
    return complete


def _refuse_gaps(table: Table, names: Sequence[str]) -> None:
    for name in names:
        if not is_complete_for(table, [name]).all():
            raise DataError(
                f"fair_fit: {name!r} has gaps. Fill them first (cs.impute), or leave the column "
                "out: features=[...].",
                column=name,
            )


def _indicators(table: Table, variables: Sequence[Variable]) -> Floats:
    """A column for each continuous variable and each state but the first of the others."""
    columns = []
    for variable in variables:
        if variable.is_continuous:
            columns.append(_numbers(table, variable.name))
        else:
            codes = aligned_codes(table, variable)
            columns += [(codes == code) * 1.0 for code in range(1, variable.n_states)]
    return np.stack(columns, axis=1) if columns else np.empty((table.n_rows, 0))


def _numbers(table: Table, name: str) -> Floats:
    if not table.variables[name].is_continuous:
        raise DataError(
            f"fair_fit: column {name!r} is discrete; numbers are wanted, as in the rows that were "
            "fitted. Read the table with schema=.",
            column=name,
        )
    return np.asarray(table.column(name), float)


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """Rows as numbers: attribute and features centred, features and numbers as target in sds.

    ``centers`` are the means of the attribute and the features, and that of the target; ``units``
    the sds of the features and that of the target; a discrete target stays 0 or 1.
    """

    target: Variable
    positive: Any
    protected: Variable
    features: tuple[Variable, ...]
    y: Floats
    s: Floats
    x: Floats
    weights: Floats
    centers: tuple[Floats, Floats, float]
    units: tuple[Floats, float]

    @classmethod
    def of(
        cls, table: Table, target: str, positive: Any, protected: str, *, names: Sequence[str]
    ) -> _Problem:
        goal, attribute = table.variables[target], table.variables[protected]
        features = tuple(table.variables[name] for name in names)
        counts = np.ones(table.n_rows) if table.weights is None else np.asarray(table.weights)
        weights = counts / counts.sum()
        s, x = _indicators(table, [attribute]), _indicators(table, features)
        s_center = weights @ s
        x, x_center, unit = _in_sds(x, weights)
        y, center, size = np.asarray(table.column(target))[:, None], np.zeros(1), np.ones(1)
        if goal.is_continuous:
            y, center, size = _in_sds(y, weights)
        else:
            y = (y == goal.code(positive)) * 1.0
        return cls(
            goal,
            positive,
            attribute,
            features,
            y[:, 0],
            s - s_center,
            x,
            weights,
            (s_center, x_center, float(center[0])),
            (unit, float(size[0])),
        )

    def bounded_correlation(self, way: BoundedCorrelation) -> FairFit:
        """Least squares with the parts of attribute and residuals scaled to meet the bound."""
        given = self._solved(self.s, self.x)
        residuals = self.x - self.s @ given
        # What the attribute tells of a feature leaves rounding, which must not be scaled up.
        residuals[:, np.sqrt(self.weights @ residuals**2) < SMALLEST] = 0.0
        level = float(self.weights @ self.y)
        alpha, beta = (self._solved(part, self.y - level) for part in (self.s, residuals))
        a, b = (self._sd(part) for part in (self.s @ alpha, residuals @ beta))
        scales = _projected(a, b, way.most)
        share = (scales[0] * a) ** 2
        total = share + (scales[1] * b) ** 2
        reached = share / total if total > 0 else 0.0
        return self._fit(way, level, scales[0] * alpha, scales[1] * beta, given=given, at=reached)

    def bounded_covariance(self, way: BoundedCovariance) -> FairFit:
        """The convex problem; with a bound of zero, along the features that share nothing."""
        shared = (self.s * self.weights[:, None]).T @ self.x  # (indicators, features)
        most = way.most / self.units[1]
        free = _without(shared) if most == 0 else np.eye(self.x.shape[1])
        rows = np.concatenate([np.zeros((len(shared), 1)), shared @ free], axis=1)
        design = np.concatenate([np.ones((len(self.x), 1)), self.x @ free], axis=1)
        found = minimize(
            self._loss,
            np.zeros(design.shape[1]),
            args=(design,),
            jac=True,
            method="SLSQP",
            constraints=[] if most == 0 else [LinearConstraint(rows, -most, most)],
            options={"maxiter": 500, "ftol": 1e-12},
        )
        theta = free @ found.x[1:]
        reached = float(np.abs(shared @ theta).max(initial=0.0)) * self.units[1]
        none = np.zeros((self.s.shape[1], self.x.shape[1]))
        nothing = np.zeros(self.s.shape[1])
        return self._fit(way, float(found.x[0]), nothing, theta, given=none, at=reached)

    def _loss(self, theta: Floats, design: Floats) -> tuple[float, Floats]:
        """Mean loss of the rows and its slope."""
        score = design @ theta
        ridge = RIDGE * theta[1:]
        slope_of_ridge = np.concatenate([[0.0], 2 * ridge])
        if self.target.is_continuous:
            away = score - self.y
            loss, slope = 0.5 * self.weights @ away**2, design.T @ (self.weights * away)
        else:
            loss = self.weights @ (np.logaddexp(0.0, score) - self.y * score)
            slope = design.T @ (self.weights * (expit(score) - self.y))
        return float(loss + ridge @ theta[1:]), slope + slope_of_ridge

    def _solved(self, design: Floats, target: Floats) -> Floats:
        """Least squares; of smallest norm where columns are collinear."""
        root = np.sqrt(self.weights)[:, None]
        right = root * target if target.ndim == 2 else root[:, 0] * target
        return np.asarray(np.linalg.lstsq(root * design, right, rcond=1e-10)[0])

    def _sd(self, values: Floats) -> float:
        return float(np.sqrt(self.weights @ values**2))

    def _fit(
        self,
        way: FairWay,
        intercept: float,
        of_attribute: Floats,
        of_features: Floats,
        *,
        given: Floats,
        at: float,
    ) -> FairFit:
        s_center, x_center, center = self.centers
        unit, size = self.units
        return FairFit(
            way,
            self.target,
            self.positive,
            self.protected,
            self.features,
            center + size * intercept,
            size * of_attribute,
            size * of_features / unit,
            s_center,
            x_center,
            given * unit,
            at,
        )


def _in_sds(x: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Columns less their means, in their sds, both of which follow; zeros for a constant one."""
    center = weights @ x
    away = np.where(np.ptp(x, axis=0) > 0, x - center, 0.0)
    sd = np.sqrt(weights @ away**2)
    unit = np.where(sd > 0, sd, 1.0)
    return away / unit, center, unit


def _without(shared: Floats) -> Floats:
    """The combinations of features that have no covariance with any indicator, a column each."""
    _, sizes, right = np.linalg.svd(shared)
    return np.asarray(right[int((sizes > SMALLEST).sum()) :].T)


def _projected(a: float, b: float, most: float) -> tuple[float, float]:
    """What the parts with these sds are scaled by, so that the first has at most this share.

    >>> _projected(3.0, 4.0, 0.5)  # already less than a half
    (1.0, 1.0)
    >>> [round(scale, 3) for scale in _projected(4.0, 3.0, 0.5)]  # both sds become 3.5
    [0.875, 1.167]
    """
    if most >= 1 or a**2 * (1 - most) <= most * b**2 or a == 0:
        return 1.0, 1.0
    if most == 0 or b == 0:
        return 0.0, 1.0
    slope = np.sqrt(most / (1 - most))
    onto = (slope * a + b) / (1 + slope**2)
    return float(slope * onto / a), float(onto / b)
