"""The report: one page without script, whose numbers are those of the functions they come from."""

from __future__ import annotations

import time
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest
from click.testing import CliRunner

import consilience as cs
from consilience.classify.refits import predicted
from consilience.cli import main
from consilience.show.report_parts import table as shown_table, with_intervals

SECTIONS = [
    *("sources", "gaps", "graph", "differences"),
    *("parameters", "calibration", "predictions", "provenance"),
]
NAMES = ("<img src=x onerror=alert(1)>", "</script><b>", '"quotes" & \'s', "שלום", "😀", "x" * 300)


class Page(HTMLParser):
    """What a page holds: its elements, their attributes, its text by section."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: dict[str, str] = {"": ""}
        self._where = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "section":
            self._where = dict(attrs)["id"]
            self.text[self._where] = ""

    def handle_data(self, data):
        self.text[self._where] += data + " "


@cache
def made(n_sources: int = 2) -> tuple[cs.Network, cs.Table]:
    rng = np.random.default_rng(5)
    frames = {}
    for f in range(n_sources):
        x = rng.random(80) < 0.3 + 0.4 * f
        y = rng.random(80) < np.where(x, 0.85, 0.2)
        frames[f"{NAMES[0]} {f}"] = {
            NAMES[1]: [NAMES[3] if one else NAMES[4] for one in x],
            NAMES[2]: [NAMES[5] if one else "no" for one in y],
        }
    table = cs.read(frames if n_sources > 1 else next(iter(frames.values())))
    return cs.fit(cs.DAG([(NAMES[1], NAMES[2])]), table), table


@pytest.mark.parametrize("n_sources", [1, 2])
@pytest.mark.parametrize("target", [None, NAMES[2]])
def test_a_report_has_its_sections_and_runs_nothing(n_sources, target):
    net, rows = made(n_sources)
    page = Page(cs.report(net, rows, target=target))
    assert [key for key in page.text if key] == SECTIONS
    assert not {"script", "img", "b", "iframe", "object"} & set(page.tags)
    assert not any(key == "style" or key.startswith("on") for key, _ in page.attributes)
    assert not any(
        key in ("src", "href") and not value.startswith(("#", "data:,"))
        for key, value in page.attributes
    )
    assert NAMES[3] in page.text["parameters"]
    policies = [value for key, value in page.attributes if key == "content" and "src" in value]
    assert len(policies) == 1
    assert "unsafe" not in policies[0]


def test_a_report_predicts_rows_that_were_not_learned_from():
    net, rows = made()
    page = Page(cs.report(net, rows, target=NAMES[2], folds=4))
    found = predicted(net, rows, NAMES[2], folds=4)
    assert "4 folds, refitted" in page.text["predictions"]
    assert f"log loss {found.evaluation.overall.log_loss:.3f}" in page.text[""]
    splits = cs.classify.StratifiedFolds(4)
    crossed = cs.cross_evaluate(
        rows,
        NAMES[2],
        structures={"graph": cs.DAG([(NAMES[1], NAMES[2])])},
        estimators={"HDC": cs.HDC()},
        splits=splits,
    )
    for source, loss in crossed.by_source(("graph", "HDC"), "log_loss").items():
        assert found.evaluation.by_source[source].log_loss == pytest.approx(loss, rel=1e-9)
        assert f"{loss:.4g}" in page.text["predictions"]


def test_what_cannot_be_refitted_is_called_in_sample():
    net, rows = made()
    loaded = cs.Network(net.distributions, net.source)
    page = Page(cs.report(loaded, rows, target=NAMES[2]))
    assert "in-sample" in page.text[""]
    assert "in-sample" in page.text["calibration"]
    assert "does not record an estimator" in page.text["predictions"]


def test_a_report_of_a_continuous_network_says_what_it_cannot_tell():
    rng = np.random.default_rng(1)
    rows = cs.read({"a": rng.normal(size=50), "b": rng.normal(size=50)})
    page = Page(cs.report(cs.fit(cs.DAG([("a", "b")]), rows), rows, target="b"))
    assert "This needs a target that has states" in page.text["predictions"]
    assert "intercept" in page.text["parameters"]


def test_folds_are_a_whole_number_of_at_least_two():
    net, rows = made()
    with pytest.raises(cs.ConsilienceError, match="folds"):
        cs.report(net, rows, folds=1)


def test_cells_are_cut_and_rows_left_out_are_counted():
    text = shown_table({"columns": ["a"], "rows": [["<" * 500], *([1.5] for _ in range(99))]})
    assert "and 40 more" in text
    assert len(text) < 5_000


def test_the_ends_of_an_interval_stand_in_the_cell_of_its_number():
    columns = ["x", "0", "0: low", "0: high", "rows"]
    found = with_intervals({"columns": columns, "rows": [["a", 0.5, 0.25, 0.75, 3.0]]})
    assert found == {"columns": ["x", "0", "rows"], "rows": [["a", "0.5 (0.25 to 0.75)", 3.0]]}
    assert "<td>0.5 (0.25\u00a0to\u00a00.75)</td>" in shown_table(found)
    found = with_intervals({"columns": columns, "rows": [["a", 0.5, None, None, 3.0]]})
    assert found["rows"] == [["a", "0.5", 3.0]]


def test_no_line_ends_inside_a_small_number():
    text = shown_table({"columns": ["x"], "rows": [["0.002 (1.229e-07 to 0.01)"], [2.5e-9]]})
    assert '(<span class="whole">1.229e-07</span>\u00a0to\u00a00.01)' in text
    assert '<span class="whole">2.5e-09</span></td>' in text
    assert ".whole{white-space:nowrap}" in cs.report(*made())


def test_the_call_that_makes_a_network_again_stands_in_full():
    net, rows = made()
    text = Page(cs.report(net, rows)).text["provenance"]
    graph = net.dag.without(net.source).to_string()
    assert f"cs.fit(cs.DAG.parse({graph!r}), table" in " ".join(text.split())


def test_the_command_writes_the_page(tmp_path, monkeypatch):
    net, rows = made(1)
    cs.save(net, tmp_path / "model.json")
    rows.to_frame().to_csv(tmp_path / "rows.csv", index=False)
    command = ["report", "model.json", "rows.csv", "--target", NAMES[2], "-o", "r.html"]
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke(main, command)
    assert run.exit_code == 0, run.output
    assert Page((tmp_path / "r.html").read_text(encoding="utf-8")).text["provenance"]


@pytest.mark.data
def test_the_report_on_heart_disease_is_quick_and_small(data_dir):
    files = [
        data_dir / "heart" / f"{n}.csv" for n in ("cleveland", "hungarian", "switzerland", "va")
    ]
    numbers = ("age", "trestbps", "chol", "thalach", "oldpeak")
    table = cs.read(files, source="source", discretize=dict.fromkeys(numbers, cs.Quantiles(4)))
    net = cs.fit(cs.naive_bayes(table, "num"), table)
    start = time.process_time()
    text = cs.report(net, table, target="num", folds=5)
    assert time.process_time() - start < 60
    assert len(text.encode()) < 2_000_000
    page = Page(text)
    assert [key for key in page.text if key] == SECTIONS
    found = predicted(net, table, "num", folds=5).evaluation
    assert f"accuracy {found.overall.accuracy:.3f}" in page.text[""]
    for source, n in zip(table.sources, (303, 294, 123, 200), strict=True):
        assert f"{source} {n}" in page.text[""]
        assert f"{found.by_source[source].log_loss:.4g}" in page.text["predictions"]
    assert f"{cs.differences(net).title}." in " ".join(page.text["differences"].split())
    low, high = cs.estimators.parameter_intervals(net, "num")
    for value in (net["num"].table[0, 0], low[0, 0], high[0, 0]):
        assert f"{value:.4g}" in page.text["parameters"]
