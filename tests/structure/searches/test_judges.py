"""The judges of families: each answers the same in every way it can be asked."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.errors import DataError
from consilience.statistics.engines import Memory
from consilience.structure.family_scores import strata_of
from consilience.structure.searches.judge import Grounds
from consilience.structure.searches.judges import Judges
from consilience.structure.searches.logistic_judge import LogisticJudge
from consilience.structure.searches.regression_judge import RegressionJudge
from consilience.structure.searches.table_judge import TableJudge

NAMES = ("a", "b", "c", "x", "y")


def judges(memory_limit=1e9):
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 3, 200), rng.integers(0, 2, 200)
    x = a + rng.normal(size=200)
    y = x * b + rng.normal(size=200)
    c = x + rng.normal(size=200) > 0
    columns = {"a": a.astype(str), "b": b.astype(str), "c": c.astype(str), "x": x, "y": y}
    engine = Memory(cs.read(columns, discrete=["a", "b", "c"]))
    grounds = Grounds(engine, strata_of(engine, NAMES, 1e9), cs.BIC(), NAMES, memory_limit)
    return Judges(grounds, [0b00110, 0b00101, 0b11011, 0b10111, 0b01111])


def test_a_child_has_the_judge_of_its_kind_and_of_the_parents_that_it_may_have():
    kinds = [type(judge) for judge in judges().of]
    assert kinds == [TableJudge, TableJudge, LogisticJudge, RegressionJudge, RegressionJudge]


@pytest.mark.parametrize(("child", "parents"), [(0, 0b00010), (2, 0b01010), (4, 0b01010)], ids=str)
def test_neighbors_prepared_or_not_and_sets_are_scored_as_the_single_families(child, parents):
    judge = judges().of[child]
    others = [i for i in (0, 2) if i != child]
    changed = [i for i in range(5) if parents >> i & 1] + others
    keys = [(child, parents), *((child, parents ^ 1 << i) for i in changed)]
    alone = judge.several(keys)
    values = judge.neighbors(child, parents, others)
    np.testing.assert_allclose(values[[child, *changed]], alone, rtol=1e-12)
    assert np.isneginf(np.delete(values, [child, *changed])).all()
    for prepared in judge.prepare([(child, parents, others)]).values():
        np.testing.assert_allclose(prepared, values, rtol=1e-12)
    sets = np.concatenate(list(judge.scored_sets(child, others)(np.arange(2))))
    np.testing.assert_allclose(sets, judge.several([(child, 0), (child, 1 << others[0])]))


def test_families_beyond_the_memory_limit_have_no_score_and_an_error_that_says_so():
    some = judges(memory_limit=90)
    assert some.several([(0, 0b00000), (0, 0b00110)])[0, 0b00110] == -np.inf
    assert some.left_out()["would have exceeded the memory limit"] == {(0, 0b00110)}
    assert "the counts of 'a' given 'b', 'c' exceed" in str(some.of[0].error(0, 0b00110))


def test_the_score_of_a_graph_names_exactly_the_columns_with_gaps():
    table = cs.read({"a": ["0", None, "1"], "b": ["0", "1", "1"]})
    with pytest.raises(DataError, match=r"1 rows have no value of 'a' \(gaps in 'a'\)"):
        cs.score(cs.DAG([("a", "b")]), table, cs.BIC())
