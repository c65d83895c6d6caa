"""The record :class:`GraphChains`: graphs that chains visited, and whether they can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from consilience import _freeze
from consilience._typing import Floats
from consilience.incomplete.chains import bulk_size, r_hat

__all__ = ["GraphChains"]

MET = 1.05
"""R-hat below which chains are taken to have met: that of 0s and 1s is coarse."""

OPEN = (0.02, 0.98)
"""Arcs with a probability between are judged; others hardly change in any chain."""

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class GraphChains:
    """Draws of graphs, by chain.

    Parameters
    ----------
    nodes
        The variables.
    log_scores
        Log score of each graph drawn, shape (chains, draws).
    arcs
        One where a graph has the arc from a node to a node, shape (chains, draws, nodes, nodes).
    """

    nodes: tuple[str, ...]
    log_scores: Floats
    arcs: Bytes

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return self.log_scores.shape[0]

    @property
    def n_draws(self) -> int:
        """Number of graphs that each chain kept."""
        return self.log_scores.shape[1]

    @property
    def r_hat_score(self) -> float:
        """R-hat of the log score."""
        return float(r_hat(self.log_scores))

    @property
    def r_hat(self) -> Floats:
        """R-hat of each arc, from (row) to (column); 1 if no chain ever changes it."""
        return np.asarray(r_hat(self.arcs.astype(np.float64)))

    @property
    def effective_size(self) -> Floats:
        """Number of independent graphs that would tell as much about each arc."""
        return np.asarray(bulk_size(self.arcs.astype(np.float64)))

    @property
    def is_open(self) -> npt.NDArray[np.bool_]:
        """The arcs that the chains neither always nor never have."""
        share = self.arcs.mean(axis=(0, 1))
        return np.asarray((share >= OPEN[0]) & (share <= OPEN[1]))

    @property
    def worst_r_hat(self) -> float:
        """The largest R-hat of the log score and of arcs that are neither certain nor excluded."""
        return float(max(self.r_hat_score, self.r_hat[self.is_open].max(initial=1.0)))

    @property
    def has_met(self) -> bool:
        """Whether every R-hat is below 1.05."""
        return self.worst_r_hat < MET

    def to_arviz(self) -> dict[str, dict[str, npt.NDArray[np.float64]]]:
        """The draws as ArviZ reads them: ``{"posterior": {name: (chains, draws, ...)}}``.

        ``arviz.from_dict(chains.to_arviz())``; before version 1.0,
        ``arviz.from_dict(**chains.to_arviz())``.
        """
        arcs = self.arcs.astype(np.float64)
        return {"posterior": {"log_score": np.array(self.log_scores), "arcs": arcs}}

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        return (
            f"GraphChains({self.n_chains} chains of {self.n_draws:,} graphs, R-hat at most "
            f"{self.worst_r_hat:.3f})"
        )
