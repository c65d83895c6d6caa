"""Networks of discrete and continuous nodes against enumeration of all joint states."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mixed_oracles import (
    LOG_2PI,
    drawn_row,
    enumerated,
    kinds,
    log_total,
    marginal_states,
    moments,
    random_evidence,
    random_mixed,
    shares,
)
from scipy.stats import chisquare, norm

import consilience as cs
from consilience.errors import (
    ImpossibleEvidenceError,
    InputError,
    MemoryLimitError,
)
from consilience.inference.sampling import sample


def mixed(seed: int) -> tuple[cs.Network, dict, np.random.Generator]:
    rng = np.random.default_rng(seed)
    net = random_mixed(rng, int(rng.integers(2, 8)), p_discrete=float(rng.choice([0.4, 0.6])))
    return net, random_evidence(rng, net, drawn_row(net, seed)), rng


BLOCKS = [range(start, start + 20) for start in range(0, 200, 20)]


@pytest.mark.parametrize("seeds", BLOCKS, ids=lambda seeds: f"from {seeds[0]}")
def test_posteriors_equal_enumeration(seeds):
    for seed in seeds:
        net, given, _ = mixed(seed)
        found = enumerated(net, given)
        assert cs.log_probability(net, given) == pytest.approx(log_total(found), abs=1e-9)
        discrete, continuous = kinds(net)
        for name in discrete:
            expected = marginal_states(net, found, [name])
            np.testing.assert_allclose(net.query(name, given).values, expected, atol=1e-10)
        for name in continuous:
            belief = net.query(name, given)
            mean, covariance = moments(found, [name])
            assert belief.mean == pytest.approx(mean[0], abs=1e-9)
            assert belief.variance == pytest.approx(covariance[0, 0], abs=1e-9)
            assert density(belief, 0.3) == pytest.approx(enumerated_density(found, name, 0.3))


def density(belief: cs.Mixture, x: float) -> float:
    return 0.0 if belief.sd == 0 else belief.density(x)


def enumerated_density(found, name, x):
    i = found["continuous"].index(name)
    sds = np.sqrt(np.maximum(found["covariances"][:, i, i], 0))
    if (sds < 1e-6).all():
        return 0.0
    return float(shares(found) @ norm.pdf(x, found["means"][:, i], sds))


@pytest.mark.parametrize("seeds", BLOCKS, ids=lambda seeds: f"from {seeds[0]}")
def test_joint_posteriors_equal_enumeration(seeds):
    for seed in seeds:
        net, given, rng = mixed(seed)
        found = enumerated(net, given)
        discrete, continuous = kinds(net)
        asked_d = [n for n in discrete if rng.random() < 0.5]
        asked_c = [n for n in continuous if rng.random() < 0.5]
        if not asked_d or not asked_c:
            continue
        belief = net.query([*asked_c, *asked_d], given)
        assert belief.names == (*asked_d, *asked_c)
        expected = marginal_states(net, found, asked_d)
        np.testing.assert_allclose(belief.discrete.values, expected, atol=1e-10)
        at = [discrete.index(n) for n in asked_d]
        for codes in np.argwhere(expected > 1e-12):
            keep = (found["states"][:, at] == codes).all(axis=1)
            mean, covariance = moments(found, asked_c, keep)
            states = tuple(net.variables[n].states[c] for n, c in zip(asked_d, codes, strict=True))
            np.testing.assert_allclose(np.atleast_1d(belief[states].mean), mean, atol=1e-8)
            np.testing.assert_allclose(belief[states].covariance, covariance, atol=1e-8)
        mean, covariance = moments(found, asked_c)
        np.testing.assert_allclose(np.atleast_1d(belief.continuous.mean), mean, atol=1e-8)
        np.testing.assert_allclose(belief.continuous.covariance, covariance, atol=1e-8)


@pytest.mark.parametrize("seeds", BLOCKS, ids=lambda seeds: f"from {seeds[0]}")
def test_the_most_probable_explanation_equals_enumeration(seeds):
    for seed in seeds:
        net, given, _ = mixed(seed)
        found = enumerated(net, given)
        free = [i for i, n in enumerate(found["continuous"]) if n not in given]
        log = found["log_weights"].copy()
        for s, covariance in enumerate(found["covariances"]):
            inner = covariance[np.ix_(free, free)]
            log[s] -= 0.5 * (np.linalg.slogdet(inner)[1] + len(free) * LOG_2PI) if free else 0.0
        best = net.mpe(given)
        assert best.log_probability == pytest.approx(log.max(), abs=1e-8)
        top = found["states"][log.argmax()]
        for name, code in zip(found["discrete"], top, strict=True):
            if name in best:
                assert best[name] == net.variables[name].states[code]
        for i in free:
            expected = found["means"][log.argmax(), i]
            assert best[found["continuous"][i]] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_marginal_map_equals_enumeration(seed):
    net, given, _ = mixed(seed)
    free = [n for n in kinds(net)[0] if n not in given]
    asked = free[:2]
    if asked:
        found = enumerated(net, given)
        table = marginal_states(net, found, asked)
        best = net.map(asked, given)
        at = np.unravel_index(table.argmax(), table.shape)
        expected = {n: net.variables[n].states[c] for n, c in zip(asked, at, strict=True)}
        assert dict(best) == expected
        log = math.log(table.max()) + log_total(found)
        assert best.log_probability == pytest.approx(log, abs=1e-9)


@pytest.mark.parametrize("seed", range(25))
def test_rows_with_gaps_equal_enumeration(seed):
    net, _, rng = mixed(seed)
    table = net.sample(8, seed=seed)
    columns, recorded = {}, {}
    for name, variable in net.variables.items():
        is_gap = rng.random(8) < 0.4
        missing = np.nan if variable.is_continuous else -1
        columns[name] = np.where(is_gap, missing, table.column(name)).astype(
            table.column(name).dtype
        )
        recorded[name] = ~is_gap
    holed = cs.Table(table.schema, columns)
    log = net.log_likelihood(holed)
    answers = {name: net.posteriors(holed, name) for name in net.variables}
    for row in range(8):
        given = {
            n: float(columns[n][row]) if v.is_continuous else v.states[columns[n][row]]
            for n, v in net.variables.items()
            if recorded[n][row]
        }
        assert log[row] == pytest.approx(log_total(enumerated(net, given)), abs=1e-9)
        for name, variable in net.variables.items():
            others = {n: value for n, value in given.items() if n != name}
            found = enumerated(net, others)
            if variable.is_continuous:
                mean, covariance = moments(found, [name])
                expected = [mean[0], math.sqrt(covariance[0, 0])]
            else:
                expected = marginal_states(net, found, [name])
            np.testing.assert_allclose(answers[name][row], expected, atol=1e-8)


def clinic(sd: tuple[float, float] = (8.0, 12.0)) -> cs.Network:
    """An illness that raises blood pressure, and a drug that is given by age."""
    ill, drug = cs.Variable("ill", ("no", "yes")), cs.Variable("drug", ("none", "some"))
    bp, rate = cs.Variable("bp"), cs.Variable("rate")
    return cs.Network.of(
        [
            cs.Categorical(ill, (), [0.7, 0.3]),
            cs.Categorical(drug, (ill,), [[0.9, 0.1], [0.4, 0.6]]),
            cs.LinearGaussian(bp, (ill,), [120.0, 145.0], np.zeros((2, 0)), sd),
            cs.LinearGaussian(rate, (drug, bp), [10.0, 5.0], [[0.5], [0.45]], [3.0, 3.0]),
        ]
    )


def test_an_event_may_have_states_and_intervals():
    net = clinic()
    p_ill = 0.3 * norm.sf(140, 145, 12)
    p_well = 0.7 * norm.sf(140, 120, 8)
    assert net.probability({"bp": (140, None)}) == pytest.approx(p_ill + p_well)
    assert net.probability({"bp": (140, None), "ill": "yes"}) == pytest.approx(p_ill)
    given = net.probability({"ill": "yes"}, given={"bp": 150.0})
    log = [math.log(0.7) + norm.logpdf(150, 120, 8), math.log(0.3) + norm.logpdf(150, 145, 12)]
    assert given == pytest.approx(1 / (1 + math.exp(log[0] - log[1])))
    assert net.probability({"ill": {"no", "yes"}, "bp": (None, None)}) == pytest.approx(1.0)


def test_intervals_of_two_variables_equal_draws():
    net = clinic()
    rows = net.sample(200_000, seed=3)
    bp, rate = rows.column("bp"), rows.column("rate")
    is_in = (bp > 130) & (rate > 70) & (rate < 90)
    p = net.probability({"bp": (130, None), "rate": (70, 90)})
    assert abs(is_in.mean() - p) < 5 * math.sqrt(p * (1 - p) / 200_000)


def test_a_point_mass_beats_any_density():
    net = clinic(sd=(0.0, 12.0))
    assert net.query("ill", given={"bp": 120.0})["no"] == 1.0
    assert net.query("ill", given={"bp": 121.0})["yes"] == 1.0
    tiny = clinic(sd=(1e-8, 12.0))
    assert tiny.query("ill", given={"bp": 120.0})["no"] == pytest.approx(1.0)
    assert net.query("ill", given={"rate": 70.0})["no"] == pytest.approx(
        tiny.query("ill", given={"rate": 70.0})["no"]
    )


def test_a_point_mass_that_other_evidence_excludes_leaves_the_density():
    ill, sign = cs.Variable("ill", ("no", "yes")), cs.Variable("sign", ("off", "on"))
    bp = cs.Variable("bp")
    net = cs.Network.of(
        [
            cs.Categorical(ill, (), [0.5, 0.5]),
            cs.Categorical(sign, (ill,), [[1.0, 0.0], [0.5, 0.5]]),
            cs.LinearGaussian(bp, (ill,), [120.0, 120.0], np.zeros((2, 0)), [0.0, 5.0]),
        ]
    )
    assert net.query("ill", given={"bp": 120.0})["no"] == 1.0
    assert net.query("ill", given={"bp": 120.0, "sign": "on"})["yes"] == 1.0
    log = cs.log_probability(net, {"bp": 120.0, "sign": "on"})
    assert log == pytest.approx(math.log(0.25) + norm.logpdf(0, 0, 5))


def test_densities_that_no_float_holds_are_compared():
    features = [cs.Variable(f"f{i}") for i in range(300)]
    ill = cs.Variable("ill", ("no", "yes"))
    locals_ = [
        cs.LinearGaussian(f, (ill,), [0.0, 60.0 * (-1) ** i], np.zeros((2, 0)), [1.0, 1.0])
        for i, f in enumerate(features)
    ]
    net = cs.Network.of([cs.Categorical(ill, (), [0.5, 0.5]), *locals_])
    # Feature by feature the odds are exp(+-900) and more; all together they are even.
    given = {f.name: 30.0 * (-1) ** i for i, f in enumerate(features)}
    assert net.query("ill", given=given)["yes"] == pytest.approx(0.5)
    assert net.query("ill", given={**given, "f0": 31.0})["yes"] == pytest.approx(1.0)


def test_impossible_rows_have_no_posterior():
    net = clinic(sd=(0.0, 0.0))
    schema = cs.Schema(dict(net.variables))
    columns = {
        "ill": np.array([-1, -1], np.int8),
        "drug": np.array([0, 0], np.int8),
        "bp": np.array([120.0, 130.0]),
        "rate": np.array([70.0, 70.0]),
    }
    table = cs.Table(schema, columns)
    np.testing.assert_array_equal(net.posteriors(table, "ill"), [[1.0, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(np.isinf(net.log_likelihood(table)), [False, True])
    unknown = cs.Table(schema, {**columns, "drug": np.array([-1, -1], np.int8)})
    with pytest.raises(ImpossibleEvidenceError, match="row 2 has probability zero"):
        net.posteriors(unknown, "rate")


def test_soft_evidence_comes_out():
    net = clinic()
    given = {"ill": cs.Soft({"no": 0.2, "yes": 0.8}), "bp": 130.0}
    assert net.query("ill", given)["yes"] == pytest.approx(0.8, abs=1e-10)
    p = net.query("drug", given)["some"]
    assert p == pytest.approx(0.2 * 0.1 + 0.8 * 0.6, abs=1e-9)


def test_setting_a_discrete_node_says_nothing_about_its_parents():
    net = clinic().do({"drug": "some"})
    assert net.query("ill")["yes"] == pytest.approx(0.3)
    expected = 5 + 0.45 * (0.7 * 120 + 0.3 * 145)
    assert net.query("rate").mean == pytest.approx(expected)


def test_all_marginals_equal_single_queries():
    net = clinic()
    given = {"rate": 75.0, "drug": cs.Likelihood({"none": 0.2, "some": 0.9})}
    found = net.marginals(given)
    assert list(found) == ["ill", "drug", "bp"]
    assert found["ill"]["yes"] == pytest.approx(net.query("ill", given)["yes"])
    assert found["bp"].mean == pytest.approx(net.query("bp", given).mean)


def test_frequencies_and_means_of_rows_follow_the_network():
    rows = clinic().sample(100_000, seed=4)
    ill, bp = rows.column("ill"), rows.column("bp")
    assert chisquare(np.bincount(ill), [70_000, 30_000]).pvalue > 1e-3
    assert bp[ill == 1].mean() == pytest.approx(145, abs=5 * 12 / math.sqrt(30_000))
    assert bp[ill == 1].std() == pytest.approx(12, rel=0.02)


@pytest.mark.parametrize("seed", range(12))
def test_rows_given_evidence_follow_the_posterior(seed):
    net, given, _ = mixed(seed)
    rows = net.sample(30_000, given=given, seed=seed)
    for name, variable in net.variables.items():
        column, belief = rows.column(name), net.query(name, given)
        if variable.is_continuous:
            error = belief.sd / math.sqrt(30_000)
            assert abs(column.mean() - belief.mean) <= 5 * error + 1e-12
        else:
            frequencies = np.bincount(column, minlength=variable.n_states) / 30_000
            np.testing.assert_allclose(frequencies, belief.values, atol=0.02)


@pytest.mark.parametrize("given", [{}, {"rate": 70.0}, {"drug": "some"}], ids=str)
def test_mixed_rows_do_not_depend_on_the_number_of_threads(given):
    tables = [sample(clinic(), 70_000, given=given, seed=7, threads=n) for n in (1, 3)]
    short = clinic().sample(100, given=given, seed=7)
    for name in clinic().variables:
        np.testing.assert_array_equal(tables[0].column(name), tables[1].column(name))
        np.testing.assert_array_equal(tables[0].column(name)[:100], short.column(name))


def test_the_source_of_a_mixed_network_is_the_source_of_the_rows():
    place, bp = cs.Variable("place", ("rome", "oslo", "new_source")), cs.Variable("bp")
    net = cs.Network.of(
        [
            cs.Categorical(place, (), [0.4, 0.4, 0.2]),
            cs.LinearGaussian(bp, (place,), [100.0, 130.0, 115.0], np.zeros((3, 0)), [1.0] * 3),
        ],
        source="place",
    )
    rows = net.sample(1000, seed=1)
    assert (rows.source, rows.sources) == ("place", ("rome", "oslo"))
    new = net.sample(1000, given={"place": "new_source"}, seed=1)
    assert new.column("bp").mean() == pytest.approx(115, abs=0.2)
    elsewhere = cs.read(
        {"place": ["rome", "kabul"], "bp": [100.0, 115.0]}, source="place", continuous=["bp"]
    )
    expected = [norm.logpdf(0) + math.log(0.4), norm.logpdf(0) + math.log(0.2)]
    np.testing.assert_allclose(net.log_likelihood(elsewhere), expected, rtol=1e-9)
    np.testing.assert_allclose(net.posteriors(elsewhere, "bp"), [[100, 1], [115, 1]], rtol=1e-9)


def test_a_table_without_the_source_sums_it_out():
    place, bp = cs.Variable("place", ("rome", "oslo")), cs.Variable("bp")
    net = cs.Network.of(
        [
            cs.Categorical(place, (), [0.5, 0.5]),
            cs.LinearGaussian(bp, (place,), [100.0, 130.0], np.zeros((2, 0)), [10.0, 10.0]),
        ],
        source="place",
    )
    rows = cs.read({"bp": [115.0, 90.5]})
    expected = math.log(0.5 * 2 * norm.pdf(15, 0, 10))
    assert net.log_likelihood(rows)[0] == pytest.approx(expected)


def test_the_memory_of_a_component_with_many_discrete_parents_is_refused():
    switches = [cs.Variable(f"d{i}", ("0", "1")) for i in range(40)]
    values = [cs.Variable(f"x{i}") for i in range(40)]
    locals_ = [cs.Categorical(d, (), [0.5, 0.5]) for d in switches]
    for i in range(40):
        parents = (switches[i], *values[max(0, i - 1) : i])
        slopes = np.ones((2, len(parents) - 1))
        locals_.append(cs.LinearGaussian(values[i], parents, [0.0, 1.0], slopes, [1.0, 1.0]))
    net = cs.Network.of(locals_)
    with pytest.raises(MemoryLimitError, match="the joint distribution of 'x0', 'x1'"):
        net.query("d0", given={"x39": 1.0})
    assert net.query("x0").n_components == 2
    assert net.query("d5", given={"x4": 1.0, "x5": 2.0})["1"] == pytest.approx(0.5, abs=0.2)


def test_equal_components_of_a_mixture_are_one():
    net = clinic()
    same = cs.LinearGaussian(
        net.variables["bp"], (net.variables["ill"],), [120.0, 120.0], np.zeros((2, 0)), [8.0, 8.0]
    )
    net = cs.Network({**net.distributions, "bp": same})
    assert net.query("bp").n_components == 1


def test_the_most_probable_states_are_not_asked_of_values():
    net = clinic()
    with pytest.raises(InputError, match="map: 'bp' is continuous"):
        net.map(["bp"])


@pytest.mark.parametrize("seed", range(20))
def test_the_most_probable_explanations_equal_enumeration(seed):
    rng = np.random.default_rng(seed)
    net = random_mixed(rng, 6)
    given = random_evidence(rng, net, drawn_row(net, seed), share=0.3)
    found = enumerated(net, given)
    hidden = [i for i, name in enumerate(found["continuous"]) if name not in given]
    best = []
    for codes, log, mean, covariance in zip(
        *(found[key] for key in ("states", "log_weights", "means", "covariances")), strict=True
    ):
        spread = np.linalg.slogdet(2 * np.pi * covariance[np.ix_(hidden, hidden)])[1]
        values = {found["continuous"][i]: mean[i] for i in hidden}
        best.append((log - 0.5 * spread, codes, values))
    best.sort(key=lambda one: -one[0])
    answer = cs.most_probable(net, 3, given)
    assert len(answer) == min(3, len(best))
    for one, (log, codes, values) in zip(answer, best, strict=False):
        assert one.log_probability == pytest.approx(log, abs=1e-9)
        for name, code in zip(found["discrete"], codes, strict=True):
            if name in one:
                assert one[name] == net.variables[name].states[code]
        for name, value in values.items():
            assert one[name] == pytest.approx(value, abs=1e-8)


def test_what_a_question_takes_is_known_beforehand():
    net = clinic()
    assert net.cost("bp", given={"rate": 70.0}).largest_table == 4
    assert net.cost("bp", given={"drug": "none"}).largest_table == 2


def test_an_asked_variable_that_is_known_is_certain():
    belief = clinic().query(["bp", "ill"], given={"bp": 130.0, "ill": "yes"})
    assert belief.discrete.values.tolist() == [0.0, 1.0]
    assert (belief["yes"].mean, belief["yes"].sd) == (130.0, 0.0)
    with pytest.raises(InputError, match="'no' has probability zero"):
        belief["no"]


def test_a_value_that_is_too_far_out_for_a_float_is_impossible():
    with pytest.raises(ImpossibleEvidenceError, match="bp=1e\\+200"):
        clinic().query("ill", given={"bp": 1e200})


@pytest.mark.parametrize("seed", range(10))
def test_the_order_of_the_nodes_does_not_matter(seed):
    net, given, rng = mixed(seed)
    names = rng.permutation(list(net.variables))
    other = cs.Network.of([net.distributions[name] for name in names])
    assert cs.log_probability(other, given) == pytest.approx(cs.log_probability(net, given))
    for name, belief in net.marginals(given).items():
        again = other.query(name, given)
        if net.variables[name].is_continuous:
            assert (again.mean, again.sd) == pytest.approx((belief.mean, belief.sd), abs=1e-9)
        else:
            np.testing.assert_allclose(again.values, belief.values, atol=1e-12)


def test_an_event_is_no_likelihood_and_is_not_given():
    with pytest.raises(InputError, match="likelihoods go to given"):
        clinic().probability({"ill": cs.Likelihood({"no": 1.0})})
    with pytest.raises(InputError, match="'bp' is both in the event and given"):
        clinic().probability({"bp": (1, 2)}, given={"bp": 1.0})
    with pytest.raises(InputError, match="an event says something by variable"):
        clinic().probability(["bp"])
