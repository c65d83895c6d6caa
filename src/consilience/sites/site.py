"""The noun :class:`Site`: rows that stay where they are, and the policy for what leaves.

A request passes the policy, then the ledger, and only then reads rows. It is on disk before it is
answered, and so is the hash of the answer: a request that comes again gets the same bytes, and one
with other content under an old round is refused, also after a restart.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from threading import RLock
from typing import Any

from consilience import _check
from consilience.data.door import Rows
from consilience.errors import (
    ConsilienceError,
    DataError,
    FormatError,
    InputError,
    RefusalError,
    UnknownNameError,
    WriteError,
)
from consilience.sites.alternatives import Alternatives
from consilience.sites.masks import SiteKey
from consilience.sites.message import Reply, Request, digest, variables_to
from consilience.sites.policies import Policy
from consilience.sites.site_answers import ANSWERS, Given, fingerprint, gaps_of, size_of
from consilience.sites.site_ledger import Ledger
from consilience.sites.study_agreement import Agreement
from consilience.statistics.engines.memory import Memory
from consilience.statistics.gather import engine_of
from consilience.statistics.request import Engine

__all__ = ["Site"]


class Site:
    """A place that keeps its rows and answers requests for statistics.

    Parameters
    ----------
    rows
        A table, a frame, a path or an engine; a site is one source.
    policy
        What may leave; ``Policy()`` if not given.
    name
        What the site is called as a source; by default its only source, or a name that the
        coordinator gives.
    ledger
        The file of the ledger; without one the ledger is lost with the process.
    key
        The file of the private key for secure sums; by default beside the ledger.

    Examples
    --------
    >>> import consilience as cs
    >>> rows = cs.read({"smoke": ["yes", "no"] * 10, "cough": ["yes", "no", "no", "no"] * 5})
    >>> site = Site(rows, Policy(mode="exact"), name="rome")
    >>> Reply.from_bytes(site.answer(Request("schema", "first").to_bytes())).rows
    20
    """

    def __init__(
        self,
        rows: Rows | Engine,
        policy: Policy | None = None,
        *,
        name: str | None = None,
        ledger: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
    ) -> None:
        self.policy = Policy() if policy is None else policy
        if not isinstance(self.policy, Policy):
            raise InputError(f"Site: policy must be a Policy, got {policy!r}.", parameter="policy")
        self._engine = engine_of(rows)
        self.name = _name(self._engine, name)
        self.n_rows, self.scale = size_of(self._engine)
        self.variables = _allowed(self._engine, self.policy)
        # Only ranges need it: without gaps their counts add up to the rows.
        self._gaps = gaps_of(self._engine, self.variables) if self.policy.mode != "secure" else ()
        self.ledger = Ledger(ledger)
        self._key = _key(key, ledger)
        self._agreed: dict[str, Given] = {}
        self._audit: Alternatives | None = None
        self._lock = RLock()
        self._check_rows()

    @property
    def public_key(self) -> str:
        """What other sites know this one by in secure sums; empty if the policy has none."""
        return self._key.public if self.policy.allows("secure") else ""

    def answer(self, data: bytes, asker: str = "") -> bytes:
        """The reply to a request; a refusal is a reply like any other.

        Parameters
        ----------
        data
            The message.
        asker
            Who asks, as the transport knows it: the name in a certificate.
        """
        with self._lock:
            request: Request | None = None
            try:
                request = Request.from_bytes(data)
                reply = self._answered(request, digest(data), asker)
            except WriteError:
                raise
            except ConsilienceError as error:
                reply = self._refusal(request, data, error, asker)
        return reply.to_bytes()

    def serve(self, address: str, **choices: Any) -> None:
        """Answer over HTTPS with mutual TLS until interrupted; see :mod:`consilience.sites.https`.

        Parameters
        ----------
        address
            Host and port, such as ``"0.0.0.0:8443"``.
        choices
            ``certificate``, ``key`` and ``authority``: files of PEM.
        """
        from consilience.sites.https import serve

        return serve(self, address, **choices)

    def watch(self, folder: str | os.PathLike[str], **choices: Any) -> int:
        """Answer the requests in a folder; see :func:`consilience.sites.folders.watch`."""
        from consilience.sites.folders import watch

        return watch(self, folder, **choices)

    def close(self) -> None:
        """Let go of the ledger's file."""
        self.ledger.close()

    def _answered(self, request: Request, request_hash: str, asker: str) -> Reply:
        policy = self.policy
        if policy.askers is not None and asker not in policy.askers:
            raise RefusalError(f"{asker!r} is not among those who may ask.", code="asker")
        if request.kind not in ("schema", "study", *policy.kinds):
            raise RefusalError(f"the policy gives no {request.kind}.", code="kind")
        if self.n_rows < policy.least_rows * self.scale:
            raise RefusalError("there are fewer rows than the policy asks for.", code="rows")
        if request.kind == "schema":
            self.ledger.record("told", study=request.study, kind="schema", asker=asker)
            return self._reply(request, request_hash, content=self._about(request))
        if request.kind == "study":
            return self._agree(request, request_hash, asker)
        given = self._given(request)
        return self._statistics(request, request_hash, asker, given)

    def _about(self, request: Request) -> dict[str, Any]:
        policy = self.policy
        rounds = self.ledger.study(request.study).rounds
        return {
            "name": self.name or "",
            "variables": variables_to(self.variables),
            "modes": list(policy.modes),
            "key": self.public_key,
            "scale": self.scale,
            "last_round": max(rounds, default=0),
            "kinds": list(policy.kinds),
            "max_parents": policy.max_parents,
            "max_cells": policy.max_cells,
            "max_families": policy.max_families,
            "least_sites": policy.least_sites,
            "gaps": list(self._gaps),
        }

    def _agree(self, request: Request, request_hash: str, asker: str) -> Reply:
        """Take part in a study, or say why not."""
        agreement = Agreement.from_content(request.study, request.content)
        before = self.ledger.study(request.study).content
        if before is None:
            self._check_study(agreement)
            entry = {"content": agreement.to_content(), "asker": asker}
            self.ledger.record("agreed", study=request.study, **entry)
        elif Agreement.from_content(request.study, before) != agreement:
            raise RefusalError(
                f"the study {request.study!r} was agreed on with other sites, variables or another "
                "mode. That would be a new study, to which every site must agree.",
                code="study",
            )
        last = max(self.ledger.study(request.study).rounds, default=0)
        return self._reply(request, request_hash, content={"last_round": last})

    def _check_study(self, agreement: Agreement) -> None:
        policy, study = self.policy, agreement.study
        others = [name for name, state in self.ledger.studies.items() if state.content is not None]
        is_named = policy.studies is not None and study in policy.studies
        if not is_named and (policy.studies is not None or others):
            raise RefusalError(
                f"the site takes part in {_check.listed(policy.studies or others)}; its policy "
                f"does not name the study {study!r}.",
                code="study",
            )
        if not policy.allows(agreement.mode):
            raise RefusalError(
                f"counts leave in the mode {_check.listed(policy.modes)}, not {agreement.mode!r}.",
                code="mode",
            )
        if agreement.mode == "intervals" and self.ledger.modes - {"intervals"}:
            raise RefusalError(
                "counts have left as they are or masked, so that ranges would hide nothing.",
                code="mode",
            )
        self._check_place(agreement)
        self._check_variables(agreement)

    def _check_place(self, agreement: Agreement) -> None:
        """Refuse a set of sites that is too small, lacks this one, or has other keys."""
        policy, mine = self.policy, [key for name, key in agreement.sites if name == self.name]
        if self.name is not None and not mine:
            raise RefusalError(f"{self.name!r} is not one of the sites.", code="sites")
        if agreement.mode != "secure":
            return
        keys = dict(agreement.sites)
        if len(keys) < policy.least_sites:
            raise RefusalError(
                f"{len(keys)} sites are fewer than the {policy.least_sites} that the policy asks "
                "for.",
                code="sites",
            )
        if self.public_key not in keys.values() or (mine and mine[0] != self.public_key):
            raise RefusalError("the key of this site is not the one it gave.", code="sites")
        wrong = [
            name
            for name, key in keys.items()
            if key != self.public_key
            and policy.peers is not None
            and policy.peers.get(name, "") != key
        ]
        if wrong:
            raise RefusalError(
                f"the key of {wrong[0]!r} is not the one that the policy has for it.", code="peers"
            )

    def _check_variables(self, agreement: Agreement) -> None:
        """Refuse variables that the site may not or cannot tell about."""
        for name, variable in agreement.variables.items():
            mine = self.variables.get(name)
            if mine is None:
                raise RefusalError(f"there is no variable {name!r} for a study.", code="variable")
            is_same_kind = mine.is_continuous == variable.is_continuous
            if not is_same_kind or not set(mine.states or ()) <= set(variable.states or ()):
                raise RefusalError(
                    f"the study lacks states that {name!r} has here.", code="variable"
                )
        if agreement.scale < self.scale:
            raise RefusalError("the weights are fractional, the study's are not.", code="variable")

    def _given(self, request: Request) -> Given:
        """The ground of a request, refused if it is not the one that was agreed on."""
        if request.study not in self._agreed:
            content = self.ledger.study(request.study).content
            if content is None:
                raise RefusalError(
                    f"the study {request.study!r} was not agreed on. Ask for that first.",
                    code="study",
                )
            agreement = Agreement.from_content(request.study, content)
            self._check_variables(agreement)
            self._agreed[request.study] = Given(
                self._engine,
                self.n_rows,
                self.scale,
                self.policy,
                agreement,
                self._key,
                self._alternatives,
                self.name,
            )
        given = self._agreed[request.study]
        if request.site_set != given.agreement.site_set:
            raise RefusalError(
                "the sites or the mode are not those of the study. A total over other sites would "
                "be a new study, to which every site must agree.",
                code="sites",
            )
        if request.schema != given.agreement.schema_hash:
            raise RefusalError("the variables are not those of the study.", code="schema")
        return given

    def _statistics(self, request: Request, request_hash: str, asker: str, given: Given) -> Reply:
        """Answer from the rows; what is new is entered first, what is old gets the same bytes."""
        state = self.ledger.study(request.study)
        before = state.rounds.get(request.round)
        if before is not None and before[0] != request_hash:
            raise RefusalError(
                f"round {request.round} was another request. A round is asked once.", code="round"
            )
        if request.kind not in ANSWERS:
            raise RefusalError(f"this site cannot give {request.kind}.", code="kind")
        work = ANSWERS[request.kind]
        work.check(request, given)
        entry: dict[str, Any] = {
            "study": request.study,
            "round": request.round,
            "kind": request.kind,
            "request": request_hash,
            "families": [list(one) for one in work.families(request)],
        }
        if before is None:
            self._check_budget(state.rounds, state.n_families + len(entry["families"]))
            told = {"asker": asker, "purpose": request.purpose[:1000]}
            self.ledger.record("asked", **entry, **told)
        withheld, content, arrays = work.answer(request, request_hash, given)
        reply = self._reply(
            request, request_hash, withheld=withheld, content=content, arrays=arrays
        )
        reply_hash = digest(reply.to_bytes())
        if before is None or not before[1]:
            mode = given.agreement.mode if work.gives_counts else ""
            entry |= {"reply": reply_hash, "mode": mode, "withheld": [*withheld]}
            self.ledger.record("answered", **entry)
        elif before[1] != reply_hash:
            raise RefusalError(
                "the rows or the policy have changed since this round was answered; two answers "
                "under one mask would give away the difference.",
                code="round",
            )
        return reply

    def _check_budget(self, rounds: Mapping[int, Any], n_families: int) -> None:
        policy = self.policy
        if len(rounds) >= policy.max_rounds or n_families > policy.budget:
            raise RefusalError(
                f"the study has used up its {policy.max_rounds} rounds or {policy.budget} "
                "families.",
                code="budget",
            )

    def _reply(self, request: Request, request_hash: str, **answer: Any) -> Reply:
        rows = self.n_rows
        if request.kind not in ("schema", "study"):
            rows *= self._agreed[request.study].agreement.scale // self.scale
        return Reply(
            request.kind,
            request.study,
            request.round,
            request_hash,
            self.policy.hash,
            rows,
            **answer,
        )

    def _refusal(
        self, request: Request | None, data: bytes, error: ConsilienceError, asker: str
    ) -> Reply:
        code = error.culprits.get("code", _CODES.get(type(error), "statistics"))
        kind, study, number = ("", "", 0)
        if request is not None:
            kind, study, number = request.kind, request.study, request.round
        told = {"study": study, "round": number, "kind": kind, "code": code, "reason": str(error)}
        self.ledger.record("refused", **told, request=digest(data), asker=asker)
        return Reply(
            "refusal", study, number, digest(data), self.policy.hash, code=code, reason=str(error)
        )

    def _alternatives(self) -> Alternatives:
        """The audit of all that was shown, made anew from the ledger after a restart."""
        if self._audit is None:
            if not isinstance(self._engine, Memory):
                raise RefusalError(
                    "mode 'intervals' needs rows in memory, and the site has a "
                    f"{type(self._engine).__name__}.",
                    code="mode",
                )
            table = self._engine.table.pooled().select([*self.variables])
            self._audit = Alternatives(table, self.policy.least_cell)
            for families in self.ledger.shown:
                self._audit.show([tuple(sorted(one)) for one in families])
        return self._audit

    def _check_rows(self) -> None:
        """Bind the ledger to the rows: a ledger about other rows protects nothing."""
        mark = fingerprint(self._engine, self.variables)
        if not self.ledger.fingerprint:
            self.ledger.record("rows", fingerprint=mark)
        elif self.ledger.fingerprint != mark:
            self.ledger.close()
            raise DataError(
                "the ledger was begun with other rows. Two answers about rows that differ by a few "
                "give these away; begin a new ledger, and a new study, for the new rows."
            )


_CODES: Mapping[type, str] = {FormatError: "format", UnknownNameError: "variable"}


def _name(engine: Engine, name: str | None) -> str | None:
    source = engine.schema.source
    if source is not None and source.n_states > 1:
        raise InputError(
            f"a site is one source, and these rows have {source.n_states}: "
            f"{_check.listed(source.discrete_states)}. Give each its own site, or table.pooled().",
            parameter="rows",
        )
    if name is not None:
        _check.names("Site", name=[name])
        return str(name)
    return None if source is None else source.discrete_states[0]


def _allowed(engine: Engine, policy: Policy) -> dict[str, Any]:
    """The variables that may be asked for."""
    variables = engine.schema.variables
    if policy.variables is None:
        return dict(variables)
    _check.known("variable of the policy", policy.variables, variables)
    return {name: variables[name] for name in policy.variables}


def _key(key: str | os.PathLike[str] | None, ledger: str | os.PathLike[str] | None) -> SiteKey:
    if key is None and ledger is None:
        return SiteKey.new()
    return SiteKey.at(Path(key) if key is not None else Path(f"{os.fspath(ledger or '')}.key"))
