"""Bayesian networks learned from many sources.

The public names stand in the stub beside this file and are loaded when first used, so that
importing the package stays light.
"""

from consilience._lazy import attach

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach(__name__, __file__)
