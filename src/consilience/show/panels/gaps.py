"""What is missing: by source and variable, together, and which families rest on filled-in rows.

A family rests on filled-in mass as far as its rows lack one of its variables: the share of the
rows in which something of the family was missing when the network was fitted, as its record says.
"""

from __future__ import annotations

from typing import Any

from consilience.data.table import Table
from consilience.network.network import Network
from consilience.show.gaps import patterns_of, short_percent
from consilience.show.panels.question import Panel, PanelAnswer, Question, grid
from consilience.show.svg_axes import Chart
from consilience.show.svg_charts import bar_chart, stack
from consilience.show.svg_heat import MOST_CELLS, Cell, heat_chart

__all__ = ["PANEL", "filled_in", "missing_chart", "missing_rows", "pattern_chart"]

N_PATTERNS = 12


def filled_in(net: Network) -> dict[str, float]:
    """Share of the rows of each family in which a variable of it was missing, largest first."""
    record = net.record
    shares = {
        name: incomplete / (incomplete + record.n_rows.get(name, 0.0))
        for name, incomplete in record.n_incomplete.items()
        if incomplete > 0
    }
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


def missing_rows(table: Table) -> list[list[Any]]:
    """Source, variable and share, for everything of which something is missing."""
    return [
        [source, name, share]
        for source, shares in table.missing.items()
        for name, share in shares.items()
        if share > 0
    ]


def missing_chart(table: Table) -> Chart:
    """Share missing by source and variable."""
    missing = table.missing
    names = _most_missing(table)
    cells = [
        [Cell(one[n], short_percent(one[n]), f"{n}: {one[n]:.2%}") for n in names]
        for one in missing.values()
    ]
    return heat_chart(list(missing), names, cells, label="share missing, in percent")


def pattern_chart(table: Table) -> Chart:
    """What is missing together: a line for each pattern, the most frequent first."""
    patterns, shares = patterns_of(table)
    everything = list(table.variables)
    names = _most_missing(table)
    places = [everything.index(name) for name in names]
    lines = [
        [Cell(float(pattern[k]), "x" if pattern[k] else "") for k in places]
        for pattern in patterns[:N_PATTERNS]
    ]
    labels = [
        f"{share:.1%}{'' if pattern.any() else ' complete'}"
        for pattern, share in zip(patterns[:N_PATTERNS], shares.tolist(), strict=False)
    ]
    n = len(shares) - len(labels)
    more = f"; {n:,} more patterns" if n else ""
    return heat_chart(labels, names, lines, label=f"missing together, by share of rows{more}")


def _most_missing(table: Table) -> list[str]:
    """The variables in their order; of very many those that lack most."""
    names = list(table.variables)
    if len(names) <= MOST_CELLS:
        return names
    shares = {n: sum(one[n] for one in table.missing.values()) for n in names}
    kept = set(sorted(names, key=lambda n: -shares[n])[:MOST_CELLS])
    return [name for name in names if name in kept]


def _find(question: Question) -> PanelAnswer:
    subject = question.subject
    assert subject.table is not None
    rows = missing_rows(subject.table)
    filled = filled_in(subject.network)
    charts = [missing_chart(subject.table)] if rows else []
    notes = []
    if not rows:
        notes.append("Nothing is missing in these rows.")
    else:
        charts.append(pattern_chart(subject.table))
        source, name, share = max(rows, key=lambda row: row[2])
        notes.append(f"Most is missing of {name} in {source}: {share:.1%}.")
    if filled:
        shown = dict(list(filled.items())[:MOST_CELLS])
        charts.append(bar_chart(shown, label="share of a family's rows that lack something"))
        name, share = next(iter(filled.items()))
        notes.append(f"The family of {name} rests on filled-in values for {share:.1%} of its rows.")
    rows += [["family", name, share] for name, share in filled.items()]
    return PanelAnswer(
        stack(charts).svg if charts else "",
        grid(("source", "variable", "share"), rows),
        tuple(notes),
    )


PANEL = Panel("gaps", "Gaps", ("rows",), _find)
