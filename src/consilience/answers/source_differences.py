r"""The verb :func:`differences`: which sources differ, where, and whether it matters.

For each family three numbers are weighed against each other, the log evidence of its rows if the
sources share one table (*pooled*), have tables that a hierarchy ties (*tied*), or have tables of
their own (*separate*). Sources differ if one of the latter gains more than :data:`STRONG` nats on
the first, odds of 20 to 1. How far source f is from what the sources have in common, :math:`c`, is

.. math:: \mathrm{KL}_f = \sum_{\mathrm{pa}} P(\mathrm{pa} \mid f)\;
    \mathrm{KL}\bigl(P(x \mid \mathrm{pa}, f) \,\|\, P(x \mid \mathrm{pa}, c)\bigr)

in nats a row: what a row of the source loses if it is described by the common table. With
:math:`n_f` rows and k free parameters about :math:`k / 2 n_f` of it would be chance, which is what
the rows of the source can tell apart at best. What sources have in common is the state
``new_source`` of a hierarchy, otherwise the mean of the sources by their rows.

Of hierarchical regressions, with the spread :math:`\Lambda` of the coefficients on standardized
parents in units of the residual variance (:mod:`consilience.parameters.hierarchical_gaussian`), the
variance between sources is :math:`\sigma^2\,\mathrm{tr}\,\Lambda` and the intraclass correlation
:math:`\mathrm{tr}\,\Lambda / (1 + \mathrm{tr}\,\Lambda)`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats
from consilience.answers.answer_columns import Columns, Frame, columns_frame, columns_text
from consilience.answers.family_divergences import divergence, family_weights
from consilience.answers.sources_asked import Between, asked_of, known_sources
from consilience.distributions.normal_inverse_gamma import TiedGaussianPosterior
from consilience.errors import InputError
from consilience.network.network import Network, check_network
from consilience.parameters.chain_posterior import ChainPosterior
from consilience.parameters.hierarchical import HierarchicalPosterior

__all__ = [
    "ALIKE",
    "DIFFER",
    "STRONG",
    "Differences",
    "FamilyDifference",
    "SourceDifference",
    "VarianceComponents",
    "differences",
    "family_text",
    "gain_of",
]

STRONG = 3.0
"""Nats of evidence that settle whether sources differ: odds of 20 to 1."""
LEAST = 0.01
"""Nats a row from which a difference matters in practice."""
TELLING = 0.1
"""Nats a row of chance from which the rows of a source tell nothing."""

DIFFER, LITTLE, ALIKE = "the sources differ", "they differ, but little", "one table will do"
TOO_FEW, UNKNOWN = "too few rows to tell", "not weighed"


@dataclass(frozen=True, slots=True)
class SourceDifference:
    """One source in one family: how far it is from what is common, and what its rows can tell.

    Parameters
    ----------
    family, source
        The child, and the source.
    size
        Divergence of the common distribution from the source's, in nats a row.
    chance
        What would be expected by chance from so many rows, were there no difference.
    n_rows
        Rows of the source in this family; None if the network does not say.
    """

    family: str
    source: str
    size: float
    chance: float | None
    n_rows: float | None

    @property
    def verdict(self) -> str:
        """In plain words."""
        if self.chance is not None and self.chance > TELLING:
            return TOO_FEW
        is_more = self.size >= LEAST and (self.chance is None or self.size > self.chance)
        return "differs" if is_more else "alike"


@dataclass(frozen=True, slots=True)
class FamilyDifference:
    """One family: the evidence for sharing its distribution, and how far the sources are apart.

    Parameters
    ----------
    family, parents
        The child, and its parents without the source.
    pooled, tied, separate
        Log evidence of the rows; None if the network does not say.
    size
        Mean over the sources, by their rows, of how far each is from what is common, in nats a row.
    largest, source
        The largest of these among sources with rows enough to tell, and whose it is.
    verdict
        In plain words.
    """

    family: str
    parents: tuple[str, ...]
    pooled: float | None
    tied: float | None
    separate: float | None
    size: float
    largest: float
    source: str
    verdict: str

    @property
    def gain(self) -> float | None:
        """What the better of tied and separate gains on pooled, in nats."""
        if self.pooled is None or self.tied is None or self.separate is None:
            return None
        return max(self.tied, self.separate) - self.pooled


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """Where the variance of a continuous node comes from, for one joint state of its parents.

    Parameters
    ----------
    family, state, given
        The child, the number of the joint state of its discrete parents, and this state in words.
    intercept, slopes
        Variances between sources, at the parents' means and by standard deviation of each
        continuous parent.
    residual
        Variance within a source.
    """

    family: str
    state: int
    intercept: float
    slopes: tuple[float, ...]
    residual: float
    given: str = ""

    @property
    def between(self) -> float:
        """Variance between sources."""
        return self.intercept + sum(self.slopes)

    @property
    def intraclass_correlation(self) -> float:
        """Share of the variance that is between sources."""
        total = self.between + self.residual
        return self.between / total if total > 0 else 0.0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Differences:
    """Which sources differ, where, and whether it matters.

    Parameters
    ----------
    families
        One for each family that depends on the source, the strongest evidence first.
    by_source
        Each source in each of them.
    components
        Variance components of hierarchical regressions.
    between
        Two sources whose distance the sizes are, or None.
    source
        The one source that was asked for, or None.
    """

    families: tuple[FamilyDifference, ...]
    by_source: tuple[SourceDifference, ...]
    components: tuple[VarianceComponents, ...] = ()
    between: Between | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def differing(self) -> tuple[str, ...]:
        """The families in which the sources differ in practice."""
        return tuple(one.family for one in self.families if one.verdict == DIFFER)

    @property
    def columns(self) -> Columns:
        """The families, one in each row; evidence is relative to that of pooled sources."""
        rows = self.families
        return {
            "family": [family_text(one) for one in rows],
            "tied": [_gain(one.tied, one.pooled) for one in rows],
            "separate": [_gain(one.separate, one.pooled) for one in rows],
            "size": [one.size for one in rows],
            "largest": [one.largest for one in rows],
            "in": [one.source for one in rows],
            "verdict": [one.verdict for one in rows],
        }

    @property
    def title(self) -> str:
        """How many families differ, in words."""
        n, of = len(self.differing), len(self.families)
        if self.between is not None:
            return f"Distance between {self.between[0]} and {self.between[1]} in {of} families"
        where = f" ({', '.join(self.differing)})" if n else ""
        one = "" if self.source is None else f"; sizes are of {self.source}"
        return f"The sources differ in {n} of {of} families{where}{one}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What the columns are, and variance components."""
        head = (
            "tied and separate: nats of evidence more than one common table; size and largest: "
            "nats a row.",
        )
        parts = tuple(
            f"{one.family}{' | ' * bool(one.given)}{one.given}: "
            f"{one.intraclass_correlation:.1%} of the variance is between sources "
            f"(intercept {one.intercept:.4g}, slopes {sum(one.slopes):.4g}, within "
            f"{one.residual:.4g})."
            for one in self.components
        )
        return head + parts

    def to_frame(self) -> Frame:
        """The columns as a pandas frame."""
        return columns_frame("Differences", self.columns)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        return columns_text(self.title, self.columns, self.notes)


def differences(
    net: Network, source: str | None = None, *, between: Sequence[str] | None = None
) -> Differences:
    """Which families differ between sources: by how much evidence, how far, and what rows can tell.

    Evidence is that of the rows from which the network was fitted; it is in ``net.record``, which
    JSON files keep. Sizes are those of the fitted distributions.

    Parameters
    ----------
    source
        One source; sizes are then of this one only.
    between
        Two sources; sizes are then how far the first is from the second.

    Raises
    ------
    InputError
        If the network has no source, or no node depends on it.

    Examples
    --------
    >>> import consilience as cs
    >>> rows = {"a": {"x": ["no"] * 45 + ["yes"] * 5}, "b": {"x": ["no"] * 10 + ["yes"] * 40}}
    >>> net = cs.fit(cs.DAG(nodes=["x"]), cs.read(rows))
    >>> cs.differences(net).differing
    ('x',)
    """
    check_network("differences", net)
    families = _families(net)
    sides = _sides(net, source, between)
    by_source = tuple(one for name in families for one in _by_source(net, name, sides))
    found = [_family(net, name, [s for s in by_source if s.family == name]) for name in families]
    found.sort(key=lambda one: (-(one.gain if one.gain is not None else -math.inf), -one.size))
    return Differences(
        tuple(found),
        by_source,
        tuple(part for name in families for part in _components(net, name)),
        None if between is None else (between[0], between[1]),
        source,
    )


def gain_of(evidence: Mapping[str, float]) -> float:
    """What the better of tied and separate tables gains on pooled ones, in nats."""
    return max(evidence["hierarchical"], evidence["separate"]) - evidence["pooled"]


def _families(net: Network) -> tuple[str, ...]:
    if net.source is None:
        raise InputError("differences: this network has no source.", parameter="net")
    children = net.dag.children(net.source)
    if not children:
        raise InputError(
            f"differences: no node depends on the source {net.source!r}: the distributions are "
            "pooled. Fit with an estimator by source, such as cs.HDC() or cs.HDMCS().",
            source=net.source,
        )
    return tuple(name for name in net.variables if name in children)


def _sides(
    net: Network, source: str | None, between: Sequence[str] | None
) -> list[tuple[str, str]]:
    """Pairs of a source and what it is held against: another, or what is common."""
    assert net.source is not None
    known = known_sources(net)
    if between is not None:
        asked_of(net, {}, between)
        return [(between[0], between[1])]
    if source is not None:
        _check.known("source", [source], net.variables[net.source].discrete_states)
        return [(source, "")]
    return [(one, "") for one in known]


def _by_source(
    net: Network, name: str, sides: Sequence[tuple[str, str]]
) -> Iterator[SourceDifference]:
    variable = net.variables[str(net.source)]
    counted = _rows_by_source(net, name)
    n_free = net[name].n_parameters / variable.n_states
    weights = family_weights(net, name)
    for source, other in sides:
        size = divergence(net, name, source, other or None, weights=weights)
        n_rows = None if counted is None else float(counted[variable.code(source)])
        chance = None if n_rows is None else n_free / (2 * max(n_rows, 0.5))
        yield SourceDifference(name, source, size, chance, n_rows)


def _rows_by_source(net: Network, name: str) -> Floats | None:
    """Rows of the family in each source: as counted if the posterior says, else by their shares."""
    posterior, shares = net[name].posterior, net.tables[str(net.source)].table
    counts = None
    if isinstance(posterior, ChainPosterior) and posterior.n_sources:
        counts = posterior.rows.reshape(posterior.n_sources, -1).sum(axis=1)
    elif isinstance(posterior, HierarchicalPosterior) and posterior.view == "sources as groups":
        counts = posterior.hierarchy.counts.sum(axis=(0, 2))
    if counts is not None:
        return np.append(counts, np.zeros(max(0, len(shares) - len(counts))))
    total = net.record.n_rows.get(name)
    return None if total is None else np.asarray(total * shares)


def _family(net: Network, name: str, each: Sequence[SourceDifference]) -> FamilyDifference:
    evidence = net.record.pooling.get(name)
    shares = net.tables[str(net.source)].table
    code = net.variables[str(net.source)].code
    weights = np.array([shares[code(one.source)] for one in each])
    sizes = np.array([one.size for one in each])
    mean = float(weights @ sizes / weights.sum()) if weights.sum() > 0 else float(sizes.mean())
    telling = [one for one in each if one.verdict != TOO_FEW] or list(each)
    largest = max(telling, key=lambda one: one.size)
    told = {} if evidence is None else evidence
    return FamilyDifference(
        name,
        tuple(p for p in net[name].parents if p != net.source),
        told.get("pooled"),
        told.get("hierarchical"),
        told.get("separate"),
        mean,
        largest.size,
        largest.source,
        _verdict(evidence, largest, each),
    )


def _verdict(
    evidence: Mapping[str, float] | None,
    largest: SourceDifference,
    each: Sequence[SourceDifference],
) -> str:
    if evidence is None:
        return UNKNOWN
    if gain_of(evidence) > STRONG:
        return DIFFER if largest.size >= LEAST else LITTLE
    n_telling = sum(one.verdict != TOO_FEW for one in each)
    return ALIKE if n_telling > 1 or len(each) == 1 else TOO_FEW


def _components(net: Network, name: str) -> Iterator[VarianceComponents]:
    """Variance components of a regression whose sources a hierarchy ties."""
    posterior = net[name].posterior
    if not isinstance(posterior, TiedGaussianPosterior) or len(posterior.mean) < 2:
        return
    spread: Floats = np.einsum("jkk->jk", posterior.own_scale[-1])  # of the source never seen
    residual = posterior.rate / posterior.shape
    parents = [v for v in net[name].given if not v.is_continuous and v.name != net.source]
    states = [
        ", ".join(f"{v.name}={state}" for v, state in zip(parents, each, strict=True))
        for each in product(*(v.discrete_states for v in parents))
    ]
    for j, (own, variance) in enumerate(zip(spread, residual, strict=True)):
        first, *others = (own * variance).tolist()
        yield VarianceComponents(name, j, first, tuple(others), float(variance), states[j])


def family_text(one: FamilyDifference) -> str:
    """A family in words: the child and, behind a line, its parents."""
    return f"{one.family} | {', '.join(one.parents)}" if one.parents else one.family


def _gain(way: float | None, pooled: float | None) -> float | None:
    return None if way is None or pooled is None else way - pooled
