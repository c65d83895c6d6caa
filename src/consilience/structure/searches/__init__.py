"""Searches: from scores to graphs."""

from consilience.structure.searches.a_star import AStar
from consilience.structure.searches.annealing import SimulatedAnnealing
from consilience.structure.searches.best_first import BestFirst
from consilience.structure.searches.chow_liu import ChowLiu
from consilience.structure.searches.exact import Exact
from consilience.structure.searches.ges import GES
from consilience.structure.searches.hill_climb import HillClimb
from consilience.structure.searches.k2_search import K2Search
from consilience.structure.searches.order_search import OrderSearch
from consilience.structure.searches.tan_search import TANSearch

__all__ = [
    "GES",
    "AStar",
    "BestFirst",
    "ChowLiu",
    "Exact",
    "HillClimb",
    "K2Search",
    "OrderSearch",
    "SimulatedAnnealing",
    "TANSearch",
]
