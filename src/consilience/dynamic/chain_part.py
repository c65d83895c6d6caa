r"""A network in time that is one hidden chain, for steps of EM on long panels.

If the message is over one variable, moved by one table, and all else multiplies it by likelihoods,
rows with the same likelihood are one *symbol*: their posteriors add up before any family is looked
at. The loops are those of a hidden Markov model (``kernels/interface.py``), whatever the network
looks like beside the chain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from consilience._typing import Floats, Integers
from consilience.dynamic.evidence_in_time import SequenceEvidence
from consilience.dynamic.frontier import Frontier, Messages
from consilience.kernels.interface import LANES, expect_chain, expect_chains

__all__ = ["ChainPart"]

LANES_FROM = 2 * LANES
"""Number of sequences from which on they are done side by side."""

MOST_ROOM = 1 << 22
"""Whole numbers up to which values are ranked by marking those that are there."""

BLOCK = 64 * LANES
"""Number of sequences that have room for the longest of them each."""


class _Lanes(NamedTuple):
    """Sequences side by side: their symbols (groups, steps, lanes), lengths and weights."""

    sequences: Integers
    symbols: Integers
    lengths: Integers
    weights: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ChainPart:
    """The rows of a panel as symbols of one chain.

    Attributes
    ----------
    starts, moves
        Where the numbers of the first state and of the moves start, by group of sequences (a
        source): equal for all sequences of a group.
    sequences
        The sequences of each group.
    lanes
        The sequences of each group side by side; none where there are few.
    symbols
        The symbol of each row.
    bases, known
        For each symbol where the numbers of each likelihood start, and the state if it is known.
    strides
        For each likelihood its stride over the states.
    room
        Room for the messages and scales of the longest sequence.
    """

    frontier: Frontier
    starts: Integers
    moves: Integers
    move_strides: tuple[int, int]
    sequences: tuple[Integers, ...]
    lanes: tuple[tuple[_Lanes, ...], ...]
    symbols: Integers
    bases: Integers
    known: Integers
    strides: Integers
    n_states: int
    room: tuple[Floats, Floats]

    @classmethod
    def of(cls, frontier: Frontier) -> ChainPart | None:
        """The chain of a prepared panel, or None if its messages are not of this form."""
        joins, evidence = frontier.joins, frontier.evidence
        if len(frontier.open) != 1 or len(joins.of_slice) != 3 or frontier.size < 2:
            return None
        (begin, middle, end), k = joins.of_slice, frontier.size
        is_chain = (
            middle > begin
            and end - middle == middle - begin
            and joins.child[begin] == 0
            and joins.child[middle] == 0
            and joins.size_in[begin] == 1
            and joins.size_in[middle] == k
            and (joins.child[begin + 1 : middle] < 0).all()
            and (joins.child[middle + 1 : end] < 0).all()
            and (joins.size_out == k).all()
        )
        if not is_chain or not evidence.n_rows or (np.diff(evidence.first) == 0).any():
            return None
        steps, base = evidence.steps, frontier.base
        heads = evidence.first[:-1]
        later = np.flatnonzero(steps > 0)
        of_sequence = np.full(len(heads), -1, np.int64)
        rows_sequence = np.repeat(np.arange(len(heads)), np.diff(evidence.first))
        of_sequence[rows_sequence[later]] = base[later, 0]
        if (base[later, 0] != of_sequence[rows_sequence[later]]).any():
            return None
        pairs = np.stack([base[heads, 0], of_sequence], axis=1)
        groups, place = np.unique(pairs, axis=0, return_inverse=True)
        strides = []
        for q in range(begin + 1, middle):
            cells = slice(joins.first[q], joins.first[q + 1])
            other = slice(joins.first[q + middle - begin], joins.first[q + 1 + middle - begin])
            if (joins.f[cells] != joins.f[other]).any() or joins.first[q + 1] - joins.first[q] != k:
                return None
            strides.append(int(joins.f[cells][1] - joins.f[cells][0]))
        f = joins.f[joins.first[middle] : joins.first[middle + 1]].reshape(k, k)
        likelihoods = base[:, 1 : middle - begin]
        keys = np.concatenate([likelihoods, frontier.codes[:, :1]], axis=1)
        found, symbols = _distinct(keys)
        sequences = tuple(np.flatnonzero(place == g) for g in range(len(groups)))
        return cls(
            frontier,
            groups[:, 0],
            np.where(groups[:, 1] >= 0, groups[:, 1], groups[:, 1].max(initial=0)),
            (int(f[1, 0] - f[0, 0]), int(f[0, 1] - f[0, 0])),
            sequences,
            tuple(_side_by_side(s, evidence, symbols, len(found)) for s in sequences),
            symbols,
            np.ascontiguousarray(found[:, :-1]),
            np.ascontiguousarray(found[:, -1]),
            np.array(strides, np.int64),
            k,
            _room(evidence.first, k),
        )

    def infer(self, numbers: Floats) -> Messages:
        """Log-likelihoods and expected counts, weighted; no posteriors of rows."""
        k = self.n_states
        likelihoods = self._likelihoods(numbers)
        counts = np.zeros(len(numbers))
        log = np.zeros(len(self.frontier.evidence.first) - 1)
        sums = np.zeros_like(likelihoods)
        states = np.arange(k)
        down, right = self.move_strides
        for g, sequences in enumerate(self.sequences):
            places = self.moves[g] + down * states[:, None] + right * states[None, :]
            moves = np.ascontiguousarray(numbers[places])
            start = numbers[self.starts[g] + states]
            first_sum, pairs = np.zeros(k), np.zeros((k, k))
            self._run(
                sequences,
                self.lanes[g],
                start,
                moves,
                likelihoods=likelihoods,
                first_sum=first_sum,
                pairs=pairs,
                sums=sums,
                log=log,
            )
            np.add.at(counts, places.ravel(), (pairs * moves).ravel())
            np.add.at(counts, self.starts[g] + states, first_sum)
        for q, stride in enumerate(self.strides):
            places = self.bases[:, q][:, None] + stride * states[None, :]
            counts += np.bincount(places.ravel(), sums[:-1].ravel(), len(counts))
        return Messages(log, counts, {})

    def _likelihoods(self, numbers: Floats) -> Floats:
        """The likelihood of each state for each symbol, and a last one that is always one."""
        states = np.arange(self.n_states)
        found = np.ones((len(self.known) + 1, self.n_states))
        for q, stride in enumerate(self.strides):
            found[:-1] *= numbers[self.bases[:, q][:, None] + stride * states[None, :]]
        is_known = np.flatnonzero(self.known >= 0)
        mask = np.zeros((len(is_known), self.n_states))
        mask[np.arange(len(is_known)), self.known[is_known]] = 1.0
        found[is_known] *= mask
        return found

    def _run(
        self,
        sequences: Integers,
        lanes: tuple[_Lanes, ...],
        start: Floats,
        moves: Floats,
        *,
        likelihoods: Floats,
        first_sum: Floats,
        pairs: Floats,
        sums: Floats,
        log: Floats,
    ) -> None:
        evidence = self.frontier.evidence
        with np.errstate(divide="ignore"):
            if not lanes:
                for s in sequences:
                    symbols = self.symbols[evidence.first[s] : evidence.first[s + 1]]
                    log[s] = expect_chain(
                        start,
                        moves,
                        likelihoods,
                        symbols,
                        float(evidence.weights[s]),
                        first_sum,
                        pairs,
                        sums,
                        *self.room,
                    )
                return
            for block in lanes:
                found = np.zeros(block.weights.shape)
                expect_chains(
                    start,
                    moves,
                    likelihoods,
                    block.symbols,
                    block.lengths,
                    block.weights,
                    first_sum,
                    pairs,
                    sums,
                    found,
                )
                log[block.sequences] = found.ravel()[: len(block.sequences)]


def _side_by_side(
    sequences: Integers, evidence: SequenceEvidence, symbols: Integers, nothing: int
) -> tuple[_Lanes, ...]:
    """Sequences by falling length in groups of lanes, groups of like length together.

    What follows the end of a sequence is the symbol ``nothing``.
    """
    if len(sequences) < LANES_FROM:
        return ()
    first, every = evidence.first, np.diff(evidence.first)
    order = sequences[np.argsort(-every[sequences], kind="stable")]
    found = []
    for at in range(0, len(order), BLOCK):
        chosen = order[at : at + BLOCK]
        n_groups = -(-len(chosen) // LANES)
        lengths, weights = np.zeros(n_groups * LANES, np.int64), np.zeros(n_groups * LANES)
        lengths[: len(chosen)], weights[: len(chosen)] = every[chosen], evidence.weights[chosen]
        mine = np.full((n_groups * LANES, int(lengths[0])), nothing, np.int64)
        for lane, s in enumerate(chosen):
            mine[lane, : lengths[lane]] = symbols[first[s] : first[s + 1]]
        wide = np.ascontiguousarray(mine.reshape(n_groups, LANES, -1).transpose(0, 2, 1))
        shape = n_groups, LANES
        found.append(_Lanes(chosen, wide, lengths.reshape(shape), weights.reshape(shape)))
    return tuple(found)


def _room(first: Integers, n_states: int) -> tuple[Floats, Floats]:
    """Room for the messages of the longest sequence, where they are not done side by side."""
    lengths = np.diff(first)
    longest = int(lengths.max(initial=0))
    return np.empty((longest, n_states)), np.empty(longest)


def _distinct(keys: Integers) -> tuple[Integers, Integers]:
    """The different rows, and which of them each row is."""
    code = np.zeros(len(keys), np.int64)
    for column in keys.T:
        place = _ranked(column)
        code = _ranked(code * (int(place.max(initial=0)) + 1) + place)
    row = np.empty(int(code.max(initial=-1)) + 1, np.int64)
    row[code] = np.arange(len(code))
    return np.ascontiguousarray(keys[row]), code


def _ranked(values: Integers) -> Integers:
    """The place of each value among the different ones; without sorting if they lie close."""
    low = int(values.min(initial=0))
    room = int(values.max(initial=0)) - low + 1
    if room > MOST_ROOM:
        return np.ascontiguousarray(np.unique(values, return_inverse=True)[1])
    is_there = np.zeros(room, bool)
    is_there[values - low] = True
    return np.asarray((np.cumsum(is_there) - 1)[values - low], np.int64)
