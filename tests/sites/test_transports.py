from __future__ import annotations

import http.client
import ssl
import threading
import time
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import pytest
from study_rows import network, parts, rows, sites

import consilience as cs
from consilience.errors import InputError, RefusalError, SiteError
from consilience.sites.folders import Folder, watch
from consilience.sites.message import Request

for package in ("cryptography", "starlette", "uvicorn"):
    pytest.importorskip(package, reason=f"transports need the extra 'sites': {package}")

TABLE = rows(300)
PARTS = parts(TABLE, 3)


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    cs.sites.certify(folder, ["coordinator", "s0", "s1", "s2"])
    return folder


@contextmanager
def served(split, keys):
    """Addresses of sites behind HTTPS."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                cs.sites.serving(
                    site,
                    "127.0.0.1:0",
                    certificate=keys / f"{site.name}.pem",
                    key=keys / f"{site.name}.key",
                    authority=keys / "authority.pem",
                )
            )
            for site in sites(split, mode="secure", askers=("coordinator",))
        ]


@contextmanager
def watched(split, place):
    """Folders that sites watch."""
    found, stop = [place / name for name in split], threading.Event()
    threads = []
    for site, folder in zip(sites(split, mode="secure"), found, strict=True):
        folder.mkdir()
        threads.append(threading.Thread(target=watch, args=(site, folder), kwargs={"stop": stop}))
        threads[-1].start()
    try:
        yield found
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.fixture
def addresses(keys):
    with served(PARTS, keys) as found:
        yield found


@pytest.fixture(params=["in process", "folders", "HTTPS"])
def reached(request, keys, tmp_path):
    """What makes a study of parts, over each transport."""
    with ExitStack() as stack:

        def study(split):
            ways = sites(split, mode="secure")
            if request.param == "folders":
                ways = stack.enter_context(watched(split, tmp_path))
            elif request.param == "HTTPS":
                ways = stack.enter_context(served(split, keys))
            over = cs.sites.federation(ways, study="s", secret=keys)
            stack.callback(over.close)
            return over

        yield study


SEARCHES = {
    "default": {},
    "GES": {"search": cs.GES()},
    "BDeu": {"search": cs.HillClimb(tabu=5, restarts=2), "score": cs.BDeu(ess=5)},
}


def same_tables(one: cs.Network, other: cs.Network) -> bool:
    return all((one[node].table == other[node].table).all() for node in other.dag.nodes)


def test_every_transport_gives_the_answers_of_all_rows_to_the_bit(reached):
    study, dag = reached(PARTS), network().dag
    for how in SEARCHES.values():
        found, pooled = cs.search(study, **how), cs.search(TABLE, **how)
        assert (found.dag, found.score) == (pooled.dag, pooled.score)
    for estimator in (None, cs.Dirichlet(ess=3)):
        assert same_tables(cs.fit(dag, study, estimator), cs.fit(dag, TABLE, estimator))


def test_every_transport_gives_steps_of_em_to_the_bit(reached):
    frame = TABLE.to_frame()
    frame.loc[::7, "b"] = None
    gappy, dag = cs.read(frame, schema=TABLE.schema), cs.DAG([("a", "b"), ("b", "d")])
    study = reached(parts(gappy, 3))
    found = cs.fit(dag, study, cs.Dirichlet(ess=3))
    assert same_tables(found, cs.fit(dag, gappy, cs.Dirichlet(ess=3)))
    assert any(one.kind == "expected counts" for one in study.record.rounds)


def test_requests_and_replies_in_a_folder_can_be_read(tmp_path):
    with watched(PARTS, tmp_path) as folders:
        cs.count(cs.sites.federation(folders, study="s"), cs.Family("a"))
    first = sorted(folders[0].glob("*.request"))[0]
    assert first.read_text().startswith('{"arrays":[],"content":{}')
    assert first.with_suffix(".reply").exists()


def test_a_folder_can_be_answered_later_and_once(tmp_path):
    (site, *_) = sites(PARTS)
    (tmp_path / "000001-x.request").write_bytes(Request("schema", "s").to_bytes())
    assert watch(site, tmp_path, seconds=0) == 1
    assert watch(site, tmp_path, seconds=0) == 0


def test_a_folder_without_a_site_is_named_in_time(tmp_path):
    with pytest.raises(SiteError, match="no reply within"):
        Folder(tmp_path).ask(b"x", 100, 0.05)


def test_a_reply_larger_than_asked_for_is_not_read(tmp_path):
    way = Folder(tmp_path)
    (tmp_path / "000001-2d711642.reply").write_bytes(b"y" * 200)
    with pytest.raises(SiteError, match="200 bytes"):
        way.ask(b"x", 100, 0.5)


def test_a_lost_site_is_named(addresses, keys):
    dead = "https://127.0.0.1:1"
    with pytest.raises(SiteError, match=r"127\.0\.0\.1:1"):
        cs.sites.federation([*addresses[:2], dead], study="s", secret=keys, seconds=5)


def test_a_certificate_of_a_stranger_is_refused_before_a_word_is_said(addresses, tmp_path, keys):
    cs.sites.certify(tmp_path, ["coordinator"])
    (tmp_path / "authority.pem").write_bytes((keys / "authority.pem").read_bytes())
    with pytest.raises(SiteError):
        cs.sites.federation(addresses, study="s", secret=tmp_path, seconds=5)


def test_a_site_that_shows_the_wrong_certificate_is_refused(addresses, tmp_path):
    cs.sites.certify(tmp_path, ["coordinator"])
    with pytest.raises(SiteError, match="certificate"):
        cs.sites.federation(addresses, study="s", secret=tmp_path, seconds=5)


def test_who_may_ask_is_checked_by_name(addresses, tmp_path, keys):
    for ending in ("pem", "key"):
        (tmp_path / f"coordinator.{ending}").write_bytes((keys / f"s1.{ending}").read_bytes())
    (tmp_path / "authority.pem").write_bytes((keys / "authority.pem").read_bytes())
    with pytest.raises(RefusalError, match="'s1' is not among those who may ask"):
        cs.sites.federation(addresses, study="s", secret=tmp_path, seconds=5)


def test_a_request_that_announces_too_much_is_turned_away(addresses, keys):
    context = ssl.create_default_context(cafile=keys / "authority.pem")
    context.load_cert_chain(keys / "coordinator.pem", keys / "coordinator.key")
    place = urlsplit(addresses[0])
    line = http.client.HTTPSConnection(place.hostname, place.port, context=context, timeout=5)
    line.putrequest("POST", "/")
    line.putheader("Content-Length", str(1 << 40))
    line.endheaders()
    assert line.getresponse().status == 413
    line.close()


@pytest.mark.parametrize("address", ["http://127.0.0.1:80", "https://127.0.0.1:80"])
def test_addresses_need_https_and_a_secret(address):
    with pytest.raises(InputError):
        cs.sites.federation([address, address], study="s")


def test_an_address_in_use_is_named(addresses, keys):
    (site, *_) = sites(PARTS, mode="secure")
    files = {"certificate": keys / "s0.pem", "key": keys / "s0.key"}
    taken = addresses[0].removeprefix("https://")
    with pytest.raises(SiteError, match=f"cannot answer at '{taken}'"):
        site.serve(taken, authority=keys / "authority.pem", **files)


def test_a_connection_that_a_site_closed_is_opened_again(keys, monkeypatch):
    monkeypatch.setattr("consilience.sites.https.KEEP_OPEN", 1)
    with served(PARTS, keys) as places:
        study = cs.sites.federation(places, study="s", secret=keys)
        for name in "abc":
            time.sleep(1.5)
            cs.count(study, cs.Family(name))
        study.close()
    assert [one.kind for one in study.record.rounds[2:]] == ["counts"] * 3


@pytest.mark.parametrize("error", [ssl.SSLEOFError, ssl.SSLZeroReturnError, BrokenPipeError])
def test_however_a_closed_connection_shows_it_is_opened_again(error, addresses, keys, monkeypatch):
    study = cs.sites.federation(addresses, study="s", secret=keys)
    send, fails = http.client.HTTPSConnection.request, [True, False, False, False]

    def request(self, *given):
        if fails.pop(0):
            raise error
        return send(self, *given)

    monkeypatch.setattr(http.client.HTTPSConnection, "request", request)
    cs.count(study, cs.Family("a"))
    study.close()
    assert not fails
