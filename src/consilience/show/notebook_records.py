"""What a notebook shows of the records of long computations."""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience._typing import Floats
from consilience.answers.source_differences import ALIKE, DIFFER, STRONG, gain_of
from consilience.classify.evaluation import LOWER_IS_BETTER, Evaluation
from consilience.classify.results import MEASURES, CrossEvaluation
from consilience.dynamic.chain_states import ChainStates
from consilience.incomplete.assessment import GapAssessment
from consilience.incomplete.augmentation import Augmentation
from consilience.incomplete.em import Convergence
from consilience.incomplete.imputation import Imputation
from consilience.incomplete.parameter_names import parameter_names
from consilience.incomplete.rubin import PooledAnswer
from consilience.incomplete.variational import VariationalResult
from consilience.inference.event import Event
from consilience.inference.event_beliefs import Estimate
from consilience.inference.explanations import Explanation
from consilience.inference.precision_matrix import PartialCorrelations
from consilience.latent.number_of_states import HiddenStates
from consilience.network.record import Record
from consilience.show.html import (
    N_LINES,
    Cell,
    Line,
    facts,
    grid,
    heading,
    line_chart,
    notes,
    number,
    shaded,
)
from consilience.show.notebook_graphs import counted, drawn_graph
from consilience.structure.independence.statements import Verdict
from consilience.structure.searches.constraint_record import ConstraintRecord, nearness
from consilience.structure.searches.task import SearchResult

__all__ = [
    "augmentation",
    "bound",
    "climb",
    "cross_evaluation",
    "estimate",
    "evaluation",
    "event",
    "explanation",
    "gaps",
    "hidden_states",
    "imputation",
    "partial_correlations",
    "pooled",
    "search",
    "story",
]

N_MEASURES = 6


def event(found: Event) -> str:
    """An event in words."""
    return heading(type(found).__name__, str(found))


def estimate(found: Estimate) -> str:
    """A number that was estimated from draws, and how sure it is."""
    error = f"estimated from draws, standard error {found.standard_error:.2g}"
    return heading(f"{float(found):.6g}", error)


def partial_correlations(found: PartialCorrelations) -> str:
    """The matrix, stronger correlations on a stronger ground."""
    lines: list[Line] = [
        (name, *(shaded(abs(x), f"{x:.3f}") for x in row))
        for name, row in zip(found.names, found.values.tolist(), strict=True)
    ]
    return heading(type(found).__name__) + grid(("", *found.names), lines)


def story(record: Record) -> str:
    """How a network was made, and from how many rows each family."""
    nodes = list(record.n_rows)
    lines = [
        (
            node,
            number(f"{record.n_rows[node]:,.6g}"),
            number(_known(record.n_incomplete.get(node))),
            number(_known(record.unidentified.get(node))),
            *_sharing(record, node),
        )
        for node in nodes[:N_LINES]
    ]
    evidence = ("evidence of differences, nats", "verdict") if record.pooling else ()
    head = (
        "node",
        "complete rows",
        "incomplete rows",
        "parent states with no or too few rows",
        *evidence,
    )
    table = grid(head, lines, n=len(nodes)) if nodes else ""
    return heading("Record", record.method) + table + notes(record.notes)


def _sharing(record: Record, node: str) -> tuple[Cell | str, ...]:
    """How far the rows speak against one distribution for all sources."""
    if not record.pooling:
        return ()
    if node not in record.pooling:
        return ("", "")
    gain = gain_of(record.pooling[node])
    return number(f"{gain:.4g}"), DIFFER if gain > STRONG else ALIKE


def search(result: SearchResult) -> str:
    """The graph that was found, and how."""
    known = {
        "score": f"{result.score:,.4f}" + (f" ({result.judged_by})" if result.judged_by else ""),
        "searched by": result.searched_by,
        "families scored": f"{result.n_scored:,}",
        "time": f"{result.seconds:.3g} s",
        "stopped by": result.stopped_by,
    }
    if result.tests is None:
        found = drawn_graph(result.dag)
    else:
        known["tests"] = f"{result.tests.n_tests:,} by {result.tests.test!r}"
        found = drawn_graph(result.cpdag) + edge_tests(result.tests)
    return heading("SearchResult") + facts(known) + found + notes(result.notes)


def verdict(found: Verdict) -> str:
    """One test of independence."""
    given = f" given {', '.join(found.given)}" if found.given else ""
    says = "independent" if found.is_independent else "dependent"
    known = {
        "statistic": f"{found.statistic:.6g}",
        "df": f"{found.df:g}",
        "p-value": f"{found.p_value:.4g}",
        "rows": f"{found.n_rows:,g}",
        "test": repr(found.test),
    }
    return heading(f"{found.x}, {found.y}{given}", says) + facts(known)


def edge_tests(record: ConstraintRecord) -> str:
    """The tests of pairs, those nearest to the limit first, and what is open."""
    alpha = record.test.alpha
    tests = sorted((*record.removed, *record.kept), key=lambda one: nearness(one, alpha))
    kept = set(record.kept)
    lines = [
        (
            f"{one.x}, {one.y}",
            ", ".join(one.given) or "-",
            number(f"{one.statistic:.4g}"),
            number(f"{one.df:g}"),
            number(f"{one.p_value:.2g}"),
            number(f"{one.n_rows:,g}"),
            "joined" if one in kept else "parted",
        )
        for one in tests[:N_LINES]
    ]
    head = ("pair", "given", "statistic", "df", "p", "rows", "")
    about = heading("Tests", f"{record.n_tests:,}; those nearest to alpha {alpha:g} first")
    said = [f"{a} - {b}: {one.why}." for one in record.conflicts for a, b in [one.edge]]
    return about + (grid(head, lines, n=len(tests)) if tests else "") + notes(said)


def climb(found: Convergence[Any]) -> str:
    """What EM reached, step by step."""
    reached = {"log-likelihood": f"{found.log_likelihood:,.4f}", "steps": f"{found.n_iterations}"}
    return _steps(found, reached, found.objective, "objective")


def bound(found: VariationalResult) -> str:
    """What variational Bayes reached, step by step."""
    reached = {"bound": f"{found.bound:,.4f}", "steps": f"{len(found.trace)}"}
    return _steps(found, reached, found.trace, "bound")


def augmentation(found: Augmentation) -> str:
    """The parameters whose chains agree least."""
    about = heading(
        "Augmentation",
        f"{counted(found.n_chains, 'chain')} of {counted(found.n_draws, 'draw')}; the chains "
        f"{'have met' if found.has_met else 'have not met yet'}",
    )
    worst = sorted(_parameters(found), key=lambda one: -one[2])
    lines = [
        (name, number(f"{mean:.4g}"), number(f"{r_hat:.3f}"), number(f"{size:,.0f}"))
        for name, mean, r_hat, size in worst[:N_LINES]
    ]
    head = ("parameter", "mean", "R-hat", "effective draws")
    return about + grid(head, lines, n=len(worst))


def imputation(found: Imputation) -> str:
    """How many values were filled in, by column."""
    n_tables = counted(len(found.tables), "table")
    names = dict.fromkeys([*found.n_filled, *found.n_left])
    numbers = [(name, found.n_filled.get(name), found.n_left.get(name)) for name in names]
    lines = [(name, number(_known(n)), number(_known(m))) for name, n, m in numbers if n or m]
    about = heading("Imputation", f"{n_tables}, {sum(found.n_filled.values()):,} values filled in")
    return about + grid(("column", "filled in", "still missing"), lines) + notes(found.notes)


def gaps(found: GapAssessment) -> str:
    """The tests, the clearest first."""
    lines = [
        (
            test.variable,
            test.against,
            number(f"{test.statistic:.4g}"),
            number(str(test.degrees_of_freedom)),
            number(f"{test.adjusted:.2g}"),
            "depends on it" if test.adjusted <= found.level else "",
        )
        for test in found.tests[:N_LINES]
    ]
    head = ("gaps of", "tested against", "statistic", "df", "adjusted p", "")
    table = grid(head, lines, n=len(found.tests)) if found.tests else ""
    return heading("GapAssessment") + notes(str(found).splitlines()[:1]) + table


def hidden_states(found: HiddenStates | ChainStates) -> str:
    """The numbers of states that were tried."""
    lines = [
        (
            f"{one.n_states}{' (chosen)' if one.n_states == found.n_states else ''}",
            number(f"{one.value:,.3f}"),
            number(f"{one.log_likelihood:,.3f}"),
            number(f"{one.network.n_parameters:,}"),
        )
        for one in found.tried
    ]
    head = ("states", type(found.criterion).__name__, "log-likelihood", "parameters")
    about = heading(f"{type(found).__name__} of {found.node}", counted(found.n_states, "state"))
    return about + grid(head, lines)


def pooled(answer: PooledAnswer) -> str:
    """The estimates with their intervals."""
    places = list(np.ndindex(answer.estimate.shape))
    lines: list[Line] = [
        (
            ", ".join(map(str, place)),
            *(
                number(f"{float(values[place]):.4g}")
                for values in (answer.estimate, answer.low, answer.high)
            ),
            number(f"{100 * float(answer.missing_information[place]):.0f} %"),
        )
        for place in places[:N_LINES]
    ]
    head = ("", "estimate", "low", "high", "information lost")
    about = heading(
        "PooledAnswer", f"{counted(answer.n_tables, 'table')}, {100 * answer.level:g} % intervals"
    )
    return about + grid(head, lines, n=len(places))


def explanation(found: Explanation) -> str:
    """States and values by variable."""
    lines = [
        (name, state if isinstance(state, str) else f"{state:.6g}")
        for name, state in found.states.items()
    ]
    about = heading("Most probable", f"log probability {found.log_probability:.6g}")
    return about + grid(("variable", "state or value"), lines)


def evaluation(found: Evaluation) -> str:
    """All measures, of all rows and of each source."""
    head, *body = found.cells()
    lines: list[Line] = [(name, *map(number, rest)) for name, *rest in body]
    return heading("Evaluation", found.title()) + grid(head, lines)


def cross_evaluation(found: CrossEvaluation) -> str:
    """The main measures of every contestant, the best of each in bold."""
    measures = found.measures[:N_MEASURES]
    about = heading(
        "CrossEvaluation", f"{found.target}; {found.splits}; {counted(len(found.cells), 'cell')}"
    )
    size = max((one for one in found.sizes if one is not None), default=None)
    lines: dict[tuple[str, str], list[str | Cell]] = {
        who: [who[0] or "-", who[1]] for who in found.contestants
    }
    for measure in measures:
        summary = {
            (one.structure, one.estimator): one
            for one in found.summary(measure)
            if one.size == size
        }
        best = _best(measure, {who: one.mean for who, one in summary.items()})
        for who, line in lines.items():
            line.append(_measured(summary.get(who), who == best))
    head = ("structure", "estimator", *(MEASURES[name] for name in measures))
    which = [] if size is None else [f"Learned from {size:,} rows, the largest size."]
    return about + grid(head, list(lines.values())) + notes([*which, *found.notes])


def _measured(one: Any, is_best: bool) -> Cell:
    if one is None:
        return number("-")
    error = "" if one.error is None else f" ± {one.error:.2g}"
    text = f"{one.mean:.4g}{error}"
    return Cell(f"<b>{text}</b>" if is_best else text, is_number=True)


def _best(measure: str, means: dict[tuple[str, str], float]) -> tuple[str, str] | None:
    choose = min if measure in LOWER_IS_BETTER else max
    return choose(means, key=lambda who: means[who]) if means else None


def _steps(
    found: Convergence[Any] | VariationalResult, reached: dict[str, str], values: Floats, what: str
) -> str:
    """What was reached, below the line that led there."""
    places = np.arange(len(values), dtype=float)
    drawn = line_chart(places, values, label=f"{what} by step") if len(values) > 2 else ""
    known = reached | {"starts": str(len(found.starts)), "stopped by": found.stopped_by}
    return heading(type(found).__name__) + drawn + facts(known)


def _parameters(found: Augmentation) -> list[tuple[str, float, float, float]]:
    lines = []
    for node, r_hat in found.r_hat.items():
        names = parameter_names(found.network[node])
        means = found.draws[node].mean(axis=(0, 1)).ravel()
        sizes = found.bulk_size[node].ravel()
        parts = zip(names, means.tolist(), r_hat.ravel().tolist(), sizes.tolist(), strict=True)
        lines += list(parts)
    return lines


def _known(n: float | None) -> str:
    return "" if not n else f"{n:,.6g}"
