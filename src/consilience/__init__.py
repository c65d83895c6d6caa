"""Bayesian networks learned from many sources.

Public names are resolved when first used, so that importing the package stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from consilience.classify.calibration import Calibrated, calibrated_chain
    from consilience.classify.classifiers import (
        NaiveBayesClassifier,
        NetworkClassifier,
        TANClassifier,
    )
    from consilience.classify.cross import cross_evaluate
    from consilience.classify.evaluation import Evaluation
    from consilience.classify.measures import evaluate, evaluate_network
    from consilience.classify.results import CrossEvaluation
    from consilience.classify.splits import LearningCurve, LeaveOneSourceOut, StratifiedFolds
    from consilience.comparison import compare_graphs
    from consilience.data.discretize import MDLP, Cuts, EqualWidth, Quantiles, discretize
    from consilience.data.read import read
    from consilience.data.table import Table
    from consilience.data.variable import Schema, Variable
    from consilience.discovery import learn, node_scores, score, search
    from consilience.distributions.categorical import Categorical
    from consilience.distributions.linear_gaussian import LinearGaussian
    from consilience.distributions.logistic import Logistic
    from consilience.errors import ConsilienceError
    from consilience.files.registry import load, save
    from consilience.fusing import fuse
    from consilience.fusion.choosing import RowByRow, StrongestFirst
    from consilience.fusion.parameters import Merged
    from consilience.fusion.pools import DemocraticPool, LinearPool, LogarithmicPool
    from consilience.fusion.record import Fusion
    from consilience.fusion.regressions import InverseVariance, PrecisionMatrices
    from consilience.fusion.thresholds import BestScore, Majority
    from consilience.fusion.votes import ArcVotes, ClassVotes, Votes
    from consilience.fusion.weighting import (
        EqualWeights,
        HeldOutWeights,
        RowWeights,
        StrengthWeights,
    )
    from consilience.graph.comparison import GraphComparison
    from consilience.graph.cpdag import CPDAG
    from consilience.graph.dag import DAG
    from consilience.graph.distance import confusion, shd, shd_dags
    from consilience.graph.random import random_dag, uniform_dag
    from consilience.incomplete.assessment import GapAssessment, assess_gaps
    from consilience.incomplete.augmentation import Augmentation, augment
    from consilience.incomplete.canonical import canonical
    from consilience.incomplete.chains import bulk_size, r_hat, tail_size
    from consilience.incomplete.em import EM, Convergence, em
    from consilience.incomplete.imputation import Imputation, impute
    from consilience.incomplete.rubin import PooledAnswer, pool_answers, pool_queries
    from consilience.incomplete.structural_em import StructuralEM
    from consilience.incomplete.variational import (
        VariationalBayes,
        VariationalResult,
        variational,
    )
    from consilience.inference.divergence import entropy, kl_divergence
    from consilience.inference.evidence import Likelihood, Soft
    from consilience.inference.expectation import expected_counts
    from consilience.inference.explanations import Explanation, most_probable
    from consilience.inference.queries import log_probability
    from consilience.latent.agreement import label_agreement
    from consilience.latent.classes import latent_classes
    from consilience.latent.completion import HardCompletion, SoftCompletion
    from consilience.latent.influence import influence, influence_network
    from consilience.latent.moves import AfterMove, AfterSearch
    from consilience.latent.record import Influence
    from consilience.latent.states import HiddenStates, hidden_states
    from consilience.learning import AvailableCases, fit
    from consilience.network.factor import Factor
    from consilience.network.mixed_belief import MixedBelief
    from consilience.network.mixture import Mixture
    from consilience.network.network import Network
    from consilience.parameters.chain import HDC
    from consilience.parameters.dirichlet import Dirichlet
    from consilience.parameters.hierarchical import HDMCS, HDMJS, HDS
    from consilience.parameters.hierarchical_gaussian import HierarchicalGaussian
    from consilience.parameters.logistic import HierarchicalLogistic, LogisticRegression
    from consilience.parameters.maximum_likelihood import MLE
    from consilience.parameters.normal_inverse_gamma import NormalInverseGamma
    from consilience.parameters.pooling import Adaptive, Pooled, Separate
    from consilience.parameters.shrinkage import Shrinkage
    from consilience.parameters.strength import Gamma, PerState
    from consilience.parameters.uncertainty import draws, intervals
    from consilience.show.belief import plot_belief
    from consilience.show.calibration import plot_calibration
    from consilience.show.chains import plot_chains
    from consilience.show.classes import plot_classes, plot_hidden_states
    from consilience.show.convergence import plot_convergence
    from consilience.show.evaluation import (
        plot_calibration_curves,
        plot_estimators,
        plot_evaluated_sources,
        plot_learning_curve,
    )
    from consilience.show.gaps import plot_gaps
    from consilience.show.influence import plot_influence, svg_influence
    from consilience.show.plot import plot_graph, plot_sources
    from consilience.show.plot_pair import plot_pair
    from consilience.show.svg import svg
    from consilience.show.svg_pair import svg_pair
    from consilience.show.trace import plot_trace
    from consilience.show.votes import plot_fusion, plot_thresholds, plot_votes
    from consilience.simulate.calibration import diverge_calibrated
    from consilience.simulate.difficulty import difficulty
    from consilience.simulate.divergence import diverge, realized_divergence
    from consilience.simulate.missingness import MAR, MCAR, MNAR, missingness_network, with_gaps
    from consilience.simulate.networks import random_network
    from consilience.simulate.permutation import permute_states
    from consilience.simulate.strata import stratified_order, stratified_subsample
    from consilience.statistics.counts import Counts
    from consilience.statistics.family import Family
    from consilience.statistics.gather import count, moments
    from consilience.statistics.moments import Moments
    from consilience.structure.naive_bayes import naive_bayes
    from consilience.structure.scores.bayesian import BDJ, K2, BDe, BDeu, BDs
    from consilience.structure.scores.bge import BGe
    from consilience.structure.scores.by_source import BySource
    from consilience.structure.scores.custom import CustomScore
    from consilience.structure.scores.likelihood import AIC, BIC, EBIC, LogLikelihood
    from consilience.structure.scores.nml import FNML, QNML
    from consilience.structure.scores.node_average import NAL, PNAL
    from consilience.structure.scores.predictive import CrossValidated, HeldOut
    from consilience.structure.scores.priors import MAP, ArcPrior, UniformPrior, VariableSelection
    from consilience.structure.scores.sources import BHD, PerSource
    from consilience.structure.searches.a_star import AStar
    from consilience.structure.searches.annealing import SimulatedAnnealing
    from consilience.structure.searches.best_first import BestFirst
    from consilience.structure.searches.chow_liu import ChowLiu
    from consilience.structure.searches.exact import Exact
    from consilience.structure.searches.ges import GES
    from consilience.structure.searches.hill_climb import HillClimb
    from consilience.structure.searches.k2_search import K2Search
    from consilience.structure.searches.order_search import OrderSearch
    from consilience.structure.searches.starts import RandomStart, TreeStart
    from consilience.structure.searches.tan_search import TANSearch
    from consilience.structure.searches.task import SearchResult
    from consilience.structure.tan import tan

_HOME = {
    "plot_classes": "show.classes",
    "plot_hidden_states": "show.classes",
    "plot_influence": "show.influence",
    "svg_influence": "show.influence",
    "AfterMove": "latent.moves",
    "AfterSearch": "latent.moves",
    "HardCompletion": "latent.completion",
    "HiddenStates": "latent.states",
    "Influence": "latent.record",
    "SoftCompletion": "latent.completion",
    "canonical": "incomplete.canonical",
    "hidden_states": "latent.states",
    "influence": "latent.influence",
    "influence_network": "latent.influence",
    "label_agreement": "latent.agreement",
    "latent_classes": "latent.classes",
    "Augmentation": "incomplete.augmentation",
    "augment": "incomplete.augmentation",
    "GapAssessment": "incomplete.assessment",
    "assess_gaps": "incomplete.assessment",
    "Imputation": "incomplete.imputation",
    "impute": "incomplete.imputation",
    "StructuralEM": "incomplete.structural_em",
    "PooledAnswer": "incomplete.rubin",
    "pool_answers": "incomplete.rubin",
    "pool_queries": "incomplete.rubin",
    "r_hat": "incomplete.chains",
    "bulk_size": "incomplete.chains",
    "tail_size": "incomplete.chains",
    "MCAR": "simulate.missingness",
    "MAR": "simulate.missingness",
    "MNAR": "simulate.missingness",
    "missingness_network": "simulate.missingness",
    "with_gaps": "simulate.missingness",
    "plot_chains": "show.chains",
    "plot_convergence": "show.convergence",
    "plot_gaps": "show.gaps",
    "fuse": "fusing",
    "Fusion": "fusion.record",
    "Votes": "fusion.votes",
    "ArcVotes": "fusion.votes",
    "ClassVotes": "fusion.votes",
    "EqualWeights": "fusion.weighting",
    "RowWeights": "fusion.weighting",
    "StrengthWeights": "fusion.weighting",
    "HeldOutWeights": "fusion.weighting",
    "RowByRow": "fusion.choosing",
    "StrongestFirst": "fusion.choosing",
    "Majority": "fusion.thresholds",
    "BestScore": "fusion.thresholds",
    "Merged": "fusion.parameters",
    "InverseVariance": "fusion.regressions",
    "PrecisionMatrices": "fusion.regressions",
    "LinearPool": "fusion.pools",
    "LogarithmicPool": "fusion.pools",
    "DemocraticPool": "fusion.pools",
    "plot_fusion": "show.votes",
    "plot_thresholds": "show.votes",
    "plot_votes": "show.votes",
    "node_scores": "discovery",
    "score": "discovery",
    "search": "discovery",
    "learn": "discovery",
    "SearchResult": "structure.searches.task",
    "TreeStart": "structure.searches.starts",
    "RandomStart": "structure.searches.starts",
    "HillClimb": "structure.searches.hill_climb",
    "TANSearch": "structure.searches.tan_search",
    "OrderSearch": "structure.searches.order_search",
    "K2Search": "structure.searches.k2_search",
    "Exact": "structure.searches.exact",
    "ChowLiu": "structure.searches.chow_liu",
    "AStar": "structure.searches.a_star",
    "GES": "structure.searches.ges",
    "BestFirst": "structure.searches.best_first",
    "SimulatedAnnealing": "structure.searches.annealing",
    "LogLikelihood": "structure.scores.likelihood",
    "BDJ": "structure.scores.bayesian",
    "K2": "structure.scores.bayesian",
    "BDe": "structure.scores.bayesian",
    "BGe": "structure.scores.bge",
    "BySource": "structure.scores.by_source",
    "BDeu": "structure.scores.bayesian",
    "BDs": "structure.scores.bayesian",
    "CustomScore": "structure.scores.custom",
    "EBIC": "structure.scores.likelihood",
    "FNML": "structure.scores.nml",
    "QNML": "structure.scores.nml",
    "NAL": "structure.scores.node_average",
    "PNAL": "structure.scores.node_average",
    "CrossValidated": "structure.scores.predictive",
    "HeldOut": "structure.scores.predictive",
    "MAP": "structure.scores.priors",
    "ArcPrior": "structure.scores.priors",
    "UniformPrior": "structure.scores.priors",
    "VariableSelection": "structure.scores.priors",
    "BHD": "structure.scores.sources",
    "PerSource": "structure.scores.sources",
    "BIC": "structure.scores.likelihood",
    "AIC": "structure.scores.likelihood",
    "Adaptive": "parameters.pooling",
    "CPDAG": "graph.cpdag",
    "Calibrated": "classify.calibration",
    "Categorical": "distributions.categorical",
    "ConsilienceError": "errors",
    "Counts": "statistics.counts",
    "CrossEvaluation": "classify.results",
    "Cuts": "data.discretize",
    "DAG": "graph.dag",
    "Dirichlet": "parameters.dirichlet",
    "EqualWidth": "data.discretize",
    "Evaluation": "classify.evaluation",
    "Explanation": "inference.explanations",
    "Factor": "network.factor",
    "Family": "statistics.family",
    "Gamma": "parameters.strength",
    "GraphComparison": "graph.comparison",
    "HDC": "parameters.chain",
    "HDMCS": "parameters.hierarchical",
    "HDMJS": "parameters.hierarchical",
    "HDS": "parameters.hierarchical",
    "HierarchicalGaussian": "parameters.hierarchical_gaussian",
    "HierarchicalLogistic": "parameters.logistic",
    "LearningCurve": "classify.splits",
    "LeaveOneSourceOut": "classify.splits",
    "Likelihood": "inference.evidence",
    "LogisticRegression": "parameters.logistic",
    "MixedBelief": "network.mixed_belief",
    "Mixture": "network.mixture",
    "Logistic": "distributions.logistic",
    "LinearGaussian": "distributions.linear_gaussian",
    "MDLP": "data.discretize",
    "MLE": "parameters.maximum_likelihood",
    "Moments": "statistics.moments",
    "NaiveBayesClassifier": "classify.classifiers",
    "Network": "network.network",
    "NetworkClassifier": "classify.classifiers",
    "NormalInverseGamma": "parameters.normal_inverse_gamma",
    "PerState": "parameters.strength",
    "Pooled": "parameters.pooling",
    "Quantiles": "data.discretize",
    "Schema": "data.variable",
    "Separate": "parameters.pooling",
    "Shrinkage": "parameters.shrinkage",
    "Soft": "inference.evidence",
    "StratifiedFolds": "classify.splits",
    "TANClassifier": "classify.classifiers",
    "Table": "data.table",
    "Variable": "data.variable",
    "calibrated_chain": "classify.calibration",
    "compare_graphs": "comparison",
    "confusion": "graph.distance",
    "count": "statistics.gather",
    "cross_evaluate": "classify.cross",
    "difficulty": "simulate.difficulty",
    "discretize": "data.discretize",
    "diverge": "simulate.divergence",
    "diverge_calibrated": "simulate.calibration",
    "draws": "parameters.uncertainty",
    "entropy": "inference.divergence",
    "evaluate": "classify.measures",
    "evaluate_network": "classify.measures",
    "expected_counts": "inference.expectation",
    "fit": "learning",
    "AvailableCases": "learning",
    "EM": "incomplete.em",
    "Convergence": "incomplete.em",
    "em": "incomplete.em",
    "VariationalBayes": "incomplete.variational",
    "VariationalResult": "incomplete.variational",
    "variational": "incomplete.variational",
    "intervals": "parameters.uncertainty",
    "kl_divergence": "inference.divergence",
    "load": "files.registry",
    "log_probability": "inference.queries",
    "moments": "statistics.gather",
    "most_probable": "inference.explanations",
    "naive_bayes": "structure.naive_bayes",
    "permute_states": "simulate.permutation",
    "plot_calibration": "show.calibration",
    "plot_calibration_curves": "show.evaluation",
    "plot_estimators": "show.evaluation",
    "plot_evaluated_sources": "show.evaluation",
    "plot_graph": "show.plot",
    "plot_learning_curve": "show.evaluation",
    "plot_pair": "show.plot_pair",
    "plot_belief": "show.belief",
    "plot_sources": "show.plot",
    "plot_trace": "show.trace",
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
    "svg_pair": "show.svg_pair",
    "tan": "structure.tan",
    "uniform_dag": "graph.random",
}

_NAMESPACES = ("classify", "inference", "scores")
"""Modules that hold what belongs to one field, the public names of above among it."""

__all__ = [
    "AIC",
    "BDJ",
    "BHD",
    "BIC",
    "CPDAG",
    "DAG",
    "EBIC",
    "EM",
    "FNML",
    "GES",
    "HDC",
    "HDMCS",
    "HDMJS",
    "HDS",
    "K2",
    "MAP",
    "MAR",
    "MCAR",
    "MDLP",
    "MLE",
    "MNAR",
    "NAL",
    "PNAL",
    "QNML",
    "AStar",
    "Adaptive",
    "AfterMove",
    "AfterSearch",
    "ArcPrior",
    "ArcVotes",
    "Augmentation",
    "AvailableCases",
    "BDe",
    "BDeu",
    "BDs",
    "BGe",
    "BestFirst",
    "BestScore",
    "BySource",
    "Calibrated",
    "Categorical",
    "ChowLiu",
    "ClassVotes",
    "ConsilienceError",
    "Convergence",
    "Counts",
    "CrossEvaluation",
    "CrossValidated",
    "CustomScore",
    "Cuts",
    "DemocraticPool",
    "Dirichlet",
    "EqualWeights",
    "EqualWidth",
    "Evaluation",
    "Exact",
    "Explanation",
    "Factor",
    "Family",
    "Fusion",
    "Gamma",
    "GapAssessment",
    "GraphComparison",
    "HardCompletion",
    "HeldOut",
    "HeldOutWeights",
    "HiddenStates",
    "HierarchicalGaussian",
    "HierarchicalLogistic",
    "HillClimb",
    "Imputation",
    "Influence",
    "InverseVariance",
    "K2Search",
    "LearningCurve",
    "LeaveOneSourceOut",
    "Likelihood",
    "LinearGaussian",
    "LinearPool",
    "LogLikelihood",
    "LogarithmicPool",
    "Logistic",
    "LogisticRegression",
    "Majority",
    "Merged",
    "MixedBelief",
    "Mixture",
    "Moments",
    "NaiveBayesClassifier",
    "Network",
    "NetworkClassifier",
    "NormalInverseGamma",
    "OrderSearch",
    "PerSource",
    "PerState",
    "Pooled",
    "PooledAnswer",
    "PrecisionMatrices",
    "Quantiles",
    "RandomStart",
    "RowByRow",
    "RowWeights",
    "Schema",
    "SearchResult",
    "Separate",
    "Shrinkage",
    "SimulatedAnnealing",
    "Soft",
    "SoftCompletion",
    "StratifiedFolds",
    "StrengthWeights",
    "StrongestFirst",
    "StructuralEM",
    "TANClassifier",
    "TANSearch",
    "Table",
    "TreeStart",
    "UniformPrior",
    "Variable",
    "VariableSelection",
    "VariationalBayes",
    "VariationalResult",
    "Votes",
    "__version__",
    "assess_gaps",
    "augment",
    "bulk_size",
    "calibrated_chain",
    "canonical",
    "compare_graphs",
    "confusion",
    "count",
    "cross_evaluate",
    "difficulty",
    "discretize",
    "diverge",
    "diverge_calibrated",
    "draws",
    "em",
    "entropy",
    "evaluate",
    "evaluate_network",
    "expected_counts",
    "fit",
    "fuse",
    "hidden_states",
    "impute",
    "influence",
    "influence_network",
    "intervals",
    "kl_divergence",
    "label_agreement",
    "latent_classes",
    "learn",
    "load",
    "log_probability",
    "missingness_network",
    "moments",
    "most_probable",
    "naive_bayes",
    "node_scores",
    "permute_states",
    "plot_belief",
    "plot_calibration",
    "plot_calibration_curves",
    "plot_chains",
    "plot_classes",
    "plot_convergence",
    "plot_estimators",
    "plot_evaluated_sources",
    "plot_fusion",
    "plot_gaps",
    "plot_graph",
    "plot_hidden_states",
    "plot_influence",
    "plot_learning_curve",
    "plot_pair",
    "plot_sources",
    "plot_thresholds",
    "plot_trace",
    "plot_votes",
    "pool_answers",
    "pool_queries",
    "r_hat",
    "random_dag",
    "random_network",
    "read",
    "realized_divergence",
    "save",
    "score",
    "search",
    "shd",
    "shd_dags",
    "stratified_order",
    "stratified_subsample",
    "svg",
    "svg_influence",
    "svg_pair",
    "tail_size",
    "tan",
    "uniform_dag",
    "variational",
    "with_gaps",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME and name not in _NAMESPACES:
        raise AttributeError(f"module 'consilience' has no attribute {name!r}")
    import importlib

    if name in _NAMESPACES:
        return importlib.import_module(f"consilience.{name}")
    value = getattr(importlib.import_module(f"consilience.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted((*__all__, *_NAMESPACES))
