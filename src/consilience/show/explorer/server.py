"""The explorer's server: routes, and the guard before them.

It listens on the loopback address. That alone does not protect: a page elsewhere can make its name
point there. So each path begins with a random token, and a request for another host is refused. The
policy that is sent with every answer lets the page load nothing but the files of this package.

Answers are found in worker threads; nothing is written.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from importlib.resources import files
from typing import Any, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from consilience.errors import ConsilienceError
from consilience.show.explorer.desk import Desk

__all__ = ["HEADERS", "POLICY", "application"]

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "content-security-policy": POLICY,
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
MOST_BYTES = 1_000_000
"""Of the body of a request."""
LEAST_PACKED = 4_000
"""Bytes of an answer from which on it is sent packed."""
KINDS: Final = {"js": "text/javascript", "css": "text/css", "html": "text/html"}

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def application(desk: Desk, token: str, port: int) -> App:
    """The routes below the token, for requests to this port of the loopback address."""
    return _guarded(_routes(desk), token, {f"{host}:{port}" for host in ("127.0.0.1", "localhost")})


def _guarded(app: App, token: str, hosts: set[str]) -> App:
    """The application behind checks of host and token, with the policy on every answer."""
    prefix = f"/{token}/".encode()

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                more = [(key.encode(), value.encode()) for key, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", []), *more]
            await send(message)

        if scope["type"] != "http":
            return
        host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
        path = scope["path"].encode("utf-8", "replace")
        if host not in hosts:
            refusal = _error(421, "this server answers requests to its own address alone.")
            await refusal(scope, receive, send_guarded)
        elif not hmac.compare_digest(path[: len(prefix)], prefix):
            await _absent()(scope, receive, send_guarded)
        else:
            inside = {**scope, "path": scope["path"][len(prefix) - 1 :], "root_path": ""}
            await app(inside, receive, send_guarded)

    return guard


def _routes(desk: Desk) -> Starlette:
    async def index(_: Request) -> Response:
        return await _file("index.html")

    async def page_file(request: Request) -> Response:
        return await _file(request.path_params["name"])

    async def model(_: Request) -> Response:
        return await _answered(desk.facts)

    async def layout(request: Request) -> Response:
        asked = request.query_params
        return await _answered(lambda: desk.places(asked.get("focus", ""), asked.get("steps", "2")))

    async def comparison(_: Request) -> Response:
        return await _answered(desk.comparison)

    async def row(request: Request) -> Response:
        return await _answered(lambda: desk.row(request.query_params.get("number", "")))

    async def beliefs(request: Request) -> Response:
        asked = await _body(request)
        return await _answered(lambda: desk.beliefs(asked))

    async def panel(request: Request) -> Response:
        asked = await _body(request)
        return await _answered(lambda: desk.panel(request.path_params["name"], asked))

    async def whole_page(_: Request) -> Response:
        text = await run_in_threadpool(desk.page)
        name = {"content-disposition": 'attachment; filename="explorer.html"'}
        return Response(text, media_type="text/html", headers=name)

    return Starlette(
        routes=[
            Route("/", index),
            Route("/page/{name}", page_file),
            Route("/api/model", model),
            Route("/api/layout", layout),
            Route("/api/comparison", comparison),
            Route("/api/row", row),
            Route("/api/page", whole_page),
            Route("/api/beliefs", beliefs, methods=["POST"]),
            Route("/api/panel/{name}", panel, methods=["POST"]),
        ],
        middleware=[Middleware(GZipMiddleware, minimum_size=LEAST_PACKED, compresslevel=1)],
        exception_handlers={HTTPException: _refused, ClientDisconnect: _gone},
    )


async def _file(name: str) -> Response:
    kind = KINDS.get(name.rpartition(".")[2])
    file = files("consilience.show.explorer") / "page" / name
    if kind is None or "/" in name or "\\" in name or not file.is_file():
        return _absent()
    return Response(file.read_bytes(), media_type=f"{kind}; charset=utf-8")


async def _body(request: Request) -> dict[str, Any]:
    """The JSON object of a request."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "the body must be application/json.")
    length = request.headers.get("content-length", "0")
    chunks, total = [], int(length) if length.isdecimal() else 0
    if total <= MOST_BYTES:
        total = 0
        async for chunk in request.stream():
            total += len(chunk)
            if total > MOST_BYTES:
                break
            chunks.append(chunk)
    if total > MOST_BYTES:
        raise HTTPException(413, f"the body must have at most {MOST_BYTES:,} bytes.")
    try:
        asked = json.loads(b"".join(chunks), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body is not JSON.") from None
    if not isinstance(asked, dict):
        raise HTTPException(400, "the body must be a JSON object.")
    return asked


def _no_constant(name: str) -> float:
    raise ValueError(name)


async def _answered(find: Callable[[], Mapping[str, Any]]) -> Response:
    """The answer as JSON, found in a worker thread; errors of the library in its own words."""

    def text() -> bytes:
        return json.dumps(find(), ensure_ascii=False, allow_nan=False).encode(
            "utf-8", "surrogatepass"
        )

    try:
        found = await run_in_threadpool(text)
    except ConsilienceError as problem:
        return _error(422, str(problem))
    return Response(found, media_type="application/json")


def _error(status: int, sentence: str) -> Response:
    text = json.dumps({"error": sentence}).encode()
    return Response(text, status, media_type="application/json")


def _absent() -> Response:
    return _error(404, "there is nothing here.")


def _refused(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    if problem.status_code == 404:
        return _absent()
    answer = _error(problem.status_code, str(problem.detail))
    answer.headers.update(problem.headers or {})
    return answer


def _gone(_: Request, problem: Exception) -> Response:
    """The client hung up: there is no one to answer."""
    return _error(400, f"the request was not sent to its end ({type(problem).__name__}).")
