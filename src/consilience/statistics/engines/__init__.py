"""Engines: where the rows are, and how a request is mapped over them."""

from consilience.statistics.engines.batches import Batches
from consilience.statistics.engines.memory import Memory

__all__ = ["Batches", "Memory"]
