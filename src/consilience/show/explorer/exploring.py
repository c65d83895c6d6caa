"""The verb :func:`explore`: a page on which a network is looked at and asked."""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from consilience import _check
from consilience.averaging.graph_belief import GraphBelief
from consilience.data.table import Table
from consilience.errors import InputError
from consilience.network.network import Network
from consilience.show.explorer.desk import Desk
from consilience.show.explorer.state import fragment
from consilience.show.panels.question import Subject

__all__ = ["Explorer", "explore"]

TOKEN_BYTES = 24
PATIENCE = 1.5  # seconds that a server has for what it is answering when it is closed


def explore(
    net: Network,
    table: Table | None = None,
    *,
    target: str | None = None,
    compare: Network | None = None,
    graphs: GraphBelief | None = None,
    name: str = "model",
    port: int | None = 0,
    open: bool = True,  # noqa: A002 - the word users look for
) -> Explorer:
    """A page in the browser: the graph with belief bars, findings by a click, sources compared.

    The server listens on the loopback address alone, in a thread; its URL has a random token. It
    needs the extra ``explore``.

    Parameters
    ----------
    net
        The network.
    table
        Rows, for the panels that need them; they can be stepped through as cases.
    target
        The node that is predicted, for the evaluation.
    compare
        A second network, shown beside the first.
    graphs
        A belief about graphs, as ``cs.average`` gives it, for the probability of each arc.
    name
        What the network is called on the page.
    port
        0 for any that is free; None for no server, if only :meth:`Explorer.page` is wanted, which
        needs no extra.
    open
        Whether to open the page in a browser.

    Examples
    --------
    >>> from consilience.data.variable import Variable
    >>> from consilience.distributions import Categorical
    >>> smoke = Variable("smoke", ("yes", "no"))
    >>> net = Network.of([Categorical(smoke, (), [0.3, 0.7])])
    >>> explore(net, port=None).page().startswith("<!doctype html>")
    True
    """
    if not isinstance(net, Network):
        raise InputError(f"explore: a network is wanted, got {type(net).__name__}.")
    desk = Desk(Subject(net, table, target, compare, graphs, name))
    if port is None:
        return Explorer(desk, None)
    _check.whole("explore", at_least=0, port=port)
    explorer = Explorer(desk, _Server(desk, port))
    if open:
        webbrowser.open(explorer.url)
    return explorer


class Explorer:
    """A page that is being served, until it is closed; it can stand in a ``with`` statement."""

    def __init__(self, desk: Desk, server: _Server | None) -> None:
        self._desk = desk
        self._server = server

    @property
    def url(self) -> str:
        """Where the page is, with its token."""
        if self._server is None:
            raise InputError("explore: with port=None there is no server; ask for page().")
        return self._server.url

    def link(
        self,
        *,
        given: Mapping[str, Any] | None = None,
        do: Mapping[str, Any] | None = None,
        node: str | None = None,
        panel: str | None = None,
    ) -> str:
        """The URL of a view: findings as the page's JSON has them, a node, a panel."""
        asked = {"given": given or {}, "do": do or {}, "node": node}
        variables = self._desk.subject.network.variables
        return f"{self.url}#{fragment(asked, panel, variables)}"

    def page(self) -> str:
        """The page as one HTML file that answers without a server.

        For networks that are too large, or have continuous nodes, it shows the beliefs given
        nothing, and says so.
        """
        return self._desk.page()

    def wait(self) -> None:
        """Return when the server has ended."""
        if self._server is not None:
            self._server.ended.wait()

    def close(self) -> None:
        """End the server."""
        if self._server is not None:
            self._server.close()

    def __enter__(self) -> Explorer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return "Explorer without a server" if self._server is None else f"Explorer at {self.url}"


class _Server:
    """A server in a thread; its socket listens when this is made."""

    def __init__(self, desk: Desk, port: int) -> None:
        uvicorn = _check.extra("uvicorn", "explore", "explore")
        _check.extra("starlette", "explore", "explore")
        from consilience.show.explorer.server import application  # needs the extra

        listening = _listening(port)
        token = secrets.token_urlsafe(TOKEN_BYTES)
        port = listening.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/{token}/"
        config = uvicorn.Config(
            application(desk, token, port),
            log_level="critical",
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self.ended = threading.Event()
        threading.Thread(target=self._run, args=(listening,), name="explorer", daemon=True).start()
        for work in (desk.facts, desk.warm_up):
            threading.Thread(target=work, name="explorer warm-up", daemon=True).start()

    def _run(self, listening: socket.socket) -> None:
        try:
            self._server.run([listening])
        finally:
            self.ended.set()

    def close(self) -> None:
        self._server.should_exit = True
        self.ended.wait(PATIENCE)


def _listening(port: int) -> socket.socket:
    """A socket of the loopback address that listens on this port."""
    opened = socket.socket()
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind(("127.0.0.1", port))
    except (OSError, OverflowError):
        opened.close()
        raise InputError(
            f"explore: port {port} cannot be listened on; 0 takes one that is free.", port=port
        ) from None
    opened.listen(128)
    return opened
