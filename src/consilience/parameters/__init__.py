"""From counts along a DAG to local distributions."""

from consilience.parameters.dirichlet import Dirichlet
from consilience.parameters.maximum_likelihood import MLE
from consilience.parameters.shrinkage import Shrinkage
from consilience.parameters.uncertainty import draws, parameter_intervals

__all__ = ["MLE", "Dirichlet", "Shrinkage", "draws", "parameter_intervals"]
