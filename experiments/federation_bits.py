"""Whether learning over sites has the bits of all rows in one place, for ``federation.py``.

Every method is a study of its own over every transport; a search is compared in its graph and
score, a fit in all tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from federation_transports import TRANSPORTS
from heart import NUMBERS, SOURCE, TARGET, heart

import consilience as cs
from consilience.fusion.united_tables import pooled_table

Tables = dict[str, cs.Table]
Method = Callable[[object], object]
"""What is learned from rows or from a study."""

SEARCHES: Mapping[str, Method] = {
    "default search": lambda rows: cs.search(rows),
    "GES": lambda rows: cs.search(rows, search=cs.GES()),
    "BDeu": lambda rows: cs.search(rows, search=cs.GES(), score=cs.BDeu(ess=10)),
    "hill climbing": lambda rows: cs.search(rows, search=cs.HillClimb(tabu=10, restarts=5)),
}
BY_SITE = (cs.HDS(), cs.HDMJS(), cs.HDMCS(), cs.HDC())


def fits(dag: cs.DAG, *estimators: object) -> dict[str, Method]:
    """Fits of a graph; by default the default estimator and ``Dirichlet``."""
    chosen = estimators or (None, cs.Dirichlet(ess=10))
    return {
        "default fit" if one is None else type(one).__name__: lambda rows, one=one: cs.fit(
            dag, rows, one
        )
        for one in chosen
    }


def by_bhd(rows: object) -> object:
    """A search whose score weighs the sites apart."""
    return cs.search(rows, score=cs.BHD(), search=cs.HillClimb(max_parents=2))


def with_gaps(tables: Tables, share: float = 0.05, seed: int = 0) -> Tables:
    """The same rows with a share of all values lost at random."""
    rng = np.random.default_rng(seed)

    def lost(codes: np.ndarray) -> np.ndarray:
        return np.where(rng.random(len(codes)) < share, codes.dtype.type(-1), codes)

    return {
        name: cs.Table(one.schema, {key: lost(codes) for key, codes in one.columns.items()})
        for name, one in tables.items()
    }


def is_same(one: object, other: object) -> bool:
    """Whether two answers have the same bits."""
    if isinstance(one, cs.Network):
        return all(np.array_equal(one[n].table, other[n].table) for n in other.dag.nodes)
    return one.dag == other.dag and one.score == other.score


def compared(
    label: str, tables: Tables, mode: str, methods: Mapping[str, Method], ways: object = TRANSPORTS
) -> None:
    """Print, for every transport, which methods have the bits of all rows in one place."""
    sources = pooled_table(tables, "source")
    whole = sources.pooled() if mode == "secure" else sources
    pooled = {name: method(whole) for name, method in methods.items()}
    policy = cs.sites.Policy(mode=mode, studies=tuple(methods), least_cell=2)
    for way, reached in ways.items():
        sites = [cs.sites.Site(table, policy, name=name) for name, table in tables.items()]
        different, n_rounds = [], 0
        with reached(sites) as (places, secret):
            for name, method in methods.items():
                study = cs.sites.federation(places, study=name, secret=secret, seconds=600)
                if not is_same(method(study), pooled[name]):
                    different.append(name)
                n_rounds += len(study.record.rounds)
                study.close()
        told = f"DIFFERENT: {', '.join(different)}" if different else "all equal"
        print(
            f"{label} | {mode} | {way} | {', '.join(methods)} | {told} | {n_rounds} rounds",
            flush=True,
        )


def adapted(label: str, tables: Tables, dag: cs.DAG) -> None:
    """Print whether sites that adapt the shared prior get the tables of the pooled fit."""
    policy = cs.sites.Policy(mode="exact")
    sites = [cs.sites.Site(table, policy, name=name) for name, table in tables.items()]
    study = cs.sites.federation(sites, study="adaptation")
    for estimator in (cs.HDMCS(), cs.HDMJS()):
        pooled = cs.fit(dag, pooled_table(tables, "source"), estimator)
        prior = cs.sites.shared_prior(cs.fit(dag, study, estimator))
        equal = [
            np.array_equal(cs.sites.adapt(prior, table)[node].table, pooled[node].table[place])
            for place, table in enumerate(tables.values())
            for node in dag.nodes
        ]
        told = f"{sum(equal)} of {len(equal)} tables equal"
        print(f"{label} | adapted at home | {type(estimator).__name__} | {told}", flush=True)


def network_bits(name: str, n_rows: int, dag: cs.DAG, tables: Tables) -> None:
    """All comparisons for one network and size of sites."""
    label = f"{name}, 5 sites of {n_rows:,}"
    compared(label, tables, "secure", {**SEARCHES, **fits(dag)})
    em = {"EM": lambda rows: cs.fit(dag, rows, cs.Dirichlet(ess=10))}
    compared(f"{label}, 5 % lost", with_gaps(tables), "secure", em)
    compared(label, tables, "exact", {**fits(dag, *BY_SITE), "BHD": by_bhd})
    adapted(label, tables, dag)


def heart_bits(data: Path) -> None:
    """All comparisons for the four hospitals: complete columns, then all of them with gaps."""
    rows = cs.read(
        heart(data),
        source=SOURCE,
        discretize={name: cs.Quantiles(4) for name in NUMBERS},
        discrete=["sex", "cp", "fbs", "restecg", "exang", "slope", "ca", "thal"],
    )
    tables = {
        name: rows.take(np.flatnonzero(rows.source_codes == place)).pooled()
        for place, name in enumerate(rows.sources)
    }
    complete = {name: one.select(["age", "sex", "cp", TARGET]) for name, one in tables.items()}
    dag = cs.DAG.parse(f"[{TARGET}][sex|{TARGET}][cp|{TARGET}:sex][age|{TARGET}]")
    compared("heart, complete columns", complete, "secure", {**SEARCHES, **fits(dag)})
    compared("heart, complete columns", complete, "exact", {**fits(dag, *BY_SITE), "BHD": by_bhd})
    adapted("heart, complete columns", complete, dag)
    bayes = cs.naive_bayes(rows.pooled(), target=TARGET)
    gappy: dict[str, Method] = {
        "EM": lambda rows: cs.fit(bayes, rows, cs.Dirichlet(ess=10)),
        "PNAL": lambda rows: cs.search(rows, search=cs.HillClimb(), score=cs.scores.PNAL()),
    }
    compared("heart, all columns", tables, "secure", gappy)
    em_by_site = {"EM HDMCS": lambda rows: cs.fit(bayes, rows, cs.HDMCS(s=3.0))}
    compared("heart, all columns", tables, "exact", em_by_site)
