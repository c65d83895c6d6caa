"""Classifiers and how good they are."""

from consilience.classify.evaluation import CalibrationCurve, Evaluation, Gap, Measures
from consilience.classify.measures import evaluate, evaluate_network

__all__ = [
    "CalibrationCurve",
    "Evaluation",
    "Gap",
    "Measures",
    "evaluate",
    "evaluate_network",
]
