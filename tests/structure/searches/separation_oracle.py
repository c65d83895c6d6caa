"""A test of independence that knows the answers: separation in a known graph."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, permutations, product

import numpy as np

import consilience as cs
from consilience.structure.independence.statements import Statements, Verdicts


@dataclass(frozen=True)
class Oracle:
    """Independent if separated in the graph; it looks at no rows."""

    dag: cs.DAG
    alpha: float = 0.05

    def judge(self, rows, asked: Statements) -> Verdicts:
        p = [
            float(self.dag.is_separated(rows.names[x], rows.names[y], given=rows.name(given)))
            for x, y, given in zip(asked.x, asked.y, asked.given, strict=True)
        ]
        ones = np.ones(len(asked))
        return Verdicts(np.zeros(len(asked)), ones, np.array(p), ones)


def any_rows(names):
    """A table with these columns that says nothing."""
    return cs.read({name: list("ab") for name in names})


def every_dag(names):
    """All DAGs over a few nodes, each once."""
    pairs = list(combinations(names, 2))
    seen = set()
    for ways in product((0, 1, 2), repeat=len(pairs)):
        arcs = [(a, b) if w == 1 else (b, a) for (a, b), w in zip(pairs, ways, strict=True) if w]
        order = next(
            (o for o in permutations(names) if all(o.index(a) < o.index(b) for a, b in arcs)), None
        )
        if order is not None and frozenset(arcs) not in seen:
            seen.add(frozenset(arcs))
            yield cs.DAG(arcs, nodes=names)
