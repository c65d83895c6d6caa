from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog
from study_rows import Plain, network, parts, rows, sites

import consilience as cs
from consilience.errors import RefusalError, WithheldError
from consilience.sites.alternatives import Alternatives
from consilience.sites.censored import estimated, in_fixed_point

NAMES = tuple("abcde")


def small_site(seed: int, n_rows: int = 60) -> cs.Table:
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 3, n_rows)
    columns = {
        name: [str(min(2, max(0, x))) for x in hidden + rng.integers(-1, 2, n_rows)]
        for name in NAMES
    }
    return cs.read(columns, states={name: ["0", "1", "2"] for name in NAMES})


def asked_families(seed: int) -> list[list[tuple[str, ...]]]:
    """What an attacker asks: margins, pairs, triples, in an order of its own."""
    rng = np.random.default_rng(seed)
    every = [one for size in (1, 2, 3) for one in combinations(NAMES, size)]
    order = rng.permutation(len(every))
    cuts = np.sort(rng.choice(np.arange(1, len(every)), 3, replace=False))
    return [[every[i] for i in some] for some in np.split(order, cuts)]


def true_table(table: cs.Table, names: tuple[str, ...]) -> np.ndarray:
    found = np.zeros([table.variables[name].n_states for name in names], np.int64)
    np.add.at(found, tuple(table.column(name) for name in names), 1)
    return found


class Attacker:
    """Linear programming over the joint counts of all variables, given all that was shown."""

    def __init__(self, shown: dict[tuple[str, ...], tuple[np.ndarray, np.ndarray]]) -> None:
        self.joint = (3,) * len(NAMES)
        axes = np.indices(self.joint).reshape(len(NAMES), -1)
        sides, bounds = [], []
        self.rows = {}
        for names, (low, high) in shown.items():
            codes = [axes[NAMES.index(name)] for name in names]
            flat = np.ravel_multi_index(codes, (3,) * len(names))
            for cell in range(low.size):
                side = (flat == cell).astype(float)
                self.rows[names, cell] = side
                sides += [side, -side]
                bounds += [float(high.ravel()[cell]), -float(low.ravel()[cell])]
        self.sides, self.bounds = np.array(sides), np.array(bounds)

    def range(self, names: tuple[str, ...], cell: int) -> tuple[float, float]:
        side = self.rows[names, cell]
        found = [
            linprog(sign * side, A_ub=self.sides, b_ub=self.bounds, method="highs")
            for sign in (1, -1)
        ]
        assert all(one.status == 0 for one in found)
        return found[0].fun, -found[1].fun


@pytest.mark.parametrize("seed", range(4))
def test_linear_programming_over_all_replies_narrows_no_hidden_cell(seed):
    table, k = small_site(seed), 5
    site = Alternatives(table, k)
    shown = {}
    for some in asked_families(seed):
        shown |= {n: r for n, r in zip(some, site.show(some), strict=True) if r is not None}
    attacker = Attacker(shown)
    hidden = [
        (names, cell)
        for names in shown
        for cell, count in enumerate(true_table(table, names).ravel())
        if 0 < count < k
    ]
    rng = np.random.default_rng(seed)
    for i in rng.choice(len(hidden), min(3, len(hidden)), replace=False):
        low, high = attacker.range(*hidden[i])
        assert low <= 1 + 1e-6
        assert high >= k - 1 - 1e-6


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), k=st.sampled_from([3, 5, 11]), n_rows=st.integers(5, 50))
def test_what_is_shown_holds_the_rows_and_an_alternative_at_each_end_of_every_hidden_cell(
    seed, k, n_rows
):
    table = small_site(seed, n_rows)
    site = Alternatives(table, k)
    shown = {}
    for some in asked_families(seed):
        shown |= {n: r for n, r in zip(some, site.show(some), strict=True) if r is not None}
    weights = [np.ones(table.n_rows)]
    for changed, change in site._changes:
        other = np.ones(table.n_rows)
        np.add.at(other, changed, change)
        weights.append(other)
    assert all((one >= 0).all() and one.sum() == table.n_rows for one in weights)
    for names, (low, high) in shown.items():
        codes = tuple(table.column(name) for name in names)
        seen = []
        for one in weights:
            counts = np.zeros(low.shape)
            np.add.at(counts, codes, one)
            assert (counts >= low).all()
            assert (counts <= high).all()
            seen.append(counts)
        is_hidden = (seen[0] > 0) & (seen[0] < k)
        assert (np.min(seen, axis=0)[is_hidden] <= 1).all()
        assert (np.max(seen, axis=0)[is_hidden] >= k - 1).all()
        assert (high[seen[0] == 0] == 0).all()


def test_hiding_cells_alone_would_protect_nothing():
    table = small_site(1)
    naive = {}
    for names in (*((name,) for name in NAMES), *combinations(NAMES, 2)):
        counts = true_table(table, names)
        is_small = (counts > 0) & (counts < 5)
        naive[names] = np.where(is_small, 1, counts), np.where(is_small, 4, counts)
    attacker = Attacker(naive)
    hidden = [
        (names, cell)
        for names in combinations(NAMES, 2)
        for cell, count in enumerate(true_table(table, names).ravel())
        if 0 < count < 5
    ][:12]
    opened = sum(np.subtract(*attacker.range(*one)[::-1]) < 2.9 for one in hidden)
    assert opened > len(hidden) / 3


def test_what_was_shown_is_shown_again_and_so_is_what_was_withheld():
    site = Alternatives(small_site(2), 5)
    first = site.show([("a", "b")])[0]
    site.show([("a", "b", "c"), ("b", "c", "d", "e")])
    again = site.show([("a", "b")])[0]
    assert all((x == y).all() for x, y in zip(first, again, strict=True))


def test_the_audit_holds_across_a_restart(tmp_path):
    table = parts(rows(300), 2)
    policy = cs.sites.Policy(mode="intervals")

    def opened() -> list[cs.sites.Site]:
        return [
            cs.sites.Site(one, policy, name=name, ledger=tmp_path / name, key=tmp_path / f"k{name}")
            for name, one in table.items()
        ]

    families = [cs.Family("d", ("b", "c")), cs.Family("e", ("d", "b")), cs.Family("a")]
    kept = opened()
    study = cs.sites.federation(kept, study="s")
    before = cs.count(study, families[:1], by_source=True)[0].table
    for site in kept:
        site.close()
    again = opened()
    other = cs.sites.federation(again, study="s")
    assert (cs.count(other, families[:1], by_source=True)[0].table == before).all()
    assert all(len(site._alternatives()._answers) == 1 for site in again)
    for site in again:
        site.close()


def test_a_family_that_would_open_small_counts_is_withheld_and_so_after_a_restart(tmp_path):
    tables = {"one": small_site(1, 40), "two": small_site(4, 40)}
    policy = cs.sites.Policy(mode="intervals")

    def withheld(*families: cs.Family) -> set[tuple[str, ...]]:
        kept = [
            cs.sites.Site(one, policy, name=name, ledger=tmp_path / name, key=tmp_path / f"k{name}")
            for name, one in tables.items()
        ]
        study = cs.sites.federation(kept, study="s")
        try:
            cs.count(study, families)
        except WithheldError:
            pass
        finally:
            for site in kept:
                site.close()
        return set(study.record.withheld)

    pairs = [cs.Family(b, (a,)) for a, b in combinations(NAMES, 2)]
    triples = [cs.Family(c, (a, b)) for a, b, c in combinations(NAMES, 3)]
    assert withheld(*pairs) == set()
    before = withheld(*triples)
    assert before
    assert withheld(*triples) == before
    entries = cs.sites.read_ledger(tmp_path / "one")
    assert [len(one["withheld"]) for one in entries if one["what"] == "answered"][1] > 0


def test_ranges_are_not_given_after_exact_counts(tmp_path):
    table = parts(rows(300), 2)

    def study(mode: str, name: str) -> cs.sites.Federation:
        policy = cs.sites.Policy(mode=mode, studies=("one", "two"))
        every = [
            cs.sites.Site(one, policy, name=key, ledger=tmp_path / key, key=tmp_path / f"k{key}")
            for key, one in table.items()
        ]
        try:
            over = cs.sites.federation(every, study=name)
            cs.count(over, cs.Family("a"))
        finally:
            for site in every:
                site.close()
        return over

    study("exact", "one")
    with pytest.raises(RefusalError, match="hide nothing"):
        study("intervals", "two")


def test_estimates_are_within_the_ranges_and_add_up_to_the_rows():
    low = np.array([[0, 1, 5, 10], [0, 0, 20, 5]])
    high = np.array([[0, 4, 9, 14], [0, 0, 24, 9]])
    found = estimated(low, high, np.array([20, 30]))
    assert ((found >= low) & (found <= high)).all()
    whole = in_fixed_point(found, low, high, [20, 30])
    assert whole.sum(axis=1).tolist() == [20 * 2**36, 30 * 2**36]
    assert (whole[:, 0] == 0).all()


def test_a_fit_from_ranges_is_near_the_fit_from_all_rows():
    table = rows(2000)
    over = cs.sites.federation(sites(parts(table, 3), mode="intervals"), study="s")
    found = cs.fit(network().dag, over, cs.Pooled(cs.Dirichlet(ess=5)))
    pooled = cs.fit(network().dag, table, cs.Dirichlet(ess=5))
    assert not over.record.withheld
    assert max(np.abs(found[n].table - pooled[n].table).max() for n in pooled.dag.nodes) < 0.2


@pytest.mark.parametrize("search", [None, cs.GES(), cs.HillClimb(), cs.Exact()])
def test_a_search_over_ranges_is_refused_and_says_why(search):
    over = cs.sites.federation(sites(parts(rows(300), 3), mode="intervals"), study="s")
    with pytest.raises(RefusalError, match="arcs that are not there"):
        cs.search(over, search=search)


def test_a_search_over_ranges_that_does_not_look_ahead_is_refused_too():
    over = cs.sites.federation(sites(parts(rows(300), 3), mode="intervals"), study="s")
    with pytest.raises(RefusalError, match="arcs that are not there"):
        cs.search(Plain(over), search=cs.HillClimb())


def test_sites_that_show_ranges_may_vote():
    over = cs.sites.federation(sites(parts(rows(900), 3), mode="intervals"), study="s")
    voted = cs.sites.votes(over).dag
    assert cs.fit(voted, over, cs.Pooled(cs.Dirichlet(ess=5))).dag.arcs
