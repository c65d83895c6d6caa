"""Families that are asked for before a climb comes to them."""

from __future__ import annotations

from collections import Counter

import pytest

import consilience as cs
from consilience.statistics.engines.memory import Memory
from consilience.structure.searches import climber


@pytest.fixture
def table():
    net = cs.random_network(cs.random_dag(9, n_arcs=14, seed=4), n_states=3, seed=4)
    return net.sample(2000, seed=1)


def searched(table, few, monkeypatch):
    asked = Counter()
    gather = Memory.gather
    monkeypatch.setattr(climber, "FEW_VALUES", few)
    with monkeypatch.context() as patch:
        patch.setattr(Memory, "gather", lambda self, one: (asked.update("x"), gather(self, one))[1])
        found = cs.search(table, score=cs.BIC(), search=cs.HillClimb(tabu=0, restarts=0))
    return found, asked.total()


def test_a_climb_over_few_rows_asks_less_often_and_finds_the_same(table, monkeypatch):
    ahead, few = searched(table, 1 << 17, monkeypatch)
    plain, many = searched(table, 0, monkeypatch)
    assert (ahead.dag, ahead.score) == (plain.dag, plain.score)
    assert few < 0.7 * many
