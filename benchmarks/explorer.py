"""The explorer: CPU of a belief, time from a click to its bars, first paint, crossings, sizes.

Alarm has ten sources of 200 to 560 rows, fitted by HDMCS. Clicks are on random states of all nodes;
a click counts until the page has drawn the answer and the browser has shown a frame. The browser is
the machine's own chromium (CONSILIENCE_BROWSER names another); without one, or without playwright,
its part is skipped. Crossings are those of the curves as they are drawn, arcs that share an end
left out. Other layouts of the same graphs have, as measured once: d3-dag 15 / 29 / 9 / 597, ELK
9 / 27 / 8 / 884, dagre 13 / 30 / 10 / 751.

    CONSILIENCE_DATA=... python benchmarks/explorer.py [--clicks 20] [--without-link]
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import numpy as np
from bench import data_dir, peer

import consilience as cs
from consilience.show.explorer.desk import Desk
from consilience.show.explorer.places import places
from consilience.show.panels.question import Subject
from consilience.show.picture import curve

FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
CURVE = np.linspace(0, 1, 13)[1:, None]
FIRST_PAINT = (
    """() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null"""
)
SENT = """() => performance.getEntriesByType("resource").concat(
    performance.getEntriesByType("navigation")).reduce((n, e) => n + e.transferSize, 0)"""
CLICK = """([node, state]) => new Promise((done) => {
    const began = performance.now();
    const find = () => [...document.querySelectorAll("[data-test=state]")].find(
        (e) => e.dataset.node === node && e.dataset.state === state);
    const old = document.body.dataset.version;
    const watch = new MutationObserver(() => {
        if (document.body.dataset.version === old) return;
        watch.disconnect();
        requestAnimationFrame(() => setTimeout(() => done(performance.now() - began), 0));
    });
    watch.observe(document.body, {attributes: true, attributeFilter: ["data-version"]});
    find().dispatchEvent(new MouseEvent("click", {bubbles: true}));
})"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--clicks", type=int, default=20)
    parser.add_argument("--without-link", action="store_true")
    choices = parser.parse_args()
    folder = data_dir() / "networks"
    nets = {
        name: cs.load(folder / f"{name}.bif")
        for name in ("alarm", "insurance", "hailfinder", "andes")
    }
    tell_crossings(nets)
    several = {"alarm x 10 sources": ten_sources(nets["alarm"])}
    several |= {name: nets[name] for name in ("hailfinder", "andes")}
    for name, net in several.items():
        tell_cpu(name, net, choices.clicks)
    tell_users(several["alarm x 10 sources"])
    with chromium() as browser:
        if browser is None:
            return
        for name, net in several.items():
            tell_page(name, net, browser, choices.clicks)
        if not choices.without_link:
            tell_link(folder, browser)


def ten_sources(net: cs.Network) -> cs.Network:
    states = {name: list(variable.discrete_states) for name, variable in net.variables.items()}
    frames = {f"s{f}": net.sample(200 + 40 * f, seed=f).to_frame() for f in range(10)}
    return cs.fit(net.dag, cs.read(frames, states=states), cs.HDMCS(s=10))


def tell_crossings(nets: dict[str, cs.Network]) -> None:
    print("routed crossings, and CPU of the layout with bars")
    for name, net in nets.items():
        began = time.process_time()
        routes = places(net, net.dag.nodes)["routes"]
        spent = time.process_time() - began
        print(f"  {name:<12} {crossings(routes):5d}   {spent:5.2f} s")


def crossings(routes: list[Any]) -> int:
    """Pairs of arcs whose curves meet; arcs that share an end are left out."""
    lines = [polyline([(x, y) for x, y in points]) for _, _, points in routes]
    return sum(
        do_cross(lines[i], lines[j])
        for i, j in combinations(range(len(lines)), 2)
        if not (routes[i][0] == routes[j][0] or routes[i][1] == routes[j][1])
    )


def polyline(points: list[tuple[float, float]]) -> Any:
    parts = [np.array(points[:1])]
    for start, (first, second, end) in zip(points, curve(points), strict=False):
        p = [np.array(one) for one in (start, first, second, end)]
        t = CURVE
        parts.append(
            (1 - t) ** 3 * p[0]
            + 3 * (1 - t) ** 2 * t * p[1]
            + 3 * (1 - t) * t**2 * p[2]
            + t**3 * p[3]
        )
    return np.concatenate(parts)


def do_cross(a: Any, b: Any) -> bool:
    if (a.max(axis=0) < b.min(axis=0)).any() or (b.max(axis=0) < a.min(axis=0)).any():
        return False
    p, r = a[:-1, None], np.diff(a, axis=0)[:, None]
    q, s = b[None, :-1], np.diff(b, axis=0)[None]
    away = q - p
    with np.errstate(all="ignore"):
        turn = r[..., 0] * s[..., 1] - r[..., 1] * s[..., 0]
        t = (away[..., 0] * s[..., 1] - away[..., 1] * s[..., 0]) / turn
        u = (away[..., 0] * r[..., 1] - away[..., 1] * r[..., 0]) / turn
    return bool(((t >= 0) & (t < 1) & (u >= 0) & (u < 1)).any())


def tell_cpu(name: str, net: cs.Network, n_clicks: int) -> None:
    """CPU of answers as the server finds them, without the network."""
    desk, spent = Desk(Subject(net)), []
    desk.beliefs({})
    for given in findings(net, n_clicks):
        began = time.process_time()
        json.dumps(desk.beliefs({"given": given}))
        spent.append(1000 * (time.process_time() - began))
    print(f"{name}: CPU of a belief, median {np.median(spent):.1f} ms, worst {max(spent):.1f} ms")


def tell_users(net: cs.Network) -> None:
    """One user, four at once (each a process), and one after fifty clients that hung up."""
    asked = [json.dumps({"given": given}) for given in findings(net, 20)]
    with cs.explore(net, open=False) as explorer:
        where = urlsplit(explorer.url)
        post(where, asked[0])
        alone = float(np.median([post(where, body)[0] for body in asked]))
        with ProcessPoolExecutor(4, get_context("spawn")) as pool:
            list(pool.map(post, [where] * 8, asked[:8]))  # they have started
            found = list(pool.map(post, [where] * 80, asked * 4))
        together = float(np.median([seconds for seconds, _ in found]))
        n_texts = len({text for _, text in found})
        for _ in range(50):
            with socket.create_connection((where.hostname, where.port)) as gone:
                head = f"POST {where.path}api/beliefs HTTP/1.1\r\nHost: {where.netloc}\r\n"
                kind = "Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
                gone.sendall((head + kind).encode())
        later = float(np.median([post(where, body)[0] for body in asked]))
    print(
        f"server: one user {1000 * alone:.0f} ms, four at once {1000 * together:.0f} ms "
        f"({together / alone:.1f} x; {n_texts} answers to {len(set(asked))} questions), after 50 "
        f"that hung up {1000 * later:.0f} ms"
    )


def post(where: SplitResult, body: str) -> tuple[float, bytes]:
    """Seconds of one answer on a connection of its own, and its text."""
    began = time.perf_counter()
    connection = HTTPConnection(str(where.hostname), where.port)
    connection.request(
        "POST", f"{where.path}api/beliefs", body, {"content-type": "application/json"}
    )
    text = connection.getresponse().read()
    connection.close()
    return time.perf_counter() - began, text


def findings(net: cs.Network, n: int) -> Iterator[dict[str, str]]:
    rng = np.random.default_rng(1)
    row = net.sample(n, seed=1)
    for i in range(n):
        name = str(rng.choice(list(row.variables)))
        yield {name: row.variables[name].discrete_states[row.column(name)[i]]}


@contextmanager
def chromium() -> Iterator[Any]:
    path = os.environ.get("CONSILIENCE_BROWSER") or shutil.which("chromium")
    driver = peer("playwright.sync_api")
    if driver is None or path is None:
        print("skipped: the browser's part; there is no chromium or no playwright")
        yield None
        return
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


def tell_page(name: str, net: cs.Network, browser: Any, n_clicks: int) -> None:
    with (
        cs.explore(net, open=False, name=name) as explorer,
        tempfile.TemporaryDirectory() as folder,
    ):
        file = Path(folder) / "page.html"
        file.write_text(explorer.page(), encoding="utf-8")
        size = file.stat().st_size
        for kind, url in (("server", explorer.url), ("file", file.as_uri())):
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            began = time.perf_counter()
            page.goto(url)
            page.wait_for_selector("body[data-version='1']", timeout=60_000)
            drawn = 1000 * (time.perf_counter() - began)
            paint, sent = page.evaluate(FIRST_PAINT), page.evaluate(SENT)
            times = [click(page) for _ in range(n_clicks)]
            told = f"{sent / 1000:.0f} kB sent" if kind == "server" else f"{size / 1000:.0f} kB"
            print(
                f"{name}, {kind}: first paint {paint:.0f} ms, graph drawn {drawn:.0f} ms, {told}; "
                f"click to bars median {np.median(times):.0f} ms, worst {max(times):.0f} ms"
            )
            page.close()


def click(page: Any) -> float:
    """Milliseconds from a click on a random state to its bars."""
    rows = page.eval_on_selector_all(
        "[data-test=state]",
        "all => all.map(e => e.dataset).filter(d => +d.value > 0.01).map(d => [d.node, d.state])",
    )
    rng = np.random.default_rng(len(rows))
    page.wait_for_timeout(400)
    return float(page.evaluate(CLICK, rows[int(rng.integers(len(rows)))]))


def tell_link(folder: Path, browser: Any) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "link.bif"
        path.write_bytes(gzip.decompress((folder / "link.bif.gz").read_bytes()))
        net = cs.load(path)
    with cs.explore(net, open=False) as explorer:
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        began = time.perf_counter()
        page.goto(explorer.url)
        page.wait_for_selector("body[data-version='1']", timeout=120_000)
        drawn = time.perf_counter() - began
        answered = click(page) / 1000
        print(
            f"link (724 nodes): drawn after {drawn:.1f} s, one click answered in {answered:.1f} s"
        )
        page.close()


if __name__ == "__main__":
    main()
