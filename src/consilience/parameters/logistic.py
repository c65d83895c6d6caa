r"""Logistic nodes: multinomial regressions with a Gaussian prior, by Newton's method.

For each joint state of the discrete parents, with the continuous parents standardized over all
rows of the family, :math:`x = (1, (z - \bar z) / s_z)`, and coefficients :math:`\beta_k` of each
state :math:`k` of the child, the fit maximizes

.. math:: \sum w \log \frac{\exp \beta_y^\top x}{\sum_k \exp \beta_k^\top x}
    - \frac{\kappa}{2} \sum_k \lVert \beta_k - \beta_k^0 \rVert^2, \qquad
    \sum_k (\beta_k - \beta_k^0) = 0,

where :math:`\kappa` is ``ridge`` and :math:`\beta^0` has slopes of zero and the logarithms of the
states' shares in all rows of the family as intercepts. The prior treats all states alike; the
coefficients are then reported as differences from the first state, whose own are zero. For two
states the slope of the log odds has the prior variance :math:`2/\kappa` per sd of the parent. The
posterior is approximated by a normal at the mode.

Hierarchical (:class:`HierarchicalLogistic`): :math:`\beta_f \sim N(\mu, \Lambda)` in each joint
state, the sources' likelihoods replaced by their quadratic approximations at the current
coefficients, :math:`\mu`, :math:`\Lambda` and the coefficients found from those as for Gaussian
children (``tied.py``, with dispersion one), and so on until nothing moves (penalized
quasi-likelihood). Intercepts have one entry of :math:`\Lambda`, each slope has one, whatever the
number of states.

References
----------
N. Breslow, D. Clayton (1993). Approximate inference in generalized linear mixed models. Journal of
the American Statistical Association 88.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.data.variable import Variable
from consilience.distributions.laplace import LaplacePosterior
from consilience.distributions.logistic import Logistic
from consilience.distributions.normal_inverse_gamma import unstandardized
from consilience.parameters.estimator import LogisticFit
from consilience.parameters.logistic_newton import (
    MOST_PASSES,
    LogisticPeak,
    LogisticProblem,
    evaluated,
    logistic_problems,
    newton,
    pooled_problems,
)
from consilience.parameters.source_node import with_new_source
from consilience.parameters.tied import Equations, Tie, tie
from consilience.statistics.counts import MEMORY_LIMIT
from consilience.statistics.family import Family
from consilience.statistics.request import Engine

__all__ = ["RIDGE", "HierarchicalLogistic", "LogisticFit", "LogisticRegression", "logistic_fits"]

RIDGE = 0.1
WEAK = 1e-4  # curvature below which rows say nothing
LONGEST = 3.0  # of a step of a source's coefficients between two approximations
STILL = 1e-8  # change of the coefficients at which the approximations have settled


@dataclass(frozen=True, slots=True)
class LogisticRegression:
    """Logistic regressions of discrete children with continuous parents, pooled over the sources.

    Parameters
    ----------
    ridge
        Precision of the prior of every state's coefficients, of standardized parents. Zero is
        maximum likelihood; where parents separate the states, which have no finite maximum then,
        a ridge of 1e-8 keeps it finite and the record says so.

    Examples
    --------
    >>> import consilience as cs
    >>> age = [41.5, 45.2, 50.1, 52.3, 58.8, 60.7, 66.4, 71.2]
    >>> ill = ["no", "no", "yes", "no", "no", "yes", "yes", "yes"]
    >>> net = cs.fit(cs.DAG([("age", "ill")]), cs.read({"age": age, "ill": ill}))
    >>> net["ill"].coefficients.round(2)  # of the states no, yes
    array([[0.  ],
           [0.19]])
    """

    ridge: float = RIDGE
    by_source: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check.non_negative("LogisticRegression", ridge=self.ridge)

    def regress_states(
        self, engine: Engine, families: Sequence[Family], *, by_source: bool = False
    ) -> list[LogisticFit]:
        """The fit of each family; with ``by_source``, of each source by itself."""
        return logistic_fits(engine, families, ridge=self.ridge, by_source=by_source)


@dataclass(frozen=True, slots=True)
class HierarchicalLogistic:
    """Logistic regressions of the sources, shrunk to a common one by an amount learned from them.

    The source is the first parent of every node and has the reserved state ``new_source``, whose
    coefficients are the common mean; drawn networks draw them with the spread of the sources.

    Parameters
    ----------
    ridge
        Of the common mean, as for :class:`LogisticRegression`.
    """

    ridge: float = RIDGE
    by_source: ClassVar[bool] = True
    adds_new_source: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check.non_negative("HierarchicalLogistic", ridge=self.ridge)

    def regress_states(
        self, engine: Engine, families: Sequence[Family], *, by_source: bool = False
    ) -> list[LogisticFit]:
        """The fit of each family; the sources are pooled unless ``by_source``."""
        if not by_source or engine.schema.source is None:
            return logistic_fits(engine, families, ridge=self.ridge)
        problems = logistic_problems(
            engine, families, self.ridge, by_source=True, limit=MEMORY_LIMIT
        )
        return _tied_fits(engine, problems, newton(engine, pooled_problems(problems), MEMORY_LIMIT))


def logistic_fits(
    engine: Engine,
    families: Sequence[Family],
    *,
    ridge: float = RIDGE,
    by_source: bool = False,
    memory_limit: float = MEMORY_LIMIT,
) -> list[LogisticFit]:
    """The fit of each family, a discrete child with at least one continuous parent.

    All families are fitted together: every step of Newton's method is one pass over the rows. A
    joint discrete state without rows keeps the prior, the shares of the states in all rows.

    Parameters
    ----------
    engine
        Where the rows are.
    families
        The families; the source may be a parent unless ``by_source``.
    ridge
        Precision of the prior; 0 is maximum likelihood.
    by_source
        Fit each source by itself; the source is then the first parent of the fits.
    memory_limit
        Bytes of the derivatives of all families.
    """
    problems = logistic_problems(engine, families, ridge, by_source=by_source, limit=memory_limit)
    peaks = newton(engine, problems, memory_limit)
    return [_fit(problem, peak) for problem, peak in zip(problems, peaks, strict=True)]


def _fit(problem: LogisticProblem, peak: LogisticPeak) -> LogisticFit:
    curve = peak.curve + problem.precision * np.eye(len(problem.first))
    covariance = problem.root @ np.linalg.inv(curve) @ problem.root.T
    coefficients = problem.coefficients(peak.coordinates)
    return _with_posterior(problem, peak, problem.source, coefficients, covariance=covariance)


def _with_posterior(
    problem: LogisticProblem,
    peak: LogisticPeak,
    source: Variable | None,
    coefficients: Floats,
    *,
    covariance: Floats,
    keep: Floats | None = None,
    common: Floats | None = None,
) -> LogisticFit:
    """The fit with its posterior."""
    discrete = (*(() if source is None else (source,)), *problem.discrete)
    shape = tuple(variable.n_states for variable in (*discrete, problem.child))
    sizes = (*shape, 1 + len(problem.continuous))
    others = unstandardized(coefficients, problem.center, problem.unit)
    every = np.zeros((*others.shape[:-2], problem.child.n_states, sizes[-1]))
    every[..., 1:, :] = others
    every = every.reshape(sizes)
    posterior = LaplacePosterior(
        coefficients, covariance, problem.center, problem.unit, sizes, keep, common
    )
    given = (*discrete, *problem.continuous)
    weakest = np.linalg.eigvalsh(peak.curve).min(axis=-1, initial=np.inf)
    return LogisticFit(
        Logistic(problem.child, given, every[..., 0], every[..., 1:], posterior),
        float(peak.log_likelihood.sum()),
        problem.n_complete,
        problem.n_all - problem.n_complete,
        int((weakest < max(problem.precision, WEAK)).sum()),
    )


def _tied_fits(
    engine: Engine, problems: Sequence[LogisticProblem], pooled: Sequence[LogisticPeak]
) -> list[LogisticFit]:
    """The hierarchical fits, from the pooled ones on."""
    coordinates = [
        np.broadcast_to(peak.coordinates, (*problem.groups, len(problem.first))).copy()
        for problem, peak in zip(problems, pooled, strict=True)
    ]
    ties: dict[int, Tie] = {}
    peaks: dict[int, LogisticPeak] = {}
    active = list(range(len(problems)))
    for _ in range(MOST_PASSES):
        if not active:
            break
        here = [problems[k] for k in active]
        found = evaluated(engine, here, [coordinates[k] for k in active], MEMORY_LIMIT)
        still = []
        for k, peak in zip(active, found, strict=True):
            equations = _approximation(problems[k], peak)
            peaks[k], ties[k] = peak, tie(equations, ties[k].spread if k in ties else None)
            change = np.clip(ties[k].mean - coordinates[k], -LONGEST, LONGEST)
            coordinates[k] = coordinates[k] + change
            if np.abs(change).max(initial=0.0) > STILL:
                still.append(k)
        active = still
    return [_tied_fit(problem, peaks[k], ties[k]) for k, problem in enumerate(problems)]


def _approximation(problem: LogisticProblem, peak: LogisticPeak) -> Equations:
    """The quadratic likelihoods at the current coefficients."""
    vector = np.einsum("fjkl,fjl->fjk", peak.curve, peak.coordinates) + peak.slope
    m, p = len(problem.first), 1 + len(problem.continuous)
    return Equations(
        peak.curve,
        vector,
        np.zeros(problem.groups),
        np.arange(m) % p,
        np.zeros((problem.groups[1], m, m)),
        prior=problem.precision,
    )


def _tied_fit(problem: LogisticProblem, peak: LogisticPeak, tied: Tie) -> LogisticFit:
    """The fit of all sources and, last, of one never seen."""
    source = None if problem.source is None else with_new_source(problem.source)
    root, m = problem.root, len(problem.first)
    new = (1, problem.groups[1], m, m)
    own = np.concatenate([tied.own_scale, np.broadcast_to(np.diag(tied.spread), new)])
    keep = np.concatenate([tied.keep, np.broadcast_to(np.eye(m), new)])
    return _with_posterior(
        problem,
        peak,
        source,
        problem.coefficients(np.concatenate([tied.mean, tied.common[None]])),
        covariance=root @ own @ root.T,
        keep=root @ keep @ np.linalg.inv(root),
        common=root @ tied.common_scale @ root.T,
    )
