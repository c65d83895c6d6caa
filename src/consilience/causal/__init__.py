"""Causal questions: what can be answered from which data, effects, counterfactuals, fairness."""

from consilience import _lazy

__getattr__, __dir__, __all__ = _lazy.attach(__name__, __file__)
