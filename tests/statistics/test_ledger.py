"""Every part of the rows counts once, and what does not come back is named."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from scan_data import hospitals, in_parts

import consilience as cs
from consilience.errors import DataError, WorkerError
from consilience.statistics.engines.ledger import Returned, collected, schema_hash

EXPECTED = {"first": 2, "second": None, "third": 1}


def _answers():
    rows = {"first": 2, "second": 5, "third": 1}
    return [Returned(frozenset({part}), n, "hash", n) for part, n in rows.items()]


def test_answers_are_merged_in_the_order_of_the_parts():
    answers = [Returned(one.ids, one.n_rows, "hash", [*one.ids]) for one in _answers()]
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        found = collected([answers[k] for k in order], EXPECTED, "hash", operator.add)
        assert found.answer == ["first", "second", "third"]
        assert found.n_rows == 8


def test_a_part_that_comes_back_twice_is_refused_a_thousand_times():
    rng = np.random.default_rng(1)
    for _ in range(1000):
        answers = _answers()
        again = answers[int(rng.integers(3))]
        answers.insert(int(rng.integers(1, 4)), again)
        with pytest.raises(DataError, match=f"the part '{next(iter(again.ids))}' came back twice"):
            collected(answers, EXPECTED, "hash", operator.add)
        with pytest.raises(DataError, match="came back twice"):
            again.merge(again, operator.add)


def test_a_lost_part_is_named():
    with pytest.raises(WorkerError, match="1 of 3 parts did not come back: 'second'") as caught:
        collected([_answers()[0], _answers()[2]], EXPECTED, "hash", operator.add)
    assert caught.value.culprits["part"] == "second"


def test_a_part_of_another_schema_is_named():
    other = Returned(frozenset({"second"}), 5, "another", 5)
    with pytest.raises(DataError, match="the part 'second' was read with another schema"):
        collected([_answers()[0], other], EXPECTED, "hash", operator.add)
    with pytest.raises(DataError, match="the part 'second' was read with another schema"):
        _answers()[0].merge(other, operator.add)


def test_a_part_with_other_rows_than_before_is_named():
    other = Returned(frozenset({"third"}), 7, "hash", 7)
    with pytest.raises(DataError, match="'third' has 7 rows, and had 1 when it was first"):
        collected([other], EXPECTED, "hash", operator.add)


def test_a_part_that_nobody_asked_for_is_named():
    other = Returned(frozenset({"fourth"}), 7, "hash", 7)
    with pytest.raises(DataError, match="'fourth' was not asked for"):
        collected([other], EXPECTED, "hash", operator.add)


def test_schemas_with_other_states_have_other_hashes():
    x = cs.Variable("x", ("a", "b"))
    schemas = [
        cs.Schema({"x": x}),
        cs.Schema({"x": cs.Variable("x", ("b", "a"))}),
        cs.Schema({"x": cs.Variable("x", ("a", "b"), ordered=True)}),
        cs.Schema({"x": cs.Variable("x")}),
        cs.Schema({}, x),
    ]
    assert len({schema_hash(one) for one in schemas}) == len(schemas)


class _Wrong:
    """A runner that loses a part, or hands one in twice."""

    def __init__(self, chosen):
        self._chosen = chosen

    def run(self, task, extents):
        return map(task, [extents[k] for k in self._chosen])


def test_a_runner_that_loses_a_part_or_repeats_one_is_found_out():
    table = hospitals(60)
    with pytest.raises(WorkerError, match="'part 1'"):
        cs.count(in_parts(table, [20, 40], _Wrong([0, 2])), cs.Family("smoke"))
    with pytest.raises(DataError, match="'part 1' came back twice"):
        cs.count(in_parts(table, [20, 40], _Wrong([0, 1, 1, 2])), cs.Family("smoke"))


def test_an_empty_part_changes_nothing():
    table = hospitals(60)
    rows = in_parts(table, [0, 30, 30, 60], _Wrong([4, 3, 2, 1, 0]))
    (one,), (other,) = (cs.count(r, cs.Family("smoke")) for r in (rows, table))
    np.testing.assert_array_equal(one.table, other.table)
