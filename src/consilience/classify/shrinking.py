r"""Calibration for one class: how strongly the tables and regressions of a network should shrink.

A network that predicts a class is rarely true. Naive Bayes counts what two features share twice,
so its probabilities are too sure of themselves; stronger shrinkage of P(X | class) towards P(X)
repairs that without leaving the model. Tables are a chain (:class:`HDC`) with learned
concentrations :math:`s`; in the families that the class is part of they are multiplied by
:math:`\kappa_{par}` at the levels that drop a parent and by :math:`\kappa_{src}` at the one that
drops the source, and a pseudo-count is added to every cell. Regressions of continuous features are
a chain too (``regression_chain.py``), and go the share :math:`\lambda` of the way to the regression
that does not know the class. Every choice is judged by its gain over the class prior, less half the
standard error of that,

.. math:: \sum_i d_i - \frac12 \sqrt{\sum_i (d_i - \bar d)^2}
    - \frac{(\log \frac{\kappa_{par}}{16})^2 + (\log \kappa_{src})^2}{2 (\log 8)^2}, \qquad
    d_i = \log \frac{P_{-i}(c_i \mid x_i, f_i)}{P_{-i}(c_i)}

where :math:`P_{-i}` has row :math:`i` left out; nothing is fitted anew for it (``left_out.py``).
Of several choices the best looks better than it is, and the more so the bolder it is: a bold one
gains much in some rows and loses much in others. The standard error takes that off, where there are
few rows or none that the features tell apart; with many it hardly matters.
A graph that was learned from the same rows would look better than it is, for it was chosen to fit
them (a tree of features that say nothing had 0.07 nats per row less than the class prior on the 60
rows it was learned from, and 0.15 more on others). So up to 1,000 rows are dealt into five folds,
the graph is learned anew without each of them, and the rows of a fold are judged by that graph;
with more rows the graph hardly depends on one of them.

The choices are those of a grid: first :math:`\kappa_{par}`, the pseudo-count and one
:math:`\lambda` for all regressions, then :math:`\kappa_{src}`, then the first two numbers once
more, and last the :math:`\lambda` of each regression, twice over, with the log prior
:math:`-(\log \frac{1 - \lambda}{1 - \lambda_0})^2 / 2 (\log 3)^2` around the common one. The
pseudo-count is the one whose points have the largest weight :math:`\exp(\text{score})` together;
the factors are the weighted geometric means over its points, and :math:`1 - \lambda` a weighted
mean. (The best single point is a clearly worse choice.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_softmax, softmax

from consilience import _check
from consilience._typing import Floats, Integers, Seed
from consilience.classify.left_out import GraphChains, LeftOut, Shrinking, shrunken_means
from consilience.classify.regression_chain import RegressionChain, fitted_regressions
from consilience.classify.structures import Structure, check_structure, dag_of
from consilience.data.door import Rows, as_table
from consilience.data.table import Table
from consilience.data.variable import Schema
from consilience.distributions.categorical import Categorical
from consilience.distributions.linear_gaussian import LinearGaussian
from consilience.errors import DataError, InputError
from consilience.graph.dag import DAG
from consilience.network.network import Network
from consilience.parameters.backoff import SOURCE
from consilience.parameters.chain import HDC, FittedChain, fitted_chains
from consilience.parameters.fit_record import Statistics
from consilience.parameters.fitting import fit_task
from consilience.statistics.counts import Counts
from consilience.statistics.moments import Moments

__all__ = ["Calibrated", "calibrated_chain"]

PARENT_FACTORS = (0.5, 1.0, 4.0, 16.0, 64.0, 256.0)
SOURCE_FACTORS = (0.25, 1.0, 8.0, 64.0)
PSEUDO_COUNTS = (0.0, 0.1, 1.0)
SHARES = (0.0, 0.25, 0.5, 0.75, 0.9, 0.97, 1.0)

FIRST_SHARE = 0.5
"""By what incomplete families are summed out at first: as learned, regressions are too sure."""

LOG_SD = float(np.log(8.0))
"""Standard deviation of the prior of a log factor."""

USUAL_FACTOR = 16.0
"""Median of the prior of the factor of parents: graphs of classes are too sure as a rule."""

ERRORS = 0.5
"""Standard errors that are taken off a gain."""

LOG_SD_KEPT = float(np.log(3.0))
"""The same of what a regression keeps, one less its share, around what all keep."""

LEAST_KEPT = 0.03
"""What a regression that keeps less than this counts for in that prior."""

SWEEPS = 2

N_FOLDS, MOST_FOLDED = 5, 1000
"""Of at most so many rows a graph is learned without each fold in turn."""

MOST_ROWS = 2000
"""Of more rows a random sample of this size is scored."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """Tables and regressions whose shrinkage suits the prediction of a class.

    It needs rows and a class beside counts, so it stands where these are known: as the estimator
    of the classifiers, whose default it is, of :func:`cross_evaluate`, and in
    :func:`calibrated_chain`.

    Parameters
    ----------
    estimator
        The chain to be calibrated.
    """

    estimator: HDC = field(default_factory=HDC)
    needs_class: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.estimator, HDC):
            raise InputError(
                f"Calibrated: only the shrinkage of HDC can be calibrated, got {self.estimator!r}. "
                "Use Calibrated(), or the estimator without it.",
                parameter="estimator",
            )


def calibrated_chain(
    structure: Structure,
    table: Rows,
    target: str,
    choice: Calibrated | None = None,
    *,
    seed: Seed = 0,
) -> Network:
    """The network of a graph whose shrinkage suits the prediction of a class.

    The head of the module has the method. It predicts the class better where the graph is wrong, at
    the cost of the joint likelihood: the network is made for the class, and for other questions
    that of ``cs.fit(dag, table, cs.HDC())`` is the better one. The record tells what was found.
    Discrete children of continuous parents (logistic nodes) are fitted as ever. Rows count for the
    families that they are complete for.

    Time grows with the points of the grid (18, and with sources 10 more) and the back-off orders in
    use, and hardly with the rows.

    Parameters
    ----------
    structure
        The graph, of which the target is a node; or a function of a table and its target that gives
        one, such as ``tan``. A graph that was learned from few rows should be given as the
        function, which is then called six times in all.
    table
        Rows of one or many sources; those without a class are not scored, gaps are summed out.
    target
        The class; discrete.
    choice
        With the chain to be calibrated; by default ``Calibrated()``.
    seed
        Of the sample that is scored if there are more than 2,000 rows.

    Examples
    --------
    One symptom under three names makes naive Bayes too sure: of the ill 7 in 10 have a fever, of
    the others 3, so that the class of a row with a fever has the probability 0.7.

    >>> import consilience as cs
    >>> fever = (["yes"] * 7 + ["no"] * 3) * 10 + (["yes"] * 3 + ["no"] * 7) * 10
    >>> ill = ["yes"] * 100 + ["no"] * 100
    >>> table = cs.read({"ill": ill, "fever": fever, "hot": fever, "warm": fever})
    >>> symptoms = {"fever": "yes", "hot": "yes", "warm": "yes"}
    >>> dag = cs.naive_bayes(table, "ill")
    >>> round(cs.fit(dag, table, cs.HDC()).query("ill", given=symptoms)["yes"], 2)
    0.91
    >>> round(calibrated_chain(dag, table, "ill").query("ill", given=symptoms)["yes"], 2)
    0.7
    """
    choice = Calibrated() if choice is None else choice
    check_structure(structure)
    table = _without_only_source(as_table(table), structure)
    _check.known("variable", [target], table.variables)
    scored = _scored_rows(table, target, seed)
    dag = dag_of(structure, table, target)
    calibrating = _Calibrating(choice.estimator)
    task = fit_task(dag, table, calibrating)
    found = task.statistics()
    graphs, fold = [found], np.zeros(len(scored), np.int64)
    if not isinstance(structure, DAG) and not found.fits and len(scored) <= MOST_FOLDED:
        fold = _folds(table.take(scored), target)
        learned = _learned(
            structure, table, target, [scored[fold == k] for k in range(fold.max() + 1)]
        )
        graphs = [fit_task(one, table, calibrating).statistics() for one in learned]
    rows = table.take(scored)
    calibrating.calibrate(found, graphs, rows, target, graph=fold)
    net = task.network(found)
    notes = (*net.record.notes, calibrating.note(rows, target))
    record = replace(net.record, method=f"{choice!r} for {target!r}", notes=notes)
    return Network(net.distributions, net.source, record)


def _without_only_source(table: Table, structure: Structure) -> Table:
    """The table without its source if that is one only, and no node of a graph that is given."""
    is_node = isinstance(structure, DAG) and table.source in structure.nodes
    if len(table.sources) != 1 or is_node:
        return table
    return Table(
        Schema(table.variables),
        table.columns,
        weights=table.weights,
        origins=table.origins,
        remarks=table.remarks,
    )


def _folds(rows: Table, target: str) -> Integers:
    """The fold of each row, which depends on its values alone: equal rows stay together."""
    names = [target, *sorted(set(rows.variables) - {target})]
    if rows.source is not None:
        names.append(rows.source)
    columns = [_by_name(rows, name) for name in names]
    _, rank = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    dealt = rank.ravel() % N_FOLDS
    return np.unique(dealt, return_inverse=True)[1]


def _by_name(rows: Table, name: str) -> Floats:
    """A column as numbers: states by the order of their names, missing values first."""
    column, variable = rows.column(name), rows.schema[name]
    if variable.is_continuous:
        return np.nan_to_num(column, nan=-np.inf)
    place = np.argsort(np.argsort(np.array(variable.discrete_states)))
    return np.where(column >= 0, np.append(place, -1)[column], -1).astype(float)


def _learned(
    structure: Structure, table: Table, target: str, folds: Sequence[Integers]
) -> list[DAG]:
    """The graph without the rows of each fold; that of all rows if nothing would be left."""
    found = []
    for rows in folds:
        kept = np.ones(table.n_rows, np.bool_)
        kept[rows] = len(rows) == table.n_rows
        found.append(dag_of(structure, table.take(kept), target))
    return found


@dataclass(slots=True, eq=False)
class _Calibrating:
    """An estimator of tables and regressions that was calibrated on rows before it is asked."""

    chain: HDC
    tables: dict[str, Categorical] = field(default_factory=dict)
    numbers: dict[str, LinearGaussian] = field(default_factory=dict)
    shrinking: Shrinking = field(default_factory=Shrinking)
    shrunken: tuple[tuple[str, ...], ...] = ()
    shares: dict[str, float] = field(default_factory=dict)
    by_source: ClassVar[bool] = HDC.by_source
    adds_new_source: ClassVar[bool] = HDC.adds_new_source

    def calibrate(
        self,
        found: Statistics,
        graphs: Sequence[Statistics],
        rows: Table,
        target: str,
        *,
        graph: Integers,
    ) -> None:
        """Choose the shrinking by the graphs of the rows, and keep what follows for the network."""
        every = [found, *graphs]
        counts = {one.family: one for each in every for one in each.counts}
        moments = {_names(one): one for each in every for one in each.moments}
        fitted = fitted_chains(list(counts.values()), self.chain)
        chains = dict(zip(counts, fitted, strict=True))
        numbers = {key: fitted_regressions(one, rows, target) for key, one in moments.items()}
        asked = [
            GraphChains(
                [chains[one.family] for one in each.counts],
                [numbers[_names(one)] for one in each.moments],
                [one.distribution for one in each.fits],
            )
            for each in graphs
        ]
        left_out = LeftOut.of(asked, rows, target, graph)
        self.shrinking = _chosen(left_out)
        self.shrunken = tuple(one.key for one in left_out.regressions)
        self.tables = {
            one.child.name: _table(chains[one.family], self.shrinking, target)
            for one in found.counts
        }
        self.numbers = {
            one.names[-1]: self._regression(numbers[_names(one)], target) for one in found.moments
        }

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The tables, as calibrated."""
        return [self.tables[counts.child.name] for counts in families]

    def regress(self, families: Sequence[Moments]) -> list[LinearGaussian]:
        """The regressions, as calibrated."""
        return [self.numbers[moments.names[-1]] for moments in families]

    def _regression(self, chains: Sequence[RegressionChain], target: str) -> LinearGaussian:
        key = _names(chains[0].moments)
        if target not in key:
            return chains[0].local()
        order, share, factor = self._of_regression(key, len(chains))
        self.shares[key[0]] = share
        return chains[order].local(share, factor)

    def _of_regression(self, key: tuple[str, ...], n_orders: int) -> tuple[int, float, float]:
        """Order, share and factor of the source of a family.

        One that no graph without some rows has is not trusted with other discrete parents than the
        class, and goes as far as any other of the child; if there is none, all the way: the class
        then says nothing.
        """
        if key in self.shrunken:
            return self.shrinking.of_regression(self.shrunken.index(key))
        alike = [k for k, other in enumerate(self.shrunken) if other[0] == key[0]]
        share = max((self.shrinking.of_regression(k)[1] for k in alike), default=1.0)
        return n_orders - 1, share, self.shrinking.source_factor

    def note(self, rows: Table, target: str) -> str:
        """What was found, in words."""
        found = self.shrinking
        of_source = f", of the source by {found.source_factor:.3g}" if rows.source else ""
        shares = [f"{child!r} {share:.2f}" for child, share in self.shares.items()]
        of_numbers = (
            " Regressions went this share of the way to those without the class: "
            f"{', '.join(shares)}."
            if shares
            else ""
        )
        return (
            f"Calibrated for {target!r} on {rows.n_rows:,} rows. In its families, "
            f"concentrations of parents were multiplied by {found.parent_factor:.3g}{of_source}; "
            f"{found.pseudo_count:g} was added to every count.{of_numbers} The network is made to "
            f"predict {target!r}: its joint likelihood is not that of the estimator without it."
        )


def _names(moments: Moments) -> tuple[str, ...]:
    """Names of the child and its parents."""
    return (moments.names[-1], *(one.name for one in moments.given), *moments.names[:-1])


def _table(chain: FittedChain, shrinking: Shrinking, target: str) -> Categorical:
    if target not in chain.counts.family.variables:
        return chain.local(chain.means)
    return chain.local(shrunken_means(chain, shrinking))


def _scored_rows(table: Table, target: str, seed: Seed) -> Integers:
    """Positions of the rows whose class is known, or of a sample of them."""
    if table.variables[target].is_continuous:
        raise InputError(
            f"the target {target!r} is continuous; a class has states. Read it with discrete=, or "
            "cut it with discretize=.",
            variable=target,
        )
    is_known = table.column(target) >= 0
    if table.weights is not None:
        is_known &= table.weights > 0
    rows = np.flatnonzero(is_known)
    if not rows.size:
        raise DataError(
            f"no row has a value of {target!r}, so nothing can be calibrated.", column=target
        )
    if len(rows) > MOST_ROWS:
        rows = np.sort(_check.generator(seed).choice(rows, MOST_ROWS, replace=False))
    return rows


def _chosen(left_out: LeftOut) -> Shrinking:
    """The shrinking that predicts the classes of the rows best, each left out."""
    kinds = _kinds(left_out)
    has_numbers = bool(left_out.regressions)
    score = _Score(left_out)
    factors = PARENT_FACTORS if kinds - {SOURCE} else (1.0,)
    shares = SHARES if has_numbers else (0.0,)
    first = [_point(left_out, one) for one in product(factors, (1.0,), PSEUDO_COUNTS, shares)]
    found = _averaged(first, score.of(first))
    if SOURCE in kinds:
        points = [replace(found, source_factor=factor) for factor in SOURCE_FACTORS]
        found = _averaged(points, score.of(points))
        score.rebase(found)
        again = product(factors, (found.source_factor,), (found.pseudo_count,), shares)
        points = [_point(left_out, one) for one in again]
        found = _averaged(points, score.of(points))
    elif not left_out.is_covered.all():
        score.rebase(found)
        found = _averaged(first, score.of(first))
    return _by_regression(found, score, left_out) if has_numbers else found


class _Score:
    """Scores of shrinkings; what families say is computed once for each."""

    def __init__(self, left_out: LeftOut) -> None:
        self._left_out = left_out
        self._truth = left_out.rows.column(left_out.target)
        weights = left_out.rows.weights
        self._weights = np.ones(len(self._truth)) if weights is None else weights.astype(float)
        self._prior = _log_prior(self._truth, self._weights, left_out.n_classes)
        self._known: dict[Any, Floats] = {}
        self._outside = left_out.outside(_point(left_out, (1.0, 1.0, 0.0, FIRST_SHARE)))

    def rebase(self, base: Shrinking) -> None:
        """Sum out what is missing by the network of another shrinking."""
        self._outside = self._left_out.outside(base)

    def of(self, points: Sequence[Shrinking]) -> Floats:
        """What is gained over the class prior, and the log prior of the factors."""
        return np.array([self._one(point) for point in points])

    def _one(self, point: Shrinking) -> float:
        logs = self._outside + self._of_tables(point)
        for k in range(len(self._left_out.regressions)):
            logs = logs + self._of_number(k, point.of_regression(k))
        of_truth = log_softmax(logs, axis=1)[np.arange(len(self._truth)), self._truth]
        gains, weights = of_truth - self._prior, self._weights
        mean = weights @ gains / weights.sum()
        error = np.sqrt(weights @ (gains - mean) ** 2)
        factors = np.log([point.parent_factor / USUAL_FACTOR, point.source_factor])
        return float(weights @ gains - ERRORS * error - (factors @ factors) / (2 * LOG_SD**2))

    def _of_tables(self, point: Shrinking) -> Floats:
        key = (point.parent_factor, point.source_factor, point.pseudo_count)
        return self._kept(key, lambda: self._left_out.of_tables(point))

    def _of_number(self, k: int, point: tuple[int, float, float]) -> Floats:
        return self._kept((k, point), lambda: self._left_out.of_regression(k, *point))

    def _kept(self, key: Any, made: Callable[[], Floats]) -> Floats:
        if key not in self._known:
            self._known[key] = made()
        return self._known[key]


def _log_prior(truth: Integers, weights: Floats, n_classes: int) -> Floats:
    """Log share of the class of each row among the others and one row spread over all classes."""
    own = np.minimum(weights, 1.0)
    total = np.bincount(truth, weights, minlength=n_classes)
    return np.asarray(np.log((total[truth] - own + 1 / n_classes) / (total.sum() - own + 1)))


def _kinds(left_out: LeftOut) -> set[int]:
    """Kinds of the variables that some level of a family of the class drops."""
    ways = [way for family in left_out.families for way in family.chain.ways]
    kinds = {int(kind) for way in ways for kind in way.kinds[1:]}
    return kinds | {SOURCE for one in left_out.regressions if one.chains[0].has_source}


def _point(left_out: LeftOut, at: tuple[float, float, float, float]) -> Shrinking:
    parent, source, pseudo_count, share = at
    return Shrinking(parent, source, pseudo_count, (share,) * len(left_out.regressions))


def _averaged(points: Sequence[Shrinking], scores: Floats) -> Shrinking:
    """The pseudo-count of the largest summed weight, and the mean of the rest at it."""
    weights = softmax(scores)
    pseudo_counts = np.array([point.pseudo_count for point in points])
    best = max(PSEUDO_COUNTS, key=lambda value: float(weights[pseudo_counts == value].sum()))
    weights = np.where(pseudo_counts == best, weights, 0.0) / weights[pseudo_counts == best].sum()
    logs = np.log([[point.parent_factor, point.source_factor] for point in points])
    parent_factor, source_factor = np.exp(weights @ logs)
    shares = weights @ np.array([point.shares for point in points])
    return Shrinking(float(parent_factor), float(source_factor), best, tuple(shares.tolist()))


def _by_regression(found: Shrinking, score: _Score, left_out: LeftOut) -> Shrinking:
    """The shrinking with an order and a share for each regression, around the common share."""
    log_kept = np.log(np.maximum(1 - np.array(SHARES), LEAST_KEPT))
    shares, orders = list(found.shares), [0] * len(found.shares)
    common = np.log(max(1 - shares[0], LEAST_KEPT))
    prior = -((log_kept - common) ** 2) / (2 * LOG_SD_KEPT**2)
    for _ in range(SWEEPS):
        for k, one in enumerate(left_out.regressions):
            scores = np.empty((len(one.chains), len(SHARES)))
            for order in range(len(one.chains)):
                tried = [
                    replace(
                        found,
                        shares=(*shares[:k], share, *shares[k + 1 :]),
                        orders=(*orders[:k], order, *orders[k + 1 :]),
                    )
                    for share in SHARES
                ]
                scores[order] = score.of(tried) + prior
            weights = softmax(scores)
            orders[k] = int(weights.sum(axis=1).argmax())
            shares[k] = float(softmax(scores[orders[k]]) @ np.array(SHARES))
    return replace(found, shares=tuple(shares), orders=tuple(orders))
