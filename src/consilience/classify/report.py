r"""What a classifier learned, in words: how far each source was pooled, and where sources differ.

Partial pooling puts the tables of a source between the frequencies of all rows together
(:math:`\bar\theta`) and its own (:math:`\hat\theta_f`). How far it went is the slope of

.. math:: \lambda_f = \frac{\sum N_{fj} (\theta_{fjk} - \bar\theta_{jk})
        (\hat\theta_{fjk} - \bar\theta_{jk})}{\sum N_{fj} (\hat\theta_{fjk} - \bar\theta_{jk})^2}

over all entries of all tables that depend on the source, regressions left aside: 0 for pooled
tables, 1 for the source's own. A prior may push it a little outside. It is not defined for a source
that is like the pool.

Whether sources differ in a family is read off the log evidence of its counts, which the network's
record keeps: if they were pooled, tied by a hierarchy, or kept apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from consilience._typing import Floats
from consilience.classify.ranges import ranges_of
from consilience.classify.scikit_rows import Unseen
from consilience.classify.seen_sources import has_new_source
from consilience.data.table import Table
from consilience.data.variable import NEW_SOURCE
from consilience.network.network import Network
from consilience.statistics.counts import Counts
from consilience.statistics.family import Family
from consilience.statistics.gather import count

__all__ = ["SourceStory", "Story", "fit_text", "prediction_text", "story_of"]

N_SHOWN = 20  # sources, families, classes and unseen values are listed up to this many
N_CLASSES = 4  # class shares by source are shown up to this many classes


@dataclass(frozen=True, slots=True)
class SourceStory:
    r"""One source: its rows, how closely it was tied to the others, and its shares of the classes.

    Parameters
    ----------
    name
        The source.
    n_rows
        Weight of its rows.
    own
        :math:`\lambda_f` as in the module's docstring; None where it is not defined.
    class_shares
        Share of each class among its rows.
    """

    name: str
    n_rows: float
    own: float | None
    class_shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """The numbers behind a report: weight of the rows, features in use, shares of the classes.

    ``ranges`` has the smallest and the largest number of each continuous feature.
    """

    n_rows: float
    target: str
    features: tuple[str, ...]
    unused: tuple[str, ...]
    class_shares: Mapping[str, float]
    sources: tuple[SourceStory, ...]
    ranges: Mapping[str, tuple[float, float]]


def story_of(network: Network, table: Table, target: str) -> Story:
    """What to keep of the rows that a network was fitted to."""
    [classes] = count(table, [Family(target)], by_source=table.source is not None)
    by_source = classes.values[:, 0]  # (sources, classes)
    total = by_source.sum(axis=0)
    names = [name for name in table.variables if name != target]
    states = table.variables[target].discrete_states
    return Story(
        n_rows=float(total.sum()),
        target=target,
        features=tuple(name for name in names if name in network.distributions),
        unused=tuple(name for name in names if name not in network.distributions),
        class_shares=dict(zip(states, (total / total.sum()).tolist(), strict=True)),
        sources=_sources(network, table, by_source),
        ranges=ranges_of(table),
    )


def fit_text(title: str, network: Network, story: Story) -> str:
    """The report of a fitted classifier."""
    classes = [f"{state} {100 * p:.1f} %" for state, p in story.class_shares.items()]
    lines = [
        f"{title}, {network.record.method}",
        f"{_number(story.n_rows)} rows, {len(story.features)} features, target {story.target!r}: "
        + _some(classes),
    ]
    if story.unused:
        lines.append(f"columns that are no nodes of the graph: {_some(story.unused)}")
    if story.sources:
        lines += ["", *_source_lines(network, story)]
    if network.record.pooling:
        lines += ["", *_family_lines(network.record.pooling)]
    if network.record.notes:
        lines += ["", *network.record.notes]
    return "\n".join(lines)


def prediction_text(network: Network, found: Unseen, n_impossible: int) -> str:
    """The report about rows to be predicted."""
    lines = [f"{found.n_rows:,} rows to predict; values missing or unseen: {found.n_missing:,}"]
    for name, values in found.states.items():
        lines.append(f"unseen in {name!r} (summed out): {_counted(values)}")
    for name, n_rows in found.outside.items():
        lines.append(f"beyond the range of {name!r} in fit (taken for its end): {n_rows:,} rows")
    if found.sources:
        lines.append(f"unseen sources ({_rule(network)}): {_counted(found.sources)}")
    if n_impossible:
        lines.append(f"{n_impossible:,} rows are impossible; they get the shares of the classes")
    return "\n".join(lines)


def _rule(network: Network) -> str:
    """What happens to a source never seen."""
    if has_new_source(network):
        return f"state {NEW_SOURCE!r}"
    return "predicted like the only known one" if network.source is None else "summed out"


def _sources(network: Network, table: Table, by_source: Floats) -> tuple[SourceStory, ...]:
    if table.source is None:
        return ()
    own = _own(network, table)
    n_rows = by_source.sum(axis=1)
    shares = by_source / np.maximum(n_rows, 1e-300)[:, None]
    return tuple(
        SourceStory(name, float(n_rows[f]), own[f], tuple(shares[f].tolist()))
        for f, name in enumerate(table.sources)
    )


def _own(network: Network, table: Table) -> list[float | None]:
    source = table.source
    families = [
        Family(name, tuple(parent for parent in local.parents if parent != source))
        for name, local in network.tables.items()
        if source in local.parents
    ]
    if not families:
        return [0.0] * len(table.sources)
    top, bottom = np.zeros(len(table.sources)), np.zeros(len(table.sources))
    for counts in count(table, families, by_source=True):
        rows = counts.to_dense().values  # (sources, parent states, states)
        pool = _frequencies(rows.sum(axis=0, keepdims=True))
        own = _frequencies(rows) - pool
        model = _by_source(network, counts) - pool
        weight = rows.sum(axis=2, keepdims=True)
        top += (weight * model * own).sum(axis=(1, 2))
        bottom += (weight * own * own).sum(axis=(1, 2))
    return [float(a / b) if b > 0 else None for a, b in zip(top, bottom, strict=True)]


def _frequencies(rows: Floats) -> Floats:
    total = rows.sum(axis=-1, keepdims=True)
    return np.divide(rows, total, out=np.zeros_like(rows), where=total > 0)


def _by_source(network: Network, counts: Counts) -> Floats:
    """The network's table of a family in the shape of its counts; the reserved state is cut off."""
    local = network.tables[counts.child.name]
    axis = local.parents.index(network.source or "")
    table = np.moveaxis(local.table, axis, 0)[: len(counts.sources)]
    return table.reshape(len(counts.sources), -1, counts.child.n_states)


def _source_lines(network: Network, story: Story) -> list[str]:
    states = list(story.class_shares) if len(story.class_shares) <= N_CLASSES else []
    header = ["source", "rows", "own", *(f"P({state})" for state in states)]
    ranked = sorted(story.sources, key=lambda one: -one.n_rows)
    rows = [
        [
            one.name,
            _number(one.n_rows),
            "-" if one.own is None else f"{100 * one.own:.0f} %",
            *_shares(network, story.target, one.name, one.class_shares, n_classes=len(states)),
        ]
        for one in ranked[:N_SHOWN]
    ]
    if has_new_source(network):
        rows.append(
            [
                NEW_SOURCE,
                "",
                "",
                *_shares(network, story.target, NEW_SOURCE, (), n_classes=len(states)),
            ]
        )
    return [
        "Sources (own: the way from pooled frequencies to their own; P: in their rows -> learned)",
        *_aligned([header, *rows]),
        *_rest(len(ranked), "sources"),
    ]


def _shares(
    network: Network, target: str, source: str, observed: Sequence[float], *, n_classes: int
) -> list[str]:
    given = {} if network.source is None else {network.source: source}
    learned = network.query(target, given=given).values
    seen = [f"{p:.3f}" for p in observed] or [""] * len(learned)
    return [f"{a} -> {b:.3f}".strip() for a, b in zip(seen, learned, strict=True)][:n_classes]


def _family_lines(pooling: Mapping[str, Mapping[str, float]]) -> list[str]:
    names = ["pooled", "hierarchical", "separate"]
    rows = []
    for family, evidence in pooling.items():
        log_evidence = np.array([evidence[name] for name in names])
        shares = softmax(log_evidence)
        gain = log_evidence[1:].max() - log_evidence[0]
        rows.append((gain, [family, f"{gain:.1f}", *(f"{p:.3f}" for p in shares)]))
    ranked = [row for _, row in sorted(rows, key=lambda row: -row[0])]
    return [
        "Families (gain: log evidence of differing over pooled tables; then P of each)",
        *_aligned([["family", "gain", *names], *ranked[:N_SHOWN]]),
        *_rest(len(ranked), "families"),
    ]


def _rest(n: int, what: str) -> list[str]:
    return [f"and {n - N_SHOWN:,} more {what}"] if n > N_SHOWN else []


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns of text; the first is flush left, the others flush right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _counted(values: Mapping[str, int]) -> str:
    ranked = sorted(values.items(), key=lambda item: -item[1])
    return _some([f"{value!r} in {n:,} row{'s' if n > 1 else ''}" for value, n in ranked])


def _some(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - N_SHOWN:,} more" if len(texts) > N_SHOWN else ""
    return ", ".join(texts[:N_SHOWN]) + more


def _number(value: float) -> str:
    return f"{value:,.0f}" if value.is_integer() else f"{value:,.1f}"
