"""Networks, graphs and tables as plain text for a terminal.

The outline of a graph has one line per node: each node hangs below that parent which is
furthest from a root, the other parents are named behind it, so that no arc is left out.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import islice, product

from consilience import _check
from consilience._typing import Floats
from consilience.answers.source_differences import differences
from consilience.data.variable import Variable
from consilience.distributions import Categorical, Distribution, LinearGaussian
from consilience.graph.dag import DAG
from consilience.network.network import Network

__all__ = [
    "describe_network",
    "description",
    "family_text",
    "in_words",
    "layout_of",
    "local_text",
    "outline",
    "probability_text",
    "rows_of_nodes",
    "table_text",
]

N_NAMES = 12  # parents, sources and the like are listed up to this many


def describe_network(net: Network) -> str:
    """A network for a terminal: its size, its nodes in topological order, its outline.

    Examples
    --------
    >>> from consilience.data.variable import Variable
    >>> from consilience.distributions import Categorical, Distribution, LinearGaussian
    >>> coin = Categorical(Variable("coin", ("heads", "tails")), (), [0.5, 0.5])
    >>> print(describe_network(Network.of([coin])))
    Network of 1 node, 0 arcs and 1 parameter
    <BLANKLINE>
    node  states  parameters  parents
    coin       2           1  -
    <BLANKLINE>
    coin
    """
    nodes = rows_of_nodes([net[name] for name in net.dag.topological_order()])
    return "\n".join([*_heading(net), "", *nodes, "", outline(net), *_differences(net)])


def rows_of_nodes(local: Iterable[Distribution]) -> list[str]:
    """A line for each node: its states, parameters and parents; before them one of headings."""
    rows = [
        [
            one.child.name,
            "real" if one.child.is_continuous else str(one.child.n_states),
            f"{one.n_parameters:,}",
            _listed(one.parents) or "-",
        ]
        for one in local
    ]
    return _aligned([["node", "states", "parameters", "parents"], *rows], right={1, 2})


def _differences(net: Network) -> list[str]:
    """Where the sources differ, if the network knows."""
    if net.source is None or not set(net.dag.children(net.source)) & set(net.record.pooling):
        return []
    return ["", _printable_lines(repr(differences(net)))]


def description(net: Network, name: str | None, *, max_rows: int) -> str:
    """The network in words, or the table of one node."""
    return describe_network(net) if name is None else table_text(net, name, max_rows=max_rows)


def outline(model: DAG | Network) -> str:
    """The graph as an indented tree, one line per node; further parents stand behind the arrow.

    In a network, the arcs from its source are not drawn: its children are marked by a star instead.

    Examples
    --------
    >>> print(outline(DAG([("smoke", "lung"), ("asia", "either"), ("lung", "either")])))
    smoke
    └─ lung
       └─ either  ← asia
    asia
    """
    dag = model.dag if isinstance(model, Network) else model
    source = model.source if isinstance(model, Network) else None
    children, others = _tree(dag, source)
    marked = frozenset() if source is None else frozenset(dag.children(source))
    lines = []
    stack = [("", "", name) for name in reversed(children[""])]
    while stack:
        branch, indent, name = stack.pop()
        star = " *" if name in marked else ""
        arrow = f"  ← {_listed(others[name])}" if others[name] else ""
        lines.append(_printable(f"{branch}{name}{star}{arrow}"))
        below = [(f"{indent}├─ ", f"{indent}│  ", child) for child in children[name]]
        if below:
            below[-1] = (f"{indent}└─ ", f"{indent}   ", below[-1][2])
        stack += reversed(below)
    if marked:
        lines += ["", f"* depends on the source {source}"]
    return "\n".join(lines)


def table_text(net: Network, name: str, *, max_rows: int = 20, max_states: int = 12) -> str:
    """The distribution of one node in a table, four digits.

    A discrete node has a row for each parent state and a column for each state; a continuous one a
    row for each joint state of its discrete parents and a column for each coefficient; a logistic
    one per row for each of those states and each of its own.

    Parameters
    ----------
    net, name
        The network and one of its nodes.
    max_rows, max_states
        How many rows and columns are shown; the last line says how many were left out.

    Examples
    --------
    >>> coin = Categorical(Variable("coin", ("heads", "tails")), (), [0.75, 0.25])
    >>> print(table_text(Network.of([coin]), "coin"))
    P(coin)
    <BLANKLINE>
     heads   tails
    0.7500  0.2500
    """
    _check.whole("table_text", at_least=1, max_rows=max_rows, max_states=max_states)
    return local_text(net[name], max_rows=max_rows, max_states=max_states)


def local_text(local: Distribution, *, max_rows: int = 20, max_states: int = 12) -> str:
    """A local distribution in a table, as :func:`table_text` shows it."""
    by, columns, numbers = layout_of(local)
    shown = probability_text if isinstance(local, Categorical) else in_words
    labels = product(*(variable.discrete_states for variable in by))
    rows = [
        [*states, *map(shown, row[:max_states].tolist())]
        for states, row in islice(zip(labels, numbers, strict=True), max_rows)
    ]
    header = [*(variable.name for variable in by), *columns[:max_states]]
    right = set(range(len(by), len(header)))
    lines = [family_text(local), "", *_aligned([header, *rows], right=right)]
    column = "more state" if isinstance(local, Categorical) else "more column"
    left_out = [
        _count(n, thing)
        for n, thing in (
            (len(numbers) - max_rows, "more row"),
            (len(columns) - max_states, column),
        )
        if n > 0
    ]
    return "\n".join([*lines, *([f"... and {' and '.join(left_out)}"] if left_out else [])])


def layout_of(local: Distribution) -> tuple[list[Variable], list[str], Floats]:
    """Variables whose states label the rows, names of the columns, and the numbers in them."""
    if isinstance(local, Categorical):
        return list(local.given), list(local.child.discrete_states), local.rows
    columns = ["intercept", *(variable.name for variable in local.continuous)]
    by = list(local.discrete)
    if isinstance(local, LinearGaussian):
        columns.append("sd")
    else:
        by.append(local.child)
    return by, columns, local.parameters.reshape(-1, len(columns))


def _tree(dag: DAG, source: str | None) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Who hangs below each node (below "" what has no parent), and each node's other parents."""
    order = dag.topological_order()
    children: dict[str, list[str]] = {name: [] for name in ("", *order)}
    others: dict[str, list[str]] = {}
    depth: dict[str, int] = {}
    for name in order:
        parents = [parent for parent in dag.parents(name) if parent != source]
        parents.sort(key=depth.__getitem__)
        depth[name] = 1 + depth[parents[-1]] if parents else 0
        others[name] = parents[:-1]
        children[parents[-1] if parents else ""].append(name)
    return children, others


def _heading(net: Network) -> list[str]:
    nodes, arcs = _count(len(net.dag.nodes), "node"), _count(len(net.dag.arcs), "arc")
    lines = [f"Network of {nodes}, {arcs} and {_count(net.n_parameters, 'parameter')}"]
    if net.source is not None:
        states = net.variables[net.source].discrete_states
        lines.append(f"Source: {net.source} ({_listed(states)})")
    if net.record.method:
        lines.append(f"Made by: {net.record.method}")
    n_unknown = sum(net.record.unidentified.values())
    if n_unknown:
        lines.append(f"Parent states with no or too few rows: {n_unknown:,}")
    return [*lines, *(f"Note: {note}" for note in net.record.notes)]


def family_text(local: Distribution) -> str:
    """What a local distribution is about: ``P(child | parents)``."""
    given = f" | {', '.join(local.parents)}" if local.parents else ""
    return f"P({local.child.name}{given})"


def probability_text(number: float) -> str:
    """Four digits; what would be rounded to 0 or 1 without being it is marked."""
    if 0 < number < 0.00005:
        return "<0.0001"
    if 0.99995 <= number < 1:
        return ">0.9999"
    return f"{number:.4f}"


def in_words(number: float) -> str:
    """A number in four digits."""
    return f"{number:.4g}" if 1e-4 <= abs(number) < 1e5 or number == 0 else f"{number:.3e}"


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:N_NAMES])
    return shown if len(names) <= N_NAMES else f"{shown} and {len(names) - N_NAMES} more"


def _aligned(rows: Sequence[Sequence[str]], *, right: set[int]) -> list[str]:
    """Lines of equal columns, two blanks apart."""
    rows = [[_printable(cell) for cell in row] for row in rows]
    widths = [max(map(_n_cells, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        blanks = [" " * (width - _n_cells(cell)) for cell, width in zip(row, widths, strict=True)]
        cells = [
            blank + cell if i in right else cell + blank
            for i, (cell, blank) in enumerate(zip(row, blanks, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def _printable_lines(text: str) -> str:
    return "\n".join(map(_printable, text.split("\n")))


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def _n_cells(text: str) -> int:
    """Width on a terminal: most letters take one cell, Chinese ones two, combining accents none."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))
