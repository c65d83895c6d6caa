from __future__ import annotations

import classifiers as study
import numpy as np
import pandas as pd


def rows(losses, problem="compas"):
    return pd.DataFrame(
        [
            {"problem": problem, "structure": "TAN", "repeat": k, "method": name, **row}
            for name, values in losses.items()
            for k, value in enumerate(values)
            for row in [{"log_loss": value, "seconds": 0.1}]
        ]
    )


def test_bars_are_judged_by_paired_differences():
    others = {name: [0.5, 0.6] for name in study.ESTIMATORS}
    good = rows({study.PRIOR: [0.69, 0.70], study.DEFAULT: [0.5, 0.6], **others})
    assert "| met |" in study._compared(good)[-1]
    bad = rows({study.PRIOR: [0.69, 0.70], study.DEFAULT: [0.58, 0.68], **others})
    assert "| MISSED |" in study._compared(bad)[-1]


def test_numbers_kept_are_compared_with_quartiles():
    prior = {study.PRIOR: [0.7, 0.7, 0.7]}
    found = rows({study.KEPT: [0.5, 0.6, 0.5], study.CUT: [0.4, 0.5, 0.41], **prior}, "cleveland")
    assert "| MISSED |" in study._numbers(found)[-1]


def test_numbers_kept_of_noise_are_compared_with_the_class_prior():
    for excess, verdict in ((0.01, "met"), (0.03, "MISSED")):
        kept = [0.5 + excess, 0.52 + excess]
        found = {study.PRIOR: [0.5, 0.52], study.KEPT: kept, study.CUT: [0.5, 0.5]}
        assert f"| {verdict} |" in study._numbers(rows(found, "noise"))[-1]


def test_a_table_of_noise_has_the_class_of_one_row_in_five():
    frame, labels = study.rows_of("noise, heavy tails")
    assert frame.shape == (20_000, 10)
    assert (labels == "yes").mean() == 0.2


def test_training_and_test_rows_are_apart_and_depend_on_the_repeat():
    labels = pd.Series(["a", "b", "b", "b"] * 50)
    train, test = study._split(labels, 40, 0)
    assert len(train) == 40
    assert not set(train) & set(test)
    assert len(train) + len(test) == 200
    assert not np.array_equal(train, study._split(labels, 40, 1)[0])
