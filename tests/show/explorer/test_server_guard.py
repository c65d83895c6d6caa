"""The explorer's server answers those who know its token, and no one else."""

import json
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from explored import nasty, small

import consilience as cs

pytest.importorskip("starlette", reason="needs the extra explore")
pytest.importorskip("uvicorn", reason="needs the extra explore")
httpx = pytest.importorskip("httpx", reason="needs httpx")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def served():
    with cs.explore(small(), small().sample(20, seed=1), open=False) as explorer:
        yield explorer


@pytest.fixture(scope="module")
def client(served):
    with httpx.Client(base_url=served.url, trust_env=False, timeout=30) as client:
        client.post("api/beliefs", json={})
        yield client


def test_the_model_is_told(client):
    model = client.get("api/model").json()
    assert model["source"] == "site"
    assert set(model["sources"]) == {"north", "south"}
    assert model["nodes"]["b"]["states"] == ["low", "middle", "high"]
    assert model["nodes"]["c"]["parents"] == ["a", "b"]
    assert set(model["layout"]["boxes"]) == {"a", "b", "c", "site"}
    assert {(tail, head) for tail, head, _ in model["layout"]["routes"]} == set(small().dag.arcs)
    assert all(len(box) == 4 for box in model["layout"]["boxes"].values())
    assert {"name", "title", "ready", "needs"} <= set(model["panels"][0])
    assert len(model["hash"]) == 64


def test_beliefs_are_answered(client):
    answer = client.post("api/beliefs", json={"given": {"c": "yes"}}).json()
    assert answer["all"]["a"] == pytest.approx(
        small().query("a", given={"c": "yes"}).values.tolist(), abs=1e-9
    )


def test_a_neighborhood_is_laid_out(client):
    boxes = client.get("api/layout", params={"focus": "b", "steps": "1"}).json()["boxes"]
    assert set(boxes) == {"a", "b", "c"}
    assert client.get("api/layout", params={"focus": "z"}).status_code == 422
    assert client.get("api/layout", params={"focus": "b", "steps": "-1"}).status_code == 422


def test_a_panel_is_answered(client):
    answer = client.post("api/panel/provenance", json={}).json()
    assert {"svg", "table", "notes"} == set(answer)
    refused = client.post("api/panel/nonsense", json={})
    assert refused.status_code == 422
    assert "unknown panel 'nonsense'" in refused.json()["error"]


def test_files_of_the_page_are_served(client):
    assert client.get("").text.startswith("<!doctype html>")
    assert client.get("page/main.js").headers["content-type"].startswith("text/javascript")
    for path in ("page/none.js", "page/%2e%2e%2fserver.py", "page/../server.py", "none"):
        assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status"),
    [
        ("GET", "/", None, {}, 404),
        ("GET", "/wrong/", None, {}, 404),
        ("GET", "/favicon.ico", None, {}, 404),
        ("GET", "./", None, {"host": "evil.example"}, 421),
        ("GET", "./api/model", None, {"host": "127.0.0.1"}, 421),
        ("POST", "./api/beliefs", b"{}", {**JSON, "host": "evil.example"}, 421),
        ("POST", "./api/beliefs", b"{" + b" " * 2_000_000 + b"}", JSON, 413),
        ("POST", "./api/beliefs", b"{", JSON, 400),
        ("POST", "./api/beliefs", b"[1]", JSON, 400),
        ("POST", "./api/beliefs", b"\xff", JSON, 400),
        ("POST", "./api/beliefs", b"[" * 900_000, JSON, 400),
        ("POST", "./api/beliefs", b"{}", {"content-type": "text/plain"}, 415),
        ("GET", "./api/beliefs", None, {}, 405),
        ("DELETE", "./api/model", None, {}, 405),
        ("POST", "./api/beliefs", b'{"given": {"z": "yes"}}', JSON, 422),
        ("POST", "./api/beliefs", b'{"given": {"a": "maybe"}}', JSON, 422),
        ("POST", "./api/beliefs", b'{"given": {"site": "south", "a": "no"}}', JSON, 422),
        ("POST", "./api/beliefs", b'{"given": {"a": NaN}}', JSON, 400),
    ],
)
def test_what_is_refused(client, served, method, path, body, headers, status):
    parts = urlsplit(served.url)
    origin = f"http://{parts.netloc}"
    url = origin + path if path.startswith("/") else served.url + path[2:]
    answer = client.request(method, url, content=body, headers=headers)
    assert answer.status_code == status
    assert answer.json()["error"]
    assert answer.headers["content-security-policy"] == POLICY
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"
    assert not any(name.startswith("access-control") for name in answer.headers)


def test_a_body_without_a_length_is_bounded(client, served):
    pieces = (b" " * 100_000 for _ in range(20))
    answer = client.post("api/beliefs", content=pieces, headers=JSON)
    assert answer.status_code == 413


def test_errors_are_the_librarys_sentences(client):
    error = client.post("api/beliefs", json={"given": {"a": "maybe"}}).json()["error"]
    with pytest.raises(cs.ConsilienceError) as problem:
        small().marginals({"a": "maybe"})
    assert error == str(problem.value)


def test_every_answer_has_the_policy(client):
    for path in ("", "page/style.css", "api/model"):
        assert client.get(path).headers["content-security-policy"] == POLICY


def test_the_token_is_long_and_new(served):
    token = urlsplit(served.url).path.strip("/")
    assert len(token) >= 22  # 128 bits in base 64
    with cs.explore(small(), open=False) as other:
        assert token not in other.url
        assert urlsplit(other.url).hostname == "127.0.0.1"


def test_four_at_once_get_equal_answers(client, served):
    asked = {"given": {"c": "yes", "b": {"any": ["low", "high"]}}}

    def ask(n_times):
        with httpx.Client(base_url=served.url, trust_env=False, timeout=30) as own:
            return {own.post("api/beliefs", json=asked).text for _ in range(n_times)}

    with ThreadPoolExecutor(4) as pool:
        texts = set().union(*pool.map(ask, [10] * 4))
    assert len(texts) == 1


def test_clients_that_hang_up_leave_no_trace(client, served, capfd):
    parts = urlsplit(served.url)
    for _ in range(50):
        with socket.create_connection((parts.hostname, parts.port)) as gone:
            head = f"POST {parts.path}api/beliefs HTTP/1.1\r\nHost: {parts.netloc}\r\n"
            gone.sendall(
                f"{head}Content-Type: application/json\r\nContent-Length: 500\r\n\r\n{{".encode()
            )
    assert client.post("api/beliefs", json={}).status_code == 200
    time.sleep(0.2)
    captured = capfd.readouterr()
    assert "Traceback" not in captured.err + captured.out


def test_names_go_there_and_back():
    net = nasty()
    with (
        cs.explore(net, open=False) as explorer,
        httpx.Client(base_url=explorer.url, trust_env=False, timeout=30) as own,
    ):
        model = own.get("api/model").json()
        assert set(model["nodes"]) == set(net.variables)
        first = next(name for name in net.variables if name.startswith("<img"))
        for state in net.variables[first].states:
            answer = own.post("api/beliefs", json={"given": {first: state}}).json()
            assert answer["all"][first][net.variables[first].code(state)] == 1


def test_a_port_that_is_taken_is_told(served):
    port = urlsplit(served.url).port
    with pytest.raises(cs.errors.InputError, match=f"port {port} cannot"):
        cs.explore(small(), port=port, open=False)


def test_closing_ends_the_server():
    explorer = cs.explore(small(), open=False)
    explorer.close()
    with pytest.raises(httpx.HTTPError):
        httpx.get(explorer.url, trust_env=False)


def test_without_a_server_there_is_a_page_and_no_address():
    explorer = cs.explore(small(), port=None)
    assert "<!doctype html>" in explorer.page()
    with pytest.raises(cs.errors.InputError, match="port=None"):
        _ = explorer.url


def test_a_link_opens_a_view(served):
    link = served.link(given={"b": {"not": ["low"]}}, node="c", panel="node")
    assert link == f"{served.url}#given=b=not:low&panel=node&node=c"


def test_a_link_to_one_state_of_a_list_gives_that_state(served):
    assert served.link(given={"b": {"any": ["low"]}}) == f"{served.url}#given=b=low"


def test_a_link_to_states_that_spell_another_one_has_them_in_quotes():
    odd = cs.Variable("odd", ("a", "b", "a|b"))
    net = cs.Network.of([cs.Categorical(odd, (), [0.2, 0.3, 0.5])])
    with cs.explore(net, open=False) as explorer:
        link = explorer.link(given={"odd": {"any": ["a", "b"]}})
    assert link.endswith("#given=odd=%22a%22%7C%22b%22")


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_the_command_prints_its_address_and_ends_when_told(tmp_path, ending, listening):
    cs.save(small(), tmp_path / "model.json")
    call = "from consilience.cli import main; main()"
    command = [sys.executable, "-c", call, "explore", "model.json", "--no-open"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=listening,
    ) as process:
        try:
            url = process.stdout.readline().decode().strip()
            assert url.startswith("http://127.0.0.1:")
            answer = httpx.post(url + "api/beliefs", json={}, trust_env=False, timeout=60)
            assert json.loads(answer.text)["all"]["a"]
            began = time.monotonic()
            process.send_signal(ending)
            rest, errors = process.communicate(timeout=20)
            assert time.monotonic() - began < 2
            assert rest == b""
            assert b"Traceback" not in errors
        finally:
            process.kill()


def test_the_command_writes_a_page(tmp_path):
    from click.testing import CliRunner

    from consilience.cli import main

    cs.save(small(), tmp_path / "model.json")
    out = tmp_path / "page.html"
    done = CliRunner().invoke(main, ["explore", str(tmp_path / "model.json"), "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert "data:," in out.read_text(encoding="utf-8")
