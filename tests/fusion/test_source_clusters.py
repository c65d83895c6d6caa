"""Clusters of sources: which have the same network."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.errors import DataError


def sources(rng, flips, n_rows=150):
    """Sources of x -> y -> z; where a source is flipped, y is rather the opposite of x."""
    frames = {}
    for k, is_flipped in enumerate(flips):
        x = rng.integers(0, 2, n_rows)
        y = np.where(rng.random(n_rows) < 0.8, x ^ is_flipped, 1 - (x ^ is_flipped))
        z = np.where(rng.random(n_rows) < 0.8, y, 1 - y)
        named = zip("xyz", (x, y, z), strict=True)
        frames[f"s{k}"] = {name: np.array(["a", "b"])[codes] for name, codes in named}
    return cs.read(frames)


def test_sources_of_two_networks_are_told_apart():
    table = sources(np.random.default_rng(0), [0, 1, 0, 1, 1])
    found = cs.fusion.clusters(table)
    assert found.members == (("s1", "s3", "s4"), ("s0", "s2"))
    assert found.labels == {"s1": 0, "s3": 0, "s4": 0, "s0": 1, "s2": 1}
    assert max(found.scores, key=found.scores.get) == 2
    assert min(found.margins.values()) > 5
    assert cs.CPDAG.of(found.graph_of("s2")) == cs.CPDAG.of(cs.DAG.parse("[x][y|x][z|y]"))
    assert "2 clusters of 5 sources, by BDeu" in repr(found)


def test_sources_that_are_alike_are_one_cluster():
    found = cs.fusion.clusters(sources(np.random.default_rng(1), [0] * 4))
    assert found.members == (("s0", "s1", "s2", "s3"),)


def test_the_score_is_the_sum_of_those_of_the_clusters():
    table = sources(np.random.default_rng(2), [0, 1, 1])
    found = cs.fusion.clusters(table, cs.BDeu(ess=2), most=2)
    total = sum(
        cs.score(graph, found.rows_of(table, k), cs.BDeu(ess=2))
        for k, graph in enumerate(found.graphs)
    )
    assert found.scores[len(found.members)] == pytest.approx(total)
    assert set(found.scores) == {1, 2}


def test_the_order_of_the_sources_does_not_matter():
    table = sources(np.random.default_rng(3), [1, 0, 1, 0])
    parts = {s: table.take(table.source_codes == k) for k, s in enumerate(table.sources)}
    frames = {s: part.to_frame()[["x", "y", "z"]] for s, part in reversed(parts.items())}
    again = cs.fusion.clusters(cs.read(frames))
    assert {frozenset(m) for m in again.members} == {
        frozenset(m) for m in cs.fusion.clusters(table).members
    }


def test_gaps_and_single_sources_are_refused_by_name():
    with pytest.raises(DataError, match="no sources"):
        cs.fusion.clusters(cs.read({"x": list("abab")}))
    rows = {"x": ["a", "b", None, "a"], "y": list("abab"), "s": list("ppqq")}
    with pytest.raises(DataError, match="column 'x' has 1 missing"):
        cs.fusion.clusters(cs.read(rows, source="s"))


def test_numbers_are_judged_by_bic_if_no_score_is_chosen():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(4, 60))
    noise = 0.3 * rng.normal(size=(4, 60))
    signs = [1, -1, 1, -1]
    rows = {f"s{k}": {"x": x[k], "y": signs[k] * x[k] + noise[k]} for k in range(4)}
    found = cs.fusion.clusters(cs.read(rows))
    assert {frozenset(part) for part in found.members} == {
        frozenset({"s0", "s2"}),
        frozenset({"s1", "s3"}),
    }
    assert "by BIC()" in repr(found)


def test_gaps_are_refused_and_rows_filled_once_are_taken():
    rng = np.random.default_rng(1)
    a = rng.integers(0, 2, 160)
    b = np.where(rng.random(160) < 0.9, a, 1 - a)
    table = cs.read(
        {"a": np.where(rng.random(160) < 0.1, None, a.astype(str)), "b": b.astype(str),
         "from": np.repeat(["p", "q"], 80)}, source="from"
    )  # fmt: skip
    with pytest.raises(DataError, match=r"cs\.impute\(cs\.fit\(cs\.learn\(table\), table\), table"):
        cs.fusion.clusters(table)
    filled = cs.impute(cs.fit(cs.learn(table), table), table, draws=1, seed=1).tables[0]
    assert cs.fusion.clusters(filled).members == (("p", "q"),)
