"""One verb for all pictures: what a thing looks like, and which views of it there are.

A view is a function that draws one kind of thing. The table :data:`VIEWS` lists them, the usual
view of each thing first; ``options`` are the keyword arguments of that function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from consilience import _check
from consilience.answers.answer_intervals import AnswerIntervals
from consilience.answers.findings import BeliefShift, Conflict
from consilience.answers.next_questions import InformationValue
from consilience.answers.row_distances import ArcStrengths
from consilience.answers.sensitivities import Sensitivity
from consilience.answers.source_differences import Differences
from consilience.averaging.arc_beliefs import ArcBeliefs
from consilience.averaging.graph_belief import GraphBelief
from consilience.averaging.graph_chains import GraphChains
from consilience.averaging.source_multinets import Multinets
from consilience.causal.audits import FairnessReport
from consilience.causal.effects import Effect
from consilience.causal.estimand import Estimand
from consilience.causal.necessity import Causation
from consilience.causal.path_parts import PathEffects
from consilience.causal.response import Bounds
from consilience.causal.what_if import Counterfactual
from consilience.causal.worlds import CounterfactualFairness
from consilience.classify.evaluation import Evaluation
from consilience.classify.results import CrossEvaluation
from consilience.data.table import Table
from consilience.distributions import Categorical, LinearGaussian, Logistic
from consilience.dynamic.beliefs_in_time import Beliefs
from consilience.dynamic.chain_states import ChainStates
from consilience.dynamic.change_point_beliefs import ChangeBeliefs
from consilience.dynamic.dynamic_network import DynamicNetwork
from consilience.dynamic.forecasting import Forecast
from consilience.dynamic.graph_search import OrderChoice
from consilience.dynamic.influence_in_time import InfluenceInTime
from consilience.dynamic.lagged_names import split_lag
from consilience.dynamic.panel import Panel
from consilience.errors import InputError
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
from consilience.latent.influence_record import Influence
from consilience.latent.number_of_states import HiddenStates
from consilience.network.factor import Factor
from consilience.network.mixed_belief import MixedBelief
from consilience.network.mixture import Mixture
from consilience.network.network import Network
from consilience.network.record import Record
from consilience.show.amounts import (
    plot_assessment,
    plot_imputation,
    plot_pooled,
    plot_rows,
)
from consilience.show.answers import (
    plot_conflict,
    plot_differences,
    plot_information,
    plot_intervals,
    plot_shift,
    plot_strengths_of_arcs,
    plot_tornado,
)
from consilience.show.belief import plot_belief
from consilience.show.calibration import plot_calibration
from consilience.show.causal_charts import (
    plot_bounds,
    plot_causation,
    plot_counterfactual,
    plot_effect,
    plot_fairness,
    plot_fairness_curve,
    plot_groups,
    plot_paths,
)
from consilience.show.chains import plot_chains
from consilience.show.classes import plot_classes, plot_hidden_states
from consilience.show.clusters import plot_cluster_scores, plot_clusters
from consilience.show.convergence import plot_convergence
from consilience.show.dynamic import (
    plot_beliefs,
    plot_changes,
    plot_forecast,
    plot_influence_in_time,
    plot_orders,
    plot_panel,
    plot_slices,
)
from consilience.show.edge_tests import N_PAIRS, plot_edge_tests
from consilience.show.evaluation import (
    plot_calibration_curves,
    plot_calibrations,
    plot_estimators,
    plot_evaluated_sources,
    plot_learning_curve,
    plot_learning_curves,
    plot_measures,
)
from consilience.show.gaps import plot_gaps
from consilience.show.graph_beliefs import (
    plot_arc_beliefs,
    plot_believed_graph,
    plot_graph_chains,
    plot_multinets,
    plot_strengths,
    svg_belief,
)
from consilience.show.influence import plot_influence, svg_influence
from consilience.show.known_beliefs import beliefs_given
from consilience.show.local import plot_local, plot_table
from consilience.show.plot import plot_graph, plot_sources
from consilience.show.plot_pair import plot_pair
from consilience.show.svg import svg_graph
from consilience.show.svg_causal import svg_effect, svg_fairness, svg_paths
from consilience.show.svg_fusion import svg_fusion
from consilience.show.svg_pair import svg_pair
from consilience.show.trace import plot_trace
from consilience.show.votes import plot_fusion, plot_thresholds, plot_votes
from consilience.show.worlds import plot_worlds, svg_worlds
from consilience.structure.searches.constraint_record import ConstraintRecord
from consilience.structure.searches.task import SearchResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["plot", "svg"]

Drawing = Callable[..., Any]


def _of_class(draw: Drawing) -> Drawing:
    """The same drawing for the record of a search: its graph, or the class that tests found."""

    def drawn(record: SearchResult, **options: Any) -> Any:
        return draw(record.dag if record.tests is None else record.cpdag, **options)

    drawn.__signature__ = inspect.signature(draw)  # type: ignore[attr-defined]
    return drawn


def _of_estimand(draw: Drawing) -> Drawing:
    """The same drawing for an estimand: its graph, the hedge set off if there is one."""

    def drawn(found: Estimand, **options: Any) -> Any:
        hedge = () if found.hedge is None else sorted(found.hedge.outer)
        return draw(found.graph, **{"highlight": hedge, **options})

    drawn.__signature__ = inspect.signature(draw)  # type: ignore[attr-defined]
    return drawn


def _of_transition(draw: Drawing) -> Drawing:
    """The same drawing for a network in time: the graph into the current slice, hidden nodes set
    off.
    """

    def drawn(net: DynamicNetwork, **options: Any) -> Any:
        hidden = [node for node in net.dag.nodes if split_lag(node)[0] in net.hidden]
        return draw(net.dag, **{"highlight": hidden, **options})

    drawn.__signature__ = inspect.signature(draw)  # type: ignore[attr-defined]
    return drawn


def _svg_graph(
    model: DAG | Network,
    *,
    title: str | None = None,
    beliefs: Mapping[str, Any] | None = None,
    highlight: Iterable[str] | None = None,
    given: Mapping[str, Any] | None = None,
    do: Mapping[str, Any] | None = None,
) -> str:
    """A graph; ``given`` draws beliefs, ``do`` the worlds of an intervention side by side."""
    if do is None:
        if given is not None:
            beliefs = _beliefs_given(model, given, beliefs)
        return svg_graph(model, title=title, beliefs=beliefs, highlight=highlight)
    if beliefs is not None or highlight is not None or given is not None:
        raise InputError("svg: do= goes without beliefs=, given= and highlight=.", option="do")
    return svg_worlds(model, do=do, title=title)


def _beliefs_given(
    model: DAG | Network, given: Mapping[str, Any], beliefs: Mapping[str, Any] | None
) -> Mapping[str, Any]:
    """What is believed of every node, known ones by their state or number."""
    if not isinstance(model, Network) or beliefs is not None:
        raise InputError("svg: given= is for networks, without beliefs=.", option="given")
    return beliefs_given(model, given)


def _of_tests(record: SearchResult, n_pairs: int = N_PAIRS, ax: Axes | None = None) -> Axes:
    """The tests of a search."""
    if record.tests is None:
        raise InputError(
            "plot: this search made no tests of independence; searches by tests, such as cs.PC(), "
            "do.",
            view="tests",
        )
    return plot_edge_tests(record.tests, n_pairs=n_pairs, ax=ax)


def _compared(draw: Drawing) -> Drawing:
    """A drawing of two graphs, for the record that compares them."""

    def drawn(found: GraphComparison, **options: Any) -> Any:
        return draw(found.learned, found.other, **options)

    drawn.__signature__ = _without_first(draw)  # type: ignore[attr-defined]
    return drawn


def _without_first(draw: Drawing) -> inspect.Signature:
    signature = inspect.signature(draw)
    return signature.replace(parameters=list(signature.parameters.values())[1:])


VIEWS: Mapping[type, Mapping[str, Drawing]] = {
    Table: {"gaps": plot_gaps},
    DAG: {"graph": plot_graph, "worlds": plot_worlds},
    CPDAG: {"graph": plot_graph},
    ADMG: {"graph": plot_graph},
    Network: {
        "graph": plot_graph,
        "sources": plot_sources,
        "classes": plot_classes,
        "worlds": plot_worlds,
    },
    Estimand: {"graph": _of_estimand(plot_graph)},
    Effect: {"effect": plot_effect},
    Bounds: {"bounds": plot_bounds},
    Counterfactual: {"belief": plot_counterfactual},
    Causation: {"bounds": plot_causation},
    PathEffects: {"parts": plot_paths},
    FairnessReport: {
        "gaps": plot_fairness,
        "groups": plot_groups,
        "curve": plot_fairness_curve,
    },
    CounterfactualFairness: {"curve": plot_fairness_curve},
    DynamicNetwork: {"slices": plot_slices},
    Panel: {"rows": plot_panel},
    Beliefs: {"beliefs": plot_beliefs},
    ChangeBeliefs: {"changes": plot_changes},
    InfluenceInTime: {"slices": plot_influence_in_time},
    Forecast: {"fan": plot_forecast},
    OrderChoice: {"orders": plot_orders},
    Record: {"rows": plot_rows},
    Categorical: {"table": plot_table},
    LinearGaussian: {"regressions": plot_local},
    Logistic: {"regressions": plot_local},
    Factor: {"belief": plot_belief},
    Mixture: {"belief": plot_belief},
    MixedBelief: {"belief": plot_belief},
    SearchResult: {"trace": plot_trace, "graph": _of_class(plot_graph), "tests": _of_tests},
    ConstraintRecord: {"tests": plot_edge_tests},
    GraphBelief: {
        "strengths": plot_strengths,
        "graph": plot_believed_graph,
        "chains": plot_graph_chains,
    },
    ArcBeliefs: {"strengths": plot_arc_beliefs},
    GraphChains: {"chains": plot_graph_chains},
    Multinets: {"sources": plot_multinets},
    GraphComparison: {"pair": _compared(plot_pair)},
    Convergence: {"climb": plot_convergence},
    VariationalResult: {"climb": plot_convergence},
    Augmentation: {"chains": plot_chains},
    Imputation: {"filled": plot_imputation},
    GapAssessment: {"tests": plot_assessment},
    PooledAnswer: {"estimates": plot_pooled},
    Sensitivity: {"tornado": plot_tornado},
    InformationValue: {"values": plot_information},
    BeliefShift: {"moves": plot_shift},
    Conflict: {"conflict": plot_conflict},
    AnswerIntervals: {"intervals": plot_intervals},
    Differences: {"differences": plot_differences},
    ArcStrengths: {"strengths": plot_strengths_of_arcs},
    HiddenStates: {"states": plot_hidden_states},
    ChainStates: {"states": plot_hidden_states},
    Influence: {"graph": plot_influence},
    Clusters: {"sources": plot_clusters, "scores": plot_cluster_scores},
    Fusion: {"sources": plot_fusion, "votes": plot_votes, "thresholds": plot_thresholds},
    Evaluation: {"calibration": plot_calibration},
    CrossEvaluation: {
        "measures": plot_measures,
        "estimators": plot_estimators,
        "sources": plot_evaluated_sources,
        "curves": plot_learning_curves,
        "curve": plot_learning_curve,
        "calibrations": plot_calibrations,
        "calibration": plot_calibration_curves,
    },
}
"""What can be plotted: for each kind of thing its views, the usual one first."""

NAMED = (Panel, Beliefs, Forecast, ChangeBeliefs)
"""Things of which one variable is plotted: its name may stand in the place of the view."""

PICTURES: Mapping[type, Drawing] = {
    DAG: _svg_graph,
    CPDAG: svg_graph,
    ADMG: svg_graph,
    Network: _svg_graph,
    DynamicNetwork: _of_transition(svg_graph),
    Estimand: _of_estimand(svg_graph),
    Effect: svg_effect,
    PathEffects: svg_paths,
    FairnessReport: svg_fairness,
    SearchResult: _of_class(svg_graph),
    GraphBelief: svg_belief,
    GraphComparison: _compared(svg_pair),
    Fusion: svg_fusion,
    Influence: svg_influence,
}
"""What has a picture as the text of an SVG file."""


def plot(thing: object, view: str | None = None, **options: Any) -> Axes | NDArray[Any]:
    """A picture of a table, graph, network, belief or record, drawn with matplotlib.

    ======================  ============================================  =======================
    thing                   view (the first is the usual one)             options
    ======================  ============================================  =======================
    table                   ``gaps``: what is missing, and together       ``n_patterns``
    graph (DAG, CPDAG)      ``graph``                                     ``ax``, ``highlight``
    with hidden causes      ``graph``: they are dashed                    ``ax``, ``highlight``
    network                 ``graph``                                     ``ax``, ``highlight``
    ..                      ``sources``: a node's table by source         ``node``, ``states``,
                                                                          ``level``,
                                                                          ``max_panels``
    ..                      ``classes``: the children of a node by its    ``node``, ``features``,
                            states                                        ``ax``
    network or DAG          ``worlds``: as it is, as it is set, and both  ``do``
    node of a network       ``table``: a heat map of a discrete one       ``ax``
    ..                      ``regressions``: of a continuous or logistic  ``level``
                            one
    record of a network     ``rows``: from how many each family was       ``ax``
                            learned
    belief of a query       ``belief``: bars or a density                 ``ax``, ``level``
    search result           ``trace``: best score by families scored      ``ax``
    ..                      ``graph``; of a search by tests the class     ``ax``
                            that they found
    ..                      ``tests``: of pairs, the nearest to the       ``n_pairs``, ``ax``
                            limit
    tests of a search       ``tests``                                     ``n_pairs``, ``ax``
    belief about graphs     ``strengths``: probability of every arc       ``ax``
    ..                      ``graph``: averaged, with beliefs             ``ax``, ``threshold``
    ..                      ``chains``: traces and ranks                  ``n_arcs``
    beliefs about arcs      ``strengths``                                 ``ax``
    chains of graphs        ``chains``                                    ``n_arcs``
    multinets               ``sources``: arcs of each source              ``max_panels``
    comparison of graphs    ``pair``: both graphs side by side            ``names``
    EM, variational Bayes   ``climb``: what every step reached            ``ax``
    data augmentation       ``chains``: traces and ranks                  ``nodes``,
                                                                          ``n_parameters``
    imputation              ``filled``: how many values of each column    ``ax``
    assessment of gaps      ``tests``: the clearest first                 ``ax``
    pooled answer           ``estimates``: with their intervals           ``ax``
    hidden states           ``states``: the numbers that were tried       ``ax``
    influence               ``graph``: each model folded into one box     ``ax``
    fusion                  ``sources``: every source's graph             ``truth``,
                                                                          ``max_panels``
    ..                      ``votes``: the matrix of votes                ``ax``
    ..                      ``thresholds``: what each would give          ``thresholds``,
                                                                          ``truth``, ``order``
    panel                   ``rows``: a variable of all sequences         ``name``, ``ax``
    network in time         ``slices``: side by side                      ``ax``
    beliefs in time         ``beliefs``: bands of states, or of values    ``name``, ``sequence``,
                                                                          ``ax``
    forecast                ``fan``                                       ``name``, ``ax``
    choice of an order      ``orders``                                    ``ax``
    evaluation              ``calibration``                               ``ax``
    cross-evaluation        ``measures``: the main ones, side by side
    ..                      ``estimators``: one measure                   ``measure``, ``ax``
    ..                      ``sources``: the same by source               ``measure``, ``ax``
    ..                      ``curves``: measures by training rows
    ..                      ``curve``: one of them                        ``measure``,
                                                                          ``structure``, ``ax``
    ..                      ``calibrations``: of all structures
    ..                      ``calibration``: of one                       ``structure``, ``ax``
    estimand                ``graph``: with the hedge set off             ``ax``
    effect                  ``effect``: in all and by source              ``ax``
    bounds, causation       ``bounds``                                    ``ax``
    counterfactual          ``belief``: with its bounds                   ``ax``
    effects along paths     ``parts``                                     ``ax``
    report of fairness      ``gaps``: with intervals, by source
    ..                      ``groups``: the rates of each                 ``ax``
    ..                      ``curve``: delta(eps), with bounds            ``ax``
    ======================  ============================================  =======================

    Parameters
    ----------
    thing
        What to draw.
    view
        Which picture of it; the usual one if not given. Of panels, forecasts and beliefs in time
        the name of a variable may stand here: ``cs.plot(future, "e")``.
    options
        Of that view. ``ax`` are the axes to draw into; a new figure if not given.

    Returns
    -------
    Axes or array of Axes
        ``axes.figure`` is the figure, of an array ``axes.flat[0].figure``.

    Raises
    ------
    InputError
        If the thing has no picture or no such view, or the view no such option.
    """
    views = _drawings("plot", thing, VIEWS)
    if view is not None and view not in views and isinstance(thing, NAMED):
        view, options = None, {**options, "name": view}
    if view is not None and view not in views:
        raise InputError(
            f"plot: a {type(thing).__name__} has no view {view!r}. Its views: "
            f"{_check.listed(views)}.",
            view=view,
        )
    chosen = next(iter(views)) if view is None else view
    return _drawn(f"plot, view {chosen!r}", views[chosen], thing, options)


def svg(thing: object, **options: Any) -> str:
    """The picture of a graph, a network or a record with a graph, as the text of an SVG file.

    Parameters
    ----------
    thing
        A graph (DAG, CPDAG or ADMG), an estimand or a network; a network in time, its hidden nodes
        set off; a search result; a comparison of graphs, drawn side by side; a fusion, every arc
        with its votes; a belief about graphs, every arc with its probability; an influence network,
        each model folded into one box; an effect, its parts, or a report of fairness.
    options
        ``title``: a line above the picture. Of graphs and networks also ``beliefs`` (what
        ``net.marginals(...)`` gives: bars of states, mean ± sd of numbers) and ``highlight`` (nodes
        to be set off); of networks ``given``, what is known: beliefs are drawn, and nodes that are
        known set off; of networks and DAGs ``do``: the worlds of an intervention side by side; of
        comparisons ``names`` of the two graphs.

    Raises
    ------
    InputError
        If the thing has no such picture, or the picture no such option.

    Examples
    --------
    >>> import consilience as cs
    >>> cs.svg(cs.DAG([("smoke", "lung")]), title="Lungs").startswith("<svg ")
    True
    """
    text: str = _drawn("svg", _drawings("svg", thing, PICTURES), thing, options)
    return text


def _drawings(owner: str, thing: object, drawings: Mapping[type, Any]) -> Any:
    for kind, found in drawings.items():
        if isinstance(thing, kind):
            return found
    raise InputError(
        f"{owner}: there is no picture of type {type(thing).__name__!r}. What has one: "
        f"{_check.listed(kind.__name__ for kind in drawings)}.",
        kind=type(thing).__name__,
    )


def _drawn(owner: str, draw: Drawing, thing: object, options: Mapping[str, Any]) -> Any:
    _, *known = inspect.signature(draw).parameters.values()
    unknown = [name for name in options if name not in {each.name for each in known}]
    if unknown:
        raise InputError(
            f"{owner}: unknown option {unknown[0]!r}. Options: "
            f"{_check.listed(each.name for each in known)}.",
            option=unknown[0],
        )
    lacking = [p.name for p in known if p.default is p.empty and p.name not in options]
    if lacking:
        raise InputError(f"{owner}: {lacking[0]}= must be given.", option=lacking[0])
    return draw(thing, **options)
