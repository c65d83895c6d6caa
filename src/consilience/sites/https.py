"""HTTPS with mutual TLS: both sides show a certificate of an authority that the other one trusts.

The site is a small application of one address, ``POST /``, behind uvicorn. Who asks is the name in
the certificate of the asker, which the policy may check. A request that announces more bytes than a
message has is turned away before it is read; so is a reply.
"""

from __future__ import annotations

import http.client
import os
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import finalize

from consilience import _check
from consilience.errors import InputError, MissingFileError, SiteError
from consilience.sites.message import MOST_BYTES, MOST_HEADER

if TYPE_CHECKING:
    from consilience.sites.site import Site

__all__ = ["Https", "serve", "serving"]

PURPOSE = "a site that is served over HTTPS"
TYPE = "application/octet-stream"

KEEP_OPEN = 600
"""Seconds that a site keeps an idle connection, so that a study has one handshake."""

CLOSED = (
    http.client.RemoteDisconnected,
    ConnectionResetError,
    BrokenPipeError,
    ssl.SSLEOFError,
    ssl.SSLZeroReturnError,
)
"""How it shows that a site has closed a connection."""


class Https:
    """The way to a site by its address; the connection is kept open between requests.

    Parameters
    ----------
    address
        ``https://host:port``.
    secret
        A folder with ``authority.pem``, ``coordinator.pem`` and ``coordinator.key``.
    """

    def __init__(self, address: str, secret: str | os.PathLike[str]) -> None:
        parts = urlsplit(address)
        if parts.scheme != "https" or parts.hostname is None:
            raise InputError(
                f"the address of a site must begin with https://, got {address!r}.", site=address
            )
        self.place = address
        folder = Path(secret)
        context = _context(ssl.PROTOCOL_TLS_CLIENT, folder / "authority.pem")
        _load(context, folder / "coordinator.pem", folder / "coordinator.key")
        self._context = context
        self._host, self._port = parts.hostname, parts.port or 443
        self._open: http.client.HTTPSConnection | None = None
        self._lock = Lock()

    def ask(self, data: bytes, limit: int, seconds: float) -> bytes:
        """The reply to a request; see :meth:`Folder.ask`."""
        with self._lock:
            try:
                return self._asked(data, limit, seconds)
            except (OSError, http.client.HTTPException) as problem:
                self.close()
                kind = "gave no reply in time" if isinstance(problem, TimeoutError) else "is lost"
                raise SiteError(
                    f"the site at {self.place!r} {kind}: {problem}.", site=self.place
                ) from problem

    def _asked(self, data: bytes, limit: int, seconds: float) -> bytes:
        for is_last in (self._open is None, True):
            connection = self._connection(seconds)
            try:
                connection.request("POST", "/", data, {"Content-Type": TYPE})
                return self._read(connection.getresponse(), limit, monotonic() + seconds)
            except CLOSED:
                self.close()  # the site closed an idle connection; ask again over a new one
                if is_last:
                    raise
        raise AssertionError("unreachable")

    def _read(self, response: http.client.HTTPResponse, limit: int, end: float) -> bytes:
        if response.status != 200:
            self.close()
            raise SiteError(
                f"the site at {self.place!r} answered {response.status} {response.reason}.",
                site=self.place,
            )
        if response.length is None or response.length > limit:
            self.close()
            raise SiteError(
                f"the reply of the site at {self.place!r} has {response.length} bytes, and at most "
                f"{limit:,} were asked for; it was not read.",
                site=self.place,
            )
        parts = []
        while part := response.read(1 << 20):
            parts.append(part)
            if monotonic() > end:
                raise TimeoutError("the reply came too slowly")
        return b"".join(parts)

    def _connection(self, seconds: float) -> http.client.HTTPSConnection:
        if self._open is None:
            self._open = http.client.HTTPSConnection(
                self._host, self._port, timeout=seconds, context=self._context
            )
            finalize(self, self._open.close)  # also when nobody calls close
            self._open.connect()
        if self._open.sock is not None:
            self._open.sock.settimeout(seconds)
        return self._open

    def close(self) -> None:
        """Close the connection."""
        if self._open is not None:
            self._open.close()
            self._open = None


@dataclass(frozen=True, slots=True)
class _Place:
    host: str
    port: int

    @classmethod
    def of(cls, address: str) -> _Place:
        host, _, port = address.rpartition(":")
        if not port.isdigit() or int(port) > 65535:
            raise InputError(
                f"the address must be host:port, such as '0.0.0.0:8443', got {address!r}.",
                parameter="address",
            )
        return cls(host or "0.0.0.0", int(port))


def serve(
    site: Site,
    address: str,
    *,
    certificate: str | os.PathLike[str],
    key: str | os.PathLike[str],
    authority: str | os.PathLike[str],
) -> None:
    """Answer over HTTPS until interrupted.

    Parameters
    ----------
    site
        Who answers.
    address
        Host and port.
    certificate, key
        The certificate of the site and its private key, files of PEM.
    authority
        The certificate of whoever signs those of the coordinators.
    """
    server = _server(site, certificate, key, authority=authority)
    server.run(sockets=[_bound(address)])


@contextmanager
def serving(
    site: Site,
    address: str,
    *,
    certificate: str | os.PathLike[str],
    key: str | os.PathLike[str],
    authority: str | os.PathLike[str],
) -> Iterator[str]:
    """A site that answers in the background; the address that it has is what the block gets."""
    server, listening = _server(site, certificate, key, authority=authority), _bound(address)
    thread = Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        if not thread.is_alive():
            raise SiteError(f"the site could not be served at {address!r}.", site=address)
        sleep(0.002)
    host, port = listening.getsockname()[:2]
    try:
        yield f"https://{host}:{port}"
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()


def application(site: Site) -> Any:
    """The application: one address, messages in and out."""
    applications = _check.extra("starlette.applications", "sites", PURPOSE)
    responses = _check.extra("starlette.responses", "sites", PURPOSE)
    routing = _check.extra("starlette.routing", "sites", PURPOSE)
    threads = _check.extra("starlette.concurrency", "sites", PURPOSE)

    async def answer(request: Any) -> Any:
        announced = request.headers.get("content-length", "")
        if not announced.isdigit() or int(announced) > min(MOST_HEADER + 4096, MOST_BYTES):
            return responses.Response(status_code=413)
        data = b""
        async for part in request.stream():
            data += part
            if len(data) > int(announced):
                return responses.Response(status_code=400)
        asker = _common_name(request.scope.get("peer_certificate"))
        reply = await threads.run_in_threadpool(site.answer, data, asker)
        return responses.Response(reply, media_type=TYPE)

    return applications.Starlette(routes=[routing.Route("/", answer, methods=["POST"])])


def _bound(address: str) -> socket.socket:
    """A socket that listens at an address, or an error that says why it cannot be."""
    place = _Place.of(address)
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    try:
        return socket.create_server((place.host, place.port), family=family)
    except OSError as problem:
        raise SiteError(
            f"the site cannot answer at {address!r}: {problem.strerror}. Give another address.",
            site=address,
        ) from problem


def _server(
    site: Site,
    certificate: str | os.PathLike[str],
    key: str | os.PathLike[str],
    *,
    authority: str | os.PathLike[str],
) -> Any:
    uvicorn = _check.extra("uvicorn", "sites", PURPOSE)
    context = _context(ssl.PROTOCOL_TLS_SERVER, Path(authority))
    context.verify_mode = ssl.CERT_REQUIRED
    _load(context, Path(certificate), Path(key))
    config = uvicorn.Config(
        application(site),
        http=_protocol(),
        log_level="warning",
        lifespan="off",
        timeout_graceful_shutdown=1,
        timeout_keep_alive=KEEP_OPEN,
        ws="none",
        ssl_context_factory=lambda *_: context,
    )
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None
    return server


def _protocol() -> type:
    """Uvicorn's protocol, which also tells the application the certificate of who asks."""
    base: Any = _check.extra("uvicorn.protocols.http.h11_impl", "sites", PURPOSE).H11Protocol

    class Protocol(base):  # type: ignore[misc]
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.app: Any = _with_certificate(self.app, transport.get_extra_info("peercert"))

    return Protocol


def _with_certificate(app: Callable[..., Any], certificate: Any) -> Callable[..., Any]:
    async def told(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "peer_certificate": certificate}, receive, send)

    return told


def _common_name(certificate: Any) -> str:
    for part in (certificate or {}).get("subject", ()):
        for name, value in part:
            if name == "commonName":
                return str(value)
    return ""


def _context(protocol: int, authority: Path) -> ssl.SSLContext:
    if not authority.is_file():
        raise MissingFileError(f"there is no file {str(authority)!r}.", file=str(authority))
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_verify_locations(authority)
    except ssl.SSLError as problem:
        raise InputError(f"{str(authority)!r} holds no certificate.") from problem
    return context


def _load(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    for path in (certificate, key):
        if not path.is_file():
            raise MissingFileError(f"there is no file {str(path)!r}.", file=str(path))
    try:
        context.load_cert_chain(certificate, key)
    except ssl.SSLError as problem:
        raise InputError(f"{str(certificate)!r} and {str(key)!r} do not fit together.") from problem
