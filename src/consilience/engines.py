"""Engines: who reads rows that are not in memory, and where they are counted.

The public names stand in the stub beside this file and are loaded when first used.
"""

from consilience._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
