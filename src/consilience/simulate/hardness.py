r"""How well the class of a row can be known at all, source by source, if the network is the truth.

.. math::
    I(C; X \mid F = f) &= H(C \mid f) - \mathrm{E}_{x \mid f}\, H(C \mid x, f) \\
    \text{accuracy} &= \mathrm{E}_{x \mid f} \max_c P(c \mid x, f)

The first term is exact; the expectations are means over rows drawn from the source.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import entr

from consilience import _check, _freeze
from consilience._typing import Floats, Seed
from consilience.distributions.categorical import Categorical
from consilience.inference.evidence_rows import posteriors
from consilience.inference.queries import joint
from consilience.inference.sampling import sample
from consilience.network.network import Network
from consilience.simulate.divergence import check_target, source_of

__all__ = ["Difficulty", "difficulty"]

N_ROWS = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Difficulty:
    """What the best classifier can do in each source, with Monte Carlo standard errors.

    Parameters
    ----------
    sources, shares
        Names and probabilities of the sources.
    information, information_error
        Mutual information of class and features, in nats, one number per source.
    accuracy, accuracy_error
        Share of rows whose class the best classifier names, one number per source.
    """

    sources: tuple[str, ...]
    shares: Floats
    information: Floats
    information_error: Floats
    accuracy: Floats
    accuracy_error: Floats

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def mean_information(self) -> float:
        """Information over all sources, each with its share."""
        return float(self.shares @ self.information)

    @property
    def mean_accuracy(self) -> float:
        """Accuracy over all sources, each with its share."""
        return float(self.shares @ self.accuracy)


def difficulty(net: Network, target: str, *, n_rows: int = N_ROWS, seed: Seed = None) -> Difficulty:
    """Information about the target and accuracy of the best classifier in each source.

    Parameters
    ----------
    net
        A network with a source, taken for the truth.
    target
        The class.
    n_rows
        Rows drawn from each source.
    seed
        An int, a NumPy generator, or None for fresh entropy. Two networks with the same nodes and
        the same int share their random numbers, so that their difference has a smaller error.
    """
    source = source_of("difficulty", net)
    check_target(net, target)
    _check.whole("difficulty", at_least=2, n_rows=n_rows)
    rng = _check.generator(seed)
    sources = net.variables[source].discrete_states
    found = np.array(
        [
            moments_of_source(of_source(net, f), target, n_rows, seed_of(rng))
            for f in range(len(sources))
        ]
    )
    return Difficulty(sources, joint(net, [source]), *np.ascontiguousarray(found.T))


def seed_of(rng: np.random.Generator) -> int:
    """A seed to be used more than once: the same rows are asked for again."""
    return int(rng.integers(0, 2**63))


def of_source(net: Network, code: int) -> Network:
    """The network of one source: its slice of every table, without the source node."""
    source = source_of("of_source", net)
    local = []
    for name, each in net.tables.items():
        if source in each.parents:
            axis = each.parents.index(source)
            given = (*each.given[:axis], *each.given[axis + 1 :])
            local.append(Categorical(each.child, given, np.take(each.table, code, axis=axis)))
        elif name != source:
            local.append(each)
    return Network.of(local)


def moments_of_source(
    net: Network, target: str, n_rows: int, seed: int
) -> tuple[float, float, float, float]:
    """Information and its error, accuracy and its error, in a network of one source."""
    drawn = sample(net, n_rows, seed=seed)
    beliefs = posteriors(net, drawn, target)
    left = entr(beliefs).sum(axis=1)
    best = beliefs.max(axis=1)
    before = float(entr(joint(net, [target])).sum())
    root = math.sqrt(n_rows)
    return (
        max(0.0, before - float(left.mean())),
        float(left.std(ddof=1)) / root,
        float(best.mean()),
        float(best.std(ddof=1)) / root,
    )
