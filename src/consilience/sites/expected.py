"""Steps of EM over sites: a network goes to the rows, and sums of whole numbers come back.

The expected counts and the log-likelihood of a site are whole numbers in fixed point, so they are
masked and added like counts, and EM has the bits of all rows in one place. The network travels as
data; a site answers for its own rows, which are the source of that name.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from consilience._typing import Codes
from consilience.data.table import Table, code_type
from consilience.data.variable import NEW_SOURCE, Schema, Variable
from consilience.errors import RefusalError
from consilience.files.native import parse, write
from consilience.files.objects import Content
from consilience.fusion.united_tables import recoded
from consilience.inference.case_requests import CasesRequest, ExpectedRequest
from consilience.inference.cases import ExpectedSums
from consilience.inference.whole_sums import WholeSums
from consilience.network.network import Network
from consilience.sites.masks import sum_of
from consilience.sites.message import Request
from consilience.statistics.engines.memory import Memory

if TYPE_CHECKING:
    from consilience.sites.gathered import Gathered
    from consilience.sites.site_answers import Answered, Given

__all__ = ["asked_families", "check_expected", "expected_answer", "expected_sums"]

LOW_BITS = 40
"""Of the log-likelihood, whose digits travel in two numbers."""


def expected_sums(study: Gathered, request: ExpectedRequest) -> ExpectedSums:
    """The sums over the rows of all sites."""
    if request.regressions:
        raise RefusalError(
            "EM of continuous nodes takes sums of floating numbers, which sites do not give. Cut "
            "the columns into states at the sites, or say gaps=cs.AvailableCases().",
            code="kind",
        )
    if study.agreement.mode == "intervals":
        raise RefusalError(
            "the sites show small counts as ranges (mode 'intervals'), and give no expected counts "
            "of rows with gaps. Say gaps=cs.AvailableCases(), which fits each family to the rows "
            "that are complete for it, or ask for the mode 'secure'.",
            code="mode",
        )
    content = {
        "network": write(request.cases.net),
        "theta": request.theta.tolist(),
        "apart": list(request.cases.apart),
        "keeps_barren": request.cases.keeps_barren,
    }
    scale, n_cells = study.agreement.scale, len(request.theta)
    size = n_cells * (2 if scale == 1 else 3) + 3
    replies = study.ask("expected counts", content=content, n_cells=size)
    dtype = "<u8" if study.agreement.mode == "secure" else "<i8"
    arrays = [
        study.exchange.array(place, reply, "sums", dtype=dtype, size=size)
        for place, reply in enumerate(replies)
    ]
    total = sum_of(arrays) if dtype == "<u8" else np.sum(arrays, axis=0)
    counted, whole, (high, low, n_impossible) = np.split(total, [n_cells, size - 3])
    log = (int(high) << LOW_BITS) + int(low)
    sums = WholeSums(whole.reshape(-1, n_cells), log, n_impossible == 0, scale)
    return ExpectedSums(counted, scale, sums, {}, 0.0)


def check_expected(request: Request, given: Given) -> None:
    """Refuse what the policy does not give, before a row is read."""
    if given.agreement.mode == "intervals":
        raise RefusalError("expected counts do not leave in mode 'intervals'.", code="mode")
    net, _ = _asked(request)
    policy, allowed = given.policy, given.agreement.variables
    for name in net.dag.nodes:
        if name != net.source and (name not in allowed or allowed[name].is_continuous):
            raise RefusalError(f"{name!r:.80} may not be asked for.", code="variable")
        parents = [one for one in net.dag.parents(name) if one != net.source]
        if policy.max_parents is not None and len(parents) > policy.max_parents:
            raise RefusalError(
                f"{name!r:.80} has more than {policy.max_parents} parents.", code="parents"
            )
    n_cells = sum(prod(local.table.shape) for local in net.tables.values())
    if n_cells > policy.max_cells:
        raise RefusalError(f"{n_cells} cells are more than the policy gives.", code="cells")


def asked_families(request: Request) -> list[tuple[str, ...]]:
    """The families of the network, for the ledger."""
    net, _ = _asked(request)
    return [(*net.dag.parents(name), name) for name in net.dag.nodes]


def expected_answer(request: Request, request_hash: str, given: Given) -> Answered:
    """Expected counts and log-likelihood of the site's rows, as whole numbers."""
    net, asked = _asked(request)
    sums = asked.work(Memory(_rows(net, given)))
    whole, scale = sums.whole, given.agreement.scale
    if scale > 1:
        whole = whole.fractional()
    log = int(whole.log)
    rest = [log >> LOW_BITS, log & (1 << LOW_BITS) - 1, 0 if whole.is_possible else 1]
    parts = [sums.counted * (scale // sums.scale), whole.counts.ravel(), rest]
    flat = np.concatenate([np.asarray(one, np.int64) for one in parts]).astype("<i8")
    sent: Any = flat
    if given.agreement.mode == "secure":
        sent = given.masked(flat, request, request_hash)
    return {}, {}, {"sums": sent}


def _rows(net: Network, given: Given) -> Table:
    """The rows over the study's states; the site is their source if the network has one."""
    table = recoded(given.table, given.agreement.variables)
    if net.source is None:
        return table
    known = [state for state in net.variables[net.source].discrete_states if state != NEW_SOURCE]
    if given.name not in known:
        raise RefusalError("the network does not know this site.", code="variable")
    source = Variable(net.source, tuple(known))
    codes: Codes = np.full(table.n_rows, known.index(given.name), code_type(len(known)))
    return Table(Schema(table.variables, source), table.columns, codes, table.weights)


def _asked(request: Request) -> tuple[Network, ExpectedRequest]:
    content = Content.of(dict(request.content), "message", "expected counts")
    net = parse(content.take("network", str), "message")
    theta = content.floats("theta")
    if net.regressions or theta.size != sum(one.table.size for one in net.tables.values()):
        raise content.fault("'theta' must have a number for each cell of the tables")
    apart = content.texts("apart")
    cases = CasesRequest(net, tuple(apart), content.take("keeps_barren", bool))
    return net, ExpectedRequest(cases, theta)
