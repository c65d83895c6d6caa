from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import consilience as cs

NOUNS = """Variable Schema Table DAG CPDAG Network Factor Mixture MixedBelief Categorical
LinearGaussian Logistic Family Counts Moments Likelihood Soft Event ConsilienceError"""
VERBS = """average read scan store discretize count moments naive_bayes tan learn search score
node_scores compare_graphs shd confusion partial_correlations fit em draws intervals impute
latent_classes hidden_states influence fuse evaluate cross_evaluate entropy kl_divergence
log_probability most_probable expected_counts load save plot svg random_dag random_network
conflict explain information_value sensitivity differences explore report beside widget"""
CHOICES = """Quantiles Cuts BIC AIC BDeu BHD HillClimb GES Exact PC MLE Dirichlet HDS HDMJS HDMCS
HDC PerState Gamma Pooled Separate EM StructuralEM AvailableCases NaiveBayesClassifier TANClassifier
NetworkClassifier"""
NAMESPACES = (
    *("averaging", "causal", "classify", "data", "dynamic", "engines"),
    *("estimators", "files", "fusion"),
    *("gaps", "independence", "inference", "latent"),
    *("scores", "searches", "simulate", "sites"),
)
ELSEWHERE = {("inference", "Exact"), ("dynamic", "Known")}
"""The way to answer, where the flat name is the search; and known numbers, also of networks in
time."""


def printed(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_flat_names_are_nouns_verbs_and_everyday_choices():
    flat = {*NOUNS.split(), *VERBS.split(), *CHOICES.split()}
    assert dir(cs) == sorted({*flat, *NAMESPACES, "__version__"})
    assert cs.__all__ == dir(cs)


@pytest.mark.parametrize("name", cs.__all__)
def test_every_flat_name_resolves(name):
    assert getattr(cs, name) is not None


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_every_name_of_a_namespace_resolves_and_is_no_module_of_it(namespace):
    held = getattr(cs, namespace)
    assert dir(held) == held.__all__
    folder = Path(held.__file__).with_suffix("") if "__init__" not in held.__file__ else None
    modules = {path.stem for path in (folder or Path(held.__file__).parent).glob("*.py")}
    for name in held.__all__:
        assert getattr(held, name) is not None
        assert name not in modules or folder is not None


def test_a_flat_choice_is_the_same_object_in_its_namespace():
    for name in CHOICES.split():
        homes = [
            n for n in NAMESPACES if name in getattr(cs, n).__all__ and (n, name) not in ELSEWHERE
        ]
        assert len(homes) == 1
        assert getattr(getattr(cs, homes[0]), name) is getattr(cs, name)


def test_a_name_stands_in_one_namespace_only():
    held = [(n, name) for n in NAMESPACES for name in getattr(cs, n).__all__]
    names = [name for n, name in held if (n, name) not in ELSEWHERE]
    assert len(names) == len(set(names))


def test_a_public_name_is_public_in_the_module_that_defines_it():
    for space in (cs, *(getattr(cs, name) for name in NAMESPACES)):
        for name in space.__all__:
            value = getattr(space, name)
            if hasattr(value, "__module__") and not isinstance(value, str):
                assert name in import_module(value.__module__).__all__


@pytest.mark.parametrize("name", NAMESPACES)
def test_a_namespace_is_there_without_being_imported(name):
    assert (
        printed(f"import consilience as cs; print(cs.{name}.__name__)") == f"consilience.{name}\n"
    )


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'consilience' has no attribute 'nonsense'"):
        cs.nonsense  # noqa: B018
    with pytest.raises(AttributeError, match=r"'consilience.classify' has no attribute 'nonsense'"):
        cs.classify.nonsense  # noqa: B018


def test_namespaces_are_reached_without_a_heavy_or_optional_library():
    code = (
        "import sys, consilience as cs; cs.scores, cs.classify; before = 'numpy' in sys.modules;"
        "cs.classify.Calibrated(); cs.scores.BySource(cs.scores.BIC());"
        "print(before, {'sklearn', 'matplotlib'} & set(sys.modules))"
    )
    assert printed(code) == "False set()\n"


def test_importing_the_package_loads_no_heavy_library():
    code = (
        "import sys, consilience;"
        "print({'numpy', 'numba', 'scipy', 'pyarrow', 'pandas', 'polars'} & set(sys.modules))"
    )
    assert printed(code) == "set()\n"


def test_reading_and_fitting_loads_no_optional_library():
    # pandas is not on the list: pyarrow itself loads it where it is installed
    code = (
        "import sys, consilience as cs;"
        "table = cs.read({'x': ['a', 'b']}); cs.fit(cs.DAG(nodes=['x']), table).sample(3, seed=1);"
        "print({'polars', 'duckdb', 'matplotlib', 'sklearn'} & set(sys.modules))"
    )
    assert printed(code) == "set()\n"
