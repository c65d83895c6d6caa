r"""Loopy belief propagation: messages between factors and variables until they settle.

.. math:: m_{f \to v}(x_v) \propto \sum_{x_f \setminus v} f(x_f) \prod_{u \ne v} m_{u \to f}(x_u),
    \qquad m_{v \to f}(x_v) \propto \prod_{g \ne f} m_{g \to v}(x_v)

The factors are the tables at what is known, and for continuous nodes the density of what is known
of each component given its discrete parents (:mod:`consilience.inference.gaussian`). On trees and
polytrees the messages are exact after as many rounds as the tree is long. The log probability of
the evidence is that of Bethe (Yedidia, Freeman and Weiss 2005), exact on trees too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from consilience import _check
from consilience._typing import Floats
from consilience.errors import ModelError
from consilience.inference.conflict import refuse_impossible
from consilience.inference.elimination import Labeled
from consilience.inference.estimate_ways import LoopyPropagation
from consilience.inference.evidence import Evidence
from consilience.inference.gaussian import Conditional, condition
from consilience.inference.known_rows import Rows, rows_of
from consilience.inference.solving import (
    components_of,
    families_of,
    open_logistic,
    pool_of_rows,
)
from consilience.network.factor import Factor
from consilience.network.mixture import Mixture
from consilience.network.network import MEMORY_LIMIT, Network
from consilience.network.propagation_report import PropagationReport

__all__ = ["Propagation", "propagate", "state_likelihoods"]

FEW_ITERATIONS = 30  # for the proposals of importance sampling


@dataclass(frozen=True, slots=True, eq=False)
class Propagation:
    """What the messages say once they have settled, or were given up.

    Parameters
    ----------
    beliefs
        Of each discrete variable that is not known, and matters.
    together
        Of the variables of each factor.
    into
        By variable, the message of each factor about it.
    conditionals
        Of the components of continuous nodes.
    log_evidence
        Bethe's approximation of the log probability of what is given.
    report
        Whether the messages settled.
    """

    beliefs: dict[str, Floats]
    together: list[Labeled]
    conditionals: list[Conditional]
    log_evidence: float
    report: PropagationReport

    def belief(self, net: Network, name: str, rows: Rows) -> Factor | Mixture:
        """The posterior of one node."""
        variable = net.variables[name]
        if not variable.is_continuous:
            values = self.beliefs.get(name)
            if values is None:
                values = np.eye(variable.n_states)[int(rows.known[name][0])]
            return Factor((variable,), values, propagation=self.report)
        if name in rows.values:
            value = rows.values[name][:1].reshape(1, 1)
            return Mixture((name,), np.ones(1), value, np.zeros((1, 1, 1)), propagation=self.report)
        one = next(c for c in self.conditionals if name in c.asked)
        i = one.asked.index(name)
        weights = np.ones(1)
        if one.free:
            held = next(f for f in self.together if set(one.free) == set(f.names))
            order = [held.names.index(n) for n in one.free]
            weights = held.values.transpose(order).ravel()
        kept = weights > 0
        return Mixture(
            (name,),
            weights[kept] / weights[kept].sum(),
            one.means[0, kept, i : i + 1],
            one.variances[0, kept, i][:, None, None],
            propagation=self.report,
        )


def propagate(
    net: Network, evidence: Evidence, way: LoopyPropagation, asked: Sequence[str] | None = None
) -> tuple[Propagation, Rows]:
    """Run loopy propagation about some nodes, or all, and what is known as a row."""
    rows = rows_of(net, evidence)
    wanted = [n for n in net.variables if n not in rows.observed] if asked is None else list(asked)
    families = families_of(net, rows.names, rows.observed, wanted).every
    is_open = open_logistic(net, families, rows.values)
    if is_open:
        raise ModelError(
            f"loopy propagation: the node {is_open[0]!r} has continuous parents that are not known "
            "and so no table; use by=cs.inference.LikelihoodWeighting().",
            variable=is_open[0],
        )
    factors, log_scale, conditionals = _factors(net, rows, families, way.memory_limit)
    graph = _Graph(net, factors)
    report = graph.run(way)
    if report is None:
        refuse_impossible(net, evidence, way.memory_limit)
    log = graph.log_evidence() + log_scale + evidence.log_scale
    found = Propagation(
        {name: graph.belief(name) for name in graph.incoming},
        [Labeled(f.names, graph.together(i)) for i, f in enumerate(factors)],
        conditionals,
        log,
        report,
    )
    return found, rows


def state_likelihoods(net: Network, evidence: Evidence) -> dict[str, Floats]:
    """For each discrete node that is not known, what all but its own family say of its states.

    Empty if that cannot be told.
    """
    rows = rows_of(net, evidence)
    families = families_of(net, rows.names, rows.observed, ()).every
    if open_logistic(net, families, rows.values):
        return {}
    factors, _, _ = _factors(net, rows, families, MEMORY_LIMIT)
    graph = _Graph(net, factors)
    if graph.run(LoopyPropagation(max_iterations=FEW_ITERATIONS, tolerance=1e-4)) is None:
        return {}
    own = {name: i for i, name in enumerate(n for n in families if n in net.tables)}
    return {name: graph.others(name, own.get(name)) for name in graph.incoming}


def _factors(
    net: Network, rows: Rows, families: Sequence[str], memory_limit: float
) -> tuple[list[Labeled], float, list[Conditional]]:
    """Tables in the order of the families, then likelihoods; scale; and continuous components."""
    pool = pool_of_rows(net, rows, families, memory_limit=memory_limit)
    scaled = pool.scaled()
    if scaled is None:
        raise ModelError(
            "loopy propagation: continuous nodes that are given are determined by others; use "
            "by=cs.inference.Exact()."
        )
    factors, conditionals = list(scaled.factors), []
    for part in components_of(net, rows, families):
        hidden = [n for n in part.nodes if n not in rows.values]
        if not hidden:
            continue
        one = condition(net, part, rows, hidden, memory_limit=memory_limit)
        conditionals.append(one)
        if one.free and not any(set(f.names) == set(one.free) for f in factors):
            _check.memory(
                f"the joint states of {_check.listed(one.free)}",
                8.0 * math.prod(one.shape),
                memory_limit,
                "Give more.",
            )
            factors.append(Labeled(one.free, np.ones(one.shape)))
    return factors, scaled.log_scale, conditionals


class _Graph:
    """Factors, variables, and the messages between them."""

    def __init__(self, net: Network, factors: Sequence[Labeled]) -> None:
        self.factors = factors
        self.incoming: dict[str, dict[int, Floats]] = {}
        for i, factor in enumerate(factors):
            for name in factor.names:
                r = net.variables[name].n_states
                self.incoming.setdefault(name, {})[i] = np.full(r, 1 / r)

    def run(self, way: LoopyPropagation) -> PropagationReport | None:
        """Rounds until the messages settle; None if they contradict each other."""
        change = 0.0
        if any(not factor.values.any() for factor in self.factors):
            return None
        for iteration in range(1, way.max_iterations + 1):
            change = 0.0
            for i, factor in enumerate(self.factors):
                for name, new in zip(factor.names, self._messages(i), strict=True):
                    total = new.sum()
                    if not total > 0:
                        return None
                    old = self.incoming[name][i]
                    damping = way.damping if iteration > 1 else 0.0
                    mixed = damping * old + (1 - damping) * new / total
                    change = max(change, float(np.abs(mixed - old).max()))
                    self.incoming[name][i] = mixed
            if change <= way.tolerance:
                return PropagationReport(iteration, change, is_settled=True)
        return PropagationReport(way.max_iterations, change, is_settled=False)

    def others(self, name: str, without: int | None) -> Floats:
        """The product of all messages about a variable but that of one factor."""
        held = self.incoming[name]
        product = np.ones(len(next(iter(held.values()))))
        for i, message in held.items():
            if i != without:
                product = product * message
                largest = product.max()
                product = product / largest if largest > 0 else product
        return product

    def belief(self, name: str) -> Floats:
        """The belief in the states of a variable."""
        product = self.others(name, None)
        return product / product.sum()

    def together(self, i: int) -> Floats:
        """The belief in the joint states of the variables of a factor."""
        factor = self.factors[i]
        product = factor.values
        for axis, name in enumerate(factor.names):
            shape = [-1 if a == axis else 1 for a in range(len(factor.names))]
            product = product * self.others(name, i).reshape(shape)
        return np.asarray(product / product.sum())

    def log_evidence(self) -> float:
        """Bethe's log probability of what is given."""
        total = 0.0
        for i, factor in enumerate(self.factors):
            if not factor.names:
                total += math.log(float(factor.values))
                continue
            b = self.together(i)
            total += float((xlogy(b, np.where(b > 0, factor.values, 1.0)) - xlogy(b, b)).sum())
        for name, held in self.incoming.items():
            b = self.belief(name)
            total += (len(held) - 1) * float(xlogy(b, b).sum())
        return total

    def _messages(self, i: int) -> list[Floats]:
        factor = self.factors[i]
        k = len(factor.names)
        into = [self.others(name, i) for name in factor.names]
        if k == 1:
            return [factor.values]
        found = []
        for axis in range(k):
            product = factor.values
            for other in reversed(range(k)):
                if other != axis:
                    product = np.moveaxis(product, other if other < axis else -1, -1) @ into[other]
            found.append(product)
        return found
