"""What ``learn`` prints: rows, graph, search, tables, gaps and notes."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from consilience.cli.common import grid_of, listed, print_facts, print_notes, screen
from consilience.cli.terminal import on_one_line

if TYPE_CHECKING:
    from rich.console import Console

    import consilience as cs
    from consilience.cli.structures import Found

__all__ = ["summarize"]

REASONS = {
    "optimum": "optimum (nothing better was found)",
    "seconds": "seconds (the time was used up)",
    "interrupt": "interrupt",
    "effort": "effort (some nodes and arcs were not tried; give it seconds)",
    "iterations": "iterations (it was still getting better)",
}


def summarize(
    net: cs.Network, table: cs.Table | cs.engines.Scan, found: Found, output: Path | None
) -> None:
    """Print the story of a fit."""
    facts = {"rows": f"{table.n_rows:,}"}
    if table.total_weight != table.n_rows:
        facts["weight"] = f"{table.total_weight:,g}"
    if table.sources:
        facts["sources"] = f"{len(table.sources)} in {table.source!r}: {listed(table.sources)}"
    facts |= _search_facts(found)
    facts |= {
        "nodes": f"{len(net.dag.nodes):,}",
        "arcs": f"{len(net.dag.arcs):,}",
        "parameters": f"{net.n_parameters:,}",
        "estimator": net.record.method,
    }
    if output is not None:
        facts["written to"] = str(output)
    console = screen()
    print_facts(console, facts)
    _print_gaps(console, net)
    _print_differences(console, net)
    every = dict.fromkeys([*_graph_notes(found), *_sharing(net), *net.record.notes])
    if notes := [note for note in every if note not in table.notes]:  # these have been printed
        console.print()
        print_notes(notes)


def _search_facts(found: Found) -> dict[str, str]:
    result = found.result
    if result is None:
        return {}
    n_arcs = len(found.dag.arcs)
    arcs = listed([f"{start} -> {end}" for start, end in found.dag.arcs])
    tests = (
        {}
        if result.tests is None
        else {"tests": f"{result.tests.n_tests:,} by {result.tests.test}"}
    )
    return {
        "found": f"{n_arcs:,} arc{'' if n_arcs == 1 else 's'}{': ' if arcs else ''}{arcs}",
        **tests,
        "score": f"{result.score:,.4f} by {found.score}",
        "search": result.searched_by,
        "families": f"{result.n_scored:,} scored in {result.seconds:.3g} s",
        "stopped by": REASONS.get(result.stopped_by, result.stopped_by),
    }


def _graph_notes(found: Found) -> list[str]:
    kept = ["The search was interrupted; the graph is the best one so far."]
    return [*(kept if found.is_interrupted else []), *found.notes]


def _print_gaps(console: Console, net: cs.Network) -> None:
    record = net.record
    gaps = [
        name for name in record.n_rows if record.n_incomplete[name] or record.unidentified[name]
    ]
    if not gaps:
        return
    header = ("family", "complete rows", "incomplete", "parent states", "no or too few rows")
    rows = [
        (
            f"{name} | {', '.join(net[name].parents)}" if net[name].parents else name,
            f"{record.n_rows[name]:,g}",
            f"{record.n_incomplete[name]:,g}",
            f"{_n_parent_states(net, name):,}",
            f"{record.unidentified[name]:,}",
        )
        for name in gaps
    ]
    console.print("\nFamilies with gaps:")
    console.print(grid_of(header, rows))


def _print_differences(console: Console, net: cs.Network) -> None:
    """Where the sources differ, if each has distributions of its own."""
    import consilience as cs

    if net.source is None or not set(net.dag.children(net.source)) & set(net.record.pooling):
        return
    found = cs.differences(net)
    columns = found.columns
    cells = zip(*columns.values(), strict=True)
    rows = [[cell if isinstance(cell, str) else _number(cell) for cell in row] for row in cells]
    console.print(f"\n{on_one_line(found.title)}:", markup=False)
    console.print(grid_of(tuple(columns), rows))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _n_parent_states(net: cs.Network, name: str) -> int:
    """Parent states of a node without those of the state for a source never seen."""
    import consilience as cs

    given = [net.variables[parent] for parent in net[name].parents]
    n_all = prod(one.n_states for one in given if not one.is_continuous)
    states = () if net.source is None else net.variables[net.source].discrete_states
    if net.source in net[name].parents and cs.data.NEW_SOURCE in states:
        return n_all // len(states) * (len(states) - 1)
    return n_all


def _sharing(net: cs.Network) -> list[str]:
    """What the distributions share between sources, if there are several."""
    import consilience as cs

    if net.source is None:
        return []
    children = net.dag.children(net.source)
    states = net.variables[net.source].discrete_states
    n_sources = len([state for state in states if state != cs.data.NEW_SOURCE])
    what = "tables" if net.is_discrete else "distributions"
    if not children:
        return [
            f"The {what} are pooled over the {n_sources} sources; --by-source gives each its own."
        ]
    if len(children) == len(net.dag.nodes) - 1:
        new = cs.data.NEW_SOURCE
        return [
            f"The {what} of the {n_sources} sources are tied together; the state {new!r} of "
            f"{net.source!r} stands for a source never seen."
            if new in states
            else f"Each of the {n_sources} sources has {what} of its own."
        ]
    return [f"The {what} of {listed(children)} depend on the source; the others are pooled."]
