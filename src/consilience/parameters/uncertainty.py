"""What the posteriors of a network's distributions say: intervals, and draws of whole networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from consilience import _check
from consilience._typing import Floats, Seed
from consilience.distributions import Distribution, Posterior
from consilience.errors import ModelError
from consilience.network.network import Network, check_network

__all__ = ["draws", "parameter_intervals", "posterior_of"]


def parameter_intervals(net: Network, name: str, *, level: float = 0.95) -> tuple[Floats, Floats]:
    """Ends of the central credible interval of every parameter of a node.

    Two arrays in the shape of ``net[name].parameters``: the table of a discrete node; intercept,
    coefficients and sd of a continuous one; intercept and coefficients of a logistic one.

    Raises
    ------
    ModelError
        If the node has no posterior (maximum likelihood, shrinkage, averages such as ``Adaptive``,
        networks made for a class, most file formats).
    """
    return posterior_of(net[name]).interval(level)


def draws(net: Network, n_draws: int, *, seed: Seed = None) -> Iterator[Network]:
    """Networks drawn from the posterior of the tables, one after the other.

    The source node, whose table states shares of rows, is not drawn but kept.
    """
    check_network("draws", net)
    _check.whole("draws", at_least=0, n_draws=n_draws)
    rng = _check.generator(seed)
    drawn = {
        name: posterior_of(local).draws(rng)
        for name, local in net.distributions.items()
        if name != net.source
    }
    return (_one_draw(net, drawn) for _ in range(n_draws))


def _one_draw(net: Network, drawn: Mapping[str, Iterator[Floats]]) -> Network:
    distributions = {
        name: local.with_parameters(next(drawn[name])) if name in drawn else local
        for name, local in net.distributions.items()
    }
    return Network(distributions, net.source)


def posterior_of(local: Distribution) -> Posterior:
    """The posterior of a local distribution; one that has none is refused."""
    if local.posterior is None:
        example = "NormalInverseGamma" if local.child.is_continuous else "HDC"
        raise ModelError(
            f"the distribution of {local.child.name!r} has no posterior. Fit with an estimator "
            f"that has one, such as {example}; of the file formats only JSON keeps it.",
            variable=local.child.name,
        )
    return local.posterior
