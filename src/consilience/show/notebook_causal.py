"""What a notebook shows of causal questions: the answer first, the assumptions last."""

from __future__ import annotations

from consilience.causal.adjustment import AdjustmentSets
from consilience.causal.audits import FairnessReport
from consilience.causal.effects import Effect
from consilience.causal.estimand import Estimand
from consilience.causal.group_measures import RateGap
from consilience.causal.necessity import Causation
from consilience.causal.path_parts import PathEffects
from consilience.causal.response import Bounds
from consilience.causal.what_if import Counterfactual
from consilience.graph.admg import ADMG
from consilience.show.html import Cell, Line, facts, grid, heading, notes, number
from consilience.show.notebook_graphs import counted

__all__ = [
    "adjustments",
    "bounds",
    "causation",
    "counterfactual",
    "effect",
    "estimand",
    "fairness",
    "hidden_causes",
    "paths",
]


def hidden_causes(graph: ADMG) -> str:
    """The parents of every node, and what it shares hidden causes with."""
    lines = [
        (node, ", ".join(graph.parents(node)), ", ".join(graph.siblings(node)))
        for node in graph.nodes
    ]
    n = counted(len(graph.latent), "hidden common cause")
    about = heading("ADMG", f"{counted(len(graph.nodes), 'node')}, {n}")
    return about + grid(("node", "parents", "hidden cause with"), lines)


def estimand(found: Estimand) -> str:
    """The formula, or why there is none."""
    return heading("Estimand", str(found)) + notes(found.assumptions)


def effect(found: Effect) -> str:
    """The effect in all and by source."""
    lines: list[Line] = [("all", *_numbers(found))]
    lines += [(source, *_numbers(one)) for source, one in found.by_source.items()]
    lines += [(f"in {n or 'many'} graphs", number(f"{v:.4g}"), "", "") for v, n in found.values]
    table = grid(("", "effect", "low", "high"), lines)
    return heading("Effect", found.question) + table + notes([*found.notes, *found.assumptions])


def bounds(found: Bounds) -> str:
    """The ends for every state."""
    if not found.is_consistent:
        return heading(f"Bounds of {found.variable.name}", "the data contradict the graph")
    ends = zip(found.variable.discrete_states, found.low, found.high, strict=True)
    lines = [(state, number(f"{low:.4g}"), number(f"{high:.4g}")) for state, low, high in ends]
    sharp = "sharp" if found.is_sharp else "they hold, but need not be reached"
    return heading(f"Bounds of {found.variable.name}", sharp) + grid(
        ("state", "low", "high"), lines
    )


def counterfactual(found: Counterfactual) -> str:
    """The belief, and the bounds over all mechanisms."""
    belief = "" if found.belief is None else found.belief._repr_html_()
    ends = "" if found.bounds is None else bounds(found.bounds)
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
    parts = {
        "total": found.total,
        "direct": found.direct,
        "indirect": found.indirect,
        "spurious": found.spurious,
        **({} if found.along is None else {"along the given arcs": found.along}),
    }
    table = facts({name: f"{value:.4g}" for name, value in parts.items()})
    return heading("PathEffects", found.question) + table + notes(found.assumptions)


def adjustments(found: AdjustmentSets) -> str:
    """The minimal sets, and other ways."""
    lines = [(", ".join(sorted(names)) or "nothing",) for names in found]
    others = {
        name: ", ".join(nodes)
        for name, nodes in (("front door", found.front_door), ("instruments", found.instruments))
        if nodes
    }
    return heading("Adjust for") + grid(("one of",), lines) + (facts(others) if others else "")


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
    return heading("FairnessReport") + table + _gap_table(found) + _worlds(found)


def _gap_table(found: FairnessReport) -> str:
    if found.gaps is None:
        return ""
    gaps = {
        "selection difference": found.gaps.selection_difference,
        "selection ratio": found.gaps.selection_ratio,
        "odds difference": found.gaps.odds_difference,
        "odds ratio": found.gaps.odds_ratio,
        "opportunity difference": found.gaps.opportunity_difference,
    }
    lines: list[Line] = [(name, *_gap(gap)) for name, gap in gaps.items() if gap is not None]
    return grid(("gap", "value", "low", "high"), lines)


def _worlds(found: FairnessReport) -> str:
    check = found.counterfactual
    if check is None:
        return notes(found.notes)
    curve = check.curve
    lines: list[Line] = [
        (number(f"{eps:g}"), _rate(mean), _rate(worst))
        for eps, mean, worst in zip(curve.eps, curve.mean, curve.worst, strict=True)
    ]
    said = "uses nothing that the attribute causes" if check.is_graphical else "by row"
    about = heading("In another world", said)
    table = grid(("change beyond", "on average", "worst row"), lines)
    return about + table + notes([*found.notes, *found.assumptions])


def _gap(gap: RateGap) -> tuple[Cell, Cell, Cell]:
    low, high = gap.interval
    return number(f"{gap.value:.4g}"), number(f"{low:.4g}"), number(f"{high:.4g}")


def _rate(rate: float | None) -> Cell:
    return number("" if rate is None else f"{rate:.4g}")


def _numbers(found: Effect) -> tuple[Cell, ...]:
    value = "" if found.value is None else f"{found.value:.4g}"
    ends = found.interval or found.bounds
    low, high = ("", "") if ends is None else (f"{ends[0]:.4g}", f"{ends[1]:.4g}")
    return number(value), number(low), number(high)
