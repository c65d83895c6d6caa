r"""Mechanisms that make values missing, as networks.

For each variable :math:`x` that may be missing there is one more node, the indicator ``M_x`` with
the states ``observed`` and ``missing``. What its parents are is the mechanism:

============== ==================== ===========================================================
:class:`MCAR`  nothing              missing completely at random
:class:`MAR`   always known columns missing at random: what is recorded explains the gaps
:class:`MNAR`  :math:`x` itself     missing not at random: the lost value explains its own loss
============== ==================== ===========================================================

With :math:`z` the position of a parent's state between -1 (the first) and 1 (the last), or the
standardized value of a continuous one, and :math:`b` the ``strength``,

.. math:: P(M_x = \text{missing} \mid z) = \frac{1}{1 + \exp(-a - b \sum z)},

where :math:`a` makes the expected share of missing values the one asked for, in every source. With
shares by source, the source is one more parent; a share of 1 is a column that a source never
measured.

References
----------
D. Rubin (1976). Inference and missing data. Biometrika 63. K. Mohan, J. Pearl, J. Tian (2013).
Graphical models for inference with missing data. NIPS 26.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from consilience import _check, _freeze
from consilience._typing import Bools, Column, Floats, Seed
from consilience.data.door import Rows, as_table
from consilience.data.table import Table
from consilience.data.variable import Variable
from consilience.distributions import Distribution
from consilience.distributions.categorical import Categorical
from consilience.distributions.local_distribution import kinds
from consilience.distributions.logistic import Logistic
from consilience.errors import DataError, InputError, ModelError
from consilience.network.network import Network
from consilience.network.record import Record

__all__ = ["MAR", "MCAR", "MNAR", "Mechanism", "missingness_network", "with_gaps"]

PREFIX = "M_"
STATES = ("observed", "missing")
CERTAIN = 800.0  # a logit from which on a probability is 0 or 1 in floating point
N_DRAWN = 100_000  # rows that stand for the distribution of continuous parents


@dataclass(frozen=True, slots=True)
class MCAR:
    """Gaps completely at random: nothing explains them.

    Parameters
    ----------
    share
        Expected share of missing values in each column, from 0 to 1.
    columns
        The columns that get gaps; all if not given.
    by_source
        Other shares, as ``{source: {column: share}}``; 1 for a column never measured there.
    """

    share: float = 0.1
    columns: Sequence[str] | None = None
    by_source: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    strength: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        _check_mechanism(self)

    def causes_of(self, name: str) -> tuple[str, ...]:
        """What the indicator of this variable depends on, besides the source."""
        return ()


@dataclass(frozen=True, slots=True)
class MAR:
    """Gaps at random: columns that are always known explain them.

    Parameters
    ----------
    share
        Expected share of missing values in each column.
    causes
        The columns that decide; they get no gaps themselves.
    columns
        The columns that get gaps; all but the causes if not given.
    strength
        By how much the logit of a gap rises from the middle state of a cause to its last one, or
        with one sd of a continuous cause.
    by_source
        Other shares, as ``{source: {column: share}}``.
    """

    share: float = 0.1
    causes: Sequence[str] = ()
    columns: Sequence[str] | None = None
    strength: float = 2.0
    by_source: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_mechanism(self)
        _check.names("MAR", causes=self.causes)
        object.__setattr__(self, "causes", tuple(self.causes))
        if not self.causes:
            raise InputError(
                "MAR: causes must name the columns that decide which values are missing. Without "
                "any the gaps are completely at random: MCAR.",
                parameter="causes",
            )

    def causes_of(self, name: str) -> tuple[str, ...]:
        """What the indicator of this variable depends on, besides the source."""
        return tuple(self.causes)


@dataclass(frozen=True, slots=True)
class MNAR:
    """Gaps not at random: the value itself decides whether it is recorded.

    Parameters
    ----------
    share, columns, by_source
        As for :class:`MCAR`.
    strength
        By how much the logit of a gap rises from the middle state to the last one, or with one sd.
    """

    share: float = 0.1
    columns: Sequence[str] | None = None
    strength: float = 2.0
    by_source: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_mechanism(self)

    def causes_of(self, name: str) -> tuple[str, ...]:
        """What the indicator of this variable depends on, besides the source."""
        return (name,)


Mechanism: TypeAlias = MCAR | MAR | MNAR
"""How values come to be missing."""


def with_gaps(table: Rows, mechanism: Mechanism | Network, *, seed: Seed = None) -> Table:
    """The table with gaps that a mechanism made; what was missing stays missing.

    Parameters
    ----------
    table
        Rows whose values that decide about gaps are all known.
    mechanism
        A choice, calibrated on the rows of the table; or a network with nodes ``M_x``, whose
        parents are columns of the table or other such nodes (:func:`missingness_network`).
    seed
        An int, a NumPy generator, or None for fresh entropy.

    Examples
    --------
    >>> import consilience as cs
    >>> rows = cs.read({"a": ["x", "y"] * 500, "b": ["u", "u", "v", "v"] * 250})
    >>> cut = cs.simulate.with_gaps(rows, cs.simulate.MCAR(0.3, columns=["b"]), seed=1)
    >>> cut.missing["all"]["a"], abs(cut.missing["all"]["b"] - 0.3) < 0.05
    (0.0, True)
    """
    table = as_table(table)
    rng = _check.generator(seed)
    if isinstance(mechanism, Network):
        _check_states(mechanism, table)
        order = [name for name in mechanism.dag.topological_order() if name.startswith(PREFIX)]
        local = [mechanism[name] for name in order if name.removeprefix(PREFIX) in table.variables]
        if not local:
            raise ModelError(
                f"the network has no node {PREFIX}x for a column x of the table; it has "
                f"{_check.listed(mechanism.variables)}."
            )
    else:
        local = _indicators(mechanism, table.variables, table.schema.source, _rows_of(table))
    return _cut(table, local, rng)


def missingness_network(net: Network, mechanism: Mechanism) -> Network:
    """The network with one indicator ``M_x`` more for each variable that gets gaps.

    It is an ordinary network: draw it, ask it, sample from it, or give it to :func:`with_gaps`.
    With continuous causes its shares are calibrated on 100,000 rows drawn from the network.

    Examples
    --------
    >>> import consilience as cs
    >>> pain = cs.Categorical(cs.Variable("pain", ("no", "yes")), (), [0.5, 0.5])
    >>> mechanism = cs.simulate.MNAR(0.5, strength=1.0)
    >>> whole = cs.simulate.missingness_network(cs.Network.of([pain]), mechanism)
    >>> whole["M_pain"].table.round(4).tolist()  # observed and missing: 1 / (1 + exp(1)) = 0.2689
    [[0.7311, 0.2689], [0.2689, 0.7311]]
    >>> round(whole.query("pain", given={"M_pain": "observed"})["yes"], 4)
    0.2689
    """
    source = None if net.source is None else net.variables[net.source]
    variables = {name: one for name, one in net.variables.items() if name != net.source}
    local = _indicators(mechanism, variables, source, _population_of(net))
    for one in local:
        if one.child.name in net.variables:
            raise ModelError(f"the network has a node {one.child.name!r} already.")
    return Network.of(
        [*net.distributions.values(), *local],
        source=net.source,
        record=Record(method=f"missingness_network({mechanism!r})"),
    )


Population: TypeAlias = Callable[[Sequence[str]], tuple[Mapping[str, Column], Floats]]
"""Columns of these names and the weight of each of their rows."""


def _rows_of(table: Table) -> Population:
    def population(names: Sequence[str]) -> tuple[Mapping[str, Column], Floats]:
        columns = {name: _known_column(table, name) for name in names}
        weights = np.ones(table.n_rows) if table.weights is None else table.weights.astype(float)
        return columns, weights

    return population


def _population_of(net: Network) -> Population:
    def population(names: Sequence[str]) -> tuple[Mapping[str, Column], Floats]:
        if not names:
            return {}, np.ones(1)
        if any(net.variables[name].is_continuous for name in names):
            return _rows_of(net.sample(N_DRAWN, seed=0))(names)
        values = net.query(list(names)).values
        codes = np.unravel_index(np.arange(values.size), values.shape)
        return dict(zip(names, codes, strict=True)), values.ravel()

    return population


def _known_column(table: Table, name: str) -> Column:
    column = table.column(name)
    is_missing = np.isnan(column) if table.schema[name].is_continuous else column < 0
    if is_missing.any():
        row = int(np.flatnonzero(is_missing)[0]) + 1
        raise DataError(
            f"column {name!r}, row {row}: a value that decides about gaps is missing itself. "
            "Columns that do must be complete.",
            column=name,
            row=row,
        )
    return column


def _indicators(
    mechanism: Mechanism,
    variables: Mapping[str, Variable],
    source: Variable | None,
    population: Population,
) -> list[Distribution]:
    """The distributions of the indicators."""
    if not isinstance(mechanism, MCAR | MAR | MNAR):
        raise InputError(
            "mechanism must be cs.simulate.MCAR(...), cs.simulate.MAR(...), cs.simulate.MNAR(...) "
            "or a network, "
            f"got {mechanism!r}."
        )
    named = {name: shares for shares in mechanism.by_source.values() for name in shares}
    causes = tuple(getattr(mechanism, "causes", ()))
    _check.known("column", [*(mechanism.columns or ()), *named, *causes], variables)
    sources = () if source is None else source.discrete_states
    _check.known("source", mechanism.by_source, sources)
    columns = variables if mechanism.columns is None else mechanism.columns
    with_gap = [name for name in columns if name not in causes]
    if mechanism.columns is not None and len(with_gap) < len(mechanism.columns):
        both = next(name for name in mechanism.columns if name in causes)
        raise InputError(
            f"MAR: {both!r} is a cause, which is always known, and cannot get gaps.", column=both
        )
    return [
        _indicator(
            mechanism, variables, source if name in named else None, name, population=population
        )
        for name in with_gap
    ]


def _indicator(
    mechanism: Mechanism,
    variables: Mapping[str, Variable],
    source: Variable | None,
    name: str,
    *,
    population: Population,
) -> Distribution:
    """The distribution of one indicator; ``source`` if it depends on it."""
    causes = [variables[cause] for cause in mechanism.causes_of(name)]
    columns, weights = population([*([source.name] if source else []), *(c.name for c in causes)])
    lines = [_position(cause, columns[cause.name], weights) for cause in causes]
    rows = np.zeros(len(weights))
    for cause, (center, slope) in zip(causes, lines, strict=True):
        rows = rows + mechanism.strength * slope * (columns[cause.name] - center)
    sources = ("",) if source is None else source.discrete_states
    codes = np.zeros(len(weights), int) if source is None else columns[source.name]
    level = np.array(
        [
            _intercept(rows[codes == f], weights[codes == f], _share(mechanism, name, one))
            for f, one in enumerate(sources)
        ]
    )
    child = Variable(PREFIX + name, STATES)
    given = (*([source] if source else []), *causes)
    return _local(child, given, level if source else level[0], lines, strength=mechanism.strength)


def _share(mechanism: Mechanism, name: str, source: str) -> float:
    return mechanism.by_source.get(source, {}).get(name, mechanism.share)


def _local(
    child: Variable,
    given: tuple[Variable, ...],
    level: Floats,
    lines: Sequence[tuple[float, float]],
    *,
    strength: float,
) -> Distribution:
    """A table, or a logistic node if a parent is continuous, from the logit's linear parts."""
    causes = given[len(given) - len(lines) :]
    total, slopes = np.asarray(level), []
    for cause, (center, slope) in zip(causes, lines, strict=True):
        if cause.is_continuous:
            total = total - strength * slope * center
            slopes.append(strength * slope)
        else:
            states = np.arange(cause.n_states)
            total = total[..., None] + strength * slope * (states - center)
    if not slopes:
        return Categorical(child, given, np.stack([expit(-total), expit(total)], axis=-1))
    coefficients = np.zeros((*total.shape, 2, len(slopes)))
    coefficients[..., 1, :] = slopes
    intercept = np.stack([np.zeros_like(total), total], axis=-1)
    return Logistic(child, given, intercept, coefficients)


def _position(cause: Variable, column: Column, weights: Floats) -> tuple[float, float]:
    """Center and slope of the line that gives a cause's position."""
    if cause.is_continuous:
        mean = float(np.average(column, weights=weights)) if weights.sum() > 0 else 0.0
        sd = float(np.sqrt(np.average((column - mean) ** 2, weights=weights))) if len(column) else 0
        return mean, 1 / sd if sd > 0 else 0.0
    middle = (cause.n_states - 1) / 2
    return middle, 1 / middle if middle > 0 else 0.0


def _intercept(rows: Floats, weights: Floats, share: float) -> float:
    """The intercept with which the mean probability over the rows is the share."""
    if share in (0.0, 1.0):
        return CERTAIN if share else -CERTAIN
    if weights.sum() == 0:
        return float(logit(share))

    def excess(level: float) -> float:
        return float(np.average(expit(level + rows), weights=weights)) - share

    middle, widest = float(logit(share)), float(np.abs(rows).max()) + 1.0
    return float(brentq(excess, middle - widest, middle + widest, xtol=1e-12))


def _cut(table: Table, local: Sequence[Distribution], rng: np.random.Generator) -> Table:
    """The table without the values whose indicators, drawn in this order, say missing."""
    drawn: dict[str, Bools] = {}
    columns = dict(table.columns)
    for one in local:
        known = {
            parent.name: drawn[parent.name].astype(np.int8)
            if parent.name in drawn
            else _known_column(table, parent.name)
            for parent in one.given
        }
        chance = _chance(one, known, table.n_rows)
        is_lost = rng.random(table.n_rows) < chance
        drawn[one.child.name] = is_lost
        name = one.child.name.removeprefix(PREFIX)
        hole = np.nan if table.variables[name].is_continuous else -1
        columns[name] = np.where(is_lost, hole, columns[name]).astype(columns[name].dtype)
    return Table(table.schema, columns, table.source_codes, table.weights, table.origins)


def _chance(local: Distribution, known: Mapping[str, Column], n_rows: int) -> Floats:
    """Probability of a gap in each row."""
    discrete, continuous = kinds(local.given)
    code = np.zeros(n_rows, np.int64)
    for parent in discrete:
        code = code * parent.n_states + known[parent.name]
    if isinstance(local, Logistic):
        values = np.stack([known[parent.name] for parent in continuous], axis=1)
        return np.exp(local.log_probabilities(code, values))[:, 1]
    if isinstance(local, Categorical):
        return local.rows[code, 1]
    raise ModelError(f"the indicator {local.child.name!r} is continuous.")


def _check_states(net: Network, table: Table) -> None:
    """Refuse a missingness network whose variables are not those of the table."""
    for name, local in net.distributions.items():
        if not name.startswith(PREFIX) or name.removeprefix(PREFIX) not in table.variables:
            continue
        if local.child.states != STATES:
            raise ModelError(
                f"the indicator {name!r} must have the states {_check.listed(STATES)}, got "
                f"{_check.listed(local.child.states or ())}.",
                variable=name,
            )
        for parent in local.given:
            is_indicator = parent.name.startswith(PREFIX) and parent.name not in table.schema
            if is_indicator:
                continue
            if table.schema[parent.name].states != parent.states:
                raise DataError(
                    f"column {parent.name!r} has other states than the missingness network. "
                    "Read the table with schema=net.variables.",
                    column=parent.name,
                )


def _check_mechanism(mechanism: Mechanism) -> None:
    owner = type(mechanism).__name__
    if mechanism.columns is not None:
        _check.names(owner, columns=mechanism.columns)
        object.__setattr__(mechanism, "columns", tuple(mechanism.columns))
    _freeze.own(mechanism)
    shares = [mechanism.share]
    for source, by_column in mechanism.by_source.items():
        if not isinstance(by_column, Mapping):
            raise InputError(
                f"{owner}: by_source must map sources to {{column: share}}, got {by_column!r} for "
                f"{source!r}.",
                parameter="by_source",
            )
        shares += by_column.values()
    for share in shares:
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise InputError(
                f"{owner}: a share must lie between 0 and 1, got {share!r}.", parameter="share"
            )
    _check.non_negative(owner, strength=mechanism.strength)
