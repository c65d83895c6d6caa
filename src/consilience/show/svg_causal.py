"""Causal answers as SVG: effects, their parts, and fairness."""

from __future__ import annotations

from consilience.causal.audits import FairnessReport
from consilience.causal.effects import Effect
from consilience.causal.path_parts import PathEffects
from consilience.causal.worlds import CounterfactualFairness
from consilience.errors import InputError
from consilience.show.causal_charts import DIFFERENCES, RATIOS, path_values
from consilience.show.html import N_LINES
from consilience.show.svg_axes import Chart
from consilience.show.svg_charts import (
    Interval,
    bar_chart,
    curve_chart,
    interval_chart,
    stacked_charts,
)

__all__ = [
    "effect_charts",
    "gap_charts",
    "svg_effect",
    "svg_fairness",
    "svg_paths",
    "world_chart",
]


def svg_effect(found: Effect, *, title: str | None = None) -> str:
    """The effect in all and by source, with intervals or bounds."""
    charts = effect_charts(found)
    if not charts:
        raise InputError("svg: this effect is one number, without interval, bounds or sources.")
    return stacked_charts(charts, title)


def svg_paths(found: PathEffects, *, title: str | None = None) -> str:
    """The parts of an effect as bars."""
    return stacked_charts([bar_chart(path_values(found), label=found.question)], title)


def svg_fairness(found: FairnessReport, *, title: str | None = None) -> str:
    """The gaps with their intervals, in all and by source, and delta(eps)."""
    check = found.counterfactual
    return stacked_charts(
        [*gap_charts(found), *([] if check is None else [world_chart(check)])], title
    )


def effect_charts(found: Effect) -> list[Chart]:
    """Intervals, or bounds where there are none; nothing for a single number."""
    parts = {
        "all": found,
        **found.by_source,
        **{f"network {i + 1}": one for i, one in enumerate(found.by_model)},
    }
    lines = [
        Interval(name, one.value, *ends)
        for name, one in list(parts.items())[:N_LINES]
        if (ends := one.interval or one.bounds) is not None
    ]
    is_contrast = " - " in found.question
    if not lines:
        return []
    return [interval_chart(lines, mark=0.0 if is_contrast else None, label=found.question)]


def gap_charts(found: FairnessReport) -> list[Chart]:
    """The gaps with their intervals, in all and by source."""
    if found.gaps is None:
        return []
    places = {"": found.gaps, **{name: one.gaps for name, one in found.by_source.items()}}
    charts = []
    for kinds, mark, word in ((DIFFERENCES, 0.0, "differences"), (RATIOS, 1.0, "ratios")):
        lines = [
            Interval(f"{place}: {name}" if place else name, gap.value, *gap.interval)
            for place, gaps in list(places.items())[:N_LINES]
            for name, field in kinds.items()
            if (gap := getattr(gaps, field)) is not None
        ]
        if lines:
            label = f"{word} between groups, {found.level:.0%} intervals"
            charts.append(interval_chart(lines, mark=mark, label=label))
    return charts


def world_chart(check: CounterfactualFairness) -> Chart:
    """delta(eps): the mean over rows, the worst row, and the bounds over all mechanisms."""
    curve = check.curve
    band = None if curve.low is None or curve.high is None else (curve.low, curve.high)
    lines = (("mean over rows", curve.mean), ("worst row", curve.worst))
    curves = {name: line for name, line in lines if line is not None}
    return curve_chart(curve.eps, curves, band, label="probability of a change beyond eps")
