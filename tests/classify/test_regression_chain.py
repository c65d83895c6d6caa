from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from classifier_data import beliefs

import consilience as cs
from consilience.classify.left_out import GraphChains, LeftOut, Shrinking, shrunken_means
from consilience.classify.ranges import inside_others, ranges_of, within_ranges
from consilience.classify.regression_chain import RegressionRows, fitted_regressions
from consilience.classify.shrinking import calibrated_chain
from consilience.parameters.chain import fitted_chains

SHARES = [(0.0, 1.0), (0.5, 8.0), (1.0, 0.25)]


def rows_of(n_rows, seed, *, sources=True):
    """A class, a discrete feature, and two numbers that depend on them and on each other."""
    rng = np.random.default_rng(seed)
    f, c, d = (rng.integers(0, k, n_rows) for k in (2, 2, 3))
    z = rng.normal(c + 0.5 * f, 1)
    x = rng.normal(0.5 * z + d - c, 1 + 0.5 * c)
    frame = {"c": c.astype(str).tolist(), "d": d.astype(str).tolist(), "z": z, "x": x}
    if not sources:
        return cs.read(frame)
    return cs.read(frame | {"f": f.astype(str).tolist()}, source="f")


def chains_of(table, names=("z", "x"), by=("c", "d")):
    found = cs.moments(table, list(names), by=list(by), by_source=table.source is not None)
    return fitted_regressions(found, table, "c")


def refitted(chain, table):
    """The chain with the moments of other rows, everything else as it was."""
    moments = chain.moments
    again = cs.moments(
        table,
        list(moments.names),
        by=[one.name for one in moments.given],
        by_source=moments.source is not None,
    )
    places = [level.place.tolist() for level in chain.levels]
    other = next(
        one
        for one in fitted_regressions(again, table, "c")
        if [level.place.tolist() for level in one.levels] == places
    )
    # the sums in the units of the chain
    a = np.eye(len(chain.unit) + 1)
    a[0, 1:] = (other.center - chain.center) / chain.unit
    a[1:, 1:] = np.diag(other.unit / chain.unit)
    levels = [replace(level, sums=a.T @ level.sums @ a) for level in other.levels]
    return replace(chain, levels=levels, moments=again)


@pytest.mark.parametrize("sources", [True, False])
@pytest.mark.parametrize(("share", "factor"), SHARES)
def test_leaving_a_row_out_is_fitting_without_it(sources, share, factor):
    table = rows_of(60, 1, sources=sources)
    for chain in chains_of(table):
        rows = RegressionRows.of(chain, table)
        found = chain.left_out(rows, rows.states, share, factor)
        for i in range(0, 60, 7):
            rest = table.take(np.arange(60) != i)
            local = refitted(chain, rest).local(share, factor)
            one, _ = within_ranges(table.take([i]), ranges_of(rest))
            states, values = rows.states[i : i + 1], np.array([[one.column("z")[0]]])
            mean, sd = local.means(states, values)[0], local.sd.ravel()[states[0]]
            gap = (one.column("x")[0] - mean) / sd
            wanted = -0.5 * (np.log(2 * np.pi) + gap**2) - np.log(sd)
            assert found[i] == pytest.approx(wanted, abs=1e-9)


def test_with_all_rows_the_density_is_that_of_the_local_distribution():
    table = rows_of(80, 2)
    chain = chains_of(table)[0]
    rows = RegressionRows.of(chain, table)
    local = chain.local(0.3, 2.0)
    gap = (table.column("x") - local.means(rows.states, table.column("z")[:, None])) / (
        local.sd.ravel()[rows.states]
    )
    wanted = -0.5 * (np.log(2 * np.pi) + gap**2) - np.log(local.sd.ravel()[rows.states])
    np.testing.assert_allclose(chain.with_row(rows, rows.states, 0.3, 2.0), wanted)


def test_at_a_share_of_one_the_class_says_nothing():
    local = chains_of(rows_of(80, 2, sources=False))[0].local(1.0)
    np.testing.assert_allclose(local.intercept, local.intercept[:1].repeat(2, axis=0))
    np.testing.assert_allclose(local.sd, local.sd[:1].repeat(2, axis=0))


def test_many_rows_give_least_squares():
    table = rows_of(20_000, 3, sources=False)
    chain = chains_of(table)[0]
    dag = cs.DAG.parse("[c][d][z][x|c:d:z]")
    plain = cs.fit(dag, table, cs.MLE())["x"]
    np.testing.assert_allclose(chain.local().sd, plain.sd, rtol=0.02)
    np.testing.assert_allclose(chain.local().coefficients, plain.coefficients, atol=0.03)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_and_origins_do_not_matter(unit):
    table = rows_of(80, 4)
    columns = dict(table.columns) | {"x": 5 * unit + unit * table.column("x")}
    moved = cs.Table(table.schema, columns, table.source_codes)
    a, b = chains_of(table)[0].local(0.25), chains_of(moved)[0].local(0.25)
    np.testing.assert_allclose(b.sd, unit * a.sd, rtol=1e-6)
    np.testing.assert_allclose(b.intercept, 5 * unit + unit * a.intercept, atol=1e-6 * unit)


def test_constant_columns_single_rows_and_empty_states_have_a_variance():
    table = cs.read({"c": ["u", "v", "u"], "x": [1.5, 1.5, 1.5]}, states={"c": ["u", "v", "w"]})
    local = chains_of(table, ("x",), ("c",))[0].local()
    np.testing.assert_allclose(local.intercept, 1.5)
    assert (local.sd > 0).all()


@pytest.mark.parametrize("structure", [cs.naive_bayes, cs.tan])
@pytest.mark.parametrize("gaps", [False, True])
def test_beliefs_of_rows_left_out_are_those_of_networks_without_them(structure, gaps):
    table = rows_of(70, 5, sources=False)
    if gaps:
        rng = np.random.default_rng(1)
        z = np.where(rng.random(70) < 0.2, np.nan, table.column("z"))
        d = np.where(rng.random(70) < 0.2, -1, table.column("d")).astype(np.int8)
        table = cs.Table(table.schema, dict(table.columns) | {"z": z, "d": d})
    dag = structure(table, "c")
    tables = [node for node in dag.nodes if node in ("c", "d")]
    families = [cs.Family(node, dag.parents(node)) for node in tables]
    chains = fitted_chains(cs.count(table, families), cs.HDC())
    chains = [
        replace(one, ways=[replace(way, rho=0.0 * way.rho) for way in one.ways]) for one in chains
    ]
    regressions = []
    for node in ("z", "x"):
        parents = dag.parents(node)
        names = [*(p for p in parents if p in "zx"), node]
        regressions.append(chains_of(table, names, [p for p in parents if p not in "zx"]))
    left_out = LeftOut.of([GraphChains(chains, regressions)], table, "c")
    assert left_out.is_covered.all() == (not gaps or structure is cs.naive_bayes)
    shrinking = Shrinking(2.0, 1.0, 0.1, (0.3, 0.6))
    found = beliefs(left_out, shrinking)
    keys = [one.key for one in left_out.regressions]
    for i in range(0, 70, 9):
        rest = table.take(np.arange(70) != i)
        local = []
        for chain in chains:
            [counts] = cs.count(rest, [chain.counts.family])
            values = counts.to_dense().table.reshape(chain.rows.shape) / counts.scale
            again = replace(chain, counts=counts, rows=values)
            local.append(again.local(shrunken_means(again, shrinking)))
        for chain in (one[0] for one in regressions):
            share = shrinking.shares[[key[0] for key in keys].index(chain.moments.names[-1])]
            local.append(refitted(chain, rest).local(share))
        one, _ = within_ranges(table.take([i]), ranges_of(rest))
        wanted = cs.Network.of(local).posteriors(one, "c")[0]
        # What is missing is summed out beside the numbers as they are, also of a row at an end.
        np.testing.assert_allclose(found[i], wanted, atol=0.02)


def test_numbers_that_say_the_same_thrice_are_shrunken():
    rng = np.random.default_rng(1)
    c = rng.integers(0, 2, 3000)
    x = rng.normal(0.8 * c, 1)
    frame = {"c": c.astype(str).tolist(), **{f"x{k}": x for k in range(4)}}
    table = cs.read(frame, continuous=[f"x{k}" for k in range(4)])
    train, test = table.take(slice(0, 500)), table.take(slice(500, None))
    dag = cs.naive_bayes(train, "c")
    plain = cs.classify.evaluate_network(cs.fit(dag, train), test, "c").overall
    found = cs.classify.evaluate_network(calibrated_chain(dag, train, "c"), test, "c").overall
    best = -np.log(1 / (1 + np.exp(-(0.8 * x - 0.32) * (2 * c - 1))))[500:].mean()
    assert plain.log_loss > best + 0.05
    assert found.log_loss < best + 0.02


def test_a_graph_learned_from_few_rows_is_judged_by_rows_it_did_not_see():
    rng = np.random.default_rng(3)
    frame = {f"x{k}": rng.integers(0, 5, 60).astype(str).tolist() for k in range(8)}
    table = cs.read(frame | {"c": (rng.random(60) < 0.3).astype(int).astype(str).tolist()})
    seen = calibrated_chain(cs.tan(table, "c"), table, "c")
    honest = calibrated_chain(cs.tan, table, "c")
    assert seen.dag == honest.dag
    spread = [net.posteriors(table, "c")[:, 0].std() for net in (seen, honest)]
    assert spread[1] < spread[0] / 2


def test_a_class_that_no_fold_finds_in_a_number_says_nothing():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 40)
        frame = {"c": np.where(y, "a", "b").tolist(), "x": rng.normal(0.7 * y)}
        net = calibrated_chain(lambda rows, _: cs.learn(rows), cs.read(frame), "c")
        assert np.isfinite(net.posteriors(cs.read(frame), "c")).all()


def noise(seed, n_columns, *, tail=None, n_rows=60):
    """Columns of numbers that say nothing about the class, of which one row in five is."""
    rng = np.random.default_rng(seed)
    size = (n_rows, n_columns)
    x = rng.normal(size=size) if tail is None else rng.standard_t(tail, size=size)
    c = np.where(np.arange(n_rows) % 5 == 0, "yes", "no")
    return pd.DataFrame(x, columns=[f"x{k}" for k in range(n_columns)]), pd.Series(c, name="c")


# Means of six tables, of a standard error of up to 0.015; trees lose the more.
@pytest.mark.parametrize(
    ("kind", "most"), [(cs.NaiveBayesClassifier, 0.03), (cs.TANClassifier, 0.06)]
)
@pytest.mark.parametrize(("n_columns", "tail"), [(20, None), (10, 1.5)])
def test_numbers_that_say_nothing_lose_little_to_the_class_prior(kind, most, n_columns, tail):
    excess = []
    for seed in range(3):
        X, y = noise(seed, n_columns, tail=tail)
        test, truth = noise(seed + 100, n_columns, tail=tail, n_rows=500)
        classifier = kind(discretize=False).fit(X, y)
        beliefs = classifier.predict_proba(test)[np.arange(500), (truth == "yes").astype(int)]
        best = np.where(truth == "yes", np.log(0.2), np.log(0.8)).mean()
        excess.append(best - np.log(beliefs).mean())
    assert np.mean(excess) < most


def test_a_number_beyond_those_of_training_is_taken_for_the_nearest():
    rng = np.random.default_rng(1)
    c = rng.integers(0, 2, 200)
    X = pd.DataFrame({"x": rng.normal(0, 1 + c), "z": rng.normal(c, 1)})
    classifier = cs.NaiveBayesClassifier(discretize=False).fit(X, np.where(c, "yes", "no"))
    ends = {name: (X[name].min(), X[name].max()) for name in X}
    assert classifier.story_.ranges == ends
    far = pd.DataFrame({"x": [1e9, -1e9, 0.5], "z": [0.5, 0.5, 0.5]})
    near = far.clip(*ends["x"])
    near["z"] = 0.5
    found = classifier.predict_proba(far)
    np.testing.assert_array_equal(found, classifier.predict_proba(near))
    assert classifier.unseen(far).outside == {"x": 2}
    assert "beyond the range of 'x' in fit (taken for its end): 2 rows" in classifier.report(far)


def test_rows_at_an_end_come_within_the_others_unless_they_are_several():
    values = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 0.0], [9.0, 1.0]])
    wanted = [[2.0, 5.0], [2.0, 5.0], [3.0, 1.0], [3.0, 1.0]]
    assert inside_others(values, np.ones(4)).tolist() == wanted
    assert inside_others(values, np.full(4, 2.0)).tolist() == values.tolist()
    assert inside_others(values[:1], np.ones(1)).tolist() == values[:1].tolist()
