from __future__ import annotations

import io
import json
import shlex
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from commands import misused, passed, refused, run, write
from doc_pages import run_page, shell_lines
from rich.console import Console

import consilience as cs
from consilience.cli.progress import watched
from consilience.cli.scores import SCORES
from consilience.cli.structures import SEARCHES
from consilience.data.write import write_rows

DOCS = Path(__file__).parents[2] / "docs"
N_ROWS = 300


def table(n_sources: int = 1) -> cs.Table:
    """Rows of rain -> wet <- hose, and a coin that has nothing to do with it."""
    rng = np.random.default_rng(5)
    rain, hose, coin, source = rng.integers(0, [2, 2, 2, n_sources], (N_ROWS, 4)).T
    wet = np.where(rng.random(N_ROWS) < 0.9, rain | hose, 1 - (rain | hose))
    columns = {"rain": rain, "hose": hose, "wet": wet, "coin": coin}
    rows = {name: np.array(["no", "yes"])[values].tolist() for name, values in columns.items()}
    if n_sources == 1:
        return cs.read(rows)
    town = np.array(["rome", "oslo", "lima"])[source].tolist()
    return cs.read({"town": town, **rows}, source="town")


SWEEP = cs.searches.Sweep(max_parents=1)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    write_rows(table(), path)
    return path


@pytest.fixture
def towns(tmp_path: Path) -> Path:
    path = tmp_path / "towns.csv"
    write_rows(table(3), path)
    return path


@pytest.fixture
def model(rows: Path, tmp_path: Path) -> Path:
    path = tmp_path / "model.json"
    cs.save(cs.fit(cs.learn(table()), table()), path)
    return path


def arcs(text: str) -> set[tuple[str, str]]:
    """The arcs that a summary lists."""
    (line,) = [line for line in text.splitlines() if line.startswith("found ")]
    _, _, listed = line.partition(": ")
    return {tuple(arc.split(" -> ")) for arc in listed.split(", ")} if listed else set()


# learn


OPTIONS = {"order": "rain,hose,coin,wet"}


@pytest.mark.parametrize("name", SEARCHES)
def test_every_search_learns_a_graph_and_tells_its_record(rows, tmp_path, name):
    out = tmp_path / "m.json"
    needed = [each for option in SEARCHES[name].needs for each in (f"--{option}", OPTIONS[option])]
    text = passed("learn", rows, "--structure", name, *needed, "-o", out)
    assert set(cs.load(out).dag.arcs) == arcs(text)
    assert {"rain", "hose"} & {start for arc in arcs(text) for start in arc}
    for fact in ("score       -", "families    ", "stopped by  ", f"written to  {out}"):
        assert fact in text


@pytest.mark.parametrize("name", [name for name in SCORES if name != "bge"])
def test_every_score_judges_the_graph_that_the_library_finds(rows, name):
    text = passed("learn", rows, "--structure", "hc", "--score", name, "--max-parents", 2)
    assert {("rain", "wet"), ("hose", "wet")} <= arcs(text) | {arc[::-1] for arc in arcs(text)}


@pytest.mark.parametrize(
    ("options", "search"),
    [([], None), (["--structure", "hc"], cs.HillClimb()), (["--max-parents", 1], SWEEP)],
)
def test_the_search_is_that_of_the_library(rows, options, search):
    told = passed("learn", rows, *options)
    result = cs.search(cs.read(rows), search=search)
    assert f"search      {result.searched_by[:12]}" in told
    assert arcs(told) == set(result.dag.arcs)
    assert f"score       {result.score:,.4f} by BIC()" in told
    assert f"families    {result.n_scored:,} scored" in told


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--score", "bdeu"], "BDeu(ess=1.0)"),
        (["--score", "bdeu", "--ess", "10"], "BDeu(ess=10.0)"),
        (["--score", "ebic"], "EBIC(n_variables=4, gamma=0.5)"),
        (["--score", "per-source:k2"], "PerSource(score=K2())"),
        (["--score", "by-source:aic"], "BySource(score=AIC())"),
    ],
)
def test_the_score_is_said_with_its_parameters(rows, options, said):
    text = passed("learn", rows, "--structure", "hc", *options)
    assert f"by {said}" in text
    assert "estimator   HDC()" in text


def test_what_was_assumed_about_the_sources_is_said(towns):
    text = passed("learn", towns, "--source", "town", "--structure", "hc")
    assert "by BySource(score=BIC())" in text
    assert "Each family was judged with the 3 sources pooled and apart" in " ".join(text.split())
    text = passed("learn", towns, "--source", "town", "--structure", "hc", "--score", "bic")
    assert "rows of the 3 sources were judged together" in " ".join(text.split())
    assert "--score by-source:bic tells them apart" in " ".join(text.split())


@pytest.mark.parametrize(
    "tree", [("chow-liu",), ("chow-liu", "--score", "bic"), ("tan", "--target")]
)
def test_a_tree_says_that_it_was_weighed_within_sources(towns, tree):
    target = [name for name in cs.read(towns).variables if name != "town"][:1]
    given = (*tree, *target) if tree[-1] == "--target" else tree
    text = " ".join(passed("learn", towns, "--source", "town", "--structure", *given).split())
    assert "Edges were weighed within the 3 sources" in text
    assert "learn from rows that name none" in text
    assert "judged together" not in text
    assert "pooled and apart" not in text


def test_the_size_of_a_prior_is_that_of_the_score_first_and_of_both_if_asked(rows):
    both = ("--structure", "hc", "--score", "bdeu", "--ess", "10", "--parameters", "dirichlet")
    assert "estimator   Dirichlet(ess=10.0)" in passed("learn", rows, *both)
    text = passed("learn", rows, "--structure", "hc", "--score", "bic", "--ess", "10")
    assert "estimator   Dirichlet(ess=10.0)" in text


@pytest.mark.parametrize("sign", [":", "->"])
def test_arcs_can_be_required_and_forbidden(rows, sign):
    text = passed("learn", rows, "--structure", "hc", "--require", f"coin{sign}rain",
                  "--forbid", f"rain{sign}wet", "--forbid", f"wet{sign}rain")  # fmt: skip
    assert ("coin", "rain") in arcs(text)
    assert not {("rain", "wet"), ("wet", "rain")} & arcs(text)


def test_an_arc_may_join_names_that_hold_the_sign(tmp_path):
    path = write(tmp_path, "x.csv", "a:b,c,a\n" + "x,x,y\ny,y,x\nx,y,x\n")
    told = passed("learn", path, "--structure", "hc", "--require", "a:b:c")
    assert ("a:b", "c") in arcs(told)


def test_tiers_keep_arcs_from_leading_back(rows):
    text = passed("learn", rows, "--structure", "hc", "--tier", "wet", "--tier", "rain,hose")
    assert all(start == "wet" or end != "wet" for start, end in arcs(text))


def test_parents_are_at_most_so_many(rows):
    text = passed("learn", rows, "--structure", "hc", "--max-parents", 1, "--restarts", 3)
    heads = [end for _, end in arcs(text)]
    assert len(heads) == len(set(heads))


def test_several_sources_are_tied_by_the_default(towns):
    text = passed("learn", towns, "--source", "town", "--structure", "hc")
    assert "HDC()" in text
    assert "town" not in str(arcs(text))


def test_a_used_up_time_is_told(rows):
    text = passed("learn", rows, "--structure", "hc", "--seconds", 0.0001, "--seed", 3)
    assert "stopped by  seconds" in text


def test_an_interrupt_keeps_the_best_graph_and_says_so(rows, tmp_path, monkeypatch):
    def interrupt(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("consilience.structure.searches.hill_climb.climb_repeatedly", interrupt)
    out = tmp_path / "m.json"
    result = run("learn", rows, "--structure", "hc", "--require", "rain:wet", "-o", out)
    assert result.exit_code == 130
    assert result.stderr == "interrupted: the best graph so far is written\n"
    text = result.stdout
    assert "stopped by  interrupt" in text
    assert "note: The search was interrupted; the graph is the best one so far." in text
    assert ("rain", "wet") in cs.load(out).dag.arcs


def test_progress_is_drawn_on_a_terminal_and_nowhere_else(monkeypatch):
    for is_terminal in (True, False):
        drawn = io.StringIO()
        console = Console(file=drawn, force_terminal=is_terminal, width=80)
        monkeypatch.setattr("consilience.cli.progress.screen", lambda console=console, **_: console)
        with watched("Searching") as tell:
            tell(None, "score -7.25")
            tell(0.5, "")
            tell(0.75, "half of it [red]")
        assert ("half of it [red]" in drawn.getvalue()) == is_terminal
        assert bool(drawn.getvalue()) == is_terminal


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--structure", "hc", "--score", "bda"], "'bda' is not one of log-likelihood, aic, bic"),
        (["--structure", "[rain]", "--score", "bic"], "--score goes with a search"),
        (["--target", "wet", "--max-parents", "2"], "--max-parents goes with a search"),
        (["--structure", "[rain]", "--forbid", "a:b"], "--forbid goes with a search"),
        (["--structure", "hc", "--target", "wet"], "--target goes with"),
        (["--structure", "hc", "--order", "rain,wet"], "--order goes with --structure k2."),
        (["--structure", "k2"], "--structure k2 needs --order."),
        (
            ["--structure", "ges", "--restarts", "2"],
            "--restarts goes with --structure sweep, hc",
        ),
        (["--structure", "hc", "--require", "rain"], "--require 'rain': expected FROM:TO."),
        (["--structure", "hc", "--ess", "1", "--parameters", "mle"], "--ess goes with"),
        (["--structure", "hc", "--score", "bic", "--restarts", "-1"], "--restarts"),
    ],
)
def test_options_that_do_not_go_together_are_named(rows, options, said):
    assert said in misused("learn", rows, *options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--require", "rain:snow"], "unknown variable 'snow'"),
        (["--require", "rain:wet", "--forbid", "rain:wet"], "'rain' -> 'wet' is forbidden as well"),
        (["--require", "rain:wet", "--require", "wet:rain"], "close a cycle"),
        (["--tier", "rain,snow"], "unknown variable 'snow'"),
        (["--structure", "k2", "--order", "rain,wet"], "K2Search: "),
        (["--seconds", "-1"], "seconds must be positive"),
        (["--score", "bdeu", "--ess", "-1"], "BDeu: ess must be positive, got -1.0"),
    ],
)
def test_mistakes_of_a_search_are_one_line_with_the_culprit(rows, options, said):
    assert said in refused("learn", rows, "--structure", "hc", *options)


def test_a_search_on_rows_with_gaps_says_what_was_done(tmp_path):
    gaps = write(tmp_path, "gaps.csv", "x,y\n" + "a,b\nb,a\n" * 10 + ",b\n")
    text = passed("learn", gaps, "--structure", "hc")
    assert "by BIC(), rows completed by structural EM" in text
    assert "Gaps in 'x': structural EM completed the rows" in text
    text = passed("learn", gaps, "--structure", "hc", "--score", "pnal")
    assert "each family was judged by the rows complete for it" in text


@pytest.fixture
def mixed(tmp_path):
    """Rows in which x goes up with z and whoever is ill has a high x."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=200)
    ill = rng.random(200) < 0.4
    x = z + 3 * ill + 0.5 * rng.normal(size=200)
    lines = [f"{a:.6f},{b:.6f},{'yes' if c else 'no'}" for a, b, c in zip(x, z, ill, strict=True)]
    return write(tmp_path, "mixed.csv", "\n".join(["x,z,ill", *lines]) + "\n")


def test_a_search_takes_continuous_columns_and_says_what_it_left_out(mixed):
    text = passed("learn", mixed, "--structure", "hc")
    assert arcs(text) == {("z", "x"), ("ill", "x")}
    assert "Arcs from continuous variables ('x', 'z') to discrete ones were left out" in text


def test_logistic_nodes_are_let_in_by_an_option(mixed):
    options = ["--structure", "hc", "--require", "x:ill"]
    assert "needs a logistic regression" in refused("learn", mixed, *options)
    assert ("x", "ill") in arcs(passed("learn", mixed, *options, "--logistic"))
    alone = misused("learn", mixed, "--structure", "[x]", "--logistic")
    assert "--logistic goes with a search" in alone


def test_the_bayesian_score_of_gaussian_networks_is_for_continuous_columns(mixed, tmp_path):
    both = ["--structure", "hc", "--score", "bge"]
    assert "the family of 'ill' has a discrete variable" in refused("learn", mixed, *both)
    text = Path(mixed).read_text(encoding="utf-8")
    lines = [line.rsplit(",", 1)[0] for line in text.splitlines()]
    numbers = write(tmp_path, "numbers.csv", "\n".join(lines) + "\n")
    assert len(arcs(passed("learn", numbers, *both))) == 1


def test_two_graphs_of_continuous_columns_are_compared(mixed):
    text = passed("compare", "[ill][z][x|z:ill]", "[ill][z][x]", mixed, "--score", "bic")
    assert "BIC()" in text


# compare


def test_two_graphs_are_compared(model):
    text = passed("compare", model, "[rain][hose|rain][wet|rain][coin]")
    assert f"learned              {model}: 4 nodes, 2 arcs" in text
    assert "other                model string: 4 nodes, 2 arcs" in text
    assert "SHD of the classes   " in text
    assert "only in other        rain -> hose" in text


def test_with_rows_the_families_that_differ_are_listed(model, rows):
    other = "[rain][hose][wet|rain][coin]"
    text = passed("compare", model, other, rows, "--score", "bdeu", "--ess", 5)
    found = cs.compare_graphs(
        cs.load(model).dag, cs.DAG.parse(other), table=table(), score=cs.BDeu(ess=5)
    )
    assert "score                BDeu(ess=5.0)" in text
    assert f"learned              {found.scores.learned:,.4f}" in text
    assert f"difference           {found.scores.difference:+,.4f}" in text
    assert text.splitlines()[-1].split(": ")[0].endswith(found.scores.families[-1].node)


def test_the_default_score_of_a_comparison_is_bic(model, rows):
    assert "score                BIC()" in passed("compare", model, model, rows)


def test_the_source_of_a_model_is_left_out(towns, tmp_path):
    out = tmp_path / "towns.json"
    passed("learn", towns, "--source", "town", "--structure", "hc", "-o", out)
    text = passed("compare", out, "[rain][hose][wet|rain:hose][coin]", towns, "--score", "bhd")
    assert "4 nodes" in text
    assert "BHD(" in text


def test_graphs_without_a_file_are_scored_on_the_rows_as_they_are(rows):
    text = passed("compare", "[rain][wet|rain]", "[rain][wet]", rows)
    assert "wet: rain / -" in text


def test_the_picture_is_named_after_the_files(model, tmp_path):
    other = tmp_path / "true.bif"
    cs.save(cs.load(model), other)
    picture = tmp_path / "pair.svg"
    assert "picture written to" in passed("compare", model, other, "--svg", picture)
    text = picture.read_text(encoding="utf-8")
    assert "model: 2 arcs" in text
    assert "true: 2 arcs" in text
    ET.fromstring(text)
    passed("compare", model, model, "--svg", picture)
    assert "learned: 2 arcs" in picture.read_text(encoding="utf-8")


def test_what_cannot_be_compared_is_one_line(model, tmp_path):
    assert "'none.json' is not a file, nor a model string" in refused("compare", model, "none.json")
    assert "only in the first: 'coin', 'hose'" in refused("compare", model, "[rain][wet]")
    assert "a score needs rows" in misused("compare", model, model, "--score", "bic")


def test_the_size_of_a_prior_needs_a_score_that_has_one(model, rows):
    assert "--ess goes with --score bdeu" in misused(
        "compare", model, model, rows, "--score", "bic", "--ess", 2
    )
    assert "--ess goes with a --score" in misused("score", model, rows, "--ess", 2)


# score


def test_scores_of_the_graph_are_those_of_the_library(model, rows):
    options = ("--score", "bic", "--score", "bdeu", "--ess", "3", "--json")
    told = json.loads(passed("score", model, rows, *options))["graph"]
    dag = cs.load(model).dag
    choices = (cs.BIC(), cs.BDeu(ess=3.0))
    assert told == {
        repr(choice): pytest.approx(cs.score(dag, table(), choice), rel=1e-12) for choice in choices
    }
    assert "BIC()" in passed("score", model, rows, "--score", "bic")


def test_help_lists_searches_and_scores():
    text = passed("learn", "--help")
    words = text.replace(",", " ").replace(".", " ").split()
    assert set(SEARCHES) <= set(words)
    assert {"bdeu", "bhd", "qnml"} <= set(words)
    assert run("compare", "--help").exit_code == 0


def test_the_commands_of_the_page_on_comparison_run_as_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run_page(DOCS / "comparison.md")
    write_rows(names["table"], tmp_path / "rows.csv")
    for line in shell_lines(DOCS / "comparison.md"):
        passed(*shlex.split(line)[1:])
    assert (tmp_path / "pair.svg").exists()


def test_a_search_by_tests_takes_its_level_and_its_test(rows: Path, towns: Path) -> None:
    said = passed("learn", str(rows), "--structure", "pc", "--alpha", "0.01", "--test", "g2")
    assert "by GSquare(alpha=0.01, adjusted=False, corrected=False)" in " ".join(said.split())
    assert arcs(said) == {("rain", "wet"), ("hose", "wet")}
    apart = passed("learn", str(towns), "--source", "town", "--structure", "iamb", "--test", "x2")
    assert "Stratified(of=PearsonX2(alpha=0.05" in " ".join(apart.split())
    assert "--alpha goes with --structure" in misused(
        "learn", str(rows), "--structure", "ges", "--alpha", "0.1"
    )
