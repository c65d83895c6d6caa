r"""What a chain says of sources that have few rows of a family, or none.

A way that drops a parent before the source lets a source lean on its own margin, which is worth
little if it has few rows; one that drops the source first lets it lean on what all sources say of
the parent state. So a source with :math:`N_f` rows of a table of :math:`q` parent states and
:math:`r` states has the ways that drop the source first with the weight :math:`1 - \lambda_f`, and
all of them with

.. math:: \lambda_f = \frac{N_f}{N_f + q r} .

A source never seen has the former alone (:math:`\lambda = 0`). For its rows there are two guesses:

- the *base* :math:`m_g`, the row that the sources back off to, as if it were a source drawn at
  random;
- the rows of all sources *together*, :math:`(N_{gx} + s m_{up(g),x}) / (N_g + s)`, as if it were
  the source of a row drawn at random.

They are averaged. The weight of the second is :math:`1 / (1 + e^{-d})` with

.. math:: d = \frac12 \sum_f \frac{1}{N_f} \sum_{gx} N_{f,gx}
    \log \frac{\text{together}_{-f}(x \mid g)}{\text{base}_{-f}(x \mid g)}

summed over the families of the network: each source is predicted from the others. Its tables are
taken from the base, and its counts from the sum, without fitting anew; the strengths have seen it,
which favors the base, so it has half a vote.
"""

from __future__ import annotations

import numpy as np

from consilience._lazy import later
from consilience._typing import Floats
from consilience.kernels.chain import settle
from consilience.parameters.backoff import Way

__all__ = ["gain_of_pooling", "guesses", "own_shares"]

special = later("scipy.special")


def own_shares(rows: Floats, n_sources: int) -> Floats:
    """The weight of a source's own ways, shape (sources,): from 0 without rows up to 1."""
    n = rows.reshape(n_sources, -1).sum(axis=1)
    return n / (n + rows.size / n_sources)


def guesses(rows: Floats, way: Way, s: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """The base and the rows of all sources together for each parent state; equal for a way that
    does not drop the source first.
    """
    base = mean[way.unseen]
    if not way.drops_source_first:
        return base, base
    above, strength = _above(way, s, mean)
    counts = rows.reshape(way.sizes[0], -1, rows.shape[1]).sum(axis=0)
    return base, (counts + strength * above) / (counts.sum(axis=1, keepdims=True) + strength)


def gain_of_pooling(rows: Floats, way: Way, s: Floats, *, n_rounds: int, tolerance: float) -> float:
    """By how many nats per row, summed over sources left out, all rows together predict better than
    the base; ``way`` drops the source first.
    """
    customers, _, weight, mean = settle(rows, way.up, way.start, way.rho, s, n_rounds, tolerance)
    n_sources, r = way.sizes[0], rows.shape[1]
    n = rows.reshape(n_sources, -1, r)
    above, strength = _above(way, s, mean)
    c = s[-1] * weight[way.start[-2] :].reshape(*n.shape[:2], 1) * mean[way.unseen]
    tables = np.where(n > 0, c * (special.psi(c + n) - special.psi(c)), 0.0)
    left = np.maximum(customers[way.unseen] - tables, 0.0)
    size = strength * weight[way.unseen, None] if len(s) > 2 else strength
    base = (left + size * above) / (left.sum(axis=2, keepdims=True) + size)
    others = n.sum(axis=0) - n
    together = (others + strength * above) / (others.sum(axis=2, keepdims=True) + strength)
    by_source = (n * np.log(together / base)).sum(axis=(1, 2))
    return float((by_source / np.maximum(n.sum(axis=(1, 2)), 1.0)).sum())


def _above(way: Way, s: Floats, mean: Floats) -> tuple[Floats, float]:
    """The rows that a base backs off to, and how strongly; at level 0 one more of each state."""
    r, level = mean.shape[1], len(way.kinds) - 2
    if level == 0:
        return np.full((1, r), 1.0 / r), float(r)
    return mean[way.up[way.unseen]], float(s[level])
