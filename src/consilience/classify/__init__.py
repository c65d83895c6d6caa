"""Classifiers and how good they are.

What is dear to load, and what needs scikit-learn, is resolved when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from consilience.classify.evaluation import CalibrationCurve, Evaluation, Gap, Measures
from consilience.classify.measures import evaluate, evaluate_network

if TYPE_CHECKING:
    from consilience.classify.calibration import Calibrated, calibrated_chain
    from consilience.classify.classifiers import (
        NaiveBayesClassifier,
        NetworkClassifier,
        TANClassifier,
    )
    from consilience.classify.cross import cross_evaluate
    from consilience.classify.results import CrossEvaluation
    from consilience.classify.splits import LearningCurve, LeaveOneSourceOut, StratifiedFolds

__all__ = [
    "Calibrated",
    "CalibrationCurve",
    "CrossEvaluation",
    "Evaluation",
    "Gap",
    "LearningCurve",
    "LeaveOneSourceOut",
    "Measures",
    "NaiveBayesClassifier",
    "NetworkClassifier",
    "StratifiedFolds",
    "TANClassifier",
    "calibrated_chain",
    "cross_evaluate",
    "evaluate",
    "evaluate_network",
]

_HOME = {
    "Calibrated": "calibration",
    "CrossEvaluation": "results",
    "LearningCurve": "splits",
    "LeaveOneSourceOut": "splits",
    "NaiveBayesClassifier": "classifiers",
    "NetworkClassifier": "classifiers",
    "StratifiedFolds": "splits",
    "TANClassifier": "classifiers",
    "calibrated_chain": "calibration",
    "cross_evaluate": "cross",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'consilience.classify' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f"consilience.classify.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
