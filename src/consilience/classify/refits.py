"""A network fitted again to some of the rows, and what it predicts of those it has not seen.

The record of a network says in words which estimators made it; :func:`estimators_of` reads them
back, by name and with plain numbers only. The graph stays as it is, the tables are fitted to the
training rows of every fold.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience import _check, _freeze, estimators, gaps
from consilience._typing import Codes, Floats
from consilience.classify.evaluation import Evaluation
from consilience.classify.measures import evaluate
from consilience.classify.seen_sources import with_seen_sources
from consilience.classify.splits import StratifiedFolds
from consilience.data.align import aligned_codes
from consilience.data.table import Table
from consilience.data.variable import Schema
from consilience.errors import InputError
from consilience.graph.dag import DAG
from consilience.inference.evidence_rows import log_of_states
from consilience.learning import fit
from consilience.network.network import Network

__all__ = ["Predicted", "aligned_rows", "estimators_of", "fitted_again", "graph_of", "predicted"]

IN_SAMPLE = "in-sample: these rows were learned from"


@dataclass(frozen=True, slots=True, eq=False)
class Predicted:
    """What is predicted of every row, and how good it is.

    Parameters
    ----------
    probabilities
        Shape (rows, states); rows without a class, which were not predicted, are zero.
    truth
        Code of the true state of each row, -1 if it is not known.
    evaluation
        The measures.
    folds
        Number of folds; 0 if the network itself predicted the rows.
    reason
        Why it did: in words, empty if it did not.
    """

    probabilities: Floats
    truth: Any
    evaluation: Evaluation
    folds: int
    reason: str = ""

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def where(self) -> str:
        """On which rows, in words."""
        return f"{self.folds} folds, refitted" if self.folds else IN_SAMPLE


def predicted(
    net: Network,
    table: Table,
    target: str,
    *,
    folds: int = 0,
    choices: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Predicted:
    """Posteriors of the target given all other columns, on rows not learned from if that can be.

    Parameters
    ----------
    folds
        Number of folds, stratified by source and class; 0 to ask the network as it is.
    choices
        The estimators, as keyword arguments of ``cs.fit``; those of the network's record if not
        given.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"ill": ["no", "yes"] * 20, "fever": ["low", "high", "low", "low"] * 10})
    >>> net = cs.fit(cs.naive_bayes(table, "ill"), table)
    >>> predicted(net, table, "ill", folds=5).where
    '5 folds, refitted'
    """
    _check.known("node", [target], net.distributions)
    _check.known("variable", [target], table.variables)
    variable = net.variables[target]
    if variable.is_continuous:
        raise InputError(f"target {target!r} is continuous; a discrete one is wanted.", node=target)
    rows = aligned_rows(net, table)
    truth = aligned_codes(table, variable)
    reason = "" if folds == 0 else _why_not(net, rows, truth, folds=folds, choices=choices)
    if folds and not reason:
        found, logs = _by_folds(net, rows, target, truth, folds=(folds, seed), choices=choices)
    else:
        folds, found = 0, net.posteriors(rows, target)
        logs = log_of_states(net, rows, target, truth, posteriors=found)
    measured = evaluate(
        found,
        truth,
        logs=logs,
        states=variable.discrete_states,
        weights=rows.weights,
        sources=rows.sources,
        source_codes=rows.source_codes,
    )
    return Predicted(found, truth, measured, folds, reason)


def fitted_again(net: Network, rows: Table, choices: Mapping[str, Any] | None = None) -> Network:
    """The network's graph, fitted to other rows."""
    chosen = estimators_of(net.record.method) if choices is None else choices
    if chosen is None:
        raise InputError(
            f"the network was made by {net.record.method or 'something that is not recorded'!r}, "
            "which cannot be done again; fit it with cs.fit.",
            parameter="net",
        )
    return fit(graph_of(net), with_seen_sources(rows), **chosen)


def graph_of(net: Network) -> DAG:
    """The user's graph; with the source if only some nodes depend on it."""
    if net.source is None:
        return net.dag
    children = set(net.dag.children(net.source))
    others = set(net.dag.nodes) - {net.source}
    return net.dag.without(net.source) if children in (set(), others) else net.dag


def aligned_rows(net: Network, table: Table) -> Table:
    """The columns that the network knows, in codes of its states; sources and weights stay."""
    names = [n for n in net.variables if n in table.variables and n != net.source]
    columns = {
        name: table.columns[name]
        if net.variables[name].is_continuous
        else aligned_codes(table, net.variables[name])
        for name in names
    }
    schema = Schema({name: net.variables[name] for name in names}, table.schema.source)
    return Table(schema, columns, table.source_codes, table.weights)


def estimators_of(method: str) -> dict[str, Any] | None:
    """The estimators that a record names, as keyword arguments of ``cs.fit``; None if none can be.

    >>> estimators_of("Pooled(estimator=Dirichlet(ess=3))")
    {'estimator': Pooled(estimator=Dirichlet(ess=3))}
    >>> estimators_of("EM() with MLE()")["estimator"]
    MLE()
    >>> estimators_of("the file asia.bif") is None
    True
    """
    try:
        for_gaps, with_gaps, rest = method.rpartition(" with ")
        call = ast.parse(f"fit({rest})", mode="eval").body
        if not isinstance(call, ast.Call) or len(call.args) + bool(call.keywords) != 1:
            return None
        chosen = {"estimator": _value(call.args[0])} if call.args else {}
        chosen |= {str(one.arg): _value(one.value) for one in call.keywords}
        filling = {"gaps": _value(ast.parse(for_gaps, mode="eval").body)} if with_gaps else {}
        return {**chosen, **filling}
    except (SyntaxError, ValueError, TypeError, KeyError):
        return None


def _value(node: ast.expr) -> Any:
    """A number, or a choice of the library with such arguments; anything else is refused."""
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    space = next((one for one in (estimators, gaps) if name in dir(one)), None)
    kind = None if space is None else getattr(space, name)
    if not isinstance(kind, type):
        raise ValueError("not a choice")
    named = {str(one.arg): _value(one.value) for one in node.keywords}
    return kind(*map(_value, node.args), **named)


def _why_not(
    net: Network, rows: Table, truth: Any, *, folds: int, choices: Mapping[str, Any] | None
) -> str:
    """Why the network cannot be fitted to folds of the rows; empty if it can."""
    absent = [n for n in net.dag.nodes if n not in rows.variables and n != net.source]
    if absent:
        return f"the rows have no column {_check.listed(absent[:5])}"
    if net.source is not None and rows.source is None:
        return f"the rows have no source {net.source!r}"
    if choices is None and estimators_of(net.record.method) is None:
        return "the network does not record an estimator that can be used again"
    if int((truth >= 0).sum()) < folds:
        return f"fewer than {folds} rows have a class"
    return ""


def _by_folds(
    net: Network,
    rows: Table,
    target: str,
    truth: Codes,
    *,
    folds: tuple[int, int],
    choices: Mapping[str, Any] | None,
) -> tuple[Floats, Floats]:
    """The posteriors, and the log posterior of the truth."""
    found, logs = np.zeros((rows.n_rows, net.variables[target].n_states)), np.zeros(rows.n_rows)
    for split in StratifiedFolds(folds[0]).split(rows, target, folds[1]):
        again = fitted_again(net, rows.take(split.train), choices)
        test, mine = rows.take(split.test), truth[split.test]
        each = again.posteriors(test, target)
        found[split.test] = each
        logs[split.test] = log_of_states(again, test, target, mine, posteriors=each)
    return found, logs
