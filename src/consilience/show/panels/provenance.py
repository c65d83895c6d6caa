"""How the network came to be: its record, its rows by source, its hash, and how to make it again.

The hash is the SHA-256 of the network as the library's own JSON, which holds tables, posteriors and
record; two networks of the same hash answer alike.
"""

from __future__ import annotations

import hashlib
import re

import numpy as np

from consilience import __version__
from consilience.classify.refits import estimators_of, graph_of
from consilience.files.native import write
from consilience.network.network import Network
from consilience.show.panels.question import Panel, PanelAnswer, Question, Subject, grid
from consilience.show.svg_charts import bar_chart

__all__ = ["PANEL", "model_hash", "rows_by_source"]

MOST_LETTERS = 4000  # of a graph that is written in full


def model_hash(net: Network) -> str:
    """SHA-256 of the network in the library's own format."""
    return hashlib.sha256(write(net).encode()).hexdigest()


def rows_by_source(subject: Subject) -> dict[str, float]:
    """Weight of the table's rows in each source; of all rows if it has none."""
    table = subject.table
    if table is None:
        return {}
    if table.source_codes is None:
        return {"all": float(table.total_weight)}
    counted = np.bincount(table.source_codes, table.weights, minlength=len(table.sources))
    return dict(zip(table.sources, counted.astype(np.float64).tolist(), strict=True))


def _find(question: Question) -> PanelAnswer:
    subject, record = question.subject, question.subject.network.record
    rows = rows_by_source(subject)
    drawn = bar_chart(rows, label="rows by source").svg if rows else ""
    lines = [
        ("model", subject.name),
        ("made by", record.method or "not recorded"),
        *((f"rows of {name}", weight) for name, weight in rows.items()),
        *_families(question),
        ("SHA-256", model_hash(subject.network)),
        ("consilience", __version__),
        ("made again by", _command(subject)),
    ]
    return PanelAnswer(drawn, grid(("what", "value"), lines), record.notes)


def _families(question: Question) -> list[tuple[str, float]]:
    record = question.subject.network.record
    told = [(f"complete rows of the family of {n}", rows) for n, rows in record.n_rows.items()]
    empty = record.unidentified.items()
    return told + [
        (f"parent states of {n} with no or too few rows", float(k)) for n, k in empty if k
    ]


def _command(subject: Subject) -> str:
    """The call that fits the same graph again, if the record says how."""
    chosen = estimators_of(subject.network.record.method)
    if chosen is None:
        return "not recorded"
    named = (f", {name}={_spelled(name, choice)}" for name, choice in chosen.items())
    return f"cs.fit({_graph(subject.network)}, table{''.join(named)})"


def _graph(net: Network) -> str:
    """The graph in full; one that nobody would read is named."""
    graph = graph_of(net)
    whole = graph.to_string()
    if len(whole) <= MOST_LETTERS:
        return f"cs.DAG.parse({whole!r})"
    return "net.dag" if net.source in (None, *graph.nodes) else f"net.dag.without({net.source!r})"


def _spelled(name: str, choice: object) -> str:
    """A choice with the namespace of its name, and of the names inside it."""
    space = "cs.gaps" if name == "gaps" else "cs.estimators"
    return re.sub(r"\b([A-Z]\w*)\(", rf"{space}.\1(", repr(choice))


PANEL = Panel("provenance", "Provenance", (), _find)
