r"""Five unequal hospitals, made up: who has a coronary disease, and what is seen of it.

Each table is a softmax of additive effects,

.. math:: P(x = k \mid \mathrm{pa}, f) \propto
    \exp\Bigl(b_k + \sum_{p \in \mathrm{pa}} e_{p,k} + s_{f,k}\Bigr),

with a base :math:`b`, an effect :math:`e` of each parent's state and, for some families, a shift
:math:`s` in one hospital. The hospitals differ in exactly three families, for reasons that real
hospitals have; ``REASONS`` says which. One of them never records a column, and values get lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import consilience as cs
from consilience._typing import Floats
from consilience.data.write import write_rows

__all__ = [
    "REASONS",
    "SIZES",
    "SOURCE",
    "STATES",
    "make_hospitals",
    "save_hospitals",
    "true_network",
]

SOURCE = "hospital"
SIZES = {"university": 1200, "city": 400, "harbor": 150, "valley": 60, "island": 25}


@dataclass(frozen=True, slots=True)
class _Node:
    """States, their base and the effects of parents: ``effects[parent][state of the parent]``."""

    states: tuple[str, ...]
    base: Sequence[float]
    effects: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)


NODES = {
    "age": _Node(("<50", "50-69", "70+"), (0, 0.3, -0.3)),
    "sex": _Node(("female", "male"), (0, 0.2)),
    "smoking": _Node(("no", "yes"), (0, -1.2), {"sex": {"male": (0, 0.6)}}),
    "diabetes": _Node(("no", "yes"), (0, -2.4), {"age": {"50-69": (0, 0.8), "70+": (0, 1.3)}}),
    "hypertension": _Node(("no", "yes"), (0, -1.3), {"age": {"50-69": (0, 1), "70+": (0, 1.7)}}),
    "disease": _Node(
        ("no", "yes"),
        (0, -2.2),
        {"age": {"50-69": (0, 0.9), "70+": (0, 1.6)}, "smoking": {"yes": (0, 1.1)}},
    ),
    "chest_pain": _Node(
        ("none", "atypical", "typical"),
        (0, -0.3, -1.2),
        {"disease": {"yes": (0, 0.9, 2.8)}, "diabetes": {"yes": (0.9, 0, 0)}},
    ),
    "ecg": _Node(
        ("normal", "strain", "ischemia"),
        (0, -1.8, -2.2),
        {"disease": {"yes": (0, 0.2, 2.4)}, "hypertension": {"yes": (0, 1.3, 0)}},
    ),
    "troponin": _Node(
        ("normal", "raised", "high"), (0, -2, -3.5), {"disease": {"yes": (0, 1.5, 3.8)}}
    ),
}

STATES = {name: node.states for name, node in NODES.items()}

SHIFTS: Mapping[tuple[str, str], Sequence[float]] = {
    ("university", "disease"): (0, 1.8),
    ("city", "chest_pain"): (-0.8, 1.6, -0.8),
    ("harbor", "troponin"): (0, 3.0, 1.6),
}

REASONS = {
    "disease": "the university hospital is sent the difficult cases",
    "chest_pain": "the city hospital is quick to call chest pain atypical",
    "troponin": "the harbor hospital uses a more sensitive assay",
}

NEVER_RECORDED = {"valley": "ecg"}
LOST = {"smoking": 0.06, "troponin": 0.08, "chest_pain": 0.03}


def make_hospitals(seed: int = 1) -> dict[str, dict[str, list[str | None]]]:
    """The rows of each hospital as a dict of columns, None where a value is missing.

    Examples
    --------
    >>> hospitals = make_hospitals()
    >>> {name: len(rows["age"]) for name, rows in hospitals.items()}
    {'university': 1200, 'city': 400, 'harbor': 150, 'valley': 60, 'island': 25}
    """
    net, rng = true_network(), np.random.default_rng(seed)
    return {
        name: _with_gaps(name, net.sample(n_rows, given={SOURCE: name}, seed=rng), rng)
        for name, n_rows in SIZES.items()
    }


def save_hospitals(folder: Path) -> list[str]:
    """Write the rows of each hospital to a csv file of its name; the names of the files."""
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for name, columns in make_hospitals().items():
        write_rows(cs.read(columns, states={k: STATES[k] for k in columns}), folder / f"{name}.csv")
        names.append(f"{name}.csv")
    return names


def true_network() -> cs.Network:
    """The network that the rows are drawn from; the hospital is a parent where it matters."""
    shares = np.array([*SIZES.values()]) / sum(SIZES.values())
    variables = {name: cs.Variable(name, node.states) for name, node in NODES.items()}
    source = cs.Variable(SOURCE, tuple(SIZES))
    families = [_family(name, variables, source) for name in NODES]
    return cs.Network.of([cs.Categorical(source, (), shares), *families], source=SOURCE)


def _family(name: str, variables: Mapping[str, cs.Variable], source: cs.Variable) -> cs.Categorical:
    """The local distribution of a node; the hospital is the first axis where it matters."""
    node = NODES[name]
    logits = np.array(node.base, dtype=np.float64)
    given: list[cs.Variable] = []
    for parent, effects in reversed([*node.effects.items()]):
        axis = [effects.get(state, np.zeros(len(node.base))) for state in NODES[parent].states]
        logits = _with_axis(axis, logits)
        given.insert(0, variables[parent])
    if name in REASONS:
        axis = [SHIFTS.get((f, name), np.zeros(len(node.base))) for f in SIZES]
        logits = _with_axis(axis, logits)
        given.insert(0, source)
    weights = np.exp(logits)
    return cs.Categorical(
        variables[name], tuple(given), weights / weights.sum(axis=-1, keepdims=True)
    )


def _with_axis(effects: Sequence[Sequence[float] | Floats], logits: Floats) -> Floats:
    """The logits with a new first axis, along which the effects are added."""
    return np.stack([logits + np.asarray(effect) for effect in effects])


def _with_gaps(
    hospital: str, rows: cs.Table, rng: np.random.Generator
) -> dict[str, list[str | None]]:
    columns: dict[str, list[str | None]] = {}
    for name, variable in rows.variables.items():
        is_lost = rng.random(rows.n_rows) < LOST.get(name, 0.0)
        if name != NEVER_RECORDED.get(hospital):
            columns[name] = [
                None if lost else variable.discrete_states[code]
                for code, lost in zip(rows.column(name), is_lost, strict=True)
            ]
    return columns
