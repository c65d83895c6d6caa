r"""Which estimator serves which kind of family, and what follows for the source node.

An estimator serves the kinds it has a method for. An estimator that is not given follows the one
that is: if that one pools the sources, keeps them apart or ties them, so do the others. Without
any,

===================== =================== ==================== ===========================
sources               tables              regressions          logistic nodes
===================== =================== ==================== ===========================
one                   HDC()               TiedVariances()      LogisticRegression()
several               HDC()               HierarchicalGaussian HierarchicalLogistic
===================== =================== ==================== ===========================

With one source the network has no source node: the chain ties parent states alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from consilience.data.variable import Schema
from consilience.errors import InputError
from consilience.graph.dag import DAG
from consilience.parameters.chain import HDC
from consilience.parameters.estimator import METHODS, is_apart, is_for_new_sources, serves
from consilience.parameters.hierarchical_gaussian import HierarchicalGaussian
from consilience.parameters.logistic import HierarchicalLogistic, LogisticRegression
from consilience.parameters.pooling import Pooled, Separate, check_estimator
from consilience.parameters.tied_variances import TiedVariances

__all__ = ["choices", "has_new_source", "kind_of", "method_of"]

KEYWORDS = {"table": "estimator", "regression": "gaussian", "logistic": "logistic"}
EXAMPLES = {
    "table": "cs.HDC() or cs.Dirichlet()",
    "regression": "cs.estimators.TiedVariances(), cs.MLE() or cs.estimators.HierarchicalGaussian()",
    "logistic": "cs.estimators.LogisticRegression() or cs.estimators.HierarchicalLogistic()",
}


def kind_of(dag: DAG, schema: Schema, node: str) -> str:
    """The kind of a node's family: a key of ``METHODS``."""
    if schema[node].is_continuous:
        return "regression"
    has_continuous = any(schema[parent].is_continuous for parent in dag.parents(node))
    return "logistic" if has_continuous else "table"


def choices(
    kinds: Iterable[str],
    n_sources: int,
    *,
    estimator: Any = None,
    gaussian: Any = None,
    logistic: Any = None,
) -> dict[str, Any]:
    """The estimator of each kind of family that occurs; by default the one that the tables'
    estimator suggests.
    """
    given = {"table": estimator, "regression": gaussian, "logistic": logistic}
    for kind, choice in given.items():
        if choice is not None:
            _check_choice(kind, choice)
    occurring = [kind for kind in METHODS if kind in set(kinds)]
    if estimator is not None and not any(serves(estimator, kind) for kind in occurring):
        raise InputError(
            f"estimator {estimator!r} serves no family of this graph, whose families need "
            f"{' and '.join(EXAMPLES[kind] for kind in occurring)}.",
            parameter="estimator",
        )
    tables = _tables(estimator, n_sources)
    lead = estimator if estimator is not None else HDC() if n_sources > 1 else Pooled(HDC())
    return {kind: _chosen(kind, given[kind], estimator, tables, lead=lead) for kind in occurring}


def method_of(chosen: Mapping[str, Any]) -> str:
    """The estimators in words, for the record."""
    different = list(dict.fromkeys(map(repr, chosen.values())))
    if len(different) == 1:
        return different[0]
    return ", ".join(f"{KEYWORDS[kind]}={choice!r}" for kind, choice in chosen.items())


def has_new_source(
    dag: DAG, source: str, chosen: Mapping[str, Any], kind: Mapping[str, str]
) -> bool:
    """Whether the source node has the reserved state for a source never seen.

    It has if an estimator adds it and no family depends on the source in a way that says nothing
    about new ones (``kind`` are the kinds of all nodes but the source).

    Raises
    ------
    InputError
        If some families depend on the source in the one way and some in the other.
    """
    dependent = set(dag.children(source) if source in dag.nodes else kind)
    extended: list[str] = []
    plain: list[str] = []
    for node in kind:
        choice = chosen[kind[node]]
        if node in dependent and is_apart(choice):
            (extended if is_for_new_sources(choice) else plain).append(node)
        elif source in dag.parents(node):
            plain.append(node)
    if extended and plain:
        raise InputError(
            f"{chosen[kind[extended[0]]]!r} gives {extended[0]!r} a distribution for a source "
            f"never seen, but {chosen[kind[plain[0]]]!r} gives {plain[0]!r} none. Choose for "
            "tables, gaussian= and logistic= estimators that all do or all do not.",
            variable=plain[0],
        )
    return not plain and any(map(is_for_new_sources, chosen.values()))


def _check_choice(kind: str, choice: Any) -> None:
    if kind == "table":
        check_estimator(choice, KEYWORDS[kind], parameter=KEYWORDS[kind])
    elif isinstance(choice, type) or not serves(choice, kind):
        raise InputError(
            f"{KEYWORDS[kind]} must be a choice such as {EXAMPLES[kind]}, got {choice!r}.",
            parameter=KEYWORDS[kind],
        )


def _tables(estimator: Any, n_sources: int) -> Any:
    """The estimator of tables: the one given if it can, or one that does the same with sources."""
    if estimator is not None and serves(estimator, "table"):
        return estimator
    if estimator is None or is_for_new_sources(estimator):
        return Pooled(HDC()) if n_sources == 1 else HDC()
    return Separate(HDC()) if is_apart(estimator) else Pooled(HDC())


def _chosen(kind: str, given: Any, estimator: Any, tables: Any, *, lead: Any) -> Any:
    if kind == "table":
        return tables
    if given is not None:
        return given
    if estimator is not None and serves(estimator, kind):
        return estimator
    plain: Any = TiedVariances() if kind == "regression" else LogisticRegression()
    if not is_apart(lead):
        return plain
    if not is_for_new_sources(lead):
        return Separate(plain)
    return HierarchicalGaussian() if kind == "regression" else HierarchicalLogistic()
