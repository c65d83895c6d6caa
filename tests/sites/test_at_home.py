from __future__ import annotations

import numpy as np
import pytest
from study_rows import network, parts, rows, sites, with_sources

import consilience as cs
from consilience.errors import FormatError, ModelError, RefusalError

TABLE = rows(400)
PARTS = parts(TABLE, 3)
DAG = network().dag


def study(mode: str = "exact", **policy: object) -> cs.sites.Federation:
    if mode == "secure":
        pytest.importorskip("cryptography", reason="secure sums need the extra 'sites'")
    return cs.sites.federation(sites(PARTS, mode=mode, **policy), study="s")


@pytest.mark.parametrize("estimator", [cs.HDMCS(), cs.HDMCS(s=4.0), cs.HDMJS(), cs.HDMJS(s=3.0)])
def test_a_model_adapted_at_home_is_the_pooled_fit_for_that_site_to_the_bit(estimator, tmp_path):
    pooled = cs.fit(DAG, with_sources(PARTS), estimator)
    net = cs.fit(DAG, study(), estimator)
    cs.sites.shared_prior(net).save(tmp_path / "prior.json")
    prior = cs.sites.SharedPrior.load(tmp_path / "prior.json")
    for place, table in enumerate(PARTS.values()):
        home = cs.sites.adapt(prior, table)
        assert all((home[n].table == pooled[n].table[place]).all() for n in DAG.nodes)


def test_a_new_site_without_rows_gets_the_mean_of_the_hierarchy():
    net = cs.fit(DAG, study(), cs.HDMCS())
    home = cs.sites.adapt(cs.sites.shared_prior(net), TABLE.take(slice(0)))
    assert all(np.allclose(home[n].table, net[n].table[-1], rtol=1e-12) for n in DAG.nodes)


def test_what_is_shared_holds_no_counts(tmp_path):
    net = cs.fit(DAG, study(), cs.HDMCS(s=4.0))
    cs.sites.shared_prior(net).save(tmp_path / "prior.json")
    assert "counts" not in (tmp_path / "prior.json").read_text()


def test_a_fit_without_a_base_shares_nothing():
    with pytest.raises(ModelError, match="HDMCS"):
        cs.sites.shared_prior(cs.fit(DAG, TABLE, cs.MLE()))


def test_other_states_at_home_are_refused():
    prior = cs.sites.shared_prior(cs.fit(DAG, study(), cs.HDMCS()))
    other = cs.read({name: list("xy") for name in DAG.nodes})
    with pytest.raises(ModelError, match="states"):
        cs.sites.adapt(prior, other)


def test_a_damaged_prior_is_a_format_error(tmp_path):
    path = tmp_path / "prior.json"
    cs.sites.shared_prior(cs.fit(DAG, study(), cs.HDMCS())).save(path)
    path.write_text(path.read_text().replace('"view": "sources as groups"', '"view": "x"', 1))
    with pytest.raises(FormatError, match="view"):
        cs.sites.SharedPrior.load(path)


def expected(net: cs.Network, table: cs.Table, target: str) -> np.ndarray:
    best = net.posteriors(table, target).argmax(axis=1)
    r = table.variables[target].n_states
    counts = np.zeros((r, r), int)
    np.add.at(counts, (table.column(target), best), 1)
    return counts


def test_confusion_counts_of_exact_sites_are_those_at_home():
    net = cs.fit(DAG, TABLE)
    found = cs.sites.measures(study(), net, "d")
    assert found.sites == tuple(PARTS)
    for place, table in enumerate(PARTS.values()):
        assert (found.confusion[place, 0] == expected(net, table, "d")).all()
    assert found.calibration.sum() == TABLE.n_rows
    assert 0 <= found.gap["between sites"] <= 1
    assert "predicted" in found._repr_html_()


def has_no_small_group(name: str) -> bool:
    counts = [np.bincount(part.column(name), minlength=3) for part in PARTS.values()]
    return all((one >= 5).all() for one in counts)


def test_masked_confusion_counts_are_the_total_by_group():
    net, group = cs.fit(DAG, TABLE), next(filter(has_no_small_group, "abcef"))
    found = cs.sites.measures(study("secure"), net, "d", by=[group])
    assert found.sites == ("all sites",)
    assert (found.confusion[0].sum(axis=0) == expected(net, TABLE, "d")).all()
    assert found.groups == tuple(f"{group}={i}" for i in range(3))
    assert found.rates.sum(axis=2) == pytest.approx(np.ones((1, 3)))


def test_a_network_by_source_predicts_for_the_site_it_is_at():
    net = cs.fit(DAG, study(), cs.HDMCS())
    found = cs.sites.measures(study(), net, "d")
    whole = with_sources(PARTS)
    best = net.posteriors(whole, "d").argmax(axis=1)
    right = (best == whole.column("d")).sum()
    assert np.trace(found.confusion.sum(axis=(0, 1))) == right


def test_small_groups_and_ranges_are_refused():
    net = cs.fit(DAG, TABLE)
    with pytest.raises(RefusalError, match="fewer than"):
        cs.sites.measures(study(least_cell=300), net, "d", by=["a"])
    with pytest.raises(RefusalError, match="intervals"):
        cs.sites.measures(study("intervals"), net, "d")


def test_a_network_is_evaluated_over_exact_sites_as_over_all_rows():
    net = cs.fit(DAG, study(), cs.HDMCS())
    found = cs.classify.evaluate_network(net, study(), "d")
    assert_near(found, cs.classify.evaluate_network(net, with_sources(PARTS), "d"))
    assert list(found.by_source) == list(PARTS)


def test_a_network_is_evaluated_over_masked_sites_as_over_all_rows():
    net = cs.fit(DAG, TABLE)
    found = cs.classify.evaluate_network(net, study("secure"), "d", positive="1")
    assert_near(found, cs.classify.evaluate_network(net, TABLE, "d", positive="1"))
    assert not found.by_source


def test_calibration_curves_over_sites_have_bins_of_equal_width():
    net = cs.fit(DAG, TABLE)
    curve = cs.classify.evaluate_network(net, study(), "d", positive="1", n_bins=4).overall.curve
    probability = net.posteriors(TABLE, "d")[:, 1]
    bins = np.minimum((probability * 4).astype(int), 3)
    held = [k for k in range(4) if (bins == k).any()]
    means = [probability[bins == k].mean() for k in held]
    assert curve.predicted == pytest.approx(means, abs=1e-8)
    assert curve.observed.tolist() == [(TABLE.column("d")[bins == k] == 1).mean() for k in held]


def test_rows_that_a_network_holds_impossible_predict_nothing():
    rows = cs.read({"x": ["a"] * 10 + ["b"] * 10, "y": ["a"] * 12 + ["b"] * 8})
    net = cs.fit(cs.DAG([("y", "x")]), rows.take(slice(0, 10)), cs.MLE())
    over = cs.sites.federation(sites(dict(zip("st", [rows] * 2, strict=True))), study="s")
    found = cs.sites.measures(over, net, "y")
    assert found.unpredicted.tolist() == [[[2, 8]]] * 2
    assert found.accuracy.tolist() == [[0.5]] * 2
    whole = cs.classify.evaluate_network(net, rows, "y").overall
    told = cs.classify.evaluate_network(net, over, "y").overall
    assert told.n_impossible == 2 * whole.n_impossible
    assert (told.accuracy, told.log_loss) == (whole.accuracy, whole.log_loss)


def test_rows_without_a_true_state_are_left_out_and_counted():
    rows = cs.read({"x": list("ab") * 20, "y": ["a", "b", None, "b"] * 10})
    net = cs.fit(cs.DAG([("x", "y")]), rows, cs.Dirichlet(ess=1))
    over = cs.sites.federation(sites(parts(rows, 2)), study="s")
    found = cs.classify.evaluate_network(net, over, "y")
    assert (found.n_unknown, found.overall.n_rows) == (10, 30)


def assert_near(found: cs.classify.Evaluation, pooled: cs.classify.Evaluation) -> None:
    """Counts have the same bits; sums of losses are rounded to 2^-28 a row."""
    pairs = [(found.overall, pooled.overall), (found.prior, pooled.prior)]
    pairs += [(one, pooled.by_source[name]) for name, one in found.by_source.items()]
    for mine, theirs in pairs:
        for name in ("n_rows", "accuracy", "precision", "recall", "f1", "n_impossible"):
            assert getattr(mine, name) == getattr(theirs, name)
        assert mine.brier == pytest.approx(theirs.brier, abs=1e-8)
        assert mine.log_loss == pytest.approx(theirs.log_loss, abs=1e-8)
    assert (found.states, found.positive) == (pooled.states, pooled.positive)
