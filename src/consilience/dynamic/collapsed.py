r"""Switching networks: continuous nodes that depend on regimes nobody knows, approximately.

A *path* are the joint states of the open discrete variables in the last w slices, the oldest first.
Each path has a weight and a normal law of the open continuous variables. A row extends every path
by its own states, conditions on its values, and then joins the paths that differ in the oldest
slice only, by their moments,

.. math:: w = \sum_i w_i, \qquad m = \sum_i \frac{w_i}{w} m_i, \qquad
    P = \sum_i \frac{w_i}{w} \bigl(P_i + (m_i - m)(m_i - m)^\top\bigr) .

Most probable values need no sums: of the paths that differ in the oldest slice the one whose most
probable values are most probable stays. With the values that a row drops at their highest density,
given what it keeps, a path counts :math:`w \prod |2 \pi P_{d \mid k}|^{-1/2}`.

Backward, the states that left the window are, given those in it, taken as independent of the later
values: the smoothed weight of an extended path is that of its window times the filtered share of
what left it. Values that a row leaves behind follow from those it hands on as in a Kalman smoother.

References
----------
C.-J. Kim (1994). Dynamic linear models with Markov-switching. J. of Econometrics 60.
K. P. Murphy (1998). Switching Kalman filters. Technical report, Berkeley.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from consilience import _check
from consilience._typing import Floats, Integers
from consilience.distributions import Categorical, LinearGaussian, Logistic
from consilience.distributions.linear_gaussian import LOG_ROOT_2PI
from consilience.dynamic.collapse_choice import Collapse
from consilience.dynamic.dynamic_network import DynamicNetwork
from consilience.dynamic.evidence_in_time import SequenceEvidence
from consilience.dynamic.frontier import given_offset, members_of, open_discrete
from consilience.dynamic.linear_part import LinearPart, continuous_columns
from consilience.dynamic.slices import SliceFamily, families_of
from consilience.dynamic.timeline import Families, SequenceBeliefs, Timeline
from consilience.errors import InputError, ModelError

__all__ = ["Collapsed", "approximation_of"]

NO_ROWS = np.zeros(0, np.int64)

RANK = 1e-12
"""Share of the largest eigenvalue below which one counts as zero."""


class _Law(NamedTuple):
    """Log weights (paths,), means (paths, variables) and covariances of paths."""

    log_weight: Floats
    mean: Floats
    cov: Floats


class Collapsed:
    """A panel for one structure of network, answered by collapsing paths of regimes.

    Parameters
    ----------
    net
        The network; its numbers are not used.
    evidence
        The panel.
    choice
        How long regimes are kept apart.
    memory_limit
        Bytes of all paths of all rows of the longest sequence.
    """

    def __init__(
        self,
        net: DynamicNetwork,
        evidence: SequenceEvidence,
        choice: Collapse,
        *,
        memory_limit: float,
    ) -> None:
        self.net, self.evidence, self.choice = net, evidence, choice
        self._window = choice.window
        self._kinds = families_of(net)
        self._order = len(self._kinds) - 1
        self._open = open_discrete(evidence)
        self._sizes = [net.variables[name].n_states for name in self._open]
        self._n_joint = int(np.prod(self._sizes, dtype=np.int64)) if self._sizes else 1
        missing = tuple(n for n, values in evidence.values.items() if np.isnan(values).any())
        self._refuse(missing)
        self._linear = LinearPart(
            [[f for f in kind if _is_linear(f, missing)] for kind in self._kinds],
            [self._given(k, missing) for k in range(len(self._kinds))],
            missing,
            evidence,
            memory_limit=memory_limit,
            open_discrete=self._open,
        )
        self._check_size(memory_limit)

    def log_likelihood(self, families: Families) -> Floats:
        """Log probability, or density, of what each sequence records."""
        log = np.zeros(self.evidence.n_rows)
        for s in range(len(self.evidence.first) - 1):
            for _ in self._forward(families, s, log):
                pass
        return self.evidence.by_sequence(log)

    def believe(
        self, families: Families, *, is_filter: bool = False, parts_of: Integers = NO_ROWS
    ) -> SequenceBeliefs:
        """Beliefs about all that is hidden or missing, given all rows or those up to each; of some
        rows also the normal laws of all paths.
        """
        mixtures: dict[str, list[tuple[Integers, Floats, Floats, Floats]]] = {}
        wanted = set(parts_of.tolist())
        n = self.evidence.n_rows
        log = np.zeros(n)
        shares = np.zeros((n, self._n_joint))
        names = self._linear.names
        mean, variance = np.zeros((n, len(names))), np.zeros((n, len(names)))
        for s in range(len(self.evidence.first) - 1):
            first = int(self.evidence.first[s])
            laws = list(self._forward(families, s, log))
            rows = (
                ((first + t, law) for t, law in enumerate(laws))
                if is_filter
                else self._backward(laws, first)
            )
            for row, law in rows:
                weights = np.exp(law.log_weight)
                shares[row] = weights.reshape(-1, self._n_joint).sum(axis=0)
                for v, place in self._places(row - first):
                    middle = float(weights @ law.mean[:, place])
                    away = law.mean[:, place] - middle
                    mean[row, v] = middle
                    spread = law.cov[:, place, place]
                    variance[row, v] = weights @ (spread + away**2)
                    if row in wanted:
                        sds = np.sqrt(np.maximum(spread, 0.0))
                        part = (np.array([row]), weights[None], law.mean[None, :, place], sds[None])
                        mixtures.setdefault(names[v], []).append(part)
        sd = np.sqrt(np.maximum(variance, 0.0))
        return SequenceBeliefs(
            log,
            self._by_name(shares),
            {name: mean[:, v] for v, name in enumerate(names)},
            {name: sd[:, v] for v, name in enumerate(names)},
            mixtures,
        )

    def best_states(self, families: Families) -> dict[str, Integers]:
        """The states of the open discrete variables in the most probable path that is found."""
        joint = np.zeros(self.evidence.n_rows, np.int64)
        for first, after in pairwise(self.evidence.first.tolist()):
            joint[first:after] = self._best_path(families, first, after)
        columns = np.unravel_index(joint, self._sizes) if self._sizes else ()
        return dict(zip(self._open, map(np.asarray, columns), strict=True))

    def _refuse(self, missing: Sequence[str]) -> None:
        for kind in self._kinds:
            for family in kind:
                lacking = [p.name for p in family.parents if p.name in missing]
                if isinstance(family.local, Logistic) and lacking:
                    raise ModelError(
                        f"{family.child!r} is a discrete node whose continuous parent "
                        f"{lacking[0]!r} is missing in some rows, which has no closed form. Turn "
                        "the arc around or discretize the parent.",
                        variable=family.child,
                    )
        parents = [p for kind in self._kinds for f in kind for p in f.parents]
        deep = max((p.lag for p in parents if p.name in self._open), default=0)
        if self._window < deep:
            raise InputError(
                f"Collapse: window must be at least {deep}, as far as regimes that a node depends "
                f"on lie back, got {self._window}.",
                parameter="window",
            )

    def _given(self, k: int, missing: Sequence[str]) -> list[str]:
        return [name for name in missing if f"{name}({k})" in self.net.conditional]

    def _check_size(self, memory_limit: float) -> None:
        longest = int(np.diff(self.evidence.first).max(initial=0))
        depth = min(self._window + 1, longest)
        width = self._linear.width
        _check.memory(
            f"{self._n_joint}^{depth} paths of regimes for {longest:,} steps",
            8.0 * longest * float(self._n_joint) ** depth * (width + 1) ** 2,
            memory_limit,
            "Use a smaller window in cs.dynamic.Collapse(...), or raise memory_limit.",
        )

    def _places(self, step: int) -> list[tuple[int, int]]:
        """The open continuous variables of a slice and where they stand."""
        return self._linear.places_of(min(step, self._order))

    def _by_name(self, shares: Floats) -> dict[str, Floats]:
        shaped = shares.reshape(-1, *self._sizes)
        axes = range(1, shaped.ndim)
        return {
            name: shaped.sum(axis=tuple(a for a in axes if a != i + 1))
            for i, name in enumerate(self._open)
        }

    def _forward(self, families: Families, s: int, log: Floats) -> Iterator[_Law]:
        """The laws of the extended paths of every row of a sequence, all places, given the rows so
        far; fills what each row adds to the log-likelihood.
        """
        law = _Law(np.zeros(1), np.zeros((1, 0)), np.zeros((1, 0, 0)))
        for t, row in enumerate(
            range(int(self.evidence.first[s]), int(self.evidence.first[s + 1]))
        ):
            wide = self._extended(families, row, t, law)
            total = float(np.logaddexp.reduce(wide.log_weight))
            log[row] = total
            if np.isfinite(total):
                wide = wide._replace(log_weight=wide.log_weight - total)
            yield wide
            law = self._joined(wide, t)

    def _extended(self, families: Families, row: int, t: int, law: _Law) -> _Law:
        """All paths with the states of a row added, and the row's values taken in."""
        n_joint, kind = self._n_joint, min(t, self._order)
        n_paths = len(law.log_weight)
        states = np.repeat(np.arange(n_paths), n_joint), np.tile(np.arange(n_joint), n_paths)
        past = np.arange(n_paths * n_joint)
        codes = self._codes(past, t)
        log = law.log_weight[states[0]].copy()
        n = self._linear.n_before(kind)
        size = self._linear.size(kind)
        mean = np.zeros((len(past), size))
        cov = np.zeros((len(past), size, size))
        mean[:, :n], cov[:, :n, :n] = law.mean[states[0]], law.cov[states[0]]
        for family in self._kinds[kind]:
            if not _is_linear(family, self._linear.names):
                log += self._log_known(families, family, row, codes)
        log += self._where_known(row, codes)
        log += self._take_in(families, kind, row, codes, mean=mean, cov=cov)
        return _Law(log, mean, cov)

    def _codes(self, paths: Integers, t: int) -> list[list[Integers]]:
        """For each lag and each open variable its states along the paths."""
        found, rest = [], paths
        for _ in range(min(t, self._window) + 1):
            joint, rest = rest % self._n_joint, rest // self._n_joint
            found.append(list(np.unravel_index(joint, self._sizes)) if self._sizes else [])
        return found

    def _where_known(self, row: int, codes: list[list[Integers]]) -> Floats:
        """Minus infinity for paths that contradict a state that the row has."""
        log = np.zeros(len(codes[0][0]) if self._open else 1)
        for i, name in enumerate(self._open):
            state = int(self.evidence.codes[name][row])
            if state >= 0:
                log[codes[0][i] != state] = -np.inf
        return log

    def _states(self, family: SliceFamily, row: int, codes: list[list[Integers]]) -> Integers:
        """The joint discrete states of a family along the paths."""
        [start] = given_offset(family, self.evidence, np.array([row]), self._open)
        found = np.full(len(codes[0][0]) if self._open else 1, start, np.int64)
        for member in members_of(family):
            if member.node.name in self._open:
                i = self._open.index(member.node.name)
                found = found + member.stride * codes[member.node.lag][i]
        return found

    def _log_known(
        self, families: Families, family: SliceFamily, row: int, codes: list[list[Integers]]
    ) -> Floats:
        """Log probability of a family whose continuous values are all known."""
        local = families.distributions[family.key]
        states = self._states(family, row, codes)
        if isinstance(local, Categorical):
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(local.table.ravel()[states]))
        values = np.array(
            [
                self.evidence.values[node.name][row - node.lag]
                for node in continuous_columns(family)
                if node.name in self.evidence.values
            ]
        )
        wide = np.repeat(values[None], len(states), axis=0)
        if isinstance(local, LinearGaussian):
            return local.log_densities(states, wide[:, :-1], wide[:, -1])
        r = local.child.n_states
        every = local.log_probabilities(states // r, wide)
        return np.asarray(every[np.arange(len(states)), states % r])

    def _take_in(
        self,
        families: Families,
        kind: int,
        row: int,
        codes: list[list[Integers]],
        *,
        mean: Floats,
        cov: Floats,
    ) -> Floats:
        """Add the nodes of a row to the laws of all paths, one after the other, and condition on
        their values; the log densities of these.
        """
        log = np.zeros(len(mean))
        n = self._linear.n_before(kind)
        for o, node in enumerate(self._linear.nodes(kind)):
            at, y = n + o, self.evidence.values[node.child][row]
            if node.family is None:
                mean[:, at] = y
                continue
            local = families.regressions[node.family.key]
            states = self._states(node.family, row, codes)
            slopes = local.coefficients.reshape(local.intercept.size, -1)[states]
            mean[:, at] = local.intercept.ravel()[states]
            for c, place in enumerate(node.columns[:-1]):
                if place < 0:
                    mean[:, at] += slopes[:, c] * self._linear.rows.known[row, -1 - place]
                else:
                    mean[:, at] += slopes[:, c] * mean[:, place]
                    cov[:, at, :at] += slopes[:, c, None] * cov[:, place, :at]
            cov[:, :at, at] = cov[:, at, :at]
            cov[:, at, at] = local.variance.ravel()[states]
            for c, place in enumerate(node.columns[:-1]):
                if place >= 0:
                    cov[:, at, at] += slopes[:, c] * cov[:, at, place]
            if not np.isnan(y):
                log += _condition(mean, cov, at, float(y))
        return log

    def _joined(self, wide: _Law, t: int) -> _Law:
        """What a row hands on, paths that differ in the oldest slice only joined by moments."""
        kept = list(self._linear.kept(min(t, self._order)))
        law = _Law(wide.log_weight, wide.mean[:, kept], wide.cov[:, kept][:, :, kept])
        if t + 1 <= self._window:
            return law
        return _merged(law, (self._n_joint, -1))

    def _best_path(self, families: Families, first: int, after: int) -> Integers:
        """Joint states of the rows of a sequence; of paths that differ in the oldest slice only,
        the most probable one is followed.
        """
        law = _Law(np.zeros(1), np.zeros((1, 0)), np.zeros((1, 0, 0)))
        came: list[Integers] = []
        for t, row in enumerate(range(first, after)):
            wide = self._extended(families, row, t, law)
            kept = list(self._linear.kept(min(t, self._order)))
            law = _Law(
                wide.log_weight + _log_peak(wide.cov, kept),
                wide.mean[:, kept],
                wide.cov[:, kept][:, :, kept],
            )
            highest = law.log_weight + _log_peak(law.cov, [])
            if t + 1 > self._window:
                oldest = highest.reshape(self._n_joint, -1).argmax(axis=0)
                chosen = oldest * len(oldest) + np.arange(len(oldest))
                law = _Law(*(part[chosen] for part in law))
                came.append(oldest)
        path = int(highest.argmax()) if after > first else 0
        found = np.zeros(after - first, np.int64)
        for t in range(after - first - 1, -1, -1):
            found[t] = path % self._n_joint
            path //= self._n_joint
            if t > self._window:
                path += int(came[t - 1 - self._window][path]) * self._n_joint**self._window
        return found

    def _backward(self, laws: Sequence[_Law], first: int) -> Iterator[tuple[int, _Law]]:
        """Rows from the last to the first with the smoothed laws of their extended paths."""
        after: _Law | None = None
        for t in range(len(laws) - 1, -1, -1):
            filtered, kind = laws[t], min(t, self._order)
            smoothed = filtered
            if after is not None:
                smoothed = self._smoothed(filtered, after, kind, t)
            yield first + t, smoothed
            n = self._linear.n_before(kind)
            law = _Law(smoothed.log_weight, smoothed.mean[:, :n], smoothed.cov[:, :n, :n])
            after = _merged(law, (-1, self._n_joint))

    def _smoothed(self, filtered: _Law, after: _Law, kind: int, t: int) -> _Law:
        """The law of extended paths given all rows, from that of the windows they end in."""
        n_paths = len(filtered.log_weight)
        window = np.arange(n_paths) % len(after.log_weight)
        share = filtered.log_weight
        if t + 1 > self._window:
            total = np.logaddexp.reduce(share.reshape(self._n_joint, -1), axis=0)[window]
            share = share - np.where(np.isfinite(total), total, 0.0)
            log = share + after.log_weight[window]
        else:
            log = after.log_weight[window]
        kept = np.array(self._linear.kept(kind), np.int64)
        others = np.setdiff1d(np.arange(filtered.mean.shape[1]), kept)
        mean, cov = filtered.mean.copy(), filtered.cov.copy()
        block = filtered.cov[:, kept][:, :, kept]
        gain = filtered.cov[:, others][:, :, kept] @ np.linalg.pinv(
            block, rcond=RANK, hermitian=True
        )
        away = after.mean[window] - filtered.mean[:, kept]
        change = after.cov[window] - block
        mean[:, kept] = after.mean[window]
        mean[:, others] += np.einsum("jab,jb->ja", gain, away)
        across = gain @ change
        rows = np.arange(n_paths)
        cov[np.ix_(rows, kept, kept)] = after.cov[window]
        cov[np.ix_(rows, others, kept)] += across
        cov[np.ix_(rows, kept, others)] += np.swapaxes(across, 1, 2)
        cov[np.ix_(rows, others, others)] += across @ np.swapaxes(gain, 1, 2)
        return _Law(log, mean, cov)


def approximation_of(line: Timeline | Collapsed, older: str = "are matched in moments") -> str:
    """How the answers of a prepared panel are approximate; empty if they are exact."""
    if isinstance(line, Timeline):
        return ""
    if int(np.diff(line.evidence.first).max(initial=0)) <= line.choice.window:
        return ""
    return f"approximately, by {line.choice!r}: regimes before the window {older}"


def _is_linear(family: SliceFamily, missing: Sequence[str]) -> bool:
    if not family.local.child.is_continuous:
        return False
    return any(node.name in missing for node in continuous_columns(family))


def _log_peak(cov: Floats, kept: Sequence[int]) -> Floats:
    """Log of the highest density of the places that are not kept, given those that are."""
    others = [place for place in range(cov.shape[1]) if place not in kept]
    left = cov[:, others][:, :, others]
    if kept:
        across = cov[:, others][:, :, kept]
        inverse = np.linalg.pinv(cov[:, kept][:, :, kept], rcond=RANK, hermitian=True)
        left = left - across @ inverse @ np.swapaxes(across, 1, 2)
    variances = np.maximum(np.diagonal(left, axis1=1, axis2=2), 0.0)
    is_free = variances > RANK * np.diagonal(cov, axis1=1, axis2=2)[:, others]
    units = np.sqrt(np.where(is_free, variances, 1.0))
    both = is_free[:, :, None] & is_free[:, None, :]
    scaled = np.where(both, left / (units[:, :, None] * units[:, None, :]), np.eye(len(others)))
    values = np.maximum(np.linalg.eigvalsh(scaled), RANK)
    heights = np.where(is_free, np.log(units) + LOG_ROOT_2PI, 0.0)
    return np.asarray(-heights.sum(axis=1) - 0.5 * np.log(values).sum(axis=1))


def _condition(mean: Floats, cov: Floats, at: int, y: float) -> Floats:
    """Condition all laws on the value of the last place; its log densities."""
    spread, away = cov[:, at, at].copy(), y - mean[:, at]
    is_spread = spread > 0
    safe = np.where(is_spread, spread, 1.0)
    gain = np.where(is_spread[:, None], cov[:, :at, at] / safe[:, None], 0.0)
    mean[:, :at] += gain * away[:, None]
    cov[:, :at, :at] -= gain[:, :, None] * cov[:, None, :at, at]
    mean[:, at] = y
    cov[:, at, : at + 1] = 0.0
    cov[:, : at + 1, at] = 0.0
    log = -0.5 * (away**2 / safe + np.log(safe)) - LOG_ROOT_2PI
    return np.where(is_spread, log, np.where(np.abs(away) <= 1e-9 * abs(y), 0.0, -np.inf))


def _merged(law: _Law, shape: tuple[int, int]) -> _Law:
    """Paths joined by moments: over the oldest slice if it stands first in the shape, otherwise
    over the newest.
    """
    axis = 0 if shape[1] == -1 else 1
    log = law.log_weight.reshape(shape)
    total = np.logaddexp.reduce(log, axis=axis)
    safe = np.where(np.isfinite(total), total, 0.0)
    share = np.exp(log - np.expand_dims(safe, axis))
    size = law.mean.shape[1]
    means, covs = law.mean.reshape(*log.shape, size), law.cov.reshape(*log.shape, size, size)
    mean = (share[..., None] * means).sum(axis=axis)
    away = means - np.expand_dims(mean, axis)
    spread = covs + away[..., :, None] * away[..., None, :]
    return _Law(total, mean, (share[..., None, None] * spread).sum(axis=axis))
