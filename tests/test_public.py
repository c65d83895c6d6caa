from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import consilience

TREE = ast.parse(Path(consilience.__file__).read_text(encoding="utf-8"))


def imported_for_types() -> dict[str, str]:
    """Names that type checkers see, with the module each comes from."""
    (block,) = [node for node in TREE.body if isinstance(node, ast.If)]
    return {
        alias.name: (node.module or "").removeprefix("consilience.")
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@pytest.mark.parametrize("name", consilience.__all__)
def test_every_public_name_resolves(name):
    assert getattr(consilience, name) is not None


def test_lazy_names_and_names_for_type_checkers_are_the_public_names():
    public = set(consilience.__all__) - {"__version__"}
    assert set(consilience._HOME) == public
    assert imported_for_types() == consilience._HOME


@pytest.mark.parametrize("name", sorted(consilience._HOME))
def test_a_public_name_is_public_in_its_home(name):
    home = importlib.import_module(f"consilience.{consilience._HOME[name]}")
    assert name in home.__all__


@pytest.mark.parametrize("name", consilience._NAMESPACES)
def test_a_namespace_is_there_without_being_imported(name):
    code = f"import consilience as cs; print(cs.{name}.__name__)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == f"consilience.{name}\n"


def test_dir_lists_the_public_names():
    assert dir(consilience) == sorted((*consilience.__all__, *consilience._NAMESPACES))


@pytest.mark.parametrize("namespace", consilience._NAMESPACES)
def test_a_namespace_holds_the_public_names_of_its_field(namespace):
    held = getattr(consilience, namespace)
    assert set(held.__all__) <= set(dir(held))
    for name in held.__all__:
        # cs.Exact is the search; the way to answer is cs.inference.Exact.
        if name in consilience.__all__ and (namespace, name) != ("inference", "Exact"):
            assert getattr(held, name) is getattr(consilience, name)
        else:
            assert getattr(held, name) is not None


def test_every_score_and_everything_of_classifiers_is_in_its_namespace():
    homes = {"structure.scores.": "scores", "classify.": "classify"}
    for name, home in consilience._HOME.items():
        for room, namespace in homes.items():
            if home.startswith(room):
                assert name in getattr(consilience, namespace).__all__
    with pytest.raises(AttributeError, match=r"'consilience.classify' has no attribute 'nonsense'"):
        consilience.classify.nonsense  # noqa: B018


def test_namespaces_are_reached_without_a_heavy_or_optional_library():
    code = (
        "import sys, consilience as cs; before = 'numpy' in sys.modules;"
        "cs.classify.Calibrated(); cs.scores.BySource(cs.scores.BIC());"
        "print(before, {'sklearn', 'matplotlib'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "False set()\n"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        consilience.nonsense  # noqa: B018


def test_importing_the_package_loads_no_heavy_library():
    code = (
        "import sys, consilience;"
        "print({'numpy', 'numba', 'scipy', 'pyarrow', 'pandas', 'polars'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "set()\n"


def test_reading_and_fitting_loads_no_optional_library():
    # pandas is not on the list: pyarrow itself loads it where it is installed
    code = (
        "import sys, consilience as cs;"
        "table = cs.read({'x': ['a', 'b']}); cs.fit(cs.DAG(nodes=['x']), table).sample(3, seed=1);"
        "print({'polars', 'duckdb', 'matplotlib', 'sklearn'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "set()\n"
