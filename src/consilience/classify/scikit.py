"""What this room uses of scikit-learn, which is optional: its absence is one clear error.

Version 1.6 is the first with ``validate_data`` and with tags as a method.
"""

from __future__ import annotations

from typing import Any

from consilience import _check

__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "LabelEncoder",
    "accuracy_score",
    "check_classification_targets",
    "check_is_fitted",
    "column_or_1d",
    "safe_indexing",
    "validate_data",
]


def _part(module: str, name: str) -> Any:
    return getattr(_check.extra(f"sklearn.{module}", "sklearn", "a classifier"), name)


BaseEstimator: Any = _part("base", "BaseEstimator")
ClassifierMixin: Any = _part("base", "ClassifierMixin")
LabelEncoder: Any = _part("preprocessing", "LabelEncoder")
accuracy_score: Any = _part("metrics", "accuracy_score")
check_classification_targets: Any = _part("utils.multiclass", "check_classification_targets")
check_is_fitted: Any = _part("utils.validation", "check_is_fitted")
column_or_1d: Any = _part("utils", "column_or_1d")
safe_indexing: Any = _part("utils", "_safe_indexing")
validate_data: Any = _part("utils.validation", "validate_data")
