"""Bayesian networks learned from many sources.

Public names are resolved when first used, so that importing the package stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from consilience.classify.classifiers import (
        NaiveBayesClassifier,
        NetworkClassifier,
        TANClassifier,
    )
    from consilience.classify.evaluation import Evaluation
    from consilience.classify.measures import evaluate, evaluate_network
    from consilience.data.discretize import MDLP, Cuts, EqualWidth, Quantiles, discretize
    from consilience.data.read import read
    from consilience.data.table import Table
    from consilience.data.variable import Schema, Variable
    from consilience.distributions.categorical import Categorical
    from consilience.errors import ConsilienceError
    from consilience.files.registry import load, save
    from consilience.graph.cpdag import CPDAG
    from consilience.graph.dag import DAG
    from consilience.graph.distance import confusion, shd, shd_dags
    from consilience.graph.random import random_dag, uniform_dag
    from consilience.inference.batch import expected_counts
    from consilience.inference.divergence import entropy, kl_divergence
    from consilience.inference.evidence import Likelihood, Soft
    from consilience.inference.explanations import Explanation, most_probable
    from consilience.inference.queries import log_probability
    from consilience.learning import fit
    from consilience.network.factor import Factor
    from consilience.network.network import Network
    from consilience.parameters.chain import HDC
    from consilience.parameters.dirichlet import Dirichlet
    from consilience.parameters.hierarchical import HDMCS, HDMJS, HDS
    from consilience.parameters.maximum_likelihood import MLE
    from consilience.parameters.pooling import Adaptive, Pooled, Separate
    from consilience.parameters.shrinkage import Shrinkage
    from consilience.parameters.strength import Gamma, PerState
    from consilience.parameters.uncertainty import draws, intervals
    from consilience.show.calibration import plot_calibration
    from consilience.show.plot import plot_graph, plot_sources
    from consilience.show.svg import svg
    from consilience.simulate.calibration import diverge_calibrated
    from consilience.simulate.difficulty import difficulty
    from consilience.simulate.divergence import diverge, realized_divergence
    from consilience.simulate.networks import random_network
    from consilience.simulate.permutation import permute_states
    from consilience.simulate.strata import stratified_order, stratified_subsample
    from consilience.statistics.counts import Counts
    from consilience.statistics.family import Family
    from consilience.statistics.gather import count, moments
    from consilience.statistics.moments import Moments
    from consilience.structure.naive_bayes import naive_bayes
    from consilience.structure.tan import tan

_HOME = {
    "Adaptive": "parameters.pooling",
    "CPDAG": "graph.cpdag",
    "Categorical": "distributions.categorical",
    "ConsilienceError": "errors",
    "Counts": "statistics.counts",
    "Cuts": "data.discretize",
    "DAG": "graph.dag",
    "Dirichlet": "parameters.dirichlet",
    "EqualWidth": "data.discretize",
    "Evaluation": "classify.evaluation",
    "Explanation": "inference.explanations",
    "Factor": "network.factor",
    "Family": "statistics.family",
    "Gamma": "parameters.strength",
    "HDC": "parameters.chain",
    "HDMCS": "parameters.hierarchical",
    "HDMJS": "parameters.hierarchical",
    "HDS": "parameters.hierarchical",
    "Likelihood": "inference.evidence",
    "MDLP": "data.discretize",
    "MLE": "parameters.maximum_likelihood",
    "Moments": "statistics.moments",
    "NaiveBayesClassifier": "classify.classifiers",
    "Network": "network.network",
    "NetworkClassifier": "classify.classifiers",
    "PerState": "parameters.strength",
    "Pooled": "parameters.pooling",
    "Quantiles": "data.discretize",
    "Schema": "data.variable",
    "Separate": "parameters.pooling",
    "Shrinkage": "parameters.shrinkage",
    "Soft": "inference.evidence",
    "TANClassifier": "classify.classifiers",
    "Table": "data.table",
    "Variable": "data.variable",
    "confusion": "graph.distance",
    "count": "statistics.gather",
    "difficulty": "simulate.difficulty",
    "discretize": "data.discretize",
    "diverge": "simulate.divergence",
    "diverge_calibrated": "simulate.calibration",
    "draws": "parameters.uncertainty",
    "entropy": "inference.divergence",
    "evaluate": "classify.measures",
    "evaluate_network": "classify.measures",
    "expected_counts": "inference.batch",
    "fit": "learning",
    "intervals": "parameters.uncertainty",
    "kl_divergence": "inference.divergence",
    "load": "files.registry",
    "log_probability": "inference.queries",
    "moments": "statistics.gather",
    "most_probable": "inference.explanations",
    "naive_bayes": "structure.naive_bayes",
    "permute_states": "simulate.permutation",
    "plot_calibration": "show.calibration",
    "plot_graph": "show.plot",
    "plot_sources": "show.plot",
    "random_dag": "graph.random",
    "random_network": "simulate.networks",
    "read": "data.read",
    "realized_divergence": "simulate.divergence",
    "save": "files.registry",
    "shd": "graph.distance",
    "shd_dags": "graph.distance",
    "stratified_order": "simulate.strata",
    "stratified_subsample": "simulate.strata",
    "svg": "show.svg",
    "tan": "structure.tan",
    "uniform_dag": "graph.random",
}

__all__ = [
    "CPDAG",
    "DAG",
    "HDC",
    "HDMCS",
    "HDMJS",
    "HDS",
    "MDLP",
    "MLE",
    "Adaptive",
    "Categorical",
    "ConsilienceError",
    "Counts",
    "Cuts",
    "Dirichlet",
    "EqualWidth",
    "Evaluation",
    "Explanation",
    "Factor",
    "Family",
    "Gamma",
    "Likelihood",
    "Moments",
    "NaiveBayesClassifier",
    "Network",
    "NetworkClassifier",
    "PerState",
    "Pooled",
    "Quantiles",
    "Schema",
    "Separate",
    "Shrinkage",
    "Soft",
    "TANClassifier",
    "Table",
    "Variable",
    "__version__",
    "confusion",
    "count",
    "difficulty",
    "discretize",
    "diverge",
    "diverge_calibrated",
    "draws",
    "entropy",
    "evaluate",
    "evaluate_network",
    "expected_counts",
    "fit",
    "intervals",
    "kl_divergence",
    "load",
    "log_probability",
    "moments",
    "most_probable",
    "naive_bayes",
    "permute_states",
    "plot_calibration",
    "plot_graph",
    "plot_sources",
    "random_dag",
    "random_network",
    "read",
    "realized_divergence",
    "save",
    "shd",
    "shd_dags",
    "stratified_order",
    "stratified_subsample",
    "svg",
    "tan",
    "uniform_dag",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'consilience' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f"consilience.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
