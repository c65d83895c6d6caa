"""A fairness audit as one page: no scripts, no style from elsewhere, all names escaped."""

from __future__ import annotations

from collections.abc import Mapping

from consilience.causal.audits import FairnessReport
from consilience.causal.group_measures import Group
from consilience.causal.worlds import CounterfactualFairness
from consilience.show.html import Line, facts, grid, heading, notes, number
from consilience.show.svg_causal import gap_charts, world_chart

__all__ = ["audit_page", "compared_fits"]

STYLE = (
    "svg{max-width:100%;height:auto}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;"
    "color:#1e293b;background:#fff}"
    "@media(prefers-color-scheme:dark){body{color:#e2e8f0;background:#111827}}"
    "h1{font-size:1.5em}h2{font-size:1.15em;margin:1.6em 0 .4em}"
)
RATES = {
    "selected": "selection_rate",
    "accuracy": "accuracy",
    "true positive": "true_positive_rate",
    "false positive": "false_positive_rate",
    "calibration": "calibration",
}


def audit_page(report: FairnessReport) -> str:
    """The whole audit: groups, gaps, sources, other worlds, and last what is assumed."""
    parts = ["<h1>Fairness audit</h1>"]
    if report.groups:
        parts += ["<h2>Groups</h2>", _groups(report.groups)]
        for name, one in report.by_source.items():
            parts += [heading(name, "source"), _groups(one.groups)]
        parts.append("<h2>Gaps</h2>")
        parts += [heading(chart.label) + chart.svg for chart in gap_charts(report)]
    if report.compared:
        parts += ["<h2>Fits under a bound, for comparison</h2>", compared_fits(report)]
    if report.counterfactual is not None:
        parts += ["<h2>With another attribute</h2>", _worlds(report)]
    if report.notes:
        parts += ["<h2>Notes</h2>", notes(report.notes)]
    parts += ["<h2>Assumptions</h2>", notes(report.assumptions)]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>Fairness audit</title><style>{STYLE}</style></head>\n"
        f"<body>{chr(10).join(parts)}</body></html>\n"
    )


def compared_fits(report: FairnessReport) -> str:
    """Groups of each fit under a bound, with the gap in selection."""
    parts = []
    for name, one in report.compared.items():
        gap = one.gaps.selection_difference
        told = "" if gap is None else f"selection difference {gap.value:.3f}"
        parts.append(heading(name, told) + _groups(one.groups))
    return "".join(parts)


def _groups(groups: Mapping[str, Group]) -> str:
    lines: list[Line] = [
        (
            name,
            number(f"{one.n_rows:,.6g}"),
            *(number(_rate(getattr(one, field))) for field in RATES.values()),
        )
        for name, one in groups.items()
    ]
    return grid(("group", "rows", *RATES), lines)


def _worlds(report: FairnessReport) -> str:
    checks = report.by_model
    parts = []
    for i, check in enumerate(checks):
        share = f", {report.weights[i]:.1%} of the belief" if report.weights else ""
        worst = ", the worst" if len(checks) > 1 and check is report.counterfactual else ""
        if len(checks) > 1:
            parts.append(heading(f"Model {i + 1}{share}{worst}"))
        parts.append(_check(check))
    return "".join(parts)


def _check(check: CounterfactualFairness) -> str:
    told = {
        "predictor": "uses nothing that the attribute causes"
        if check.is_graphical
        else "uses the attribute or what it causes",
        "rows that can change": f"{check.share:.2%}",
        **{f"mean change to {name}": f"{one.mean():+.4g}" for name, one in check.changes.items()},
        **{f"mean absolute change, {name}": f"{v:.4g}" for name, v in check.by_source.items()},
    }
    chart = world_chart(check)
    return facts(told) + heading(chart.label) + chart.svg


def _rate(rate: float | None) -> str:
    return "" if rate is None else f"{rate:.4f}"
