r"""Tree-augmented naive Bayes: the target is a parent of all features, and they form a tree.

Of all such graphs it is the one of largest likelihood, since with :math:`N` rows

.. math:: \log L = N \sum_{(i,j) \in \text{tree}} \hat I(X_i; X_j \mid C) + \text{const}

so the tree is the spanning tree of largest total information. Which feature is the root does not
change the likelihood.

Reference: Friedman, Geiger and Goldszmidt (1997), after Chow and Liu (1968).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.data.table import Table
from consilience.errors import DataError
from consilience.graph.dag import DAG
from consilience.statistics.family import Family
from consilience.statistics.gather import count, engine_of
from consilience.statistics.request import Engine
from consilience.structure.information import conditional_information
from consilience.structure.trees import arcs_from_root, spanning_tree

__all__ = ["note_on_gaps", "tan", "tan_of"]


def tan(rows: Table | Engine, target: str, *, root: str | None = None) -> DAG:
    """The graph of tree-augmented naive Bayes; the target is the first parent of every feature.

    Information comes from plain counts over all sources together. Ties break by the order of the
    variables, so the graph is a function of the data. Time grows with the square of the number of
    features.

    Gaps are allowed: a row counts for a pair of features if both and the target are known in it
    (available rows). So pairs may be weighed by different rows, which is sound only if values are
    missing completely at random; classifiers tell of it in their report. To have rows completed by
    structural EM instead, use ``cs.learn(rows, search=cs.TANSearch(target))``.

    Parameters
    ----------
    rows
        A table or an engine; all variables but the target are features and must be discrete. The
        source is not a feature.
    target
        The class.
    root
        The feature that has no parent but the target; the first one if not given.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"ill": ["no", "no", "yes", "yes"], "fever": ["no", "yes", "no", "yes"],
    ...                  "chill": ["no", "yes", "no", "yes"], "rash": ["no", "no", "no", "yes"]})
    >>> tan(table, target="ill").arcs
    (('ill', 'fever'), ('ill', 'chill'), ('fever', 'chill'), ('ill', 'rash'), ('fever', 'rash'))
    """
    engine = engine_of(rows)
    variables = engine.schema.variables
    _check.known("variable", [target], variables)
    features = [name for name in variables if name != target]
    if root is not None:
        _check.known("feature", [root], features)
    for name in variables:
        variables[name].discrete_states  # noqa: B018 - refuses a continuous variable
    return tan_of(engine, features, target, root)


def tan_of(engine: Engine, features: Sequence[str], target: str, root: str | None) -> DAG:
    """The graph for some features, whose order breaks ties and says the root, without checks."""
    edges = spanning_tree(_weights(engine, features, target))
    start = 0 if root is None else features.index(root)
    parent = {child: parent for parent, child in arcs_from_root(edges, start)}
    arcs = []
    for k, feature in enumerate(features):
        arcs.append((target, feature))
        if k in parent:
            arcs.append((features[parent[k]], feature))
    return DAG(arcs, nodes=[target, *features])


def note_on_gaps(table: Table) -> str | None:
    """What to tell of a tree that was learned from a table with gaps; None if it has none."""
    by_source = table.missing.values()
    gaps = [name for name in table.variables if any(shares[name] > 0 for shares in by_source)]
    if not gaps:
        return None
    return (
        "The tree was learned from the rows in which both features of a pair and the target are "
        "known (available rows), pair by pair; that is sound only if values are missing completely "
        f"at random. Gaps in: {_check.listed(gaps)}."
    )


def _weights(engine: Engine, features: Sequence[str], target: str) -> Floats:
    """Information between each two features given the target."""
    pairs = list(combinations(range(len(features)), 2))
    families = [Family(features[i], (features[j], target)) for i, j in pairs]
    weights = np.zeros((len(features), len(features)))
    for (i, j), counts in zip(pairs, count(engine, families), strict=True):
        if counts.n_rows.sum() == 0:
            raise DataError("a tree cannot be learned from a table without rows.")
        shape = (*(parent.n_states for parent in counts.given), counts.child.n_states)
        table = counts.to_dense().values.reshape(shape)  # (x_j, target, x_i)
        weights[i, j] = weights[j, i] = conditional_information(np.moveaxis(table, 1, 2))
    return weights
