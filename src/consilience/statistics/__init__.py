"""Sufficient statistics: counts and moments by source, from any engine, mergeable."""

from consilience.statistics.counts import Counts
from consilience.statistics.family import Family
from consilience.statistics.gather import count, moments
from consilience.statistics.moments import Moments
from consilience.statistics.request import CountRequest, Engine, MomentRequest

__all__ = [
    "CountRequest",
    "Counts",
    "Engine",
    "Family",
    "MomentRequest",
    "Moments",
    "count",
    "moments",
]
