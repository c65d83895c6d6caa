"""The library's own format: JSON with everything that a network knows.

::

    {"format": "consilience network", "version": 1,
     "source": "hospital",
     "record": {"method": "...", "n_rows": {}, "n_incomplete": {}, "unidentified": {},
                "pooling": {}, "known": {}, "notes": []},
     "nodes": [
      {"name": "xray", "states": ["yes", "no"], "ordered": false, "cuts": null,
       "parents": ["either"], "shape": [2, 2], "table": [0.98, 0.02, 0.05, 0.95],
       "posterior": {"kind": "dirichlet", "concentration": [98.0, 2.0, 5.0, 95.0]}},
      {"name": "dose", "states": null, "ordered": false, "cuts": null, "parents": ["xray", "age"],
       "intercept": [1.0, 2.0], "coefficients": [0.5, 0.25], "sd": [1.0, 1.0],
       "posterior": null}]}

A node without states is continuous. The kinds of a node and its parents say which fields it has: a
table; intercept, coefficients and sd (continuous); intercept and coefficients (discrete with a
continuous parent). Arrays are flat lists in the order of a table (first parent slowest, the child
fastest, coefficients of continuous parents fastest of all); tables beside their shape. Numbers have
all their digits; NaN and infinities are refused. ``docs/formats.md`` describes every field.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import compress
from typing import Any, NoReturn

from consilience import _check
from consilience.data.variable import Variable
from consilience.distributions import Categorical, Distribution, LinearGaussian, Logistic
from consilience.distributions.categorical import TOLERANCE
from consilience.distributions.local_distribution import kinds
from consilience.errors import InputError, ModelError
from consilience.files.draft import Draft, assemble, family_of, fault, rows_of
from consilience.files.objects import Content, shown
from consilience.files.posteriors import posterior_from, to_content
from consilience.files.repository import is_gaussian, parse_gaussian
from consilience.network.network import Network
from consilience.network.record import Record

__all__ = ["loaded", "parse", "write"]

FORMAT = "consilience network"
VERSION = 1


def parse(text: str, name: str) -> Network:
    """The network of a JSON text; ``name`` is the file that errors speak of."""
    root = Content.of(loaded(text, name), name, "the file")
    if is_gaussian(root):
        return parse_gaussian(root)
    if root.take("format", str) != FORMAT:
        raise root.fault(f"'format' must be {FORMAT!r}, got {root.take('format', str)!r}")
    if (version := root.take("version", int)) != VERSION:
        raise root.fault(f"version {version} cannot be read; version {VERSION} can")
    nodes = [
        Content.of(node, name, f"node {place + 1}")
        for place, node in enumerate(root.take("nodes", list))
    ]
    if not nodes:
        raise root.fault("expected at least one node, found none")
    variables: dict[str, Variable] = {}
    for node in nodes:
        _declare(node, variables)
    is_table = [_is_table(node, variables) for node in nodes]
    return assemble(
        name,
        variables,
        [_draft(node, variables) for node in compress(nodes, is_table)],
        others=[
            _regression(node, variables)
            for node, is_plain in zip(nodes, is_table, strict=True)
            if not is_plain
        ],
        source=root.take("source", str, is_optional=True),
        record=_record(Content.of(root.take("record", dict), name, "the record")),
        kept=TOLERANCE,  # what a table may be off by, so that everything that was saved comes back
    )


def write(net: Network) -> str:
    """A JSON text, one node a line."""
    head = {
        "format": FORMAT,
        "version": VERSION,
        "source": net.source,
        "record": _record_content(net.record),
    }
    lines = [f"{json.dumps(key)}: {_dumped(value)}" for key, value in head.items()]
    nodes = ",\n  ".join(_dumped(_node_content(local)) for local in net.distributions.values())
    return "{" + ",\n ".join([*lines, f'"nodes": [\n  {nodes}]']) + "}\n"


def loaded(text: str, file: str) -> Any:
    """What a JSON text holds."""

    def refuse(constant: str) -> NoReturn:
        raise fault(file, None, f"{constant} is not a number that can be read.")

    try:
        return json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as problem:
        raise fault(file, problem.lineno, f"not JSON: {problem.msg}.") from problem
    except RecursionError as problem:
        raise fault(file, None, "lists or objects nest too deeply.") from problem
    except InputError:
        raise
    except ValueError as problem:  # an integer of more digits than Python converts
        raise fault(file, None, "a number has too many digits.") from problem


def _declare(node: Content, variables: dict[str, Variable]) -> None:
    name = node.take("name", str)
    states = None if node.fields.get("states", ()) is None else tuple(node.texts("states"))
    ordered = node.take("ordered", bool)
    cuts = None if node.fields.get("cuts") is None else tuple(node.floats("cuts").tolist())
    if name in variables:
        raise node.fault(f"the node {name!r} is declared twice")
    try:
        variables[name] = Variable(name, states, ordered, cuts)
    except InputError as problem:
        raise node.fault(str(problem).rstrip(".")) from problem


def _is_table(node: Content, variables: dict[str, Variable]) -> bool:
    names = [node.take("name", str), *node.texts("parents")]
    return not any(name in variables and variables[name].is_continuous for name in names)


def _regression(node: Content, variables: dict[str, Variable]) -> LinearGaussian | Logistic:
    """The distribution of a continuous node, or of a discrete one with a continuous parent."""
    child = variables[node.take("name", str)]
    names = node.texts("parents")
    for name in names:
        if name not in variables:
            raise node.fault(f"unknown parent {name!r}; known: {_check.listed(variables)}")
    given = tuple(variables[name] for name in names)
    discrete, continuous = kinds(given)
    of_child = () if child.is_continuous else (child.n_states,)
    shape = (*(each.n_states for each in discrete), *of_child)
    intercept = node.array("intercept", shape)
    coefficients = node.array("coefficients", (*shape, len(continuous)))
    local: LinearGaussian | Logistic
    try:
        if child.is_continuous:
            sd = node.array("sd", shape)
            local = LinearGaussian(child, given, intercept, coefficients, sd)
        else:
            local = Logistic(child, given, intercept, coefficients)
    except ModelError as problem:
        raise node.fault(str(problem).rstrip(".")) from problem
    if node.fields.get("posterior") is None:
        return local
    content = Content.of(node.fields["posterior"], node.file, node.where)
    return replace(local, posterior=posterior_from(content, local.parameters.shape, type(local)))


def _draft(node: Content, variables: dict[str, Variable]) -> Draft:
    file = node.file
    family = family_of(variables, node.take("name", str), node.texts("parents"), file, line=None)
    if node.take("shape", list) != list(family.shape):
        found = shown(node.fields["shape"])
        raise node.fault(f"'shape' must be {list(family.shape)}, found {found}")
    rows = rows_of(node.floats("table"), family, file, None)
    posterior = None
    if node.fields.get("posterior") is not None:
        content = Content.of(node.fields["posterior"], file, node.where)
        posterior = posterior_from(content, family.shape, Categorical)
    return Draft(family, rows, lambda _: None, posterior)


def _record(content: Content) -> Record:
    return Record(
        method=content.take("method", str),
        n_rows=content.by_name("n_rows"),
        n_incomplete=content.by_name("n_incomplete"),
        unidentified={name: int(n) for name, n in content.by_name("unidentified").items()},
        pooling=_pooling(content.inner("pooling")),
        known={name: int(n) for name, n in content.by_name("known").items()}
        if "known" in content.fields
        else {},
        notes=tuple(content.texts("notes")),
    )


def _pooling(content: Content) -> dict[str, dict[str, float]]:
    return {name: content.by_name(name) for name in content.fields}


def _record_content(record: Record) -> dict[str, Any]:
    return {
        "method": record.method,
        "n_rows": {name: float(n) for name, n in record.n_rows.items()},
        "n_incomplete": {name: float(n) for name, n in record.n_incomplete.items()},
        "unidentified": {name: int(n) for name, n in record.unidentified.items()},
        "pooling": {name: dict(evidence) for name, evidence in record.pooling.items()},
        "known": {name: int(n) for name, n in record.known.items()},
        "notes": list(record.notes),
    }


def _node_content(local: Distribution) -> dict[str, Any]:
    child = local.child
    return {
        "name": child.name,
        "states": None if child.states is None else list(child.states),
        "ordered": child.ordered,
        "cuts": None if child.cuts is None else list(child.cuts),
        "parents": list(local.parents),
        **_arrays(local),
        "posterior": to_content(local),
    }


def _arrays(local: Distribution) -> dict[str, Any]:
    if isinstance(local, Categorical):
        return {"shape": list(local.table.shape), "table": local.table.ravel().tolist()}
    sd = {"sd": local.sd.ravel().tolist()} if isinstance(local, LinearGaussian) else {}
    return {
        "intercept": local.intercept.ravel().tolist(),
        "coefficients": local.coefficients.ravel().tolist(),
        **sd,
    }


def _dumped(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError as problem:
        raise ModelError("JSON cannot hold a number that is infinite or NaN.") from problem
