r"""Independent rows from a network, given anything.

Without evidence, or with evidence about nodes whose parents are all known, rows are drawn node by
node, parents first (logic sampling). With other evidence they are drawn exactly from the junction
tree: clique by clique from the root, the residual given the separator,

.. math:: P(x \mid e) = \prod_c P(\text{residual}_c \mid \text{separator}_c, e) .

Each node or clique has a random key and each row a number that depends only on the key and on the
row's place, so the same seed gives the same rows on any number of threads. Networks with continuous
nodes are drawn by :mod:`consilience.inference.mixed_sampling`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Codes, Floats, Seed
from consilience.data.table import Table, code_type
from consilience.data.variable import NEW_SOURCE, Schema, Variable
from consilience.distributions.categorical import proportions
from consilience.inference.conflict import refuse_impossible
from consilience.inference.drawing import new_key, thresholds
from consilience.inference.evidence import Evidence, evidence_of
from consilience.inference.junction import compiled
from consilience.inference.mixed_sampling import draw_rows
from consilience.inference.rows import rows_of
from consilience.inference.soft import hardened
from consilience.kernels.counting import fold
from consilience.kernels.sampling import draw_states
from consilience.kernels.threads import each_part
from consilience.network.network import MEMORY_LIMIT, Network

__all__ = ["sample"]

ROWS_A_BLOCK = 1 << 14  # the codes of a block for all parents of a node stay in the first caches


def sample(
    net: Network,
    n_rows: int,
    *,
    given: Mapping[str, Any] | None = None,
    seed: Seed = None,
    threads: int | None = None,
    memory_limit: float = MEMORY_LIMIT,
) -> Table:
    r"""A table of rows drawn from the network, with its source as the table's source.

    Rows come from the sources that the network knows, so that it can be fitted to them again: its
    reserved state ``new_source`` is neither drawn nor a state of the table's source,

    .. math:: P(F = f \mid F \ne \text{new}, e) ,

    unless ``given`` says something about the source that leaves that state possible, such as
    ``{"hospital": "new_source"}``.

    Parameters
    ----------
    n_rows
        Number of rows.
    given
        What is known in all rows; see :mod:`consilience.inference.evidence`.
    seed
        An int, a NumPy generator, or None for fresh entropy. The same int gives the same rows.
    threads
        Number of threads, by default one for each core; the rows do not depend on it.
    memory_limit
        Bytes that the rows may need, and the junction tree if there is one.
    """
    _check.whole("sample", at_least=0, n_rows=n_rows)
    evidence = evidence_of(net.variables, given)
    rng = _check.generator(seed)
    types = {
        name: np.float64 if variable.is_continuous else code_type(variable.n_states)
        for name, variable in net.variables.items()
    }
    n_bytes = n_rows * sum(np.dtype(kind).itemsize for kind in types.values())
    _check.memory(f"a sample of {n_rows:,} rows", n_bytes, memory_limit, "Draw fewer at a time.")
    left_out = _left_out(net, evidence)
    known_only = _known_only(net, evidence, left_out)
    n_threads = threads or os.cpu_count() or 1
    if not net.is_discrete:
        limited = replace(evidence, likelihoods={**evidence.likelihoods, **known_only})
        hard = hardened(net, limited, memory_limit)
        found = draw_rows(
            net, rows_of(net, hard), n_rows, rng, threads=n_threads, memory_limit=memory_limit
        )
        if found is None:
            refuse_impossible(net, hard, memory_limit)
        return _table(net, found, left_out)
    columns = {name: np.empty(n_rows, kind) for name, kind in types.items()}
    if _goes_forward(net, evidence):
        _draw_forward(net, evidence, known_only, rng, columns, n_threads)
    else:
        limited = replace(evidence, likelihoods={**evidence.likelihoods, **known_only})
        _draw_from_tree(net, hardened(net, limited, memory_limit), rng, columns, memory_limit)
    return _table(net, columns, left_out)


def _table(net: Network, columns: dict[str, Codes], left_out: int | None) -> Table:
    """The rows as a table whose source lacks the state that was left out."""
    source = None if net.source is None else net.variables[net.source]
    source_codes = None if source is None else columns.pop(source.name)
    if source is not None and source_codes is not None and left_out is not None:
        states = source.discrete_states[:left_out] + source.discrete_states[left_out + 1 :]
        moved = source_codes - (source_codes > left_out)
        source, source_codes = Variable(source.name, states), moved.astype(code_type(len(states)))
    variables = {name: net.variables[name] for name in columns}
    origins = dict.fromkeys(columns, "drawn from a network")
    still = {name: _freeze.read_only(column) for name, column in columns.items()}
    return Table(Schema(variables, source), still, source_codes, origins=origins)


def _left_out(net: Network, evidence: Evidence) -> int | None:
    """The code of ``new_source`` if no row may have it; None if it may, or is no state."""
    name = net.source
    if name is None or NEW_SOURCE not in net.variables[name].discrete_states:
        return None
    new = net.variables[name].code(NEW_SOURCE)
    if name in evidence.known:
        return None if evidence.known[name] == new else new
    chances = {name: net.tables[name].table, **evidence.likelihoods, **evidence.soft}[name]
    is_asked_for = name in evidence.names and chances[new] > 0
    is_all_there_is = np.count_nonzero(chances) == 1 and chances[new] > 0
    return None if is_asked_for or is_all_there_is else new


def _known_only(net: Network, evidence: Evidence, left_out: int | None) -> dict[str, Floats]:
    """The likelihood that leaves a source out; nothing if there is no need of it."""
    if net.source is None or left_out is None or net.source in evidence.names:
        return {}
    return {net.source: (np.arange(net.variables[net.source].n_states) != left_out).astype(float)}


def _goes_forward(net: Network, evidence: Evidence) -> bool:
    has_other = bool(evidence.likelihoods or evidence.soft)
    parents = {parent for name in evidence.known for parent in net.dag.parents(name)}
    return not has_other and parents <= set(evidence.known)


def _draw_forward(
    net: Network,
    evidence: Evidence,
    likelihoods: Mapping[str, Floats],
    rng: np.random.Generator,
    columns: Mapping[str, Codes],
    threads: int,
) -> None:
    """Fill the columns, parents first; the likelihoods are of roots that are not known."""
    _refuse_excluded(net, evidence)
    keys = {name: new_key(rng) for name in net.tables}
    limits = {name: thresholds(local.rows) for name, local in net.tables.items()}
    for name, likelihood in likelihoods.items():
        limits[name] = thresholds(proportions(net.tables[name].rows * likelihood))
    n_rows = len(next(iter(columns.values()), ()))

    def work(row_from: int, row_to: int) -> None:
        for start in range(row_from, row_to, ROWS_A_BLOCK):
            rows = slice(start, min(start + ROWS_A_BLOCK, row_to))
            for name in net.dag.topological_order():
                if name in evidence.known:
                    columns[name][rows] = evidence.known[name]
                else:
                    code = _joint_code(net, net.dag.parents(name), columns, rows)
                    stride, flat = limits[name]
                    draw_states(keys[name], start, code, stride, flat, columns[name][rows])

    each_part(n_rows, min(threads, max(1, n_rows // ROWS_A_BLOCK)), work)


def _refuse_excluded(net: Network, evidence: Evidence) -> None:
    """Known states, closed under parents, can contradict each other all the same."""
    for name in evidence.known:
        at = tuple(evidence.known[other] for other in (*net.dag.parents(name), name))
        if net.tables[name].table[at] == 0:
            refuse_impossible(net, evidence, MEMORY_LIMIT)


def _draw_from_tree(
    net: Network,
    evidence: Evidence,
    rng: np.random.Generator,
    columns: Mapping[str, Codes],
    memory_limit: float,
) -> None:
    tree = compiled(net, memory_limit=memory_limit)
    for name, state in evidence.known.items():
        columns[name][:] = state
    n_rows = len(next(iter(columns.values()), ()))
    everything = slice(0, n_rows)
    with tree.propagated(evidence) as beliefs:
        if beliefs.log_evidence == -math.inf:
            refuse_impossible(net, evidence, memory_limit)
        for c in range(len(tree.shape.cliques) - 1, -1, -1):
            clique, n_shared = tree.shape.cliques[c], tree.shape.n_shared[c]
            shared = [name for name in clique[:n_shared] if name not in evidence.known]
            drawn = [name for name in clique[n_shared:] if name not in evidence.known]
            if drawn:
                table = beliefs.joint(c, (*shared, *drawn))
                rows = table.reshape(-1, math.prod(table.shape[len(shared) :]))
                code = _joint_code(net, shared, columns, everything)
                joint = np.empty(n_rows, np.int32)
                stride, flat = thresholds(proportions(rows))
                draw_states(new_key(rng), 0, code, stride, flat, joint)
                for name in reversed(drawn):
                    joint, columns[name][:] = np.divmod(joint, net.variables[name].n_states)


def _joint_code(
    net: Network, names: Sequence[str], columns: Mapping[str, Codes], rows: slice
) -> Codes:
    code = np.zeros(rows.stop - rows.start, np.int32)
    for name in names:
        fold(code, columns[name][rows], net.variables[name].n_states)
    return code
