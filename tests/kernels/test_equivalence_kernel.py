from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

import consilience as cs
from consilience.kernels.equivalence import complete


def unpacked(sets, n):
    return np.unpackbits(sets.view(np.uint8), axis=1, bitorder="little")[:, :n].astype(bool)


@given(n=st.sampled_from([1, 2, 5, 8, 70]), seed=st.integers(0, 2**32 - 1))
def test_arcs_are_compelled_where_the_class_of_the_graph_has_arcs(n, seed):
    names = [f"v{i:02d}" for i in range(n)]
    most = n * (n - 1) // 2
    dag = cs.random_dag(names, n_arcs=min(most, 2 * n), seed=seed)
    place = {name: i for i, name in enumerate(names)}
    arcs = np.zeros((n, 128), bool)  # of a child, its parents
    for start, end in dag.arcs:
        arcs[place[end], place[start]] = True
    parents = np.packbits(arcs, axis=1, bitorder="little").view("<u8")
    outputs = np.zeros((4, n, 2), np.uint64)
    complete(parents, *outputs)
    compelled, children, reversible, reach = (unpacked(one, n) for one in outputs)

    known = cs.CPDAG.of(dag)
    twin = np.zeros((2, n, n), bool)
    for start, end in known.directed:
        twin[0, place[end], place[start]] = True
    for a, b in known.undirected:
        twin[1, place[a], place[b]] = twin[1, place[b], place[a]] = True
    np.testing.assert_array_equal(compelled, twin[0])
    np.testing.assert_array_equal(children, twin[0].T)
    np.testing.assert_array_equal(reversible, twin[1])
    step = (np.eye(n) + twin[0].T + twin[1]) > 0
    paths = step.astype(float)
    for _ in range(n):
        paths = ((paths @ step) > 0).astype(float)
    np.testing.assert_array_equal(reach, paths > 0)
