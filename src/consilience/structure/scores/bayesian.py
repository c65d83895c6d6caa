r"""Bayesian-Dirichlet scores: one formula, one prior for each class.

The log evidence of a family with counts :math:`N_{jk}` and prior counts :math:`a_{jk}` is

.. math:: \sum_j \log\frac{\Gamma(a_j)}{\Gamma(a_j + N_j)}
    + \sum_{jk} \log\frac{\Gamma(a_{jk} + N_{jk})}{\Gamma(a_{jk})}, \qquad a_j = \sum_k a_{jk} ,

kept as differences, so that a parent state never seen adds exactly 0. For a family with :math:`q`
parent states, :math:`q'` of them seen, and :math:`r` states the prior counts are

=======  ==========================================  ================
K2       :math:`1`
BDJ      :math:`1/2`
BDeu     :math:`\alpha / (qr)`                       score equivalent
BDs      :math:`\alpha / (q'r)` where seen
BDe      :math:`\alpha P(j, k)`, P a prior network   score equivalent
=======  ==========================================  ================

References
----------
G. Cooper, E. Herskovits (1992). A Bayesian method for the induction of probabilistic networks from
data. Machine Learning 9.
D. Heckerman, D. Geiger, D. Chickering (1995). Learning Bayesian networks: the combination of
knowledge and statistical data. Machine Learning 20.
J. Suzuki (2016). A theoretical analysis of the BDeu scores in Bayesian network structure learning.
Behaviormetrika 44.
M. Scutari (2018). Dirichlet Bayesian network scores and the maximum relative entropy principle.
Behaviormetrika 45.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from consilience import _check
from consilience._typing import Floats, Integers
from consilience.errors import InputError
from consilience.kernels.scoring import log_evidences, parent_states_seen
from consilience.network.network import Network
from consilience.parameters.dirichlet import Dirichlet
from consilience.statistics.counts import Counts
from consilience.statistics.counts_batch import CountBatch
from consilience.structure.scores.score import Batch, tables_of

__all__ = ["BDJ", "K2", "BDe", "BDeu", "BDs"]


@dataclass(frozen=True, slots=True)
class K2:
    """Log evidence with a prior count of 1 in every cell (Cooper and Herskovits 1992).

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": ["a", "a", "b"]})
    >>> round(cs.score(cs.DAG(nodes=["x"]), table, cs.scores.K2()), 6)  # log(1/2 * 2/3 * 1/4)
    -2.484907
    """

    score_equivalent: ClassVar[bool] = False
    by_source: ClassVar[bool] = False

    def local(self, batch: Batch) -> Floats:
        """Log evidence of each family."""
        counts = tables_of("K2", batch, by_source=False)
        return _log_evidence(counts, np.ones(len(counts)))


@dataclass(frozen=True, slots=True)
class BDJ:
    """Log evidence with Jeffreys' prior, a count of 1/2 in every cell (Suzuki 2016)."""

    score_equivalent: ClassVar[bool] = False
    by_source: ClassVar[bool] = False

    def local(self, batch: Batch) -> Floats:
        """Log evidence of each family."""
        counts = tables_of("BDJ", batch, by_source=False)
        return _log_evidence(counts, np.full(len(counts), 0.5))


@dataclass(frozen=True, slots=True)
class BDeu:
    r"""Log evidence with a prior worth ``ess`` rows, spread evenly over the table.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": ["a", "a", "b"]})
    >>> round(cs.score(cs.DAG(nodes=["x"]), table, cs.BDeu(ess=2)), 6)  # log(1/2 * 2/3 * 1/4)
    -2.484907
    """

    ess: float = 1.0
    score_equivalent: ClassVar[bool] = True
    by_source: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check.positive("BDeu", ess=self.ess)

    def local(self, batch: Batch) -> Floats:
        """Log evidence of each family."""
        counts = tables_of("BDeu", batch, by_source=False)
        return _log_evidence(counts, self.ess / (counts.n_parent_states * counts.n_states))


@dataclass(frozen=True, slots=True)
class BDs:
    """Log evidence with a prior worth ``ess`` rows, spread over the parent states that were seen.

    Equal to BDeu where all parent states were seen. With sparse rows BDeu loses part of its prior
    in rows of the table that nothing fills, and then prefers graphs with too many arcs; this score
    does not (Scutari 2018). It is not score equivalent.
    """

    ess: float = 1.0
    score_equivalent: ClassVar[bool] = False
    by_source: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check.positive("BDs", ess=self.ess)

    def local(self, batch: Batch) -> Floats:
        """Log evidence of each family."""
        counts = tables_of("BDs", batch, by_source=False)
        n_seen = np.empty(len(counts), np.int64)
        parent_states_seen(counts.table, counts.shapes, n_seen)
        return _log_evidence(counts, self.ess / (np.maximum(n_seen, 1) * counts.n_states))


@dataclass(frozen=True, slots=True, eq=False)
class BDe:
    r"""Log evidence with the prior counts :math:`\alpha P(j, k)` of a prior network.

    A network without arcs and with uniform tables gives BDeu.

    Parameters
    ----------
    network
        The prior network P; it has all variables of the data with the same states, and no
        probability of zero. The marginals of a family are computed exactly.
    ess
        How many rows the prior is worth.
    """

    network: Network
    ess: float = 1.0
    score_equivalent: ClassVar[bool] = True
    by_source: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check.positive("BDe", ess=self.ess)
        if not isinstance(self.network, Network):
            raise InputError(
                f"BDe: network must be a Network, got a {type(self.network).__name__}.",
                parameter="network",
            )

    def local(self, batch: Batch) -> Floats:
        """Log evidence of each family."""
        counts = list(tables_of("BDe", batch, by_source=False))
        prior = [table.ravel() for table in self._priors(counts)]
        starts = np.cumsum([0, *map(len, prior[:-1])])
        return _log_evidence(
            CountBatch.of(counts, by_source=False), np.concatenate(prior), starts, step=1
        )

    def _priors(self, families: list[Counts]) -> list[Floats]:
        """Prior counts of each family, the rows of its table; one inference a set of variables."""
        choice = Dirichlet(ess=self.ess, network=self.network)
        known: dict[frozenset[str], tuple[tuple[str, ...], Floats]] = {}
        found = []
        for counts in families:
            names = counts.family.variables
            if frozenset(names) not in known:
                known[frozenset(names)] = names, choice.prior(counts)
            axes, joint = known[frozenset(names)]
            table = joint.transpose([axes.index(name) for name in names])
            found.append(_rows_held(counts, table))
        return found


def _rows_held(counts: Counts, prior: Floats) -> Floats:
    """The prior of the parent states that the table of counts holds, shape (rows, states)."""
    rows = prior.reshape(-1, prior.shape[-1])
    if counts.seen is None:
        return rows
    if not counts.given:
        return rows[: len(counts.seen)]
    return rows[np.ravel_multi_index(tuple(counts.seen.T), prior.shape[:-1])]


def _log_evidence(
    counts: CountBatch, prior: Floats, place: Integers | None = None, *, step: int = 0
) -> Floats:
    """Log evidence of each family; the prior is one number per family, or per cell from places."""
    if place is None:
        place = np.arange(len(counts))
    out = np.empty(len(counts))
    log_evidences(counts.table, counts.shapes, float(counts.scale), prior, place, step, out)
    return out
