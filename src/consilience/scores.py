"""Scores: how well a family fits the rows. All of them, under one name: ``cs.scores.BIC()``."""

from consilience.structure import scores as _home
from consilience.structure.scores import *  # noqa: F403  # the list stands there

__all__ = list(_home.__all__)
