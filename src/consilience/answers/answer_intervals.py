r"""The verb :func:`intervals`: how sure an answer is, given how sure the parameters are.

Networks are drawn from the posterior of their parameters and each is asked the same question; the
answer's credible interval are two quantiles of what they say,

.. math:: \theta^{(1)}, \dots, \theta^{(n)} \sim p(\theta \mid \text{rows}), \qquad
    R^{(i)} = P_{\theta^{(i)}}(q \mid e) .

The tables of one draw belong together: a difference between two sources is taken within each draw,
so that what they share cancels. A source never seen is drawn from the hierarchy, and its interval
is as wide as the sources differ. Discrete networks are asked with the draws as one more axis of
every table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats, Seed
from consilience.answers.answer_columns import Columns, Frame, columns_frame, columns_text
from consilience.answers.asked_answers import Asked
from consilience.answers.sources_asked import Between, asked_of
from consilience.errors import InputError
from consilience.inference.elimination import Labeled, eliminate
from consilience.inference.evidence import evidence_of
from consilience.inference.known_rows import Rows, rows_of
from consilience.inference.solving import families_of, shape_of_scopes
from consilience.inference.ways import Exact, exact_of
from consilience.network.network import SEED, Given, Network, check_network
from consilience.parameters.uncertainty import draws as drawn_networks, posterior_of

__all__ = ["AnswerIntervals", "drawn_answers", "intervals"]

DRAW = "\0draw"  # the axis of the draws; no variable has this name
CELLS = 1 << 22  # of the largest product of a block of draws


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AnswerIntervals:
    """An answer, and where it may be given what the rows say about the parameters.

    Parameters
    ----------
    query
        What was asked, in words.
    states
        What the numbers are about: states or joint states, ``("yes",)`` for an event, and
        ``("mean", "sd")`` for a continuous variable.
    answer
        What the network itself says.
    low, high
        Ends of the central credible interval.
    sd
        Standard deviation of what the drawn networks say.
    level, n_draws
        Probability of the interval, and number of networks.
    between
        The two sources whose difference this is, or None.
    """

    query: str
    states: tuple[str, ...]
    answer: Floats
    low: Floats
    high: Floats
    sd: Floats
    level: float
    n_draws: int
    between: Between | None = None

    def __post_init__(self) -> None:
        _freeze.own(self)

    def __getitem__(self, state: str) -> tuple[float, float]:
        """The interval of one state."""
        _check.known("state", [state], self.states)
        i = self.states.index(state)
        return float(self.low[i]), float(self.high[i])

    @property
    def columns(self) -> Columns:
        """State, answer, and the ends of its interval."""
        return {
            "state": self.states,
            "answer": self.answer.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "sd": self.sd.tolist(),
        }

    @property
    def title(self) -> str:
        """What the table is."""
        of = "" if self.between is None else f", {self.between[0]} less {self.between[1]}"
        return f"{self.query}{of}: {self.level:.0%} intervals from {self.n_draws:,} networks"

    def to_frame(self) -> Frame:
        """The columns as a pandas frame."""
        return columns_frame("AnswerIntervals", self.columns)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        return columns_text(self.title, self.columns)


def intervals(
    net: Network,
    query: str | Sequence[str] | Mapping[str, Any],
    given: Given = None,
    *,
    level: float = 0.95,
    draws: int = 2000,
    seed: Seed = SEED,
    between: Sequence[str] | None = None,
    by: Exact | None = None,
) -> AnswerIntervals:
    """Credible intervals of an answer, from networks drawn from the posterior of the parameters.

    For one source it is among what is given; without it the answer is that of all of them; a source
    never seen is ``{source: "new_source"}``. Intervals of a node's own parameters are
    :func:`consilience.estimators.parameter_intervals`.

    Parameters
    ----------
    query
        A variable, several discrete ones, or an event such as ``{"lung": "yes"}``.
    given
        What is known.
    level
        Probability that the interval is to have.
    draws, seed
        How many networks, and their seed.
    between
        Two sources; the answer is that of the first less that of the second.
    by
        How each network is asked, if it has continuous nodes.

    Raises
    ------
    ModelError
        If a node that matters has no posterior, as after maximum likelihood.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"ill": ["yes"] * 3 + ["no"] * 7})
    >>> net = cs.fit(cs.DAG(nodes=["ill"]), table, cs.Dirichlet(per_cell=1))
    >>> found = cs.intervals(net, "ill", level=0.9)
    >>> [round(end, 1) for end in found["yes"]]  # of Beta(4, 8)
    [0.1, 0.6]
    """
    check_network("intervals", net)
    _check.finite("intervals", level=level)
    if not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, got {level!r}.", parameter="level")
    _check.whole("intervals", at_least=2, draws=draws)
    asked = Asked.of("intervals", net, query, given)
    sides = asked_of(net, given, between)
    each = _answers(net, asked, sides, draws, seed=seed, by=by)
    own = [asked.answer(net, known, by) for known in sides]
    if between is not None:
        each, own = [each[0] - each[1]], [own[0] - own[1]]
    ends = np.quantile(each[0], [(1 - level) / 2, (1 + level) / 2], axis=0)
    return AnswerIntervals(
        asked.words,
        asked.states,
        own[0],
        ends[0],
        ends[1],
        each[0].std(axis=0),
        level,
        draws,
        None if between is None else (between[0], between[1]),
    )


def drawn_answers(
    net: Network,
    query: str | Sequence[str],
    sides: Sequence[Mapping[str, Any]],
    n_draws: int,
    *,
    seed: Seed = SEED,
) -> list[Floats]:
    """What networks drawn from the posterior answer, shape (draws, joint states) for each side.

    A side is what is given; the same networks are asked about all of them.
    """
    _check.whole("draws", at_least=2, draws=n_draws)
    asked = Asked.of("draws", net, query, None)
    return _answers(net, asked, sides, n_draws, seed=seed, by=None)


def _answers(
    net: Network,
    asked: Asked,
    sides: Sequence[Mapping[str, Any]],
    n_draws: int,
    *,
    seed: Seed,
    by: Exact | None,
) -> list[Floats]:
    """What each drawn network answers, for each side; shape (draws, states)."""
    net = _that_matters(net, asked, sides)
    is_plain = net.is_discrete and not any(evidence_of(net.variables, k).soft for k in sides)
    if is_plain:
        return _of_tables(net, asked, sides, n_draws, seed=seed, way=exact_of(by))
    found = [
        [asked.answer(one, known, by) for known in sides]
        for one in drawn_networks(net, n_draws, seed=seed)
    ]
    return [np.stack(answers) for answers in zip(*found, strict=True)]


def _that_matters(net: Network, asked: Asked, sides: Sequence[Mapping[str, Any]]) -> Network:
    """The network without what lies below all that is asked for or given, which sums to one."""
    names = {*asked.names} if net.source is None else {*asked.names, net.source}
    for known in sides:
        evidence = evidence_of(net.variables, known)
        names.update(evidence.names, *evidence.sets)
    kept = names | net.dag.ancestors(names)
    return Network({n: one for n, one in net.distributions.items() if n in kept}, net.source)


def _of_tables(
    net: Network,
    asked: Asked,
    sides: Sequence[Mapping[str, Any]],
    n_draws: int,
    *,
    seed: Seed,
    way: Exact,
) -> list[Floats]:
    """The same for discrete networks, blocks of draws at once."""
    rows = [rows_of(net, evidence_of(net.variables, known)) for known in sides]
    families = [families_of(net, one.names, one.observed, asked.names).joined for one in rows]
    rng = _check.generator(seed)
    needed = [n for n in net.tables if any(n in joined for joined in families) and n != net.source]
    running = {name: posterior_of(net[name]).draws(rng) for name in needed}
    kept = (DRAW, *asked.names)
    shapes = [
        shape_of_scopes(net, [_free(net, n, one) for n in joined], kept=asked.names)
        for one, joined in zip(rows, families, strict=True)
    ]
    for shape in shapes:
        shape.cost.check(way.memory_limit)
    block = max(1, min(n_draws, int(CELLS / max(one.cost.largest_table for one in shapes))))
    found: list[list[Floats]] = [[] for _ in sides]
    for start in range(0, n_draws, block):
        n = min(block, n_draws - start)
        tables = {name: np.stack(list(islice(each, n))) for name, each in running.items()}
        for out, one, joined, shape in zip(found, rows, families, shapes, strict=True):
            factors = list(_factors(net, tables, one, joined))
            result = eliminate(factors, shape.order, kept=kept)
            values = np.broadcast_to(result.values, (n, *result.values.shape[1:]))
            out.append(asked.normalized(values, result.log_scale))
    return [np.concatenate(parts) for parts in found]


def _free(net: Network, name: str, rows: Rows) -> list[str]:
    return [n for n in (*net[name].parents, name) if n not in rows.known]


def _factors(
    net: Network, tables: Mapping[str, Floats], rows: Rows, families: Sequence[str]
) -> Iterator[Labeled]:
    """The tables at the known states, those that were drawn with the axis of the draws."""
    yield Labeled((DRAW,), np.ones(max((len(t) for t in tables.values()), default=1)))
    for name in families:
        names = (*net[name].parents, name)
        at = tuple(rows.known[n][0] if n in rows.known else slice(None) for n in names)
        free = tuple(n for n in names if n not in rows.known)
        if name in tables:
            yield Labeled((DRAW, *free), tables[name][(slice(None), *at)])
        else:
            yield Labeled(free, net.tables[name].table[at])
        if name in rows.likelihoods:
            yield Labeled((name,), rows.likelihoods[name])
