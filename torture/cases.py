"""Random discrete networks with nasty names, evidence about them, and rows with gaps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from inference_oracles import along, full_joint, weight_of

import consilience as cs
from consilience.data.table import code_type
from torture import names

MOST_JOINT_STATES = 1500


@dataclass(frozen=True)
class Case:
    """A network, what is known, and rows; everything follows from the seed."""

    seed: int
    folder: Path
    net: cs.Network
    given: Mapping[str, Any]
    table: cs.Table

    def rng(self) -> np.random.Generator:
        """A new generator for each claim: alone it sees what it saw among others."""
        return np.random.default_rng((self.seed, 11))

    @cached_property
    def joint(self) -> np.ndarray:
        """P(x) of every joint state."""
        return full_joint(self.net)

    def weighed(self, given: Mapping[str, Any]) -> np.ndarray:
        """P(x, given) of every joint state."""
        table = self.joint
        for name, value in given.items():
            table = table * along(self.net, name, weight_of(self.net.variables[name], value))
        return table

    def row(self, i: int) -> dict[str, str]:
        """What a row says about the nodes; an unknown source is ``new_source``, or unknown."""
        found = {}
        for name, variable in self.net.variables.items():
            if name in self.table.schema:
                code = int(self.table.column(name)[i])
                state = None if code < 0 else self.table.schema[name].discrete_states[code]
                if name == self.net.source and state not in variable.discrete_states:
                    state = "new_source" if "new_source" in variable.discrete_states else None
                if state is not None:
                    found[name] = state
        return found


def prepare(seed: int, folder: Path) -> Case:
    """A case of 2 to 7 nodes, one of them the source in half of the cases."""
    rng = np.random.default_rng(seed)
    net = random_network(rng)
    joint = full_joint(net)
    return Case(seed, folder, net, random_given(rng, net), random_rows(rng, net, joint))


def random_network(rng: np.random.Generator) -> cs.Network:
    """A network whose tables have zeros in a third of the cases."""
    variables = random_variables(rng, int(rng.integers(2, 8)))
    has_source = rng.random() < 0.5
    if has_source and rng.random() < 0.5:
        variables[0] = _with_new_source(variables[0])
    p_arc, p_zero = rng.uniform(0.1, 0.9), rng.choice([0.0, 0.0, 0.3])
    local = []
    for i, child in enumerate(variables):
        parents = [v for v in variables[:i] if rng.random() < p_arc][:4]
        parents = [parents[k] for k in rng.permutation(len(parents))]
        local.append(cs.Categorical(child, parents, random_table(rng, child, parents, p_zero)))
    source = variables[0].name if has_source else None
    return cs.Network.of([local[i] for i in rng.permutation(len(local))], source=source)


def random_variables(rng: np.random.Generator, n: int) -> list[cs.Variable]:
    """Variables of 1 to 4 states with few joint states; the first has no reserved name."""
    sizes = rng.choice([1, 2, 2, 3, 4], n)
    while sizes.prod() > MOST_JOINT_STATES:
        sizes = np.maximum(2, sizes - (rng.random(n) < 0.5))
    called = names.some(rng, n)
    reserved = [("new_source",), *[()] * n]
    states = [names.some(rng, r, without=w) for r, w in zip(sizes, reserved, strict=False)]
    return [cs.Variable(name, tuple(some)) for name, some in zip(called, states, strict=True)]


def _with_new_source(variable: cs.Variable) -> cs.Variable:
    return cs.Variable(variable.name, (*variable.discrete_states, "new_source"))


def random_table(rng: Any, child: cs.Variable, parents: Any, p_zero: float = 0.0) -> np.ndarray:
    """Probabilities of the child's states by parent state, some of them zero or small."""
    shape = [v.n_states for v in (*parents, child)]
    table = rng.dirichlet(np.full(child.n_states, rng.choice([0.2, 1.0, 5.0])), size=shape[:-1])
    table = np.where(rng.random(shape) < p_zero, 0.0, table)
    table[table.sum(axis=-1) == 0, 0] = 1.0
    return table / table.sum(axis=-1, keepdims=True)


def random_given(rng: np.random.Generator, net: cs.Network) -> dict[str, Any]:
    """Hard, set and virtual evidence about up to four nodes; it may be impossible."""
    chosen = rng.permutation(list(net.variables))[: rng.integers(0, 5)]
    return {str(name): _finding(rng, net.variables[str(name)]) for name in chosen}


def _finding(rng: np.random.Generator, variable: cs.Variable) -> Any:
    states = variable.discrete_states
    kind = rng.choice(["hard", "set", "virtual"])
    if kind == "hard":
        return states[rng.integers(len(states))]
    if kind == "set":
        return set(states[: rng.integers(1, len(states) + 1)])
    weights = rng.integers(0, 6, len(states)) * 10.0 ** rng.integers(-6, 7)
    weights[0] += weights.sum() == 0
    return cs.Likelihood(dict(zip(states, weights.tolist(), strict=True)))


def random_rows(rng: np.random.Generator, net: cs.Network, joint: np.ndarray) -> cs.Table:
    """Rows drawn from the joint, with gaps, weights, and states in an order of their own."""
    n_rows = int(rng.integers(1, 25))
    flat = rng.choice(joint.size, n_rows, p=joint.ravel() / joint.sum())
    codes = dict(zip(net.variables, np.unravel_index(flat, joint.shape), strict=True))
    share = rng.choice([0.0, 0.3, 0.7])
    columns, variables = {}, {}
    for name, variable in net.variables.items():
        if name != net.source:
            gaps = rng.random(n_rows) < share
            variables[name], columns[name] = _reordered(
                rng, variable, np.where(gaps, -1, codes[name])
            )
    weights = [None, rng.integers(0, 4, n_rows), rng.integers(0, 33, n_rows) / 8][rng.integers(3)]
    if net.source is None or rng.random() < 0.2:
        return cs.Table(cs.Schema(variables), columns, None, weights)
    source, at = _row_sources(rng, net.variables[net.source], codes[net.source])
    return cs.Table(cs.Schema(variables, source), columns, at, weights)


def _reordered(
    rng: Any, variable: cs.Variable, codes: np.ndarray
) -> tuple[cs.Variable, np.ndarray]:
    """The states in another order in a third of the cases."""
    order = np.arange(variable.n_states)
    if rng.random() < 0.3:
        order = rng.permutation(order)
    place = np.append(np.argsort(order), -1)
    states = tuple(variable.discrete_states[k] for k in order)
    return cs.Variable(variable.name, states), place[codes].astype(code_type(variable.n_states))


def _row_sources(rng: Any, node: cs.Variable, codes: np.ndarray) -> tuple[cs.Variable, np.ndarray]:
    """The source of each row; ``new_source`` is a name that the network has not seen."""
    stranger = names.some(rng, 1, without=node.discrete_states)[0]
    while any(_is_alike(stranger, state) for state in node.discrete_states):
        stranger += "?"
    states = tuple(stranger if s == "new_source" else s for s in node.discrete_states)
    return _reordered(rng, cs.Variable(node.name, states), codes)


def _is_alike(one: str, other: str) -> bool:
    """Whether two names are one number."""
    try:
        return float(one) == float(other)
    except ValueError:
        return False
