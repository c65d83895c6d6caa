r"""Regressions of many sources, tied to a common one: mixed effects by empirical Bayes.

For source :math:`f` and joint state :math:`j` of the discrete parents, with parents standardized
over all rows of the family, :math:`x = (1, (z - \bar z) / s_z)`,

.. math::
    y = b_{fj}^\top x + \varepsilon, \qquad \varepsilon \sim N(0, \sigma_j^2), \qquad
    b_{fj} \sim N(\mu_j, \sigma_j^2 \Lambda) .

The sources of a joint state share its residual variance :math:`\sigma_j^2`, to which the other
joint states lend a little (``lent_variance.py``); all joint states of a
family share the diagonal :math:`\Lambda`, which says by how much intercepts (at the parents'
means) and slopes differ between sources, in units of the residual variance. It is learned by REML
(``tied.py``) from the sources' moments alone.

A source never seen has the coefficients :math:`\mu_j`, and so has a source without rows of the
joint state (of any, if the joint state borrows); both have the variance of a prediction, the
residual variance and what is unknown about their coefficients, averaged over the rows of the joint
state:

.. math:: \sigma_j^2 \Bigl(1 + \frac1{n_j} \sum x^\top (\Lambda + C_j)\,x\Bigr), \qquad
    C_j = \mathrm{cov}(\hat\mu_j) / \sigma_j^2 .

A part of one row, expected or weighted, takes that part of the addition away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from consilience import _check
from consilience._typing import Floats, Integers
from consilience.distributions.linear_gaussian import LinearGaussian
from consilience.distributions.normal_inverse_gamma import TiedGaussianPosterior, unstandardized
from consilience.errors import DataError
from consilience.parameters.few_rows import has_few_rows, is_constant, notes_on_regressions
from consilience.parameters.lent_variance import LENT, with_lent
from consilience.parameters.regression import (
    least_squares,
    linear_gaussian,
    smallest_eigenvalue,
)
from consilience.parameters.source_node import with_new_source
from consilience.parameters.standardized import Standardized, standardized
from consilience.parameters.tied import Equations, Tie, tie, tied_by
from consilience.statistics.moments import Moments

__all__ = ["HeldGaussian", "HierarchicalGaussian", "equations_of"]

BORROWED = "Too few rows for a regression of their own; the one of all joint states was taken"


@dataclass(frozen=True, slots=True)
class HierarchicalGaussian:
    """Regressions of the sources shrunk to a common one by an amount learned from the data.

    The source is the first parent of every node and has the reserved state ``new_source``. Sources
    with few rows, or none, work: they keep to the common regression. A joint state with too few
    rows in all sources together borrows the regressions of all joint states. The posterior is that
    given the learned spread (empirical Bayes).

    Parameters
    ----------
    spread
        The diagonal of Lambda, one number for all coefficients, instead of a learned one: 0 pools
        the sources, a large number keeps them apart.

    Examples
    --------
    >>> import consilience as cs
    >>> rows = {"weight": [9.8, 10.2, 10.1, 12.1, 11.9, 11.7], "clinic": ["a"] * 3 + ["b"] * 3}
    >>> table = cs.read(rows, source="clinic")
    >>> net = cs.fit(cs.DAG(nodes=["weight"]), table, gaussian=cs.estimators.HierarchicalGaussian())
    >>> net["weight"].intercept.round(2)  # a, b, and a clinic never seen
    array([10.04, 11.89, 10.97])
    >>> net["weight"].sd.round(2)
    array([0.2 , 0.2 , 1.63])
    """

    spread: float | None = None
    by_source: ClassVar[bool] = True
    adds_new_source: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.spread is not None:
            _check.non_negative("HierarchicalGaussian", spread=self.spread)

    def regress(self, families: Sequence[Moments]) -> list[LinearGaussian]:
        """The local distribution of each family, the source its first parent, with its posterior.

        Raises
        ------
        DataError
            If the rows of all sources and joint states together are too few for a regression.
        """
        return [self._regression(moments) for moments in families]

    def notes(self, families: Sequence[Moments]) -> list[str]:
        """What to know about the regressions."""
        by_source = [m for m in families if m.source is not None]
        alone = [m.names[-1] for m in by_source if (m.weight.sum(axis=1) > 0).sum() < 2]
        notes = notes_on_regressions(families, few=BORROWED, lent=LENT)
        shared = [m.names[-1] for m in families if m.is_fine and _has_shared_directions(m)]
        if shared:
            notes.append(
                "Parents that are nearly functions of each other: what they differ in has the same "
                f"coefficients in all sources, and no interval: {_check.listed(shared)}."
            )
        if alone and self.spread is None:
            notes.append(
                "Only one source has rows, so that nothing is known about how sources differ; a "
                f"new one is taken to be like it: {_check.listed(alone)}."
            )
        return notes

    def _regression(self, moments: Moments) -> LinearGaussian:
        which = _which(moments)
        return _fitted(moments, which, self.learned(moments, which))

    def learned(self, moments: Moments, which: Integers) -> Floats:
        """The diagonal of Lambda; ``which`` says which problem each joint state uses."""
        if self.spread is not None:
            return np.full(len(moments.names), float(self.spread))
        equations, _ = equations_of(_problems(moments), standardized(moments))
        used = np.unique(which)
        # The borrowed problem repeats the rows of the others; an exact one has no scale.
        is_telling = (used < len(which)) & (equations.constant[:, used].sum(axis=0) > 0)
        return tie(_chosen(equations, used[is_telling] if is_telling.any() else used)).spread


@dataclass(frozen=True, slots=True, eq=False)
class HeldGaussian:
    """Hierarchical regressions whose spreads were learned before, for moments that have changed a
    little; the joint states that borrow are held too.

    Parameters
    ----------
    choice
        The estimator.
    held
        By child, the diagonal of Lambda and the problem that each joint state uses.
    is_at_rest
        Whether the moments will not change any more: until then a source without rows of a joint
        state has the residual variance as it is, not that of a prediction. A source with next to
        none has it too, and would lose and win the same rows in turn.
    """

    choice: HierarchicalGaussian
    held: Mapping[str, tuple[Floats, Integers]]
    is_at_rest: bool = False
    by_source: ClassVar[bool] = True
    adds_new_source: ClassVar[bool] = True

    @classmethod
    def of(cls, choice: HierarchicalGaussian, families: Sequence[Moments]) -> HeldGaussian:
        """Spreads as these moments say."""
        every = {moments.names[-1]: (moments, _which(moments)) for moments in families}
        learned = {name: (choice.learned(*both), both[1]) for name, both in every.items()}
        return cls(choice, learned)

    def __repr__(self) -> str:
        return repr(self.choice)

    def regress(self, families: Sequence[Moments]) -> list[LinearGaussian]:
        """The local distribution of each family, the source its first parent."""
        found = []
        for moments in families:
            spread, which = self.held[moments.names[-1]]
            found.append(_fitted(moments, which, spread, is_at_rest=self.is_at_rest))
        return found

    def notes(self, families: Sequence[Moments]) -> list[str]:
        """What to know about the regressions."""
        return self.choice.notes(families)


def _fitted(
    moments: Moments, which: Integers, spread: Floats, *, is_at_rest: bool = True
) -> LinearGaussian:
    """The local distribution for a given diagonal of Lambda."""
    scale = standardized(moments)
    equations, first = equations_of(_problems(moments), scale)
    tied = tied_by(equations, spread)
    return _distribution(
        moments, scale, equations, which, first=first, tied=tied, is_at_rest=is_at_rest
    )


def _which(moments: Moments) -> Integers:
    """Which problem each joint state uses: its own or, with too few rows, that of all rows."""
    n_states = moments.weight.shape[1]
    few = has_few_rows(moments.pooled(), lent=LENT)[0]
    return np.where(few, n_states, np.arange(n_states))


def _problems(moments: Moments) -> Moments:
    """The moments of all joint states and, last, of all rows."""
    total, p = moments.without_states(), len(moments.names)
    weight = moments.weight.sum(axis=0)
    if weight.sum() <= p:
        child = moments.names[-1]
        raise DataError(
            f"the family of {child!r} has {weight.sum():g} complete rows; its regression on "
            f"{_check.listed(moments.names[:-1])} needs more than {p}. Use fewer parents, or an "
            "estimator with a prior such as cs.estimators.NormalInverseGamma().",
            variable=child,
        )
    every = [
        np.concatenate(both, axis=1) for both in zip(moments.arrays, total.arrays, strict=True)
    ]
    return moments.over(every, moments.n_rows, source=moments.source, given=())


def equations_of(problems: Moments, scale: Standardized) -> tuple[Equations, Floats]:
    """Normal equations around the regression of all sources together, and that regression."""
    pooled, p = problems.pooled(), len(problems.names)
    fits = least_squares(array[0] for array in pooled.arrays)
    first = scale.coefficients(pooled.mean[0], fits.coefficients)
    matrix, vector, constant = scale.equations(problems, first)
    is_exact = fits.residual == 0
    vector[:, is_exact], constant[:, is_exact] = 0.0, 0.0  # nothing but rounding
    smallest = smallest_eigenvalue(pooled.weight[0], pooled.mean[0], pooled.scatter[0])
    null = _null_directions(matrix.sum(axis=0), smallest)
    freedom = np.maximum(pooled.weight[0] - fits.rank, 0.0)
    return Equations(matrix, vector, constant, np.arange(p), null, freedom), first


def _null_directions(matrix: Floats, smallest: Floats) -> Floats:
    """Orthogonal projections on the directions in which the matrices vanish; ``smallest`` are the
    eigenvalues, on the scale of correlations, that count as more than nothing.
    """
    size = np.sqrt(np.einsum("jkk->jk", matrix))
    one = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(matrix / (one[:, :, None] * one[:, None, :]))
    is_null = values <= smallest[:, None]
    # A direction u of the scaled matrix is u / size of the matrix itself; orthonormal again by QR.
    found = np.zeros_like(matrix)
    for j in np.flatnonzero(is_null.any(axis=-1)):
        basis, _ = np.linalg.qr(vectors[j][:, is_null[j]] / one[j][:, None])
        found[j] = basis @ basis.T
    return found


def _has_shared_directions(moments: Moments) -> bool:
    """Whether the rows tell of directions that are too thin for coefficients by source."""
    problems, which = _problems(moments), _which(moments)
    equations, _ = equations_of(problems, standardized(moments))
    fits = least_squares(array[0] for array in problems.pooled().arrays)
    n_identified = len(moments.names) - np.rint(np.einsum("jkk->j", equations.null))
    return bool((n_identified < fits.rank)[which].any())


def _chosen(equations: Equations, which: Integers) -> Equations:
    """The equations of some of the problems."""
    return Equations(
        equations.matrix[:, which],
        equations.vector[:, which],
        equations.constant[:, which],
        equations.share,
        equations.null[which],
        None if equations.freedom is None else equations.freedom[which],
        equations.prior,
    )


def _distribution(
    moments: Moments,
    scale: Standardized,
    equations: Equations,
    which: Integers,
    *,
    first: Floats,
    tied: Tie,
    is_at_rest: bool,
) -> LinearGaussian:
    """The local distribution, with the source never seen last."""
    assert equations.freedom is not None
    p = len(moments.names)
    rows = equations.matrix.sum(axis=0)[which]
    n = np.einsum("jkk->jk", rows)[:, 0]
    residual, freedom = with_lent(
        tied.residual[which],
        equations.freedom[which],
        which < len(which),  # the others borrow all rows
        is_constant=is_constant(moments.pooled())[0],
        lent=LENT,
    )
    variance = residual / freedom
    weight = equations.matrix[:, which, 0, 0]  # of a state that borrows, the rows of all states
    lacking = np.maximum(1 - weight, 0.0) if is_at_rest else np.zeros_like(weight)
    lacking = np.append(lacking, np.ones((1, len(which))), axis=0)
    unknown = np.diag(tied.spread) + tied.common_scale[which]
    unknown = np.einsum("jkl,jlk->j", unknown, rows) / n
    sd = np.sqrt(variance * (1 + lacking * unknown))

    def with_new(own: Floats, new: Floats) -> Floats:
        return np.concatenate([own[:, which], np.broadcast_to(new, (1, *own[:1, which].shape[1:]))])

    mean = with_new(tied.mean, tied.common[which]) + first[which]
    own_scale = with_new(tied.own_scale, np.diag(tied.spread))
    keep = with_new(tied.keep, np.eye(p))
    source = None if moments.source is None else with_new_source(moments.source)
    if source is None:
        mean, sd, own_scale, keep = (array[:1] for array in (mean, sd, own_scale, keep))
    coefficients = unstandardized(mean, scale.center, scale.unit)
    local = linear_gaussian(moments, source, coefficients, sd)
    posterior = TiedGaussianPosterior(
        mean,
        own_scale,
        keep,
        tied.common_scale[which],
        freedom / 2,
        residual / 2,
        scale.center,
        scale.unit,
        local.parameters.shape,
    )
    return LinearGaussian(
        local.child, local.given, local.intercept, local.coefficients, local.sd, posterior
    )
