"""What a notebook shows of causal questions: the answer first, the assumptions last."""

from __future__ import annotations

from dataclasses import replace

from consilience.causal.adjustment import AdjustmentSets
from consilience.causal.audits import FairnessReport
from consilience.causal.effects import Effect
from consilience.causal.estimand import Estimand
from consilience.causal.necessity import Causation
from consilience.causal.path_parts import PathEffects
from consilience.causal.response import Bounds
from consilience.causal.what_if import Counterfactual
from consilience.show.audit_page import compared_fits
from consilience.show.causal_charts import in_graphs, path_values
from consilience.show.html import Cell, Line, bar, facts, grid, heading, notes, number
from consilience.show.notebook_graphs import scrolled_graph
from consilience.show.svg_causal import effect_charts, gap_charts, world_chart

__all__ = [
    "adjustments",
    "bounds",
    "causation",
    "counterfactual",
    "effect",
    "estimand",
    "fairness",
    "paths",
]


def estimand(found: Estimand) -> str:
    """The formula, or why there is none, and the graph with the hedge set off."""
    hedge = () if found.hedge is None else found.hedge.outer
    drawn = scrolled_graph(found.graph, highlight=hedge)
    return heading("Estimand", str(found)) + drawn + notes(found.assumptions)


def effect(found: Effect) -> str:
    """The effect in all and by source."""
    parts = {
        "all": found,
        **found.by_source,
        **{f"network {i + 1}": one for i, one in enumerate(found.by_model)},
    }
    lines: list[Line] = [(name, *_numbers(one)) for name, one in parts.items()]
    lines += [(in_graphs(n), number(f"{v:.4g}"), "", "") for v, n in found.values]
    table = grid(("", "effect", "low", "high"), lines)
    told = notes([*found.notes, *found.assumptions])
    drawn = "".join(chart.svg for chart in effect_charts(found))
    return heading("Effect", found.question) + drawn + table + told


def bounds(found: Bounds) -> str:
    """The ends for every state."""
    if not found.is_consistent:
        return heading(f"Bounds of {found.variable.name}", "the data contradict the graph")
    ends = zip(found.variable.discrete_states, found.low, found.high, strict=True)
    lines = [(state, number(f"{low:.4g}"), number(f"{high:.4g}")) for state, low, high in ends]
    sharp = "sharp" if found.is_sharp else "they hold, but need not be reached"
    table = grid(("state", "low", "high"), lines)
    return heading(f"Bounds of {found.variable.name}", sharp) + table + notes(found.assumptions)


def counterfactual(found: Counterfactual) -> str:
    """The belief, and the bounds over all mechanisms."""
    belief = "" if found.belief is None else found.belief._repr_html_()
    ends = "" if found.bounds is None else bounds(replace(found.bounds, assumptions=()))
    return heading("Counterfactual", found.question) + belief + ends + notes(found.assumptions)


def causation(found: Causation) -> str:
    """The three probabilities."""
    pairs = {"necessity": found.necessity, "sufficiency": found.sufficiency, "both": found.both}
    lines = [
        (name, number(f"{low:.4g}"), number(f"{high:.4g}")) for name, (low, high) in pairs.items()
    ]
    return heading("Causation") + grid(("", "low", "high"), lines) + notes(found.assumptions)


def paths(found: PathEffects) -> str:
    """The parts of an effect."""
    values = path_values(found)
    most = max(map(abs, values.values())) or 1.0
    lines: list[Line] = [
        (name, bar(abs(value) / most, f"{value:+.4g}")) for name, value in values.items()
    ]
    return heading("PathEffects", found.question) + grid((), lines) + notes(found.assumptions)


def adjustments(found: AdjustmentSets) -> str:
    """The minimal sets, and other ways."""
    lines = [(", ".join(sorted(names)) or "nothing",) for names in found]
    others = {
        name: ", ".join(nodes)
        for name, nodes in (("front door", found.front_door), ("instruments", found.instruments))
        if nodes
    }
    table = grid(("one of",), lines) + (facts(others) if others else "")
    return heading("Adjust for") + table + notes(found.assumptions)


def fairness(found: FairnessReport) -> str:
    """Measures by group, the gaps, and what would change in another world."""
    lines: list[Line] = [
        (
            name,
            number(f"{group.n_rows:,.6g}"),
            *(
                _rate(rate)
                for rate in (
                    group.selection_rate,
                    group.accuracy,
                    group.true_positive_rate,
                    group.false_positive_rate,
                )
            ),
        )
        for name, group in found.groups.items()
    ]
    head = ("group", "rows", "selected", "accuracy", "true positive", "false positive")
    table = grid(head, lines) if lines else ""
    drawn = "".join(heading(chart.label) + chart.svg for chart in gap_charts(found))
    return heading("FairnessReport") + table + drawn + compared_fits(found) + _worlds(found)


def _worlds(found: FairnessReport) -> str:
    told = notes([*found.notes, *found.assumptions])
    check = found.counterfactual
    if check is None:
        return told
    said = "uses nothing that the attribute causes" if check.is_graphical else "by row"
    about = heading("In another world: a change of the prediction beyond eps", said)
    return about + world_chart(check).svg + told


def _rate(rate: float | None) -> Cell:
    return number("" if rate is None else f"{rate:.4g}")


def _numbers(found: Effect) -> tuple[Cell, ...]:
    value = "" if found.value is None else f"{found.value:.4g}"
    ends = found.interval or found.bounds
    low, high = ("", "") if ends is None else (f"{ends[0]:.4g}", f"{ends[1]:.4g}")
    return number(value), number(low), number(high)
