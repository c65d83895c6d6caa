"""Estimated answers: draws until a limit is met, and what they say with standard errors.

One run of draws answers all questions that are asked at once: joint posteriors of discrete nodes
are tallied, values of continuous ones are kept, and an event is a question of two cells.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from consilience import _check
from consilience._typing import Column, Floats, Integers
from consilience.errors import InputError
from consilience.inference.estimate_ways import (
    MOST_DRAWS,
    USUAL_DRAWS,
    USUAL_ERROR,
    AdaptiveImportance,
    Gibbs,
    LogicSampling,
    Sampler,
)
from consilience.inference.evidence import Evidence
from consilience.inference.family_logs import codes_together, log_family
from consilience.inference.gibbs_chains import chain_blocks
from consilience.inference.proposals import Block, relevant, weighted_blocks
from consilience.inference.tallies import ChainTally, Tally, Weights
from consilience.network.factor import Factor
from consilience.network.mixed_belief import MixedBelief
from consilience.network.mixture import Mixture
from consilience.network.network import MEMORY_LIMIT, Network

__all__ = ["estimated_beliefs", "estimated_log_evidence", "estimated_share"]

FEWEST = 100.0  # effective draws before a standard error is believed

Event = Callable[[Mapping[str, Column]], Integers]
"""One where a row meets it, else zero."""


@dataclass(slots=True, eq=False)
class _Question:
    """A joint posterior that is being estimated."""

    discrete: tuple[str, ...]
    continuous: tuple[str, ...]
    tally: Tally | ChainTally
    codes: Event
    kept_codes: list[Integers] = field(default_factory=list)
    values: list[Floats] = field(default_factory=list)
    logs: list[Floats] = field(default_factory=list)

    def add(self, block: Block, weights: Floats, shrink: float) -> None:
        """Take new draws in."""
        columns, log = block
        codes = self.codes(columns)
        self.tally.add(codes, weights, shrink)
        if self.continuous:
            self.kept_codes.append(codes)
            self.values.append(np.stack([columns[n] for n in self.continuous], axis=1))
            self.logs.append(log)

    def error(self) -> float:
        """The largest standard error; of means in units of the sd."""
        worst = float(self.tally.errors.max()) if self.tally.n_cells > 1 else 0.0
        if self.continuous:
            size = self.size_of_means()
            worst = max(worst, 1 / math.sqrt(size) if size > 0 else math.inf)
        return worst

    def size_of_means(self) -> float:
        """How many independent draws the means are worth."""
        if isinstance(self.tally, ChainTally):
            errors, values = self.chain_errors()
            sds = values.std(axis=(0, 1))
            ratio = errors / np.where(sds > 0, sds, 1.0)
            return float(1 / max(float(ratio.max()) ** 2, 1e-300))
        return self.tally.effective_size

    def chain_errors(self) -> tuple[Floats, Floats]:
        """Standard errors of the means over chains, and all values by sweep and chain."""
        values = np.stack(self.values)  # (sweeps, chains, variables)
        means = values.mean(axis=0)
        return means.std(axis=0, ddof=1) / math.sqrt(values.shape[1]), values


def estimated_beliefs(
    net: Network, asked: Sequence[Sequence[str]], evidence: Evidence, way: Sampler
) -> list[Factor | Mixture | MixedBelief]:
    """The joint posteriors of some sets of nodes, all from the same draws."""
    _refuse_soft(evidence)
    names = [*evidence.names, *(name for one in asked for name in one)]
    part = relevant(net, names)
    run = _Run.of(part, [_question_of(net, one, way) for one in asked], evidence, way)
    run.draw(way.error)
    return [
        _belief(net, one, names_, run) for one, names_ in zip(run.questions, asked, strict=True)
    ]


def estimated_share(
    net: Network, names: Sequence[str], event: Event, evidence: Evidence, *, way: Sampler
) -> float:
    """The probability of an event about these nodes; its standard error is kept, or refused."""
    _refuse_soft(evidence)
    tally = _tally(2, way)
    part = relevant(net, [*evidence.names, *names])
    run = _Run.of(part, [_Question((), (), tally, event)], evidence, way)
    wanted = USUAL_ERROR if way.error is None else way.error
    run.draw(wanted)
    error = float(tally.errors.max())
    run.refuse_error(error, wanted)
    return float(tally.shares[1])


def estimated_log_evidence(net: Network, evidence: Evidence, way: Sampler) -> float:
    """Log probability of what is given; its standard error is kept, or refused."""
    _refuse_soft(evidence)
    if not evidence.names:
        return 0.0
    wanted = USUAL_ERROR if way.error is None else way.error
    part = relevant(net, list(evidence.names))
    if isinstance(way, Gibbs):
        return _by_chain_rule(part, evidence, way, wanted) + evidence.log_scale
    run = _Run.of(part, [], evidence, way)
    run.draw(wanted)
    run.refuse_error(run.weights.error_of_log_mean, wanted)
    return run.weights.log_mean + evidence.log_scale


def _by_chain_rule(net: Network, evidence: Evidence, way: Gibbs, wanted: float) -> float:
    r"""Sum of log E[P(e_i | pa_i)], each over chains that know the findings before it."""
    total, before = 0.0, dict[str, Any]()
    squares, n_draws = 0.0, 0
    findings = [n for n in net.dag.topological_order() if n in evidence.names]
    for name in findings:
        held = Evidence(
            {n: c for n, c in evidence.known.items() if n in before},
            {n: v for n, v in evidence.likelihoods.items() if n in before},
            {},
            values={n: x for n, x in evidence.values.items() if n in before},
        )
        part = relevant(net, [*before, name])
        mean, error, n = _mean_density(
            part, name, evidence, held, way=way, wanted=wanted, n_findings=len(findings)
        )
        total += math.log(mean)
        squares, n_draws = squares + (error / mean) ** 2, n_draws + n
        before[name] = True
    if math.sqrt(squares) > wanted:
        _refuse("Gibbs sampling", math.sqrt(squares), wanted, n_draws)
    return total


def _mean_density(
    net: Network,
    name: str,
    evidence: Evidence,
    held: Evidence,
    *,
    way: Gibbs,
    wanted: float,
    n_findings: int,
) -> tuple[float, float, int]:
    """Mean over chains of the probability of one finding given its parents, error, and draws.

    Every finding has its share of the squared error and of the seconds.
    """
    share = 0.9 * wanted / math.sqrt(n_findings)
    rng = _check.generator(way.seed)
    sums, n, n_sweeps = np.zeros(way.chains), 0, 0
    started = time.monotonic()
    for columns, _ in chain_blocks(net, held, way, rng, most=way.draws or MOST_DRAWS):
        rows = dict(columns)
        if name in evidence.likelihoods:
            sums += evidence.likelihoods[name][rows[name]]
        else:
            value = evidence.known.get(name, evidence.values.get(name))
            rows[name] = np.full(way.chains, value)
            sums += np.exp(log_family(net, name, rows))
        n_sweeps, n = n_sweeps + 1, n + way.chains
        if n_sweeps % 10 == 0 and (way.draws is None or way.error is not None):
            each = sums / n_sweeps
            error = each.std(ddof=1) / math.sqrt(way.chains) / each.mean()
            spent = (time.monotonic() - started) * n_findings
            is_late = way.seconds is not None and spent > way.seconds
            if error <= share or is_late or n >= 20 * USUAL_DRAWS:
                break
    each = sums / n_sweeps
    return float(each.mean()), float(each.std(ddof=1) / math.sqrt(way.chains)), n


def _refuse_soft(evidence: Evidence) -> None:
    if evidence.soft:
        raise InputError(
            "soft evidence is fitted exactly; use by=cs.inference.Exact(), or give a likelihood: "
            "cs.Likelihood({...}).",
            parameter="given",
        )


def _tally(n_cells: int, way: Sampler) -> Tally | ChainTally:
    return ChainTally(n_cells, way.chains) if isinstance(way, Gibbs) else Tally(n_cells, Weights())


def _question_of(net: Network, asked: Sequence[str], way: Sampler) -> _Question:
    discrete = tuple(n for n in asked if not net.variables[n].is_continuous)
    continuous = tuple(n for n in asked if net.variables[n].is_continuous)
    n_cells = math.prod(net.variables[n].n_states for n in discrete)
    _check.memory(
        f"the joint states of {_check.listed(discrete)}",
        32.0 * n_cells,
        MEMORY_LIMIT,
        "Ask for fewer variables at once.",
    )
    return _Question(
        discrete,
        continuous,
        _tally(n_cells, way),
        lambda columns: codes_together(net, discrete, columns),
    )


@dataclass(slots=True, eq=False)
class _Run:
    """Draws of one way for some questions."""

    net: Network
    questions: list[_Question]
    evidence: Evidence
    way: Sampler
    weights: Weights = field(default_factory=Weights)

    @classmethod
    def of(cls, net: Network, questions: list[_Question], evidence: Evidence, way: Sampler) -> _Run:
        run = cls(net, questions, evidence, way)
        for one in questions:
            if isinstance(one.tally, Tally):
                one.tally.weights = run.weights
        return run

    def draw(self, error: float | None) -> None:
        """Draw until the first limit is met."""
        started = time.monotonic()
        way = self.way
        is_wanted = way.error is not None or way.draws is None
        for count, block in enumerate(self._blocks(error), start=1):
            weights, shrink = self.weights.add(block[1])
            for one in self.questions:
                one.add(block, weights, shrink)
            if way.seconds is not None and time.monotonic() - started > way.seconds:
                break
            is_time = not isinstance(way, Gibbs) or count % 10 == 0
            if is_wanted and error is not None and is_time and self._error() <= error:
                break
        self._refuse_nothing()

    def refuse_error(self, error: float, wanted: float) -> None:
        """Refuse an answer that is a plain number and less sure than it was to be."""
        if not error <= wanted:
            _refuse(type(self.way).__name__, error, wanted, self.weights.n)

    def _error(self) -> float:
        if self.weights.effective_size < FEWEST:
            return math.inf
        if not self.questions:
            return self.weights.error_of_log_mean
        return max(one.error() for one in self.questions)

    def _blocks(self, error: float | None) -> Iterator[Block]:
        way, rng = self.way, _check.generator(self.way.seed)
        most = way.draws
        if most is None:
            is_open = error is not None or way.seconds is not None
            most = MOST_DRAWS if is_open else USUAL_DRAWS
        if isinstance(way, Gibbs):
            return chain_blocks(self.net, self.evidence, way, rng, most=most)
        return weighted_blocks(self.net, self.evidence, way, rng, most=most)

    def _refuse_nothing(self) -> None:
        if self.weights.total > 0:
            return
        what = "logic sampling" if isinstance(self.way, LogicSampling) else "weighted sampling"
        is_last = isinstance(self.way, AdaptiveImportance)
        raise InputError(
            f"{what}: none of {self.weights.n:,} draws meets what is given. It is impossible or "
            f"very improbable; use by=cs.inference.{'Exact' if is_last else 'AdaptiveImportance'}()"
            ", or more draws.",
            parameter="draws",
        )


def _refuse(way: str, error: float, wanted: float, n: int) -> None:
    raise InputError(
        f"{way}: the standard error is {error:.2g} after {n:,} draws, and {wanted:g} is wanted. "
        "Give more draws or seconds, or a larger error.",
        parameter="error",
    )


def _belief(
    net: Network, one: _Question, asked: Sequence[str], run: _Run
) -> Factor | Mixture | MixedBelief:
    discrete = [net.variables[n] for n in asked if not net.variables[n].is_continuous]
    shape = tuple(v.n_states for v in discrete)
    factor = Factor(
        tuple(discrete),
        one.tally.shares.reshape(shape),
        one.tally.errors.reshape(shape),
        one.tally.effective_size,
    )
    if not one.continuous:
        return factor
    values, codes = np.concatenate(one.values), np.concatenate(one.kept_codes)
    logs = np.concatenate(one.logs)
    weights = np.exp(logs - logs.max())
    if not discrete:
        return _mixture(one, values, weights)
    mixtures = {
        tuple(map(int, np.unravel_index(code, shape))): _mixture(
            one, values[codes == code], weights[codes == code]
        )
        for code in np.flatnonzero(one.tally.shares > 0)
    }
    return MixedBelief(factor, mixtures)


def _mixture(one: _Question, values: Floats, weights: Floats) -> Mixture:
    kept = weights > 0
    values, weights = values[kept], weights[kept] / weights[kept].sum()
    size = float(1 / (weights**2).sum())
    mean = weights @ values
    errors = np.sqrt((weights**2) @ (values - mean) ** 2)
    if isinstance(one.tally, ChainTally) and not one.discrete:
        errors, _ = one.chain_errors()
        size = one.size_of_means()
    d = values.shape[1]
    return Mixture(one.continuous, weights, values, np.zeros((len(weights), d, d)), errors, size)
