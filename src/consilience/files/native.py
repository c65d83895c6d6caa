"""The library's own format: JSON with everything that a network knows.

::

    {"format": "consilience network", "version": 1,
     "source": "hospital",
     "record": {"method": "...", "n_rows": {}, "n_incomplete": {}, "unidentified": {},
                "pooling": {}, "notes": []},
     "nodes": [
      {"name": "xray", "states": ["yes", "no"], "ordered": false, "cuts": null,
       "parents": ["either"], "shape": [2, 2], "table": [0.98, 0.02, 0.05, 0.95],
       "posterior": {"kind": "dirichlet", "concentration": [98.0, 2.0, 5.0, 95.0]}}]}

Arrays are flat lists in the order of a table (first parent slowest, the child fastest) beside their
shape. Numbers have all their digits; NaN and infinities are refused. ``docs/formats.md`` describes
every field.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.data.variable import Variable
from consilience.distributions.categorical import TOLERANCE, Categorical, Posterior
from consilience.distributions.dirichlet import DirichletPosterior
from consilience.errors import FormatError, InputError, ModelError
from consilience.files.draft import Draft, assemble, family_of, fault, rows_of
from consilience.network.network import Network
from consilience.network.record import Record
from consilience.parameters.hierarchical import VIEWS, HierarchicalPosterior
from consilience.parameters.hierarchy import solve
from consilience.parameters.strength import Gamma, PerState, Strength, check_strength

__all__ = ["parse", "write"]

T = TypeVar("T")

FORMAT = "consilience network"
VERSION = 1


def parse(text: str, name: str) -> Network:
    """The network of a JSON text; ``name`` is the file that errors speak of."""
    root = _Object.of(_loaded(text, name), name, "the file")
    if root.take("format", str) != FORMAT:
        raise root.fault(f"'format' must be {FORMAT!r}, got {root.take('format', str)!r}")
    if (version := root.take("version", int)) != VERSION:
        raise root.fault(f"version {version} cannot be read; version {VERSION} can")
    nodes = [
        _Object.of(node, name, f"node {place + 1}")
        for place, node in enumerate(root.take("nodes", list))
    ]
    if not nodes:
        raise root.fault("expected at least one node, found none")
    variables: dict[str, Variable] = {}
    for node in nodes:
        _declare(node, variables)
    return assemble(
        name,
        variables,
        [_draft(node, variables) for node in nodes],
        source=root.take("source", str, is_optional=True),
        record=_record(_Object.of(root.take("record", dict), name, "the record")),
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


@dataclass(frozen=True, slots=True)
class _Object:
    """A JSON object with the place it has in the file, for errors."""

    content: dict[str, Any]
    file: str
    where: str

    @classmethod
    def of(cls, content: Any, file: str, where: str) -> _Object:
        if not isinstance(content, dict):
            raise fault(file, None, f"{where}: expected an object, found {_shown(content)}.")
        return cls(content, file, where)

    def fault(self, text: str) -> FormatError:
        return fault(self.file, None, f"{self.where}: {text}.")

    def take(self, key: str, kind: type[T], *, is_optional: bool = False) -> Any:
        value = self.content.get(key)
        if value is None and is_optional:
            return None
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.fault(f"{key!r} must be of type {kind.__name__}, found {_shown(value)}")
        return value

    def texts(self, key: str) -> list[str]:
        values: list[Any] = self.take(key, list)
        if not all(isinstance(value, str) for value in values):
            raise self.fault(f"{key!r} must be a list of texts")
        return values

    def floats(self, key: str) -> Floats:
        values: list[Any] = self.take(key, list)
        if not set(map(type, values)) <= {float, int}:
            raise self.fault(f"{key!r} must be a list of numbers")
        try:
            array = np.array(values, dtype=np.float64)
        except OverflowError:
            array = np.array([np.inf])
        if not np.isfinite(array).all():
            raise self.fault(f"{key!r} holds a number that is too large")
        return array

    def by_node(self, key: str) -> dict[str, float]:
        values: dict[str, Any] = self.take(key, dict)
        content = _Object({key: list(values.values())}, self.file, self.where)
        return dict(zip(values, content.floats(key).tolist(), strict=True))


def _loaded(text: str, file: str) -> Any:
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


def _declare(node: _Object, variables: dict[str, Variable]) -> None:
    name = node.take("name", str)
    states = tuple(node.texts("states"))
    ordered = node.take("ordered", bool)
    cuts = None if node.content.get("cuts") is None else tuple(node.floats("cuts").tolist())
    if name in variables:
        raise node.fault(f"the node {name!r} is declared twice")
    try:
        variables[name] = Variable(name, states, ordered, cuts)
    except InputError as problem:
        raise node.fault(str(problem).rstrip(".")) from problem


def _draft(node: _Object, variables: dict[str, Variable]) -> Draft:
    file = node.file
    family = family_of(variables, node.take("name", str), node.texts("parents"), file, None)
    if node.take("shape", list) != list(family.shape):
        found = _shown(node.content["shape"])
        raise node.fault(f"'shape' must be {list(family.shape)}, found {found}")
    rows = rows_of(node.floats("table"), family, file, None)
    posterior = None
    if node.content.get("posterior") is not None:
        content = _Object.of(node.content["posterior"], file, node.where)
        posterior = _posterior(content, family.shape)
    return Draft(family, rows, lambda _: None, posterior)


def _posterior(content: _Object, shape: tuple[int, ...]) -> Posterior:
    kind = content.take("kind", str)
    if kind not in POSTERIORS:
        known = _check.listed(POSTERIORS)
        raise content.fault(f"unknown kind of posterior {kind!r}; known: {known}")
    try:
        return POSTERIORS[kind].build(content, shape)
    except InputError as problem:
        raise content.fault(str(problem).rstrip(".")) from problem


def _dirichlet(content: _Object, shape: tuple[int, ...]) -> DirichletPosterior:
    return DirichletPosterior(_shaped(content, "concentration", shape))


def _dirichlet_content(posterior: DirichletPosterior) -> dict[str, Any]:
    return {"concentration": posterior.concentration.ravel().tolist()}


def _hierarchical(content: _Object, shape: tuple[int, ...]) -> HierarchicalPosterior:
    view = content.take("view", str)
    if view not in VIEWS:
        raise content.fault(f"unknown 'view' {view!r}; known: {_check.listed(VIEWS)}")
    sizes = content.floats("counts_shape")
    if len(sizes) != 3 or np.any(sizes < 1) or np.prod(sizes) != np.prod(shape):
        raise content.fault("'counts_shape' must be three sizes that multiply to the table's")
    counts = _shaped(content, "counts", tuple(sizes.astype(int)))
    alpha0 = content.take("alpha0", float)
    if np.any(counts < 0) or not alpha0 > 0:
        raise content.fault("'counts' must be zero or more and 'alpha0' positive")
    return HierarchicalPosterior(view, solve(counts, _strength(content), alpha0), shape)


def _hierarchical_content(posterior: HierarchicalPosterior) -> dict[str, Any]:
    hierarchy = posterior.hierarchy
    return {
        "view": posterior.view,
        "counts_shape": list(hierarchy.counts.shape),
        "counts": hierarchy.counts.ravel().tolist(),
        "alpha0": float(hierarchy.alpha0),
        "strength": _strength_content(hierarchy.strength),
    }


def _strength(content: _Object) -> Strength:
    said = _Object.of(content.take("strength", dict), content.file, content.where)
    kinds = [kind for kind in STRENGTHS if kind in said.content]
    if len(kinds) != 1 or len(numbers := said.floats(kinds[0])) != STRENGTHS[kinds[0]]:
        raise content.fault(
            '\'strength\' must be one of {"s": [x]}, {"per_state": [x]}, {"gamma": [x, y]}'
        )
    values = [float(number) for number in numbers]
    if kinds[0] == "s":
        check_strength("strength", values[0])
        return values[0]
    return PerState(*values) if kinds[0] == "per_state" else Gamma(*values)


def _strength_content(strength: Strength) -> dict[str, list[float]]:
    if isinstance(strength, PerState):
        return {"per_state": [float(strength.weight)]}
    if isinstance(strength, Gamma):
        return {"gamma": [float(strength.shape), float(strength.rate)]}
    return {"s": [float(strength)]}


def _shaped(content: _Object, name: str, shape: tuple[int, ...]) -> Floats:
    array = content.floats(name)
    if array.size != np.prod(shape):
        raise content.fault(f"{name!r} needs {np.prod(shape)} numbers, found {array.size}")
    return array.reshape(shape)


@dataclass(frozen=True, slots=True)
class _Kind:
    """How one kind of posterior comes from content and becomes content."""

    type: type
    build: Callable[[_Object, tuple[int, ...]], Posterior]
    content: Callable[[Any], dict[str, Any]]


POSTERIORS: Mapping[str, _Kind] = {
    "dirichlet": _Kind(DirichletPosterior, _dirichlet, _dirichlet_content),
    "hierarchical": _Kind(HierarchicalPosterior, _hierarchical, _hierarchical_content),
}

STRENGTHS = {"s": 1, "per_state": 1, "gamma": 2}
"""Ways to say a strength, and how many numbers each needs."""


def _record(content: _Object) -> Record:
    return Record(
        method=content.take("method", str),
        n_rows=content.by_node("n_rows"),
        n_incomplete=content.by_node("n_incomplete"),
        unidentified={name: int(n) for name, n in content.by_node("unidentified").items()},
        pooling=_pooling(_Object.of(content.take("pooling", dict), content.file, content.where)),
        notes=tuple(content.texts("notes")),
    )


def _pooling(content: _Object) -> dict[str, dict[str, float]]:
    return {name: content.by_node(name) for name in content.content}


def _record_content(record: Record) -> dict[str, Any]:
    return {
        "method": record.method,
        "n_rows": {name: float(n) for name, n in record.n_rows.items()},
        "n_incomplete": {name: float(n) for name, n in record.n_incomplete.items()},
        "unidentified": {name: int(n) for name, n in record.unidentified.items()},
        "pooling": {name: dict(evidence) for name, evidence in record.pooling.items()},
        "notes": list(record.notes),
    }


def _node_content(local: Categorical) -> dict[str, Any]:
    child = local.child
    return {
        "name": child.name,
        "states": list(child.discrete_states),
        "ordered": child.ordered,
        "cuts": None if child.cuts is None else list(child.cuts),
        "parents": list(local.parents),
        "shape": list(local.table.shape),
        "table": local.table.ravel().tolist(),
        "posterior": None if local.posterior is None else _posterior_content(local),
    }


def _posterior_content(local: Categorical) -> dict[str, Any]:
    for name, kind in POSTERIORS.items():
        if type(local.posterior) is kind.type:
            return {"kind": name, **kind.content(local.posterior)}
    raise ModelError(
        f"the posterior of {local.child.name!r} is a {type(local.posterior).__name__}, which JSON "
        f"cannot hold; known: {_check.listed(POSTERIORS)}.",
        variable=local.child.name,
    )


def _dumped(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError as problem:
        raise ModelError("JSON cannot hold a number that is infinite or NaN.") from problem


def _shown(value: Any) -> str:
    kinds = {type(None): "nothing", dict: "an object", list: "a list"}
    return kinds.get(type(value)) or repr(str(value)[:40])
