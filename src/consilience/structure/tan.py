r"""Tree-augmented naive Bayes: the target is a parent of all features, and they form a tree.

Of all such graphs it is the one of largest likelihood, since with :math:`N` rows

.. math:: \log L = N \sum_{(i,j) \in \text{tree}} \hat I(X_i; X_j \mid C) + \text{const}

so the tree is the spanning tree of largest total information. Which feature is the root does not
change the likelihood.

Rows of several sources are compared within them, where differing margins are no dependence, and
continuous features are weighed by regressions: ``pairs.py`` has the weights. A continuous feature
has no discrete child; where there are both kinds the tree is the best branching away from a
discrete root.

Reference: Friedman, Geiger and Goldszmidt (1997), after Chow and Liu (1968).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from consilience import _check
from consilience.data.describe import Described
from consilience.data.door import Rows
from consilience.data.variable import Schema
from consilience.errors import InputError
from consilience.graph.dag import DAG
from consilience.statistics.counts import MEMORY_LIMIT
from consilience.statistics.gather import engine_of
from consilience.statistics.request import Engine
from consilience.structure.pairs import pair_weights
from consilience.structure.source_ways import note_on_tree
from consilience.structure.trees import rooted_tree

__all__ = ["check_tan", "note_on_gaps", "tan", "tan_of", "tree_notes"]


def tan(rows: Rows | Engine, target: str, *, root: str | None = None) -> DAG:
    """The graph of tree-augmented naive Bayes; the target is the first parent of every feature.

    With one source and discrete features it is the tree of largest likelihood. The information of
    several sources is taken within them, less what chance would give, so that margins or means that
    differ between sources make no arcs (``tan(table.pooled(), target)`` pools them). Ties break by
    the order of the variables, so the graph is a function of the data. Time grows with the square
    of the number of features.

    Gaps are allowed: a row counts for a pair of features if both and the target are known in it
    (available rows). So pairs may be weighed by different rows, which is sound only if values are
    missing completely at random; classifiers tell of it in their report. To have rows completed by
    structural EM instead, use ``cs.learn(rows, search=cs.searches.TANSearch(target))``.

    Parameters
    ----------
    rows
        A table, a frame, a path or an engine; all variables but the target are features, discrete
        and continuous. The source is not a feature.
    target
        The class; discrete.
    root
        The feature that has no parent but the target; if not given the first discrete one, or the
        first. Among discrete features it must be one of them: continuous ones have no discrete
        children.

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
    check_tan(engine.schema, features, target, root)
    return tan_of(engine, features, target, root)


def check_tan(schema: Schema, features: Sequence[str], target: str, root: str | None) -> None:
    """Refuse a continuous class, an unknown root, and one from which no tree can grow."""
    if schema[target].is_continuous:
        raise InputError(
            f"the target {target!r} is continuous; a class has states. Read it with discrete=, or "
            "cut it with discretize=.",
            variable=target,
        )
    if root is None:
        return
    _check.known("feature", [root], features)
    discrete = [name for name in features if not schema[name].is_continuous]
    if schema[root].is_continuous and discrete:
        raise InputError(
            f"the root {root!r} is continuous and cannot have discrete children such as "
            f"{discrete[0]!r}. Choose a discrete root: {_check.listed(discrete)}.",
            variable=root,
        )


def tan_of(
    engine: Engine,
    features: Sequence[str],
    target: str,
    root: str | None,
    *,
    memory_limit: float = MEMORY_LIMIT,
) -> DAG:
    """The graph for some features, whose order breaks ties and says the root, without checks."""
    weights = pair_weights(engine, features, target, memory_limit=memory_limit)
    start = None if root is None else features.index(root)
    parent = {child: parent for parent, child in rooted_tree(weights, start)}
    arcs = []
    for k, feature in enumerate(features):
        arcs.append((target, feature))
        if k in parent:
            arcs.append((features[parent[k]], feature))
    return DAG(arcs, nodes=[target, *features])


def tree_notes(table: Described) -> tuple[str, ...]:
    """What to tell of a tree that was learned from a table: its sources and its gaps."""
    note, rows = note_on_gaps(table), cast("Rows | Engine", table)
    return (*note_on_tree(engine_of(rows)), *(() if note is None else (note,)))


def note_on_gaps(table: Described) -> str | None:
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
