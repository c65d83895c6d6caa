r"""Sources made to differ: tables pushed away from what the sources have in common.

For one node and one parent state, with the tables :math:`\theta^f` of the sources and the pooled
table :math:`\bar\theta`, the state that tells the sources apart best is

.. math:: x^* = \arg\max_x \max_f |\theta^f_x - \bar\theta_x|

(the first of several). A source whose :math:`\theta^f_{x^*}` lies above the pooled one sends the
share :math:`\delta` of the probability of its other states to :math:`x^*`; one that lies below
sends the share :math:`\delta` of its :math:`\theta^f_{x^*}` to the other states, in proportion to
what they have:

.. math::
    \theta^f_{x^*} > \bar\theta_{x^*}: \quad & \theta'_{x^*} = \theta_{x^*}
        + \delta (1 - \theta_{x^*}), \quad \theta'_y = (1 - \delta)\, \theta_y \\
    \theta^f_{x^*} < \bar\theta_{x^*}: \quad & \theta'_{x^*} = (1 - \delta)\, \theta_{x^*},
        \quad \theta'_y = \theta_y + \delta\, \theta_{x^*} \frac{\theta_y}{1 - \theta_{x^*}}

A source that does not deviate stays as it is, so sources that are alike stay alike. A source of
probability zero, which had no rows, knows nothing but a prior: it has no part in the rule and gets
the pooled table, whatever :math:`\delta` is. All this makes the class of a classifier easier to
predict; :mod:`consilience.simulate.permutation` and :mod:`consilience.simulate.smooth_divergence`
do not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.distributions.categorical import Categorical
from consilience.errors import InputError, ModelError
from consilience.network.network import Network, discrete_only
from consilience.network.record import Record

__all__ = ["diverge", "realized_divergence"]

ROUNDING = 1e-12  # deviations up to this are rounding: sources fitted to no rows are equal


def diverge(net: Network, pooled: Network, delta: float, *, target: str | None = None) -> Network:
    r"""The network whose sources differ more: by nothing at ``delta`` 0, by most at 1.

    With more than two sources, those on the same side of the pooled table move together, so
    ``delta`` does not say how different the sources have become; :func:`realized_divergence` does.
    A parent state that only one source shows diverges from the other sources' priors.

    Parameters
    ----------
    net
        A network with a source. The nodes that have the source as a parent diverge; others have
        nothing by which their sources differ. Every state of the source counts as one, so fit it
        with an estimator that keeps the sources apart and adds no ``new_source``.
    pooled
        A network with the same families, the source apart: the tables of all sources together.
    delta
        From 0 to 1.
    target
        A node that keeps its table, such as the class of a classifier.

    Examples
    --------
    >>> from consilience.data.variable import Variable
    >>> source, x = Variable("source", ("a", "b")), Variable("x", ("no", "yes"))
    >>> net = Network.of([Categorical(source, (), [0.5, 0.5]),
    ...                   Categorical(x, (source,), [[0.6, 0.4], [0.2, 0.8]])], source="source")
    >>> pooled = Network.of([Categorical(x, (), [0.4, 0.6])])
    >>> diverge(net, pooled, 0.5)["x"].table.round(3).tolist()
    [[0.8, 0.2], [0.1, 0.9]]
    """
    source = source_of("diverge", net)
    check_delta("diverge", delta)
    check_target(net, target)
    local = [
        _diverged(given, pooled, net.tables[source], delta)
        if source in given.parents and name != target
        else given
        for name, given in net.tables.items()
    ]
    return Network.of(local, source=source, record=Record(method=f"diverge(delta={delta:g})"))


def realized_divergence(net: Network, *, target: str | None = None) -> float:
    r"""How different the sources are: 0 if they are alike, 1 if no state is shared.

    .. math:: \frac{1}{n} \sum_{\text{nodes}} \frac{1}{q} \sum_{\text{parent states}}
        \frac{2}{F(F-1)} \sum_{f < g} \frac12 \sum_x |\theta^f_x - \theta^g_x|

    The mean is over all nodes but the source and the target; a node that does not have the source
    as a parent adds 0.
    """
    source = source_of("realized_divergence", net)
    check_target(net, target)
    variations = [
        _total_variation(sources_first(local, source)) if source in local.parents else 0.0
        for name, local in net.tables.items()
        if name not in (source, target)
    ]
    return float(np.mean(variations)) if variations else 0.0


def source_of(owner: str, net: Network) -> str:
    """Name of the network's source, which it must have."""
    if net.source is None:
        raise InputError(
            f"{owner}: the network has no source. Fit one to a table of several sources, or load "
            "it with source=."
        )
    discrete_only(owner, net)
    return net.source


def check_delta(owner: str, delta: Any) -> None:
    """Refuse a divergence outside 0 to 1."""
    is_number = isinstance(delta, int | float | np.number) and not isinstance(delta, bool)
    if not (is_number and 0 <= delta <= 1):
        raise InputError(f"{owner}: delta must be from 0 to 1, got {delta!r}.", parameter="delta")


def check_target(net: Network, target: str | None) -> None:
    """Refuse a target that is no node, or the source."""
    if target is None:
        return
    _check.known("node", [target], net.tables)
    if target == net.source:
        raise InputError(f"the target cannot be the source {target!r}.", target=target)


def sources_first(local: Categorical, source: str) -> Floats:
    """The table as (sources, states of the other parents, states)."""
    moved = np.moveaxis(local.table, local.parents.index(source), 0)
    return moved.reshape(moved.shape[0], -1, moved.shape[-1])


def with_source_rows(local: Categorical, source: str, rows: Floats) -> Categorical:
    """The distribution with these rows, given as :func:`sources_first` gives them."""
    axis = local.parents.index(source)
    shape = np.moveaxis(local.table, axis, 0).shape
    return Categorical(local.child, local.given, np.moveaxis(rows.reshape(shape), 0, axis))


def _diverged(
    local: Categorical, pooled: Network, shares: Categorical, delta: float
) -> Categorical:
    source, has_rows = shares.child.name, shares.table > 0
    shared = _pooled_rows(local, pooled, source)
    rows = np.where(has_rows[:, None, None], sources_first(local, source), shared)
    rows[has_rows] = _moved(rows[has_rows], shared, delta)
    return with_source_rows(local, source, rows)


def _pooled_rows(local: Categorical, pooled: Network, source: str) -> Floats:
    """The pooled table with the axes in the order of the node's parents, source left out."""
    name = local.child.name
    discrete_only("diverge", pooled)
    other = pooled.tables[name]
    wanted = {parent.name: parent.states for parent in local.given if parent.name != source}
    found = {parent.name: parent.states for parent in other.given}
    if found != wanted or other.child.states != local.child.states:
        raise ModelError(
            f"the pooled distribution of {name!r} must have the parents "
            f"{_check.listed(wanted)} and the same states, got the parents "
            f"{_check.listed(found)}. Fit it to the same graph without the source.",
            variable=name,
        )
    axes = [other.parents.index(parent) for parent in wanted]
    return np.transpose(other.table, (*axes, len(axes))).reshape(-1, local.child.n_states)


def _moved(rows: Floats, shared: Floats, delta: float) -> Floats:
    """The rule of the module, for rows (sources, q, states) and pooled rows (q, states)."""
    deviation = rows - shared
    largest = np.abs(deviation).max(axis=0)
    best = np.argmax(largest >= largest.max(axis=1, keepdims=True) - ROUNDING, axis=1)
    is_best = np.arange(rows.shape[2]) == best[:, None]  # (q, states)
    others = np.where(is_best, 0.0, rows)
    rest = others.sum(axis=2, keepdims=True)
    at_best = rows[:, is_best][..., None]  # (sources, q, 1)
    side = deviation[:, is_best][..., None]
    # A row with everything on its best state has nowhere to send it, and cannot lie below.
    share = np.divide(others, rest, out=np.zeros_like(others), where=rest > 0)
    upwards = np.where(is_best, rows + delta * rest, rows - delta * rows)
    downwards = np.where(is_best, rows - delta * rows, rows + delta * at_best * share)
    moved = np.where(side > ROUNDING, upwards, rows)
    return np.where((side < -ROUNDING) & (rest > 0), downwards, moved)


def _total_variation(rows: Floats) -> float:
    """Mean over rows of the average pairwise distance between sources."""
    n_sources = len(rows)
    if n_sources < 2:
        return 0.0
    # The sum over pairs of |a - b| is linear in the sorted values: no loop over pairs.
    rank = 2.0 * np.arange(n_sources) - n_sources + 1
    over_least = np.sort(rows, axis=0) - rows.min(axis=0)
    pairs = np.tensordot(rank, over_least, axes=1).sum(axis=1) / 2
    return float(pairs.mean()) / (n_sources * (n_sources - 1) / 2)
