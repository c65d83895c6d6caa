"""Tables of many sources: the nouns are here.

The verbs stand in modules of their names (``data.read``, ``data.discretize``, ``data.describe``,
``data.distinct``), so that a program that only needs :class:`Variable` does not load Arrow.
"""

from consilience.data.table import Table
from consilience.data.variable import Schema, Variable

__all__ = ["Schema", "Table", "Variable"]
