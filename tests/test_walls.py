"""Walls that import-linter does not hold: one-line methods of nouns, and who may import what."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import consilience

ROOT = Path(consilience.__file__).parent

SEEN = (
    "averaging/arc_beliefs.py",
    "averaging/graph_belief.py",
    "averaging/graph_chains.py",
    "averaging/source_multinets.py",
    "causal/adjustment.py",
    "causal/audits.py",
    "causal/effects.py",
    "causal/estimand.py",
    "causal/necessity.py",
    "causal/path_parts.py",
    "causal/response.py",
    "causal/what_if.py",
    "classify/evaluation.py",
    "classify/results.py",
    "data/describe.py",
    "data/table.py",
    "data/variable.py",
    "distributions/categorical.py",
    "distributions/linear_gaussian.py",
    "distributions/logistic.py",
    "fusion/fusion_record.py",
    "graph/admg.py",
    "graph/arc_comparison.py",
    "graph/cpdag.py",
    "graph/dag.py",
    "incomplete/assessment.py",
    "incomplete/augmentation.py",
    "incomplete/em.py",
    "incomplete/imputation.py",
    "incomplete/rubin.py",
    "incomplete/variational.py",
    "inference/explanations.py",
    "latent/influence_record.py",
    "latent/number_of_states.py",
    "network/factor.py",
    "network/mixed_belief.py",
    "network/mixture.py",
    "network/network.py",
    "network/record.py",
    "statistics/counts.py",
    "statistics/moments.py",
    "structure/searches/task.py",
)
"""The files of nouns and records that a notebook shows."""

ONE_LINE_METHODS = {
    **dict.fromkeys(SEEN, ("_repr_html_",)),
    "averaging/graph_belief.py": (
        "networks",
        "query",
        "posteriors",
        "log_likelihood",
        "_repr_html_",
    ),
    "distributions/categorical.py": ("__repr__", "_repr_html_"),
    "distributions/linear_gaussian.py": ("__repr__", "_repr_html_"),
    "distributions/logistic.py": ("__repr__", "_repr_html_"),
    "classify/results.py": ("__str__", "_repr_html_"),
    "data/table.py": ("missing", "distinct", "describe", "to_frame", "_repr_html_"),
    "network/network.py": (
        "query",
        "marginals",
        "mpe",
        "map",
        "probability",
        "log_likelihood",
        "posteriors",
        "sample",
        "do",
        "cost",
        "_repr_html_",
    ),
}
"""The methods of nouns that may call a verb of a later file or room."""

ONLY_IN = {
    "numba": {"kernels"},
    "pandas": {"data"},
    "polars": {"data"},
    "duckdb": {"data"},
    "narwhals": {"data"},
    "matplotlib": {"show"},
    "sklearn": {"classify"},
    "click": {"cli"},
}


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def methods(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for noun in tree.body:
        if isinstance(noun, ast.ClassDef):
            for part in noun.body:
                if isinstance(part, ast.FunctionDef):
                    yield part.name, part


def late_methods(file: str) -> list[tuple[str, ast.FunctionDef]]:
    """The methods of the nouns of a file that import inside their bodies."""
    return [
        (name, function)
        for name, function in methods(tree_of(ROOT / file))
        if any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(function))
    ]


def imported_packages(tree: ast.Module) -> set[str]:
    """Packages that a module imports when it runs, wherever the import stands."""
    names = set()
    for node in ast.walk(Running().visit(tree)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


class Running(ast.NodeTransformer):
    """Leaves out what only type checkers see."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        is_for_types = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if is_for_types else self.generic_visit(node)


@pytest.mark.parametrize("file", sorted(ONE_LINE_METHODS))
def test_nouns_import_late_only_in_the_methods_on_the_list(file):
    assert {name for name, _ in late_methods(file)} <= set(ONE_LINE_METHODS[file])


@pytest.mark.parametrize("file", sorted(ONE_LINE_METHODS))
def test_a_method_that_imports_late_is_one_import_and_one_return(file):
    for name, function in late_methods(file):
        statements = [type(node) for node in function.body if not isinstance(node, ast.Expr)]
        assert statements == [ast.ImportFrom, ast.Return], name


@cache
def rooms_that_import() -> dict[str, set[str]]:
    """For each package the rooms that import it."""
    rooms: dict[str, set[str]] = {}
    for path in ROOT.rglob("*.py"):
        for package in imported_packages(tree_of(path)):
            rooms.setdefault(package, set()).add(path.relative_to(ROOT).parts[0])
    return rooms


@pytest.mark.parametrize("package", sorted(ONLY_IN))
def test_a_library_is_imported_in_its_rooms_only(package):
    assert rooms_that_import().get(package, set()) <= ONLY_IN[package]


def test_private_names_stay_in_their_module():
    imported = {
        f"{path.relative_to(ROOT)}: {alias.name}"
        for path in ROOT.rglob("*.py")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom) and node.module != ROOT.name
        for alias in node.names
        if alias.name.startswith("_")
    }
    assert imported == set()


REPEATING = {"kernels", "show", "cli"}
"""Rooms whose files may be called as what they compute, draw or ask for is called elsewhere."""

BY_ROOM = {"dirichlet.py", "gaussian.py", "logistic.py", "normal_inverse_gamma.py"}
"""Files of one subject in several rooms: the room says what of it they hold."""


def test_a_file_name_stands_in_one_room():
    rooms: dict[str, set[str]] = {}
    for path in ROOT.rglob("*.py"):
        room, *_ = path.relative_to(ROOT).parts
        if room not in REPEATING and path.name not in BY_ROOM | {"__init__.py"}:
            rooms.setdefault(path.name, set()).add(room)
    assert {name: found for name, found in rooms.items() if len(found) > 1} == {}
