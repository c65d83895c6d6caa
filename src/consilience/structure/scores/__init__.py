"""Scores: how well a family fits the rows."""

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

__all__ = [
    "AIC",
    "BDJ",
    "BHD",
    "BIC",
    "EBIC",
    "FNML",
    "K2",
    "MAP",
    "NAL",
    "PNAL",
    "QNML",
    "ArcPrior",
    "BDe",
    "BDeu",
    "BDs",
    "BGe",
    "BySource",
    "CrossValidated",
    "CustomScore",
    "HeldOut",
    "LogLikelihood",
    "PerSource",
    "UniformPrior",
    "VariableSelection",
]
