"""A scout without rows: what sites vote for, fitted to their counts, and rows drawn from that.

One round in which each site sends the graph that it learns alone, votes on the arcs, one round for
the counts of the fused graph's families. Rows drawn from that network let a search look ahead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from consilience import _check
from consilience.data.table import Table
from consilience.errors import ConsilienceError, RefusalError
from consilience.fusing import fuse
from consilience.fusion.fusion_record import Fusion
from consilience.fusion.thresholds import Majority
from consilience.graph.dag import DAG
from consilience.learning import AvailableCases, fit
from consilience.parameters.dirichlet import Dirichlet

if TYPE_CHECKING:
    from consilience.sites.federated import Federation

__all__ = ["scout_of", "votes"]

MOST_ROWS = 20_000


def votes(study: Federation, *, threshold: float | None = None) -> Fusion:
    """The graph that the sites vote for: the cheap end, one round and a few bytes.

    Each site learns a graph from its own rows; an arc enters if enough of them have it. With many
    rows at each site, all alike, it does as well as learning from all rows together.

    Parameters
    ----------
    study
        The sites.
    threshold
        How many sites must have an arc; by default more than half of them.
    """
    replies = study.ask("graph", {"score": "bic", "ess": 1.0}, n_cells=1 << 16)
    graphs: dict[str, DAG] = {}
    nodes = [*study.schema.variables]
    for place, (name, reply) in enumerate(zip(study.agreement.names, replies, strict=True)):
        try:
            arcs = [(str(a), str(b)) for a, b in reply.content["arcs"]]
            _check.known("node", [node for arc in arcs for node in arc], nodes)
            graphs[name] = DAG(arcs, nodes=nodes)
        except (KeyError, TypeError, ValueError, ConsilienceError) as problem:
            raise study.fault(place, "a graph that is none") from problem
    return fuse(graphs, threshold=Majority() if threshold is None else threshold)


def scout_of(study: Federation) -> Table:
    """Rows like those of the sites, from a network fitted to the graph that they vote for."""
    net = fit(_voted(study), study, Dirichlet(ess=1.0), gaps=AvailableCases())
    n_rows = int(sum(study.record.n_rows.values()))
    return net.sample(min(n_rows, MOST_ROWS), seed=0)


def _voted(study: Federation) -> DAG:
    """The graph that the sites vote for; without arcs where a site gives no graph.

    A scout changes the number of rounds and no answer, so a refusal is not the end of a search.
    """
    try:
        return votes(study).dag
    except RefusalError:
        return DAG([], nodes=[*study.schema.variables])
