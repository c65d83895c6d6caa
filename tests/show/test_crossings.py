from __future__ import annotations

from itertools import combinations, permutations, product

from hypothesis import given, strategies as st

from consilience.show.crossings import n_crossings, order_layers
from consilience.show.layers import adjacency


@st.composite
def layered(draw, max_width=5, max_rows=4):
    """The row of every node, and arcs between rows that are neighbors."""
    widths = draw(st.lists(st.integers(1, max_width), min_size=1, max_size=max_rows))
    layers = [row for row, width in enumerate(widths) for _ in range(width)]
    pairs = [(a, b) for a, b in product(range(len(layers)), repeat=2) if layers[b] == layers[a] + 1]
    arcs = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return layers, arcs


def crossings_by_pairs(rows, arcs):
    place = {node: (i, j) for i, row in enumerate(rows) for j, node in enumerate(row)}
    crossed = 0
    for (a, b), (c, d) in combinations(arcs, 2):
        if place[a][0] == place[c][0]:
            crossed += (place[a][1] - place[c][1]) * (place[b][1] - place[d][1]) < 0
    return crossed


@given(graph=layered())
def test_crossings_are_counted_as_pair_by_pair(graph):
    layers, arcs = graph
    rows = [[i for i, layer in enumerate(layers) if layer == row] for row in range(max(layers) + 1)]
    assert n_crossings(rows, adjacency(len(layers), arcs)) == crossings_by_pairs(rows, arcs)


@given(graph=layered())
def test_orders_hold_every_node_in_its_row_and_the_best_stands_first(graph):
    layers, arcs = graph
    neighbors = adjacency(len(layers), arcs)
    orders = order_layers(layers, neighbors)
    for rows in orders:
        found = {node: i for i, row in enumerate(rows) for node in row}
        assert [found[node] for node in range(len(layers))] == layers
    counts = [n_crossings(rows, neighbors) for rows in orders]
    assert counts == sorted(counts)


@given(graph=layered(max_width=3, max_rows=3))
def test_few_nodes_are_ordered_without_avoidable_crossings(graph):
    layers, arcs = graph
    neighbors = adjacency(len(layers), arcs)
    nodes = [
        [i for i, layer in enumerate(layers) if layer == row] for row in range(max(layers) + 1)
    ]
    best = min(n_crossings(list(rows), neighbors) for rows in product(*map(permutations, nodes)))
    assert n_crossings(order_layers(layers, neighbors)[0], neighbors) == best


@given(parents=st.lists(st.integers(0, 100), min_size=1, max_size=30))
def test_a_tree_has_no_crossings(parents):
    layers, arcs = [0], []
    for i, parent in enumerate(parents, start=1):
        arcs.append((parent % i, i))
        layers.append(layers[parent % i] + 1)
    neighbors = adjacency(len(layers), arcs)
    assert n_crossings(order_layers(layers, neighbors)[0], neighbors) == 0
