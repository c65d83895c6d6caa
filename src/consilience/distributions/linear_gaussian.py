r"""The local distribution of a continuous variable: a regression for each joint discrete state.

With discrete parents in the joint state :math:`j` and continuous parents at :math:`z`,

.. math:: X \mid j, z \sim N\bigl(\beta_{j0} + \beta_j^\top z,\; \sigma_j^2\bigr) .

Without discrete parents there is one regression (a linear Gaussian node); without continuous ones a
mean and a variance for each state.

References
----------
S. Lauritzen, N. Wermuth (1989). Graphical models for associations between variables, some of which
are qualitative and some quantitative. Annals of Statistics 17.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience import _freeze
from consilience._typing import Floats, Integers
from consilience.data.variable import Variable
from consilience.distributions.categorical import Posterior
from consilience.distributions.local_distribution import check_names, kinds
from consilience.errors import ModelError

__all__ = ["LOG_ROOT_2PI", "MATCHES", "LinearGaussian"]

LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)
MATCHES = 1e-9
"""Relative difference up to which a value is the one determined."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LinearGaussian:
    """P(child | parents) of a continuous child: normal around a linear function.

    Parameters
    ----------
    child
        The variable whose distribution this is; continuous.
    given
        The parents, discrete and continuous in any order.
    intercept
        Shape ``(states of each discrete parent...)``, in the order of ``given``.
    coefficients
        Shape ``(states of each discrete parent..., continuous parents)``.
    sd
        Standard deviation of what the regression leaves, shape as ``intercept``; zero is allowed
        and means that the child is a function of its parents.
    posterior
        The posterior of ``parameters``, if the estimator that made them has one.

    Examples
    --------
    >>> dose, effect = Variable("dose"), Variable("effect")
    >>> local = LinearGaussian(effect, (dose,), 1.0, [2.0], 0.5)
    >>> local.means(np.zeros(1, int), np.array([[10.0]])).tolist()
    [21.0]
    >>> local.n_parameters
    3
    """

    child: Variable
    given: tuple[Variable, ...]
    intercept: Floats
    coefficients: Floats
    sd: Floats
    posterior: Posterior | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "given", tuple(self.given))
        for field in ("intercept", "coefficients", "sd"):
            array = np.asarray(getattr(self, field), dtype=np.float64, order="C")
            object.__setattr__(self, field, array)
        _freeze.own(self)
        if not self.child.is_continuous:
            raise ModelError(
                f"{self.child.name!r} is discrete; its distribution is a Categorical or a "
                "Logistic.",
                variable=self.child.name,
            )
        check_names(self.child, self.given)
        self._check_shapes()
        self._check_numbers()

    @property
    def parents(self) -> tuple[str, ...]:
        """Names of the parents, in the order given."""
        return tuple(parent.name for parent in self.given)

    @property
    def discrete(self) -> tuple[Variable, ...]:
        """The discrete parents, one axis of ``intercept`` each."""
        return kinds(self.given)[0]

    @property
    def continuous(self) -> tuple[Variable, ...]:
        """The continuous parents, in the order of the coefficients."""
        return kinds(self.given)[1]

    @property
    def variance(self) -> Floats:
        """Squares of ``sd``."""
        return np.asarray(self.sd**2)

    @property
    def parameters(self) -> Floats:
        """Intercept, coefficients and sd along the last axis, shape (states..., 2 + n)."""
        return np.concatenate(
            [self.intercept[..., None], self.coefficients, self.sd[..., None]], axis=-1
        )

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: joint discrete states times (coefficients + 2)."""
        return self.coefficients.size + 2 * self.intercept.size

    def with_parameters(self, parameters: Floats) -> LinearGaussian:
        """The distribution with these parameters, laid out like ``parameters``."""
        return LinearGaussian(
            self.child, self.given, parameters[..., 0], parameters[..., 1:-1], parameters[..., -1]
        )

    def means(self, states: Integers, values: Floats) -> Floats:
        """Expected value of the child in each row.

        Parameters
        ----------
        states
            Joint states of the discrete parents, the last varying fastest; zero without any.
        values
            The continuous parents, shape (rows, continuous parents).
        """
        intercept = self.intercept.ravel()[states]
        if not self.coefficients.size:
            return np.asarray(intercept)
        slopes = self.coefficients.reshape(self.intercept.size, -1)[states]
        return np.asarray(intercept + (slopes * values).sum(axis=1))

    def log_densities(self, states: Integers, values: Floats, child: Floats) -> Floats:
        """Log density of the child in each row; where the sd is zero, of a point mass.

        A value that is the one determined, but for rounding, has the log probability 0, any other
        one minus infinity. ``states`` and ``values`` are those of :meth:`means`.
        """
        away = child - self.means(states, values)
        safe = np.where(self.sd > 0, self.sd, 1.0).ravel()
        with np.errstate(over="ignore"):  # a value too far out for a float is impossible
            log = -0.5 * (away / safe[states]) ** 2 - (np.log(safe) + LOG_ROOT_2PI)[states]
        if self.sd.all():
            return np.asarray(log)
        slopes = self.coefficients.reshape(self.intercept.size, -1)[states]
        size = np.abs(child) + np.abs(self.intercept.ravel()[states])
        size = size + np.abs(slopes * values).sum(axis=1)
        matched = np.where(np.abs(away) <= MATCHES * size, 0.0, -np.inf)
        return np.where(self.sd.ravel()[states] > 0, log, matched)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return _freeze.rebuilt(self)

    def __repr__(self) -> str:
        from consilience.show.text import local_text

        return local_text(self)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def _check_shapes(self) -> None:
        shape = tuple(variable.n_states for variable in self.discrete)
        wanted = {
            "intercept": shape,
            "coefficients": (*shape, len(self.continuous)),
            "sd": shape,
        }
        for field, expected in wanted.items():
            found = getattr(self, field).shape
            if found != expected:
                raise ModelError(
                    f"the {field} of {self.child.name!r} given {list(self.parents)} must have "
                    f"shape {expected}, got {found}.",
                    variable=self.child.name,
                )

    def _check_numbers(self) -> None:
        for field in ("intercept", "coefficients", "sd"):
            if not np.isfinite(getattr(self, field)).all():
                raise ModelError(
                    f"the {field} of {self.child.name!r} must be finite numbers.",
                    variable=self.child.name,
                )
        if (self.sd < 0).any():
            raise ModelError(
                f"the sd of {self.child.name!r} must be zero or more, got {self.sd.min():g}.",
                variable=self.child.name,
            )
