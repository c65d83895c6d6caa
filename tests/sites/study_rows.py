"""Made-up rows for tests of sites: a small network, cut into parts."""

from __future__ import annotations

import numpy as np

import consilience as cs
from consilience.fusion.united_tables import pooled_table
from consilience.sites.message import Reply, Request


def network() -> cs.Network:
    """Six variables of two and three states with a few strong arcs."""
    return cs.random_network(
        cs.DAG.parse("[a][b|a][c|a][d|b:c][e|d][f]"), n_states=3, total=1.5, seed=3
    )


def rows(n_rows: int = 600, seed: int = 1) -> cs.Table:
    return network().sample(n_rows, seed=seed)


def parts(table: cs.Table, n_parts: int = 4) -> dict[str, cs.Table]:
    """Parts of different sizes, in order."""
    ends = np.linspace(0, 1, n_parts + 1) ** 1.3 * table.n_rows
    cuts = [int(end) for end in ends]
    return {f"s{i}": table.take(slice(cuts[i], cuts[i + 1])) for i in range(n_parts)}


def sites(tables: dict[str, cs.Table], **policy: object) -> list[cs.sites.Site]:
    choice = cs.sites.Policy(**{"mode": "exact", **policy})
    return [cs.sites.Site(table, choice, name=name) for name, table in tables.items()]


def with_sources(tables: dict[str, cs.Table]) -> cs.Table:
    """All rows in one place, the parts as sources."""
    return pooled_table(tables, "source")


def asked(site: cs.sites.Site, request: Request, asker: str = "") -> Reply:
    return Reply.from_bytes(site.answer(request.to_bytes(), asker))


class Plain:
    """A study without its scout: every request is a round."""

    def __init__(self, study: cs.sites.Federation) -> None:
        self.schema, self.gather, self.notes_on = study.schema, study.gather, study.notes_on
