"""The graph of a classifier: given, or learned from its training rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from consilience.data.table import Table
from consilience.errors import InputError
from consilience.graph.dag import DAG

__all__ = ["Structure", "check_structure", "dag_of"]

Structure: TypeAlias = DAG | Callable[[Table, str], DAG]
"""A graph, or a function that gives one for a table and the name of its target."""


def check_structure(structure: Any) -> None:
    """Refuse what is neither a graph nor a function."""
    if not isinstance(structure, DAG) and (isinstance(structure, type) or not callable(structure)):
        raise InputError(
            "structure must be a DAG, or a function of a table and the name of its target that "
            f"gives one; got {structure!r}.",
            parameter="structure",
        )


def dag_of(structure: Structure, table: Table, target: str) -> DAG:
    """The graph for these rows; the target must be one of its nodes."""
    dag = structure if isinstance(structure, DAG) else structure(table, target)
    if not isinstance(dag, DAG) or target not in dag.nodes:
        raise InputError(
            f"structure must give a DAG in which {target!r} is a node, got {dag!r}.",
            parameter="structure",
        )
    return dag
