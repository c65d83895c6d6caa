"""Parameters of local distributions in words, in the order of their arrays."""

from __future__ import annotations

from itertools import product

from consilience.distributions import Distribution
from consilience.distributions.local_distribution import kinds

__all__ = ["parameter_names"]


def parameter_names(local: Distribution) -> list[str]:
    """A name for each number of ``local.parameters``, the last axis varying fastest.

    >>> import consilience as cs
    >>> cold, cough = cs.Variable("cold", ("no", "yes")), cs.Variable("cough", ("no", "yes"))
    >>> parameter_names(cs.Categorical(cough, (cold,), [[0.9, 0.1], [0.4, 0.6]]))[2:]
    ['cough=no | cold=yes', 'cough=yes | cold=yes']
    """
    child = local.child
    discrete, continuous = kinds(local.given)
    if child.is_continuous:
        ends = ["intercept", *(one.name for one in continuous), "sd"]
        last = [f"{child.name}: {end}" for end in ends]
    else:
        states = [f"{child.name}={state}" for state in child.discrete_states]
        ends = ["", *(f", {one.name}" for one in continuous)]
        last = states if not continuous else [a + b for a, b in product(states, ends)]
    given = [
        ", ".join(f"{parent.name}={state}" for parent, state in zip(discrete, chosen, strict=True))
        for chosen in product(*(parent.discrete_states for parent in discrete))
    ]
    return [f"{name} | {states}" if states else name for states, name in product(given, last)]
