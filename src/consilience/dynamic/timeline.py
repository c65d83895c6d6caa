r"""All that the sequences of a panel say under a network in time, prepared once for any numbers.

Families fall into four kinds, by what the panel has of them:

- *known*: every row has all of it; its log probability is looked up;
- *discrete* with an open variable: messages (:mod:`consilience.dynamic.frontier`);
- *row factors*: a continuous node, or a discrete one with continuous parents, whose discrete
  variables are open: a likelihood over them, which the messages take in;
- *linear*: continuous nodes that are missing somewhere, or have such a parent
  (:mod:`consilience.dynamic.linear_part`).

The log-likelihood of a sequence is the sum over the four. What would need both messages at once, a
missing continuous value between regimes that are not known, costs :math:`K^T` and is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from consilience import _freeze
from consilience._typing import Floats, Integers
from consilience.distributions import Categorical, Distribution, LinearGaussian, Logistic
from consilience.distributions.linear_gaussian import LOG_ROOT_2PI
from consilience.dynamic.chain_part import ChainPart
from consilience.dynamic.dynamic_network import DynamicNetwork
from consilience.dynamic.early_slices import flat
from consilience.dynamic.evidence_in_time import SequenceEvidence
from consilience.dynamic.frontier import (
    Frontier,
    Member,
    RowFactor,
    given_offset,
    members_of,
    open_discrete,
)
from consilience.dynamic.linear_part import LinearPart, continuous_columns
from consilience.dynamic.moments_in_time import Sums, weighted_sums
from consilience.dynamic.slices import SliceFamily, families_of
from consilience.errors import ModelError, TooDearError
from consilience.inference.layout import Layout

__all__ = ["Families", "SequenceBeliefs", "Timeline", "mixed_pair"]


@dataclass(frozen=True, slots=True, eq=False)
class Families:
    """The distributions of a network in time, each once, by key: ``z``, where early ``z(0)``."""

    distributions: Mapping[str, Distribution]
    source: str | None = None
    tables: Mapping[str, Categorical] = field(init=False)
    regressions: Mapping[str, LinearGaussian] = field(init=False)
    logistic: Mapping[str, Logistic] = field(init=False)

    def __post_init__(self) -> None:
        _freeze.own(self)
        every = self.distributions.items()
        for kind, of_kind in (
            ("tables", Categorical),
            ("regressions", LinearGaussian),
            ("logistic", Logistic),
        ):
            chosen = {key: local for key, local in every if isinstance(local, of_kind)}
            object.__setattr__(self, kind, _freeze.FrozenMap(chosen))

    @classmethod
    def of(cls, net: DynamicNetwork) -> Families:
        """The families of a network, those of the transition first."""
        every = [family for kind in reversed(families_of(net)) for family in kind]
        found = {family.key: family.local for family in every}
        return cls(found, net.source)


class SequenceBeliefs(NamedTuple):
    """What is believed about the rows of sequences.

    ``log_rows`` is what each row adds to the log-likelihood given those before it;
    ``probabilities`` of discrete variables and ``mean`` and ``sd`` of continuous ones that are
    missing somewhere.
    """

    log_rows: Floats
    probabilities: dict[str, Floats]
    mean: dict[str, Floats]
    sd: dict[str, Floats]
    mixtures: dict[str, list[tuple[Integers, Floats, Floats, Floats]]]

    def parts_of(self, name: str, rows: Integers) -> tuple[Floats, Floats, Floats]:
        """Weights, means and sds of the normal laws that a missing value is a mixture of."""
        found = self.mixtures.get(name, [])
        width = max([weights.shape[1] for _, weights, _, _ in found], default=1)
        weight = np.zeros((len(self.mean[name]), width))
        weight[:, 0] = 1.0
        mean, sd = np.zeros_like(weight), np.zeros_like(weight)
        mean[:, 0], sd[:, 0] = self.mean[name], self.sd[name]
        for at, weights, means, sds in found:
            k = weights.shape[1]
            weight[at, :k], mean[at, :k], sd[at, :k] = weights, means, sds
        return weight[rows], mean[rows], sd[rows]


class _Known(NamedTuple):
    """A family that every one of some rows has all of, with its joint discrete states."""

    family: SliceFamily
    rows: Integers
    states: Integers


class Timeline:
    """A panel for one structure of network in time.

    Parameters
    ----------
    net
        The network; its numbers are not used.
    evidence
        The panel.
    memory_limit
        Bytes of messages and tables.

    Raises
    ------
    ModelError
        If a missing continuous value stands between discrete variables that are not known.
    MemoryLimitError
        If the messages would be too large.
    """

    def __init__(
        self, net: DynamicNetwork, evidence: SequenceEvidence, *, memory_limit: float
    ) -> None:
        self.net, self.evidence = net, evidence
        self.families = Families.of(net)
        self.layout = Layout.of(self.families)
        kinds = families_of(net)
        self._order = len(kinds) - 1
        self._open = open_discrete(evidence)
        missing = tuple(n for n, values in evidence.values.items() if np.isnan(values).any())
        self._likely = _row_factor_nodes(kinds, missing, self._open)
        self._linear = tuple(name for name in missing if name not in self._likely)
        self._refuse_mixed(kinds, missing)
        n_cells = int(self.layout.first[-1])
        self._n_ones = max([v.n_states for v in net.variables.values() if v.states], default=1)
        places = self._rows_of(kinds)
        self._factors, self._n_numbers = self._row_factors(places, n_cells + self._n_ones)
        starts = dict(zip(self.layout.shapes, map(int, self.layout.first[:-1]), strict=True))
        starts[""] = n_cells
        discrete = [
            [f for f in kind if self._is_discrete(f)] + self._placeholders(k, self._open)
            for k, kind in enumerate(kinds)
        ]
        self.frontier = Frontier(
            discrete, evidence, starts, self._factors, memory_limit=memory_limit
        )
        self.chain = ChainPart.of(self.frontier)
        self.linear = LinearPart(
            [[f for f in kind if self._is_linear(f)] for kind in kinds],
            [[p.child for p in self._placeholders(k, self._linear)] for k in range(len(kinds))],
            self._linear,
            evidence,
            memory_limit=memory_limit,
        )
        self._known = self._known_families(places)

    @property
    def is_open(self) -> bool:
        """Whether anything is hidden or missing."""
        return bool(self._open or self._linear or self._likely)

    def numbers(
        self, families: Families, theta: Floats | None = None, *, at_modes: bool = False
    ) -> tuple[Floats, Floats]:
        """All numbers of the messages, and the log scale of each row's factors.

        A missing value is integrated out, or, ``at_modes``, put where its density is highest.
        """
        if theta is None:
            theta = self.layout.flatten({n: t.table for n, t in families.tables.items()})
        numbers = np.ones(self._n_numbers)
        numbers[: len(theta)] = theta
        log_scale = np.zeros(self.evidence.n_rows)
        for key, factor in self._factors.items():
            log = self._log_factor(factor, families.distributions[key], at_modes=at_modes)
            most = log.max(axis=1)
            most = np.where(np.isfinite(most), most, 0.0)
            log_scale[factor.rows] += most
            size = factor.size
            end = factor.place + size * len(factor.rows)
            numbers[factor.place : end] = np.exp(log - most[:, None]).ravel()
        return numbers, log_scale

    def log_likelihood(self, families: Families) -> Floats:
        """Log probability, or density, of what each sequence records."""
        numbers, log_scale = self.numbers(families)
        log = log_scale + self._log_known(families)
        if self._open:
            log = log + self.frontier.forward(numbers)[1]
        if self._linear:
            log = log + self.linear.log_rows(families.regressions)
        return self.evidence.by_sequence(log)

    def believe(self, families: Families, *, is_filter: bool = False) -> SequenceBeliefs:
        """Beliefs about all that is hidden or missing, given all rows or those up to each."""
        numbers, log = self.numbers(families)
        log += self._log_known(families)
        probabilities: dict[str, Floats] = {}
        counts = np.zeros(self._n_numbers)
        if self._open:
            wants_counts = bool(self._factors)
            found = self.frontier.infer(numbers, is_filter=is_filter, wants_counts=wants_counts)
            log += found.log_likelihood
            probabilities, counts = found.margins, found.counts
        mean, sd, mixtures = self._believed_values(families, counts)
        if self._linear:
            linear = self.linear.infer(families.regressions, is_filter=is_filter)
            log += linear.log_likelihood
            mean, sd = {**mean, **linear.mean}, {**sd, **linear.sd}
        return SequenceBeliefs(log, probabilities, mean, sd, mixtures)

    def expect(
        self, families: Families, theta: Floats | None = None
    ) -> tuple[Floats, Floats, dict[str, Sums]]:
        """Log-likelihood of each sequence, expected counts of the tables and sums, weighted."""
        numbers, log_scale = self.numbers(families, theta)
        log = np.zeros(len(self.evidence.first) - 1)
        if self._known or self._factors:
            log = self.evidence.by_sequence(log_scale + self._log_known(families, numbers))
        counts = np.zeros(self._n_numbers)
        if self.chain is not None:
            found = self.chain.infer(numbers)
            log, counts = log + found.log_likelihood, found.counts
        elif self._open:
            found = self.frontier.infer(numbers, wants_margins=False)
            log = log + self.evidence.by_sequence(found.log_likelihood)
            counts = found.counts
        sums: dict[str, Sums] = {}
        if self._linear:
            linear = self.linear.infer(families.regressions, wants_sums=True)
            log = log + self.evidence.by_sequence(linear.log_likelihood)
            sums = dict(linear.sums)
        self._add_known(counts, sums, families)
        for key, factor in self._factors.items():
            if key in families.regressions:
                _merge(sums, key, self._factor_sums(factor, families.regressions[key], counts))
        return log, counts[: int(self.layout.first[-1])], sums

    def _is_discrete(self, family: SliceFamily) -> bool:
        return family.key in self._factors or (
            not family.local.child.is_continuous
            and not isinstance(family.local, Logistic)
            and any(m.node.name in self._open for m in members_of(family))
        )

    def _is_linear(self, family: SliceFamily) -> bool:
        if family.key in self._factors or not family.local.child.is_continuous:
            return False
        return any(node.name in self._linear for node in continuous_columns(family))

    def _refuse_mixed(self, kinds: Sequence[Sequence[SliceFamily]], missing: Sequence[str]) -> None:
        for family in (family for kind in kinds for family in kind):
            lacking = [n.name for n in family.parents if n.name in missing]
            if isinstance(family.local, Logistic) and lacking:
                raise ModelError(
                    f"{family.child!r} is a discrete node whose continuous parent {lacking[0]!r} "
                    "is missing in some rows, which has no exact answer. Turn the arc around, "
                    "discretize the parent, or leave these rows out.",
                    variable=family.child,
                )
        pair = _mixed_pair(kinds, missing, self._open)
        if pair is not None:
            raise TooDearError(
                f"{pair[0]!r} is missing in some rows and depends on {pair[1]!r}, which "
                "is not known either: the exact answer costs the number of its states to the "
                "power of the number of steps. Answer approximately with "
                "by=cs.dynamic.Collapse(...), or fill or leave out these values.",
                variable=pair[0],
            )

    def _placeholders(self, k: int, names: Iterable[str]) -> list[SliceFamily]:
        """Open nodes whose values are given in an early slice: families that say nothing."""
        if k >= self._order:
            return []
        return [
            SliceFamily(name, (), flat(self.net.variables[name]), "")
            for name in names
            if f"{name}({k})" in self.net.conditional
        ]

    def _rows_of(
        self, kinds: Sequence[Sequence[SliceFamily]]
    ) -> dict[str, tuple[SliceFamily, Integers]]:
        """For each key its family and the rows that have it."""
        rows = self.evidence.rows_of_slices(self._order)
        in_kind: dict[str, list[int]] = {}
        families: dict[str, SliceFamily] = {}
        for k, kind in enumerate(kinds):
            for family in kind:
                in_kind.setdefault(family.key, []).append(k)
                families[family.key] = family
        together = {
            chosen: self._some_slices([rows[k] for k in chosen])
            for chosen in set(map(tuple, in_kind.values()))
        }
        return {key: (families[key], together[tuple(chosen)]) for key, chosen in in_kind.items()}

    def _some_slices(self, parts: Sequence[Integers]) -> Integers:
        if len(parts) == 1:
            return parts[0]
        if len(parts) == self._order + 1:
            return np.arange(self.evidence.n_rows)
        return np.sort(np.concatenate(parts))

    def _row_factors(
        self, places: Mapping[str, tuple[SliceFamily, Integers]], place: int
    ) -> tuple[dict[str, RowFactor], int]:
        found: dict[str, RowFactor] = {}
        for key, (family, rows) in places.items():
            if isinstance(family.local, Categorical):
                continue
            members = [m for m in members_of(family) if m.node.name in self._open]
            if not members and family.child not in self._likely:
                continue
            scope, stride = [], 1
            for member in reversed(members):
                scope.append(Member(member.node, member.n_states, stride))
                stride *= member.n_states
            found[key] = RowFactor(family, rows, tuple(reversed(scope)), place)
            place += stride * len(rows)
        return found, place

    def _known_families(self, places: Mapping[str, tuple[SliceFamily, Integers]]) -> list[_Known]:
        found = []
        for key, (family, rows) in places.items():
            if key in self._factors or self._is_discrete(family) or self._is_linear(family):
                continue
            states = given_offset(family, self.evidence, rows, ())
            found.append(_Known(family, rows, states))
        return found

    def _log_known(self, families: Families, numbers: Floats | None = None) -> Floats:
        """Log probability of the families that rows have all of, for each row."""
        log = np.zeros(self.evidence.n_rows)
        starts = dict(zip(self.layout.shapes, self.layout.first[:-1], strict=True))
        for family, rows, states in self._known:
            local = families.distributions[family.key]
            if isinstance(local, Categorical):
                with np.errstate(divide="ignore"):
                    if numbers is None:
                        log[rows] += np.log(local.table.ravel()[states])
                    else:
                        log[rows] += np.log(numbers[starts[family.key] + states])
            elif isinstance(local, LinearGaussian):
                values = self._columns(family, rows)
                log[rows] += local.log_densities(states, values[:, :-1], values[:, -1])
            else:
                log[rows] += self._log_logistic(family, rows, states, local)
        return log

    def _log_logistic(
        self, family: SliceFamily, rows: Integers, states: Integers, local: Logistic
    ) -> Floats:
        r = local.child.n_states
        every = local.log_probabilities(states // r, self._columns(family, rows)[:, :-1])
        return np.asarray(every[np.arange(len(rows)), states % r])

    def _columns(self, family: SliceFamily, rows: Integers) -> Floats:
        """The continuous parents and, of a continuous node, the child; shape (rows, columns)."""
        values = self.evidence.values
        nodes = continuous_columns(family)
        found = [
            values[node.name][rows - node.lag] if node.name in values else np.zeros(len(rows))
            for node in nodes
        ]
        return np.stack(found, axis=1)

    def _factor_states(self, factor: RowFactor) -> Integers:
        """Joint discrete states, shape (rows, joint states of the open ones)."""
        family = factor.family
        given = given_offset(family, self.evidence, factor.rows, self._open)
        strides = {m.node: m.stride for m in members_of(family)}
        shape = [m.n_states for m in factor.scope]
        grid = np.indices(shape).reshape(len(shape), -1) if shape else np.zeros((0, 1), np.int64)
        moved = np.zeros(grid.shape[1], np.int64)
        for axis, member in enumerate(factor.scope):
            moved += strides[member.node] * grid[axis]
        return np.asarray(given[:, None] + moved[None, :])

    def _log_factor(
        self, factor: RowFactor, local: Distribution, *, at_modes: bool = False
    ) -> Floats:
        """Log likelihood of the open joint states in each row; zero where nothing is known."""
        states = self._factor_states(factor)
        size = states.shape[1]
        values = self._columns(factor.family, factor.rows)
        if isinstance(local, Logistic):
            tables = local.log_tables(values[:, :-1]).reshape(len(values), -1)
            return np.asarray(np.take_along_axis(tables, states, axis=1))
        assert isinstance(local, LinearGaussian)
        wide = np.repeat(values, size, axis=0)
        is_known = ~np.isnan(wide[:, -1])
        log = np.zeros(len(wide))
        log[is_known] = local.log_densities(
            states.ravel()[is_known], wide[is_known, :-1], wide[is_known, -1]
        )
        if at_modes:
            log[~is_known] = -np.log(local.sd.ravel()[states.ravel()[~is_known]]) - LOG_ROOT_2PI
        return log.reshape(-1, size)

    def _factor_sums(self, factor: RowFactor, local: LinearGaussian, counts: Floats) -> Sums:
        """Moments of a family by the posterior of its open joint states; known values only."""
        states = self._factor_states(factor)
        weights = self._factor_weights(factor, counts)
        values = np.repeat(self._columns(factor.family, factor.rows), states.shape[1], axis=0)
        is_known = ~np.isnan(values[:, -1])
        return weighted_sums(
            states.ravel()[is_known],
            local.intercept.size,
            values[is_known],
            weights.ravel()[is_known],
        )

    def _factor_weights(self, factor: RowFactor, counts: Floats) -> Floats:
        end = factor.place + factor.size * len(factor.rows)
        weights = counts[factor.place : end].reshape(-1, factor.size)
        if not factor.scope:
            return self.evidence.row_weights[factor.rows][:, None]
        return weights

    def _believed_values(
        self, families: Families, counts: Floats
    ) -> tuple[
        dict[str, Floats],
        dict[str, Floats],
        dict[str, list[tuple[Integers, Floats, Floats, Floats]]],
    ]:
        """Mean and sd of missing values that are mixtures over open discrete parents, and these."""
        mixtures: dict[str, list[tuple[Integers, Floats, Floats, Floats]]] = {}
        mean = {name: self.evidence.values[name].copy() for name in self._likely}
        sd = {name: np.zeros(self.evidence.n_rows) for name in self._likely}
        for key, factor in self._factors.items():
            name = factor.family.child
            if name not in self._likely:
                continue
            local = families.regressions[key]
            is_missing = np.isnan(self.evidence.values[name][factor.rows])
            rows = factor.rows[is_missing]
            states = self._factor_states(factor)[is_missing]
            weights = self._factor_weights(factor, counts)[is_missing]
            weights = weights / weights.sum(axis=1, keepdims=True)
            values = np.repeat(self._columns(factor.family, rows)[:, :-1], states.shape[1], axis=0)
            means = local.means(states.ravel(), values).reshape(states.shape)
            variances = local.variance.ravel()[states]
            middle = (weights * means).sum(axis=1)
            spread = (weights * (variances + (means - middle[:, None]) ** 2)).sum(axis=1)
            mean[name][rows], sd[name][rows] = middle, np.sqrt(spread)
            mixtures.setdefault(name, []).append((rows, weights, means, np.sqrt(variances)))
        return mean, sd, mixtures

    def _add_known(self, counts: Floats, sums: dict[str, Sums], families: Families) -> None:
        """Add the statistics of families that rows have all of; no numbers enter."""
        weights = self.evidence.row_weights
        starts = dict(zip(self.layout.shapes, map(int, self.layout.first[:-1]), strict=True))
        for family, rows, states in self._known:
            local = families.distributions[family.key]
            if isinstance(local, Categorical):
                size = local.table.size
                start = starts[family.key]
                counts[start : start + size] += np.bincount(states, weights[rows], size)
            elif isinstance(local, LinearGaussian):
                values = self._columns(family, rows)
                found = weighted_sums(states, local.intercept.size, values, weights[rows])
                _merge(sums, family.key, found)


def mixed_pair(net: DynamicNetwork, evidence: SequenceEvidence) -> tuple[str, str] | None:
    """A continuous variable that is missing somewhere and an open discrete one that it depends on,
    which has no exact answer in reasonable time; None if there is none.
    """
    missing = [n for n, values in evidence.values.items() if np.isnan(values).any()]
    return _mixed_pair(families_of(net), missing, open_discrete(evidence))


def _row_factor_nodes(
    kinds: Sequence[Sequence[SliceFamily]], missing: Sequence[str], is_open: Sequence[str]
) -> set[str]:
    """Missing continuous nodes without children that have an open discrete parent."""
    every = [family for kind in kinds for family in kind]
    mothers = {node.name for family in every for node in family.parents}
    return {
        family.child
        for family in every
        if family.child in missing
        and family.child not in mothers
        and any(m.node.name in is_open for m in members_of(family))
    }


def _mixed_pair(
    kinds: Sequence[Sequence[SliceFamily]], missing: Sequence[str], is_open: Sequence[str]
) -> tuple[str, str] | None:
    """A continuous variable that is missing somewhere, and an open discrete parent beside it."""
    likely = _row_factor_nodes(kinds, missing, is_open)
    for family in (family for kind in kinds for family in kind):
        lacking = [n.name for n in family.parents if n.name in missing]
        if family.child in missing and family.child not in likely:
            lacking = [family.child, *lacking]
        states = [m.node.name for m in members_of(family) if m.node.name in is_open]
        if family.local.child.is_continuous and states and lacking:
            return lacking[0], states[0]
    return None


def _merge(sums: dict[str, Sums], key: str, found: Sums) -> None:
    sums[key] = sums[key].merged(found) if key in sums else found
