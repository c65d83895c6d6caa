r"""The noun :class:`Mixture`: the posterior of continuous variables, a mixture of normals.

.. math:: p(x) = \sum_c w_c\, N(x;\, \mu_c, \Sigma_c), \qquad
    E[X] = \sum_c w_c \mu_c, \qquad
    \mathrm{Var}[X] = \sum_c w_c (\Sigma_c + \mu_c \mu_c^\top) - E[X] E[X]^\top

A single normal is a mixture of one. A component without variance is a point mass: a value that is
certain, or, in an answer estimated by weighted draws, one draw.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience import _check, _freeze
from consilience._lazy import later
from consilience._typing import Bools, Floats, Seed
from consilience.errors import InputError
from consilience.network.box import box_probability
from consilience.network.propagation_report import PropagationReport

__all__ = ["Mixture"]

special = later("scipy.special")

HALVINGS = 200  # of an interval; away from zero a float has no more
MOST_CELLS = 1 << 18  # points times components that a density is found for at once
LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Mixture:
    """A mixture of normal distributions: the answer to a query about continuous variables.

    Parameters
    ----------
    names
        The variables.
    weights
        Share of each component; they sum to one.
    means
        Shape (components, variables).
    covariances
        Shape (components, variables, variables).
    standard_errors
        Of the mean of each variable, if the answer was estimated from draws; None if it is exact.
    effective_size
        How many independent draws the weighted ones are worth; None if the answer is exact.
    propagation
        Of an answer by loopy propagation, whether its messages settled.

    Examples
    --------
    >>> belief = Mixture(("bp",), [0.5, 0.5], [[110.0], [130.0]], [[[25.0]], [[25.0]]])
    >>> belief.mean, round(belief.sd, 3)
    (120.0, 11.18)
    >>> round(belief.probability(120, None), 6), round(belief.quantile(0.5), 6)
    (0.5, 120.0)
    """

    names: tuple[str, ...]
    weights: Floats
    means: Floats
    covariances: Floats
    standard_errors: Floats | None = None
    effective_size: float | None = None
    propagation: PropagationReport | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        for field in ("weights", "means", "covariances", "standard_errors"):
            if getattr(self, field) is not None:
                object.__setattr__(self, field, np.asarray(getattr(self, field), np.float64))
        _freeze.own(self)
        c, d = self.weights.size, len(self.names)
        shapes = (self.weights.shape, self.means.shape, self.covariances.shape)
        if not d or not c or shapes != ((c,), (c, d), (c, d, d)):
            raise InputError(
                f"a mixture over {_check.listed(self.names)} needs weights (components,), means "
                f"(components, {d}) and covariances (components, {d}, {d}), got {shapes}."
            )
        is_valid = bool((self.weights >= 0).all()) and abs(self.weights.sum() - 1) < 1e-6
        if not (is_valid and np.isfinite(self.means).all() and np.isfinite(self.covariances).all()):
            raise InputError(
                f"a mixture over {_check.listed(self.names)} needs finite means and covariances "
                "and weights of zero or more that sum to one."
            )

    @property
    def mean(self) -> Any:
        """Expected value: a float for one variable, otherwise an array with one for each."""
        return self._each(self.weights @ self.means)

    @property
    def covariance(self) -> Floats:
        """Covariances of the variables, shape (variables, variables)."""
        away = self.means - self.weights @ self.means
        within = np.einsum("c,cij->ij", self.weights, self.covariances)
        return np.asarray(within + (self.weights[:, None] * away).T @ away)

    @property
    def variance(self) -> Any:
        """Variance: a float for one variable, otherwise an array with one for each."""
        return self._each(np.diagonal(self.covariance))

    @property
    def sd(self) -> Any:
        """Standard deviation: a float for one variable, otherwise an array with one for each."""
        return self._each(np.sqrt(np.diagonal(self.covariance)))

    @property
    def n_components(self) -> int:
        """Number of normal distributions in the mixture."""
        return self.weights.size

    def marginal(self, name: str) -> Mixture:
        """The distribution of one of the variables."""
        _check.known("variable", [name], self.names)
        i = self.names.index(name)
        errors = None if self.standard_errors is None else self.standard_errors[i : i + 1]
        return Mixture(
            (name,),
            self.weights,
            self.means[:, i : i + 1],
            self.covariances[:, i : i + 1, i : i + 1],
            errors,
            self.effective_size,
        )

    def density(self, x: Any) -> Any:
        """Density at ``x``: a number or an array of them; for several variables the last axis.

        Infinite at a point mass. Where the mixture is made of weighted draws, a kernel estimate.
        """
        d = len(self.names)
        points = np.asarray(x, np.float64)
        if d > 1 and (points.ndim == 0 or points.shape[-1] != d):
            raise InputError(
                f"density: points of {_check.listed(self.names)} need {d} numbers each, got the "
                f"shape {points.shape}."
            )
        flat = points.reshape(-1, d)
        total = np.zeros(len(flat))
        covariances = self._smooth()
        if d == 1:
            step = max(1, MOST_CELLS // self.n_components)
            for i in range(0, len(flat), step):
                away = flat[i : i + step] - self.means[:, 0]
                each = self.weights * _normal(away, covariances[:, 0, 0])
                total[i : i + step] = each.sum(axis=1, where=self.weights > 0)
        else:
            parts = zip(self.weights, self.means, covariances, strict=True)
            for weight, mean, covariance in parts:
                total += weight * _density(flat - mean, covariance)
        shape = points.shape if d == 1 else points.shape[:-1]
        return float(total[0]) if shape == () else total.reshape(shape)

    def probability(self, low: Any = None, high: Any = None) -> float:
        """Probability that the variable is between two numbers; None is an open end.

        For several variables ``low`` and ``high`` have an entry for each. With three or more
        correlated ones the answer is numerical, to about 1e-4.
        """
        bounds = self._bounds(low, -math.inf), self._bounds(high, math.inf)
        if len(self.names) == 1:
            below, above = (self._below(float(bound[0])) for bound in bounds)
            at_low = self._mass_at(float(bounds[0][0]))
            return float(min(1.0, max(0.0, above - below + at_low)))
        parts = zip(self.weights, self.means, self.covariances, strict=True)
        return float(sum(w * box_probability(*bounds, mean, c) for w, mean, c in parts if w > 0))

    def quantile(self, p: Any) -> Any:
        """The number below which the variable is with probability ``p``; arrays work too."""
        self._one("quantile")
        shares = np.asarray(p, np.float64)
        if not ((shares > 0) & (shares < 1)).all():
            raise InputError(f"quantile: p must be between zero and one, got {p!r}.", parameter="p")
        found = [self._quantile(float(share)) for share in shares.ravel()]
        return found[0] if shares.shape == () else np.array(found).reshape(shares.shape)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The two quantiles that leave the same probability outside on either side."""
        if not 0 < level < 1:
            raise InputError(
                f"interval: level must be between zero and one, got {level!r}.", parameter="level"
            )
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    def draw(self, n: int, seed: Seed = None) -> Floats:
        """Independent draws: shape (n,), or (n, variables) if there are several."""
        _check.whole("draw", at_least=0, n=n)
        rng = _check.generator(seed)
        which = rng.choice(self.n_components, size=n, p=self.weights / self.weights.sum())
        noise = rng.standard_normal((n, len(self.names)))
        values, vectors = np.linalg.eigh(self.covariances)
        roots = vectors * np.sqrt(np.maximum(values, 0))[:, None, :]
        drawn = self.means[which] + np.einsum("nij,nj->ni", roots[which], noise)
        return drawn[:, 0] if len(self.names) == 1 else drawn

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return _freeze.rebuilt(self)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        parts = "" if self.n_components == 1 else f" ({self.n_components:,} components)"
        return f"Mixture over {_check.listed(self.names)}{parts}\n{self}"

    def __str__(self) -> str:
        means, sds = self.weights @ self.means, np.sqrt(np.diagonal(self.covariance))
        columns = [
            ("name", *self.names),
            ("mean", *(f"{mean:.7g}" for mean in means)),
            ("sd", *(f"{sd:.7g}" for sd in sds)),
        ]
        if self.standard_errors is not None:
            columns.append(("standard error", *(f"{e:.2g}" for e in self.standard_errors)))
        padded = [[cell.ljust(max(map(len, column))) for cell in column] for column in columns]
        return "\n".join("  ".join(row).rstrip() for row in zip(*padded, strict=True))

    def _each(self, numbers: Floats) -> Any:
        return float(numbers[0]) if len(self.names) == 1 else np.asarray(numbers)

    def _one(self, what: str) -> None:
        if len(self.names) > 1:
            raise InputError(
                f"{what}: this mixture is over {_check.listed(self.names)}; ask "
                "mixture.marginal(name) for one of them."
            )

    def _bounds(self, given: Any, otherwise: float) -> list[float]:
        d = len(self.names)
        several = given if isinstance(given, Sequence | np.ndarray) else [given] * d
        bounds = [otherwise if one is None else float(one) for one in several]
        if len(bounds) != d or any(math.isnan(bound) for bound in bounds):
            raise InputError(
                f"probability: a bound for each of {_check.listed(self.names)} is wanted, a number "
                f"or None, got {given!r}."
            )
        return bounds

    def _below(self, x: float) -> float:
        """P(X <= x)."""
        variances, means = self.covariances[:, 0, 0], self.means[:, 0]
        is_spread = variances > 0
        z = (x - means[is_spread]) / np.sqrt(variances[is_spread])
        points = self.weights[~is_spread & (means <= x)]
        return float(self.weights[is_spread] @ special.ndtr(z) + points.sum())

    def _mass_at(self, x: float) -> float:
        is_here = (self.covariances[:, 0, 0] == 0) & (self.means[:, 0] == x)
        return float(self.weights[is_here].sum())

    def _quantile(self, p: float) -> float:
        """The smallest x with P(X <= x) >= p, by halving."""
        sds = np.sqrt(self.covariances[:, 0, 0])
        low = float((self.means[:, 0] - 40 * sds).min())
        high = float((self.means[:, 0] + 40 * sds).max())
        for _ in range(HALVINGS):
            middle = low + (high - low) / 2
            if not low < middle < high:
                break
            if self._below(middle) >= p:
                high = middle
            else:
                low = middle
        if self._below(low) >= p:
            return low
        points = self.means[sds == 0, 0]  # near zero halving ends before floats do
        return float(points[(low < points) & (points <= high)].min(initial=high))

    def _smooth(self) -> npt.NDArray[np.float64]:
        """The covariances; in place of the points of an estimate, kernels (Silverman 1986)."""
        if self.effective_size is None:
            return self.covariances
        d = len(self.names)
        width = (4 / ((d + 2) * max(self.effective_size, 1.0))) ** (1 / (d + 4))
        is_point: Bools = np.logical_not(self.covariances.any(axis=(1, 2)))
        kernel = self.covariance * width**2
        return np.where(is_point[:, None, None], kernel, self.covariances)


def _normal(away: Floats, variance: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        density = np.exp(-0.5 * away**2 / variance) / np.sqrt(2 * np.pi * variance)
    return np.where(variance > 0, density, np.where(away == 0, np.inf, 0.0))


def _density(away: Floats, covariance: Floats) -> Floats:
    """Normal density of points away from the mean; on a plane without variance zero or infinite."""
    values, vectors = np.linalg.eigh(covariance)
    is_spread: Bools = np.greater(values, 1e-14 * max(float(values.max()), 0.0))
    turned = away @ vectors
    inside = turned[:, is_spread] ** 2 / values[is_spread]
    log = -0.5 * inside.sum(axis=1) - (0.5 * np.log(values[is_spread]) + LOG_ROOT_2PI).sum()
    density = np.exp(log)
    if is_spread.all():
        return np.asarray(density)
    is_on = ~(turned[:, ~is_spread] != 0).any(axis=1)
    return np.where(is_on, np.inf, 0.0)
