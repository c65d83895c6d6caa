"""EM in networks with continuous nodes: closed forms, textbook EM, and the law."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import consilience as cs
from consilience.distributions.categorical import proportions
from consilience.errors import DataError
from consilience.incomplete.climbing import Problem, climb as climb_from
from consilience.incomplete.space import Space
from consilience.inference.cases import Cases

COIN = cs.Variable("coin", ("heads", "tails"))


def maximizer(net, gaussian=None):
    """The M-step of maximum likelihood, variances over n."""
    gaussian = cs.MLE(unbiased=False) if gaussian is None else gaussian

    def maximize(counts, moments):
        regressions = gaussian.regress(list(moments.values()))
        local = {one.child.name: one for one in regressions}
        for name, table in counts.items():
            rows = proportions(table.reshape(-1, table.shape[-1])).reshape(table.shape)
            local[name] = cs.Categorical(net[name].child, net[name].given, rows)
        return cs.Network.of([local[name] for name in net.variables], source=net.source)

    return maximize


class Climbed(NamedTuple):
    net: cs.Network
    objective: list[float]
    stopped_by: str
    has_fallen: bool
    counts: dict[str, np.ndarray]
    moments: dict[str, cs.Moments]


def climb(
    net,
    table,
    *,
    iterations=500,
    tolerance=1e-10,
    accelerate=True,
    maximize=None,
    log_prior=lambda _: 0.0,
    tell=lambda *_: None,
    apart=(),
):
    """EM from this network, with every missing value filled as textbooks do."""
    cases = Cases.of(net, table, apart=apart, keeps_barren=True)
    space, step = Space(net, cases), maximize or maximizer(net)
    space.refuse_collapse(net.regressions)

    def to_vector(expected):
        found = step(cases.layout.split(expected.counts), expected.moments)
        space.refuse_collapse(found.regressions)
        return space.of_network(found)

    at = climb_from(
        Problem(space, to_vector, log_prior),
        space.of_network(net),
        iterations=iterations,
        tolerance=tolerance,
        accelerate=accelerate,
        tell=tell,
    )
    counts = cases.layout.split(at.expected.counts)
    theta, regressions = space.split(at.vector)
    tables = cases.layout.split(theta)
    found = cs.Network.of(
        [
            regressions[name] if name in regressions else local.with_parameters(tables[name])
            for name, local in net.distributions.items()
        ],
        source=net.source,
    )
    return Climbed(found, at.objective, at.stopped_by, at.has_fallen, counts, at.expected.moments)


def joint(net):
    """Mean and covariance of a network of regressions, in the order of its nodes."""
    names = list(net.variables)
    a, v = np.array([(net[n].intercept, net[n].variance) for n in names]).T
    B = np.zeros((len(names), len(names)))
    for i, name in enumerate(names):
        for parent, slope in zip(net[name].parents, net[name].coefficients, strict=True):
            B[i, names.index(parent)] = slope
    inverse = np.linalg.inv(np.eye(len(names)) - B)
    return inverse @ a, inverse @ np.diag(v) @ inverse.T


def complete_graph(mean, covariance):
    """The network of a normal distribution in which each node has all before it as parents."""
    variables = [cs.Variable(f"x{i}") for i in range(len(mean))]
    local = []
    for i, child in enumerate(variables):
        slopes = np.linalg.solve(covariance[:i, :i], covariance[:i, i])
        left = covariance[i, i] - slopes @ covariance[:i, i]
        intercept = mean[i] - slopes @ mean[:i]
        local.append(cs.LinearGaussian(child, variables[:i], intercept, slopes, left**0.5))
    return cs.Network.of(local)


def textbook_step(values, mean, covariance):
    """One step of the EM for a normal sample of Little and Rubin, a row at a time."""
    n, d = values.shape
    total, products = np.zeros(d), np.zeros((d, d))
    for row in values:
        m = np.isnan(row)
        filled, extra = row.copy(), np.zeros((d, d))
        if m.any():
            gain = covariance[np.ix_(m, ~m)] @ np.linalg.inv(covariance[np.ix_(~m, ~m)])
            filled[m] = mean[m] + gain @ (row[~m] - mean[~m])
            extra[np.ix_(m, m)] = covariance[np.ix_(m, m)] - gain @ covariance[np.ix_(~m, m)]
        total += filled
        products += np.outer(filled, filled) + extra
    mean = total / n
    return mean, products / n - np.outer(mean, mean)


def normal_rows(seed, n=40, d=4, share=0.25):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)
    values[rng.random((n, d)) < share] = np.nan
    variables = {f"x{i}": cs.Variable(f"x{i}") for i in range(d)}
    columns = {f"x{i}": values[:, i] for i in range(d)}
    return values, cs.Table(cs.Schema(variables), columns)


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_steps_are_those_of_the_textbook(steps):
    values, table = normal_rows(1)
    mean, covariance = np.nanmean(values, axis=0), np.diag(np.nanvar(values, axis=0))
    start = complete_graph(mean, covariance)
    for _ in range(steps):
        mean, covariance = textbook_step(values, mean, covariance)
    found = climb(start, table, iterations=steps, accelerate=False)
    assert len(found.objective) == steps + 1
    np.testing.assert_allclose(joint(found.net)[0], mean, rtol=1e-9)
    np.testing.assert_allclose(joint(found.net)[1], covariance, rtol=1e-8, atol=1e-10)


def test_acceleration_ends_where_the_textbook_does_in_fewer_steps():
    values, table = normal_rows(1, n=60, d=3, share=0.4)
    mean, covariance = np.nanmean(values, axis=0), np.diag(np.nanvar(values, axis=0))
    start = complete_graph(mean, covariance)
    for _ in range(250):
        mean, covariance = textbook_step(values, mean, covariance)
    fast = climb(start, table, tolerance=1e-13)
    slow = climb(start, table, tolerance=1e-13, accelerate=False)
    np.testing.assert_allclose(joint(fast.net)[0], mean, rtol=1e-4)
    np.testing.assert_allclose(joint(fast.net)[1], covariance, rtol=1e-4)
    assert len(fast.objective) < 0.5 * len(slow.objective)
    assert fast.objective[-1] >= slow.objective[-1] - 1e-6
    assert fast.stopped_by == slow.stopped_by == "tolerance"


@pytest.mark.parametrize("parent", ["x", "y"])
def test_two_variables_with_nested_gaps_have_the_closed_form(parent):
    rng = np.random.default_rng(3)
    x = rng.normal(10.0, 2.0, 60)
    y = 1.0 + 0.5 * x + rng.normal(size=60)
    y[x > 11.0] = np.nan
    known = ~np.isnan(y)
    table = cs.read({"x": x, "y": y}, continuous=["x", "y"])
    child = "y" if parent == "x" else "x"
    one, other = cs.Variable(parent), cs.Variable(child)
    start = cs.Network.of(
        [cs.LinearGaussian(one, (), 0, [], 9), cs.LinearGaussian(other, (one,), 0, [0], 9)]
    )
    found = climb(start, table, iterations=2_000, tolerance=1e-15)
    slope = np.cov(x[known], y[known], bias=True)[0, 1] / x[known].var()
    left = y[known].var() - slope**2 * x[known].var()
    mean = y[known].mean() + slope * (x.mean() - x[known].mean())
    names = list(found.net.variables)
    at = [names.index("x"), names.index("y")]
    means, covariance = (part[..., at] for part in joint(found.net))
    np.testing.assert_allclose(means, [x.mean(), mean], rtol=1e-5)
    expected = [[x.var(), slope * x.var()], [slope * x.var(), left + slope**2 * x.var()]]
    np.testing.assert_allclose(covariance[at], expected, rtol=1e-4)


def test_a_hidden_coin_is_the_mixture_of_two_normals():
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.normal(-2, 1, 40), rng.normal(3, 0.5, 30)])
    share, means, sds = np.array([0.5, 0.5]), np.array([-1.0, 1.0]), np.array([1.0, 1.0])
    start = cs.Network.of(
        [
            cs.Categorical(COIN, (), share),
            cs.LinearGaussian(cs.Variable("x"), (COIN,), means, np.zeros((2, 0)), sds),
        ]
    )
    found = climb(start, cs.read({"x": x}), iterations=5, tolerance=1e-14, accelerate=False)
    for _ in range(5):
        weight = share * np.exp(-0.5 * ((x[:, None] - means) / sds) ** 2) / sds
        weight /= weight.sum(axis=1, keepdims=True)
        share, total = weight.mean(axis=0), weight.sum(axis=0)
        means = (weight * x[:, None]).sum(axis=0) / total
        sds = np.sqrt((weight * (x[:, None] - means) ** 2).sum(axis=0) / total)
    np.testing.assert_allclose(found.net["coin"].table, share, rtol=1e-10)
    np.testing.assert_allclose(found.net["x"].intercept, means, rtol=1e-10)
    np.testing.assert_allclose(found.net["x"].sd, sds, rtol=1e-10)


def test_complete_rows_need_one_step_to_the_plain_fit():
    _, table = normal_rows(5, share=0.0)
    start = complete_graph(np.zeros(4), np.eye(4))
    found = climb(start, table, accelerate=False)
    plain = cs.fit(start.dag, table, cs.MLE(unbiased=False))
    assert len(found.objective) == 3  # the start, the fit, and one more that changes nothing
    for name in plain.variables:
        np.testing.assert_allclose(
            found.net[name].parameters, plain[name].parameters, rtol=1e-10, atol=1e-10
        )


def random_network(rng, n):
    """A network of both kinds with regular tables, so that no joint state is nearly empty."""
    variables = [COIN, cs.Variable("x0")]
    for i in range(1, n):
        is_coin = rng.random() < 0.35
        variables.append(cs.Variable(f"c{i}", ("a", "b")) if is_coin else cs.Variable(f"x{i}"))
    local = []
    for i, child in enumerate(variables):
        parents = [v for v in variables[:i] if rng.random() < 0.5]
        if not child.is_continuous:
            parents = [v for v in parents if not v.is_continuous]
            table = rng.dirichlet(np.full(child.n_states, 8.0), [v.n_states for v in parents])
            local.append(cs.Categorical(child, parents, table))
            continue
        sizes = [v.n_states for v in parents if not v.is_continuous]
        n_slopes = sum(v.is_continuous for v in parents)
        numbers = rng.normal(size=sizes), rng.normal(size=(*sizes, n_slopes))
        local.append(cs.LinearGaussian(child, parents, *numbers, rng.uniform(0.3, 2.0, sizes)))
    return cs.Network.of(local)


def with_gaps(table, rng, share):
    columns = {}
    for name, column in table.columns.items():
        gap = np.nan if column.dtype == float else -1
        gaps = rng.random(table.n_rows) < share * rng.uniform(0, 2)
        columns[name] = np.where(gaps, gap, column).astype(column.dtype)
    return cs.Table(table.schema, columns)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 5),
    share=st.floats(0.05, 0.5),
    accelerate=st.booleans(),
)
def test_the_likelihood_never_falls(seed, n, share, accelerate):
    rng = np.random.default_rng(seed)
    net = random_network(rng, n)
    table = with_gaps(net.sample(150, seed=seed), rng, share)
    start = random_network(np.random.default_rng(seed), n)
    maximize, fewest = maximizer(start), []

    def watched(counts, moments):
        fewest.extend(one.weight.min() - len(one.names) for one in moments.values())
        return maximize(counts, moments)

    found = climb(start, table, iterations=20, maximize=watched, accelerate=accelerate)
    assume(min(fewest) > 0)  # too few rows are tied, which cs.em does with one objective
    objective = np.array(found.objective)
    assert not found.has_fallen
    assert (np.diff(objective) >= -1e-9 * np.abs(objective[1:])).all()
    assert objective[-1] == pytest.approx(found.net.log_likelihood(table).sum(), rel=1e-9)


def test_a_far_away_origin_changes_nothing_but_the_intercepts():
    values, table = normal_rows(6, share=0.3)
    columns = {n: np.round(c * 2**20) / 2**20 for n, c in table.columns.items()}
    moved = {n: c + 1e8 for n, c in columns.items()}
    spread = np.diag(np.nanvar(values, axis=0))
    near, far = (
        climb(
            complete_graph(np.nanmean(values, axis=0) + shift, spread),
            cs.Table(table.schema, rows),
            iterations=30,
            accelerate=False,
        )
        for shift, rows in ((0.0, columns), (1e8, moved))
    )
    np.testing.assert_allclose(far.objective, near.objective, rtol=1e-7)
    for name in near.net.variables:
        np.testing.assert_allclose(
            far.net[name].coefficients, near.net[name].coefficients, rtol=1e-5, atol=1e-6
        )
        assert far.net[name].sd == pytest.approx(near.net[name].sd, rel=1e-6)


def of_coin(sds):
    line = cs.LinearGaussian(cs.Variable("x"), (COIN,), [0, 5], np.zeros((2, 0)), sds)
    return cs.Network.of([cs.Categorical(COIN, (), [0.5, 0.5]), line])


def test_a_hidden_state_that_explains_equal_values_is_tied_to_the_others():
    rng = np.random.default_rng(7)
    x = np.concatenate([np.full(12, 0.125), rng.normal(5.0, 1.0, 30)])
    assert (climb(of_coin([0.5, 1.0]), cs.read({"x": x})).net["x"].sd > 0).all()


def test_a_state_without_a_residual_sd_is_refused_by_name():
    with pytest.raises(DataError, match="'x' given 'coin' = 'heads' is 0") as caught:
        climb(of_coin([0.0, 1.0]), cs.read({"x": np.linspace(0.0, 5.0, 20)}))
    assert caught.value.culprits["variable"] == "x"


def test_a_column_that_is_a_function_of_another_is_refused():
    x = np.random.default_rng(8).normal(size=50)
    y = 2.0 * x
    y[::3] = np.nan
    one, other = cs.Variable("x"), cs.Variable("y")
    start = cs.Network.of(
        [cs.LinearGaussian(one, (), 0, [], 1), cs.LinearGaussian(other, (one,), 0, [0], 1)]
    )
    with pytest.raises(DataError, match="residual sd of 'y' is "):
        climb(start, cs.read({"x": x, "y": y}), iterations=10_000, tolerance=1e-15)


def test_a_constant_column_is_refused():
    start = complete_graph(np.zeros(1), np.eye(1))
    with pytest.raises(DataError, match="'x0' is 0"):
        climb(start, cs.read({"x0": [2.5, 2.5, None, 2.5]}, continuous=["x0"]))


def mixed_rows(rng):
    """A few rows of states that may be rare and numbers that may be equal, with gaps."""
    n = int(rng.integers(8, 50))
    columns = {}
    for i in range(int(rng.integers(1, 4))):
        shares = rng.dirichlet(np.full(3, 0.7))
        columns[f"g{i}"] = np.array(["a", "b", "c"], object)[rng.choice(3, n, p=shares)]
    for i in range(int(rng.integers(1, 4))):
        values = rng.normal(size=n)
        columns[f"x{i}"] = np.round(values) if rng.random() < 0.3 else values
    for column in columns.values():
        column[rng.random(n) < rng.uniform(0, 0.5)] = None if column.dtype == object else np.nan
    return columns


def random_arcs(rng, nodes):
    return [(a, b) for i, a in enumerate(nodes) for b in nodes[i + 1 :] if rng.random() < 0.5]


@given(
    seed=st.integers(0, 10**6),
    estimator=st.sampled_from(
        [cs.MLE(), cs.MLE(unbiased=False), cs.Dirichlet(ess=1), cs.Separate(cs.MLE()), None]
    ),
    has_hidden=st.booleans(),
)
def test_the_objective_never_falls_on_any_mixed_table(seed, estimator, has_hidden):
    rng = np.random.default_rng(seed)
    columns = mixed_rows(rng)
    nodes = list(columns)
    arcs = random_arcs(rng, nodes)
    arcs += [("h", node) for node in nodes] if has_hidden else []
    if isinstance(estimator, cs.Separate):
        columns["s"] = np.array(["p", "q"])[rng.integers(0, 2, len(columns["x0"]))]
    try:
        table = cs.read(
            columns,
            discrete=[name for name in nodes if name[0] == "g"],
            continuous=[name for name in nodes if name[0] == "x"],
            source="s" if "s" in columns else None,
        )
        dag, hidden = cs.DAG(arcs, nodes=nodes), {"h": 2} if has_hidden else None
        choice = cs.EM(iterations=15, restarts=0)
        story = cs.em(dag, table, estimator, hidden=hidden, choice=choice, seed=seed)
    except DataError:  # fewer rows than coefficients, or constant values, in all states together
        assume(False)
    steps = np.diff(story.objective)
    assert (steps >= -1e-9 * (1 + np.abs(story.objective[1:]))).all()
    assert np.isfinite(story.log_likelihood)


def test_the_objective_is_the_likelihood_and_what_the_tied_states_lack():
    x = np.random.default_rng(3).normal(size=25)
    table = cs.read({"coin": ["heads"] * 23 + ["tails"] + [None], "x": x})
    story = cs.em(cs.DAG([("coin", "x")]), table, cs.MLE(unbiased=False))
    local = story.network["x"]
    # Tails is joined by two rows like the average one: mean and variance of all x.
    away = (x.mean() - local.intercept[1]) ** 2 + x.var()
    reached = -np.log(local.sd[1]) - 0.5 * away / local.variance[1]
    highest = -np.log(x.std()) - 0.5
    assert story.objective[-1] == pytest.approx(
        story.log_likelihood + 2 * (reached - highest), abs=1e-6
    )
    assert any("joined by rows" in note for note in story.network.record.notes)


def test_hidden_states_of_few_values_are_tied_and_not_refused():
    rng = np.random.default_rng(7)
    x = np.concatenate([np.full(12, 0.125), rng.normal(5.0, 1.0, 30)])
    story = cs.em(cs.DAG([("coin", "x")]), cs.read({"x": x}), cs.MLE(), hidden={"coin": 2})
    assert (np.diff(story.objective) >= -1e-9).all()
    assert (story.network["x"].sd > 0.1).all()


def test_a_state_without_spread_is_no_obstacle_to_gaps():
    dose = np.array([0.0] * 30 + [1.0, 2.0, 1.5, 2.5, 3.0] * 4)
    effect = dose + np.random.default_rng(1).normal(size=50)
    effect[::7] = np.nan
    table = cs.read({"arm": ["none"] * 30 + ["drug"] * 20, "dose": dose, "effect": effect})
    net = cs.fit(cs.DAG([("arm", "dose"), ("dose", "effect")]), table, cs.MLE())
    none, drug = net["dose"].sd
    assert 0 < none < 0.5 * drug
    assert net["dose"].intercept[0] == pytest.approx(0, abs=0.1)


def test_an_interrupt_keeps_what_was_reached():
    _, table = normal_rows(9)
    start = complete_graph(np.zeros(4), np.eye(4))
    maximize, calls = maximizer(start), []

    def interrupted(counts, moments):
        calls.append(1)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return maximize(counts, moments)

    found = climb(start, table, maximize=interrupted, accelerate=False)
    assert found.stopped_by == "interrupt"
    assert len(found.objective) == 4


def test_steps_are_told_with_their_number_and_objective():
    _, table = normal_rows(10)
    told = []
    found = climb(
        complete_graph(np.zeros(4), np.eye(4)),
        table,
        iterations=6,
        accelerate=False,
        tolerance=1e-15,
        tell=lambda *step: told.append(step),
    )
    assert told == list(enumerate(found.objective))[1:]
    assert found.stopped_by == "iterations"


def test_a_prior_is_part_of_the_objective():
    _, table = normal_rows(11)
    start = complete_graph(np.zeros(4), np.eye(4))
    plain, with_prior = (
        climb(start, table, iterations=3, log_prior=lambda _, extra=extra: extra)
        for extra in (0.0, 5.0)
    )
    np.testing.assert_allclose(np.subtract(with_prior.objective, plain.objective), 5.0)


def test_an_estimator_without_an_objective_stops_when_the_parameters_rest():
    rng = np.random.default_rng(12)
    place = np.repeat(["oslo", "rome"], 60)
    x = rng.normal(size=120)
    y = x + np.where(place == "oslo", 0.0, 1.0) + rng.normal(size=120)
    y[rng.random(120) < 0.3] = np.nan
    table = cs.read({"place": place, "x": x, "y": y}, source="place", continuous=["x", "y"])
    start = cs.fit(
        cs.DAG([("x", "y")]),
        table.take(~np.isnan(y)),
        gaussian=cs.estimators.HierarchicalGaussian(),
    )
    regress = maximizer(start, cs.estimators.HierarchicalGaussian())

    def maximize(counts, moments):
        net = regress(counts, moments)
        local = {**net.distributions, "place": start["place"]}
        return cs.Network(local, source="place")

    found = climb(
        start,
        table,
        iterations=200,
        tolerance=1e-8,
        maximize=maximize,
        log_prior=None,
        apart=["x", "y"],
    )
    assert found.stopped_by == "tolerance"
    difference = found.net["y"].intercept[1] - found.net["y"].intercept[0]
    assert difference == pytest.approx(1.0, abs=0.4)


@pytest.mark.data
@pytest.mark.parametrize("estimator", [cs.MLE(), cs.Dirichlet(ess=5)], ids=repr)
@pytest.mark.parametrize("hospital", ["cleveland", "hungarian", "switzerland", "va"])
def test_the_objective_never_falls_on_the_hearts_of_a_hospital(data_dir, hospital, estimator):
    numbers = ["age", "trestbps", "thalach", "oldpeak"]
    states = ["sex", "cp", "fbs", "exang", "slope", "num"]
    table = cs.read(
        data_dir / "heart" / f"{hospital}.csv", source="source", continuous=numbers, discrete=states
    ).select([*states, *numbers])
    arcs = [("num", name) for name in (*states[:-1], *numbers)]
    arcs += [("slope", name) for name in numbers] + [("cp", "trestbps"), ("age", "thalach")]
    story = cs.em(cs.DAG([*arcs, ("sex", "age")]), table, estimator, choice=cs.EM(iterations=60))
    steps = np.diff(story.objective)
    assert (steps >= -1e-9 * (1 + np.abs(story.objective[1:]))).all()
    assert not any("Rounding" in note for note in story.network.record.notes)
