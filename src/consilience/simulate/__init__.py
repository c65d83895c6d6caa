"""Made-up networks and data."""

from consilience.simulate.calibration import Calibration, diverge_calibrated
from consilience.simulate.difficulty import Difficulty, difficulty
from consilience.simulate.divergence import diverge, realized_divergence
from consilience.simulate.networks import random_network
from consilience.simulate.permutation import Relabeling, permute_states
from consilience.simulate.strata import stratified_order, stratified_subsample

__all__ = [
    "Calibration",
    "Difficulty",
    "Relabeling",
    "difficulty",
    "diverge",
    "diverge_calibrated",
    "permute_states",
    "random_network",
    "realized_divergence",
    "stratified_order",
    "stratified_subsample",
]
