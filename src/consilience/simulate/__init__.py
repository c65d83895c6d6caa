"""Made-up networks and data."""

from consilience.simulate.networks import random_network

__all__ = ["random_network"]
