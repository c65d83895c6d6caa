"""How an answer is found: the choice that queries and all other answers take as ``by=``."""

from __future__ import annotations

from dataclasses import dataclass

from consilience import _check
from consilience._typing import Seed
from consilience.errors import InputError
from consilience.network.network import DRAWS, MEMORY_LIMIT, SEED

__all__ = ["Exact", "exact_of"]


@dataclass(frozen=True, slots=True)
class Exact:
    """Exact inference, the default; estimated only where there is no closed form.

    That is where a logistic node matters and several of its continuous parents are not known; the
    answer then has standard errors (:mod:`consilience.inference.open_logistic`).

    Parameters
    ----------
    memory_limit
        Bytes; what needs more is refused before anything is allocated.
    draws
        Draws of an answer that must be estimated; if not given 20,000, and 2,000 for each such row
        of a table.
    seed
        Of these draws: a whole number or a NumPy generator.

    Examples
    --------
    >>> import consilience as cs
    >>> coin = cs.Variable("coin", ("heads", "tails"))
    >>> net = cs.Network.of([cs.Categorical(coin, (), [0.25, 0.75])])
    >>> net.query("coin", by=cs.inference.Exact(memory_limit=2**20))["heads"]
    0.25
    """

    memory_limit: float = MEMORY_LIMIT
    draws: int | None = None
    seed: Seed = SEED

    def __post_init__(self) -> None:
        _check.positive("Exact", memory_limit=self.memory_limit)
        if self.draws is not None:
            _check.whole("Exact", at_least=2, draws=self.draws)
        _check.generator(self.seed)

    @property
    def n_draws(self) -> int:
        """Draws of one answer."""
        return DRAWS if self.draws is None else self.draws


def exact_of(by: object) -> Exact:
    """The choice itself; the default if none is given."""
    if by is None:
        return Exact()
    if not isinstance(by, Exact):
        raise InputError(
            f"by must be a choice such as cs.inference.Exact(memory_limit=2**31), got {by!r}.",
            parameter="by",
        )
    return by
