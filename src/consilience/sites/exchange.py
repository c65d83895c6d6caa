"""One question to all sites, and their replies: all of them, or an error that names the site.

A reply must be to this question (its hash, study and round), under the policy that the site had
when the study was agreed on, and of the size that the question implies. Nothing is taken in unless
every site has answered, and no site is left out.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError as Late
from dataclasses import dataclass, field
from typing import Any, Protocol

from consilience.errors import ConsilienceError, FormatError, RefusalError, SiteError
from consilience.sites.https import Https
from consilience.sites.message import MOST_BYTES, Reply, Request, digest
from consilience.sites.site import Site
from consilience.sites.study_record import Round

__all__ = ["Exchange", "InProcess", "Way"]

ROOM = 1 << 20
"""Bytes of a reply beside its arrays."""


class Way(Protocol):
    """How a site is reached: any transport of bytes."""

    @property
    def place(self) -> str:
        """Where the site is, for errors."""
        ...

    def ask(self, data: bytes, limit: int, seconds: float) -> bytes:
        """The reply to a request, at most ``limit`` bytes, within so many seconds."""
        ...


@dataclass(frozen=True, slots=True)
class InProcess:
    """A site in this process."""

    site: Site
    place: str

    def ask(self, data: bytes, limit: int, seconds: float) -> bytes:
        """The reply to a request."""
        return self.site.answer(data)


@dataclass
class Exchange:
    """The ways to all sites, and what went to and fro; mutable, with one owner, the federation.

    Parameters
    ----------
    ways
        How each site is reached.
    seconds
        How long to wait for a reply.
    """

    ways: Sequence[Way]
    seconds: float
    names: list[str] = field(default_factory=list)
    policies: list[str] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.names = self.names or [way.place for way in self.ways]
        remote = [way for way in self.ways if not isinstance(way, InProcess)]
        self._pool = ThreadPoolExecutor(len(remote)) if remote else None

    def ask(self, request: Request, n_cells: int = 0) -> list[Reply]:
        """The replies of all sites to a request, in their order.

        Parameters
        ----------
        request
            What is asked.
        n_cells
            Numbers that the answer may have; a reply with more bytes is not read.

        Raises
        ------
        SiteError
            If a site is lost, late, or its reply cannot be used.
        RefusalError
            If a site refuses.
        """
        data = request.to_bytes()
        limit = min(8 * n_cells + ROOM, MOST_BYTES)
        begin = time.perf_counter()
        answers = self._answers(data, limit)
        took = time.perf_counter() - begin
        replies = [
            self._checked(place, answer, request, digest(data))
            for place, answer in enumerate(answers)
        ]
        n_bytes = len(data) * len(answers), sum(map(len, answers))
        self.rounds.append(
            Round(request.round, request.kind, len(request.families), n_cells, *n_bytes, took)
        )
        self._refuse(replies)
        if not self.policies:
            self.policies = [one.policy for one in replies]
        return replies

    def close(self) -> None:
        """Close what connections there are."""
        for way in self.ways:
            if isinstance(way, Https):
                way.close()

    def _answers(self, data: bytes, limit: int) -> list[bytes]:
        """What each site sent; the first that did not is the error, once all are done or late."""
        waiting: list[Future[bytes] | None] = [
            None
            if self._pool is None or isinstance(way, InProcess)
            else self._pool.submit(way.ask, data, limit, self.seconds)
            for way in self.ways
        ]
        end = time.monotonic() + self.seconds
        found: list[bytes] = []
        for place, (way, future) in enumerate(zip(self.ways, waiting, strict=True)):
            try:
                if future is None:
                    found.append(way.ask(data, limit, self.seconds))
                else:
                    found.append(future.result(max(0.0, end - time.monotonic()) + 0.05))
            except Late as problem:
                raise self._error(place, f"gave no reply within {self.seconds:g} s") from problem
            except SiteError as problem:
                raise self._error(place, str(problem).rstrip(".")) from problem
            if len(found[-1]) > limit:
                raise self._error(place, f"sent {len(found[-1])} bytes, and at most {limit} may be")
        return found

    def _checked(self, place: int, data: bytes, request: Request, request_hash: str) -> Reply:
        """The reply of a site, refused if it is not one to this request."""
        try:
            reply = Reply.from_bytes(data)
        except FormatError as problem:
            raise self._error(place, f"sent what cannot be read: {problem}") from problem
        wanted = request.study, request.round, request_hash
        if (reply.study, reply.round, reply.request) != wanted:
            if reply.kind == "refusal" and reply.request == request_hash:
                return reply
            raise self._error(place, "answered another request")
        if reply.kind not in (request.kind, "refusal"):
            raise self._error(place, f"answered with {reply.kind} where {request.kind} is asked")
        if self.policies and reply.policy != self.policies[place]:
            raise self._error(place, "has changed its policy, which is another study")
        if reply.rows < 0 or not all(0 <= i < len(request.families) for i in reply.withheld):
            raise self._error(place, "sent numbers that cannot be")
        return reply

    def _refuse(self, replies: Sequence[Reply]) -> None:
        for place, reply in enumerate(replies):
            if reply.kind == "refusal":
                text = f"site {self.names[place]!r} refuses: {reply.reason}"
                self.refusals.append(text)
                raise RefusalError(text, site=self.names[place], code=reply.code)

    def _error(self, place: int, text: str) -> SiteError:
        name = self.names[place]
        return SiteError(
            f"site {name!r}: {text}. Nothing of this round was taken in, and no site is left out: "
            "going on without it is a new study, to which every site must agree.",
            site=name,
        )

    def array(self, place: int, reply: Reply, name: str, *, dtype: str, size: int) -> Any:
        """An array of a reply, refused if it is not what was asked for."""
        found = reply.arrays.get(name)
        if found is None or found.dtype.str != dtype or found.shape != (size,):
            raise self._error(place, f"sent no {size} numbers {name!r} of type {dtype}")
        return found

    def fault(self, place: int, problem: ConsilienceError | str) -> SiteError:
        """The error for a reply whose content cannot be used."""
        return self._error(place, f"sent what cannot be used: {problem}".rstrip("."))
