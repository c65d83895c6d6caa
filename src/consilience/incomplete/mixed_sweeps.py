r"""One sweep of data augmentation in networks with continuous nodes.

All gaps of a row, states and values, are drawn jointly; the completed rows give counts and moments,
and these give Dirichlet and normal-inverse-gamma posteriors to draw from.

The prior of regressions (:class:`consilience.NormalInverseGamma`) is scaled by the rows themselves,
here by the completed ones. It is worth a hundredth of a row, so this matters only where there is
next to nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.data.table import Table
from consilience.distributions.dirichlet import DirichletPosterior
from consilience.distributions.linear_gaussian import LinearGaussian
from consilience.distributions.normal_inverse_gamma import NormalInverseGammaPosterior
from consilience.errors import InputError
from consilience.incomplete.sweeps import State
from consilience.inference.mixed_cases import MixedCases, MixedStatistics
from consilience.network.network import Network
from consilience.parameters.estimator import Regressor
from consilience.parameters.stacked import StackedPosterior

__all__ = ["MixedSweeper"]


class MixedSweeper:
    """Sweeps for a network of tables and regressions.

    Parameters
    ----------
    net
        The graph, with the prior of each table as its posterior; a source node is not drawn.
    table
        The rows.
    gaussian
        How moments become regressions with normal-inverse-gamma posteriors.
    apart
        Nodes whose regressions are kept apart by source.
    """

    def __init__(
        self,
        net: Network,
        table: Table,
        gaussian: Regressor,
        apart: Sequence[str],
        memory_limit: float,
    ) -> None:
        self.net, self._gaussian = net, gaussian
        continuous = [n for n, variable in net.variables.items() if variable.is_continuous]
        self._regressed = continuous
        of_sources = [name for name in apart if name in continuous]
        self._cases = MixedCases.of(net, table, apart=of_sources, memory_limit=memory_limit)
        self._drawn = [name for name in net.variables if name != net.source]
        self._shapes = {name: net[name].parameters.shape for name in self._drawn}
        sizes = [int(np.prod(shape)) for shape in self._shapes.values()]
        self._ends = np.append(0, np.cumsum(sizes))

    def split(self, vector: Floats) -> dict[str, Floats]:
        """Parameters of the nodes that are drawn; leading axes of the vector stay in front."""
        ends = zip(self._shapes.items(), self._ends[:-1], self._ends[1:], strict=True)
        return {
            name: vector[..., start:stop].reshape(*vector.shape[:-1], *shape)
            for (name, shape), start, stop in ends
        }

    def start(self, rng: np.random.Generator) -> State:
        """Tables and levels far apart from chain to chain, no dependence between the variables."""
        parts = {}
        levels = dict(zip(self._cases.shape.continuous, self._cases.centers, strict=True))
        spreads = dict(zip(self._cases.shape.continuous, self._cases.spreads, strict=True))
        for name in self._drawn:
            local = self.net[name]
            if isinstance(local, LinearGaussian):
                spread = spreads[name] if spreads[name] > 0 else 1.0
                parameters = np.zeros(self._shapes[name])
                noise = rng.standard_normal(local.intercept.shape)
                parameters[..., 0] = levels[name] + spread * noise
                parameters[..., -1] = spread
                parts[name] = parameters
            else:
                prior = self._prior(name)
                parts[name] = DirichletPosterior(prior + 1.0).draw(rng)
        vector = self._joined(parts)
        return State(vector, vector)

    def sweep(self, state: State, rng: np.random.Generator) -> State:
        """Counts and moments of a random completion, then tables and regressions drawn."""
        found = self._cases.drawn(self._network(state.parameters), rng)
        drawn, means = {}, {}
        for name in self._drawn:
            if name not in self._regressed:
                posterior = DirichletPosterior(self._prior(name) + found.counts[name])
                drawn[name], means[name] = posterior.draw(rng), posterior.mean()
        for name, local in self._regressions(found).items():
            if local.posterior is not None:
                drawn[name], means[name] = local.posterior.draw(rng), local.parameters
        return State(self._joined(drawn), self._joined(means))

    def _regressions(self, found: MixedStatistics) -> dict[str, LinearGaussian]:
        fitted = self._gaussian.regress([found.moments[name] for name in self._regressed])
        for name, local in zip(self._regressed, fitted, strict=True):
            posterior = local.posterior
            parts = posterior.parts if isinstance(posterior, StackedPosterior) else (posterior,)
            if not all(isinstance(part, NormalInverseGammaPosterior) for part in parts):
                raise InputError(
                    "data augmentation draws regressions from normal-inverse-gamma distributions; "
                    f"{self._gaussian!r} has none for {_check.listed([name])}. Use "
                    "cs.NormalInverseGamma() or cs.Separate(cs.NormalInverseGamma()).",
                    parameter="gaussian",
                )
        return dict(zip(self._regressed, fitted, strict=True))

    def _network(self, vector: Floats) -> Network:
        parts = self.split(vector)
        local = {
            name: one.with_parameters(parts[name]) if name in parts else one
            for name, one in self.net.distributions.items()
        }
        return Network(local, self.net.source)

    def _prior(self, name: str) -> Floats:
        posterior = self.net[name].posterior
        assert isinstance(posterior, DirichletPosterior)  # checked by prior_network
        return posterior.concentration

    def _joined(self, parts: dict[str, Floats]) -> Floats:
        return np.concatenate([parts[name].ravel() for name in self._drawn])
