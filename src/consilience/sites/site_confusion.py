"""What a site tells of how well a network predicts its rows; see :mod:`confusion`.

The network travels as data. What it predicts may be any function of a row, so a policy that gives
confusion counts gives counts of any set of rows; groups of fewer rows than the least cell are
refused, and mode ``intervals`` gives none.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from consilience._typing import Floats, Integers
from consilience.data.align import aligned_codes
from consilience.data.table import Table, code_type
from consilience.data.variable import NEW_SOURCE, Schema, Variable
from consilience.errors import RefusalError
from consilience.files.native import parse
from consilience.files.objects import Content
from consilience.network.network import Network
from consilience.sites.message import Request
from consilience.sites.prediction_tally import Shape, Tally

if TYPE_CHECKING:
    from consilience.sites.site_answers import Answered, Given

__all__ = ["check_confusion", "confusion_answer"]


@dataclass(frozen=True, slots=True)
class _Asked:
    """The network, what it predicts, by which groups, in how many bins of which probability."""

    net: Network
    target: str
    by: tuple[str, ...]
    n_bins: int
    positive: int | None

    @classmethod
    def of(cls, request: Request) -> _Asked:
        content = Content.of(dict(request.content), "message", "confusion counts")
        net = parse(content.take("network", str), "message")
        target, by = content.take("target", str), content.texts("by")
        if target not in net.distributions or target == net.source or target in by:
            raise content.fault("'target' must be a node that is no group")
        n_bins = content.take("bins", int)
        positive = content.take("positive", int, is_optional=True)
        if n_bins < 1 or (positive is not None and positive < 0):
            raise content.fault("'bins' and 'positive' must be whole numbers that can be")
        return cls(net, target, tuple(by), n_bins, positive)

    def shape(self, given: Given) -> Shape:
        """How many numbers of everything the answer has."""
        n_states = given.agreement.variables[self.target].n_states
        return Shape(prod(given.agreement.shape(self.by)), n_states, self.n_bins)


def check_confusion(request: Request, given: Given) -> None:
    """Refuse what the policy does not give, before a row is read."""
    if given.agreement.mode == "intervals":
        raise RefusalError("confusion counts do not leave in mode 'intervals'.", code="mode")
    asked, allowed = _Asked.of(request), given.agreement.variables
    for name in (*asked.net.dag.nodes, asked.target, *asked.by):
        if name != asked.net.source and name not in allowed:
            raise RefusalError(f"{name!r:.80} may not be asked for.", code="variable")
    states = set(asked.net.variables[asked.target].states or ())
    if not states <= set(allowed[asked.target].states or ()):
        raise RefusalError(f"the study lacks states of {asked.target!r:.80}.", code="variable")
    shape = asked.shape(given)
    if asked.positive is not None and asked.positive >= shape.n_states:
        raise RefusalError(f"{asked.target!r} has no state {asked.positive}.", code="variable")
    if shape.n_cells > given.policy.max_cells:
        raise RefusalError(f"{shape.n_cells} cells are more than the policy gives.", code="cells")


def confusion_answer(request: Request, request_hash: str, given: Given) -> Answered:
    """Counts of true and predicted states, and of how sure predictions were, by group."""
    asked = _Asked.of(request)
    table, variables = given.table, given.agreement.variables
    weights = np.ones(table.n_rows, np.int64) if table.weights is None else table.weights
    if weights.dtype != np.int64:
        raise RefusalError("confusion counts need whole weights.", code="statistics")
    tally = Tally.of_rows(
        asked.shape(given),
        _group_codes(table, [variables[name] for name in asked.by]),
        aligned_codes(table, variables[asked.target]).astype(np.int64),
        _beliefs(asked, table, given),
        weights=weights.astype(np.int64),
        positive=asked.positive,
    )
    if ((tally.n_rows > 0) & (tally.n_rows < given.policy.least_cell)).any():
        raise RefusalError(
            f"a group has fewer than {given.policy.least_cell} rows here.", code="rows"
        )
    flat = tally.numbers.astype("<i8")
    sent: Any = flat
    if given.agreement.mode == "secure":
        sent = given.masked(flat, request, request_hash)
    return {}, {}, {"counts": sent}


def _group_codes(table: Table, variables: list[Variable]) -> Integers:
    """The group of each row; -1 where a variable is missing."""
    group, is_known = np.zeros(table.n_rows, np.int64), np.ones(table.n_rows, bool)
    for variable in variables:
        codes = aligned_codes(table, variable).astype(np.int64)
        is_known &= codes >= 0
        group = group * variable.n_states + np.maximum(codes, 0)
    return np.where(is_known, group, -1)


def _beliefs(asked: _Asked, table: Table, given: Given) -> Floats:
    """The probabilities of the target's states in the study; the site is the known source."""
    net, target = asked.net, asked.target
    found = net.posteriors(_at_home(net, table, given), target)
    states = given.agreement.variables[target].discrete_states
    beliefs = np.zeros((table.n_rows, len(states)))
    beliefs[:, [states.index(one) for one in net.variables[target].discrete_states]] = found
    return beliefs


def _at_home(net: Network, table: Table, given: Given) -> Table:
    if net.source is None:
        return table
    known = net.variables[net.source].discrete_states
    name = given.name if given.name in known else NEW_SOURCE
    if name not in known:
        raise RefusalError("the network does not know this site.", code="variable")
    source = Variable(net.source, (name,))
    codes = np.zeros(table.n_rows, code_type(1))
    return Table(Schema(table.variables, source), table.columns, codes, table.weights)
