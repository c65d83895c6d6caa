r"""The local distribution of a discrete variable with continuous parents.

A multinomial logistic regression for each joint state :math:`j` of the discrete parents: with the
continuous parents at :math:`z`,

.. math:: P(X = k \mid j, z) = \frac{\exp(\beta_{jk0} + \beta_{jk}^\top z)}
    {\sum_l \exp(\beta_{jl0} + \beta_{jl}^\top z)} .

Adding the same linear function to all states changes nothing, so that of the :math:`r` regressions
:math:`r - 1` are free.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience import _freeze
from consilience._typing import Floats, Integers
from consilience.data.variable import Variable
from consilience.distributions.categorical import Posterior
from consilience.distributions.local_distribution import check_names, kinds
from consilience.errors import ModelError

__all__ = ["Logistic"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Logistic:
    """P(child | parents) of a discrete child with at least one continuous parent.

    Parameters
    ----------
    child
        The variable whose distribution this is; discrete.
    given
        The parents, discrete and continuous in any order.
    intercept
        Shape ``(states of each discrete parent..., states of the child)``.
    coefficients
        Shape ``(states of each discrete parent..., states of the child, continuous parents)``.
    posterior
        The posterior of ``parameters``, if the estimator that made them has one.

    Examples
    --------
    >>> age, ill = Variable("age"), Variable("ill", ("no", "yes"))
    >>> local = Logistic(ill, (age,), [0.0, -5.0], [[0.0], [0.1]])
    >>> local.log_probabilities(np.zeros(1, int), np.array([[50.0]])).round(4).tolist()
    [[-0.6931, -0.6931]]
    """

    child: Variable
    given: tuple[Variable, ...]
    intercept: Floats
    coefficients: Floats
    posterior: Posterior | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "given", tuple(self.given))
        for field in ("intercept", "coefficients"):
            array = np.asarray(getattr(self, field), dtype=np.float64, order="C")
            object.__setattr__(self, field, array)
        _freeze.own(self)
        check_names(self.child, self.given)
        if self.child.is_continuous or not self.continuous:
            raise ModelError(
                f"a Logistic has a discrete child and a continuous parent; {self.child.name!r} "
                f"given {list(self.parents)} is not of this kind.",
                variable=self.child.name,
            )
        self._check_arrays()

    @property
    def parents(self) -> tuple[str, ...]:
        """Names of the parents, in the order given."""
        return tuple(parent.name for parent in self.given)

    @property
    def discrete(self) -> tuple[Variable, ...]:
        """The discrete parents, one axis of the arrays each."""
        return kinds(self.given)[0]

    @property
    def continuous(self) -> tuple[Variable, ...]:
        """The continuous parents, in the order of the coefficients."""
        return kinds(self.given)[1]

    @property
    def parameters(self) -> Floats:
        """Intercept and coefficients along the last axis, shape (states..., child, 1 + n)."""
        return np.concatenate([self.intercept[..., None], self.coefficients], axis=-1)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: parent states times (states - 1) times (coefficients + 1)."""
        n_all = self.intercept.size + self.coefficients.size
        return n_all - n_all // self.child.n_states

    def with_parameters(self, parameters: Floats) -> Logistic:
        """The distribution with these parameters, laid out like ``parameters``."""
        return Logistic(self.child, self.given, parameters[..., 0], parameters[..., 1:])

    def log_probabilities(self, states: Integers, values: Floats) -> Floats:
        """Log probability of every state of the child in each row, shape (rows, states).

        Parameters
        ----------
        states
            Joint states of the discrete parents, the last varying fastest; zero without any.
        values
            The continuous parents, shape (rows, continuous parents).
        """
        r, n = self.child.n_states, len(self.continuous)
        slopes = self.coefficients.reshape(-1, r, n)[states]
        linear = self.intercept.reshape(-1, r)[states] + np.einsum("ikn,in->ik", slopes, values)
        linear -= linear.max(axis=1, keepdims=True)
        return np.asarray(linear - np.log(np.exp(linear).sum(axis=1, keepdims=True)))

    def log_tables(self, values: Floats) -> Floats:
        """Logarithm of the table that known continuous parents leave of each row.

        Shape (rows, states of each discrete parent..., states of the child), of values of shape
        (rows, continuous parents).
        """
        linear = self.intercept + np.tensordot(values, self.coefficients, axes=(1, -1))
        linear -= linear.max(axis=-1, keepdims=True)
        return np.asarray(linear - np.log(np.exp(linear).sum(axis=-1, keepdims=True)))

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return _freeze.rebuilt(self)

    def __repr__(self) -> str:
        from consilience.show.text import local_text

        return local_text(self)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def _check_arrays(self) -> None:
        shape = tuple(variable.n_states for variable in (*self.discrete, self.child))
        wanted = {"intercept": shape, "coefficients": (*shape, len(self.continuous))}
        for field, expected in wanted.items():
            array = getattr(self, field)
            if array.shape != expected or not np.isfinite(array).all():
                raise ModelError(
                    f"the {field} of {self.child.name!r} given {list(self.parents)} must be "
                    f"finite numbers of shape {expected}, got shape {array.shape}.",
                    variable=self.child.name,
                )
