"""What rows record of each variable, from statistics alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from consilience.network.network import Network
from consilience.statistics.engines.memory import Memory
from consilience.statistics.family import Family
from consilience.statistics.gather import count
from consilience.statistics.request import Engine, MomentRequest
from consilience.statistics.together import Together

__all__ = ["Recorded", "impossible_row", "never_recorded", "recorded_by_source"]


class Recorded(NamedTuple):
    """How many rows of a source have a value of a variable."""

    name: str
    source: str
    n_rows: float
    n_recorded: float


def never_recorded(engine: Engine, nodes: Iterable[str], hidden: Collection[str]) -> list[str]:
    """Discrete nodes that the rows have a column of, with nothing in it."""
    variables = engine.schema.variables
    names = [name for name in nodes if name not in hidden and not variables[name].is_continuous]
    counts = count(engine, [Family(name) for name in names]) if names else []
    return [one.child.name for one in counts if one.table.sum() == 0]


def recorded_by_source(engine: Engine, names: Sequence[str]) -> list[Recorded]:
    """How often the sources have recorded each variable, source by source."""
    variables = engine.schema.variables
    numbers = [name for name in names if variables[name].is_continuous]
    discrete = [Family(name) for name in names if name not in numbers]
    found = {}
    for counts in count(engine, discrete, by_source=True) if discrete else []:
        found[counts.child.name] = counts.n_rows / counts.scale, counts.n_complete
    requests = tuple(MomentRequest((name,), by_source=True) for name in numbers)
    for moments in engine.gather(Together(requests)) if requests else []:
        found[moments.names[0]] = moments.n_rows, moments.weight.sum(axis=1)
    source = engine.schema.source
    sources = () if source is None else source.discrete_states
    return [
        Recorded(name, one, float(found[name][0][code]), float(found[name][1][code]))
        for code, one in enumerate(sources)
        for name in names
    ]


def impossible_row(net: Network, engine: Engine) -> int | None:
    """The first row that has the probability zero under a network, if the rows are in memory."""
    if not isinstance(engine, Memory):
        return None
    table = engine.table
    has_weight = np.ones(table.n_rows, bool) if table.weights is None else table.weights > 0
    return int(np.flatnonzero(np.isneginf(net.log_likelihood(table)) & has_weight)[0]) + 1
