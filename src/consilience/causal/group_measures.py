r"""How a predictor treats groups: rates by group, and the gaps between them.

With the rates :math:`p_g` of a measure by group: the difference is :math:`\max p - \min p`, the
ratio :math:`\min p / \max p`. The odds difference is the larger of the differences of the true and
the false positive rate, the odds ratio the smaller of their ratios; opportunity is the true
positive rate alone.

Each rate has a Jeffreys posterior, Beta(k + 1/2, n - k + 1/2) for k of n rows. For two groups the
interval is that of the signed difference (or ratio) of the group with the larger rate and the
other, and may reach below 0. For more groups it is the posterior of the largest difference, which
cannot reach 0.

A group without positive (or negative) rows has no true (or false) positive rate: it is left out of
that gap and named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from consilience import _freeze
from consilience._typing import Floats

__all__ = ["Gaps", "Group", "Mask", "RateGap", "gaps_of", "groups_of"]

DRAWS = 20_000

Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Group:
    """Measures of one group; None where the group has no rows to tell.

    ``calibration`` is the mean score less the share of positive rows.
    """

    n_rows: float
    selection_rate: float | None
    accuracy: float | None
    true_positive_rate: float | None
    false_positive_rate: float | None
    calibration: float | None
    counts: Mapping[str, tuple[float, float]]

    def __post_init__(self) -> None:
        _freeze.own(self)


@dataclass(frozen=True, slots=True)
class RateGap:
    """A difference or ratio between groups, with its credible interval."""

    value: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Gaps:
    """The usual gaps; None where fewer than two groups have the rate."""

    selection_difference: RateGap | None
    selection_ratio: RateGap | None
    odds_difference: RateGap | None
    odds_ratio: RateGap | None
    opportunity_difference: RateGap | None
    notes: tuple[str, ...]


def groups_of(
    groups: Mapping[str, Mask],
    *,
    selected: Mask,
    truth: Mask,
    scores: Floats | None,
    weights: Floats,
) -> dict[str, Group]:
    """The measures of each group; ``groups`` has the rows of each as a mask."""
    return {
        name: _group(rows, selected, truth, scores, weights=weights)
        for name, rows in groups.items()
        if weights[rows].sum() > 0
    }


def _group(
    rows: Mask, selected: Mask, truth: Mask, scores: Floats | None, *, weights: Floats
) -> Group:
    weight = weights * rows
    total, positive = weight.sum(), (weight * truth).sum()
    counts = {
        "selection": ((weight * selected).sum(), total),
        "accuracy": ((weight * (selected == truth)).sum(), total),
        "true positive": ((weight * (selected & truth)).sum(), positive),
        "false positive": ((weight * (selected & ~truth)).sum(), total - positive),
    }
    rates = {name: float(k / n) if n > 0 else None for name, (k, n) in counts.items()}
    calibration = (
        None if scores is None else float((weight * scores).sum() / total - positive / total)
    )
    return Group(
        float(total),
        rates["selection"],
        rates["accuracy"],
        rates["true positive"],
        rates["false positive"],
        calibration,
        {name: (float(k), float(n)) for name, (k, n) in counts.items()},
    )


def gaps_of(groups: Mapping[str, Group], *, level: float, rng: np.random.Generator) -> Gaps:
    """The gaps between groups with their intervals."""
    found = {
        kind: _Rates.of(groups, kind, rng)
        for kind in ("selection", "true positive", "false positive")
    }
    notes = [
        f"{name!r} has no rows that are {'positive' if kind[0] == 't' else 'negative'}, so no "
        f"{kind} rate: it is left out of that gap."
        for kind in ("true positive", "false positive")
        for name in groups
        if name not in found[kind].names
    ]
    if len(groups) > 2:
        notes.append("With more than two groups the interval of a difference cannot reach 0.")
    odds = [found["true positive"], found["false positive"]]
    return Gaps(
        found["selection"].difference(level),
        found["selection"].ratio(level),
        _chosen([one.difference(level) for one in odds], largest=True),
        _chosen([one.ratio(level) for one in odds], largest=False),
        found["true positive"].difference(level),
        tuple(notes),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Rates:
    """One rate of several groups, with posterior draws of shape (draws, groups)."""

    names: tuple[str, ...]
    rates: Floats
    drawn: Floats

    @classmethod
    def of(cls, groups: Mapping[str, Group], kind: str, rng: np.random.Generator) -> _Rates:
        counted = {
            name: one.counts[kind] for name, one in groups.items() if one.counts[kind][1] > 0
        }
        hits = np.array([k for k, _ in counted.values()])
        totals = np.array([n for _, n in counted.values()])
        shape = (DRAWS, len(counted))
        drawn = (
            rng.beta(hits + 0.5, totals - hits + 0.5, size=shape) if counted else np.zeros(shape)
        )
        rates = hits / totals if counted else hits
        return cls(tuple(counted), rates, drawn)

    def difference(self, level: float) -> RateGap | None:
        """The largest difference."""
        if len(self.names) < 2:
            return None
        high, low = int(np.argmax(self.rates)), int(np.argmin(self.rates))
        if len(self.names) == 2:
            high, low = (0, 1) if self.rates[0] >= self.rates[1] else (1, 0)
            spread = self.drawn[:, high] - self.drawn[:, low]
        else:
            spread = self.drawn.max(axis=1) - self.drawn.min(axis=1)
        return RateGap(float(self.rates[high] - self.rates[low]), _interval(spread, level))

    def ratio(self, level: float) -> RateGap | None:
        """The smallest rate by the largest; 1 if all are 0."""
        if len(self.names) < 2:
            return None
        high, low = int(np.argmax(self.rates)), int(np.argmin(self.rates))
        value = self.rates[low] / self.rates[high] if self.rates[high] > 0 else 1.0
        if len(self.names) == 2 and high != low:
            spread = self.drawn[:, low] / self.drawn[:, high]
        else:
            spread = self.drawn.min(axis=1) / self.drawn.max(axis=1)
        return RateGap(float(value), _interval(spread, level))


def _chosen(gaps: list[RateGap | None], *, largest: bool) -> RateGap | None:
    known = [gap for gap in gaps if gap is not None]
    if not known:
        return None
    return (max if largest else min)(known, key=lambda gap: gap.value)


def _interval(spread: Floats, level: float) -> tuple[float, float]:
    low, high = np.quantile(spread, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
