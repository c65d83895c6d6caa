"""The verb :func:`fairness`: how a predictor treats groups, and what it would do in another world.

Three levels stand beside each other. Group measures compare what happens to groups
(:mod:`consilience.causal.group_measures`). The graphical check asks whether the predictor uses
anything that the protected attribute causes. The counterfactual check asks what the predictor would
have said of the same row with another attribute (:mod:`consilience.causal.worlds`). All are about
the predictor, not about the target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience import _check, _freeze
from consilience._typing import Floats, Seed
from consilience.averaging.graph_belief import GraphBelief
from consilience.causal.assumed import LEARNED
from consilience.causal.bounded_fits import FairWay, is_complete_for, left_out_scores
from consilience.causal.couplings import Mechanism
from consilience.causal.effect_question import check_state
from consilience.causal.fair_predictors import only_columns
from consilience.causal.group_measures import Gaps, Group, Mask, gaps_of, groups_of
from consilience.causal.worlds import CounterfactualFairness, audit
from consilience.data.door import Rows, as_rows_of, as_table
from consilience.data.table import Table
from consilience.errors import DataError, InputError
from consilience.network.network import Network

__all__ = ["FairnessReport", "GroupFairness", "fairness"]

Predictor: TypeAlias = Network | Callable[[Table], npt.ArrayLike] | npt.ArrayLike

MOST_MODELS = 20
"""Graphs of a belief that a predictor is judged under."""
ROWS = "The rows are drawn independently from those that the predictor will meet."
SPLIT = 1
BESIDE = (
    "Fits under a bound are comparisons, not recommendations: bounds on correlation and covariance "
    "are about groups, and say nothing about what the attribute causes."
)
EPS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)


@dataclass(frozen=True, slots=True)
class GroupFairness:
    """Measures by group and the gaps between groups, for some of the rows."""

    groups: Mapping[str, Group]
    gaps: Gaps

    def __post_init__(self) -> None:
        _freeze.own(self)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FairnessReport:
    """How a predictor treats groups.

    Attributes
    ----------
    groups, gaps
        Measures by group, and the gaps with their intervals; no groups if the target is continuous.
    by_source
        The same for the rows of each source.
    counterfactual
        The counterfactual check under the model; under the worst of several models. None without a
        model, or if the predictor is only an array.
    by_model, weights
        The counterfactual check under each model, and how probable the models are if they come from
        a belief over graphs.
    compared
        The group measures of fits under a bound, by what they were asked for; each row is scored by
        a fit to other rows.
    """

    groups: Mapping[str, Group]
    gaps: Gaps | None
    by_source: Mapping[str, GroupFairness]
    counterfactual: CounterfactualFairness | None
    by_model: tuple[CounterfactualFairness, ...]
    level: float
    notes: tuple[str, ...]
    assumptions: tuple[str, ...]
    weights: tuple[float, ...] = ()
    compared: Mapping[str, GroupFairness] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _freeze.own(self)

    def __repr__(self) -> str:
        gap = None if self.gaps is None else self.gaps.selection_difference
        found = "" if gap is None else f", selection difference {gap.value:.4g}"
        return f"FairnessReport({len(self.groups)} groups{found})"

    def to_html(self) -> str:
        """The whole audit as a page that stands alone: no scripts, nothing loaded."""
        from consilience.show.audit_page import audit_page

        return audit_page(self)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)


def fairness(
    predictor: Predictor,
    table: Rows,
    *,
    protected: str,
    target: str,
    positive: Any = None,
    model: Network | Sequence[Network] | GraphBelief | None = None,
    mechanism: Mechanism | None = None,
    threshold: float = 0.5,
    eps: Sequence[float] = EPS,
    level: float = 0.95,
    seed: Seed = 1,
    compare: Sequence[FairWay] = (),
) -> FairnessReport:
    """How a predictor treats the groups of a protected attribute, by source and in all.

    Parameters
    ----------
    predictor
        A network, whose posterior of the target is the score; a function of a table; or the
        predictions as an array (group measures only). Predictions are scores between 0 and 1, truth
        values, or states of the target.
    protected
        The attribute, which may be the source itself.
    target, positive
        What is predicted, and its state that counts as selected; None for a continuous target,
        which has no group measures.
    model
        A network, or several, that say what the attribute causes; or a belief over graphs
        (:func:`consilience.average`), of which the most probable ones are used.
    mechanism
        How discrete features answer in two worlds; see :mod:`consilience.causal.couplings`. Without
        one, discrete features have the bounds over all mechanisms alone.
    threshold
        Scores of at least this much select.
    eps
        Where delta(eps) is wanted.
    level, seed
        Of the intervals.
    compare
        Bounds, ``BoundedCorrelation()`` and ``BoundedCovariance()``: regressions that are fitted
        under them to rows of the table without gaps stand in the report beside the predictor, as
        comparisons and not as a recommendation.
    """
    rng = _check.generator(seed)
    _check.share("fairness", level=level)
    _check.finite("fairness", threshold=threshold)
    if not len(eps):
        raise InputError("fairness: eps must be numbers of zero or more, got none.")
    for one in eps:
        _check.non_negative("fairness", eps=one)
    table = (
        as_rows_of(predictor.variables, predictor.source, table)
        if isinstance(predictor, Network)
        else as_table(table)
    )
    _check.known(
        "variable",
        [protected, target],
        [*table.variables, *([table.source] if table.source else [])],
    )
    if protected == target:
        raise InputError(
            f"fairness: {target!r} is the target and cannot be protected.", parameter="protected"
        )
    if target in table.variables and not table.variables[target].is_continuous:
        check_state("fairness", table.variables[target], positive, parameter="positive")
    predict = _score_function(predictor, target, positive)
    scores = _numbers(predict(table) if predict else predictor, table, target, positive)
    notes: list[str] = []
    groups: dict[str, Group] = {}
    gaps, by_source = None, {}
    if positive is not None:
        task = _Measured(table, protected, target, positive, scores, threshold)
        notes += task.notes()
        whole = task.fairness(np.ones(table.n_rows, bool), level, rng)
        groups, gaps = dict(whole.groups), whole.gaps
        by_source = task.by_source(level, rng)
        notes += whole.gaps.notes
    compared, about = _compared(table, protected, target, positive, compare=compare, level=level)
    notes += about
    models, weights, told = _models(model)
    notes += told
    checks = _checks(
        predictor,
        predict,
        table,
        models,
        protected=protected,
        target=target,
        mechanism=mechanism,
        eps=eps,
        seed=seed,
    )
    worst = max(checks, key=_badness, default=None)
    return FairnessReport(
        groups,
        gaps,
        by_source,
        worst,
        tuple(checks),
        level,
        tuple(notes),
        (ROWS, *_assumed(model, worst)),
        weights,
        compared,
    )


def _compared(
    table: Table,
    protected: str,
    target: str,
    positive: Any,
    *,
    compare: Sequence[FairWay],
    level: float,
) -> tuple[dict[str, GroupFairness], list[str]]:
    """The group measures of fits under a bound, and what to tell about them."""
    if not compare:
        return {}, []
    for way in compare:
        if not isinstance(way, FairWay):
            raise InputError(
                "fairness: compare must be bounds such as cs.causal.BoundedCorrelation(), got "
                f"{way!r}.",
                parameter="compare",
            )
    if positive is None or protected == table.source:
        raise InputError(
            "fairness: fits under a bound are compared for a discrete target and an attribute that "
            "is a column.",
            parameter="compare",
        )
    is_complete = is_complete_for(table, list(table.variables))
    rows = table.take(is_complete)
    every = np.ones(rows.n_rows, bool)
    about = {"target": target, "protected": protected, "positive": positive, "seed": SPLIT}
    found = {}
    for way in compare:
        scores = left_out_scores(rows, by=way, **about)
        task = _Measured(rows, protected, target, positive, scores, 0.5)
        found[repr(way)] = task.fairness(every, level, np.random.default_rng(SPLIT))
    left = int(table.n_rows - rows.n_rows)
    gaps = f" They are fitted to the {rows.n_rows:,} rows without gaps." if left else ""
    return found, [BESIDE + gaps]


def _badness(check: CounterfactualFairness) -> float:
    """How much changes; the most that can, where no mechanism was named."""
    curve = check.curve.high if check.curve.mean is None else check.curve.mean
    return 0.0 if curve is None else float(curve.sum())


def _models(
    model: Network | Sequence[Network] | GraphBelief | None,
) -> tuple[list[Network], tuple[float, ...], list[str]]:
    """The networks to judge under, their weights in a belief, and what to tell."""
    if model is None:
        return [], (), []
    if isinstance(model, Network):
        return [model], (), []
    if not isinstance(model, GraphBelief):
        several = list(model) if isinstance(model, Sequence) else []
        if not several or not all(isinstance(one, Network) for one in several):
            raise InputError(
                "fairness: model must be a Network, several networks, or a belief over graphs "
                f"(cs.average), got {model!r}.",
                parameter="model",
            )
        return several, (), []
    chosen = sorted(model.networks(), key=lambda one: -one[1])[:MOST_MODELS]
    weights = tuple(weight for _, weight in chosen)
    share = (
        f"Judged under {len(chosen):,} of {len(model.graphs):,} graphs, which have "
        f"{sum(weights):.1%} of the belief."
    )
    return [net for net, _ in chosen], weights, [share]


def _assumed(model: Any, worst: CounterfactualFairness | None) -> tuple[str, ...]:
    learned = (LEARNED,) if isinstance(model, GraphBelief) else ()
    return () if worst is None else (*worst.assumptions, *learned)


def _checks(
    predictor: Any,
    predict: Callable[[Table], Floats] | None,
    table: Table,
    models: Sequence[Network],
    *,
    protected: str,
    target: str,
    mechanism: Mechanism | None,
    eps: Sequence[float],
    seed: Seed,
) -> list[CounterfactualFairness]:
    if models and predict is None:
        raise InputError(
            "fairness: an array of predictions has group measures only; the counterfactual check "
            "asks the predictor about other rows, so give a network or a function.",
            parameter="predictor",
        )
    for net in models:
        _check.known("node", [protected], net.variables)
    return [
        audit(
            net,
            table,
            predict,  # type: ignore[arg-type]
            protected=protected,
            target=target,
            uses=_uses(predictor, table, target),
            mechanism=mechanism,
            eps=eps,
            seed=seed,
        )
        for net in models
    ]


def _uses(predictor: Any, table: Table, target: str) -> frozenset[str]:
    """The columns that a predictor may depend on."""
    if isinstance(predictor, Network):
        blanket = predictor.dag.markov_blanket(target)
        is_recorded = blanket <= frozenset(table.variables)
        return blanket if is_recorded else frozenset(predictor.variables) - {target}
    named = getattr(predictor, "columns", None)
    return frozenset(table.variables) - {target} if named is None else frozenset(named)


def _score_function(predictor: Any, target: str, positive: Any) -> Callable[[Table], Floats] | None:
    """The predictor as a function from a table to one number for each row; None for an array."""
    if isinstance(predictor, Network):
        net = predictor
        _check.known("node", [target], net.variables)
        variable = net.variables[target]
        column = 0 if variable.is_continuous else variable.code(positive)
        return lambda table: net.posteriors(_about(table, net), target)[:, column]
    if callable(predictor):
        return lambda table: _numbers(predictor(table), table, target, positive)
    return None


def _about(table: Table, net: Network) -> Table:
    """The rows as the network knows them; nodes that the rows lack are hidden."""
    return only_columns(table, frozenset(table.variables), net)


def _numbers(found: Any, table: Table, target: str, positive: Any) -> Floats:
    """Predictions as numbers: scores as they are, truth values and states as 0 and 1."""
    values = np.asarray(found)
    if values.ndim == 2 and not table.variables[target].is_continuous:
        values = values[:, table.variables[target].code(positive)]
    if values.shape != (table.n_rows,):
        raise DataError(
            f"predictions must have one number for each of {table.n_rows:,} rows, got shape "
            f"{values.shape}."
        )
    if values.dtype.kind not in "biuf":
        for one in np.unique(values.astype(str)):
            table.variables[target].code(one)
        return (values.astype(str) == str(positive)) * 1.0
    if not np.all(np.isfinite(values.astype(float))):
        raise DataError("predictions must be numbers; some are missing or infinite.")
    return values.astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class _Measured:
    """Rows with what was predicted for them and what is true."""

    table: Table
    protected: str
    target: str
    positive: Any
    scores: Floats
    threshold: float

    def notes(self) -> list[str]:
        left_out = int((~self._is_known()).sum())
        if not left_out:
            return []
        return [f"{left_out:,} rows without {self.protected!r} or {self.target!r} are left out."]

    def fairness(self, rows: Mask, level: float, rng: np.random.Generator) -> GroupFairness:
        known = rows & self._is_known()
        truth = self.table.column(self.target) == self.table.variables[self.target].code(
            self.positive
        )
        weights = self.table.weights
        is_score = bool(np.any((self.scores != 0) & (self.scores != 1)))
        groups = groups_of(
            {name: known & mask for name, mask in self._groups().items()},
            selected=self.scores >= self.threshold,
            truth=np.asarray(truth, bool),
            scores=self.scores if is_score else None,
            weights=np.ones(self.table.n_rows) if weights is None else np.asarray(weights, float),
        )
        return GroupFairness(groups, gaps_of(groups, level=level, rng=rng))

    def by_source(self, level: float, rng: np.random.Generator) -> dict[str, GroupFairness]:
        if self.table.source is None or self.table.source == self.protected:
            return {}
        codes = np.asarray(self.table.source_codes)
        return {
            name: self.fairness(codes == code, level, rng)
            for code, name in enumerate(self.table.sources)
        }

    def _groups(self) -> dict[str, Mask]:
        column = np.asarray(self.table.column(self.protected))
        variable = self.table.schema[self.protected]
        if variable.is_continuous:
            values = np.unique(column[~np.isnan(column)])
            return {f"{value:g}": column == value for value in values}
        return {name: column == code for code, name in enumerate(variable.discrete_states)}

    def _is_known(self) -> Mask:
        known = np.ones(self.table.n_rows, bool)
        for name in (self.protected, self.target):
            column = np.asarray(self.table.column(name))
            known &= ~np.isnan(column) if column.dtype.kind == "f" else column >= 0
        return known
