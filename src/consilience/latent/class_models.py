r"""Latent class models: rows fall into classes that nobody recorded.

Within a class the features are independent, a naive Bayes model whose class is hidden:

.. math:: P(x) = \sum_c P(c) \prod_j P(x_j \mid c) .

If the table has several sources, the shares of the classes differ by source, :math:`P(c \mid F)`,
and what a class is like does not.

References
----------
P. Lazarsfeld, N. Henry (1968). Latent Structure Analysis.
L. Goodman (1974). Exploratory latent structure analysis using both identifiable and unidentifiable
models. Biometrika 61.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

import numpy as np

from consilience import _check
from consilience._typing import Seed
from consilience.data.door import Rows, as_table
from consilience.data.table import Table
from consilience.errors import InputError
from consilience.graph.dag import DAG
from consilience.incomplete.em import EM
from consilience.latent.number_of_states import HiddenStates, hidden_states
from consilience.latent.tried_states import Criterion, numbers_to_try
from consilience.parameters.dirichlet import Dirichlet
from consilience.structure.searches.task import Progress

__all__ = ["latent_classes"]


def latent_classes(
    table: Rows,
    n_classes: int | Iterable[int] = range(1, 9),
    *,
    features: Iterable[str] | None = None,
    node: str = "class",
    criterion: Criterion | None = None,
    estimator: Dirichlet | None = None,
    choice: EM | None = None,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> HiddenStates:
    """A latent class model with as many classes as the rows speak for, and all that was tried.

    The classes are numbered from the most frequent one on. Missing values are summed out.

    Parameters
    ----------
    table
        The rows: a table, a frame or a path. With several sources the model has an arc from the
        source to the class.
    n_classes
        Numbers of classes to try, or a single one.
    features
        Discrete variables that tell the class; all of the table if not given.
    node
        What the hidden class is called; no column of the table, nor its source.
    criterion, estimator, choice, seed, progress
        As in :func:`hidden_states`.

    Examples
    --------
    >>> import consilience as cs
    >>> kinds = {"a": ["no", "no", "yes"] * 30, "b": ["no", "no", "yes"] * 30}
    >>> rows = cs.read({**kinds, "c": ["no", "no", "yes"] * 30})
    >>> found = cs.latent_classes(rows, range(1, 4))
    >>> found.n_states, found.network["class"].table.round(2).tolist()
    (2, [0.66, 0.34])
    """
    table = as_table(table)
    asked = numbers_to_try("latent_classes", n_classes=n_classes)
    _check_node(table, node)
    names = _features(table, features)
    arcs = [(node, name) for name in names]
    if table.source is not None and len(table.sources) > 1:
        arcs.insert(0, (table.source, node))
    return hidden_states(
        DAG(arcs),
        table,
        node,
        asked,
        criterion=criterion,
        estimator=estimator,
        choice=choice,
        seed=seed,
        progress=progress,
    )


def _check_node(table: Table, node: str) -> None:
    if not (isinstance(node, str) and node):
        raise InputError(
            f"latent_classes: node must be a name (text that is not empty), got {node!r}.",
            parameter="node",
        )
    if node in table.schema:
        what = "the source" if node == table.source else "a column"
        raise InputError(
            f"latent_classes: {node!r} is {what} of the table; the hidden node needs a name that "
            "is no column and not the source: node=...",
            parameter="node",
        )


def _features(table: Table, features: Iterable[str] | None) -> list[str]:
    """The names of the features, all of them discrete columns."""
    if isinstance(features, str) or not (features is None or isinstance(features, Iterable)):
        raise InputError(
            f"latent_classes: features must be a list of names, got {features!r}.",
            parameter="features",
        )
    names = list(table.variables if features is None else features)
    _check.known("variable", names, list(table.variables))
    if not names:
        raise InputError("latent_classes: there are no features.", parameter="features")
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise InputError(
            f"latent_classes: features repeats {_check.listed(repeated)}; each feature is named "
            "once.",
            parameter="features",
        )
    for name in names:
        if table.variables[name].is_continuous:
            _refuse_continuous(table, name)
    return names


def _refuse_continuous(table: Table, name: str) -> NoReturn:
    counted = slice(None) if table.weights is None else table.weights > 0
    if np.isnan(table.columns[name][counted]).all():
        raise InputError(
            f"latent_classes: no row has a value of {name!r}. Leave it out: features=[...].",
            variable=name,
        )
    raise InputError(
        f"latent_classes: the feature {name!r} is continuous; classes are inferred from discrete "
        "features. Read it with discretize=, or leave it out: features=[...].",
        variable=name,
    )
