r"""Regressions of many families from one set of moments.

The moments of all continuous variables, kept apart by the joint states of some discrete ones, hold
every family whose child and continuous parents are among them and whose discrete parents are these:
a regression for each joint state. The rows are not needed again, unless columns are so nearly
functions of each other that the digits of the moments are lost: then fine moments are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Bools, Floats, Integers
from consilience.errors import PrecisionError
from consilience.kernels.fine import misfits_finely, regress_finely
from consilience.kernels.regressions import list_toggles, misfits, regress
from consilience.statistics.counts import parent_states_of
from consilience.statistics.family import Family
from consilience.statistics.moments import Moments
from consilience.statistics.scales import check_scales

__all__ = ["RegressionBatch", "Residuals"]


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """What the regressions leave; all arrays have the shape (joint states, families).

    Attributes
    ----------
    left
        Residual sums of squares of the child.
    rank
        Number of parents that tell something new.
    log_det
        Log determinant of the centred products of the parents.
    """

    left: Floats
    rank: Integers
    log_det: Floats


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RegressionBatch:
    """Families of continuous children over the same moments, hence with the same discrete parents.

    Parameters
    ----------
    moments
        The moments by joint state of the discrete parents.
    whole
        The moments of the same rows and variables, all joint states together.
    children
        The child of each family, a place in ``moments.names``.
    starts, parents
        The continuous parents of family ``f`` are ``parents[starts[f]:starts[f + 1]]``, places in
        ``moments.names``. Families whose lists begin alike should stand together.

    Examples
    --------
    >>> import consilience as cs
    >>> columns = {"x": [0.0, 1.0, 2.0, 3.0], "y": [0.5, 1.0, 2.5, 3.0]}
    >>> table = cs.read(columns, continuous=["x", "y"])
    >>> batch = RegressionBatch.of(cs.moments(table, ["x", "y"]), [cs.Family("y", ("x",))])
    >>> batch.residuals().left.round(6).tolist()  # 4.25 - 4.5² / 5
    [[0.2]]
    """

    moments: Moments
    whole: Moments
    children: Integers
    starts: Integers
    parents: Integers

    def __post_init__(self) -> None:
        _freeze.own(self)

    @classmethod
    def of(cls, moments: Moments, families: Sequence[Family]) -> RegressionBatch:
        """The batch of some families, whose discrete parents are those of the moments."""
        place = {name: i for i, name in enumerate(moments.names)}
        return cls.listed(
            moments,
            moments.without_states(),
            [place[family.child] for family in families],
            [[place[name] for name in one.parents if name in place] for one in families],
        )

    @classmethod
    def listed(
        cls,
        moments: Moments,
        whole: Moments,
        children: Sequence[int],
        parents: Sequence[Sequence[int]],
    ) -> RegressionBatch:
        """The batch of families by place."""
        starts = np.cumsum([0, *map(len, parents)])
        flat = [one for some in parents for one in some]
        places = (np.array(given, np.int64) for given in (children, starts, flat))
        return cls(moments, whole, *places)

    @classmethod
    def toggled(
        cls,
        moments: Moments,
        whole: Moments,
        child: int,
        parents: Integers,
        *,
        candidates: Integers,
    ) -> RegressionBatch:
        """A family, without each of its continuous parents, and with each candidate, by place."""
        k, n = len(parents), len(candidates)
        starts, everyone = np.empty(2 + k + n, np.int64), np.empty(k * k + n * (k + 1), np.int64)
        list_toggles(parents, candidates, starts, everyone)
        return cls(
            moments,
            whole,
            _freeze.read_only(np.full(1 + k + n, child, np.int64)),
            _freeze.read_only(starts),
            _freeze.read_only(everyone),
        )

    @property
    def families(self) -> list[Family]:
        """Names of children and parents, the discrete parents first."""
        names, given = self.moments.names, tuple(one.name for one in self.moments.given)
        ends = zip(self.children.tolist(), self.starts[:-1], self.starts[1:], strict=True)
        return [
            Family(names[child], (*given, *(names[i] for i in self.parents[a:b].tolist())))
            for child, a, b in ends
        ]

    @property
    def n_continuous(self) -> Integers:
        """Number of continuous parents of each family."""
        return self.starts[1:] - self.starts[:-1]

    @property
    def n_parents(self) -> Integers:
        """Number of parents of each family."""
        return self.n_continuous + len(self.moments.given)

    @property
    def n_parent_states(self) -> int:
        """Number of joint states of the discrete parents, seen or not."""
        return parent_states_of(self.moments.given)

    @property
    def n_rows(self) -> float:
        """Weight of the rows that the regressions are made of."""
        return float(self.moments.weight.sum())

    @property
    def is_fine(self) -> bool:
        """Whether all moments keep twice the digits."""
        return self.moments.is_fine and self.whole.is_fine

    def pooled(self) -> RegressionBatch:
        """The same families over the rows of all sources together."""
        if self.moments.source is None:
            return self
        return self._over(self.moments.pooled(), self.whole.pooled())

    def by_source(self) -> Iterator[RegressionBatch]:
        """The same families over the rows of each source."""
        both = zip(self.moments.by_source(), self.whole.by_source(), strict=True)
        return (self._over(moments, whole) for moments, whole in both)

    def without_states(self) -> RegressionBatch:
        """The same regressions for all joint states together: the discrete parents left out."""
        return self._over(self.whole, self.whole)

    def _over(self, moments: Moments, whole: Moments) -> RegressionBatch:
        return RegressionBatch(moments, whole, self.children, self.starts, self.parents)

    def residuals(self, ridge: float = 0.0) -> Residuals:
        """What is left by each regression, in each joint state; the sources must be pooled.

        ``ridge`` is added to the diagonal of the centred products. What is left is zero where the
        parents determine the child, up to the rounding of the values.

        Raises
        ------
        PrecisionError
            If too few digits of the moments are left; fine moments would do.
        DataError
            If a column is too small or too large for the fine moments that are needed.
        """
        weight, mean, scatter, *rest = (array[0] for array in self.moments.arrays)
        shape = (len(scatter), len(self))
        left, log_det, rank = np.empty(shape), np.empty(shape), np.empty(shape, np.int64)
        lost = np.empty(shape, bool)
        families = self.children, self.starts, self.parents
        if regress(weight, mean, scatter, *families, ridge, left, rank, log_det, lost):
            if not rest:
                raise _lost(self.families[int(lost.any(axis=0).argmax())])
            check_scales(self.moments, self._used(lost)[None])
            fine = weight, mean, scatter, rest[1]
            regress_finely(*fine, *families, ridge, lost, left, rank, log_det)
        return Residuals(left, rank, log_det)

    def misfits(self, wanted: Bools) -> Floats:
        """Sums of squares of the rows of a state around the regression of all states together.

        For the pairs (state, family) that are wanted; zero for the others.
        """
        return self.misfits_around(self.whole, self.moments, wanted)

    def misfits_around(self, line: Moments, moments: Moments, wanted: Bools) -> Floats:
        """Sums of squares of rows around the regressions of other rows, through their means.

        Both pooled over the sources, and ``line`` over the states.
        """
        out = np.zeros(wanted.shape)
        families = self.children, self.starts, self.parents
        center, total, *center_rest = (array[0, 0] for array in line.arrays[1:])
        weight, mean, scatter, *rest = (array[0] for array in moments.arrays)
        if not (rest and center_rest):
            misfits(total, center, scatter, mean, weight, *families, wanted, out)
            return out
        used = self._used(wanted)
        check_scales(moments, used[None])
        check_scales(line, np.array([[used.any(axis=0)]]))
        around = float(line.weight[0, 0]), center, total, center_rest[0], center_rest[1]
        groups = weight, mean, scatter, rest[0], rest[1]
        misfits_finely(*around, *groups, *families, wanted, out)
        return out

    def _used(self, wanted: Bools) -> Bools:
        """The variables of the wanted families, shape (joint states, variables)."""
        used = np.zeros((len(wanted), len(self.moments.names)), bool)
        for f in np.flatnonzero(wanted.any(axis=0)):
            members = [self.children[f], *self.parents[self.starts[f] : self.starts[f + 1]]]
            used[:, members] |= wanted[:, [f]]
        return used

    def __len__(self) -> int:
        return len(self.children)

    def __repr__(self) -> str:
        return f"RegressionBatch({len(self)} families, {self.n_rows:g} rows)"


def _lost(family: Family) -> PrecisionError:
    others = _check.listed(family.parents)
    return PrecisionError(
        f"{family.child!r} and {others} are so nearly functions of each other that the digits of "
        "their moments do not tell what is left. Ask for fine moments, cs.moments(..., fine=True).",
        column=family.child,
        family=family,
    )
