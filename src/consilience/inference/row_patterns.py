r"""Rows with gaps of a mixed network as cases, prepared once for many rounds of inference.

The discrete variables that are missing in a row are enumerated. Those that are parents of
continuous nodes are *relevant*: the density of a row's observed values depends on no others, so a
row has one *case* for each joint state of its missing relevant variables, and each case one
*completion* for each joint state of the other missing ones. Cases that agree in all relevant states
and in which continuous variables are missing form a *unit* (``kernels/mixed_cases.py``).

Rows are taken in blocks, so that what a round allocates does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from consilience import _check, _freeze
from consilience._typing import Bools, Codes, Column, Floats, Integers
from consilience.data.distinct import rows_alike
from consilience.data.table import Table, code_type
from consilience.distributions import LinearGaussian, Logistic
from consilience.distributions.families import kinds
from consilience.errors import DataError, InputError, ModelError
from consilience.inference.batch import network_codes
from consilience.inference.rows import joint_code
from consilience.kernels.mixed_cases import NormalRows, Regressions
from consilience.network.network import Network

__all__ = ["MOST_JOINT_STATES", "Block", "Shape", "blocks_of", "values_of"]

MOST_JOINT_STATES = 4096
"""Joint states of the missing discrete variables of one row; more are refused."""

CELLS_A_BLOCK = 1 << 21  # numbers of the arrays of a block: some megabytes


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What of a mixed network does not depend on its numbers.

    Attributes
    ----------
    families
        The parents of every node, the discrete ones first, each kind in the order of the node's
        distribution.
    n_states
        Numbers of states of the discrete nodes.
    continuous
        The continuous nodes, parents before children.
    relevant
        The discrete nodes that are parents of continuous ones.
    parents, parent_starts
        The continuous parents of node ``j`` are ``parents[parent_starts[j]:parent_starts[j + 1]]``,
        places among the continuous nodes.
    """

    families: Mapping[str, tuple[str, ...]]
    n_states: Mapping[str, int]
    continuous: tuple[str, ...]
    relevant: tuple[str, ...]
    parents: Integers
    parent_starts: Integers

    def __post_init__(self) -> None:
        _freeze.own(self)

    @classmethod
    def of(cls, net: Network) -> Shape:
        """The shape of a network; a discrete node with continuous parents is refused."""
        for name, local in net.distributions.items():
            if isinstance(local, Logistic):
                raise ModelError(
                    f"node {name!r} is discrete and has the continuous parents "
                    f"{_check.listed(v.name for v in local.continuous)}: its missing values have "
                    "no exact statistics. Reverse these arcs, discretize the parents, or use "
                    "cs.AvailableCases().",
                    variable=name,
                )
        variables = net.variables
        order = [name for name in net.dag.topological_order() if variables[name].is_continuous]
        lists = [[order.index(v.name) for v in _regression(net, name).continuous] for name in order]
        discrete = (v.name for name in order for v in _regression(net, name).discrete)
        return cls(
            _families(net),
            {name: v.n_states for name, v in variables.items() if not v.is_continuous},
            tuple(order),
            tuple(dict.fromkeys(discrete)),
            np.array([place for one in lists for place in one], np.int64),
            np.cumsum([0, *map(len, lists)]),
        )

    @property
    def others(self) -> tuple[str, ...]:
        """The discrete nodes that are not relevant."""
        return tuple(name for name in self.n_states if name not in self.relevant)

    def check(self, net: Network) -> None:
        """Refuse a network with another graph, or in which a sd is zero."""
        if _families(net) != dict(self.families):
            raise InputError("the network must have the graph that the rows were prepared for.")
        for name in self.continuous:
            sd = _regression(net, name).sd
            if not (sd > 0).all():
                raise ModelError(
                    f"the sd of {name!r}{self.where(net, name, int(sd.argmin()))} is zero, so that "
                    "its values have no density and missing ones no exact statistics. Use an "
                    "estimator with a prior, such as cs.NormalInverseGamma(), or leave out what is "
                    "constant or a function of others.",
                    variable=name,
                )

    def where(self, net: Network, name: str, state: int) -> str:
        """A joint state of a continuous node's discrete parents in words: `` given 'a' = 'x'``."""
        discrete = _regression(net, name).discrete
        if not discrete:
            return ""
        codes = np.unravel_index(state, [v.n_states for v in discrete])
        pairs = zip(discrete, codes, strict=True)
        return " given " + ", ".join(f"{v.name!r} = {v.discrete_states[k]!r}" for v, k in pairs)

    def regressions(self, net: Network, centers: Floats) -> Regressions:
        """The regressions of the continuous nodes less their centers, in flat arrays."""
        intercepts, sds, slopes = [], [], []
        for j, name in enumerate(self.continuous):
            local = _regression(net, name)
            parents = self.parents[self.parent_starts[j] : self.parent_starts[j + 1]]
            moved = local.coefficients @ centers[parents] - centers[j]
            intercepts.append((local.intercept + moved).ravel())
            sds.append(local.sd.ravel())
            slopes.append(local.coefficients.ravel())
        return Regressions(
            np.concatenate([np.zeros(0), *intercepts]),
            np.concatenate([np.zeros(0), *sds]),
            np.concatenate([np.zeros(0), *slopes]),
            np.cumsum([0, *map(len, sds)]),
            np.cumsum([0, *map(len, slopes)]),
            self.parents,
            self.parent_starts,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Some consecutive rows, their cases and their completions.

    Attributes
    ----------
    start
        Place of the first row in the table.
    weights
        Of the rows.
    normal
        The cases, for the kernels; values are less their centers.
    codes
        For each relevant variable its state in every case, for each other discrete one its state
        in every completion.
    case
        The case of every completion.
    first_completion
        The first completion of every row, and their number; shape (rows + 1,).
    """

    start: int
    weights: Floats
    normal: NormalRows
    codes: Mapping[str, Column]
    case: Integers
    first_completion: Integers

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.weights)

    def states(self, shape: Shape, name: str) -> Column:
        """The states of a discrete variable in all completions."""
        codes = self.codes[name]
        return np.asarray(codes[self.case]) if name in shape.relevant else codes


def values_of(net: Network, table: Table, shape: Shape) -> tuple[Floats, Floats]:
    """The continuous columns less their centers, shape (rows, variables), and the centers.

    A center is the mean of what is known of a column, zero where nothing is.
    """
    values = np.full((table.n_rows, len(shape.continuous)), np.nan)
    centers = np.zeros(len(shape.continuous))
    for j, name in enumerate(shape.continuous):
        if name not in table.schema:
            continue
        if not table.schema[name].is_continuous:
            raise DataError(
                f"column {name!r} is discrete; the network has a continuous variable of that name. "
                "Read the table with schema=.",
                column=name,
            )
        values[:, j] = table.column(name)
        known = ~np.isnan(values[:, j])
        if known.any():
            first = values[known.argmax(), j]
            centers[j] = first + (values[known, j] - first).mean()
    return values - centers, centers


def blocks_of(
    net: Network, table: Table, shape: Shape, values: Floats, *, memory_limit: float
) -> tuple[Block, ...]:
    """The rows of a table in blocks; a variable that the table lacks is missing in every row."""
    recorded = network_codes(net, table, without=shape.continuous)
    missing: Codes = np.full(table.n_rows, -1, np.int8)
    columns = {name: recorded.get(name, missing) for name in shape.n_states}
    n_cases, n_others = (
        _n_joint(shape, columns, names, table.n_rows) for names in (shape.relevant, shape.others)
    )
    _refuse_many(shape, columns, n_cases * n_others)
    _check.memory(
        f"the {(n_cases * n_others).sum():,.0f} joint states of the incomplete rows",
        8.0 * (n_cases * (len(shape.continuous) + 6) + n_cases * n_others * 3).sum(),
        memory_limit,
        "Use fewer rows, or raise memory_limit.",
    )
    weights = np.ones(table.n_rows) if table.weights is None else table.weights.astype(float)
    width = len(shape.continuous)
    cells = n_cases * n_others * (len(shape.n_states) + 4) + n_cases * (width * 2 + 6)
    return tuple(
        _block(shape, columns, values, weights, rows, n_cases[rows], n_others[rows])
        for rows in _slices(cells + width**2)
    )


def _families(net: Network) -> dict[str, tuple[str, ...]]:
    families = {}
    for name, local in net.distributions.items():
        discrete, continuous = kinds(local.given)
        families[name] = tuple(variable.name for variable in (*discrete, *continuous))
    return families


def _regression(net: Network, name: str) -> LinearGaussian:
    local = net.distributions[name]
    if not isinstance(local, LinearGaussian):
        raise TypeError(f"{name!r} is continuous, so its distribution is a LinearGaussian.")
    return local


def _n_joint(
    shape: Shape, columns: Mapping[str, Codes], names: Sequence[str], n_rows: int
) -> Floats:
    """For each row the number of joint states of those of these variables that it misses."""
    n_joint = np.ones(n_rows)
    for name in names:
        n_joint[columns[name] < 0] *= shape.n_states[name]
    return n_joint


def _refuse_many(shape: Shape, columns: Mapping[str, Codes], n_joint: Floats) -> None:
    if not len(n_joint) or n_joint.max() <= MOST_JOINT_STATES:
        return
    row = int(n_joint.argmax())
    missing = [name for name in shape.n_states if columns[name][row] < 0]
    raise DataError(
        f"row {row + 1}: the missing {_check.listed(missing)} have {n_joint[row]:,.0f} joint "
        f"states; a row of a network with continuous nodes may have {MOST_JOINT_STATES:,}. Use "
        "fewer discrete variables, or leave out the row.",
        row=row + 1,
    )


def _slices(cells: Floats) -> Iterator[slice]:
    """Consecutive rows with about as many cells as a block should have."""
    which = (np.cumsum(cells) // CELLS_A_BLOCK).astype(np.int64)
    starts = np.flatnonzero(np.diff(which, prepend=-1)).tolist()
    for start, end in pairwise([*starts, len(which)]):
        yield slice(start, end)


def _block(
    shape: Shape,
    columns: Mapping[str, Codes],
    values: Floats,
    weights: Floats,
    rows: slice,
    n_cases: Floats,
    n_others: Floats,
) -> Block:
    some = {name: column[rows] for name, column in columns.items()}
    n_relevant, n_rest = n_cases.astype(np.int64), n_others.astype(np.int64)
    row = np.repeat(np.arange(len(n_relevant)), n_relevant)
    codes = _enumerated(shape, some, shape.relevant, row, n_relevant)
    case = np.repeat(np.arange(len(row)), n_rest[row])
    codes |= _enumerated(shape, some, shape.others, row[case], n_rest[row])
    first = np.append(0, np.cumsum(n_relevant * n_rest))
    normal = _units(shape, values[rows], row, codes)
    return Block(rows.start, weights[rows], normal, codes, case, first)


def _enumerated(
    shape: Shape,
    columns: Mapping[str, Codes],
    names: Sequence[str],
    row: Integers,
    n_joint: Integers,
) -> dict[str, Column]:
    """States of these variables where each row stands once for each joint state of its gaps.

    ``row`` has the row of every one, ``n_joint`` how many follow each other; the last variable
    varies fastest.
    """
    starts = np.cumsum(n_joint) - n_joint
    left = np.arange(len(row)) - np.repeat(starts, n_joint)
    codes: dict[str, Column] = {}
    for name in reversed(names):
        known, r = columns[name][row], shape.n_states[name]
        is_missing = known < 0
        codes[name] = np.where(is_missing, left % r, known).astype(code_type(r))
        left = np.where(is_missing, left // r, left)
    return {name: codes[name] for name in names}


def _units(shape: Shape, values: Floats, row: Integers, codes: Mapping[str, Column]) -> NormalRows:
    is_missing = np.isnan(values)
    masks = _packed(is_missing)
    relevant = [(codes[name], shape.n_states[name]) for name in shape.relevant]
    patterns = [(mask[row], 1 << 31) for mask in masks]
    first, unit = rows_alike([*relevant, *patterns], len(row))
    order = np.argsort(unit, kind="stable")
    bounds = np.append(0, np.cumsum(np.bincount(unit, minlength=len(first))))
    members, places = np.nonzero(is_missing[row[first]][:, ::-1])  # children first
    n_missing = np.bincount(members, minlength=len(first))
    return NormalRows(
        np.ascontiguousarray(values),
        row,
        unit,
        order,
        bounds,
        len(shape.continuous) - 1 - places,
        np.append(0, np.cumsum(n_missing)),
        np.append(0, np.cumsum(n_missing**2)),
        _parent_codes(shape, {name: codes[name][first] for name in shape.relevant}, len(first)),
    )


def _packed(mask: Bools) -> Iterator[npt.NDArray[np.int64]]:
    """The columns of a mask as the bits of whole numbers, thirty in each."""
    for start in range(0, mask.shape[1], 30):
        part = mask[:, start : start + 30]
        yield part @ (np.int64(1) << np.arange(part.shape[1]))


def _parent_codes(shape: Shape, codes: Mapping[str, Column], n: int) -> Integers:
    """The joint state of the discrete parents of each continuous node, shape (n, nodes)."""
    found = np.zeros((n, len(shape.continuous)), np.int64)
    for j, name in enumerate(shape.continuous):
        discrete = [parent for parent in shape.families[name] if parent in shape.n_states]
        found[:, j] = joint_code({p: shape.n_states[p] for p in discrete}, codes)
    return found
