from __future__ import annotations

import calibrated_draws as study
import numpy as np
import pytest
from click.testing import CliRunner


@pytest.mark.parametrize("mechanism", study.MECHANISMS)
def test_ranks_of_true_parameters_among_the_draws_are_uniform(mechanism):
    found = study.ranks(24, study.MECHANISMS[mechanism], n_rows=40, thin=4, warmup=20, seed=3)
    every = np.concatenate([values for name, values in found.items() if name.startswith("d")])
    assert len(found) == 15
    shares = np.bincount(every // 20, minlength=5) / len(every)
    assert shares == pytest.approx(np.full(5, 0.2), abs=0.12)  # 144 ranks: sd 0.033 of a share


def test_ranks_that_are_not_uniform_are_seen():
    rng = np.random.default_rng(1)
    good, bad = rng.integers(0, 100, 500), np.minimum(rng.integers(0, 130, 500), 99)
    tests = study.p_values({"good": good, "bad": bad})
    assert tests["good"] > 0.01
    assert tests["bad"] < 1e-6


def test_the_study_prints_its_table():
    done = CliRunner().invoke(study.main, ["--replications", "2", "--rows", "20"])
    assert done.exit_code == 0, done.output
    assert "of 15 parameters with p > 0.01" in done.output
