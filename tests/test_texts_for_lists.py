"""One text where a list of names is wanted: refused, or one name; its letters are never names."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.errors import ConsilienceError

STATES = {name: list("xy") for name in ("a", "b", "ab", "abc")}
ROWS = {name: list("xxyy") * 2 for name in STATES}
TABLE = cs.read(ROWS, states=STATES)
NUMBERS = cs.read({name: [1.0, 2.0, 4.0] for name in ("t", "e", "te")}, continuous=["t", "e", "te"])
NET = cs.fit(cs.DAG([("a", "b"), ("ab", "abc")]), TABLE)
BY_SOURCE = cs.fit(cs.DAG([("a", "b")]), cs.read({"f": ROWS, "g": ROWS}))
BELIEFS = np.array([[0.2, 0.8], [0.6, 0.4]])

REFUSED = {
    "moments": lambda: cs.moments(NUMBERS, "te"),
    "moments by": lambda: cs.moments(TABLE, [], by="ab"),
    "require": lambda: cs.learn(TABLE, require="ab"),
    "require one arc": lambda: cs.learn(TABLE, require=["ab"]),
    "forbid": lambda: cs.learn(TABLE, forbid="ab"),
    "tiers": lambda: cs.learn(TABLE, tiers="ab"),
    "tiers of texts": lambda: cs.learn(TABLE, tiers=["ab", "b"]),
    "order": lambda: cs.learn(TABLE, search=cs.searches.K2Search("ab")),
    "discrete": lambda: cs.read({"c": [1], "p": [1], "cp": [1]}, discrete="cp"),
    "continuous": lambda: cs.read({"c": [1], "p": [1], "cp": [1]}, continuous="cp"),
    "columns": lambda: cs.read(ROWS, columns="ab"),
    "missing": lambda: cs.read(ROWS, missing="xy"),
    "states": lambda: cs.read(ROWS, states={"a": "xy"}),
    "select": lambda: TABLE.select("ab"),
    "strata": lambda: cs.simulate.stratified_order(TABLE, by="ab"),
    "parents": lambda: cs.Family("abc", "ab"),
    "states of a variable": lambda: cs.Variable("a", "xy"),
    "nodes": lambda: cs.DAG(nodes="ab"),
    "arcs": lambda: cs.DAG(["ab"]),
    "arcs of a prior": lambda: cs.scores.ArcPrior({"ab": 0.5}),
    "tables of a prior": lambda: cs.Dirichlet(tables="ab"),
    "nodes of a random graph": lambda: cs.random_dag("ab"),
    "states evaluated": lambda: cs.evaluate(BELIEFS, [0, 1], states="xy"),
    "sources evaluated": lambda: cs.evaluate(
        BELIEFS, [0, 1], states=["x", "y"], sources="fg", source_codes=[0, 1]
    ),
    "sizes": lambda: cs.classify.LearningCurve(sizes="20"),
    "missing of a classifier": lambda: classifier(missing="xy"),
    "states of a classifier": lambda: classifier(states={"a": "xy"}),
    "cuts of a classifier": lambda: classifier(discretize="ab"),
    "states shown": lambda: cs.plot(BY_SOURCE, "sources", node="b", states="xy"),
    "nodes shown": lambda: cs.svg(NET.dag, highlight="ab"),
}

ONE_NAME = {
    "query": (lambda given: NET.query(given).names, ("abc",)),
    "map": (lambda given: tuple(NET.map(given).states), ("abc",)),
    "cost": (lambda given: NET.cost(given), NET.cost(["abc"])),
    "ancestors": (NET.dag.ancestors, {"ab"}),
    "separated": (lambda given: NET.dag.is_separated("ab", given), False),
}


def classifier(**options):
    return cs.NaiveBayesClassifier(**options).fit([["x"], ["y"]], [0, 1])


@pytest.mark.parametrize("door", sorted(REFUSED))
def test_a_text_is_refused_where_a_list_is_wanted(door):
    with pytest.raises(ConsilienceError, match=r"got (the text )?'|got shape|list of lists"):
        REFUSED[door]()


@pytest.mark.parametrize("door", sorted(ONE_NAME))
def test_a_text_is_one_name_where_one_will_do(door):
    ask, expected = ONE_NAME[door]
    assert ask("abc") == expected
