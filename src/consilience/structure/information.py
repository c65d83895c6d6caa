r"""Mutual information of two variables given a third, from counts.

.. math:: \hat I(X; Y \mid Z) = \sum_{xyz} \frac{N_{xyz}}{N}
    \log \frac{N_{xyz} N_z}{N_{xz} N_{yz}}
"""

from __future__ import annotations

import numpy as np

from consilience._typing import Floats

__all__ = ["conditional_information"]

ROUNDING = 1e-13  # nats; what a sum over a million cells can lose


def conditional_information(counts: Floats) -> float:
    """Information in nats; never negative, and 0 without counts.

    Parameters
    ----------
    counts
        Numbers of rows, shape (states of x, states of y, states of z).

    Examples
    --------
    >>> round(conditional_information(np.array([[[2.0], [0.0]], [[0.0], [2.0]]])), 6)  # log 2
    0.693147
    """
    total = counts.sum()
    if total <= 0:
        return 0.0
    x, y = counts.sum(axis=1, keepdims=True), counts.sum(axis=0, keepdims=True)
    z = x.sum(axis=0, keepdims=True)
    expected = np.divide(x * y, z, out=np.zeros_like(counts), where=z > 0)
    ratio = np.divide(counts, expected, out=np.ones_like(counts), where=counts > 0)
    information = float((counts * np.log(ratio)).sum()) / float(total)
    return information if information > ROUNDING else 0.0
