from __future__ import annotations

import numpy as np
import pytest
from classifier_data import patients

import consilience as cs
from consilience.errors import DataError, InputError

TABLE = cs.read(patients(203), source="hospital")


def shares(table, rows):
    """Number of rows of each class of each source."""
    part = table.take(rows)
    cells = part.source_codes.astype(int) * 2 + part.column("ill")
    return np.bincount(cells, minlength=6)


def test_folds_test_every_row_once_and_never_train_on_it():
    found = cs.classify.StratifiedFolds(5).split(TABLE, "ill", 1)
    assert [split.name for split in found] == [f"fold {k}" for k in range(1, 6)]
    np.testing.assert_array_equal(np.sort(np.concatenate([s.test for s in found])), np.arange(203))
    for split in found:
        assert not set(split.train) & set(split.test)
        assert split.size + len(split.test) == 203


def test_folds_overlap_and_other_splits_are_not_corrected():
    assert cs.classify.StratifiedFolds(5, repeats=3).overlap == 0.25
    assert cs.classify.LeaveOneSourceOut().overlap == cs.classify.LearningCurve().overlap == 0


def test_folds_have_nearly_the_same_rows_of_each_class_of_each_source():
    found = cs.classify.StratifiedFolds(5).split(TABLE, "ill", 1)
    by_fold = np.array([shares(TABLE, split.test) for split in found])
    assert np.ptp(by_fold, axis=0).max() <= 1
    assert np.ptp(by_fold.sum(axis=1)) <= 1


def test_repeats_divide_anew_and_the_first_do_not_depend_on_how_many_there_are():
    once = cs.classify.StratifiedFolds(3).split(TABLE, "ill", 1)
    twice = cs.classify.StratifiedFolds(3, repeats=2).split(TABLE, "ill", 1)
    assert [split.name for split in twice[3:]] == [f"repeat 2, fold {k}" for k in (1, 2, 3)]
    np.testing.assert_array_equal(once[0].test, twice[0].test)
    assert set(twice[0].test) != set(twice[3].test)


def test_each_source_is_left_out_in_turn():
    found = cs.classify.LeaveOneSourceOut().split(TABLE, "ill", None)
    assert [split.name for split in found] == list(TABLE.sources)
    for code, split in enumerate(found):
        assert (TABLE.source_codes[split.test] == code).all()
        assert (TABLE.source_codes[split.train] != code).all()
        assert split.size + len(split.test) == 203


def test_training_sets_of_a_curve_grow_and_the_test_set_stays():
    found = cs.classify.LearningCurve((20, 60, 120), repeats=2, n_test=50).split(TABLE, "ill", 3)
    assert [(split.name, split.size) for split in found] == [
        (f"repeat {k}", size) for k in (1, 2) for size in (20, 60, 120)
    ]
    for first, second in ((0, 1), (1, 2), (3, 4), (4, 5)):
        assert set(found[first].train) < set(found[second].train)
        np.testing.assert_array_equal(found[first].test, found[second].test)
    assert not set(found[2].train) & set(found[2].test)
    assert len(found[0].test) == 50
    assert set(found[0].test) != set(found[3].test)


def test_training_sets_of_a_curve_keep_the_shares():
    [split] = cs.classify.LearningCurve((100,), repeats=1).split(TABLE, "ill", 1)
    quota = shares(TABLE, np.arange(203)) * 100 / 203
    assert abs(shares(TABLE, split.train) - quota).max() < 1.5
    assert len(split.test) == 103


def test_rows_without_a_class_are_left_out():
    frame = patients(100)
    table = cs.read(frame.assign(ill=frame["ill"].where(frame.index % 4 > 0)), source="hospital")
    for splits in (
        cs.classify.StratifiedFolds(),
        cs.classify.LeaveOneSourceOut(),
        cs.classify.LearningCurve((10,)),
    ):
        for split in splits.split(table, "ill", 1):
            assert (table.column("ill")[np.r_[split.train, split.test]] >= 0).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: cs.classify.StratifiedFolds(1),
            "folds must be a whole number of at least 2, got 1",
        ),
        (
            lambda: cs.classify.StratifiedFolds(repeats=0),
            "repeats must be a whole number of at least 1",
        ),
        (lambda: cs.classify.LearningCurve((60, 20)), "sizes must be increasing numbers"),
        (lambda: cs.classify.LearningCurve(()), "sizes must be increasing numbers"),
        (lambda: cs.classify.LearningCurve((0,)), "sizes must be a whole number of at least 1"),
        (
            lambda: cs.classify.LearningCurve((5,), n_test=0),
            "n_test must be a whole number of at least 1",
        ),
    ],
)
def test_choices_that_make_no_sense_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_splits_that_the_rows_do_not_allow_are_refused():
    few = TABLE.take(slice(0, 3))
    with pytest.raises(DataError, match="3 rows with a class cannot be divided into 5 folds"):
        cs.classify.StratifiedFolds().split(few, "ill", 1)
    with pytest.raises(InputError, match="150 rows to learn from and 100 to be tested on are more"):
        cs.classify.LearningCurve((20, 150), n_test=100).split(TABLE, "ill", 1)
    with pytest.raises(InputError, match="203 rows to learn from and 1 to be tested on"):
        cs.classify.LearningCurve((203,)).split(TABLE, "ill", 1)
    alone = cs.read(patients(20).drop(columns="hospital"))
    with pytest.raises(DataError, match="rows of at least two sources, got 0"):
        cs.classify.LeaveOneSourceOut().split(alone, "ill", 1)
    with pytest.raises(DataError, match="rows of at least two sources, got 1"):
        cs.classify.LeaveOneSourceOut().split(TABLE.take(TABLE.source_codes == 0), "ill", 1)
