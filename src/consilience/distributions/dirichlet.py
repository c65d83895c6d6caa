r"""The Dirichlet posterior of a table: every row has its own concentration.

.. math::
    \theta_j \sim \mathrm{Dirichlet}(a_{j1}, \dots, a_{jr}), \qquad
    \theta_{jk} \sim \mathrm{Beta}(a_{jk}, s_j - a_{jk}), \qquad s_j = \sum_k a_{jk}

An entry with concentration zero is zero with certainty (a structural zero).

References
----------
A. Gelman, J. Carlin, H. Stern, D. Dunson, A. Vehtari, D. Rubin (2013). Bayesian Data Analysis,
section 3.4 and appendix A.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience import _freeze
from consilience._lazy import later
from consilience._typing import Floats
from consilience.errors import InputError, ModelError

__all__ = ["DirichletPosterior", "batches", "draw_logs", "draw_rows"]

special = later("scipy.special")

SMALLEST = 1e-300  # below it an exponential draw divided by the concentration overflows
LARGEST_BATCH, MOST_CELLS = 512, 1 << 20  # of draws that are made at once
LOG_SMALL = -500.0  # of a concentration so small that one state gets everything


@dataclass(frozen=True, slots=True, eq=False)
class DirichletPosterior:
    """Independent Dirichlet distributions, one for each row of a table.

    Parameters
    ----------
    concentration
        Shape of the table, ``(states of each parent..., states of the child)``; zero or more, and
        in every row some entry above zero.

    Examples
    --------
    >>> DirichletPosterior(np.array([[3.0, 1.0]])).mean()
    array([[0.75, 0.25]])
    """

    concentration: Floats

    def __post_init__(self) -> None:
        array = np.array(self.concentration, dtype=np.float64, order="C")
        object.__setattr__(self, "concentration", array)
        _freeze.own(self)
        is_valid = array.ndim > 0 and array.size > 0 and bool(np.all(np.isfinite(array)))
        if not (is_valid and np.all(array >= 0) and np.all(array.max(axis=-1) > 0)):
            raise ModelError(
                "a Dirichlet concentration must be finite and zero or more, with an entry above "
                "zero in every row."
            )

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return _freeze.rebuilt(self)

    def mean(self) -> Floats:
        r"""Posterior mean of every entry, :math:`m_{jk} = a_{jk} / s_j`."""
        return self.concentration / self._size()

    def variance(self) -> Floats:
        r"""Posterior variance of every entry, :math:`m_{jk} (1 - m_{jk}) / (s_j + 1)`."""
        size = self._size()
        return self.mean() * (_others(self.concentration) / size) / (size + 1)

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Ends of the central credible interval of every entry, from its exact Beta marginal.

        An entry that is certain (concentration zero, or the only one above zero in its row) has an
        interval of length zero.
        """
        if not 0 < level < 1:
            raise InputError(f"level must lie between 0 and 1, got {level!r}.", parameter="level")
        others = _others(self.concentration)
        low, high = ((1 - level) / 2, (1 + level) / 2)
        return _quantile(self.concentration, others, low), _quantile(
            self.concentration, others, high
        )

    def draw(self, rng: np.random.Generator) -> Floats:
        """One table drawn from the posterior."""
        return np.exp(draw_logs(self.concentration, rng))

    def draws(self, rng: np.random.Generator) -> Iterator[Floats]:
        """Draws without end, made in batches, each twice as large as the last."""
        for n in batches(self.concentration.size):
            yield from np.exp(
                draw_logs(np.broadcast_to(self.concentration, (n, *self.concentration.shape)), rng)
            )

    def _size(self) -> Floats:
        return np.asarray(self.concentration.sum(axis=-1, keepdims=True))


def batches(n_cells: int) -> Iterator[int]:
    """Sizes of batches of draws of so many cells, without end: one, and then more at a time.

    >>> sizes = batches(10)
    >>> [next(sizes) for _ in range(4)]
    [1, 2, 4, 8]
    """
    n, most = 1, max(1, min(LARGEST_BATCH, MOST_CELLS // max(n_cells, 1)))
    while True:
        yield min(n, most)
        n = min(2 * n, most)


def draw_logs(concentration: Floats, rng: np.random.Generator) -> Floats:
    r"""Logarithms of rows drawn from Dirichlet distributions.

    Gamma variables are drawn as logarithms, :math:`\log G(a) = \log G(a + 1) + \log(U) / a`, and
    normalised relative to the largest of the row, so that concentrations far below one do not
    underflow to an empty row. An entry with concentration zero is minus infinity.
    """
    a = concentration
    is_certain_zero = a == 0
    shown = np.where(is_certain_zero, 1.0, np.maximum(a, SMALLEST))
    log_gamma = np.log(rng.standard_gamma(a + 1)) - rng.standard_exponential(a.shape) / shown
    log_gamma[is_certain_zero] = -np.inf
    log_gamma -= log_gamma.max(axis=-1, keepdims=True)
    return np.asarray(log_gamma - np.log(np.exp(log_gamma).sum(axis=-1, keepdims=True)))


def draw_rows(log_concentration: Floats, rng: np.random.Generator) -> Floats:
    """Rows drawn from Dirichlet distributions whose concentrations are given as logarithms.

    Where all concentrations of a row are next to zero, one state gets everything, with a chance in
    proportion to its concentration: only their ratios matter, and they may be smaller than any
    float.
    """
    largest = log_concentration.max(axis=-1, keepdims=True)
    raised = log_concentration + np.maximum(LOG_SMALL - largest, 0.0)
    return np.exp(draw_logs(np.exp(raised), rng))


def _others(a: Floats) -> Floats:
    """Sum of the other entries of the row, without the cancellation of ``size - a``."""
    before = np.zeros_like(a)
    after = np.zeros_like(a)
    np.cumsum(a[..., :-1], axis=-1, out=before[..., 1:])
    after[..., :-1] = np.cumsum(a[..., :0:-1], axis=-1)[..., ::-1]
    return before + after


def _quantile(a: Floats, b: Floats, probability: float) -> Floats:
    """Quantile of Beta(a, b); certain at 0 if a is 0, at 1 if b is 0."""
    is_open = (a > 0) & (b > 0)
    quantile = special.betaincinv(np.where(is_open, a, 1.0), np.where(is_open, b, 1.0), probability)
    return np.where(is_open, quantile, np.where(a > 0, 1.0, 0.0))
