r"""Independent rows from a network, given anything.

Without evidence, or with evidence about nodes whose parents are all known, rows are drawn node by
node, parents first (logic sampling). With other evidence they are drawn exactly from the posterior
(:mod:`consilience.inference.draws`). The same seed gives the same rows on any number of threads.
"""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats, Seed
from consilience.data.table import Table, code_type
from consilience.data.variable import NEW_SOURCE, Schema, Variable
from consilience.inference.conflict import refuse_impossible
from consilience.inference.draws import Columns, draw_forward, draw_given
from consilience.inference.event_beliefs import rows_that_hold, settled
from consilience.inference.event_nodes import split_given
from consilience.inference.evidence import Evidence, evidence_of
from consilience.inference.known_rows import rows_of
from consilience.inference.soft import hardened
from consilience.inference.solving import is_possible
from consilience.inference.ways import Exact, exact_of
from consilience.network.network import Given, Network

__all__ = ["sample"]


def sample(
    net: Network,
    n_rows: int,
    *,
    given: Given = None,
    seed: Seed = None,
    threads: int | None = None,
    by: Exact | None = None,
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
    by
        How; its memory limit is for the rows, and for the junction tree if there is one.
    """
    memory_limit = exact_of(by).memory_limit
    _check.whole("sample", at_least=0, n_rows=n_rows)
    rest, events = split_given(given, net.variables)
    evidence = evidence_of(net.variables, rest)
    rng = _check.generator(seed)
    types = {
        name: np.float64 if variable.is_continuous else code_type(variable.n_states)
        for name, variable in net.variables.items()
    }
    n_bytes = n_rows * sum(np.dtype(kind).itemsize for kind in types.values())
    _check.memory(f"a sample of {n_rows:,} rows", n_bytes, memory_limit, "Draw fewer at a time.")
    left_out = _left_out(net, evidence)
    at = settled(net, evidence, events, exact_of(by))
    n_threads = threads or os.cpu_count() or 1

    def draw(n: int) -> Columns:
        return _columns(
            at.net, at.evidence, n, rng, left_out=left_out, threads=n_threads, limit=memory_limit
        )

    columns = rows_that_hold(at, draw, n_rows) if at.events else draw(n_rows)
    return _table(net, {name: columns[name] for name in net.variables}, left_out)


def _columns(
    net: Network,
    evidence: Evidence,
    n_rows: int,
    rng: np.random.Generator,
    *,
    left_out: int | None,
    threads: int,
    limit: float,
) -> Columns:
    """All nodes of rows drawn given evidence."""
    known_only = _known_only(net, evidence, left_out)
    if _goes_forward(net, evidence):
        _refuse_excluded(net, evidence, limit)
        return draw_forward(net, evidence, known_only, n_rows, rng=rng, threads=threads)
    limited = replace(evidence, likelihoods={**evidence.likelihoods, **known_only})
    hard = hardened(net, limited, limit)
    found = draw_given(net, hard, n_rows, rng, threads=threads, memory_limit=limit)
    if found is None:
        refuse_impossible(net, hard, limit)
    return found


def _table(net: Network, columns: Columns, left_out: int | None) -> Table:
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
    known = {*evidence.known, *evidence.values}
    parents = {parent for name in known for parent in net.dag.parents(name)}
    return not has_other and parents <= known


def _refuse_excluded(net: Network, evidence: Evidence, memory_limit: float) -> None:
    """What is known, closed under parents, can contradict itself all the same."""
    names = (*evidence.known, *evidence.values)
    if names and not is_possible(net, rows_of(net, evidence), names, memory_limit=memory_limit):
        refuse_impossible(net, evidence, memory_limit)
