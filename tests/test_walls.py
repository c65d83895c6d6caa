"""Walls that import-linter does not hold: one-line methods of nouns, and who may import what."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import consilience

ROOT = Path(consilience.__file__).parent

SEEN = (
    "answers/answer_intervals.py",
    "answers/difference_parts.py",
    "answers/findings.py",
    "answers/next_questions.py",
    "answers/row_distances.py",
    "answers/sensitivities.py",
    "answers/source_differences.py",
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
    "dynamic/beliefs_in_time.py",
    "dynamic/chain_states.py",
    "dynamic/change_point_beliefs.py",
    "dynamic/dynamic_network.py",
    "dynamic/forecasting.py",
    "dynamic/graph_search.py",
    "dynamic/influence_in_time.py",
    "dynamic/most_probable_paths.py",
    "dynamic/panel.py",
    "dynamic/var_matrices.py",
    "fusion/fusion_record.py",
    "fusion/source_clusters.py",
    "graph/admg.py",
    "graph/arc_comparison.py",
    "graph/cpdag.py",
    "graph/dag.py",
    "graph/independence_models.py",
    "incomplete/assessment.py",
    "incomplete/augmentation.py",
    "incomplete/em.py",
    "incomplete/imputation.py",
    "incomplete/rubin.py",
    "incomplete/variational.py",
    "inference/event.py",
    "inference/event_beliefs.py",
    "inference/explanations.py",
    "inference/precision_matrix.py",
    "latent/influence_record.py",
    "latent/number_of_states.py",
    "network/factor.py",
    "network/mixed_belief.py",
    "network/mixture.py",
    "network/network.py",
    "network/record.py",
    "sites/confusion.py",
    "sites/study_record.py",
    "statistics/counts.py",
    "statistics/engines/scans.py",
    "statistics/moments.py",
    "structure/independence/statements.py",
    "structure/searches/constraint_record.py",
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
    "causal/audits.py": ("to_html", "_repr_html_"),
    "distributions/categorical.py": ("__repr__", "_repr_html_"),
    "distributions/linear_gaussian.py": ("__repr__", "_repr_html_"),
    "distributions/logistic.py": ("__repr__", "_repr_html_"),
    "classify/results.py": ("__str__", "_repr_html_"),
    "data/table.py": ("missing", "notes", "distinct", "describe", "to_frame", "_repr_html_"),
    "dynamic/dynamic_network.py": (
        "n_parameters",
        "filter",
        "smooth",
        "forecast",
        "mpe",
        "log_likelihood",
        "sample",
        "unroll",
        "describe",
        "_repr_html_",
    ),
    "dynamic/panel.py": ("lagged", "take", "before", "standardized", "to_frame", "_repr_html_"),
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
        "describe",
        "_repr_html_",
    ),
}
"""The methods of nouns that may call a verb of a later file or room."""

ONLY_IN = {
    "numba": {"kernels"},
    "pandas": {"data"},
    "polars": {"data"},
    "duckdb": set(),
    "ibis": set(),
    "dask": {"statistics"},
    "distributed": {"statistics"},
    "pyspark": {"statistics"},
    "narwhals": {"data"},
    "matplotlib": {"show"},
    "sklearn": {"classify"},
    "click": {"cli"},
    "cryptography": {"sites"},
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


class Imports(ast.NodeVisitor):
    """The imports of a module, wherever they stand, but for those that only type checkers see."""

    def __init__(self) -> None:
        self.running: list[ast.Import | ast.ImportFrom] = []
        self.for_types: list[ast.Import | ast.ImportFrom] = []
        self._found = self.running

    def visit_If(self, node: ast.If) -> None:
        before = self._found
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            self._found = self.for_types
        self.generic_visit(node)
        self._found = before

    def visit_Import(self, node: ast.Import) -> None:
        self._found.append(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self._found.append(node)

    def generic_visit(self, node: ast.AST) -> None:
        if not isinstance(node, ast.expr):  # which holds no imports
            super().generic_visit(node)


@cache
def imports() -> dict[Path, Imports]:
    """Those of every file of the package."""
    found = {path: Imports() for path in ROOT.rglob("*.py")}
    for path, each in found.items():
        each.visit(tree_of(path))
    return found


def packages(node: ast.Import | ast.ImportFrom) -> set[str]:
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module]
    return {name.split(".")[0] for name in names if name}


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
    for path, found in imports().items():
        for package in set().union(*map(packages, found.running)):
            rooms.setdefault(package, set()).add(path.relative_to(ROOT).parts[0])
    return rooms


@pytest.mark.parametrize("package", sorted(ONLY_IN))
def test_a_library_is_imported_in_its_rooms_only(package):
    assert rooms_that_import().get(package, set()) <= ONLY_IN[package]


def test_no_learner_imports_an_engine():
    """Learners ask for statistics; where the rows are is not their business, but in memory."""
    found = {
        f"{path.relative_to(ROOT)}: {node.module}"
        for path, seen in imports().items()
        for node in (*seen.running, *seen.for_types)
        if isinstance(node, ast.ImportFrom)
        and str(node.module).startswith("consilience.statistics.engines.")
        and node.module.rpartition(".")[2] not in ("memory", "spread")
        and path.relative_to(ROOT).parts[0] not in ("statistics", "show", "cli")
    }
    assert found == set()


@pytest.mark.parametrize("package", ["dask", "distributed", "pyspark", "py4j"])
def test_a_cluster_is_imported_in_its_adapter_only(package):
    files = {
        path.name
        for path in (ROOT / "statistics" / "engines").glob("*.py")
        if re.search(rf"(import|from|extra\() ?\"?{package}", path.read_text(encoding="utf-8"))
    }
    assert files <= {"dask_runner.py", "spark_runner.py"}


def test_private_names_stay_in_their_module():
    imported = {
        f"{path.relative_to(ROOT)}: {alias.name}"
        for path, found in imports().items()
        for node in (*found.running, *found.for_types)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(f"{ROOT.name}.")
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


FACES = {"consilience.demo", "consilience.kernels.watching"}
"""Beside the public names, what the command line may call: the example that comes with them, and
who says that loops are compiled.
"""


def files_of_the_command_line() -> list[Path]:
    return sorted((ROOT / "cli").glob("*.py"))


def imported_names(path: Path) -> Iterator[tuple[str, str | None]]:
    """Modules that a file imports when it runs, and the names from them."""
    for node in imports()[path].running:
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)


@pytest.mark.parametrize("path", files_of_the_command_line(), ids=lambda path: path.name)
def test_the_command_line_imports_public_names_only(path):
    for module, name in imported_names(path):
        if module.split(".")[0] != ROOT.name or module.startswith("consilience.cli"):
            continue
        if name is None:
            assert module == ROOT.name
        elif module in FACES:
            assert name in import_module(module).__all__
        else:
            assert (module, name) in {(ROOT.name, public) for public in consilience.__all__}


@pytest.mark.parametrize("path", files_of_the_command_line(), ids=lambda path: path.name)
def test_the_command_line_uses_public_names_only(path):
    for node in ast.walk(tree_of(path)):
        if not isinstance(node, ast.Attribute):
            continue
        *inner, name = ast.unparse(node).split(".")
        if inner == ["cs"]:
            assert name in consilience.__all__
        elif len(inner) == 2 and inner[0] == "cs" and inner[1] in consilience.__all__:
            space = getattr(consilience, inner[1])
            assert not isinstance(space, ModuleType) or name in space.__all__
