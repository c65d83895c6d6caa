"""Graphs with hidden common causes, and networks made by a rule that anybody can follow.

Nodes in alphabetical order, i = 1, 2, ...; each pair is a hidden root with P(1) = 0.4; the parents
of a node are its visible ones in alphabetical order, then its hidden ones in the order of their
sorted pairs; ``code`` reads their values as a binary number; with k parents P(node = 1 | code) =
(1 + (37 code + 11 k + 5 i) mod 17) / 18.
"""

from __future__ import annotations

from itertools import product

import numpy as np

import consilience as cs


def graph(arcs: str, latent: str = "", nodes: str = "") -> cs.causal.ADMG:
    """``graph("xm my", "xy")``: nodes of one letter."""
    return cs.causal.ADMG(map(tuple, arcs.split()), map(tuple, latent.split()), list(nodes))


def network(admg: cs.causal.ADMG, tables=None) -> cs.Network:
    """The network of the rule, or with drawn tables; hidden nodes are last."""
    pairs = sorted(tuple(sorted(pair)) for pair in admg.latent)
    hidden = {pair: cs.Variable("".join(pair).upper() + "_", ("0", "1")) for pair in pairs}
    visible = {name: cs.Variable(name, ("0", "1")) for name in admg.nodes}
    local = []
    for i, name in enumerate(sorted(admg.nodes), start=1):
        parents = [visible[p] for p in sorted(admg.parents(name))]
        parents += [hidden[pair] for pair in pairs if name in pair]
        local.append(cs.Categorical(visible[name], parents, _rows(len(parents), i, tables)))
    root = [0.6, 0.4]
    local += [
        cs.Categorical(node, (), root if tables is None else tables(())) for node in hidden.values()
    ]
    return cs.Network.of(local)


def _rows(k: int, i: int, tables) -> np.ndarray:
    if tables is not None:
        return tables((2,) * k)
    rows = np.zeros((2,) * k + (2,))
    for code, place in enumerate(product((0, 1), repeat=k)):
        one = (1 + (37 * code + 11 * k + 5 * i) % 17) / 18
        rows[place] = [1 - one, one]
    return rows


IDENTIFIED = [
    ("zx zy xy", "", "y", "x", "", 0.197530864198, 0.425925925926),
    ("xm my", "xy", "y", "x", "", 0.603703703704, 0.344444444444),
    ("wz zx xy", "wx wy", "y", "x", "", 0.288888888889, 0.622222222222),
    ("xy", "mx my", "y", "x", "", 0.288888888889, 0.622222222222),
    ("xm my xy", "my", "y", "x", "", 0.627777777778, 0.648148148148),
    ("yx", "xy", "y", "x", "", 0.344444444444, 0.344444444444),
    ("az zb by ay", "yz", "y", "ab", "", 0.522222222222, 0.577777777778),
    ("xz xy", "yz", "y", "x", "z", 0.470085470085, 0.355158730159),
    ("az bz zx zy ax by xy", "", "y", "x", "", 0.259202103338, 0.442901234568),
    ("xm mk ky", "xy xk", "y", "x", "", 0.537091906722, 0.537421124829),
    ("ab bc cd", "bd", "d", "b", "", 0.541975308642, 0.534567901235),
    ("ab bc cd", "bd", "d", "a", "", 0.567078189300, 0.533127572016),
    ("xm my", "xz zy", "y", "x", "", 0.603703703704, 0.344444444444),
]
"""Arcs, hidden causes, y, do, given, P(y = 1 | do = 0), P(y = 1 | do = 1); given is 1."""

REFUSED = [
    ("xy", "xy", "y", "x", ""),
    ("zx xy", "xy", "y", "x", ""),
    ("xm my", "mx", "y", "x", ""),
    ("xm my", "xy my", "y", "x", ""),
    ("az zb by ay", "yz by", "y", "ab", ""),
    ("xy", "mx my", "y", "x", "m"),
]
