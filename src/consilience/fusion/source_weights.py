r"""How much each source counts: in the vote, and in opinion pools.

================================  ================================================================
``EqualWeights()``                one each
``RowWeights()``                  the rows of the source
``StrengthWeights()``             one each, and every arc counts with its strength, the probability
                                  :math:`1 / (1 + e^{-g})` from its score gain
                                  (:mod:`consilience.fusion.voters`), instead of one
``HeldOutWeights()``              how well the source's network predicts the other sources' rows
``{"rome": 2, "oslo": 1}``        given
================================  ================================================================

Held-out fit: with :math:`\ell_{fg}` the mean log-likelihood of a row of source :math:`g` under the
network fitted to source :math:`f \ne g`,

.. math:: w_f \propto \exp\Bigl(\operatorname*{median}_{g \ne f} \bigl(\ell_{fg} -
    m_g\bigr)\Bigr), \qquad m_g = \operatorname*{median}_{f' \ne g} \ell_{f'g} .

The weight is the geometric mean density that the source gives to a row it has not seen, relative to
what the others give to the same rows; taking :math:`m_g` out keeps rows that are hard for everybody
from counting against their judges. Medians, because a source that diverges is foretold badly by all
others, and how badly says nothing about them: as long as most sources agree, their rows decide. Two
sources judge each other only, and have equal weights. Only variables that all sources have are
judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.data.table import Table
from consilience.errors import DataError, InputError
from consilience.fusion.united_tables import recoded
from consilience.fusion.voters import Voter
from consilience.learning import fit
from consilience.network.network import Network

__all__ = [
    "EqualWeights",
    "HeldOutWeights",
    "RowWeights",
    "StrengthWeights",
    "Weighting",
    "weights_of",
]


class Weighting(Protocol):
    """How much each source counts.

    Attributes
    ----------
    by_strength
        Whether an arc counts with its strength instead of one.
    """

    @property
    def by_strength(self) -> bool: ...

    def weigh(self, voters: Sequence[Voter]) -> Floats:
        """A number above zero for each source; only their ratios matter."""
        ...


@dataclass(frozen=True, slots=True)
class EqualWeights:
    """Every source counts the same."""

    by_strength: ClassVar[bool] = False

    def weigh(self, voters: Sequence[Voter]) -> Floats:
        """One for each source."""
        return np.ones(len(voters))


@dataclass(frozen=True, slots=True)
class RowWeights:
    """A source counts as many times as it has rows."""

    by_strength: ClassVar[bool] = False

    def weigh(self, voters: Sequence[Voter]) -> Floats:
        """Rows of each source, from its table or from the record of its network."""
        for voter in voters:
            if voter.n_rows is None:
                raise InputError(
                    f"RowWeights: nobody knows how many rows source {voter.name!r} had. Give the "
                    "numbers: weights={...}.",
                    source=voter.name,
                )
        return np.array([voter.n_rows for voter in voters], float)


@dataclass(frozen=True, slots=True)
class StrengthWeights:
    """Every source counts the same, every arc by its strength in the rows of the source."""

    by_strength: ClassVar[bool] = True

    def weigh(self, voters: Sequence[Voter]) -> Floats:
        """One for each source."""
        for voter in voters:
            if voter.table is None:
                raise _needs_rows("StrengthWeights", voter)
        return np.ones(len(voters))


@dataclass(frozen=True, slots=True)
class HeldOutWeights:
    """A source counts as much as its network predicts the rows of the others; see above."""

    by_strength: ClassVar[bool] = False

    def weigh(self, voters: Sequence[Voter]) -> Floats:
        """Geometric mean density of the other sources' rows, relative to the other networks."""
        tables = []
        for voter in voters:
            if voter.table is None:
                raise _needs_rows("HeldOutWeights", voter)
            tables.append(voter.table)
        if len(voters) == 1:
            return np.ones(1)
        common = [n for n in voters[0].dag.nodes if all(n in v.dag.nodes for v in voters)]
        if not common:
            raise DataError("HeldOutWeights: there is no variable that all sources have.")
        nets = [fit(voter.dag, table) for voter, table in zip(voters, tables, strict=True)]
        found = np.array(
            [
                [
                    np.nan if i == k else _mean_fit(net, rows, common)
                    for k, rows in enumerate(tables)
                ]
                for i, net in enumerate(nets)
            ]
        )
        relative = np.nanmedian(found - np.nanmedian(found, axis=0), axis=1)
        return np.asarray(np.exp(relative - relative.max()))


def weights_of(
    weights: Weighting | Mapping[str, float], voters: Sequence[Voter]
) -> dict[str, float]:
    """The weight of each source by name, with a sum of as many as there are sources."""
    names = [voter.name for voter in voters]
    if isinstance(weights, Mapping):
        _check.known("source", weights, names)
        lacking = [name for name in names if name not in weights]
        if lacking:
            raise InputError(
                f"weights: there is none for {_check.listed(lacking)}. Give a number for each "
                "source.",
                source=lacking[0],
            )
        _check.non_negative("weights", **{name: weights[name] for name in names})
        found = np.array([weights[name] for name in names], float)
    elif isinstance(weights, type) or not hasattr(weights, "weigh"):
        raise InputError(
            "weights must be a choice such as cs.fusion.RowWeights(), or a number for each "
            "source; got "
            f"{weights!r}.",
            parameter="weights",
        )
    else:
        found = weights.weigh(voters)
    if not found.sum() > 0:
        raise InputError("weights: at least one source must have a weight above zero.")
    return dict(zip(names, (found * len(found) / found.sum()).tolist(), strict=True))


def _needs_rows(owner: str, voter: Voter) -> InputError:
    return InputError(
        f"{owner}: source {voter.name!r} has no rows, only a graph. Use cs.fusion.EqualWeights(), "
        "or give "
        "the weights as numbers.",
        source=voter.name,
    )


def _mean_fit(net: Network, table: Table, names: Sequence[str]) -> float:
    """Mean log-likelihood of a row, as far as these variables tell it."""
    variables = {name: v for name, v in net.variables.items() if name != net.source}
    rows = recoded(table.select(names), variables)
    return float(np.average(net.log_likelihood(rows), weights=table.weights))
