"""Plain twins of the sums over sets, of walks over graphs, and of sets that differ by source."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

from consilience.kernels.averages import (
    graphs_from_below,
    graphs_to_the_top,
    orders_from_below,
    orders_to_the_top,
    sum_of_subsets,
    sum_of_supersets,
)
from consilience.kernels.graph_walks import (
    draw_graph,
    layers_of,
    redraw_parents,
    reverse_arcs,
    turn_arcs,
    walk_layers,
    walk_orders,
)
from consilience.kernels.noisy_sets import noisy_arcs, noisy_sums


def place(members, x):
    below = (1 << x) - 1
    return (members & below) | (members >> 1 & ~below)


def subsets(members):
    return [s for s in range(members + 1) if s & ~members == 0]


def members_of(mask):
    return [x for x in range(mask.bit_length()) if mask >> x & 1]


@pytest.fixture
def within():
    weights = np.random.default_rng(3).normal(size=(3, 4))
    return np.array([[logsumexp(one[subsets(s)]) for s in range(4)] for one in weights])


def test_sums_of_subsets_and_supersets():
    values = np.random.default_rng(1).normal(size=16)
    values[5] = -np.inf
    down, up = values.copy(), values.copy()
    sum_of_subsets(down)
    sum_of_supersets(up)
    for s in range(16):
        assert down[s] == pytest.approx(logsumexp([values[t] for t in subsets(s)]))
        assert up[s] == pytest.approx(logsumexp([values[t] for t in range(16) if s & ~t == 0]))


def test_sums_over_orders(within):
    def below(s):
        return logsumexp(
            [below(s ^ 1 << x) + within[x, place(s ^ 1 << x, x)] for x in members_of(s)]
            if s
            else [0]
        )

    def above(s):
        rest = members_of(7 & ~s)
        return logsumexp(
            [above(s | 1 << x) + within[x, place(s, x)] for x in rest] if rest else [0]
        )

    found = np.empty((2, 8))
    orders_from_below(within, found[0])
    orders_to_the_top(within, found[1])
    assert found[0] == pytest.approx([below(s) for s in range(8)])
    assert found[1] == pytest.approx([above(s) for s in range(8)])


def test_sums_over_graphs(within):
    a = np.exp(within)

    def product_of(r, u):
        return np.prod([a[x, place(u, x)] for x in members_of(r)])

    def below(s):
        terms = [
            (-1) ** (r.bit_count() + 1) * below(s ^ r) * product_of(r, s ^ r)
            for r in subsets(s)
            if r
        ]
        return sum(terms) if s else 1.0

    def above(u, with_x=None):
        terms = [
            (-1) ** (r.bit_count() + 1) * above(u | r) * product_of(r, u)
            for r in subsets(7 & ~u)
            if r and (with_x is None or r >> with_x & 1)
        ]
        return sum(terms) if u != 7 else 1.0

    found, alone = np.empty((3, 8)), np.empty((3, 4))
    graphs_from_below(within, found[0], found[2])
    graphs_to_the_top(within, found[0], found[1], alone)
    assert np.exp(found[0]) == pytest.approx([below(s) for s in range(8)])
    assert np.exp(found[1]) == pytest.approx([above(s) for s in range(8)])
    for x, u in product(range(3), range(8)):
        if not u >> x & 1:
            wanted = below(u) * above(u, x) / a[x, place(u, x)]
            assert np.exp(alone[x, place(u, x)]) == pytest.approx(wanted, abs=1e-12)


class Walked:
    """Tables of four variables, the first two candidates of each, and what they say by brute."""

    def __init__(self, p=4):
        rng = np.random.default_rng(7)
        self.p = p
        self.bits = np.zeros((p, p), np.int64)
        self.one = np.full((p, 4), -np.inf)
        self.one_more = np.full((p, 4, p), -np.inf)
        for x in range(p):
            mine = [y for y in range(p) if y != x][:2]
            self.bits[x, mine] = [1, 2]
            self.one[x] = rng.normal(size=4)
            for y in range(p):
                if y != x and y not in mine:
                    self.one_more[x, :, y] = rng.normal(size=4)
        self.sums, self.sums_more = self.one.copy(), self.one_more.copy()
        for x in range(p):
            sum_of_subsets(self.sums[x])
            for y in range(p):
                column = np.ascontiguousarray(self.sums_more[x, :, y])
                sum_of_subsets(column)
                self.sums_more[x, :, y] = column
        self.tables = self.sums, self.sums_more, self.bits

    def sets(self, x):
        """All sets of parents of x as tuples, with their weights."""
        mine = [y for y in range(self.p) if self.bits[x, y]]
        found = {}
        for mask in range(4):
            inside = tuple(y for y in mine if self.bits[x, y] & mask)
            found[inside] = self.one[x, mask]
            for y in range(self.p):
                if self.one_more[x, mask, y] > -np.inf:
                    found[(*inside, y)] = self.one_more[x, mask, y]
        return found

    def log_weight(self, x, before, near=None):
        """Sum over the sets of x within ``before`` that have one of ``near``."""
        able = [
            w
            for s, w in self.sets(x).items()
            if set(s) <= set(before) and (near is None or set(s) & set(near))
        ]
        return logsumexp(able) if able else -np.inf


def chosen(values, number):
    sums = np.cumsum(np.exp(np.array(values) - max(values)))
    return int(np.searchsorted(sums, number * sums[-1], side="right"))


def test_walk_orders_puts_a_variable_back_at_a_place_drawn_from_all():
    it = Walked()
    rng = np.random.default_rng(0)
    for _ in range(20):
        order, numbers = rng.permutation(4), rng.random(2)
        moved = order[int(numbers[0] * 4)]
        others = [x for x in order if x != moved]
        states = [[*others[:k], moved, *others[k:]] for k in range(4)]
        values = [sum(it.log_weight(x, s[:k]) for k, x in enumerate(s)) for s in states]
        found = order.copy()
        walk_orders(found, *it.tables, 1.0, numbers)
        assert found.tolist() == states[chosen(values, numbers[1])]


def test_walk_layers_puts_a_variable_back_into_a_layer_or_between():
    it = Walked()
    rng = np.random.default_rng(1)
    for _ in range(30):
        layers = np.unique(rng.integers(3, size=4), return_inverse=True)[1].astype(np.int64)
        numbers = rng.random(2)
        moved = int(numbers[0] * 4)
        kept = [[x for x in range(4) if layers[x] == k and x != moved] for k in range(4)]
        kept = [layer for layer in kept if layer]
        states = []
        for k in range(len(kept) + 1):
            states.append([*kept[:k], [moved], *kept[k:]])
            if k < len(kept):
                states.append([*kept[:k], [*kept[k], moved], *kept[k + 1 :]])
        values = []
        for state in states:
            total = 0.0
            for k, layer in enumerate(state):
                before = [x for one in state[:k] for x in one]
                near = state[k - 1] if k else None
                total += sum(it.log_weight(x, before, near) for x in layer)
            values.append(total)
        found = layers.copy()
        walk_layers(found, *it.tables, 1.0, numbers)
        wanted = states[chosen(values, numbers[1])]
        assert [sorted(np.flatnonzero(found == k)) for k in range(len(wanted))] == [
            sorted(layer) for layer in wanted
        ]


@pytest.mark.parametrize("needs_near", [False, True])
def test_draw_graph_draws_parents_with_their_weights(needs_near):
    it = Walked()
    layers = np.array([0, 1, 1, 2])
    rng = np.random.default_rng(5)
    seen = {}
    arcs = np.empty((4, 4), np.uint8)
    for _ in range(4000):
        total = draw_graph(layers, needs_near, it.one, it.one_more, *it.tables, rng.random(8), arcs)
        parents = tuple(tuple(np.flatnonzero(arcs[:, x])) for x in range(4))
        weights = [it.sets(x) for x in range(4)]
        by_set = [{frozenset(s): w for s, w in one.items()} for one in weights]
        assert total == pytest.approx(
            sum(by_set[x][frozenset(int(y) for y in parents[x])] for x in range(4))
        )
        seen[parents[3]] = seen.get(parents[3], 0) + 1
    able = {
        frozenset(s): np.exp(w) for s, w in it.sets(3).items() if not needs_near or set(s) & {1, 2}
    }
    for one, weight in able.items():
        share = weight / sum(able.values())
        found = seen.get(tuple(sorted(one)), 0) / 4000
        assert abs(found - share) < 5 * np.sqrt(share * (1 - share) / 4000) + 1e-9
    assert sum(seen.values()) == 4000
    assert {frozenset(int(y) for y in one) for one in seen} <= set(able)


def test_turn_arcs_turns_only_arcs_whose_other_parents_are_shared():
    it = Walked()
    rng = np.random.default_rng(2)
    by_set = [{frozenset(s): w for s, w in it.sets(x).items()} for x in range(4)]

    def weight(graph, x):
        return by_set[x].get(frozenset(np.flatnonzero(graph[:, x]).tolist()), -np.inf)

    for _ in range(50):
        order = rng.permutation(4)
        arcs = np.zeros((4, 4), np.uint8)
        for i, j in zip(*np.triu_indices(4, 1), strict=True):
            arcs[order[i], order[j]] = rng.random() < 0.5
        if not arcs.any() or not np.isfinite(sum(weight(arcs, x) for x in range(4))):
            continue
        numbers = rng.random(2)
        y, x = np.argwhere(arcs)[int(numbers[0] * arcs.sum())]
        turned = arcs.copy()
        turned[y, x], turned[x, y] = 0, 1
        shared = set(np.flatnonzero(arcs[:, x])) - {y} == set(np.flatnonzero(arcs[:, y]))
        gain = sum(weight(turned, z) - weight(arcs, z) for z in (x, y))
        is_made = shared and numbers[1] < np.exp(min(gain, 0.0))
        found = arcs.copy()
        total = turn_arcs(found, it.one, it.one_more, it.bits, numbers)
        assert (found == (turned if is_made else arcs)).all()
        assert total == pytest.approx(gain if is_made else 0.0)


def graphs_of(it):
    """All graphs that the weights allow, and their log weights."""
    found = []
    for sets in product(*(it.sets(x).items() for x in range(it.p))):
        arcs = np.zeros((it.p, it.p), np.uint8)
        for x, (parents, _) in enumerate(sets):
            arcs[list(parents), x] = 1
        if not np.linalg.matrix_power(arcs.astype(int), it.p).any():
            found.append((arcs, sum(weight for _, weight in sets)))
    return found


def after_steps(step, it, width):
    """Shares of arcs after three steps from graphs drawn by their weights, and before."""
    graphs = graphs_of(it)
    shares = np.exp([weight for _, weight in graphs])
    shares /= shares.sum()
    of = {arcs.tobytes(): weight for arcs, weight in graphs}
    rng = np.random.default_rng(7)
    ends = np.zeros((it.p, it.p))
    for k in rng.choice(len(graphs), 20_000, p=shares):
        arcs = graphs[k][0].copy()
        gain = step(arcs, it.one, it.one_more, *it.tables, rng.random(3 * width))
        assert of[arcs.tobytes()] - graphs[k][1] == pytest.approx(gain)
        ends += arcs
    return ends / 20_000, sum(s * arcs for s, (arcs, _) in zip(shares, graphs, strict=True))


@pytest.mark.parametrize(("step", "width"), [(redraw_parents, 3), (reverse_arcs, 6)])
def test_steps_from_graph_to_graph_keep_their_distribution(step, width):
    found, wanted = after_steps(step, Walked(), width)
    assert (abs(found - wanted) < 4.5 * np.sqrt(wanted * (1 - wanted) / 20_000) + 1e-9).all()


def test_layers_of_a_graph_are_one_more_than_those_of_its_latest_parent():
    arcs = np.zeros((4, 4), np.uint8)
    arcs[2, 0] = arcs[0, 3] = arcs[2, 3] = 1
    layers = np.empty(4, np.int64)
    layers_of(arcs, layers)
    assert layers.tolist() == [1, 0, 0, 2]


def test_noisy_sums_and_arcs():
    rng = np.random.default_rng(4)
    weights = rng.normal(size=(3, 8))
    rate, share = 0.1, rng.dirichlet(np.ones(8))
    sums = np.empty(8)
    noisy_sums(weights, rate, sums)
    common, own, differs, families = np.zeros(3), np.zeros((3, 3)), np.zeros((3, 3)), np.zeros(8)
    noisy_arcs(weights, rate, share, common, own, differs, families)
    wanted = [np.zeros(3), np.zeros((3, 3)), np.zeros((3, 3)), np.zeros(8)]
    for u in range(8):
        total = 0.0
        parts = [np.zeros_like(one) for one in wanted]
        for p, *qs in product(subsets(u), repeat=4):
            value = 1.0
            for f, q in enumerate(qs):
                away = (p ^ q).bit_count()
                value *= rate**away * (1 - rate) ** (u.bit_count() - away) * np.exp(weights[f, q])
            total += value
            parts[3][p] += value
            for y in range(3):
                parts[0][y] += value * (p >> y & 1)
                for f, q in enumerate(qs):
                    parts[1][f, y] += value * (q >> y & 1)
                    parts[2][f, y] += value * ((p ^ q) >> y & 1)
        assert sums[u] == pytest.approx(np.log(total))
        for one, part in zip(wanted, parts, strict=True):
            one += share[u] * part / total
    for found, one in zip((common, own, differs, families), wanted, strict=True):
        assert found == pytest.approx(one)
