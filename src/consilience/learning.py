r"""The verb :func:`fit`: check the input, choose, dispatch.

Each family is fitted by its kind: a discrete child with discrete parents from counts, a continuous
child from centred moments, a discrete child with continuous parents (a logistic node) by Newton's
method on an engine. ``parameters/fitting.py`` explains what several sources make of the network.

Rows with gaps are all used, by default by EM, wherever they are. Only families of logistic nodes
need ``AvailableCases()``, which leaves them out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from consilience import _check
from consilience._typing import Seed
from consilience.data.door import Rows
from consilience.data.table import Table
from consilience.errors import InputError
from consilience.graph.dag import DAG
from consilience.incomplete.em import EM, climb_rows, em, refuse_logistic
from consilience.incomplete.hidden import Hidden, engine_with_hidden
from consilience.incomplete.variational import VariationalBayes, variational
from consilience.network.network import Network
from consilience.parameters.dirichlet import Dirichlet
from consilience.parameters.estimator import Estimator, LogisticEstimator, Regressor
from consilience.parameters.fit_record import ROUNDING, Statistics
from consilience.parameters.fitting import fit_task
from consilience.parameters.known_numbers import Known, with_known
from consilience.statistics.counts import MEMORY_LIMIT
from consilience.statistics.gather import engine_of, held_rows
from consilience.statistics.request import Engine

__all__ = ["AvailableCases", "Gaps", "fit"]


@dataclass(frozen=True, slots=True)
class AvailableCases:
    """Each family is estimated from the rows that are complete for it; the others are left out.

    Sound only if values are missing completely at random (or, for a child alone, if what is missing
    depends on its parents). Nothing is iterated, so it is fast; the record says how many rows each
    family could not use.
    """


Gaps: TypeAlias = EM | VariationalBayes | AvailableCases
"""What to do about missing values when a network is fitted."""


def fit(
    dag: DAG,
    rows: Rows | Engine,
    estimator: Estimator | Regressor | None = None,
    *,
    gaussian: Regressor | None = None,
    logistic: LogisticEstimator | None = None,
    gaps: Gaps | None = None,
    hidden: Hidden | None = None,
    known: Mapping[str, Known] | None = None,
    seed: Seed = 0,
    memory_limit: float = MEMORY_LIMIT,
) -> Network:
    """The network with this graph whose local distributions are estimated from the rows.

    If nothing is missing, the statistics of the families say all. Rows with gaps are used by EM
    by default; the record says what was done, how many rows are complete for each family
    and how many are not, and how many parent states have too few rows of their own (in each
    source, where the sources are kept apart).

    Parameters
    ----------
    dag
        The graph; its nodes are variables of the table, and the source if the graph is to say what
        depends on it.
    rows
        A table or an engine; or a frame or path, which is read by the default rules.
    estimator
        How counts become tables; by default ``HDC()``, which ties parent states and sources as
        closely as the rows say. It serves continuous children too if it can, as ``MLE()`` does. A
        table without rows is refused, but for a chosen ``HDC()``, ``HDS()``, ``HDMCS()``,
        ``HDMJS()`` or ``Dirichlet()`` of discrete nodes, which answers with its prior.
    gaussian
        How moments become the regressions of continuous children. By default it does with the
        sources what the estimator of tables does: ``TiedVariances()`` where they are pooled (or
        one), ``HierarchicalGaussian()`` where they are tied, ``Separate(TiedVariances())`` where
        they are apart.
    logistic
        How discrete children of continuous parents are fitted; by default ``LogisticRegression()``,
        ``HierarchicalLogistic()`` or ``Separate(LogisticRegression())`` in the same way.
    gaps
        What to do about missing values: ``EM()``, the default, ``VariationalBayes()`` (with a
        Dirichlet prior) or ``AvailableCases()``. :func:`consilience.em` and
        :func:`consilience.gaps.variational` give the whole story.
    hidden
        For each node of the graph that no row has a value of, the number of its states or their
        names, or ``float`` if it is continuous: a root then has mean 0 and sd 1, and its first
        recorded child rises with it, since no row tells its zero, unit and sign.
    known
        For some nodes what is not to be estimated, ``cs.estimators.Known``: an intercept, some
        coefficients, the sd, or a table.
    seed
        Of random starts, which hidden nodes need.
    memory_limit
        Bytes of all counts, of the tables of a family while it is estimated, and of its moments;
        more are refused before they are allocated.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"smoke": ["yes", "yes", "no", "no"], "cough": ["yes", "no", "no", "no"]})
    >>> net = cs.fit(cs.DAG([("smoke", "cough")]), table, cs.MLE())
    >>> net["cough"].table.tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    >>> mixed = cs.read({"drug": ["a", "a", "b", "b"], "weight": [1.5, 2.5, 5.5, 4.5]})
    >>> cs.fit(cs.DAG([("drug", "weight")]), mixed)["weight"].intercept.tolist()
    [2.0, 5.0]
    >>> line = cs.read({"x": [0.5, 1.5, 2.5, 3.5], "y": [1.5, 2.5, 5.5, 7.5]})
    >>> through_zero = {"y": cs.estimators.Known(intercept=0.0)}
    >>> cs.fit(cs.DAG([("x", "y")]), line, known=through_zero)["y"].coefficients.round(3).tolist()
    [2.119]
    """
    if gaps is not None and not isinstance(gaps, EM | VariationalBayes | AvailableCases):
        raise InputError(
            "fit: gaps must be a choice such as cs.EM(), cs.gaps.VariationalBayes() or "
            f"cs.AvailableCases(), got {gaps!r}.",
            parameter="gaps",
        )
    rows = held_rows(rows)
    numbers = _checked_known(known, gaps)
    if hidden and numbers:
        return _hidden_beside_known(
            dag,
            rows,
            (estimator, gaussian),
            gaps=gaps,
            hidden=hidden,
            known=numbers,
            seed=seed,
            memory_limit=memory_limit,
        )
    if hidden:
        return _filled(
            dag,
            rows,
            estimator,
            gaussian,
            gaps=gaps,
            hidden=hidden,
            seed=seed,
            memory_limit=memory_limit,
        )
    task = fit_task(
        dag, rows, estimator, gaussian=gaussian, logistic=logistic, memory_limit=memory_limit
    )
    task = with_known(task, numbers)
    seen = task.statistics()
    if isinstance(gaps, AvailableCases) or not _has_gaps(seen):
        return task.network(seen)
    refuse_logistic(task)
    if isinstance(gaps, VariationalBayes):
        return _filled(
            dag,
            rows,
            estimator,
            gaussian,
            gaps=gaps,
            hidden={},
            seed=seed,
            memory_limit=memory_limit,
        )
    return climb_rows(task, seen, gaps or EM(), seed=seed).network


def _checked_known(known: object, gaps: Gaps | None) -> Mapping[str, Known]:
    if known is None:
        return {}
    if not isinstance(known, Mapping):
        raise InputError(
            f"fit: known must map nodes to cs.estimators.Known(...), got {known!r}.",
            parameter="known",
        )
    if known and isinstance(gaps, VariationalBayes):
        raise InputError(
            "fit: known= goes with cs.EM() or cs.AvailableCases(), not with "
            "cs.gaps.VariationalBayes().",
            parameter="known",
        )
    return known


def _hidden_beside_known(
    dag: DAG,
    rows: Table | Engine,
    said: tuple[Estimator | Regressor | None, Regressor | None],
    *,
    gaps: Gaps | None,
    hidden: Hidden,
    known: Mapping[str, Known],
    seed: Seed,
    memory_limit: float,
) -> Network:
    """The network with hidden nodes and numbers that are kept, which no rule moves."""
    _refuse_available(gaps, hidden)
    task = fit_task(
        dag,
        engine_with_hidden(engine_of(rows), dag, hidden),
        said[0],
        gaussian=said[1],
        hidden=tuple(hidden),
        memory_limit=memory_limit,
    )
    refuse_logistic(task, hidden)
    kept = with_known(task, known)
    for name, one in known.items():
        _refuse_moved(name, one, dag, hidden)
    choice = gaps if isinstance(gaps, EM) else EM()
    return climb_rows(kept, kept.statistics(), choice, hidden=hidden, seed=seed).network


def _refuse_moved(name: str, known: Known, dag: DAG, hidden: Hidden) -> None:
    """Refuse numbers that depend on the unit of a hidden number, or the order of hidden states,
    both of which a rule sets.
    """
    family = (name, *dag.parents(name))
    levels = [node for node in family if node in hidden and hidden[node] is float]
    states = [node for node in family if node in hidden and hidden[node] is not float]
    is_moved = known.intercept is not None or known.coefficients or name in hidden
    if levels and is_moved:
        raise InputError(
            f"known: the numbers of {name!r} depend on the zero and the unit of {levels[0]!r}, "
            "which is hidden and has mean 0 and sd 1 by a rule. Only the sd of its children can "
            "be known beside it; cs.dynamic.fit keeps all.",
            variable=name,
        )
    if states and known.is_by_state:
        raise InputError(
            f"known: the numbers of {name!r} depend on the order of the states of {states[0]!r}, "
            "which are hidden and stand in the order of their frequency. Give numbers that do not "
            "differ by them, or use cs.dynamic.fit, which keeps the order.",
            variable=name,
        )


def _refuse_available(gaps: Gaps | None, hidden: Hidden) -> None:
    if isinstance(gaps, AvailableCases):
        raise InputError(
            f"fit: no row is complete for a hidden node ({_check.listed(hidden)}), so "
            "cs.AvailableCases() has nothing to go by. Use gaps=cs.EM().",
            parameter="gaps",
        )


def _filled(
    dag: DAG,
    rows: Table | Engine,
    estimator: Estimator | Regressor | None,
    gaussian: Regressor | None,
    *,
    gaps: Gaps | None,
    hidden: Hidden,
    seed: Seed,
    memory_limit: float,
) -> Network:
    """The network from rows with gaps, or with nodes that no row has a value of."""
    _refuse_available(gaps, hidden)
    assert not isinstance(gaps, AvailableCases)
    if isinstance(gaps, VariationalBayes):
        if estimator is not None and not isinstance(estimator, Dirichlet):
            raise InputError(
                "fit: cs.gaps.VariationalBayes() goes with a prior, cs.Dirichlet(...), got "
                f"{estimator!r}.",
                parameter="estimator",
            )
        return variational(
            dag, rows, estimator, choice=gaps, hidden=hidden, seed=seed, memory_limit=memory_limit
        ).network
    return em(
        dag,
        rows,
        estimator,
        gaussian=gaussian,
        choice=gaps,
        hidden=hidden,
        seed=seed,
        memory_limit=memory_limit,
    ).network


def _has_gaps(seen: Statistics) -> bool:
    missing = [
        *(one.n_incomplete.sum() / max(one.n_rows.sum() / one.scale, 1) for one in seen.counts),
        *(one.n_incomplete.sum() / max(one.n_rows.sum(), 1) for one in seen.moments),
        *(one.n_incomplete / max(one.n_rows + one.n_incomplete, 1) for one in seen.fits),
    ]
    return max(missing) > ROUNDING
