r"""Answers averaged over graphs and parameters.

With a Dirichlet prior the tables' posterior means give :math:`P(\text{case} \mid D, G)` of one new
case averaged over the parameters, and over graphs

.. math:: P(y \mid e, D) = \frac{\sum_G P(G \mid D)\, P(y, e \mid D, G)}
    {\sum_G P(G \mid D)\, P(e \mid D, G)} :

what is known of a case speaks for the graphs under which it was to be expected. By default the
tables are estimated with the prior that the score assumes (``BDeu(ess)``: ``Dirichlet(ess)``;
``K2``, ``BDJ``: one or one half in every cell; ``BDe``: its network; ``PerSource``: each source by
itself; ``BHD``: ``HDMJS`` of its strength), otherwise as :func:`consilience.fit` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy.special import logsumexp

from consilience import _check
from consilience._typing import Floats
from consilience.averaging.graph_belief import GraphBelief
from consilience.data.door import Rows, as_rows_of
from consilience.data.table import Table, code_type
from consilience.data.variable import Schema, Variable
from consilience.distributions.categorical import Categorical
from consilience.errors import ImpossibleEvidenceError, InputError
from consilience.inference.evidence import Soft
from consilience.inference.queries import log_probability
from consilience.learning import fit
from consilience.network.factor import Factor
from consilience.network.mixed_belief import MixedBelief
from consilience.network.mixture import Mixture
from consilience.network.network import Network
from consilience.parameters.dirichlet import Dirichlet
from consilience.parameters.estimator import Estimator, is_apart
from consilience.parameters.fitting import fit_task
from consilience.parameters.hierarchical import HDMJS
from consilience.parameters.maximum_likelihood import MLE
from consilience.parameters.pooling import Separate
from consilience.statistics.counts import MEMORY_LIMIT
from consilience.statistics.family import Family
from consilience.statistics.gather import count, engine_of
from consilience.structure.scores.bayesian import BDJ, K2, BDe, BDeu
from consilience.structure.scores.priors import MAP
from consilience.structure.scores.score import Score
from consilience.structure.scores.source_scores import BHD, PerSource

__all__ = ["log_likelihood", "matching_estimator", "networks", "posteriors", "query"]

Answer = Factor | Mixture | MixedBelief
Weighted = list[tuple[Network, float]]

_KEPT: WeakKeyDictionary[GraphBelief, dict[str, Weighted]] = WeakKeyDictionary()


def networks(belief: GraphBelief, estimator: Estimator | None = None) -> Weighted:
    """Each graph of a belief fitted to its rows, with its weight."""
    kept = _KEPT.setdefault(belief, {})
    chosen = matching_estimator(belief.score) if estimator is None else estimator
    if repr(chosen) not in kept:
        kept[repr(chosen)] = _fitted(belief, chosen)
    return list(kept[repr(chosen)])


def query(
    belief: GraphBelief,
    names: str | Sequence[str],
    given: Mapping[str, Any] | None = None,
    *,
    estimator: Estimator | None = None,
) -> Answer:
    """Belief about variables given others, averaged over graphs and parameters.

    Parameters
    ----------
    names
        What is asked for: one name, or several for their joint distribution.
    given
        What is known, as for :meth:`Network.query`.
    estimator
        How tables are estimated; by default with the prior of the score.
    """
    nets = networks(belief, estimator)
    weights = np.array([weight for _, weight in nets])
    if given:
        weights = _updated(nets, weights, given)
    likely = [(net, w) for (net, _), w in zip(nets, weights, strict=True) if w > 0]
    answers: list[Answer] = [net.query(names, given) for net, _ in likely]
    return _mean(answers, np.array([w for _, w in likely]))


def posteriors(
    belief: GraphBelief, rows: Rows, target: str, *, estimator: Estimator | None = None
) -> Floats:
    """Posterior of the target for each row, shape (rows, states); mean and sd if continuous.

    A row whose evidence is impossible under every graph is all zero; of a continuous target it is
    an error.
    """
    nets = networks(belief, estimator)
    _check.known("node", [target], nets[0][0].distributions)
    rows = as_rows_of(nets[0][0].variables, nets[0][0].source, rows)
    variable = nets[0][0].variables[target]
    if variable.is_continuous:
        return _moments(nets, _with_column(rows, variable, np.nan), target)
    joint = np.stack(
        [
            logsumexp(_log_joint(nets, _with_column(rows, variable, code)), axis=0)
            for code in range(variable.n_states)
        ],
        axis=1,
    )
    total = logsumexp(joint, axis=1, keepdims=True)
    return np.asarray(np.exp(joint - np.where(total > -np.inf, total, 0.0)))


def log_likelihood(
    belief: GraphBelief, rows: Rows, *, estimator: Estimator | None = None
) -> Floats:
    """Log probability of each row, as one new case; missing values are summed out."""
    nets = networks(belief, estimator)
    rows = as_rows_of(nets[0][0].variables, nets[0][0].source, rows)
    return np.asarray(logsumexp(_log_joint(nets, rows), axis=0))


def matching_estimator(score: Score) -> Estimator | None:
    """The estimator with the prior that a score assumes; None if it assumes none."""
    inner = score.score if isinstance(score, MAP) else score
    if isinstance(inner, PerSource):
        each = matching_estimator(inner.score)
        return None if each is None else Separate(each)
    if isinstance(inner, BDeu):
        return Dirichlet(ess=inner.ess)
    if isinstance(inner, BDe):
        return Dirichlet(ess=inner.ess, network=inner.network)
    if isinstance(inner, BHD):
        return HDMJS(s=inner.s, alpha0=inner.ess)
    cells = {K2: 1.0, BDJ: 0.5}
    return Dirichlet(per_cell=cells[type(inner)]) if type(inner) in cells else None


def _fitted(belief: GraphBelief, estimator: Estimator | None) -> Weighted:
    if estimator is not None and _is_by_family(estimator) and _is_complete(belief):
        return _by_family(belief, estimator)
    return [(fit(dag, belief.rows, estimator), weight) for dag, weight in belief.graphs]


def _is_by_family(estimator: Estimator) -> bool:
    """Whether the table of a family does not depend on the other families."""
    if isinstance(estimator, Separate):
        return isinstance(estimator.estimator, Dirichlet | MLE)
    return isinstance(estimator, Dirichlet | MLE | HDMJS)


def _is_complete(belief: GraphBelief) -> bool:
    """Whether all variables are discrete and nothing is missing."""
    variables = engine_of(belief.rows).schema.variables.values()
    if any(variable.is_continuous for variable in variables):
        return False
    counts = count(belief.rows, [Family(variable.name) for variable in variables])
    return not any(one.n_incomplete.any() for one in counts)


def _by_family(belief: GraphBelief, estimator: Estimator) -> Weighted:
    """Each family that occurs in any graph is counted and estimated once."""
    task = fit_task(belief.graphs[0].dag, belief.rows, estimator)
    families = [Family(node, dag.parents(node)) for dag, _ in belief.graphs for node in dag.nodes]
    distinct = list(dict.fromkeys(families))
    by_source = is_apart(estimator) and task.source != ""
    counted = count(task.engine, distinct, by_source=by_source, memory_limit=MEMORY_LIMIT)
    tables = estimator.estimate([one.to_dense(MEMORY_LIMIT) for one in counted])
    of = dict(zip(distinct, tables, strict=True))
    source = task.root[0].child.name if task.root else None
    return [
        (
            Network.of(
                [*task.root, *(of[Family(node, dag.parents(node))] for node in dag.nodes)],
                source=source,
            ),
            weight,
        )
        for dag, weight in belief.graphs
    ]


def _updated(nets: Weighted, weights: Floats, given: Mapping[str, Any]) -> Floats:
    """Weights of the graphs once a case with these facts has been seen."""
    if any(isinstance(value, Soft) for value in given.values()):
        return weights  # soft evidence has no probability
    log = np.log(weights) + np.array([log_probability(net, given) for net, _ in nets])
    top = log.max()
    if top == -np.inf:
        raise ImpossibleEvidenceError(
            f"what is given ({_check.listed(given)}) has probability zero under every graph."
        )
    found: Floats = np.exp(log - top)
    return found / found.sum()


def _log_joint(nets: Weighted, rows: Table) -> Floats:
    """Log probability of each graph with each row, shape (graphs, rows)."""
    weights = np.log([weight for _, weight in nets])
    first = nets[0][0]
    if first.source is not None or not _is_plain(first, rows):
        return np.stack([net.log_likelihood(rows) for net, _ in nets]) + weights[:, None]
    local = {id(one): one for net, _ in nets for one in net.distributions.values()}
    with np.errstate(divide="ignore"):
        log = {
            key: np.log(
                one.table[tuple(rows.columns[name] for name in (*one.parents, one.child.name))]
            )
            for key, one in local.items()
            if isinstance(one, Categorical)
        }
    return np.stack(
        [
            sum((log[id(one)] for one in net.distributions.values()), np.full(len(rows), weight))
            for (net, _), weight in zip(nets, weights, strict=True)
        ]
    )


def _is_plain(net: Network, rows: Table) -> bool:
    """Whether each row has a state of every node, as the network numbers them."""
    return all(
        isinstance(one, Categorical)
        and rows.variables.get(name) == one.child
        and bool((rows.columns[name] >= 0).all())
        for name, one in net.distributions.items()
    )


def _with_column(rows: Table, variable: Variable, value: float) -> Table:
    """The rows with one value of a variable in all of them."""
    kind = np.float64 if variable.is_continuous else code_type(variable.n_states)
    columns = {**rows.columns, variable.name: np.full(len(rows), value, kind)}
    schema = Schema({**rows.variables, variable.name: variable}, rows.schema.source)
    return Table(schema, columns, rows.source_codes, rows.weights)


def _moments(nets: Weighted, rows: Table, target: str) -> Floats:
    """Mean and sd of a continuous target for each row, in which it is missing."""
    log_joint = _log_joint(nets, rows)
    _refuse_impossible(log_joint)
    shares = np.exp(log_joint - logsumexp(log_joint, axis=0))  # (graphs, rows)
    found = np.stack([net.posteriors(rows, target) for net, _ in nets])
    mean = np.einsum("gn,gn->n", shares, found[:, :, 0])
    square = np.einsum("gn,gn->n", shares, found[:, :, 0] ** 2 + found[:, :, 1] ** 2)
    return np.stack([mean, np.sqrt(np.maximum(square - mean**2, 0.0))], axis=1)


def _refuse_impossible(log_weights: Floats) -> None:
    impossible = np.flatnonzero(log_weights.max(axis=0) == -np.inf)
    if impossible.size:
        row = int(impossible[0]) + 1
        raise ImpossibleEvidenceError(
            f"row {row} has probability zero under every graph. Use an estimator with a prior.",
            row=row,
        )


def _mean(answers: Sequence[Answer], weights: Floats) -> Answer:
    """The mixture of answers of one kind."""
    first = answers[0]
    if isinstance(first, Factor):
        return _mean_factor([one for one in answers if isinstance(one, Factor)], weights)
    if isinstance(first, Mixture):
        return _mean_mixture([one for one in answers if isinstance(one, Mixture)], weights)
    parts = [one for one in answers if isinstance(one, MixedBelief)]
    discrete = _mean_factor([one.discrete for one in parts], weights)
    mixtures = {}
    for at in dict.fromkeys(at for one in parts for at in one.mixtures):
        having = [k for k, one in enumerate(parts) if one.discrete.values[at] > 0]
        if having:
            shares = np.array([weights[k] * parts[k].discrete.values[at] for k in having])
            mixtures[at] = _mean_mixture([parts[k].mixtures[at] for k in having], shares)
    return MixedBelief(discrete, mixtures)


def _mean_factor(answers: Sequence[Factor], weights: Floats) -> Factor:
    values = np.tensordot(weights / weights.sum(), np.stack([one.values for one in answers]), 1)
    return Factor(answers[0].variables, values)


def _mean_mixture(answers: Sequence[Mixture], weights: Floats) -> Mixture:
    if any(one.names != answers[0].names for one in answers):
        raise InputError("answers over different variables cannot be averaged.")
    shares = weights / weights.sum()
    return Mixture(
        answers[0].names,
        np.concatenate([w * one.weights for w, one in zip(shares, answers, strict=True)]),
        np.concatenate([one.means for one in answers]),
        np.concatenate([one.covariances for one in answers]),
    )
