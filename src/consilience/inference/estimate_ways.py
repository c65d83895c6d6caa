"""How an answer is estimated: the choices beside :class:`Exact` that queries take as ``by=``.

All draw, but for loopy propagation. They stop at the first of the limits that are given: so many
``draws``, a standard error of at most ``error``, so many ``seconds``; without any of them after
100,000 draws. Answers that are a :class:`Factor` or a :class:`Mixture` say how far they got. Plain
numbers (``probability``, ``posteriors``, ``log_likelihood``) cannot, so that there the standard
error is at most ``error`` (0.005 if not given), or an error says by how much it was missed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from consilience import _check
from consilience._typing import Seed
from consilience.errors import InputError
from consilience.inference.ways import Exact
from consilience.network.network import MEMORY_LIMIT, SEED

if TYPE_CHECKING:
    from typing_extensions import TypeIs

__all__ = [
    "AdaptiveImportance",
    "Best",
    "Gibbs",
    "LikelihoodWeighting",
    "LogicSampling",
    "LoopyPropagation",
    "Sampler",
    "Way",
    "is_estimate",
]

USUAL_DRAWS, USUAL_ERROR = 100_000, 0.005
MOST_DRAWS = 10**8
"""Draws after which a standard error that is not reached is given up."""


def _check_limits(
    owner: str, draws: int | None, error: float | None, seconds: float | None
) -> None:
    if draws is not None:
        _check.whole(owner, at_least=2, draws=draws)
    if error is not None:
        _check.positive(owner, error=error)
    if seconds is not None:
        _check.positive(owner, seconds=seconds)


@dataclass(frozen=True, slots=True)
class LogicSampling:
    """Rows are drawn from the network, and those that do not meet what is given are left out.

    Parameters
    ----------
    draws, error, seconds
        When to stop: after so many draws, at this standard error (of a mean in units of its
        variable's sd), or after so many seconds; the first that is met.
    seed
        A whole number or a NumPy generator.

    References
    ----------
    M. Henrion (1988). Propagating uncertainty by probabilistic logic sampling. UAI.
    """

    draws: int | None = None
    error: float | None = None
    seconds: float | None = None
    seed: Seed = SEED

    def __post_init__(self) -> None:
        _check_limits("LogicSampling", self.draws, self.error, self.seconds)


@dataclass(frozen=True, slots=True)
class LikelihoodWeighting:
    """Rows are drawn with what is given held fixed, and weighted by its probability in each.

    Parameters as for :class:`LogicSampling`.

    References
    ----------
    R. Fung, K.-C. Chang (1989). Weighing and integrating evidence for stochastic simulation. UAI.
    """

    draws: int | None = None
    error: float | None = None
    seconds: float | None = None
    seed: Seed = SEED

    def __post_init__(self) -> None:
        _check_limits("LikelihoodWeighting", self.draws, self.error, self.seconds)


@dataclass(frozen=True, slots=True)
class AdaptiveImportance:
    """Likelihood weighting that learns where to draw, for evidence that is improbable.

    Rows are drawn from a network of the same graph whose distributions lean towards what is given:
    first by what loopy propagation says, then by what the weighted draws of some stages say.

    Parameters
    ----------
    draws, error, seconds, seed
        As for :class:`LogicSampling`.
    stages, stage_draws
        How often the distributions are learned anew, and from how many draws.

    References
    ----------
    J. Cheng, M. Druzdzel (2000). AIS-BN. JAIR. C. Yuan, M. Druzdzel (2003). EPIS-BN. UAI.
    """

    draws: int | None = None
    error: float | None = None
    seconds: float | None = None
    seed: Seed = SEED
    stages: int = 6
    stage_draws: int = 4000

    def __post_init__(self) -> None:
        _check_limits("AdaptiveImportance", self.draws, self.error, self.seconds)
        _check.whole("AdaptiveImportance", at_least=0, stages=self.stages)
        _check.whole("AdaptiveImportance", at_least=100, stage_draws=self.stage_draws)


@dataclass(frozen=True, slots=True)
class Gibbs:
    """Many chains, in each of which one node after the other is drawn given all others.

    Chains are independent, so that the standard error is that of their means. A network in which
    probabilities are zero can split into parts that no chain crosses, and is refused.

    Parameters
    ----------
    draws, error, seconds, seed
        As for :class:`LogicSampling`; draws are those of all chains.
    chains, burn_in
        How many chains, and how many sweeps of each are left out at the beginning.

    References
    ----------
    S. Geman, D. Geman (1984). IEEE Transactions on Pattern Analysis and Machine Intelligence.
    """

    draws: int | None = None
    error: float | None = None
    seconds: float | None = None
    seed: Seed = SEED
    chains: int = 500
    burn_in: int = 50

    def __post_init__(self) -> None:
        _check_limits("Gibbs", self.draws, self.error, self.seconds)
        _check.whole("Gibbs", at_least=10, chains=self.chains)
        _check.whole("Gibbs", at_least=0, burn_in=self.burn_in)


@dataclass(frozen=True, slots=True)
class LoopyPropagation:
    """Messages between tables and variables until they settle: exact on trees and polytrees.

    Elsewhere the answer is an approximation without a standard error; it carries a report of
    whether the messages settled.

    Parameters
    ----------
    damping
        Share of the old message that is kept in each step.
    tolerance
        Change of a message below which it has settled.
    max_iterations
        Rounds after which it is given up.
    memory_limit
        Bytes for the tables of continuous nodes.

    References
    ----------
    J. Pearl (1988). Probabilistic Reasoning in Intelligent Systems. K. Murphy, Y. Weiss, M. Jordan
    (1999). Loopy belief propagation for approximate inference. UAI.
    """

    damping: float = 0.25
    tolerance: float = 1e-10
    max_iterations: int = 1000
    memory_limit: float = MEMORY_LIMIT

    def __post_init__(self) -> None:
        _check.finite("LoopyPropagation", damping=self.damping)
        if not 0 <= self.damping < 1:
            raise InputError(
                f"LoopyPropagation: damping must be at least 0 and below 1, got {self.damping!r}.",
                parameter="damping",
            )
        _check.positive(
            "LoopyPropagation", tolerance=self.tolerance, memory_limit=self.memory_limit
        )
        _check.whole("LoopyPropagation", at_least=1, max_iterations=self.max_iterations)


@dataclass(frozen=True, slots=True)
class Best:
    """The exact answer where it fits in memory, otherwise the best estimate.

    Parameters
    ----------
    memory_limit
        Bytes of the exact way.
    draws, error, seconds, seed
        Of the estimate, which is by :class:`AdaptiveImportance`; as for :class:`LogicSampling`.
    """

    memory_limit: float = MEMORY_LIMIT
    draws: int | None = None
    error: float | None = None
    seconds: float | None = None
    seed: Seed = SEED

    def __post_init__(self) -> None:
        _check.positive("Best", memory_limit=self.memory_limit)
        _check_limits("Best", self.draws, self.error, self.seconds)

    @property
    def exact(self) -> Exact:
        """The first choice."""
        return Exact(memory_limit=self.memory_limit, seed=self.seed)

    @property
    def estimate(self) -> AdaptiveImportance:
        """The second choice."""
        return AdaptiveImportance(self.draws, self.error, self.seconds, self.seed)


Sampler: TypeAlias = LogicSampling | LikelihoodWeighting | AdaptiveImportance | Gibbs
Way: TypeAlias = Exact | Sampler | LoopyPropagation | Best
"""How an answer is found."""


def is_estimate(by: object) -> TypeIs[Sampler | LoopyPropagation]:
    """Whether a question goes a way that is not exact."""
    ways = (LogicSampling, LikelihoodWeighting, AdaptiveImportance, Gibbs, LoopyPropagation)
    return isinstance(by, ways)
