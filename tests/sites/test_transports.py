from __future__ import annotations

import http.client
import ssl
import threading
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest
from study_rows import Plain, network, parts, rows, sites

import consilience as cs
from consilience.errors import InputError, RefusalError, SiteError
from consilience.sites.folders import Folder, watch
from consilience.sites.message import Request

for package in ("cryptography", "starlette", "uvicorn"):
    pytest.importorskip(package, reason=f"transports need the extra 'sites': {package}")

TABLE = rows(300)
PARTS = parts(TABLE, 3)
FIT = cs.fit(network().dag, TABLE)
FOUND = cs.search(TABLE, search=cs.GES())


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    cs.sites.certify(folder, ["coordinator", "s0", "s1", "s2"])
    return folder


@pytest.fixture
def addresses(keys):
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
            for site in sites(PARTS, mode="secure", askers=("coordinator",))
        ]


def check_pooled(study: cs.sites.Federation) -> None:
    found = cs.search(Plain(study), search=cs.GES())
    assert (found.dag, found.score) == (FOUND.dag, FOUND.score)
    net = cs.fit(network().dag, study)
    assert all((net[n].table == FIT[n].table).all() for n in FIT.dag.nodes)


def test_https_gives_the_answer_of_all_rows_to_the_bit(addresses, keys):
    study = cs.sites.federation(addresses, study="s", secret=keys)
    check_pooled(study)
    study.close()


def test_folders_give_the_answer_of_all_rows_to_the_bit(tmp_path):
    folders, stop = [tmp_path / name for name in PARTS], threading.Event()
    threads = []
    for site, folder in zip(sites(PARTS, mode="secure"), folders, strict=True):
        folder.mkdir()
        threads.append(threading.Thread(target=watch, args=(site, folder), kwargs={"stop": stop}))
        threads[-1].start()
    try:
        check_pooled(cs.sites.federation(folders, study="s"))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
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
