"""What a notebook shows of every noun and record: a picture, a short table, or both.

:data:`NOTEBOOK` lists the views. Large graphs are listed, not drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice, product
from typing import Any

import numpy as np

from consilience.answers.answer_intervals import AnswerIntervals
from consilience.answers.difference_parts import DifferenceParts
from consilience.answers.findings import BeliefShift, Conflict
from consilience.answers.next_questions import InformationValue
from consilience.answers.row_distances import ArcStrengths
from consilience.answers.sensitivities import Sensitivity
from consilience.answers.source_differences import Differences, differences
from consilience.averaging.arc_beliefs import ArcBeliefs
from consilience.averaging.graph_belief import GraphBelief
from consilience.averaging.graph_chains import GraphChains
from consilience.averaging.source_multinets import Multinets
from consilience.causal.adjustment import AdjustmentSets
from consilience.causal.audits import FairnessReport
from consilience.causal.effects import Effect
from consilience.causal.estimand import Estimand
from consilience.causal.necessity import Causation
from consilience.causal.path_parts import PathEffects
from consilience.causal.response import Bounds
from consilience.causal.what_if import Counterfactual
from consilience.classify.evaluation import Evaluation
from consilience.classify.results import CrossEvaluation
from consilience.data.describe import Description
from consilience.data.table import Table
from consilience.data.variable import Schema, Variable
from consilience.distributions import Categorical, Distribution, LinearGaussian, Logistic
from consilience.dynamic.beliefs_in_time import Beliefs
from consilience.dynamic.chain_states import ChainStates
from consilience.dynamic.change_point_beliefs import ChangeBeliefs, Changes
from consilience.dynamic.dynamic_network import DynamicNetwork
from consilience.dynamic.forecasting import Forecast
from consilience.dynamic.graph_search import OrderChoice
from consilience.dynamic.influence_in_time import InfluenceInTime
from consilience.dynamic.most_probable_paths import Path
from consilience.dynamic.panel import Panel
from consilience.dynamic.var_matrices import VAR
from consilience.fusion.fusion_record import Fusion
from consilience.fusion.source_clusters import Clusters
from consilience.graph.admg import ADMG
from consilience.graph.arc_comparison import GraphComparison
from consilience.graph.cpdag import CPDAG
from consilience.graph.dag import DAG
from consilience.incomplete.assessment import GapAssessment
from consilience.incomplete.augmentation import Augmentation
from consilience.incomplete.em import Convergence
from consilience.incomplete.imputation import Imputation
from consilience.incomplete.rubin import PooledAnswer
from consilience.incomplete.variational import VariationalResult
from consilience.inference.event import Event
from consilience.inference.event_beliefs import Estimate
from consilience.inference.explanations import Explanation
from consilience.inference.precision_matrix import PartialCorrelations
from consilience.latent.influence_record import Influence
from consilience.latent.number_of_states import HiddenStates
from consilience.network.factor import Factor
from consilience.network.mixed_belief import MixedBelief
from consilience.network.mixture import Mixture
from consilience.network.network import Network
from consilience.network.record import Record
from consilience.show import (
    notebook_beliefs as beliefs,
    notebook_causal as causal,
    notebook_dynamic as in_time,
    notebook_records as records,
    notebook_sites as sites,
)
from consilience.show.belief import density_curve
from consilience.show.clusters import clusters_html
from consilience.show.html import (
    N_LINES,
    Cell,
    Line,
    bar,
    facts,
    grid,
    heading,
    line_chart,
    notes,
    number,
    shaded,
)
from consilience.show.notebook_answers import tabled
from consilience.show.notebook_graphs import compared, counted, drawn_graph, drawn_influence, fused
from consilience.show.text import family_text, in_words, layout_of, probability_text
from consilience.sites.confusion import SiteMeasures
from consilience.sites.study_record import StudyRecord
from consilience.statistics.counts import Counts
from consilience.statistics.engines.scans import Scan
from consilience.statistics.moments import Moments
from consilience.structure.independence.statements import Verdict
from consilience.structure.searches.constraint_record import ConstraintRecord
from consilience.structure.searches.task import SearchResult

__all__ = ["NOTEBOOK", "view"]


def view(thing: object) -> str:
    """The HTML that a notebook shows of a noun or record."""
    return next(show(thing) for kind, show in NOTEBOOK.items() if isinstance(thing, kind))


def _variable(variable: Variable) -> str:
    if variable.states is None:
        return heading(variable.name, "continuous variable")
    order = "ordered " if variable.ordered else ""
    about = heading(
        variable.name, f"discrete variable, {counted(variable.n_states, order + 'state')}"
    )
    if variable.cuts is None:
        return about + grid(("state",), [(state,) for state in variable.states])
    ends = ["", *(f"{cut:.6g}" for cut in variable.cuts), ""]
    lines = [
        (s, number(low), number(high))
        for s, low, high in zip(variable.states, ends[:-1], ends[1:], strict=True)
    ]
    return about + grid(("state", "from", "below"), lines)


def _schema(schema: Schema) -> str:
    lines = [(one.name, *_kind(one)) for one in schema.variables.values()]
    source = "" if schema.source is None else f"; the source is {schema.source.name}"
    about = heading("Schema", f"{counted(len(lines), 'variable')}{source}")
    return about + grid(("variable", "kind", "states"), lines)


def _kind(variable: Variable) -> tuple[str, str]:
    if variable.states is None:
        return "continuous", ""
    kind = "ordered" if variable.ordered else "discrete"
    return kind, f"{variable.n_states}: {', '.join(variable.states[:12])}"


def _table(table: Table) -> str:
    return _description(table.describe())


def _description(found: Description) -> str:
    lines = [
        (
            row.variable,
            f"{row.kind}, of the source" if row.of_source else row.kind,
            row.content,
            bar(row.missing, _percent(row.missing)) if row.missing else "",
            row.origin,
        )
        for row in found.rows
    ]
    head = ("variable", "kind", "states or range", "missing", "because")
    return heading("Table", found.title) + grid(head, lines) + notes(found.notes)


def _network(net: Network) -> str:
    method = {"made by": net.record.method} if net.record.method else {}
    story = facts(method) if method else ""
    is_weighed = net.source is not None and bool(net.record.pooling)
    apart = tabled(differences(net)) if is_weighed and net.dag.children(str(net.source)) else ""
    return drawn_graph(net) + story + apart + notes(net.record.notes)


def _factor(belief: Factor) -> str:
    states = islice(product(*belief.states.values()), N_LINES)
    values = belief.values.ravel()[:N_LINES].tolist()
    lines: list[Line] = [
        (*each, bar(p, f"{p:.4g}")) for each, p in zip(states, values, strict=True)
    ]
    head = [*belief.names, "probability"]
    if belief.standard_errors is not None:
        errors = belief.standard_errors.ravel()[:N_LINES].tolist()
        lines = [(*line, number(f"{e:.2g}")) for line, e in zip(lines, errors, strict=True)]
        head.append("standard error")
    return heading(f"P({', '.join(belief.names)})") + grid(head, lines, n=belief.values.size)


def _mixture(belief: Mixture) -> str:
    lines: list[Line] = []
    for name in belief.names[:N_LINES]:
        one = belief.marginal(name)
        ends = one.interval(0.95)
        lines.append((name, *(number(f"{x:.5g}") for x in (one.mean, one.sd, *ends))))
    head = ("variable", "mean", "sd", "2.5 %", "97.5 %")
    parts = "" if belief.n_components == 1 else counted(belief.n_components, "component")
    about = heading(f"P({', '.join(belief.names[:N_LINES])})", parts)
    shown = grid(head, lines, n=len(belief.names))
    if len(belief.names) > 1 or belief.sd == 0:
        return about + shown
    x, density = density_curve(belief)
    drawn = "" if density is None else line_chart(x, density, label=f"density of {belief.names[0]}")
    return about + drawn + shown


def _mixed(belief: MixedBelief) -> str:
    n = len(belief.discrete.names)
    lines: list[Line] = []
    places = np.ndindex(belief.discrete.values.shape)
    for place, states in islice(
        zip(places, product(*belief.discrete.states.values()), strict=True), N_LINES
    ):
        share = float(belief.discrete.values[place])
        lines.append((*states, bar(share, f"{share:.4g}"), *_moments_of(belief, place)))
    head = (
        *belief.discrete.names,
        "probability",
        *(f"{name}: mean ± sd" for name in belief.names[n:]),
    )
    return heading(f"P({', '.join(belief.names)})") + grid(
        head, lines, n=belief.discrete.values.size
    )


def _moments_of(belief: MixedBelief, place: tuple[int, ...]) -> Iterator[Cell]:
    mixture = belief.mixtures.get(place)
    if mixture is not None:
        for name in mixture.names:
            one = mixture.marginal(name)
            yield number(f"{one.mean:.4g} ± {one.sd:.3g}")


def _local(local: Distribution) -> str:
    by, columns, numbers = layout_of(local)
    is_table = isinstance(local, Categorical)
    labels = islice(product(*(variable.discrete_states for variable in by)), N_LINES)
    lines: list[Line] = []
    for states, row in zip(labels, numbers, strict=False):
        cells = (
            shaded(p, probability_text(p)) if is_table else number(in_words(p))
            for p in row.tolist()
        )
        lines.append((*states, *cells))
    head = (*(variable.name for variable in by), *columns)
    return heading(family_text(local), type(local).__name__) + grid(head, lines, n=len(numbers))


def _counts(counts: Counts) -> str:
    head = (
        *(() if counts.source is None else (counts.source.name,)),
        *counts.family.parents,
        *counts.child.discrete_states,
    )
    n_lines = counts.table.shape[0] * counts.table.shape[1]
    given = f" | {', '.join(counts.family.parents)}" if counts.given else ""
    about = heading(f"Counts of {counts.child.name}{given}", f"{counts.n_complete.sum():,.6g} rows")
    return about + grid(head, list(islice(_counted_lines(counts), N_LINES)), n=n_lines)


def _counted_lines(counts: Counts) -> Iterator[Line]:
    sizes = [variable.n_states for variable in counts.given]
    for f, by_parent in enumerate(counts.table):
        source = (counts.sources[f],) if counts.sources else ()
        for j, row in enumerate(by_parent):
            codes = np.unravel_index(j, sizes) if counts.seen is None else counts.seen[j]
            states = [v.discrete_states[int(k)] for v, k in zip(counts.given, codes, strict=True)]
            yield (*source, *states, *(number(f"{n:,.6g}") for n in row / counts.scale))


def _moments(found: Moments) -> str:
    joint = list(islice(product(*(v.discrete_states for v in found.given)), N_LINES))
    sources = () if found.source is None else found.source.discrete_states
    sds = np.sqrt(np.diagonal(found.covariance, axis1=2, axis2=3))
    lines: list[Line] = []
    for f in range(min(len(found.weight), N_LINES)):
        for j, states in enumerate(joint):
            cells = (f"{m:.4g} ± {s:.3g}" for m, s in zip(found.mean[f, j], sds[f, j], strict=True))
            source = sources[f : f + 1]
            lines.append(
                (*source, *states, number(f"{found.weight[f, j]:,.6g}"), *map(number, cells))
            )
    axes = [] if found.source is None else [found.source]
    head = (*(v.name for v in (*axes, *found.given)), "rows", *found.names)
    about = heading(f"Moments of {', '.join(found.names[:N_LINES])}", "mean ± sd")
    return about + grid(head, lines, n=found.weight.size)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.001 else "<0.1 %"


def _scan(rows: Scan) -> str:
    return heading("Scan", repr(rows)) + _schema(rows.schema)


NOTEBOOK: Mapping[type, Callable[[Any], str]] = {
    Variable: _variable,
    Schema: _schema,
    Table: _table,
    Scan: _scan,
    Description: _description,
    DAG: drawn_graph,
    CPDAG: drawn_graph,
    Network: _network,
    Record: records.story,
    Factor: _factor,
    Mixture: _mixture,
    MixedBelief: _mixed,
    Categorical: _local,
    LinearGaussian: _local,
    Logistic: _local,
    Counts: _counts,
    Moments: _moments,
    SearchResult: records.search,
    ConstraintRecord: records.edge_tests,
    Verdict: records.verdict,
    GraphBelief: beliefs.believed,
    ArcBeliefs: beliefs.arcs,
    GraphChains: beliefs.chains,
    Multinets: beliefs.multinets,
    GraphComparison: compared,
    Evaluation: records.evaluation,
    CrossEvaluation: records.cross_evaluation,
    Fusion: fused,
    Convergence: records.climb,
    VariationalResult: records.bound,
    Augmentation: records.augmentation,
    Imputation: records.imputation,
    GapAssessment: records.gaps,
    HiddenStates: records.hidden_states,
    ChainStates: records.hidden_states,
    Clusters: clusters_html,
    Influence: drawn_influence,
    PooledAnswer: records.pooled,
    Explanation: records.explanation,
    Event: records.event,
    Estimate: records.estimate,
    PartialCorrelations: records.partial_correlations,
    Conflict: tabled,
    BeliefShift: tabled,
    InformationValue: tabled,
    ArcStrengths: tabled,
    Sensitivity: tabled,
    Differences: tabled,
    DifferenceParts: tabled,
    AnswerIntervals: tabled,
    ADMG: drawn_graph,
    Estimand: causal.estimand,
    Effect: causal.effect,
    Bounds: causal.bounds,
    Counterfactual: causal.counterfactual,
    Causation: causal.causation,
    PathEffects: causal.paths,
    AdjustmentSets: causal.adjustments,
    FairnessReport: causal.fairness,
    Panel: in_time.panel,
    DynamicNetwork: in_time.network,
    Beliefs: in_time.beliefs,
    ChangeBeliefs: in_time.change_beliefs,
    Changes: in_time.changes,
    Forecast: in_time.forecast,
    InfluenceInTime: in_time.influence,
    Path: in_time.path,
    OrderChoice: in_time.orders,
    VAR: in_time.matrices,
    StudyRecord: sites.study,
    SiteMeasures: sites.measured,
}
"""What a notebook shows of each kind of thing."""
