from __future__ import annotations

import threading
from pathlib import Path

import pytest
from click.testing import CliRunner
from doc_pages import run_page

import consilience as cs
from consilience.cli import main

pytest.importorskip("cryptography", reason="secure sums need the extra 'sites': cryptography")

ROWS = {
    "smoke": list("yynn") * 10,
    "cough": list("yynn") * 9 + list("ynyn"),
    "sex": list("fm") * 20,
}


def run(*arguments: object):
    return CliRunner().invoke(main, [str(one) for one in arguments])


@pytest.fixture
def folders(tmp_path):
    """Three sites that watch folders, and the file of their study."""
    stop, threads = threading.Event(), []
    lines = ['study = "lungs"', "seconds = 30", "[sites]"]
    for name in ("rome", "oslo", "bonn"):
        (tmp_path / name).mkdir()
        table = cs.read(ROWS)
        site = cs.sites.Site(
            table, cs.sites.Policy(), name=name, ledger=tmp_path / f"{name}.ledger"
        )
        watched = {"args": (tmp_path / name,), "kwargs": {"stop": stop}}
        threads.append(threading.Thread(target=site.watch, **watched))
        threads[-1].start()
        lines.append(f'{name} = "{name}"')
    (tmp_path / "sites.toml").write_text("\n".join(lines))
    yield tmp_path
    stop.set()
    for thread in threads:
        thread.join()


def test_a_network_is_learned_over_sites_and_the_ledger_tells(folders):
    found = run("learn", "--sites", folders / "sites.toml", "-o", folders / "model.json")
    assert found.exit_code == 0, found.output
    assert "lungs, mode secure" in found.output
    net = cs.load(folders / "model.json")
    pooled = cs.read({name: values * 3 for name, values in ROWS.items()})
    assert net.dag == cs.learn(pooled)
    log = run("site", "log", folders / "rome.ledger")
    assert log.exit_code == 0
    assert "answered" in log.output


def test_a_folder_is_answered_once(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n" + "x,y\nu,v\n" * 10)
    cs.sites.Policy(mode="exact").save(tmp_path / "policy.toml")
    (tmp_path / "in").mkdir()
    request = cs.sites.Request("schema", "s").to_bytes()
    (tmp_path / "in" / "1.request").write_bytes(request)
    found = run(
        *("site", "serve", tmp_path / "rows.csv", "--policy", tmp_path / "policy.toml"),
        *("--folder", tmp_path / "in", "--once"),
    )
    assert found.exit_code == 0, found.output
    assert "1 requests answered" in found.output
    assert (tmp_path / "in" / "1.reply").exists()
    refused = run("site", "log", tmp_path / "rows.ledger", "--refused")
    assert refused.exit_code == 0


def test_certificates_are_made(tmp_path):
    found = run("site", "keys", tmp_path / "keys", "coordinator", "va")
    assert found.exit_code == 0, found.output
    assert (tmp_path / "keys" / "va.key").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("study = 1", "a table [sites]"),
        ("study = ", "Invalid"),
        ('study="s"\nx=1\n[sites]\na="b"', "may have"),
    ],
)
def test_a_wrong_file_of_sites_is_told(tmp_path, text, says):
    (tmp_path / "sites.toml").write_text(text)
    found = run("learn", "--sites", tmp_path / "sites.toml")
    assert found.exit_code == 1
    assert says in found.output


def test_rows_and_sites_do_not_go_together(tmp_path):
    assert run("learn", "x.csv", "--sites", "s.toml").exit_code == 2
    assert run("learn").exit_code == 2


def test_https_needs_certificates(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n" + "x,y\nu,v\n" * 10)
    cs.sites.Policy(mode="exact").save(tmp_path / "policy.toml")
    found = run("site", "serve", tmp_path / "rows.csv", "--policy", tmp_path / "policy.toml")
    assert found.exit_code == 2
    assert "--certificate" in found.output


def test_the_guide_runs_and_answers_as_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(Path(__file__).parents[2] / "docs" / "sites.md")
