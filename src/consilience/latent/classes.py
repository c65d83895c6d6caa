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

from consilience import _check
from consilience._typing import Seed
from consilience.data.table import Table
from consilience.errors import InputError
from consilience.graph.dag import DAG
from consilience.incomplete.em import EM
from consilience.latent.states import Criterion, HiddenStates, hidden_states
from consilience.parameters.dirichlet import Dirichlet
from consilience.structure.searches.task import Progress

__all__ = ["latent_classes"]


def latent_classes(
    table: Table,
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
        The rows. With several sources the model has an arc from the source to the class.
    n_classes
        Numbers of classes to try, or a single one.
    features
        Discrete variables that tell the class; all of the table if not given.
    node
        What the hidden class is called; no column of the table.
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
    _check.names("latent_classes", features=() if features is None else features)
    names = list(table.variables if features is None else features)
    _check.known("variable", names, table.variables)
    if not names:
        raise InputError("latent_classes: there are no features.", parameter="features")
    for name in names:
        if table.variables[name].is_continuous:
            raise InputError(
                f"latent_classes: the feature {name!r} is continuous; classes are told by discrete "
                "features. Read it with discretize=, or leave it out: features=[...].",
                variable=name,
            )
    arcs = [(node, name) for name in names]
    if table.source is not None and len(table.sources) > 1:
        arcs.insert(0, (table.source, node))
    return hidden_states(
        DAG(arcs),
        table,
        node,
        n_classes,
        criterion=criterion,
        estimator=estimator,
        choice=choice,
        seed=seed,
        progress=progress,
    )
