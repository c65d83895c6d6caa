"""Networks in time in files, notebooks, pictures and on the command line."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner
from sequences_made_up import panel_of, random_dynamic

import consilience as cs
from consilience.cli.group import main
from consilience.errors import FormatError, ModelError

dynamic = cs.dynamic


@pytest.mark.parametrize("kind", ["discrete", "linear", "emissions"])
def test_a_network_comes_back_from_json(tmp_path, kind):
    rng = np.random.default_rng(1)
    net = random_dynamic(rng, kind=kind, order=2, n_nodes=3, inputs=1, sources=2)
    panel = panel_of(rng, net, [4, 2])
    cs.save(net, tmp_path / "net.json")
    again = cs.load(tmp_path / "net.json")
    assert (again.order, again.hidden, again.inputs) == (2, net.hidden, net.inputs)
    np.testing.assert_array_equal(again.log_likelihood(panel), net.log_likelihood(panel))


def test_fits_keep_record_posterior_and_what_is_given(tmp_path):
    panel = dynamic.read_panel({"y": [1.5, 2.5, 2.0, 3.5, 3.0, 2.5, 2.0, 1.0]})
    net = dynamic.fit(cs.DAG([("y(t-1)", "y")]), panel)
    cs.save(net, tmp_path / "net.json.gz")
    again = cs.load(tmp_path / "net.json.gz")
    assert again.record.notes == net.record.notes
    assert again.conditional == ("y(0)",)
    assert again.forecast(panel, 2, draws=5).drawn["y"].shape == (5, 2)


def test_other_formats_and_broken_files_are_refused(tmp_path):
    net = dynamic.from_hmm([1, 0], [[0.5, 0.5], [0, 1]], np.eye(2))
    with pytest.raises(ModelError, match="only JSON"):
        cs.save(net, tmp_path / "net.bif")
    cs.save(net, tmp_path / "net.json")
    text = (tmp_path / "net.json").read_text()
    (tmp_path / "net.json").write_text(text.replace('"version": 1', '"version": 7', 1))
    with pytest.raises(FormatError, match="version 7"):
        cs.load(tmp_path / "net.json")


def test_everything_is_shown_and_drawn():
    pytest.importorskip("matplotlib").use("Agg")

    hmm = dynamic.from_hmm([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[0.9, 0.1], [0.2, 0.8]])
    rows = hmm.sample(2, 6, seed=1).to_frame().drop(columns="z")
    panel = dynamic.read_panel(rows, sequence="sequence", time="time", states={"x": ["1", "2"]})
    linear = dynamic.from_var(["a"], [0.0], [[[0.5]]], [[1.0]])
    values = dynamic.read_panel({"a": [0.5, 1.5, 1.0]})
    things = [hmm, panel, hmm.smooth(panel), hmm.forecast(panel, 2), linear.forecast(values, 2)]
    things += [dynamic.choose_order(panel, [1, 2])]
    for thing in things:
        assert thing._repr_html_()
        cs.plot(thing)
    for thing in (hmm.mpe(panel), dynamic.to_var(linear)):
        assert thing._repr_html_()
    assert cs.plot(values).get_title() == "a, 1 sequence"
    assert cs.plot(linear.forecast(values, 2), "a").get_title().startswith("a")
    assert cs.plot(hmm.filter(panel), "z", sequence="2").get_title().endswith("2")
    with pytest.raises(cs.ConsilienceError):
        cs.plot(hmm.smooth(panel), "nothing")


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_the_command_line_learns_and_answers_in_time(tmp_path):
    net = dynamic.from_hmm([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], np.eye(2))
    rows = net.sample(8, 10, seed=1).to_frame().drop(columns="z")
    rows.to_csv(tmp_path / "rows.csv", index=False)
    data, model = tmp_path / "rows.csv", tmp_path / "model.json"
    in_time = ("--sequence", "sequence", "--time", "time")
    learned = run("learn", data, *in_time, "--order", 1, "--discrete", "x", "-o", model)
    assert learned.exit_code == 0, learned.output
    assert "x(t-1) -> x" in learned.output
    future = run("forecast", model, data, *in_time, "--steps", 2)
    assert future.exit_code == 0, future.output
    assert future.output.splitlines()[0] == "sequence,time,P(x=1),P(x=2)"
    drawn = run("sample", model, 3, "--length", 4, "--seed", 1, "-o", tmp_path / "drawn.csv")
    assert drawn.exit_code == 0, drawn.output
    assert len((tmp_path / "drawn.csv").read_text().splitlines()) == 13
    shown = run("show", model, "--svg", tmp_path / "model.svg")
    assert shown.exit_code == 0, shown.output
    assert shown.output.startswith("DynamicNetwork(1 node, order 1")
    assert run("show", model, "--node", "x(0)").output.startswith("P(x(0))")
    beliefs = run("show", model, "--svg", tmp_path / "given.svg", "--given", "x=1")
    assert "network in time" in beliefs.output
    refused = run("query", model, "x")
    assert refused.exit_code != 0
    assert "network in time" in refused.output
    hidden = run(
        "learn",
        data,
        *in_time,
        "--discrete",
        "x",
        "--hidden",
        "z=2",
        "--structure",
        "[z(t-1)][z|z(t-1)][x|z]",
        "-o",
        tmp_path / "hmm.json",
    )
    assert hidden.exit_code == 0, hidden.output
    for verb in ("smooth", "filter"):
        found = run(verb, tmp_path / "hmm.json", data, *in_time)
        assert found.exit_code == 0, found.output
        assert found.output.splitlines()[0] == "sequence,time,P(z=1),P(z=2)"
