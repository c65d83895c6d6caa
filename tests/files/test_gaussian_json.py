from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import consilience as cs
from consilience.errors import FormatError

CPDS = {
    "a": {"parents": [], "coefficients": {"(Intercept)": [0.5]}, "variance": [2.25]},
    "b": {
        "parents": ["a"],
        "coefficients": {"(Intercept)": [1.0], "a": [0.25]},
        "variance": [0.09],
    },
}
FILE = {"nodes": ["b", "a"], "arcs": [["a", "b"]], "cpds": CPDS}


def loaded(folder, content):
    path = folder / "net.json"
    path.write_text(json.dumps(content))
    return cs.load(path)


def test_a_linear_gaussian_network_of_the_repository_is_read(tmp_path):
    net = loaded(tmp_path, FILE)
    assert net.dag == cs.DAG([("a", "b")])
    assert net.dag.nodes == ("b", "a")
    np.testing.assert_allclose(net["b"].parameters, [1.0, 0.25, 0.3])
    np.testing.assert_allclose(net["a"].parameters, [0.5, 1.5])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"nodes": ["a", "a"]}, "each once"),
        ({"nodes": ["a"]}, "'b' in 'cpds' is not one of the nodes"),
        ({"cpds": {"a": CPDS["a"]}}, "'b' must be of type dict"),
        ({"cpds": {**CPDS, "a": {**CPDS["a"], "parents": ["z"]}}}, "node 'a': the parent 'z'"),
        ({"cpds": {**CPDS, "b": {**CPDS["b"], "parents": []}}}, "node 'b': 'coefficients' must"),
        ({"cpds": {**CPDS, "a": {**CPDS["a"], "variance": [-1]}}}, "zero or more, found -1"),
        ({"cpds": {**CPDS, "a": {**CPDS["a"], "variance": [1, 2]}}}, "needs 1 numbers, found 2"),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path, change, words):
    with pytest.raises(FormatError, match=words):
        loaded(tmp_path, {**FILE, **change})


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "n_arcs", "size"), [("ecoli70", 70, 162), ("magic-niab", 66, 154)]
)
def test_files_of_the_repository_have_their_published_size(name, n_arcs, size):
    folder = os.environ.get("CONSILIENCE_DATA")
    if not folder:
        pytest.skip("CONSILIENCE_DATA is not set")
    net = cs.load(Path(folder) / "networks" / f"{name}.json")
    assert (len(net.dag.arcs), net.n_parameters) == (n_arcs, size)
