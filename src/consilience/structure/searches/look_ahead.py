r"""Scores of families where a pass over the rows is dear: exact if known, else guessed.

A search is *played* with guesses wherever the exact statistics are not known yet. What it wanted is
then asked for in one pass, and it is played again from the start with the same chance, until a play
made no guess: every number in that play was exact, so it is the plain search (``plays.py``).

A guess is a difference of scores that a sample of the rows, the scout, lets expect, added to a
value that is held already,

.. math:: \hat v(c, P') = v(c, P) + e(c, P') - e(c, P),

with :math:`v` exact if known. It is fixed at its first use within a play, so that a play sees one
function of child and parents, and ends. With n of the N rows in the sample, m = N / n, and
:math:`s_m` the score of its counts taken m times, a family of k free parameters is expected to have

.. math:: e = s_m - (m - 1) \frac{k}{2} - 3 m \sqrt{k / 2} .

Counts taken m times have the penalty of N rows, but the noise of the sample grows with them: k
parameters fit it by a log likelihood of k/2 with a variance of k/2. So that is taken off, and three
standard deviations too: arcs that only the noise favors would lead a play astray.

What a pass asks for is bounded: what a search meets late in a play depends on all its guesses
before, and restarts on guesses would ask for many times too much. So a play ends when it has
guessed enough, and what it wanted first comes first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.errors import MemoryLimitError
from consilience.statistics.counts import Counts
from consilience.statistics.counts_batch import CountBatch
from consilience.statistics.engines.memory import Memory
from consilience.statistics.family import Family
from consilience.statistics.request import CountRequest
from consilience.structure.searches.class_masks import bits
from consilience.structure.searches.judge import Around, Grounds, Key
from consilience.structure.searches.known_scores import KnownScores, places_of

__all__ = ["EnoughGuessed", "LookAhead"]

MOST_BYTES = 1 << 27
"""Bytes of the counts that one pass asks for."""

PAIRS_AT_FIRST, PAIRS_LATER, SHARE_GUESSED = 4, 1, 0.5
"""A play ends when it has guessed more families than so many for each pair of variables (the first
play, and later ones), and than this share of those that it met and knew: what it would meet later
is too uncertain to ask for.
"""

STEPS_AT_LEAST, STEPS_PER_VARIABLE = 50, 4
"""Steps without a new guess, beside as many as were sure, after which a play is taken to go in
circles.
"""

DOUBT = 3.0
"""Standard deviations of its noise that are taken off what the sample says."""


class EnoughGuessed(Exception):  # noqa: N818 - no error
    """A play has guessed enough."""


_Want: TypeAlias = tuple[int, int, tuple[int, ...]]
"""A family and the candidates to be added to its parents."""


class LookAhead:
    """Scores of families of discrete variables for the plays of one search; see :class:`Ahead`.

    Parameters
    ----------
    grounds
        What families are judged by; the engine is one whose passes are dear.
    scout
        A sample of its rows.
    n_rows
        Weight of all rows.
    bytes_guessed
        A later play ends when it has guessed more bytes than this share, divided by the number of
        plays, of those that it met and knew: few families with many parents may have most of the
        bytes, and what is unknown after several plays is what the sample misjudges.

    Attributes
    ----------
    n_plays, n_families
        Number of plays, and of families that were asked for.
    """

    def __init__(
        self, grounds: Grounds, scout: Memory, n_rows: float, bytes_guessed: float = math.inf
    ) -> None:
        self._grounds = grounds
        self._known, self._sample = (KnownScores(len(grounds.names)) for _ in range(2))
        self._scout = replace(grounds, engine=scout)
        self._ratio = max(1.0, n_rows / max(1.0, scout.table.total_weight))
        self._bytes_guessed = bytes_guessed
        self._too_large: dict[_Want, MemoryLimitError] = {}
        self.n_plays = self.n_families = 0
        self._guesses: dict[Key, float] = {}
        self._used: dict[_Want, None] = {}
        self._wanted: dict[_Want, None] = {}
        self._tables: dict[Family, Counts] = {}
        self._n_used = self._n_wanted = self._n_steps = self._n_sure = 0
        self._bytes_used = self._bytes_wanted = 0.0
        self._must_know = False

    def begin(self) -> None:
        """Begin a play."""
        self.n_plays += 1
        for kept in (self._guesses, self._used, self._wanted, self._tables):
            kept.clear()
        self._must_know = False
        self._n_used = self._n_wanted = self._n_steps = self._n_sure = 0
        self._bytes_used = self._bytes_wanted = 0.0

    def step(self) -> None:
        """Note that the search goes on; end the play if it seems to go in circles.

        Guesses for graphs of one class differ, so a search over classes may gain for ever. A long
        way over known families is no circle: restarts go it again and again.
        """
        if not self._wanted:
            self._n_sure += 1
            return
        self._n_steps += 1
        most = STEPS_AT_LEAST + STEPS_PER_VARIABLE * len(self._grounds.names) + self._n_sure
        if self._n_steps > most:
            raise EnoughGuessed

    def around(self, families: Sequence[Around]) -> Floats:
        """Scores of families, without each parent and with each candidate, one after the other."""
        wants = [(child, parents, tuple(rest)) for child, parents, rest in families]
        self._use(wants)
        self._want([want for want in wants if np.isnan(self._known.found(*want)).any()])
        return np.concatenate([self._around(want) for want in wants])

    def several(self, keys: Sequence[Key]) -> Floats:
        """Scores of some families."""
        wants = [(*key, ()) for key in keys]
        self._use(wants)
        self._want([want for want in wants if want[:2] not in self._known.alone])
        return np.array([self._value(key) for key in keys])

    def table(self, family: Family) -> Counts:
        """The exact counts of one large family, for the scores of very many sets.

        Large tables are asked for only when nothing was guessed before; then nothing is guessed
        after them, so that they are asked for once.
        """
        self.prepare_tables([family])
        return self._tables.pop(family)

    def prepare_tables(self, families: Sequence[Family]) -> None:
        """Ask for several such tables together, unless they are too large together."""
        if self._wanted:
            raise EnoughGuessed
        self._must_know = True
        new = tuple(family for family in families if family not in self._tables)
        if not new:
            return
        how = self._grounds.score.by_source, self._grounds.memory_limit
        try:
            found = self._grounds.engine.gather(CountRequest(new, *how))
        except MemoryLimitError:
            if len(new) == 1:
                raise
            return  # they will be asked for one by one
        self.n_families += len(new)
        self._tables.update(zip(new, found, strict=True))

    @property
    def has_guessed(self) -> bool:
        """Whether the play under way had to guess."""
        return bool(self._wanted)

    def fetch(self) -> None:
        """Ask for what the play wanted, as much of it as one pass may."""
        score = self._grounds.score
        for want, values in _scored(self._grounds, list(self._bounded()), score.local):
            if isinstance(values, MemoryLimitError):
                self._too_large[want] = values
            else:
                self._known.keep(*want, values)
                self.n_families += _size(want)

    def _around(self, want: _Want) -> Floats:
        child, parents, _ = want
        values = self._known.found(*want)
        unknown = np.flatnonzero(np.isnan(values)).tolist()
        if unknown:
            here = self._value((child, parents))
            places, sampled = places_of(*want), self._sample.found(*want)
            for at in unknown:
                i = places[at]
                key = child, parents if i == child else parents ^ 1 << i
                values[at] = self._value(key, here, float(sampled[at] - sampled[0]))
        return values

    def _use(self, wants: Sequence[_Want]) -> None:
        """Note what is asked for; refuse what a plain search could not ask for together."""
        for want in wants:
            if want in self._too_large:
                raise self._too_large[want]
        _check.memory(
            f"the family of {self._grounds.names[wants[0][0]]!r} with its neighbors (one of "
            f"{len(wants)} requests)",
            sum(map(self._n_bytes, wants)),
            self._grounds.memory_limit,
            "Use fewer parents or states, or raise memory_limit.",
        )
        new = [want for want in wants if want not in self._used]
        self._n_used += sum(map(_size, new))
        self._bytes_used += sum(map(self._n_bytes, new))
        self._used.update(dict.fromkeys(wants))

    def _want(self, wants: Sequence[_Want]) -> None:
        """Note what has to be guessed, and ask the scout; end the play if it is enough."""
        new = [want for want in wants if want not in self._wanted]
        if not new:
            return
        self._n_steps = 0
        self._wanted.update(dict.fromkeys(new))
        if self._must_know:
            self.fetch()
            self._wanted.clear()
            return
        self._n_wanted += sum(map(_size, new))
        self._bytes_wanted += sum(map(self._n_bytes, new))
        if self._has_enough():
            raise EnoughGuessed
        unseen = [want for want in new if np.isnan(self._sample.found(*want)).any()]
        for want, values in _scored(self._scout, unseen, self._expected):
            if isinstance(values, MemoryLimitError):
                values = np.full(_size(want), -np.inf)
            self._sample.keep(*want, values)

    def _expected(self, counts: CountBatch) -> Floats:
        """What the scores of all rows should be like, from the counts of the sample.

        Counts are taken a whole number of times, so that they stay whole.
        """
        times = round(self._ratio)
        taken = replace(counts, table=times * counts.table, n_rows=times * counts.n_rows)
        k = counts.shapes[:, 0] * counts.n_parent_states * (counts.n_states - 1)
        noise = (times - 1) * k / 2 + DOUBT * times * np.sqrt(k / 2)
        return self._ratio / times * (self._grounds.score.local(taken) - noise)

    def _has_enough(self) -> bool:
        """Whether the play under way has guessed so much that it should end."""
        n_known, bytes_known = self._n_used - self._n_wanted, self._bytes_used - self._bytes_wanted
        pairs = PAIRS_AT_FIRST if self.n_plays == 1 else PAIRS_LATER
        at_least = pairs * len(self._grounds.names) ** 2
        has_many = self._n_wanted > max(at_least, SHARE_GUESSED * n_known)
        most_bytes = (
            self._bytes_guessed / self.n_plays * bytes_known if self.n_plays > 1 else math.inf
        )
        return has_many or self._bytes_wanted > most_bytes

    def _value(self, key: Key, other: float | None = None, gain: float = 0.0) -> float:
        """The score of a family: known, guessed before, or guessed now.

        A guess is that of another family and a gain on the sample; by default the largest family
        that is known and has only parents of this one.
        """
        known = self._known.nearly(key)
        if known is not None:
            return known
        if key not in self._guesses:
            if other is None:
                other, gain = self._below(key)
            is_told = math.isfinite(gain)  # what the sample cannot judge is taken for worse
            self._guesses[key] = other + gain if is_told else other - abs(other)
        return self._guesses[key]

    def _below(self, key: Key) -> tuple[float, float]:
        """The score of a family with fewer parents, and what the sample says that these gain."""
        child, parents = key
        here = self._sample.alone[key]
        for mask in (*(parents ^ 1 << i for i in bits(parents)), 0):
            known = self._known.nearly((child, mask))
            below = self._sample.nearly((child, mask))
            if known is not None and below is not None:
                return known, here - below
        return 0.0, here

    def _bounded(self) -> Iterator[_Want]:
        """What is wanted, the first first, as far as it fits; at least one."""
        room, n_bytes = min(MOST_BYTES, self._grounds.memory_limit), 0.0
        for want in self._wanted:
            n_bytes += self._n_bytes(want)
            if n_bytes > room and n_bytes > self._n_bytes(want):
                return
            yield want

    def _n_bytes(self, want: _Want) -> float:
        """Bytes of the counts of a family and its neighbors."""
        child, parents, candidates = want
        schema = self._grounds.engine.schema
        source = schema.source if self._grounds.score.by_source else None
        n_states = [schema[self._grounds.names[i]].n_states for i in (child, *bits(parents))]
        more = sum(schema[self._grounds.names[i]].n_states for i in candidates)
        return 8.0 * (source.n_states if source else 1) * math.prod(n_states) * (1 + more)


def _size(want: _Want) -> int:
    return 1 + want[1].bit_count() + len(want[2])


def _scored(
    grounds: Grounds, wants: Sequence[_Want], judge: Callable[[CountBatch], Floats]
) -> list[tuple[_Want, Floats | MemoryLimitError]]:
    """The scores of families and their neighbors, or that their counts are too large.

    Asked for in one request, which is halved where it is too large.
    """
    if not wants:
        return []
    try:
        values = judge(grounds.engine.gather(grounds.toggles(wants)))
    except MemoryLimitError as error:
        half = len(wants) // 2
        if not half:
            return [(wants[0], error)]
        return [*_scored(grounds, wants[:half], judge), *_scored(grounds, wants[half:], judge)]
    ends = np.cumsum([_size(want) for want in wants])
    return list(zip(wants, np.split(values, ends[:-1]), strict=True))
