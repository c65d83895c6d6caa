r"""How an answer changes with every parameter of a network, all in one backward pass.

An answer is :math:`R = N / Z`, with :math:`N = \sum_x a(x) \prod_i f_i(x)` and the same :math:`Z`
with :math:`a = 1`: a probability, or the mean of a continuous variable, whose :math:`a` is its mean
given the discrete ones. With :math:`D = \partial N / \partial \theta` from
:mod:`consilience.answers.backward`:

- A **table** entry :math:`\theta_k` of one row is changed under *proportional covariation*: the
  others of the row shrink in proportion,

  .. math:: \frac{\partial N}{\partial \delta_k} = D_k -
      \frac{\sum_{l \ne k} \theta_l D_l}{1 - \theta_k} ,

  and if :math:`\theta_k = 1` the others take equal shares. N and Z are linear in the change, so
  that R is a ratio of two lines, exactly.
- A **regression** enters by the density of what is known, :math:`f(d) = p(e \mid d)`. With the
  residual :math:`r = x - a - b^\top u`,

  .. math:: \frac{\partial \log f}{\partial a} = \frac{E[r]}{\sigma^2}, \quad
      \frac{\partial \log f}{\partial b} = \frac{E[r u]}{\sigma^2}, \quad
      \frac{\partial \log f}{\partial \sigma} = \frac{E[r^2]}{\sigma^3} - \frac1\sigma

  given e and d (Fisher), and a mean in the answer moves by the covariance of its variable with
  these.
- A **logistic** node whose parents are known is a table that depends on its coefficients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from consilience import _check
from consilience._typing import Floats, Integers
from consilience.answers.backward import differentiate
from consilience.distributions import Categorical, LinearGaussian, Logistic
from consilience.errors import InputError, ModelError
from consilience.inference.beliefs import refuse_conflict
from consilience.inference.conflict import refuse_impossible
from consilience.inference.elimination import Labeled
from consilience.inference.evidence import Evidence, evidence_of
from consilience.inference.gaussian import Component, Conditional, condition
from consilience.inference.known_rows import Rows, joint_code, rows_of, sliced
from consilience.inference.solving import (
    components_of,
    families_of,
    open_logistic,
    shape_of_scopes,
)
from consilience.network.network import MEMORY_LIMIT, Network

__all__ = ["Slopes", "covaried", "slopes_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Slopes:
    """An answer and its derivatives.

    Parameters
    ----------
    sums, total
        N of each part of the answer, shape (k,), and Z.
    of_sums, of_total
        By node, their derivatives: shape (k, *parameters) and the shape of the parameters. Those of
        tables are under proportional covariation.
    moved
        By node, what is added to the derivative of the answer because its means move.
    """

    sums: Floats
    total: float
    of_sums: Mapping[str, Floats]
    of_total: Mapping[str, Floats]
    moved: Mapping[str, Floats]

    @property
    def answers(self) -> Floats:
        """R, shape (k,)."""
        return self.sums / self.total

    def of_answers(self, name: str) -> Floats:
        """Derivatives of the answers, shape (k, *parameters)."""
        down = (1, *(1 for _ in self.of_total[name].shape))
        answers = self.answers.reshape(-1, *down[1:])
        slope = (self.of_sums[name] - answers * self.of_total[name]) / self.total
        return slope + self.moved.get(name, 0.0)


def slopes_of(net: Network, asked: Sequence[str], weights: Floats | None, given: Any) -> Slopes:
    """The belief in the joint states of discrete nodes, or in events, or the mean of one node.

    ``weights`` (k, states of each node asked for...) are the events, by default each joint state
    for itself.
    """
    evidence = evidence_of(net.variables, given)
    if evidence.soft:
        raise InputError(
            "sensitivity: soft evidence depends on the parameters itself; give "
            "states, sets, likelihoods or values.",
            parameter="given",
        )
    question = _Question.of(net, asked, evidence)
    functions = question.functions(weights)
    shape = shape_of_scopes(net, [f.names for f in question.factors], kept=question.kept)
    n_most = 6 * len(functions)  # tables of the size of the largest product, for every function
    _check.memory(
        "the derivatives",
        8 * n_most * shape.cost.largest_table,
        MEMORY_LIMIT,
        "Ask for fewer states at once, or give more.",
    )
    found = differentiate(question.factors, shape.order, question.kept, functions)
    if not found.sums[-1] > 0:
        refuse_impossible(net, evidence, MEMORY_LIMIT)
    every: dict[str, Floats] = {
        name: np.zeros((len(functions), *local.parameters.shape))
        for name, local in net.distributions.items()
    }
    for add, slope in zip(question.readers, found.slopes, strict=True):
        add(every, slope)
    for name, local in net.tables.items():
        every[name] = covaried(local.table, every[name])
    return Slopes(
        found.sums[:-1],
        float(found.sums[-1]),
        {name: slope[:-1] for name, slope in every.items()},
        {name: slope[-1] for name, slope in every.items()},
        question.moved(found.kept / float(found.sums[-1])),
    )


def covaried(table: Floats, slope: Floats) -> Floats:
    """Derivatives by the entries of rows that stay distributions, from those by single entries."""
    r = table.shape[-1]
    if r == 1:
        return np.zeros_like(slope)
    others = 1.0 - np.eye(r)
    left = table @ others
    is_sure = left == 0
    shares = np.where(is_sure, 1.0 / (r - 1), 1.0)
    taken = (slope * table) @ others / np.where(is_sure, 1.0, left)
    even = (slope @ others) * shares
    return np.asarray(slope - np.where(is_sure, even, taken))


@dataclass(slots=True, eq=False)
class _Question:
    """The factors of a question, and for each how its slopes are read into parameters."""

    net: Network
    rows: Rows
    asked: tuple[str, ...]
    factors: list[Labeled] = field(default_factory=list)
    readers: list[Any] = field(default_factory=list)
    wanted: tuple[Component, Conditional] | None = None

    @classmethod
    def of(cls, net: Network, asked: Sequence[str], evidence: Evidence) -> _Question:
        rows = rows_of(net, evidence)
        families = families_of(net, rows.names, rows.observed, asked)
        refuse_conflict(net, evidence, rows, families, memory_limit=MEMORY_LIMIT)
        joined = families.joined
        is_open = open_logistic(net, joined, rows.values)
        if is_open:
            raise ModelError(
                f"sensitivity: the node {is_open[0]!r} has continuous parents that are not known, "
                "and no closed form. Give their values.",
                variable=is_open[0],
            )
        question = cls(net, rows, tuple(asked))
        for name in joined:
            if name in net.tables:
                question._add_table(net.tables[name])
            elif name in net.logistic:
                question._add_logistic(net.logistic[name])
            if name in rows.likelihoods:
                question._add(Labeled((name,), rows.likelihoods[name]), _nothing)
        for part in components_of(net, rows, joined):
            question._add_component(part)
        return question

    @property
    def kept(self) -> tuple[str, ...]:
        if self.wanted is not None:
            return self.wanted[1].free
        return self.asked

    def functions(self, weights: Floats | None) -> Floats:
        """The functions a of the answer, and last the one that is one everywhere."""
        sizes = [self.net.variables[name].n_states for name in self.kept]
        if self.wanted is not None:
            _, one = self.wanted
            at = one.asked.index(self.asked[0])
            own = one.means[0, :, at].reshape(1, *sizes)
        elif weights is None:
            n = int(np.prod(sizes))
            own = np.eye(n).reshape(n, *sizes)
        else:
            own = weights
        return np.concatenate([own, np.ones((1, *sizes))])

    def moved(self, shares: Floats) -> dict[str, Floats]:
        """What the mean that is asked for moves with the regressions of its component."""
        if self.wanted is None:
            return {}
        part, one = self.wanted
        out = {}
        for name in part.nodes:
            family = _Residual.of(self.net, self.rows, name, one)
            scores = family.scores_of(one.asked.index(self.asked[0]))
            out[name] = family.gathered(shares.reshape(1, -1, 1) * scores)
        return out

    def _add(self, factor: Labeled, reader: Any) -> None:
        self.factors.append(factor)
        self.readers.append(reader)

    def _add_table(self, local: Categorical) -> None:
        names = (*local.parents, local.child.name)
        known = self.rows.known
        at = tuple(known[n][0] if n in known else slice(None) for n in names)
        free = tuple(n for n in names if n not in known)

        def read(every: dict[str, Floats], slope: Floats) -> None:
            every[local.child.name][(slice(None), *at)] += slope

        self._add(Labeled(free, local.table[at]), read)

    def _add_logistic(self, local: Logistic) -> None:
        names = tuple(v.name for v in (*local.discrete, local.child))
        known = self.rows.known
        values = np.array([float(self.rows.values[v.name][0]) for v in local.continuous])
        table = np.exp(local.log_tables(values[None])[0])
        at = tuple(known[n][0] if n in known else slice(None) for n in names)
        free = tuple(n for n in names if n not in known)

        def read(every: dict[str, Floats], slope: Floats) -> None:
            full = np.zeros((len(slope), *table.shape))
            full[(slice(None), *at)] = slope
            weight = full * table
            by_logit = weight - table * weight.sum(axis=-1, keepdims=True)
            every[local.child.name] += by_logit[..., None] * np.array([1.0, *values])

        self._add(Labeled(free, sliced(table[None], names, known)[0]), read)

    def _add_component(self, part: Component) -> None:
        rows = self.rows
        hidden = [node for node in part.nodes if node not in rows.values]
        one = condition(self.net, part, rows, hidden, memory_limit=MEMORY_LIMIT)
        for name in part.nodes:
            if not self.net.regressions[name].sd.all():
                raise ModelError(
                    f"sensitivity: the node {name!r} has an sd of zero, and no derivative.",
                    variable=name,
                )
        if set(part.nodes) & set(self.asked):
            self.wanted = part, one
        if not any(node in rows.values for node in part.nodes):
            return
        log = one.log_likelihood[0]
        likelihood = np.exp(log - log.max())

        def read(every: dict[str, Floats], slope: Floats) -> None:
            weight = slope.reshape(len(slope), -1) * likelihood
            for name in part.nodes:
                family = _Residual.of(self.net, rows, name, one)
                every[name] += family.gathered(weight[..., None] * family.scores())

        self._add(Labeled(one.free, likelihood.reshape(one.shape)), read)


def _nothing(every: dict[str, Floats], slope: Floats) -> None:
    """What is given has no parameters."""


@dataclass(frozen=True, slots=True, eq=False)
class _Residual:
    """The residual of a regression given what is known, for each joint state of a component.

    ``mean`` and ``variance`` of the residual; ``means`` of the parents and their covariances
    ``with_parents`` with it; ``all_means`` of hidden nodes have covariances ``with_hidden``.
    """

    local: LinearGaussian
    at: Integers  # (states,): the row of the regression
    sd: Floats
    mean: Floats  # (states,)
    variance: Floats
    parents: Floats  # (states, parents)
    with_parents: Floats  # (states, parents)
    with_hidden: Floats  # (states, hidden)
    parents_with_hidden: Floats  # (states, parents, hidden)

    @classmethod
    def of(cls, net: Network, rows: Rows, name: str, one: Conditional) -> _Residual:
        local = net.regressions[name]
        n = one.log_likelihood.shape[1]
        grid = np.unravel_index(np.arange(n), one.shape) if one.free else ()
        codes = {**rows.known, **dict(zip(one.free, grid, strict=True))}
        discrete = {v.name: v.n_states for v in local.discrete}
        at = np.broadcast_to(joint_code(discrete, {k: codes[k] for k in discrete}), n)
        members = [name, *(v.name for v in local.continuous)]
        h = len(one.asked)
        means, selects = np.zeros((n, len(members))), np.zeros((len(members), h))
        for i, member in enumerate(members):
            if member in one.asked:
                means[:, i] = one.means[0, :, one.asked.index(member)]
                selects[i, one.asked.index(member)] = 1.0
            else:
                means[:, i] = rows.values[member][0]
        covariance = selects @ np.broadcast_to(one.covariances[0], (n, h, h))
        slopes = local.coefficients.reshape(local.sd.size, -1)[at]
        signs = np.concatenate([np.ones((n, 1)), -slopes], axis=1)[:, None, :]
        with_hidden = (signs @ covariance)[:, 0]
        with_members = with_hidden @ selects.T
        return cls(
            local,
            at,
            local.sd.ravel()[at],
            (signs[:, 0] * means).sum(axis=1) - local.intercept.ravel()[at],
            (signs[:, 0] * with_members).sum(axis=1),
            means[:, 1:],
            with_members[:, 1:],
            with_hidden,
            covariance[:, 1:],
        )

    def scores(self) -> Floats:
        """Derivatives of the log density by intercept, slopes and sd, shape (states, p + 2)."""
        s = self.sd[:, None]
        mean = self.mean[:, None]
        square = (self.mean**2 + self.variance)[:, None]
        return np.concatenate(
            [
                mean / s**2,
                (mean * self.parents + self.with_parents) / s**2,
                square / s**3 - 1 / s,
            ],
            axis=1,
        )

    def scores_of(self, i: int) -> Floats:
        """Derivatives of the mean of hidden node i, shape (states, p + 2)."""
        s, mean = self.sd[:, None], self.mean[:, None]
        both = self.with_hidden[:, i : i + 1]
        parents = mean * self.parents_with_hidden[:, :, i] + self.parents * both
        return np.concatenate([both / s**2, parents / s**2, 2 * mean * both / s**3], axis=1)

    def gathered(self, weighted: Floats) -> Floats:
        """Sums over the states of each row of the regression, in the shape of the parameters."""
        out = np.zeros((len(weighted), self.local.sd.size, weighted.shape[-1]))
        for k, numbers in enumerate(weighted):
            np.add.at(out[k], self.at, numbers)
        return out.reshape(len(weighted), *self.local.parameters.shape)
