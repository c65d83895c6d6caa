from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import causal as study
import numpy as np
import pytest

import consilience as cs


@pytest.mark.parametrize("z", [None, "b"])
def test_every_refusal_on_three_nodes_has_a_witness_and_no_formula_has_one(z):
    for graph in study.all_graphs("abc"):
        found = cs.causal.identify(graph, "c", do="a", given=() if z is None else z)
        if found.is_identified:
            assert study.residual(graph, "c", "a", z, n_states=2, seed=1) < 1e-10
        else:
            assert study.witness(graph, "c", "a", z) > study.OUTSIDE


def test_refusals_on_four_nodes_have_a_witness():
    rng = np.random.default_rng(2)
    n = 0
    while n < 12:
        graph = study.drawn_graph("abcd", rng)
        if not cs.causal.identify(graph, "d", do="a").is_identified:
            n += 1
            assert study.witness(graph, "d", "a") > study.OUTSIDE


def test_a_peer_decides_alike():
    pytest.importorskip("pyagrum")
    script = Path(study.__file__)
    command = [sys.executable, str(script), "peer", "--graphs", "25", "--every", "8"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "three nodes: pyAgrum agrees on 25 of 25" in told
    assert "four nodes: pyAgrum agrees on 25 of 25" in told


def test_the_simulations_run():
    level, contrast = study.front_door_covers(20, 100, 1)
    assert min(level, contrast) > 0.5
    for is_equal in (False, True):
        assert min(study.gaps_cover(10, 1, is_equal=is_equal).values()) > 0.5
