"""EM with regressions of several sources that are tied: an objective, then rounds that rest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import consilience as cs

SCAN = ["low", "mid", "high"]


def hospitals(seed, share=0.4, n_rows=60):
    """Two hospitals: the second never has a scan of mid, and all its values of y are zero."""
    rng = np.random.default_rng(seed)
    site = np.repeat(["a", "b"], n_rows)
    scan = rng.integers(0, 3, 2 * n_rows)
    scan[n_rows:][scan[n_rows:] == 1] = 2
    y = np.where(site == "a", 240 + 10 * scan + rng.normal(0, 50, 2 * n_rows), 0.0)
    is_gap = (rng.random(2 * n_rows) < share) & (site == "b")
    shown = [None if gap else SCAN[k] for k, gap in zip(scan, is_gap, strict=True)]
    return cs.read(
        {"site": site, "scan": shown, "y": y},
        source="site",
        states={"scan": SCAN},
        continuous=["y"],
    )


def test_rounds_rest_where_a_source_has_next_to_no_rows_of_a_joint_state():
    net = cs.fit(cs.DAG([("scan", "y")]), hospitals(1))
    assert "until the parameters rested" in " ".join(net.record.notes)


def test_a_source_with_a_trace_of_rows_has_nearly_the_sd_of_one_without():
    weights = {"one": 1.0, "half": 0.5, "trace": 1e-7}
    rows = {"site": ["a"] * 6 + ["b"] * 6, "y": [1.0, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16]}
    sds = {}
    for name, weight in weights.items():
        more = {"site": [*rows["site"], "c"], "y": [*rows["y"], 8.0]}
        table = cs.read(
            {**more, "n": [1.0] * 12 + [weight]}, source="site", weight="n", continuous=["y"]
        )
        found = cs.fit(
            cs.DAG(nodes=["y"]), table, gaussian=cs.estimators.HierarchicalGaussian(spread=9.0)
        )
        sds[name] = found["y"].sd
    assert sds["one"][2] == pytest.approx(sds["one"][0])
    assert sds["trace"][2] == pytest.approx(sds["trace"][3], rel=1e-5)
    assert sds["trace"][0] < sds["half"][2] < sds["half"][3]


@given(seed=st.integers(0, 10**6), share=st.floats(0.1, 0.6))
def test_the_objective_never_falls(seed, share):
    story = cs.em(cs.DAG([("scan", "y")]), hospitals(seed, share, n_rows=20))
    steps = np.diff(story.objective)
    assert (steps >= -1e-9 * np.abs(story.objective[1:])).all()
    assert story.stopped_by == "tolerance"


@pytest.mark.data
def test_the_hearts_of_four_hospitals_come_to_rest(data_dir):
    paths = sorted((data_dir / "heart").glob("*.csv"))
    table = cs.read({one.stem: one for one in paths}, source="hospital")
    dag = cs.DAG.parse("[num][thal|num][chol|num:thal][thalach|num][age|num]")
    net = cs.fit(dag, table)
    assert "until the parameters rested" in " ".join(net.record.notes)
