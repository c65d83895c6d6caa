"""From what scikit-learn passes around (X, y, weights, sources) to tables.

- A column of X is a variable: by its name if the columns of X have text for names, else ``x0``,
  ``x1`` and so on by position. Kinds and states follow the rule of :func:`consilience.data.read`;
  what is continuous is cut into states, and the cut points are kept in the network's variables,
  or stays a number where ``discretize`` says so.
- y is the target: its states are the classes in scikit-learn's order.
- The source is a column of X or an array beside it.
- A row of weight zero is as if it were not there.
- To predict, a number beyond those of ``fit`` is the nearest of them.
- To predict, a value that was not there when the classifier was fitted is missing, and so is a
  source, unless the network has the state ``new_source``. A classifier fitted to one source only
  has no node for it: every row is predicted by the tables of that source, and others are counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from consilience import _check
from consilience._typing import Bools, Codes, Column, Floats, Integers
from consilience.classify import scikit
from consilience.classify.classes_of_rows import (
    Classes,
    check_length,
    classes_of,
    labels_of,
    name_of,
    weights_of,
)
from consilience.classify.ranges import within_ranges
from consilience.classify.seen_sources import has_new_source, seen_sources
from consilience.data.discretize import Discretizer, Quantiles, check_choices, discretize
from consilience.data.known import read_known
from consilience.data.parts import parts_of
from consilience.data.read import read
from consilience.data.table import Table, code_type
from consilience.data.variable import NEW_SOURCE, Schema, Variable
from consilience.errors import GraphError, InputError
from consilience.graph.dag import DAG
from consilience.network.network import Network

__all__ = ["DEFAULT_CUTS", "Unseen", "known_rows", "names_of", "training_table"]

TARGET, SOURCE = "target", "source"
"""Names of the target and of the source where what was given has none."""

DEFAULT_CUTS = Quantiles(4)
"""How continuous columns are cut by default."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """Values of rows to be predicted that no row had when the classifier was fitted.

    Parameters
    ----------
    n_rows
        Number of rows to be predicted.
    states
        For each feature with unseen values ``{value: number of rows}``; they count as missing.
    sources
        The same for sources; ``report`` says what stands for them.
    n_missing
        Number of values of features that are missing, unseen ones included.
    outside
        For each feature the number of rows beyond the range of its numbers in ``fit``, if there are
        any; they count as the end of the range.
    """

    n_rows: int
    states: Mapping[str, Mapping[str, int]]
    sources: Mapping[str, int]
    n_missing: int
    outside: Mapping[str, int] = field(default_factory=dict)


def training_table(
    classifier: Any, X: Any, y: Any, sample_weight: Any, *, source: Any, dag: DAG | None
) -> tuple[Table, Classes]:
    """The rows to learn from, and their classes.

    The target has the name of y, if it has one; a graph that is given names it in its own way.
    """
    _check_alone(classifier.source, source)
    name = name_of(y, TARGET)
    X = _two_dimensional(classifier, X, reset=True)
    if dag is not None:
        name = _target_of(dag, {*names_of(classifier), name_of(source, SOURCE)})
    y = labels_of(y)
    n_rows = X.shape[0]
    check_length("y", len(y), n_rows)
    weights = None if sample_weight is None else weights_of(sample_weight, n_rows)
    if source is not None:
        check_length("source", len(source), n_rows)
    if weights is not None and not weights.all():
        kept = np.flatnonzero(weights)
        X, y, weights = scikit.safe_indexing(X, kept), y[kept], weights[kept]
        source = None if source is None else scikit.safe_indexing(source, kept)
    classes = classes_of(name, y)
    features = _features(classifier, X)
    origin = features if source is None else _origin(source, classifier.missing)
    table = _joined(features, origin, classes, weights)
    choices = _choices(classifier.discretize, features, classes.name)
    return discretize(table, choices), classes


def known_rows(classifier: Any, X: Any, source: Any) -> tuple[Table, Unseen]:
    """The rows to be predicted as variables of the network, the source being one of them."""
    _check_source(classifier, source)
    X = _two_dimensional(classifier, X, reset=False)
    if source is not None:
        check_length("source", len(source), X.shape[0])
    network: Network = classifier.network_
    names, missing = names_of(classifier), classifier.missing
    columns = _named(X, names)
    features = {
        name: network.variables[name]
        for name in names
        if name in network.variables and name != network.source
    }
    read_table, unseen = read_known(columns, features, missing=missing)
    table, outside = within_ranges(read_table, classifier.story_.ranges)
    n_missing = sum(int(is_missing(column).sum()) for column in table.columns.values())
    sources: Mapping[str, int] = {}
    node = _source_node(classifier)
    if node is not None and (source is not None or classifier.source is not None):
        given = columns if source is None else {node.name: source}
        stand_ins = {node.name: NEW_SOURCE} if has_new_source(network) else {}
        beside, found = read_known(given, {node.name: node}, missing=missing, stand_ins=stand_ins)
        sources = found.get(node.name, {})
        if network.source is not None:
            schema = Schema({**features, node.name: node})
            table = Table(schema, {**table.columns, **beside.columns})
    return table, Unseen(X.shape[0], unseen, sources, n_missing, outside)


def is_missing(column: Column) -> Bools:
    """Where a column of codes or of numbers has no value."""
    return np.asarray(np.isnan(column) if column.dtype.kind == "f" else column < 0)


def names_of(classifier: Any) -> tuple[str, ...]:
    """Names of the columns of X by position."""
    if hasattr(classifier, "feature_names_in_"):
        return tuple(classifier.feature_names_in_)
    return tuple(f"x{k}" for k in range(classifier.n_features_in_))


def _target_of(dag: DAG, others: Collection[str]) -> str:
    """The one node of a graph that is neither a column of X nor the source."""
    nodes = [node for node in dag.nodes if node not in others]
    if len(nodes) != 1:
        raise GraphError(
            "one node of the graph must be the target, and all others columns of X or the "
            f"source; nodes that are neither: {_check.listed(nodes)}.",
            nodes=tuple(nodes),
        )
    return nodes[0]


def _two_dimensional(classifier: Any, X: Any, *, reset: bool) -> Any:
    """A frame as it is, anything else as an array; scikit-learn keeps or checks the names."""
    if _is_frame(X):
        _check_size(X)
        return scikit.validate_data(classifier, X, reset=reset, skip_check_array=True)
    if isinstance(X, list | tuple) and np.asarray(X).dtype.kind in "US":
        X = np.asarray(X, dtype=object)  # as text, NaN and None would be states
    return scikit.validate_data(
        classifier, X, reset=reset, dtype=None, ensure_all_finite="allow-nan"
    )


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "shape")


def _check_size(X: Any) -> None:
    for n, what in zip(X.shape, ("row", "column"), strict=True):
        if n == 0:
            raise InputError(f"X has no {what}; at least one is needed.", parameter="X")


def _named(X: Any, names: Sequence[str]) -> Any:
    """The columns of X under these names, by position."""
    if not _is_frame(X):
        return dict(zip(names, np.asfortranarray(X).T, strict=True))
    if tuple(getattr(X, "column_names", X.columns)) == tuple(names):
        return X
    [part] = parts_of(X, None)
    return dict(zip(names, part.columns.values(), strict=True))


def _features(classifier: Any, X: Any) -> Table:
    """All columns of X but the source, with the sources if they are a column."""
    names, source = names_of(classifier), classifier.source
    if source is not None and source not in names:
        raise InputError(
            f"X has no column {source!r}, which names the source of each row. "
            f"Columns: {_check.listed(names)}.",
            column=source,
        )
    if names == (source,):
        raise InputError(
            f"X has no column beside the source {source!r}; at least one feature is needed.",
            column=source,
        )
    return read(
        _named(X, names), source=source, states=classifier.states, missing=classifier.missing
    )


def _origin(source: Any, missing: Iterable[Any]) -> Table:
    """The sources given beside X as a table without variables."""
    name = name_of(source, SOURCE)
    return read({name: source}, source=name, missing=missing)


def _joined(
    features: Table, origin: Table, classes: Classes, weights: Integers | Floats | None
) -> Table:
    node = classes.variable
    if node.name in features.schema or node.name == origin.source:
        raise InputError(
            f"y is named {node.name!r}, and so is a column of X or the source. Rename one of them "
            "(y has a name if it is a series).",
            column=node.name,
        )
    codes: Codes = classes.codes.astype(code_type(node.n_states))
    source, source_codes = seen_sources(origin.schema.source, origin.source_codes)
    return Table(
        schema=Schema({**features.variables, node.name: node}, source),
        columns={**features.columns, node.name: codes},
        source_codes=source_codes,
        weights=weights,
        origins={**features.origins, node.name: "y"},
    )


def _choices(given: Any, features: Table, target: str) -> dict[str, Discretizer]:
    """How columns are cut: the continuous ones that do not stay numbers, and those named."""
    if isinstance(given, Mapping) and target in given:
        raise InputError(f"the target {target!r} cannot be discretised.", column=target)
    by_name = given if isinstance(given, Mapping) else {}
    others = DEFAULT_CUTS if given is None or isinstance(given, Mapping) else given
    if others is not False:
        check_choices(dict.fromkeys(features.variables, others))
    continuous = [name for name, v in features.variables.items() if v.is_continuous]
    chosen = {**dict.fromkeys(continuous, others), **by_name}
    return {name: choice for name, choice in chosen.items() if choice is not False}


def _check_alone(column: str | None, source: Any) -> None:
    if isinstance(source, str):
        raise InputError(
            f"source must be the source of each row, got the text {source!r}. A column of X is "
            f"named when the classifier is made: source={source!r}.",
            parameter="source",
        )
    if column is not None and source is not None:
        raise InputError(
            f"the sources are the column {column!r} of X; they cannot be given beside it as well.",
            parameter="source",
        )


def _check_source(classifier: Any, source: Any) -> None:
    _check_alone(classifier.source, source)
    if source is not None and classifier.source_ is None:
        raise InputError(
            "source was given to predict but not to fit: this classifier knows no sources.",
            parameter="source",
        )


def _source_node(classifier: Any) -> Variable | None:
    """The source as the network has it, or as the rows of the only source had it."""
    network: Network = classifier.network_
    if network.source is not None:
        return network.variables[network.source]
    if classifier.source_ is None:
        return None
    return Variable(classifier.source_, tuple(one.name for one in classifier.story_.sources))
