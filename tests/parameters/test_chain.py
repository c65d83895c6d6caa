from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import psi

import consilience as cs
from consilience.errors import InputError, MemoryLimitError
from consilience.kernels.chain import begin, digamma_rise, fit_order, settle
from consilience.parameters import backoff, chain
from consilience.parameters.chain import HDC
from consilience.statistics.counts import FIXED_POINT, Counts


def variable(name, n_states):
    return cs.Variable(name, tuple(f"{name}{i}" for i in range(n_states)))


def family(numbers, *, source=True, names="abcde", child="x"):
    """Counts from numbers of shape (sources if there are any, states of each parent..., states)."""
    numbers = np.asarray(numbers, float)
    given = [variable(name, n) for name, n in zip(names, numbers.shape[source:-1], strict=False)]
    first = variable("f", len(numbers)) if source else None
    table = numbers.reshape(len(numbers) if source else 1, -1, numbers.shape[-1])
    is_whole = np.all(table == np.round(table))
    scale = 1 if is_whole else FIXED_POINT
    table = np.round(table * scale).astype(np.int64)
    return Counts(variable(child, table.shape[-1]), given, first, table, table.sum((1, 2)), scale)


def estimate(numbers, **options):
    [local] = HDC().estimate([family(numbers, **options)])
    return local.table


def random_counts(seed, shape, n_rows, spread=1.0):
    """Rows of a random table whose distributions scatter around a common one."""
    rng = np.random.default_rng(seed)
    base = rng.dirichlet(np.ones(shape[-1]))
    rows = rng.dirichlet(base * 5 / spread + 0.05, size=shape[:-1])
    cells = rows * rng.dirichlet(np.full(rows[..., 0].size, 2.0)).reshape(*shape[:-1], 1)
    return rng.multinomial(n_rows, cells.ravel() / cells.sum()).reshape(shape).astype(float)


def fit(numbers, order, rho=0.5, *, s=None, n_rounds=5000, tolerance=1e-12):
    """One order by the kernel: concentrations, means by level, predictions with one left out."""
    numbers = np.asarray(numbers, float)
    sizes, r = numbers.shape[:-1], numbers.shape[-1]
    way = backoff.way_of(sizes, [backoff.OTHER_PARENT] * len(sizes), order, rho)
    n_levels = len(sizes) + 1
    least = np.full(n_levels, 1e-3) if s is None else np.array([1.0, *s])
    most = np.full(n_levels, 1e6) if s is None else least
    first, rows = np.full(n_levels, 5.0), numbers.reshape(-1, r)
    mean, weight = begin(rows, way.up, way.start, way.rho, first)
    found, left_out = fit_order(
        rows,
        way.up,
        way.start,
        way.rho,
        np.full(n_levels, 4.0),
        np.full(n_levels, 0.1),
        least,
        most,
        first,
        mean,
        weight,
        n_rounds,
        tolerance,
    )
    return found, np.split(mean, way.start[1:-1]), left_out


def fit_by_default(numbers, order, rho):
    """One order of a family whose first axis is the source, under the priors of ``HDC()``."""
    sizes, kinds = numbers.shape[:-1], [backoff.SOURCE, *[backoff.OTHER_PARENT] * 3]
    way = backoff.way_of(sizes, kinds, order, rho)
    rows, priors = numbers.reshape(-1, numbers.shape[-1]), chain.Priors.of(HDC())
    first = np.full(len(way.kinds), chain.FIRST_S)
    s, mean, left_out = chain._fitted(chain._Chain(rows, [way]), way, priors, first)
    return s, np.split(mean, way.start[1:-1]), left_out


def plain_fit(numbers, order, rho, n_rounds):
    """The equations of one order on whole arrays: dropped axes keep length one and broadcast."""
    r, k = numbers.shape[-1], len(order)
    n = [np.zeros(0)] * k + [numbers]
    axes = [order[k - level] for level in range(1, k + 1)]  # dropped between level and level - 1
    shapes = [numbers.shape]
    for axis in order:
        shapes.insert(0, tuple(1 if i == axis else d for i, d in enumerate(shapes[0])))
    mean = [np.full(shape, 1 / r) for shape in shapes]
    w = [np.ones((*shape[:-1], 1)) for shape in shapes]
    s = np.full(k + 1, 5.0)
    for _ in range(n_rounds):
        for level in range(k, 0, -1):
            c = s[level] * w[level] * mean[level - 1]
            tables = np.where(n[level] > 0, c * (psi(c + n[level]) - psi(c)), 0.0)
            n[level - 1] = tables.sum(axis=axes[level - 1], keepdims=True)
        totals = [customers.sum(axis=-1, keepdims=True) for customers in n]
        w = [(total + 1) ** rho / ((total + 1) ** rho).mean() for total in totals]
        mean[0] = (n[0] + 1) / (totals[0] + r)
        for level in range(1, k + 1):
            a = s[level] * w[level]
            mean[level] = (n[level] + a * mean[level - 1]) / (totals[level] + a)
            rise = (w[level] * (psi(a + totals[level]) - psi(a))).sum()
            s[level] = np.clip((4 + n[level - 1].sum()) / (0.1 + rise), 1e-3, 1e6)
    return s, mean


def cvb0(counts, s):
    """Collapsed variational Bayes of one table (groups, states): E[a] and E[theta]."""
    r = counts.shape[1]
    tables = (counts > 0).sum(axis=0).astype(float)
    for _ in range(2000):
        c = s * (1 + tables) / (r + tables.sum())
        tables = np.where(counts > 0, c * (psi(c + counts) - psi(c)), 0.0).sum(axis=0)
    a = (1 + tables) / (r + tables.sum())
    return a, (counts + s * a) / (counts.sum(axis=1, keepdims=True) + s)


@given(c=st.floats(1e-6, 1e7), n=st.floats(1e-3, 1e7) | st.integers(0, 40).map(float))
def test_the_rise_of_digamma_is_a_difference(c, n):
    # The difference itself loses digits where n is much smaller than c.
    rounding = 1e-15 * (abs(psi(c + n)) + abs(psi(c)))
    assert digamma_rise(c, n) == pytest.approx(psi(c + n) - psi(c), rel=1e-13, abs=4 * rounding)


@given(seed=st.integers(0, 10_000), s=st.floats(0.05, 200.0))
def test_one_variable_with_fixed_strength_is_collapsed_variational_bayes(seed, s):
    counts = random_counts(seed, (4, 3), 40)
    _, (a, theta), _ = fit(counts, (0,), rho=0.0, s=[s], n_rounds=4000, tolerance=0.0)
    expected_a, expected_theta = cvb0(counts, s)
    np.testing.assert_allclose(a[0], expected_a, rtol=0, atol=1e-12)
    np.testing.assert_allclose(theta, expected_theta, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("order", "rho"), list(zip(permutations(range(3)), (0.5, 1.0) * 3, strict=True))
)
def test_one_order_solves_the_equations(order, rho):
    counts = random_counts(sum(order[:2]), (2, 3, 2, 3), 150)
    counts[0, 1] *= 0.3
    s, means, _ = fit(counts, order, rho)
    plain_s, plain_means = plain_fit(counts, order, rho, n_rounds=2000)
    np.testing.assert_allclose(s[1:], plain_s[1:], rtol=1e-6)
    for mean, plain in zip(means, plain_means, strict=True):
        np.testing.assert_allclose(mean.ravel(), plain.ravel(), atol=1e-8)


def test_newton_steps_reach_the_fixed_point_that_200_plain_rounds_do_not():
    counts = random_counts(0, (2, 4, 4), 4000, spread=0.01)
    _, means, _ = fit(counts, (0, 1), n_rounds=200, tolerance=1e-6)
    _, early = plain_fit(counts, (0, 1), 0.5, n_rounds=200)
    _, late = plain_fit(counts, (0, 1), 0.5, n_rounds=3000)
    assert np.abs(means[-1].ravel() - late[-1].ravel()).max() < 1e-6
    assert np.abs(early[-1] - late[-1]).max() > 1e-3


def test_leaving_one_out_is_close_to_fitting_without_it():
    errors = []
    for seed in range(12):
        counts = random_counts(seed, (2, 3, 3), 20)
        s, _, left_out = fit(counts, (0, 1), rho=0.0)
        for cell in np.argwhere(counts):
            rest = counts.copy()
            rest[tuple(cell)] -= 1
            _, means, _ = fit(rest, (0, 1), rho=0.0, s=s[1:])
            at = np.ravel_multi_index(cell, counts.shape)
            errors.append(abs(left_out.ravel()[at] - means[-1].ravel()[at]))
    # What is not followed is how the means of the levels above change the tables in turn.
    assert np.max(errors) < 0.0075
    assert np.quantile(errors, 0.95) < 0.005


def test_leaving_one_out_of_a_single_row_is_exact():
    _, _, left_out = fit(np.array([3.0, 1.0, 0.0, 0.4]), ())
    np.testing.assert_allclose(left_out, [[3 / 7.4, 1 / 7.4, 1, 1 / 8]])


def test_what_is_left_out_of_less_than_one_count_is_all_of_it():
    counts = random_counts(3, (2, 3, 3), 25) * 0.03
    s, _, left_out = fit(counts, (0, 1), rho=0.0)
    i, x = np.argwhere(counts.reshape(-1, 3) > 0)[0]
    counts.reshape(-1, 3)[i, x] = 0
    _, means, _ = fit(counts, (0, 1), rho=0.0, s=s[1:])
    assert left_out[i, x] == pytest.approx(means[-1][i, x], abs=1e-3)


def test_sources_that_agree_lean_on_each_other_more_than_sources_that_differ():
    row = np.array([60.0, 25.0, 10.0, 5.0])
    same = np.stack([row] * 6)
    mixed = np.stack([np.roll(row, shift) for shift in range(4)])
    drawn = np.random.default_rng(1).multinomial(100, row / 100, size=6).astype(float)
    s_same, s_mixed, s_drawn = (fit(counts, (0,))[0][1] for counts in (same, mixed, drawn))
    assert s_mixed < 10 < 50 < s_drawn < s_same


def test_a_node_without_parents_and_sources_counts_one_more_of_each_state():
    np.testing.assert_allclose(estimate([5, 0, 2], source=False), [6 / 10, 1 / 10, 3 / 10])


def test_agreeing_sources_are_pooled_and_disagreeing_ones_kept_apart():
    agree = estimate([[40, 10], [4, 1], [0, 2]])
    differ = estimate([[4000, 10], [10, 4000], [2, 2000]])
    assert 0.5 < agree[2, 0] < agree[1, 0]
    np.testing.assert_allclose(differ[:3, 0], [0.9975, 0.0025, 0.001], atol=2e-3)


@pytest.mark.parametrize("n_parents", [0, 1, 2, 3])
def test_a_source_never_seen_is_a_source_without_rows(n_parents):
    counts = random_counts(n_parents, (4, *(2, 3, 2)[:n_parents], 3), 200)
    counts[2] = 0
    table = estimate(counts)
    assert table.shape[0] == 5
    np.testing.assert_allclose(table[4], table[2], rtol=1e-12)


def test_a_new_source_is_a_blend_of_the_base_and_all_rows_in_orders_that_drop_the_source_first():
    counts = random_counts(4, (3, 2, 3), 60)
    tables, base, together, scores = [], [], [], []
    for order in ((0, 1), (1, 0)):
        for rho in chain.RHOS:
            s, means, left_out = fit_by_default(counts, order, rho)
            tables.append(means[-1])
            scores.append((counts.reshape(-1, 3) * np.log(left_out)).sum())
            if order[0] == 0:
                pooled = counts.sum(axis=0)
                base.append(means[1])
                total = pooled.sum(axis=1, keepdims=True)
                together.append((pooled + s[1] * means[0]) / (total + s[1]))
    weights = np.exp(scores - np.max(scores))
    weights /= weights.sum()
    assert weights.min() > chain.LEAST_WEIGHT
    first = np.append(weights[:2] / weights[:2].sum(), [0.0, 0.0])
    n = counts.sum((1, 2))
    own = (n / (n + 6))[:, None]  # two parent states of three states
    by_source = own * weights + (1 - own) * first  # (sources, ways)
    seen = np.einsum("fw,wfjx->fjx", by_source, np.array(tables).reshape(4, 3, 2, 3))
    [fitted] = chain.fitted_chains([family(counts)], HDC())
    share = fitted.pooled_share
    blend = (1 - share) * np.array(base) + share * np.array(together)
    expected = np.concatenate([seen, np.tensordot(first[:2], blend, axes=1)[None]])
    np.testing.assert_allclose(estimate(counts), expected, atol=1e-12)
    assert 0 < share < 1


def test_sources_are_tied_alike_however_many_rows_they_have():
    for order in ((0, 1), (1, 0)):
        way = backoff.way_of((3, 2), [backoff.SOURCE, backoff.OTHER_PARENT], order, 1.0)
        assert way.rho[1:].tolist() == [float(kind != backoff.SOURCE) for kind in way.kinds[1:]]
    counts = np.array([[1400.0, 600.0], [2, 18], [3, 17]])
    [fitted] = chain.fitted_chains([family(counts[:, None])], HDC())
    [way] = fitted.ways
    *_, weight, _ = settle(counts, way.up, way.start, way.rho, fitted.s[0], 500, 1e-9)
    np.testing.assert_array_equal(weight, 1.0)


def test_a_source_with_one_row_leans_on_what_the_others_say_of_the_parent_state():
    rng = np.random.default_rng(1)
    parent = rng.integers(0, 2, 400)
    child = np.where(rng.random(400) < 0.95, parent, 1 - parent)
    source = np.array([*np.repeat(["a", "b", "c"], 133), "tiny"])
    columns = {"pa": parent.astype(str), "x": child.astype(str), "f": source}
    net = cs.fit(cs.DAG([("pa", "x")]), cs.read(columns, source="f"))
    tiny, new = (net.variables["f"].discrete_states.index(f) for f in ("tiny", "new_source"))
    assert np.abs(net["x"].table[tiny] - net["x"].table[new]).max() < 0.12


def test_a_new_source_follows_the_sources_where_one_large_source_is_unlike_them():
    rows = {f"h{i}": {"x": ["yes"] + ["no"] * 99} for i in range(30)}
    rows["large"] = {"x": ["yes"] * 5000 + ["no"] * 5000}
    net = cs.fit(cs.DAG(nodes=["x"]), cs.read(rows))
    low, high = cs.estimators.parameter_intervals(net, "x", level=0.9)
    assert net["x"].table[-1, 0] < 0.06
    assert low[-1, 0] < net["x"].table[-1, 0] < high[-1, 0]


def test_fits_of_little_weight_are_left_out(monkeypatch):
    counts = random_counts(4, (3, 2, 3), 60)
    everything = estimate(counts)
    monkeypatch.setattr(chain, "LEAST_WEIGHT", 0.3)
    assert not np.allclose(estimate(counts), everything, atol=1e-6)


shapes = st.sampled_from([(2, 3), (3, 2, 2), (2, 2, 3, 3), (20, 2, 2), (1, 3, 2), (2, 2, 2, 2, 2)])


@given(shape=shapes, seed=st.integers(0, 10_000), n_rows=st.integers(0, 300))
def test_order_of_sources_parents_and_states_does_not_matter(shape, seed, n_rows):
    counts = random_counts(seed, shape, n_rows)
    table = estimate(counts)
    rng = np.random.default_rng(seed)
    sources, states = rng.permutation(shape[0]), rng.permutation(shape[-1])
    np.testing.assert_allclose(
        estimate(counts[sources][..., states]),
        table[np.append(sources, shape[0])][..., states],
        rtol=0,
        atol=1e-10,
    )
    swap = (0, *range(len(shape) - 2, 0, -1), len(shape) - 1)
    names = "abcde"[: len(shape) - 2][::-1]
    swapped = estimate(counts.transpose(swap), names=names)
    np.testing.assert_allclose(swapped, table.transpose(swap), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "counts",
    [
        np.zeros((3, 2, 4)),
        np.full((2, 3, 1), 5.0),
        random_counts(1, (1, 3, 3), 50),
        random_counts(2, (20, 2, 3), 40),
        random_counts(3, (2, 2, 3), 10) * 1_000_000,
        random_counts(4, (3, 2, 3), 60) * 0.37,
        np.where(random_counts(5, (3, 2, 3), 60) > 4, 1e-6, 0),
        random_counts(6, (2, 2, 2, 2, 2, 2), 100),
    ],
    ids=[
        "none",
        "one state",
        "one source",
        "20 sources",
        "millions",
        "parts",
        "specks",
        "5 parents",
    ],
)
@pytest.mark.parametrize("source", [True, False])
def test_every_table_gives_positive_distributions(counts, source):
    table = estimate(counts, source=source)
    assert table.shape == (counts.shape[0] + source, *counts.shape[1:])
    assert np.all(table > 0)
    np.testing.assert_allclose(table.sum(axis=-1), 1, rtol=1e-12)


def test_without_rows_everything_is_uniform():
    np.testing.assert_allclose(estimate(np.zeros((3, 2, 4))), 1 / 4)


def test_many_rows_give_relative_frequencies():
    counts = random_counts(7, (2, 3, 3), 10_000_000) + 1000
    frequency = counts / counts.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(estimate(counts)[:2], frequency, atol=1e-3)


def test_a_parent_with_one_state_changes_nothing():
    counts = random_counts(8, (3, 2, 3), 80)
    np.testing.assert_array_equal(estimate(counts[:, :, None])[:, :, 0], estimate(counts))


def test_up_to_three_variables_are_dropped_in_every_order_and_more_by_information():
    assert len(list(chain._orders([0], [2, 1]))) == 6
    assert list(chain._orders([0], [3, 1, 2])) == [
        (0, 3, 1, 2),
        (3, 0, 1, 2),
        (3, 1, 0, 2),
        (3, 1, 2, 0),
    ]
    assert list(chain._orders([], [3, 1, 2, 0])) == [(3, 1, 2, 0)]


def test_parents_are_ranked_by_mutual_information():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, 500)
    noise = {"a": 0.3, "b": 0.05, "c": 0.5}
    columns = [np.where(rng.random(500) < share, 1 - x, x) for share in noise.values()]
    counts = np.zeros((2, 2, 2, 2))
    np.add.at(counts, (*columns, x), 1)
    given = [variable(name, 2) for name in noise]
    assert chain._by_information(given, counts.reshape(-1, 2)) == [2, 0, 1]
    assert chain._by_information(given, np.zeros((8, 2))) == [0, 1, 2]


def test_the_prior_matters():
    counts = random_counts(9, (3, 2, 3), 20)
    default = HDC().estimate([family(counts)])[0].table
    for other in (HDC(parents=cs.Gamma(40, 0.1)), HDC(sources=cs.Gamma(40, 1))):
        assert not np.allclose(other.estimate([family(counts)])[0].table, default, atol=1e-3)


def diverging(n_nodes, n_rows):
    """Nodes whose two sources each insist on a state of their own, with few rows each."""
    half = n_rows / 2
    return [
        family(np.eye(6)[[i % 6, (i + 1 + i // 6) % 6]] * half, child=f"x{i}")
        for i in range(n_nodes)
    ]


def test_nodes_share_what_they_say_about_the_strength_where_it_predicts_better():
    one, many = HDC().estimate(diverging(1, 6)), HDC().estimate(diverging(12, 6))
    assert many[0].table[0].max() > one[0].table[0].max() + 0.01


def test_nodes_that_gain_nothing_by_sharing_stay_as_they_are_alone():
    families = [family(random_counts(i, (2, 2, 3), 200), child=f"x{i}") for i in range(4)]
    alone = [HDC().estimate([counts])[0].table for counts in families]
    for together, table in zip(HDC().estimate(families), alone, strict=True):
        np.testing.assert_array_equal(
            together.table[:2], table[:2]
        )  # a new source is shared by all


@pytest.mark.parametrize("n_children", [{"a": 5, "b": 1}, {"a": 1, "b": 5}])
def test_the_main_parent_is_the_one_with_the_most_children(n_children):
    n_states = {"f": 5, "a": 2, "b": 3}
    counts = family(random_counts(1, (*n_states.values(), 3), 100))
    main = max(n_children, key=n_children.get)
    expected = {n_states["f"]: backoff.SOURCE, 2: backoff.OTHER_PARENT, 3: backoff.OTHER_PARENT}
    expected[n_states[main]] = backoff.MAIN_PARENT
    for way in chain._Chain.of(counts, Counter(n_children)).ways:
        n_rows = np.diff(way.start)
        assert dict(zip(n_rows[1:] // n_rows[:-1], way.kinds[1:], strict=True)) == expected


def test_the_table_has_the_source_first():
    table = cs.read(
        {"f": ["u", "u", "v", "v"], "c": ["p", "q", "p", "q"], "x": ["1", "2", "1", "1"]},
        source="f",
    )
    [local] = HDC().estimate(cs.count(table, [cs.Family("x", ("c",))], by_source=True))
    assert local.parents == ("f", "c")
    assert local.given[0].states == ("u", "v", "new_source")
    [pooled] = HDC().estimate(cs.count(table, [cs.Family("x", ("c",))]))
    assert pooled.parents == ("c",)


@pytest.mark.parametrize("name", ["parents", "sources"])
@pytest.mark.parametrize("value", [4.0, cs.PerState(1), None])
def test_the_priors_are_gamma_distributions(name, value):
    with pytest.raises(InputError, match=f"HDC: {name} must be a prior such as cs.Gamma") as caught:
        HDC(**{name: value})
    assert caught.value.culprits["parameter"] == name


def test_a_chain_is_named_by_what_differs_from_the_default():
    assert repr(HDC()) == "HDC()"
    wide = HDC(sources=cs.Gamma(1, 0.01))
    assert repr(wide) == "HDC(sources=Gamma(shape=1, rate=0.01))"


def test_held_strengths_settle_at_the_fit_of_the_same_counts():
    families = [family(random_counts(i, (3, 2, 3), 80), child=f"x{i}") for i in range(3)]
    held = chain.HeldChain.of(HDC(), families)
    for again, fitted in zip(held.estimate(families), HDC().estimate(families), strict=True):
        np.testing.assert_allclose(again.table, fitted.table, atol=1e-5)
    assert repr(held) == "HDC()"


def test_fits_that_would_not_fit_in_memory_are_refused():
    given = (variable("a", 100), variable("b", 100))
    table, n_rows, seen = np.zeros((1, 0, 1000), int), np.zeros(1, int), np.zeros((0, 2), int)
    counts = Counts(variable("x", 1000), given, None, table, n_rows, seen=seen)
    with pytest.raises(MemoryLimitError, match="family 'x' with 2 parents would need"):
        HDC().estimate([counts])


def test_a_source_never_seen_keeps_what_the_parents_say():
    # The source says much and each parent state is the same in all sources.
    rng = np.random.default_rng(1)
    parent = rng.integers(0, 2, 2000)
    child = np.where(rng.random(2000) < 0.95, parent, 1 - parent)
    columns = {"pa": parent.astype(str), "x": child.astype(str), "f": rng.integers(0, 4, 2000)}
    net = cs.fit(cs.DAG([("pa", "x")]), cs.read(columns, source="f"), cs.HDC())
    belief = net.query("x", given={"pa": "1", "f": "new_source"})
    assert belief["1"] == pytest.approx(0.95, abs=0.02)
