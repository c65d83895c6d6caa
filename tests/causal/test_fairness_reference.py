"""Group measures of public data, and those of Fairlearn."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs

FIELDS = (
    "selection_difference",
    "selection_ratio",
    "odds_difference",
    "odds_ratio",
    "opportunity_difference",
)


def values(gaps):
    return [getattr(gaps, name).value for name in FIELDS]


@pytest.fixture(scope="module")
def compas(data_dir):
    return cs.read(data_dir / "compas.csv.gz", discrete=["two_year_recid", "is_recid"]).to_frame()


def customary(frame):
    """The filter of 6,172 rows."""
    days = frame["days_b_screening_arrest"]
    is_kept = (days <= 30) & (days >= -30) & (frame["is_recid"] != "-1")
    return frame[is_kept & (frame["c_charge_degree"] != "O") & (frame["score_text"] != "N/A")]


def audited(frame, **options):
    two = frame[frame["race"].isin(["African-American", "Caucasian"])]
    two = two[["race", "sex", "two_year_recid", "score_text"]].astype(str)
    table = cs.read(two.drop(columns="score_text"), discrete=["two_year_recid"], **options)
    predicted = np.asarray(two["score_text"] != "Low")
    return cs.causal.fairness(
        predicted, table, protected="race", target="two_year_recid", positive="1"
    )


@pytest.mark.data
def test_compas_with_all_rows(compas):
    found = audited(compas)
    assert values(found.gaps) == pytest.approx(
        [0.2402002032, 0.5916375570, 0.2139249558, 0.5229872103, 0.1973729638], abs=1e-10
    )
    groups = found.groups
    assert groups["African-American"].true_positive_rate == pytest.approx(0.7201472909)
    assert groups["Caucasian"].false_positive_rate == pytest.approx(0.2345430108)


@pytest.mark.data
def test_compas_with_the_customary_filter_and_by_sex(compas):
    kept = customary(compas)
    assert len(kept) == 6172
    found = audited(kept, source="sex")
    assert values(found.gaps) == pytest.approx(
        [0.2451072147, 0.5745131730, 0.2115821530, 0.5199574728, 0.2115821530], abs=1e-10
    )
    female, male = found.by_source["Female"].gaps, found.by_source["Male"].gaps
    assert values(female)[:3] == pytest.approx(
        [0.1137035273, 0.7705028069, 0.1416401043], abs=1e-10
    )
    assert values(male)[:3] == pytest.approx([0.2770625731, 0.5327127058, 0.2385014208], abs=1e-10)


@pytest.mark.data
@pytest.mark.parametrize(
    ("protected", "gaps"),
    [
        ("sex", [0.0413599327, 0.8419288536, 0.0380067372, 0.8835417965, 0.0380067372]),
        ("race", [0.3292297564, 0.2329754601, 0.3402089353, 0.2046603300, 0.3402089353]),
    ],
)
def test_adult_by_years_of_schooling(data_dir, protected, gaps):
    table = cs.read(
        data_dir / "adult.csv.gz",
        columns=["sex", "race", "income", "education-num"],
        continuous=["education-num"],
    )
    predicted = table.column("education-num") >= 13
    found = cs.causal.fairness(
        predicted, table, protected=protected, target="income", positive=">50K"
    )
    assert values(found.gaps) == pytest.approx(gaps, abs=1e-10)


@pytest.mark.parametrize("seed", range(8))
def test_group_measures_equal_those_of_fairlearn(seed):
    peer = pytest.importorskip("fairlearn.metrics")
    rng = np.random.default_rng(seed)
    n, n_groups = int(rng.integers(60, 400)), int(rng.integers(2, 5))
    groups = rng.choice(list("abcd")[:n_groups], n)
    truth, predicted = rng.integers(0, 2, n), rng.integers(0, 2, n)
    table = cs.read({"g": groups, "y": truth.astype(str)}, discrete=["y"])
    found = cs.causal.fairness(predicted, table, protected="g", target="y", positive="1")
    asked = {"y_true": truth, "y_pred": predicted, "sensitive_features": groups}
    theirs = [
        peer.demographic_parity_difference(**asked),
        peer.demographic_parity_ratio(**asked),
        peer.equalized_odds_difference(**asked),
        peer.equalized_odds_ratio(**asked),
        peer.equal_opportunity_difference(**asked),
    ]
    assert values(found.gaps) == pytest.approx(theirs, abs=1e-12)
    frame = peer.MetricFrame(
        metrics={"s": peer.selection_rate, "t": peer.true_positive_rate}, **asked
    ).by_group
    for name, group in found.groups.items():
        assert group.selection_rate == pytest.approx(frame["s"][name], abs=1e-12)
        assert group.true_positive_rate == pytest.approx(frame["t"][name], abs=1e-12)
