"""What a notebook shows of panels, networks in time, beliefs and forecasts."""

from __future__ import annotations

import numpy as np

from consilience.dynamic.beliefs_in_time import Beliefs
from consilience.dynamic.change_point_beliefs import ChangeBeliefs, Changes
from consilience.dynamic.dynamic_network import DynamicNetwork
from consilience.dynamic.forecasting import Forecast
from consilience.dynamic.graph_search import OrderChoice
from consilience.dynamic.influence_in_time import InfluenceInTime
from consilience.dynamic.most_probable_paths import Path
from consilience.dynamic.panel import Panel
from consilience.dynamic.var_matrices import VAR
from consilience.show.html import Line, bar, facts, grid, heading, notes, number
from consilience.show.notebook_graphs import counted, drawn_graph
from consilience.show.text import family_text

__all__ = [
    "beliefs",
    "change_beliefs",
    "changes",
    "forecast",
    "influence",
    "matrices",
    "network",
    "orders",
    "panel",
    "path",
]

N_LINES = 12


def panel(found: Panel) -> str:
    """How many sequences of what lengths, and the variables."""
    lengths = found.lengths
    steps = f"{lengths.min()} to {lengths.max()} steps" if len(lengths) else "no steps"
    times = found.times
    known = {
        "sequences": f"{found.n_sequences:,}",
        "lengths": steps,
        "times": f"{times[0]} to {times[-1]}" if len(times) else "none",
    }
    lines = []
    for name, variable in found.rows.variables.items():
        column = found.rows.column(name)
        gone = np.isnan(column) if variable.is_continuous else column < 0
        share = float(gone.mean()) if len(gone) else 0.0
        kind = "continuous" if variable.states is None else ", ".join(variable.states[:N_LINES])
        role = "input" if name in found.inputs else ""
        lines.append((name, kind, bar(share, f"{100 * share:.1f} %") if share else "", role))
    head = ("variable", "states", "missing", "")
    return heading("Panel", repr(found)) + facts(known) + grid(head, lines) + notes(found.notes)


def network(net: DynamicNetwork) -> str:
    """The graph of the transition and its families."""
    known = {
        "nodes": f"{len(net.transition)}",
        "order": str(net.order),
        "parameters": f"{net.n_parameters:,}",
    }
    known |= {"hidden": ", ".join(net.hidden)} if net.hidden else {}
    known |= {"inputs": ", ".join(net.inputs)} if net.inputs else {}
    known |= {"given first": ", ".join(net.conditional[:N_LINES])} if net.conditional else {}
    known |= {"source": net.source} if net.source else {}
    lines = [(family_text(local),) for local in list(net.transition.values())[:N_LINES]]
    families = grid(("family",), lines, n=len(net.transition))
    about = heading("DynamicNetwork", net.record.method)
    return about + facts(known) + drawn_graph(net.dag) + families + notes(net.record.notes)


def beliefs(found: Beliefs) -> str:
    """The first rows of what is believed."""
    keys = found.panel
    lines = []
    for row in range(min(len(keys), N_LINES)):
        cells = [keys.place(row)]
        for name, table in found.probabilities.items():
            best = int(table[row].argmax())
            cells.append(f"{found.states[name][best]} ({table[row, best]:.3f})")
        cells += [f"{found.mean[n][row]:.4g} ± {found.sd[n][row]:.3g}" for n in found.mean]
        lines.append(tuple(cells))
    head = ("row", *found.probabilities, *found.mean)
    told = f"given {found.given}; the most probable state, mean ± sd"
    about = heading("Beliefs", "; ".join(filter(None, (told, found.approximation))))
    return about + grid(head, lines, n=len(keys))


def forecast(found: Forecast) -> str:
    """The first of the coming steps."""
    keys = found.panel
    lines = []
    for row in range(min(len(keys), N_LINES)):
        cells = [keys.place(row)]
        cells += [f"{found.mean[n][row]:.4g} ± {found.sd[n][row]:.3g}" for n in found.mean]
        for name, table in found.probabilities.items():
            best = int(table[row].argmax())
            cells.append(f"{found.states[name][best]} ({table[row, best]:.3f})")
        lines.append(tuple(cells))
    head = ("step", *found.mean, *found.probabilities)
    return heading("Forecast", repr(found)) + grid(head, lines, n=len(keys))


def influence(found: InfluenceInTime) -> str:
    """The arcs between the chains, and the rounds."""
    known = {
        "chains": ", ".join(found.groups),
        "score": f"{found.score:.6g}",
        "log-likelihood": f"{found.log_likelihood:.6g}",
    }
    lines = [
        (number(str(one.n_arcs)), number(f"{one.score:,.2f}")) for one in found.trace[:N_LINES]
    ]
    rounds = grid(("arcs", "score"), lines, n=len(found.trace))
    return heading("InfluenceInTime", repr(found)) + facts(known) + drawn_graph(found.dag) + rounds


def path(found: Path) -> str:
    """The log probability of the first sequences."""
    lines = [
        (name, number(f"{log:.6g}"))
        for name, log in zip(found.panel.sequences[:N_LINES], found.log_probability, strict=False)
    ]
    told = "the most probable values of what was hidden or missing"
    about = heading("Path", "; ".join(filter(None, (told, found.approximation))))
    return about + grid(("sequence", "log probability"), lines, n=found.panel.n_sequences)


def changes(found: Changes) -> str:
    """Evidence, and the most probable segments."""
    known = {
        "log evidence": f"{found.log_evidence:.6g}",
        "without any change": f"{found.log_evidence_none:.6g}",
        "expected changes": f"{found.expected_changes:.3g}",
    }
    known |= {"rows without a value": f"{found.n_incomplete:,}"} if found.n_incomplete else {}
    lines = [(one.sequence, str(one.start), str(one.stop)) for one in found.segments[:N_LINES]]
    table = grid(("sequence", "from", "to"), lines, n=len(found.segments))
    return heading("Changes", ", ".join(found.nodes)) + facts(known) + table


def change_beliefs(found: ChangeBeliefs) -> str:
    """For each node the step at which a change is the most probable."""
    lines = []
    for name, one in list(found.items())[:N_LINES]:
        row = int(one.probability.argmax()) if len(one.probability) else 0
        best = float(one.probability[row]) if len(one.probability) else 0.0
        where = found.panel.place(row) if best else ""
        gain = f"{one.log_evidence - one.log_evidence_none:.4g}"
        lines.append((name, number(gain), where, bar(best, f"{best:.3f}")))
    head = ("node", "log evidence gained", "most probable change", "probability")
    return heading("ChangeBeliefs", repr(found)) + grid(head, lines, n=len(found))


def orders(found: OrderChoice) -> str:
    """The score of each order."""
    lines = [
        (f"{order}{' (best)' if order == found.order else ''}", number(f"{score:,.4f}"))
        for order, score in found.scores.items()
    ]
    about = heading("OrderChoice", f"judged on {counted(found.n_rows, 'row')}")
    return about + grid(("order", "score"), lines)


def matrices(found: VAR) -> str:
    """Intercept and coefficients by equation."""
    order = len(found.coefficients)
    head = (
        "equation",
        "intercept",
        *(f"{name}(t-{lag + 1})" for lag in range(order) for name in found.names),
    )
    lines: list[Line] = [
        (
            name,
            number(f"{found.intercept[i]:.4g}"),
            *(
                number(f"{found.coefficients[lag, i, j]:.4g}")
                for lag in range(order)
                for j in range(len(found.names))
            ),
        )
        for i, name in enumerate(found.names)
    ]
    return heading("VAR", f"order {order}") + grid(head, lines)
