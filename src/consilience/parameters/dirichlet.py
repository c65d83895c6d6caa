r"""Posterior means under Dirichlet priors.

.. math::
    \theta_j \sim \mathrm{Dirichlet}(a_{j1}, \dots, a_{jr}), \qquad
    \hat\theta_{jk} = \frac{N_{jk} + a_{jk}}{N_j + \sum_k a_{jk}}

The prior's size is given in one of five ways, for a family with :math:`q` parent states and
:math:`r` states:

================================  ==========================================================
``Dirichlet(ess=s)``              :math:`a = s / (qr)`: worth s rows over the whole table (BDeu)
``Dirichlet(per_parent_state=s)`` :math:`a = s / r`: worth s rows in every row of the table
``Dirichlet(per_cell=a)``         the same a everywhere (1: K2, 1/2: Jeffreys)
``Dirichlet(tables={...})``       :math:`a_{jk}` given for each child
``Dirichlet(ess=s, network=net)`` :math:`a_{jk} = s P(j, k)` under a prior network (BDe)
================================  ==========================================================

References: Heckerman, Geiger and Chickering (1995); Cooper and Herskovits (1992).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats
from consilience.distributions.categorical import Categorical
from consilience.distributions.dirichlet import DirichletPosterior
from consilience.errors import InputError
from consilience.inference.queries import joint
from consilience.network.network import Network
from consilience.parameters.maximum_likelihood import pooled_rows
from consilience.statistics.counts import Counts

__all__ = ["Dirichlet"]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Dirichlet:
    """Posterior mean under a Dirichlet prior, pooled over the sources; the posterior is kept.

    Parameters
    ----------
    ess, per_parent_state, per_cell
        Size of the prior, in one of these three ways; ``ess=1`` by default.
    tables
        Prior counts for each child, in the shape of its table (a parent an axis, the child last);
        all above zero.
    network
        A prior network over the variables of the data, with its weight ``ess``.
    """

    ess: float | None = None
    per_parent_state: float | None = None
    per_cell: float | None = None
    tables: Mapping[str, Floats] | None = None
    network: Network | None = None
    by_source: ClassVar[bool] = False
    has_prior: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _freeze.own(self)
        sizes = {
            name: size
            for name in ("ess", "per_parent_state", "per_cell")
            if (size := getattr(self, name)) is not None
        }
        _check.positive("Dirichlet", **sizes)
        if self.tables is not None and not isinstance(self.tables, Mapping):
            raise InputError(
                f"Dirichlet: tables must map children to prior counts, got {self.tables!r}.",
                parameter="tables",
            )
        ways = [*sizes, *(["tables"] if self.tables is not None else [])]
        if len(ways) > 1:
            raise InputError(f"Dirichlet: say the prior in one way, not in {_check.listed(ways)}.")
        if not ways:
            object.__setattr__(self, "ess", 1.0)
        if self.network is not None and ways not in ([], ["ess"]):
            raise InputError(f"Dirichlet: a prior network goes with ess, not with {ways[0]!r}.")

    def __repr__(self) -> str:
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        written = [f"{name}={value!r}" for name, value in given.items() if value is not None]
        return f"Dirichlet({', '.join(written)})"

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The local distribution of each family, with its posterior."""
        return [self._posterior_mean(counts) for counts in families]

    def prior(self, counts: Counts) -> Floats:
        """Prior counts of a family in the shape of its table, which must fit in memory."""
        counts.check_dense()
        child, names = counts.child.name, (*counts.family.parents, counts.child.name)
        shape = tuple(variable.n_states for variable in (*counts.given, counts.child))
        n_cells = float(np.prod(shape))
        if self.network is not None:
            return float(self.ess or 0) * _prior_joint(self.network, counts, names)
        if self.tables is not None:
            _check.known("prior table", [child], self.tables)
            return _checked_prior(child, np.asarray(self.tables[child], float), shape)
        if self.per_cell is not None:
            return np.full(shape, self.per_cell)
        if self.per_parent_state is not None:
            return np.full(shape, self.per_parent_state / shape[-1])
        return np.full(shape, float(self.ess or 0) / n_cells)

    def _posterior_mean(self, counts: Counts) -> Categorical:
        prior = self.prior(counts)
        concentration = prior + pooled_rows(counts).reshape(prior.shape)
        posterior = DirichletPosterior(concentration)
        return Categorical(counts.child, counts.given, posterior.mean(), posterior)


def _checked_prior(child: str, prior: Floats, shape: tuple[int, ...]) -> Floats:
    if prior.shape != shape or not np.all(np.isfinite(prior) & (prior > 0)):
        raise InputError(
            f"Dirichlet: the prior table of {child!r} must have shape {shape} and entries above "
            f"zero, got shape {prior.shape}.",
            variable=child,
        )
    return prior


def _prior_joint(network: Network, counts: Counts, names: tuple[str, ...]) -> Floats:
    _check.known("node of the prior network", names, network.variables)
    orders = []
    for variable in (*counts.given, counts.child):
        prior = network.variables[variable.name]
        if set(prior.discrete_states) != set(variable.discrete_states):
            raise InputError(
                f"Dirichlet: the prior network has other states of {variable.name!r} than the "
                f"data: {_check.listed(prior.discrete_states)}.",
                variable=variable.name,
            )
        orders.append([prior.code(state) for state in variable.discrete_states])
    cells = joint(network, names)[np.ix_(*orders)]
    if not np.all(cells > 0):
        raise InputError(
            f"Dirichlet: the prior network excludes some states of the family of {names[-1]!r}; "
            "a prior must leave everything possible.",
            variable=names[-1],
        )
    return cells
