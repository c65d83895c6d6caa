r"""Priors over graphs, and the score with one: how likely a graph is before and after the rows.

.. math:: \mathrm{MAP}(G) = \log P(D \mid G) + \log P(G)

Priors factor over arcs, hence over families. Each is given up to a constant that is the same for
all graphs over the same variables: the graph without arcs has 0, and an arc adds the log odds
:math:`\log p / (1 - p)` of its probability (before cycles are excluded).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, cast

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats
from consilience.errors import InputError
from consilience.graph.names import Arc, unique_pairs
from consilience.statistics.family import Family
from consilience.structure.scores.score import (
    Batch,
    Refusing,
    Score,
    batch_of,
    check_score,
    check_variables,
    is_equivalent_given_source,
    may_refuse,
    takes_gaps,
)

__all__ = ["MAP", "ArcPrior", "GraphPrior", "UniformPrior", "VariableSelection"]


class GraphPrior(Protocol):
    """How likely a graph is before any row is seen.

    Attributes
    ----------
    score_equivalent
        Whether all graphs of an equivalence class are equally likely.
    """

    @property
    def score_equivalent(self) -> bool: ...

    def log_prior(self, families: Sequence[Family]) -> Floats:
        """One number for each family, 0 for one without parents."""
        ...


@dataclass(frozen=True, slots=True)
class UniformPrior:
    """All graphs are equally likely."""

    score_equivalent: ClassVar[bool] = True

    def log_prior(self, families: Sequence[Family]) -> Floats:
        """Zero for each family."""
        return np.zeros(len(families))


@dataclass(frozen=True, slots=True)
class VariableSelection:
    """Every possible parent of a node is one with the same probability.

    Below 1/2 it prefers sparse graphs; ``1 / (p - 1)`` for p variables expects one parent a node.

    Examples
    --------
    >>> VariableSelection(0.25).log_prior([Family("c", ("a", "b"))]).round(6)  # 2 log(1/3)
    array([-2.197225])
    """

    probability: float
    score_equivalent: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_probability("VariableSelection", "probability", self.probability)

    def log_prior(self, families: Sequence[Family]) -> Floats:
        """Log odds of the parents of each family."""
        return _log_odds(self.probability) * np.array([float(len(f.parents)) for f in families])


@dataclass(frozen=True, slots=True, eq=False)
class ArcPrior:
    """Each arc has a probability of its own.

    Parameters
    ----------
    arcs
        Probability of some arcs, from -> to, each between 0 and 1. For 0 and 1 use ``forbid=`` and
        ``require=`` of the search. An arc and its reverse are two arcs. A name that is no variable
        of the table is refused when graphs are judged.
    others
        Probability of each arc that is not listed; 1/2 has no opinion.

    Examples
    --------
    >>> prior = ArcPrior({("smoke", "lung"): 0.9})
    >>> prior.log_prior([Family("lung", ("age", "smoke")), Family("smoke")]).round(6)  # log 9, 0
    array([2.197225, 0.      ])
    """

    arcs: Mapping[Arc, float]
    others: float = 0.5

    def __post_init__(self) -> None:
        _freeze.own(self)
        for start, end in unique_pairs(self.arcs):
            _check_probability("ArcPrior", f"{start} -> {end}", self.arcs[start, end])
        _check_probability("ArcPrior", "others", self.others)

    @property
    def score_equivalent(self) -> bool:
        """Whether every arc is as likely as its reverse."""
        return all(self._of(a, b) == self._of(b, a) for a, b in self.arcs)

    def check_variables(self, variables: Collection[str]) -> None:
        """Refuse an arc of a variable that is not among these."""
        named = (name for arc in self.arcs for name in arc)
        _check.known("variable of ArcPrior", named, variables)

    def log_prior(self, families: Sequence[Family]) -> Floats:
        """Log odds of the arcs of each family."""
        return np.array(
            [
                math.fsum(_log_odds(self._of(parent, one.child)) for parent in one.parents)
                for one in families
            ]
        )

    def _of(self, start: str, end: str) -> float:
        return self.arcs.get((start, end), self.others)


@dataclass(frozen=True, slots=True)
class MAP:
    """A score plus the log of a prior over graphs.

    With a Bayesian score it is the log of the posterior probability of the graph, up to a constant.

    Parameters
    ----------
    score
        How well a family fits the rows.
    prior
        ``UniformPrior()``, ``VariableSelection(probability)`` or ``ArcPrior({(from, to): p})``.
    """

    score: Score
    prior: GraphPrior

    def __post_init__(self) -> None:
        check_score("MAP", self.score)
        if isinstance(self.prior, type) or not hasattr(self.prior, "log_prior"):
            raise InputError(
                f"MAP: prior must be a choice such as cs.scores.VariableSelection(0.1), got "
                f"{self.prior!r}.",
                parameter="prior",
            )

    @property
    def score_equivalent(self) -> bool:
        """Whether score and prior both are."""
        return self.score.score_equivalent and self.prior.score_equivalent

    @property
    def equivalent_given_source(self) -> bool:
        """Whether the score is and the prior is equivalent."""
        return is_equivalent_given_source(self.score) and self.prior.score_equivalent

    @property
    def by_source(self) -> bool:
        """Whether the score is."""
        return self.score.by_source

    @property
    def needs_complete_rows(self) -> bool:
        """Whether the score does."""
        return not takes_gaps(self.score)

    @property
    def may_refuse(self) -> bool:
        """Whether the score may."""
        return may_refuse(self.score)

    @property
    def refusal(self) -> Callable[[Family], str]:
        """Why the score cannot judge a family; there only if the score has it."""
        return cast("Refusing", self.score).refusal

    def check_variables(self, variables: Collection[str]) -> None:
        """Let score and prior refuse what they name and is not among these."""
        check_variables(self.score, variables)
        check_variables(self.prior, variables)

    def local(self, batch: Batch) -> Floats:
        """Score and log prior of each family together."""
        flat = batch_of(batch, by_source=self.by_source)
        return self.score.local(flat) + self.prior.log_prior(flat.families)


def _check_probability(owner: str, name: str, value: float) -> None:
    _check.positive(owner, **{name: value})
    if not value < 1:
        raise InputError(f"{owner}: {name} must be between 0 and 1, got {value!r}.", parameter=name)


def _log_odds(probability: float) -> float:
    return math.log(probability) - math.log1p(-probability)
