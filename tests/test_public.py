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
    assert dir(consilience) == sorted(consilience.__all__)


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
