r"""The joint posterior of several hidden nodes, each of which has observed children of its own.

For a row :math:`x` whose group :math:`i` of observed variables depends on the hidden node
:math:`L_i` only,

.. math:: P(l_1, \dots, l_k \mid x) \propto \pi(l_1, \dots, l_k) \prod_i e_i(l_i), \qquad
    e_i(l) = P(x_i \mid L_i = l) .

The hidden nodes are split into two halves. The products of the evidence of a half are a row of a
matrix, :math:`A` and :math:`B`, and with :math:`\pi` as a matrix :math:`\Pi` (states of the first
half by states of the second) all that is wanted are products of matrices:

.. math:: Z = (A \Pi \circ B)\, 1, \qquad
    \sum_x w_x P(l \mid x) = \Pi \circ A^\top \mathrm{diag}(w / Z)\, B .

Hidden nodes that have the same observed children are one group: :math:`L_i` is then the vector of
them, and :math:`l_i` one of their joint states.

Time and memory grow with the number of joint states of the hidden nodes: ten nodes of three states
have 59,049, and a pass over 10,000 rows takes about half a second.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.data.table import Table
from consilience.data.variable import Variable
from consilience.distributions import Categorical
from consilience.errors import ImpossibleEvidenceError
from consilience.inference.evidence_rows import posteriors
from consilience.network.network import Network

__all__ = [
    "Groups",
    "blocks_of",
    "by_block",
    "by_node",
    "each_posterior",
    "evidence_of",
    "expected_joint",
    "hidden_in_blocks",
    "joint_prior",
]

Groups = Mapping[str, Sequence[str]]
"""For each hidden node the observed variables that depend on it; those of the same depend on all of
its hidden nodes."""

ROWS_AT_ONCE = 4096


def blocks_of(groups: Groups) -> list[tuple[str, ...]]:
    """Hidden nodes that have the same observed variables, together.

    Examples
    --------
    >>> blocks_of({"load": ["x", "y"], "mood": ["z"], "staff": ["x", "y"]})
    [('load', 'staff'), ('mood',)]
    """
    found: dict[frozenset[str], list[str]] = {}
    for hidden, observed in groups.items():
        found.setdefault(frozenset(observed), []).append(hidden)
    return [tuple(block) for block in found.values()]


def hidden_in_blocks(groups: Groups) -> list[str]:
    """All hidden nodes, those of a block beside each other."""
    return [name for block in blocks_of(groups) for name in block]


def evidence_of(net: Network, table: Table, groups: Groups) -> list[Floats]:
    """For each block of hidden nodes, the likelihood of its joint states in each row.

    Shape (rows, joint states), scaled to sum to one. A missing value says nothing.
    """
    found = []
    for block in blocks_of(groups):
        variables = [net.variables[name] for name in block]
        n_states = prod(one.n_states for one in variables)
        joint = Variable(" ".join(block), tuple(map(str, range(n_states))))
        uniform = Categorical(joint, (), np.full(n_states, 1 / n_states))
        tables = [_given_joint(net.tables[name], block, joint) for name in groups[block[0]]]
        found.append(posteriors(Network.of([uniform, *tables]), table, joint.name))
    return found


def _given_joint(local: Categorical, block: Sequence[str], joint: Variable) -> Categorical:
    """The table of an observed variable given the joint state of its hidden parents."""
    axes = [local.parents.index(name) for name in block]
    ordered = local.table.transpose([*axes, len(axes)])
    return Categorical(local.child, (joint,), ordered.reshape(joint.n_states, -1))


def by_block(prior: Floats, groups: Groups) -> Floats:
    """The joint distribution of the hidden nodes in blocks, an axis for each block."""
    sizes = iter(prior.shape)
    return prior.reshape([prod(next(sizes) for _ in block) for block in blocks_of(groups)])


def by_node(found: Sequence[Floats], groups: Groups, net: Network) -> dict[str, Floats]:
    """Posteriors of the nodes, in the order of the groups, from those of the blocks."""
    each: dict[str, Floats] = {}
    for block, belief in zip(blocks_of(groups), found, strict=True):
        shaped = belief.reshape(len(belief), *(net.variables[name].n_states for name in block))
        for i, name in enumerate(block):
            others = tuple(axis + 1 for axis in range(len(block)) if axis != i)
            each[name] = shaped.sum(axis=others)
    return {name: each[name] for name in groups}


def joint_prior(net: Network, hidden: Sequence[str], memory_limit: float) -> Floats:
    """The joint distribution of the hidden nodes, an axis each; their parents are among them."""
    shape = [net.variables[name].n_states for name in hidden]
    _check.memory(
        f"the joint distribution of {len(hidden)} hidden nodes",
        24.0 * prod(shape),
        memory_limit,
        "Use HardCompletion(), fewer groups or states, or raise memory_limit.",
    )
    joint = np.ones(shape)
    for name in hidden:
        local = net.tables[name]
        axes = [hidden.index(other) for other in (*local.parents, name)]
        ordered = local.table.transpose(np.argsort(axes))
        joint *= ordered.reshape([n if i in axes else 1 for i, n in enumerate(shape)])
    return joint


def expected_joint(prior: Floats, evidence: Sequence[Floats], weights: Floats) -> Floats:
    """Expected joint counts of the hidden nodes: the sum over rows of their joint posterior.

    Parameters
    ----------
    prior
        Joint distribution of the hidden nodes, an axis each; it need not be normalised.
    evidence
        Likelihood of the states of each, shape (rows, states), up to a factor for each row.
    weights
        What each row counts.

    Examples
    --------
    >>> prior = np.array([[0.5, 0.0], [0.0, 0.5]])  # two hidden nodes that are always equal
    >>> unclear, clear = np.array([[0.5, 0.5]]), np.array([[0.9, 0.1]])
    >>> expected_joint(prior, [unclear, clear], np.ones(1))
    array([[0.9, 0. ],
           [0. , 0.1]])
    """
    counts = np.zeros_like(_as_matrix(prior))
    for rows, left, right, total in _blocks(prior, evidence, len(weights)):
        counts += (left * (weights[rows] / total)[:, None]).T @ right
    return np.asarray(counts.reshape(prior.shape) * prior)


def each_posterior(prior: Floats, evidence: Sequence[Floats], n_rows: int) -> list[Floats]:
    """The posterior of each hidden node in every row, shape (rows, states); see above."""
    out = [np.empty_like(one) for one in evidence]
    matrix, half = _as_matrix(prior), _half(prior)
    for rows, left, right, total in _blocks(prior, evidence, n_rows):
        of_left = (right @ matrix.T) * left / total[:, None]
        of_right = (left @ matrix) * right / total[:, None]
        _split(of_left, prior.shape[:half], [one[rows] for one in out[:half]])
        _split(of_right, prior.shape[half:], [one[rows] for one in out[half:]])
    return out


def _half(prior: Floats) -> int:
    return (prior.ndim + 1) // 2


def _as_matrix(prior: Floats) -> Floats:
    half = _half(prior)
    return prior.reshape(prod(prior.shape[:half]), prod(prior.shape[half:]))


def _blocks(
    prior: Floats, evidence: Sequence[Floats], n_rows: int
) -> Iterator[tuple[slice, Floats, Floats, Floats]]:
    """Blocks of rows: products of the evidence of both halves, and the rows' probabilities."""
    matrix, half = _as_matrix(prior), _half(prior)
    for start in range(0, n_rows, ROWS_AT_ONCE):
        rows = slice(start, min(start + ROWS_AT_ONCE, n_rows))
        left = _products([one[rows] for one in evidence[:half]], rows.stop - start)
        right = _products([one[rows] for one in evidence[half:]], rows.stop - start)
        total = np.einsum("ij,ij->i", left @ matrix, right)
        if not total.all():
            row = start + int(np.flatnonzero(total == 0)[0]) + 1
            raise ImpossibleEvidenceError(f"row {row} is impossible under the network.", row=row)
        yield rows, left, right, total


def _products(evidence: Sequence[Floats], n_rows: int) -> Floats:
    """Products of the evidence for all joint states: shape (rows, joint states)."""
    out = np.ones((n_rows, 1))
    for one in evidence:
        out = (out[:, :, None] * one[:, None, :]).reshape(n_rows, -1)
    return out


def _split(joint: Floats, states: Sequence[int], out: Sequence[Floats]) -> None:
    """Write the marginals of joint posteriors, shape (rows, joint states), into ``out``."""
    shaped = joint.reshape(len(joint), *states)
    for i, one in enumerate(out):
        one[...] = shaped.sum(axis=tuple(axis + 1 for axis in range(len(states)) if axis != i))
