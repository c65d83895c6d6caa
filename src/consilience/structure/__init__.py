"""From statistics to graphs."""

from consilience.structure.naive_bayes import naive_bayes
from consilience.structure.tan import tan

__all__ = ["naive_bayes", "tan"]
