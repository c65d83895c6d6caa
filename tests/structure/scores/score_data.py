"""Every score once or more, and small tables to try them on."""

from __future__ import annotations

import numpy as np

import consilience as cs

STATES = {"a": ["0", "1"], "b": ["0", "1", "2"], "c": ["0", "1"]}
SOURCES = ["f0", "f1", "f2"]


def prior_network():
    return cs.random_network(
        cs.DAG.parse("[a][b|a][c|b]"), n_states={"a": 2, "b": 3, "c": 2}, total=9, seed=3
    )


def cells_seen(counts):
    """A score of one's own: log-likelihood less one for each cell that is filled."""
    values = counts.values
    rows = values.sum(axis=2, keepdims=True)
    filled = values > 0
    shares = np.divide(values, rows, out=np.ones_like(values), where=filled)
    return float((values * np.log(shares)).sum() - filled.sum())


SCORES = [
    *[
        cs.scores.LogLikelihood(),
        cs.AIC(),
        cs.BIC(),
        cs.scores.EBIC(3),
        cs.scores.EBIC(8, gamma=1.0),
    ],
    *[
        cs.scores.K2(),
        cs.scores.BDJ(),
        cs.BDeu(),
        cs.BDeu(ess=10),
        cs.scores.BDs(),
        cs.scores.BDs(ess=4),
    ],
    *[cs.scores.BDe(prior_network()), cs.scores.BDe(prior_network(), ess=7)],
    *[
        cs.scores.FNML(),
        cs.scores.QNML(),
        cs.scores.NAL(),
        cs.scores.PNAL(),
        cs.scores.PNAL(c=0.5, alpha=0.3),
    ],
    *[
        cs.scores.HeldOut(),
        cs.scores.HeldOut(share=0.5, ess=3),
        cs.scores.CrossValidated(),
        cs.scores.CrossValidated(2, 5),
    ],
    *[cs.scores.PerSource(cs.BDeu()), cs.scores.PerSource(cs.BIC()), cs.BHD(), cs.BHD(s=2, ess=1)],
    *[cs.BHD(bound=True), cs.scores.BySource(cs.BIC())],
    cs.scores.MAP(cs.scores.BySource(cs.BIC()), cs.scores.VariableSelection(0.2)),
    *[
        cs.scores.PerSource(cs.scores.PNAL()),
        cs.scores.MAP(cs.scores.PNAL(), cs.scores.VariableSelection(0.2)),
    ],
    cs.scores.MAP(cs.BDeu(), cs.scores.UniformPrior()),
    cs.scores.MAP(cs.BIC(), cs.scores.VariableSelection(0.2)),
    cs.scores.MAP(
        cs.scores.K2(), cs.scores.ArcPrior({("a", "b"): 0.9, ("c", "a"): 0.2}, others=0.4)
    ),
    cs.scores.MAP(cs.BHD(), cs.scores.ArcPrior({("a", "b"): 0.9, ("b", "a"): 0.9})),
    cs.scores.CustomScore(cells_seen, name="cells"),
    cs.scores.CustomScore(cells_seen, name="cells by source", by_source=True),
]


def name_of(score):
    return "BDe" if isinstance(score, cs.scores.BDe) else repr(score)


def rows_of(n_rows=60, seed=0, n_sources=3):
    """Columns of three variables whose shares differ by source; not every state need be seen."""
    rng = np.random.default_rng(seed)
    source = rng.integers(0, n_sources, n_rows)
    a = (rng.random(n_rows) < 0.2 + 0.2 * source).astype(int)
    b = np.minimum(rng.integers(0, 3, n_rows), a + 1)
    c = (rng.random(n_rows) < np.where(b == 1, 0.8, 0.3)).astype(int)
    columns = {"a": a, "b": b, "c": c}
    return {name: column.astype(str) for name, column in columns.items()} | {
        "source": np.array([SOURCES[i] for i in source])
    }


def read(rows, states=STATES, **options):
    return cs.read(rows, source="source", states=states, **options)


def counts_of(table, score, *families):
    return cs.count(table, [cs.Family(*one) for one in families], by_source=score.by_source)
