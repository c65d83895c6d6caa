"""Families of a class under changed shrinkage, and what they say of rows that are left out.

The concentrations of a fitted chain are multiplied and its counts raised by a pseudo-count; the
means settle again, and no observation is fitted anew when it is left out: its customer leaves the
row of its family and, with the probability that it had opened a table there, a customer leaves the
level above, and so on (``kernels/chain.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from consilience._typing import Floats, Integers
from consilience.data.table import Table
from consilience.distributions.categorical import Categorical
from consilience.inference.batch import posteriors
from consilience.kernels.chain import leave_out, settle
from consilience.network.network import Network
from consilience.parameters.backoff import SOURCE, Way
from consilience.parameters.chain import FittedChain
from consilience.parameters.chain_posterior import FIT_ROUNDS, TOLERANCE
from consilience.parameters.sources import source_shares

__all__ = ["ClassFamily", "LeftOut", "Shrinking", "shrunken_means"]

ROUGH = 1e-4
"""Tolerance of the means where shrinkings are only compared."""

TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, slots=True)
class Shrinking:
    """By what the concentrations of a chain are multiplied, and what is added to its counts.

    Parameters
    ----------
    parent_factor
        For the levels that drop a parent.
    source_factor
        For the level that drops the source.
    pseudo_count
        Added to every cell.
    """

    parent_factor: float = 1.0
    source_factor: float = 1.0
    pseudo_count: float = 0.0

    def concentrations(self, way: Way, s: Floats) -> Floats:
        """The concentrations of a way by level, multiplied."""
        return s * np.where(way.kinds == SOURCE, self.source_factor, self.parent_factor)


def shrunken_means(chain: FittedChain, shrinking: Shrinking) -> Floats:
    """The means of a chain under a shrinking, in the shape of ``chain.means``."""
    rows, total = chain.rows + shrinking.pseudo_count, np.zeros_like(chain.means)
    for i, (way, s) in enumerate(zip(chain.ways, chain.s, strict=True)):
        changed = shrinking.concentrations(way, s)
        *_, mean = settle(rows, way.up, way.start, way.rho, changed, FIT_ROUNDS, TOLERANCE)
        total += chain.weighted(i, mean)
    return total


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """What a network of chains says about the class of rows that are left out one at a time.

    Parameters
    ----------
    families
        The families that have the class.
    others
        The local distributions of all other nodes, the source among them.
    rows
        The rows, all of known class.
    target
        The class.
    """

    families: list[ClassFamily]
    others: list[Categorical]
    rows: Table
    target: str

    @classmethod
    def of(cls, chains: Sequence[FittedChain], rows: Table, target: str) -> LeftOut:
        """The chains of all families, fitted to a table that has these rows."""
        has_class = [target in chain.counts.family.variables for chain in chains]
        pairs = list(zip(chains, has_class, strict=True))
        sources = {chain.source for chain in chains if chain.source is not None}
        return cls(
            [ClassFamily.of(chain, rows, target) for chain, has in pairs if has],
            [
                *(chain.local(chain.means) for chain, has in pairs if not has),
                # every row has a source, so its distribution does not matter
                *(source_shares(source, np.ones(source.n_states - 1)) for source in sources),
            ],
            rows,
            target,
        )

    def log_beliefs(self, shrinking: Shrinking) -> Floats:
        """Log probability of each state of the class for each row, shape (rows, states)."""
        found = [family.shrunken(shrinking) for family in self.families]
        local = [f.chain.local(means) for f, (means, _) in zip(self.families, found, strict=True)]
        beliefs = posteriors(Network.of([*self.others, *local]), self.rows, self.target)
        logs: Floats = np.log(np.maximum(beliefs, TINY)) + sum(ratios for _, ratios in found)
        return log_softmax(logs, axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class ClassFamily:
    """A family of the class with the rows that it counted.

    Equal observations are predicted once: ``places`` has for each row of a table the observation
    among ``homes``, -1 where the family has a gap. Cells are numbered row by row of level K.

    Parameters
    ----------
    chain
        The family's fitted chain.
    homes, amounts
        The cells that were observed, and how much of them one row is: one, or its weight if less.
    asked
        The same cells if the class had each of its states; shape (observations, states of it).
    places
        Shape (rows,).
    """

    chain: FittedChain
    homes: Integers
    amounts: Floats
    asked: Integers
    places: Integers

    @classmethod
    def of(cls, chain: FittedChain, table: Table, target: str) -> ClassFamily:
        """The family, which has the target, and the rows of a table."""
        counts = chain.counts
        source = [] if counts.source is None else [counts.source]
        cell, step = np.zeros(table.n_rows, np.int64), 0
        is_complete = np.ones(table.n_rows, np.bool_)
        for variable in (*source, *counts.given, counts.child):
            codes = table.column(variable.name)
            cell = cell * variable.n_states + codes
            step = 1 if variable.name == target else step * variable.n_states
            is_complete &= codes >= 0
        weight = np.ones(table.n_rows) if table.weights is None else table.weights
        seen = np.column_stack([cell, np.minimum(weight, 1.0), table.column(target)])[is_complete]
        observed, places = np.unique(seen, axis=0, return_inverse=True)
        homes, classes = observed[:, 0].astype(np.int64), observed[:, 2].astype(np.int64)
        n_classes = table.variables[target].n_states
        asked = homes[:, None] + step * (np.arange(n_classes) - classes[:, None])
        all_places = np.full(table.n_rows, -1)
        all_places[is_complete] = places.ravel()
        return cls(chain, homes, np.ascontiguousarray(observed[:, 1]), asked, all_places)

    def shrunken(self, shrinking: Shrinking) -> tuple[Floats, Floats]:
        """Roughly, the means under a shrinking, and log ratios that leave rows out of them.

        The ratios are those of the family's probabilities without and with the row, for each state
        of the class; 0 where the family has a gap. Shape (rows, states of the class).
        """
        chain = self.chain
        rows = chain.rows + shrinking.pseudo_count
        means, without = chain.means.copy(), np.zeros(self.asked.shape)
        seen = means[: len(rows)]  # no row is of a source never seen: those means may stay
        seen[:] = 0.0
        for way, (share, _), s in zip(chain.ways, chain.shares, chain.s, strict=True):
            if share == 0.0:
                continue
            changed, up, start = shrinking.concentrations(way, s), way.up, way.start
            settled = settle(rows, up, start, way.rho, changed, FIT_ROUNDS, ROUGH)
            seen += share * settled[-1][start[-2] :]
            without += share * leave_out(
                *settled, changed, up, start, self.homes, self.amounts, self.asked
            )
        ratios = np.log(without / means.ravel()[self.asked])
        return means, np.vstack([ratios, np.zeros((1, ratios.shape[1]))])[self.places]
