r"""What each source says about one family of the fused graph, in one layout for all sources.

A source with rows estimates the family from them: a table by ``Dirichlet(ess=1)``, a regression by
least squares from centred moments, a logistic node by ``LogisticRegression()``. A finished network
is asked: if its own family has the same parents, its distribution is taken; otherwise
:math:`P(X \mid \mathrm{Pa})` follows from its joint distribution. For a continuous child that is
the regression with the network's means and covariances in each joint state of the discrete parents,
which is exact if no continuous node has a discrete ancestor outside the family and the best linear
one otherwise. A logistic node can be taken only from a network that has the same family.

A source that lacks the child or a parent has no opinion. If no source has the whole family, each
source that has the child says what it knows about it given the parents it has, whatever the others
are; the fusion notes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, product

import numpy as np

from consilience import _check
from consilience._typing import Bools, Floats
from consilience.data.table import Table
from consilience.distributions import Categorical, Distribution, LinearGaussian, Logistic
from consilience.distributions.categorical import Posterior, proportions
from consilience.distributions.dirichlet import DirichletPosterior
from consilience.distributions.laplace import LaplacePosterior
from consilience.distributions.normal_inverse_gamma import NormalInverseGammaPosterior
from consilience.errors import ModelError
from consilience.fusion.family_answers import Lines, Opinion, Wanted
from consilience.fusion.fused_posteriors import Spread, spread_of, spread_of_rows
from consilience.fusion.partial import extended
from consilience.fusion.voters import Voter
from consilience.network.factor import Factor
from consilience.network.network import Network
from consilience.parameters.dirichlet import Dirichlet
from consilience.parameters.few_rows import lacks_rows
from consilience.parameters.logistic import LogisticRegression
from consilience.parameters.regression import least_squares
from consilience.statistics.family import Family
from consilience.statistics.gather import count, engine_of, moments

__all__ = ["opinions_of"]

N_DRAWS = 200
"""Of a table, behind its variances: those have an error of a tenth, the weights of a pool less."""


def opinions_of(
    wanted: Sequence[Wanted], voters: Sequence[Voter]
) -> tuple[list[list[Opinion]], list[str]]:
    """What the sources say about each family, and the children that no source has all parents of.

    Sources that have nothing to say about a family are left out of its list.
    """
    found: list[list[Opinion]] = [[] for _ in wanted]
    partial = []
    for k, family in enumerate(wanted):
        able = [voter for voter in voters if set(family.names) <= set(voter.dag.nodes)]
        if not able:
            partial.append(family.child.name)
        for voter in able or [v for v in voters if family.child.name in v.dag.nodes]:
            opinion = _opinion(family.among(voter.dag.nodes), voter)
            found[k].append(opinion if able else extended(opinion, family))
    return found, partial


def _opinion(family: Wanted, voter: Voter) -> Opinion:
    if voter.network is not None:
        return _of_network(family, voter.name, voter.network)
    if voter.table is None:
        raise ModelError(
            f"source {voter.name!r} is a graph without parameters or rows.", source=voter.name
        )
    from_rows = {"table": _table, "regression": _regression, "logistic": _logistic}
    return from_rows[family.kind](family, voter.name, voter.table)


def _table(family: Wanted, source: str, table: Table) -> Opinion:
    [counts] = count(table, Family(family.child.name, family.names[:-1]))
    dense = counts.to_dense()
    [local] = Dirichlet().estimate([dense])
    seen = dense.values[0]
    variance = None if local.posterior is None else local.posterior.variance()
    return Opinion(source, local, seen.sum(axis=1) > 0, variance, seen)


def _regression(family: Wanted, source: str, table: Table) -> Opinion:
    """Least squares; the source has no say where its rows do not determine the line."""
    found = moments(
        table,
        [*(p.name for p in family.continuous), family.child.name],
        by=[p.name for p in family.discrete],
    )
    weight, mean, scatter = found.weight[0], found.mean[0], found.scatter[0]
    fits = least_squares((weight, mean, scatter))
    p = len(family.continuous) + 1
    freedom = weight - fits.rank
    variance = np.divide(fits.residual, freedom, out=np.zeros_like(freedom), where=freedom > 0)
    shape = [parent.n_states for parent in family.discrete]
    local = LinearGaussian(
        family.child,
        family.given,
        fits.intercept.reshape(shape),
        fits.coefficients.reshape(*shape, p - 1),
        np.sqrt(variance).reshape(shape),
    )
    parents = scatter[:, :-1, :-1] / np.maximum(weight, 1.0)[:, None, None]
    is_known = (fits.rank == p) & ~lacks_rows(weight, p)
    lines = Lines(weight, mean, scatter)
    spread = spread_of_rows((weight, mean, scatter), variance, is_known)
    return Opinion(source, local, is_known, None, lines, mean[:, :-1], parents, spread)


def _logistic(family: Wanted, source: str, table: Table) -> Opinion:
    wanted = Family(family.child.name, family.names[:-1])
    [fitted] = LogisticRegression().regress_states(engine_of(table), [wanted])
    local = fitted.distribution
    variance = None if local.posterior is None else local.posterior.variance()
    [counts] = count(table, Family(family.child.name, tuple(p.name for p in family.discrete)))
    return Opinion(source, local, counts.to_dense().values[0].sum(axis=1) > 0, variance)


def _of_network(family: Wanted, source: str, net: Network) -> Opinion:
    own = net[family.child.name]
    if set(own.parents) == set(family.names[:-1]):
        return _own_family(family, source, net)
    if family.kind == "table":
        cells = _joint(net, family.names)
        rows = cells.reshape(-1, family.child.n_states)
        table = proportions(rows).reshape(cells.shape)
        local = Categorical(family.child, family.given, table)
        return Opinion(source, local, rows.sum(axis=1) > 0)
    if family.kind == "logistic":
        raise ModelError(
            f"source {source!r}: its network has no logistic node {family.child.name!r} with the "
            f"parents {_check.listed(family.names[:-1])}, and what it would be cannot be derived. "
            "Give the rows of the sources instead of networks.",
            source=source,
            variable=family.child.name,
        )
    return _projected(family, source, net)


def _own_family(family: Wanted, source: str, net: Network) -> Opinion:
    """The network's own distribution with its axes in the order of the family."""
    own = net[family.child.name]
    variance = None if own.posterior is None else _variance(own.posterior)
    local, variance = _reordered(own, variance, family)
    n_states = int(np.prod([p.n_states for p in family.discrete], initial=1))
    known = np.ones(n_states, bool)
    if not isinstance(local, LinearGaussian):
        return Opinion(source, local, known, variance)
    mean, covariance, _ = _parents_of(family, net)
    spread = _turned_spread(spread_of(own.posterior), own, family)
    return Opinion(source, local, known, variance, None, mean, covariance, spread)


def _variance(posterior: Posterior) -> Floats:
    """Variances of the parameters; from a few draws where there is no formula."""
    if isinstance(posterior, DirichletPosterior | NormalInverseGammaPosterior | LaplacePosterior):
        return posterior.variance()
    drawn = islice(posterior.draws(np.random.default_rng(0)), N_DRAWS)
    return np.stack(list(drawn)).var(axis=0, ddof=1)


def _reordered(
    own: Distribution, variance: Floats | None, family: Wanted
) -> tuple[Distribution, Floats | None]:
    if own.given == family.given:
        return own, variance
    names = [p.name for p in own.given if not p.is_continuous]
    lines = [p.name for p in own.given if p.is_continuous]
    axes = [names.index(p.name) for p in family.discrete]
    places = [lines.index(p.name) for p in family.continuous]

    def turned(array: Floats) -> Floats:
        return array.transpose(*axes, *range(len(axes), array.ndim))

    if isinstance(own, Categorical):
        local: Distribution = Categorical(family.child, family.given, turned(own.table))
        return local, None if variance is None else turned(variance)
    slopes = turned(own.coefficients)[..., places]
    last = [0, *(1 + place for place in places)]
    if isinstance(own, LinearGaussian):
        local = LinearGaussian(
            family.child, family.given, turned(own.intercept), slopes, turned(own.sd)
        )
        last.append(len(places) + 1)
    else:
        local = Logistic(family.child, family.given, turned(own.intercept), slopes)
    return local, None if variance is None else turned(variance)[..., last]


def _turned_spread(spread: Spread | None, own: Distribution, family: Wanted) -> Spread | None:
    """The spread with its joint states and coefficients in the order of the family."""
    if spread is None or own.given == family.given:
        return spread
    names = [p.name for p in own.given if not p.is_continuous]
    lines = [p.name for p in own.given if p.is_continuous]
    sizes = [p.n_states for p in own.given if not p.is_continuous]
    axes = [names.index(p.name) for p in family.discrete]
    rows = np.arange(len(spread.freedom)).reshape(sizes).transpose(axes).ravel()
    places = [lines.index(p.name) for p in family.continuous]
    order = [0, *(1 + place for place in places)]
    return Spread(
        spread.center[rows][:, places],
        spread.covariance[rows][:, order][:, :, order],
        spread.freedom[rows],
    )


def _projected(family: Wanted, source: str, net: Network) -> Opinion:
    """The regression that has the network's means and covariances in each joint state."""
    mean, covariance, is_known = _parents_of(family, net, with_child=True)
    fits = least_squares((np.ones(len(mean)), mean, covariance))
    shape = [parent.n_states for parent in family.discrete]
    local = LinearGaussian(
        family.child,
        family.given,
        fits.intercept.reshape(shape),
        fits.coefficients.reshape(*shape, len(family.continuous)),
        np.sqrt(np.maximum(fits.residual, 0.0)).reshape(shape),
    )
    return Opinion(source, local, is_known, None, None, mean[:, :-1], covariance[:, :-1, :-1])


def _parents_of(
    family: Wanted, net: Network, *, with_child: bool = False
) -> tuple[Floats, Floats, Bools]:
    """Mean and covariance of the continuous parents (and the child) in each joint state of the
    discrete parents, and which of these are possible.
    """
    names = [p.name for p in family.continuous] + ([family.child.name] if with_child else [])
    discrete = [p.name for p in family.discrete]
    shares = _joint(net, discrete).ravel() if discrete else np.ones(1)
    means = np.zeros((len(shares), len(names)))
    covariances = np.zeros((len(shares), len(names), len(names)))
    states = product(*(p.discrete_states for p in family.discrete))
    for k, combined in enumerate(states):
        if names and shares[k] > 0:
            belief = net.query(names, dict(zip(discrete, combined, strict=True)))
            means[k] = np.atleast_1d(belief.mean)  # type: ignore[union-attr]
            covariances[k] = belief.covariance  # type: ignore[union-attr]
    return means, covariances, shares > 0


def _joint(net: Network, names: Sequence[str]) -> Floats:
    """The joint distribution of discrete variables, an axis each."""
    belief = net.query(list(names))
    if not isinstance(belief, Factor):
        raise ModelError(f"the joint distribution of {_check.listed(names)} is not a table.")
    return belief.values
