"""Graphs: DAGs, their equivalence classes, separation, distances, comparison, random graphs."""

from consilience.graph.arc_comparison import GraphComparison, v_structures
from consilience.graph.cpdag import CPDAG
from consilience.graph.dag import DAG
from consilience.graph.distance import Confusion, confusion, shd, shd_dags
from consilience.graph.meek import meek_closure, orient
from consilience.graph.moral import moral_graph
from consilience.graph.random import all_dags, count_dags, random_dag, uniform_dag

__all__ = [
    "CPDAG",
    "DAG",
    "Confusion",
    "GraphComparison",
    "all_dags",
    "confusion",
    "count_dags",
    "meek_closure",
    "moral_graph",
    "orient",
    "random_dag",
    "shd",
    "shd_dags",
    "uniform_dag",
    "v_structures",
]
