r"""Sources made to differ smoothly, with the class as hard to know as before.

The divergence of :mod:`consilience.simulate.divergence` makes the class easier to predict. Here the
features of each source are garbled afterwards: with probability :math:`\lambda_f` a feature is
drawn without regard to the class,

.. math:: \theta'_{x \mid c, p, f} = (1 - \lambda_f)\, \theta_{x \mid c, p, f}
    + \lambda_f \sum_{c'} P(c' \mid f)\, \theta_{x \mid c', p, f}

with the other parents' state :math:`p`. For naive Bayes that is a garbling in Blackwell's sense
(1953), so the information :math:`I(C; X \mid F = f)` falls with :math:`\lambda_f`, and bisection
finds the :math:`\lambda_f` that restores its value before the divergence. For other graphs it need
not fall everywhere; a root is found all the same if the ends allow one.

Information, not accuracy, is held: accuracy hardly changes where one class is in the majority.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats, Seed
from consilience.distributions.categorical import Categorical
from consilience.inference.queries import joint
from consilience.network.network import Network
from consilience.network.record import Record
from consilience.simulate.divergence import check_target, diverge, sources_first, with_source_rows
from consilience.simulate.hardness import N_ROWS, moments_of_source, of_source, seed_of

__all__ = ["Calibration", "diverge_calibrated"]

STEPS = 14  # halvings of the interval of lambda: its error is below 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """A network whose sources differ more and tell as much about the class, and how it was made.

    Parameters
    ----------
    network
        The network after divergence and garbling.
    garbling
        For each source, the share of draws that ignore the class; 0 if the divergence had not
        raised the information (it cannot be restored), 1 if garbling could not lower it enough.
    wanted, reached
        For each source, the information in nats before the divergence and in the network, over the
        same random numbers.
    """

    network: Network
    garbling: Mapping[str, float]
    wanted: Mapping[str, float]
    reached: Mapping[str, float]

    def __post_init__(self) -> None:
        _freeze.own(self)


def diverge_calibrated(
    net: Network,
    pooled: Network,
    delta: float,
    *,
    target: str,
    n_rows: int = N_ROWS,
    seed: Seed = None,
) -> Calibration:
    """The network whose sources differ more, with the information about the target held constant.

    Parameters
    ----------
    net, pooled, delta
        As for :func:`consilience.simulate.divergence.diverge`.
    target
        The class; it keeps its table. Its children that depend on the source are garbled.
    n_rows
        Rows drawn from each source to measure information; its Monte Carlo error is what the
        garbling is exact to.
    seed
        An int, a NumPy generator, or None for fresh entropy.
    """
    check_target(net, target)
    _check.whole("diverge_calibrated", at_least=2, n_rows=n_rows)
    diverged = diverge(net, pooled, delta, target=target)
    source = str(net.source)
    nodes = [n for n in net.dag.children(source) if target in net.dag.parents(n)]
    rng = _check.generator(seed)
    found = {
        name: _calibrated(
            of_source(net, f), of_source(diverged, f), nodes, target, n_rows=n_rows, rng=rng
        )
        for f, name in enumerate(net.variables[source].discrete_states)
    }
    by_source = [answer.network for answer in found.values()]
    local = [
        _joined(each, source, by_source) if name in nodes else each
        for name, each in diverged.tables.items()
    ]
    record = Record(method=f"diverge_calibrated(delta={delta:g})")
    return Calibration(
        Network.of(local, source=source, record=record),
        {name: answer.garbling for name, answer in found.items()},
        {name: answer.wanted for name, answer in found.items()},
        {name: answer.reached for name, answer in found.items()},
    )


@dataclass(frozen=True, slots=True, eq=False)
class _OneSource:
    """The answer for one source: its network without the source node, and the story."""

    network: Network
    garbling: float
    wanted: float
    reached: float


def _calibrated(
    before: Network,
    after: Network,
    nodes: Sequence[str],
    target: str,
    *,
    n_rows: int,
    rng: np.random.Generator,
) -> _OneSource:
    seed = seed_of(rng)
    prior = joint(after, [target])

    def trial(garbling: float) -> _OneSource:
        network = (
            _garbled(after, nodes, target, prior, garbling=garbling) if garbling > 0 else after
        )
        reached, *_ = moments_of_source(network, target, n_rows, seed)
        return _OneSource(network, garbling, wanted, reached)

    wanted, *_ = moments_of_source(before, target, n_rows, seed)
    low, high = trial(0.0), trial(1.0)
    if low.reached <= wanted or not nodes:
        return low
    if high.reached > wanted:
        return high
    for _ in range(STEPS):
        middle = trial((low.garbling + high.garbling) / 2)
        low, high = (middle, high) if middle.reached > wanted else (low, middle)
    return high


def _garbled(
    net: Network, nodes: Sequence[str], target: str, prior: Floats, *, garbling: float
) -> Network:
    local = []
    for name, each in net.tables.items():
        if name in nodes:
            axis = each.parents.index(target)
            average = np.expand_dims(np.tensordot(prior, each.table, axes=(0, axis)), axis)
            table = (1 - garbling) * each.table + garbling * average
            local.append(Categorical(each.child, each.given, table))
        else:
            local.append(each)
    return Network.of(local)


def _joined(local: Categorical, source: str, by_source: Sequence[Network]) -> Categorical:
    rows = np.stack([net.tables[local.child.name].rows for net in by_source])
    return with_source_rows(local, source, rows.reshape(sources_first(local, source).shape))
