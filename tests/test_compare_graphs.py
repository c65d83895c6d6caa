from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import consilience as cs
from consilience.errors import InputError

COLLIDER = cs.DAG.parse("[x][y][z|x:y]")


@pytest.fixture(scope="module")
def table() -> cs.Table:
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 2, (2, 200))
    z = np.where(rng.random(200) < 0.9, x | y, 1 - (x | y))
    return cs.read(
        {name: list(map(str, column)) for name, column in zip("xyz", (x, y, z), strict=True)}
    )


def test_without_rows_there_are_no_scores():
    assert cs.compare_graphs(COLLIDER, COLLIDER).scores is None
    with pytest.raises(InputError, match="a score needs rows: table="):
        cs.compare_graphs(COLLIDER, COLLIDER, score=cs.BIC())


@pytest.mark.parametrize("score", [cs.BIC(), cs.BDeu(ess=5), cs.scores.K2()])
def test_totals_are_the_scores_and_their_difference_is_the_sum_over_families(table, score):
    other = cs.DAG.parse("[z][x|z][y]")
    found = cs.compare_graphs(COLLIDER, other, table=table, score=score).scores
    assert found.learned == pytest.approx(cs.score(COLLIDER, table, score), rel=1e-12)
    assert found.other == pytest.approx(cs.score(other, table, score), rel=1e-12)
    assert found.difference == pytest.approx(found.learned - found.other, rel=1e-9)
    assert found.method == repr(score)


def test_families_that_differ_come_by_size_and_equal_ones_not_at_all(table):
    other = cs.DAG.parse("[x][y|x][z|x]")
    found = cs.compare_graphs(COLLIDER, other, table=table).scores
    assert [family.node for family in found.families] == ["z", "y"]
    sizes = [abs(family.difference) for family in found.families]
    assert sizes == sorted(sizes, reverse=True)
    assert (found.families[0].learned_parents, found.families[0].other_parents) == (
        ("x", "y"),
        ("x",),
    )
    assert found.families[0].difference > 0


def test_parents_in_another_order_are_no_difference(table):
    found = cs.compare_graphs(COLLIDER, cs.DAG.parse("[x][y][z|y:x]"), table=table).scores
    assert found.families == ()
    assert found.difference == 0.0


def test_the_default_score_is_bic(table):
    found = cs.compare_graphs(COLLIDER, COLLIDER, table=table)
    assert found.scores.learned == cs.score(COLLIDER, table, cs.BIC())


def test_in_equivalent_graphs_the_differences_cancel(table):
    chain, fork = cs.DAG.parse("[x][z|x][y|z]"), cs.DAG.parse("[z][x|z][y|z]")
    found = cs.compare_graphs(chain, fork, table=table).scores
    assert len(found.families) == 2
    assert found.difference == pytest.approx(0.0, abs=1e-9)


def test_printed_the_report_ends_with_the_families(table):
    text = str(cs.compare_graphs(COLLIDER, cs.DAG.parse("[x][y][z|x]"), table=table))
    assert "\n\nscore                BIC()\nlearned              -" in text
    last = text.splitlines()[-1]
    assert last.endswith("z: x, y / x")
    assert last.lstrip().startswith("+")


def test_many_families_are_cut_in_print_only():
    names = [f"n{i}" for i in range(30)]
    rows = cs.read({name: ["a", "b", "b"] for name in names})
    chain = cs.DAG(pairwise(names))
    found = cs.compare_graphs(chain, cs.DAG(nodes=names), table=rows)
    assert len(found.scores.families) == 29
    assert str(found).endswith("...  and 9 more")
