r"""All parameters of the networks of one graph as one vector, in which steps can be compared.

First the cells of all tables, as they are. Then the regressions in coordinates without units: of a
regression of :math:`x` on :math:`z`, with centers :math:`c` and sds :math:`s` of the columns,

.. math:: \frac{\beta_0 + \beta^\top c_z - c_x}{s_x}, \qquad \beta_k \frac{s_k}{s_x}, \qquad
    \log \frac{\sigma}{s_x} .

A residual sd that falls to nothing (a hidden state that explains a few equal values, a column that
is a function of others) makes the likelihood grow without bound: where ties to other joint states
(``steps.py``) do not keep it up, it is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from consilience._typing import Bools, Floats
from consilience.distributions import LinearGaussian
from consilience.errors import DataError
from consilience.inference.cases import Expected
from consilience.inference.layout import HasTables, Layout
from consilience.inference.normal_cases import where_words

__all__ = ["HasFamilies", "Rows", "Space"]

COLLAPSED = 1e-8
"""Share of a column's sd; a residual sd below it counts as zero."""


class HasFamilies(HasTables, Protocol):
    """A network, or the families of one."""

    @property
    def regressions(self) -> Mapping[str, LinearGaussian]:
        """The regressions by name."""
        ...


class _Scales(Protocol):
    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def centers(self) -> Floats: ...

    @property
    def spreads(self) -> Floats: ...


class Rows(Protocol):
    """Rows with gaps, prepared for the families of one graph."""

    @property
    def layout(self) -> Layout:
        """How the tables stand in a vector."""
        ...

    @property
    def normal(self) -> _Scales:
        """The continuous columns with their means and sds."""
        ...

    def expect(
        self, theta: Floats, regressions: Mapping[str, LinearGaussian] | None = None
    ) -> Expected:
        """Expected statistics under tables and regressions."""
        ...


class Space:
    """Vectors of the parameters of one graph, for the rows of some cases."""

    def __init__(self, net: HasFamilies, cases: Rows) -> None:
        self._net, self._cases = net, cases
        normal = cases.normal
        # A hidden variable, or a constant one, has no sd to be measured by.
        spreads = np.where(normal.spreads > 0, normal.spreads, 1.0)
        limits = dict(zip(normal.names, COLLAPSED * normal.spreads, strict=True))
        self._limits = {name: limits[name] for name in net.regressions}
        self._spreads = dict(zip(normal.names, spreads, strict=True))
        self._centers = dict(zip(normal.names, normal.centers, strict=True))

    @property
    def layout(self) -> Layout:
        """How the tables stand in a vector."""
        return self._cases.layout

    @property
    def n_cells(self) -> int:
        """Cells of all tables."""
        return int(self.layout.first[-1])

    def of_network(self, net: HasFamilies) -> Floats:
        """The vector of a network."""
        theta = self.layout.flatten({name: local.table for name, local in net.tables.items()})
        return self.vector(theta, net.regressions)

    def vector(self, theta: Floats, regressions: Mapping[str, LinearGaussian]) -> Floats:
        """The vector of cells of tables and of regressions."""
        if not self._limits:
            return theta
        parts = [self._of(regressions[name]).ravel() for name in self._net.regressions]
        return np.concatenate([theta, *parts])

    def split(self, vector: Floats) -> tuple[Floats, dict[str, LinearGaussian]]:
        """The cells of the tables, and the regressions.

        Raises
        ------
        DataError
            If a regression is too far out, or its sd has fallen to nothing.
        """
        place, found = self.n_cells, {}
        for name, like in self._net.regressions.items():
            size = like.parameters.size
            part = vector[place : place + size].reshape(like.parameters.shape)
            found[name] = self._local(like, part)
            place += size
        self.refuse_collapse(found)
        return vector[: self.n_cells], found

    def expect(self, vector: Floats) -> Expected:
        """Expected statistics of the rows at these parameters."""
        return self._cases.expect(*self.split(vector))

    def is_collapsed(self, name: str, local: LinearGaussian) -> Bools:
        """Which residual sds of the regression of this name have fallen to nothing."""
        return ~np.asarray(local.sd > self._limits[name])

    def of_start(self, net: HasFamilies) -> Floats:
        """The vector of a network to start from, sds of nothing set to that of the column.

        Raises
        ------
        DataError
            If that is nothing too.
        """
        opened = dict(net.regressions)
        for name, local in net.regressions.items():
            is_nothing = self.is_collapsed(name, local)
            if is_nothing.any():
                sd = np.where(is_nothing, self._limits[name] / COLLAPSED, local.sd)
                opened[name] = LinearGaussian(
                    local.child, local.given, local.intercept, local.coefficients, sd
                )
        self.refuse_collapse(opened)
        theta = self.layout.flatten({name: local.table for name, local in net.tables.items()})
        return self.vector(theta, opened)

    def refuse_collapse(self, regressions: Mapping[str, LinearGaussian]) -> None:
        """Raise if a residual sd has fallen to nothing."""
        for name, limit in self._limits.items():
            local = regressions[name]
            if not (local.sd > limit).all():
                raise DataError(
                    f"the residual sd of {name!r}{where_words(local, int(local.sd.argmin()))} is "
                    f"{local.sd.min():.3g}: its values there are constant, or a function of its "
                    "parents, and the likelihood grows without bound. Use an estimator with a "
                    "prior, such as cs.estimators.NormalInverseGamma(), fewer parents or hidden "
                    "states, or "
                    "leave the column out.",
                    variable=name,
                )

    def valid(self, vector: Floats, near: Floats) -> Floats | None:
        """A vector that a leap has reached, tables made whole; None if it leapt too far.

        Entries that are negative are set to a tenth of where ``near`` has them.
        """
        n = self.n_cells
        cells = np.where(vector[:n] > 0.0, vector[:n], 0.1 * near[:n])
        cells = cells / self.layout.row_sums(cells)
        if len(vector) == n:
            return cells
        found = np.concatenate([cells, vector[n:]])
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                self.split(found)
        except DataError:
            return None
        return found

    def _of(self, local: LinearGaussian) -> Floats:
        child = local.child.name
        unit, center = self._spreads[child], self._centers[child]
        centers, units = self._parents(local)
        moved = local.intercept + local.coefficients @ centers - center
        return np.concatenate(
            [
                moved[..., None] / unit,
                local.coefficients * units / unit,
                np.log(local.sd / unit)[..., None],
            ],
            axis=-1,
        )

    def _local(self, like: LinearGaussian, part: Floats) -> LinearGaussian:
        child = like.child.name
        unit, center = self._spreads[child], self._centers[child]
        centers, units = self._parents(like)
        slopes = part[..., 1:-1] * unit / units
        intercept = part[..., 0] * unit + center - slopes @ centers
        sd = np.exp(part[..., -1]) * unit
        if not (np.isfinite(slopes).all() and np.isfinite(intercept).all() and (sd < np.inf).all()):
            raise DataError(f"the regression of {child!r} is too far out.", variable=child)
        return LinearGaussian(like.child, like.given, intercept, slopes, sd)

    def _parents(self, local: LinearGaussian) -> tuple[Floats, Floats]:
        names = [v.name for v in local.continuous]
        return (
            np.array([self._centers[name] for name in names], float),
            np.array([self._spreads[name] for name in names], float),
        )
