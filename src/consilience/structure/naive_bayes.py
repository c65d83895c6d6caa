"""The graph of naive Bayes: the target is the parent of every other variable."""

from __future__ import annotations

from consilience import _check
from consilience.data.door import Rows
from consilience.graph.dag import DAG
from consilience.statistics.gather import engine_of
from consilience.statistics.request import Engine

__all__ = ["naive_bayes"]


def naive_bayes(table: Rows | Engine, target: str) -> DAG:
    """The DAG with an arc from the target to each other variable of the table, in their order.

    It follows from the names alone: no row is looked at, and gaps do not matter.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"ill": ["no", "yes"], "fever": ["no", "yes"], "rash": ["no", "no"]})
    >>> cs.naive_bayes(table, target="ill").arcs
    (('ill', 'fever'), ('ill', 'rash'))
    """
    variables = engine_of(table).schema.variables
    _check.known("variable", [target], variables)
    features = [name for name in variables if name != target]
    return DAG([(target, feature) for feature in features], nodes=[target, *features])
