"""From statistics to graphs."""

from consilience.structure.naive_bayes import naive_bayes

__all__ = ["naive_bayes"]
