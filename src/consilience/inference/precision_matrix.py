r"""Partial correlations: how two variables go together, given all others.

With the precision matrix :math:`\Omega = \Sigma^{-1}` of a normal distribution,

.. math:: \rho_{ij} = -\frac{\Omega_{ij}}{\sqrt{\Omega_{ii}\,\Omega_{jj}}},

and :math:`-\Omega_{ij} / \Omega_{ii}` is the coefficient of :math:`j` in the regression of
:math:`i` on all others. A network of regressions with coefficients :math:`B` and residual variances
:math:`D` has

.. math:: \Omega = (I - B)^\top D^{-1} (I - B) = \sum_i \frac{v_i v_i^\top}{\sigma_i^2}, \qquad
    v_i = e_i - \sum_k b_{ik} e_k .

So :math:`\Omega_{ij}` is exactly zero where the moral graph has no edge, as it is made here. The
converse holds but for parameters that cancel.

Reference: S. Lauritzen (1996). Graphical Models, section 5.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats
from consilience.data.door import Rows, as_table
from consilience.errors import DataError, InputError, ModelError
from consilience.network.network import Network
from consilience.statistics.gather import moments

__all__ = ["PartialCorrelations", "partial_correlations"]

SMALLEST = 1e-12
"""Eigenvalue of correlations below which columns are functions of each other."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PartialCorrelations:
    """The partial correlations of some variables, and the precision matrix they come from.

    Parameters
    ----------
    names
        The variables, in the order of the axes.
    values
        Partial correlations; one on the diagonal.
    precision
        The inverse of the covariance, in the inverse units of the variables.
    """

    names: tuple[str, ...]
    values: Floats
    precision: Floats

    def __post_init__(self) -> None:
        _freeze.own(self)

    def __getitem__(self, pair: tuple[str, str]) -> float:
        """The partial correlation of two variables: ``found["x", "y"]``."""
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise InputError(f"two names are wanted, such as found['x', 'y']; got {pair!r}.")
        _check.known("variable", pair, self.names)
        i, j = (self.names.index(name) for name in pair)
        return float(self.values[i, j])

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return _freeze.rebuilt(self)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        width = max(6, *(len(name) for name in self.names))
        lines = [" " * width + "".join(f" {name:>{width}}" for name in self.names)]
        for name, row in zip(self.names, self.values, strict=True):
            lines.append(f"{name:<{width}}" + "".join(f" {x:>{width}.3f}" for x in row))
        return "\n".join(lines)


def partial_correlations(
    of: Network | Rows, names: Iterable[str] | None = None
) -> PartialCorrelations:
    """The partial correlations of a network of regressions, or of the columns of a table.

    Parameters
    ----------
    of
        A network whose nodes are all continuous; or a table, frame or path, of which the rows are
        used that are complete in these columns, all sources together.
    names
        The variables; all continuous ones if not given. Others are summed out: each correlation is
        given the rest of *these*.

    Raises
    ------
    ModelError
        If a node of the network is discrete, or a function of its parents.
    DataError
        If columns are functions of each other, or rows are too few.

    Examples
    --------
    >>> import consilience as cs
    >>> x, y, z = (cs.Variable(name) for name in "xyz")
    >>> chain = cs.Network.of([cs.LinearGaussian(x, (), 0, [], 1),
    ...     cs.LinearGaussian(y, (x,), 0, [1], 1), cs.LinearGaussian(z, (y,), 0, [1], 1)])
    >>> found = cs.partial_correlations(chain)
    >>> found["x", "z"], round(found["x", "y"], 4)  # 1 / sqrt(2 * 2)
    (0.0, 0.5)
    """
    wanted = None
    if names is not None:
        _check.names("partial_correlations", names=names)
        wanted = tuple(names)
        if not wanted or len(set(wanted)) < len(wanted):
            raise InputError(
                "partial_correlations: names must be different variables, got "
                f"{_check.listed(wanted) or 'none'}.",
                parameter="names",
            )
    return _of_network(of, wanted) if isinstance(of, Network) else _of_rows(of, wanted)


def _of_network(net: Network, names: tuple[str, ...] | None) -> PartialCorrelations:
    for name, variable in net.variables.items():
        local = net.regressions.get(name)
        if local is None or any(not v.is_continuous for v in local.given):
            what = "is discrete" if local is None else "has discrete parents"
            raise ModelError(
                f"partial_correlations: node {name!r} {what}; they are those of one normal "
                "distribution. Give net.query of continuous nodes the states instead.",
                variable=variable.name,
            )
        if local.sd == 0:
            raise ModelError(
                f"partial_correlations: {name!r} is a function of its parents, so that the "
                "covariance has no inverse.",
                variable=name,
            )
    every = tuple(net.variables)
    place = {name: i for i, name in enumerate(every)}
    precision = np.zeros((len(every), len(every)))
    for name, local in net.regressions.items():
        at = [place[name], *(place[parent] for parent in local.parents)]
        v = np.concatenate([[1.0], -local.coefficients]) / local.sd
        precision[np.ix_(at, at)] += np.outer(v, v)
    return _found(every, precision, names)


def _of_rows(rows: Rows, names: tuple[str, ...] | None) -> PartialCorrelations:
    table = as_table(rows)
    continuous = tuple(n for n, variable in table.variables.items() if variable.is_continuous)
    chosen = continuous if names is None else names
    if len(chosen) < 2:
        raise InputError(
            "partial_correlations: at least two continuous variables are wanted; there are "
            f"{_check.listed(chosen) or 'none'}.",
            parameter="names",
        )
    _check.known("variable", chosen, table.variables)
    for name in chosen:
        if name not in continuous:
            raise InputError(
                f"partial_correlations: {name!r} is discrete; they are those of continuous columns"
                f": {_check.listed(continuous)}.",
                variable=name,
            )
    found = moments(table, chosen)
    n, scatter = float(found.weight[0, 0]), found.scatter[0, 0]
    sd = np.sqrt(np.diag(scatter))
    if n <= len(chosen) or not (sd > 0).all():
        raise DataError(
            f"partial_correlations: {n:g} rows are complete in {_check.listed(chosen)}; more than "
            f"{len(chosen)} are needed, and no column may be constant."
        )
    correlation = scatter / np.outer(sd, sd)
    if np.linalg.eigvalsh(correlation)[0] < SMALLEST:
        raise DataError(
            f"partial_correlations: some of the columns {_check.listed(chosen)} are functions of "
            "the others. Leave one out."
        )
    scale = sd / np.sqrt(n - 1)
    return _found(chosen, np.linalg.inv(correlation) / np.outer(scale, scale), None)


def _found(
    every: tuple[str, ...], precision: Floats, names: tuple[str, ...] | None
) -> PartialCorrelations:
    """The answer for some of the variables, the others summed out of the precision matrix."""
    if names is not None:
        _check.known("variable", names, every)
        kept = [every.index(name) for name in names]
        others = [i for i in range(len(every)) if i not in kept]
        a, b = precision[np.ix_(kept, kept)], precision[np.ix_(kept, others)]
        if others:
            a = a - b @ np.linalg.solve(precision[np.ix_(others, others)], b.T)
        every, precision = names, 0.5 * (a + a.T)
    size = np.sqrt(np.diag(precision))
    values = -precision / np.outer(size, size) + 0.0
    np.fill_diagonal(values, 1.0)
    return PartialCorrelations(every, values, precision)
