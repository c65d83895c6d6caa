r"""Numbers of a family that are known and not to be estimated.

With some coefficients :math:`b` of a regression known, the rest is the regression of
:math:`y - b^\top z` on the other parents, whose moments follow from those of the family. With the
intercept :math:`a` known as well, moments are taken around :math:`(0, a)` in place of the means:
least squares around them are those through that point. So every estimator serves unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from consilience import _check, _freeze
from consilience.distributions import Categorical, Distribution, LinearGaussian
from consilience.errors import InputError
from consilience.parameters.fitting import FitTask
from consilience.parameters.maximum_likelihood import MLE
from consilience.parameters.pooling import innermost
from consilience.parameters.tied_variances import TiedVariances
from consilience.statistics.counts import Counts
from consilience.statistics.moments import Moments

__all__ = ["Known", "WithKnown", "with_known"]


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What is known of a family; what is not said is estimated.

    Parameters
    ----------
    intercept
        Of a continuous node; a number, or one for each joint state of its discrete parents.
    coefficients
        Of some of its continuous parents, by name.
    sd
        Of what the regression leaves; positive.
    table
        All probabilities of a discrete node, one axis for each parent and the node last.

    Examples
    --------
    >>> Known(intercept=0.0, coefficients={"level(t-1)": 1.0})
    Known(intercept=0.0, coefficients={'level(t-1)': 1.0})
    """

    intercept: Any = None
    coefficients: Mapping[str, Any] | None = None
    sd: Any = None
    table: Any = None

    def __post_init__(self) -> None:
        if self.coefficients is not None and not isinstance(self.coefficients, Mapping):
            raise InputError(
                "Known: coefficients must map parents to numbers, such as {'level(t-1)': 1.0}, got "
                f"{self.coefficients!r}.",
                parameter="coefficients",
            )
        for name, value in (
            ("intercept", self.intercept),
            ("sd", self.sd),
            ("table", self.table),
            *((f"coefficient of {p!r}", b) for p, b in (self.coefficients or {}).items()),
        ):
            if value is not None and not _is_finite(value):
                raise InputError(f"Known: the {name} must be numbers, got {value!r}.")
        if self.sd is not None and (np.asarray(self.sd, float) <= 0).any():
            raise InputError(
                f"Known: sd must be positive, got {self.sd!r}. For a node that is a function of "
                "its parents take a small one.",
                parameter="sd",
            )
        _freeze.own(self)

    def __repr__(self) -> str:
        fields = ("intercept", "coefficients", "sd", "table")
        said = [(f, getattr(self, f)) for f in fields if getattr(self, f) is not None]
        words = [f"{f}={dict(v) if isinstance(v, Mapping) else v!r}" for f, v in said]
        return f"Known({', '.join(words)})"

    @property
    def is_by_state(self) -> bool:
        """Whether a number differs by states: a table, or one for each state of the parents."""
        numbers = (self.intercept, self.sd, *(self.coefficients or {}).values())
        return self.table is not None or any(np.ndim(one) > 0 for one in numbers)

    def check(self, name: str, discrete: Sequence[int], continuous: Sequence[str]) -> None:
        """Refuse what does not fit a regression with these parents."""
        if self.table is not None:
            raise InputError(f"known: {name!r} is continuous and has no table.", variable=name)
        for parent in self.coefficients or {}:
            if parent not in continuous:
                _check.unknown("continuous parent", parent, dict.fromkeys(continuous))
        for value in (self.intercept, self.sd, *(self.coefficients or {}).values()):
            if value is not None and np.shape(value) not in ((), tuple(discrete)):
                raise InputError(
                    f"known: the numbers of {name!r} must be single ones or have the shape "
                    f"{tuple(discrete)} of its discrete parents, got shape {np.shape(value)}.",
                    variable=name,
                )

    def check_table(self, name: str, shape: Sequence[int]) -> None:
        """Refuse what is no table of a discrete node of this shape."""
        table = np.asarray([] if self.table is None else self.table, float)
        others = (self.intercept, self.coefficients, self.sd)
        is_table = table.shape == tuple(shape) and np.allclose(table.sum(axis=-1), 1.0, atol=1e-9)
        if any(one is not None for one in others) or not (is_table and (table >= 0).all()):
            raise InputError(
                f"known: {name!r} is discrete, so its table of shape {tuple(shape)}, each row "
                "adding up to one, is what can be known of it.",
                variable=name,
            )


@dataclass(frozen=True, slots=True, eq=False)
class WithKnown:
    """An estimator that keeps what is known of some families, by the names of their children."""

    estimator: Any
    known: Mapping[str, Known]

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def by_source(self) -> bool:
        """Whether the sources are kept apart."""
        return bool(getattr(self.estimator, "by_source", False))

    @property
    def adds_new_source(self) -> bool:
        """Whether a source never seen has a state of its own."""
        return bool(getattr(self.estimator, "adds_new_source", False))

    def __repr__(self) -> str:
        return f"{self.estimator!r} with {', '.join(self.known)} known in part"

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The tables of all families, the known ones as they are."""
        found = self.estimator.estimate(families)
        return [self._table(one) if one.child.name in self.known else one for one in found]

    def regress(self, families: Sequence[Moments]) -> list[LinearGaussian]:
        """The regressions of all families; of those that are known in part, the rest of them."""
        known = [self.known.get(one.names[-1]) for one in families]
        rest = [
            one if its is None else self._with_point(_remainder(one, its), its)
            for one, its in zip(families, known, strict=True)
        ]
        found = self.estimator.regress(rest)
        return [
            local if its is None else _whole(local, one, its)
            for local, one, its in zip(found, families, known, strict=True)
        ]

    def n_known(self, local: Distribution) -> int:
        """How many free numbers of a distribution are known."""
        known = self.known.get(local.child.name)
        if known is None:
            return 0
        if not isinstance(local, LinearGaussian):
            return local.n_parameters
        told = (known.intercept, known.sd, *(known.coefficients or {}).values())
        return local.intercept.size * sum(one is not None for one in told)

    def notes(self, families: Sequence[Moments]) -> list[str]:
        """What to know about the regressions that nothing is known of."""
        others = [one for one in families if one.names[-1] not in self.known]
        return list(self.estimator.notes(others)) if others else []

    def _table(self, local: Categorical) -> Categorical:
        table = self.known[local.child.name].table
        whole = np.broadcast_to(np.asarray(table, float), local.table.shape)
        return Categorical(local.child, local.given, whole.copy())

    def _with_point(self, rest: Moments, known: Known) -> Moments:
        """What is left to regress, with a row at the known intercept in each joint state.

        Such a row leaves nothing, and so a known intercept takes no row from what is left to tell
        an unbiased variance. Joint states with too few rows get none: the others tell theirs.
        """
        inner = innermost(self.estimator)
        is_unbiased = isinstance(inner, MLE | TiedVariances) and inner.unbiased
        if known.intercept is None or not is_unbiased:
            return rest
        rows = rest if self.by_source else rest.pooled()
        weight = rows.weight + (rows.weight >= len(rows.names))
        return replace(rows, weight=weight)


def with_known(task: FitTask, known: Mapping[str, Known]) -> FitTask:
    """The task with estimators that keep what is known of some nodes, which is checked."""
    if not known:
        return task
    _check.known("node", known, task.kind)
    schema = task.engine.schema
    for name, one in known.items():
        if not isinstance(one, Known):
            raise InputError(
                f"known: what is known of {name!r} must be cs.dynamic.Known(...), got {one!r}.",
                variable=name,
            )
        variables = [schema[parent] for parent in task.bare_parents(name)]
        sizes = [v.n_states for v in variables if not v.is_continuous]
        if task.kind[name] == "logistic":
            raise InputError(
                f"known: {name!r} is a discrete node with continuous parents, of which nothing can "
                "be kept.",
                variable=name,
            )
        if schema[name].is_continuous:
            one.check(name, sizes, [v.name for v in variables if v.is_continuous])
        else:
            one.check_table(name, [*sizes, schema[name].n_states])
    chosen = {
        kind: each if kind == "logistic" else WithKnown(each, known)
        for kind, each in task.chosen.items()
    }
    return replace(task, chosen=chosen)


def _remainder(moments: Moments, known: Known) -> Moments:
    """The moments of the parents that are not known and of what the known ones leave."""
    said = known.coefficients or {}
    states = moments.weight.shape[1]
    free = [i for i, name in enumerate(moments.names[:-1]) if name not in said]
    turn = np.zeros((states, len(free) + 1, len(moments.names)))
    turn[:, np.arange(len(free)), free] = 1.0
    turn[:, -1, -1] = 1.0
    for i, name in enumerate(moments.names[:-1]):
        if name in said:
            turn[:, -1, i] = -np.broadcast_to(np.asarray(said[name], float).ravel(), states)
    mean = np.einsum("jab,fjb->fja", turn, moments.mean)
    scatter = turn @ moments.scatter @ np.swapaxes(turn, 1, 2)
    if known.intercept is not None:
        around = np.zeros((states, len(free) + 1))
        around[:, -1] = np.asarray(known.intercept, float).ravel()
        away = np.where(moments.weight[..., None] > 0, mean - around, 0.0)
        scatter = scatter + moments.weight[..., None, None] * (
            away[..., :, None] * away[..., None, :]
        )
        mean = np.broadcast_to(around, mean.shape).copy()
    names = tuple(moments.names[i] for i in (*free, len(moments.names) - 1))
    return Moments(
        names, moments.given, moments.source, moments.weight, mean, scatter, moments.n_rows
    )


def _whole(rest: LinearGaussian, moments: Moments, known: Known) -> LinearGaussian:
    said = known.coefficients or {}
    shape = rest.intercept.shape
    free = iter(np.moveaxis(rest.coefficients, -1, 0))
    columns = [
        np.broadcast_to(said[name], shape) if name in said else next(free)
        for name in moments.names[:-1]
    ]
    slopes = np.stack(columns, axis=-1) if columns else np.zeros((*shape, 0))
    intercept = rest.intercept if known.intercept is None else known.intercept
    sd = rest.sd if known.sd is None else known.sd
    given = _all_parents(rest, moments)
    return LinearGaussian(
        rest.child, given, np.broadcast_to(intercept, shape), slopes, np.broadcast_to(sd, shape)
    )


def _all_parents(rest: LinearGaussian, moments: Moments) -> tuple[Any, ...]:
    """The parents of a whole family: the discrete ones, then all continuous ones."""
    return (
        *rest.discrete,
        *(replace(rest.child, name=name) for name in moments.names[:-1]),
    )


def _is_finite(value: object) -> bool:
    try:
        return bool(np.isfinite(np.asarray(value, float)).all())
    except (TypeError, ValueError):
        return False
