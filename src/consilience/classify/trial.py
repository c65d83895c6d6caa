r"""One contestant on one split: learn from the training rows, predict the others, measure.

The joint log-likelihood of a row is :math:`\log P(c, x \mid f)`, what the row records given its
source, so that a source never seen costs nothing by being new. Where the network does not know the
source it is :math:`\log P(c, x)`. A row that the network holds impossible is predicted as the
classifiers do it: by the classes of its source alone; and so are numbers beyond those of training,
by the end of their range, which the joint log-likelihood is not.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from consilience._typing import Floats
from consilience.classify.cells import Cell, Part
from consilience.classify.evaluation import HEADINGS, Evaluation, Measures
from consilience.classify.measures import evaluate
from consilience.classify.predictions import class_probabilities, log_of_classes
from consilience.classify.ranges import ranges_of, within_ranges
from consilience.classify.results import CLASS_PRIOR, SOURCE_PRIOR
from consilience.classify.seen_sources import with_known_sources
from consilience.classify.shrinking import Calibrated, calibrated_chain
from consilience.classify.structures import Structure
from consilience.data.table import Table
from consilience.graph.dag import DAG
from consilience.learning import AvailableCases, fit
from consilience.network.network import Network
from consilience.parameters.estimator import Estimator

__all__ = ["Contestant", "Trial"]

Contestant: TypeAlias = Estimator | Calibrated


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """The rows of one split, and what is asked of them.

    Parameters
    ----------
    train, test
        Rows; the sources of ``train`` are those it has seen.
    target, positive, n_bins
        As for :func:`consilience.classify.evaluate`.
    """

    train: Table
    test: Table
    target: str
    positive: str | None
    n_bins: int

    def of_network(
        self, dag: DAG, structure: Structure, contestant: Contestant, names: tuple[str, str, str]
    ) -> Cell:
        """The cell of a graph with an estimator; ``names`` are its structure, estimator, split.

        ``structure`` is where the graph comes from.
        """
        start = time.perf_counter()
        net = (
            calibrated_chain(structure, self.train, self.target, contestant)
            if isinstance(contestant, Calibrated)
            else fit(dag, self.train, contestant, gaps=AvailableCases())
        )
        rows = with_known_sources(self.test, net)
        inside, _ = within_ranges(rows, ranges_of(self.train))
        beliefs, _ = class_probabilities(net, self.target, inside, rows.n_rows)
        truth = self.test.column(self.target)
        logs = log_of_classes(net, self.target, inside, truth, probabilities=beliefs)
        measured = self._measured(beliefs, logs)
        log_likelihood = _given_source(net, rows)
        seconds = time.perf_counter() - start
        return self._cell(names, measured, log_likelihood, seconds, nodes=tuple(sorted(dag.nodes)))

    def of_class_prior(self, split: str) -> Cell:
        r"""The cell of a constant: the classes' shares of the training rows and of one row more.

        .. math:: p_c = \frac{N_c + 1 / C}{N + 1}
        """
        beliefs = np.tile(self._shares(), (self.test.n_rows, 1))
        return self._cell(("", CLASS_PRIOR, split), self._measured(beliefs), None, 0.0)

    def of_source_prior(self, split: str) -> Cell:
        r"""The cell of one constant a source: its shares, and one row more of the overall ones.

        .. math:: p_{c \mid f} = \frac{N_{fc} + p_c}{N_f + 1}

        A source that has no training row has the overall shares.
        """
        shares, truth = self._shares(), self.train.column(self.target)
        of_source = dict.fromkeys(self.test.sources, shares)
        for code, name in enumerate(self.train.sources):
            mine = self.train.source_codes == code
            rows = np.bincount(truth[mine], _weights(self.train)[mine], minlength=len(shares))
            of_source[name] = (rows + shares) / (rows.sum() + 1)
        beliefs = np.array([of_source[name] for name in self.test.sources])
        measured = self._measured(beliefs[self.test.source_codes])
        return self._cell(("", SOURCE_PRIOR, split), measured, None, 0.0)

    def _shares(self) -> Floats:
        n_states = self.train.variables[self.target].n_states
        codes, weights = self.train.column(self.target), _weights(self.train)
        rows = np.bincount(codes, weights, minlength=n_states) + 1 / n_states
        return rows / rows.sum()

    def _measured(self, beliefs: Floats, logs: Floats | None = None) -> Evaluation:
        return evaluate(
            beliefs,
            self.test.column(self.target),
            states=self.test.variables[self.target].discrete_states,
            positive=self.positive,
            weights=self.test.weights,
            sources=self.test.sources,
            source_codes=self.test.source_codes,
            n_bins=self.n_bins,
            logs=logs,
        )

    def _cell(
        self,
        names: tuple[str, str, str],
        measured: Evaluation,
        log_likelihood: Floats | None,
        seconds: float,
        *,
        nodes: tuple[str, ...] = (),
    ) -> Cell:
        parts = [self._part(None, measured.overall, log_likelihood)]
        parts += [self._part(name, m, log_likelihood) for name, m in measured.by_source.items()]
        curve = measured.overall.curve
        return Cell(*names, self.train.n_rows, tuple(parts), curve, seconds, nodes)

    def _part(self, source: str | None, measures: Measures, log_likelihood: Floats | None) -> Part:
        found = {name: getattr(measures, name) for name in HEADINGS}
        values = {name: float(value) for name, value in found.items() if value is not None}
        if log_likelihood is not None:
            rows = _weights(self.test) > 0
            if source is not None and self.test.source_codes is not None:
                rows &= self.test.source_codes == self.test.sources.index(source)
            mean = np.average(log_likelihood[rows], weights=_weights(self.test)[rows])
            values["log_likelihood"] = float(mean)
        curve = None if source is None else measures.curve
        return Part(source, measures.n_rows, values, curve)


def _given_source(net: Network, rows: Table) -> Floats:
    """Log-likelihood of each row given its source."""
    log_likelihood = net.log_likelihood(rows)
    if net.source is None:
        return log_likelihood
    shares = np.append(np.log(net.tables[net.source].table), 0.0)  # the last for an unknown source
    return log_likelihood - shares[rows.column(net.source)]


def _weights(table: Table) -> Floats:
    return np.ones(table.n_rows) if table.weights is None else table.weights.astype(np.float64)
